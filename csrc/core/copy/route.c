#include "route.h"

#include "core/device/registry.h"
#include "core/memory/connection.h"

#include <string.h>

/*
 * Bytes of a staged piece: many beside the cost of a submission, few enough for the pool, so that pinned
 * memory is not pinned again each time. Copies of many pieces have larger ones.
 */
#define PIECE ((int64_t)1 << 20)
#define LARGEST_PIECE ((int64_t)16 << 20)
#define PIECES 64

/*
 * Drivers copy whole blocks from any memory of the process that the host reads, and to it, but for memory of
 * their own in another context: that is not theirs to write in this one (Level Zero,
 * zeCommandListAppendMemoryCopy).
 */
static bool driver_writes(const usm_place *place, const usm_alloc *alloc)
{
    return usm_alloc_host_reads(alloc) &&
           (alloc->context == place->context || alloc->context->backend != place->context->backend);
}

/* Whether the driver of the place copies this memory of another device directly. */
static bool migrates(const usm_place *place, const usm_alloc *alloc)
{
    return usm_connection(alloc->place, (usm_kind)alloc->kind, place) == USM_CONNECTION_MIGRATABLE;
}

/* Whether one command of the place's queue does it. block: contiguous bytes, which a driver copies. */
static bool one_command(const usm_place *place, const usm_alloc *to, const usm_alloc *from, bool block)
{
    bool reads = usm_place_reaches(place, from), writes = usm_place_reaches(place, to);
    if (reads && writes) {
        return true;
    }
    bool copies_from = reads || usm_alloc_host_reads(from) || migrates(place, from);
    bool copies_to = writes || driver_writes(place, to) || migrates(place, to);
    return block && copies_from && copies_to;
}

/* An allocation that stands for the buffer in questions of reach. */
static usm_alloc placeholder_alloc(const usm_route_buffer *buffer)
{
    return (usm_alloc){
        .kind = (uint8_t)buffer->kind, .place = buffer->place, .context = buffer->place->context};
}

static void add_hop(usm_route *route, usm_queue *queue)
{
    route->queues[route->n_hops++] = queue;
}

static void add_buffer(usm_route *route, usm_place *place, usm_kind kind, usm_dtype dtype)
{
    route->buffers[route->n_hops - 1] = (usm_route_buffer){place, kind, dtype};
}

/* src has one element for all of this axis. */
static bool repeats(const usm_strided *axes, int i)
{
    return axes->src_strides[i] == 0;
}

/* Whether dst is one block, to which each element of src goes once. */
static bool target_is_block(const usm_route *route)
{
    const usm_strided *axes = &route->axes.strided;
    int64_t step = usm_dtype_table[axes->dst_dtype].itemsize;
    for (int i = axes->ndim - 1; i >= 0; i--) {
        if (axes->shape[i] > 1 && (repeats(axes, i) || axes->dst_strides[i] != step)) {
            return false;
        }
        step *= axes->shape[i];
    }
    return true;
}

/* Elements of src along the axes from `from` on, without repeats. */
static int64_t piece_elements(const usm_strided *axes, int from)
{
    int64_t n = 1;
    for (int i = from; i < axes->ndim; i++) {
        n *= repeats(axes, i) ? 1 : axes->shape[i];
    }
    return n;
}

/* Whether the elements of src, without repeats, are one block: in dst's order of axes, or in any. */
static bool source_is_block(const usm_route *route, bool any_order)
{
    const usm_strided *axes = &route->axes.strided;
    int64_t step = usm_dtype_table[axes->src_dtype].itemsize, found = 1;
    int64_t elements = piece_elements(axes, 0);
    for (int i = axes->ndim - 1; i >= 0 && !any_order; i--) {
        if (!repeats(axes, i) && axes->shape[i] > 1) {
            if (axes->src_strides[i] != step) {
                return false;
            }
            step *= axes->shape[i];
        }
    }
    /* The axis of this stride, then the one that begins where it ends. */
    for (bool more = any_order; more && found < elements;) {
        more = false;
        for (int i = 0; i < axes->ndim && !more; i++) {
            more = axes->shape[i] > 1 && axes->src_strides[i] == step;
            step *= more ? axes->shape[i] : 1;
            found *= more ? axes->shape[i] : 1;
        }
    }
    return !any_order || found == elements;
}

/* Whether the device computes in both types: only float64 and complex128 need an aspect. */
static bool casts(const usm_device *device, usm_dtype dst, usm_dtype src)
{
    return dst == src || device->info.has_fp64 ||
           (dst == usm_dtype_without_fp64(dst) && src == usm_dtype_without_fp64(src));
}

/*
 * Memory of the host for what passes through it: of the place that packs, which then may write it; of the one
 * that unpacks where the host itself packs; else of the host device, from which every driver copies whole
 * blocks.
 */
static usm_status staging_place(const usm_queue *first, const usm_queue *last, usm_place **out,
                                usm_error *error)
{
    const usm_backend_report *host = usm_backend_start_for(USM_INTERFACE_PROCESS);
    const usm_queue *driver = first->backend == host->backend ? last : first;
    *out = driver->place;
    return driver->device->info.has_usm_host ? USM_OK : usm_host_place(out, error);
}

/*
 * Adds the hops from the last node so far to the next, on one queue: one command, or two through memory of
 * its device.
 */
static void add_side(usm_route *route, usm_queue *queue, const usm_alloc *to, const usm_alloc *from,
                     bool block, usm_dtype between)
{
    add_hop(route, queue);
    if (!one_command(queue->place, to, from, block)) {
        add_buffer(route, queue->place, USM_DEVICE, between);
        add_hop(route, queue);
    }
}

/* Cuts a large staged copy, so that its hops overlap in time. */
static void cut_in_pieces(usm_route *route, usm_dtype staged)
{
    const usm_strided *axes = &route->axes.strided;
    int64_t size = usm_dtype_table[staged].itemsize, bytes = piece_elements(axes, 0) * size;
    int64_t piece = bytes / PIECES;
    piece = piece < PIECE ? PIECE : piece < LARGEST_PIECE ? piece : LARGEST_PIECE;
    if (bytes < 2 * PIECE || route->overlaps || usm_dtype_is_packed(staged)) {
        return;
    }
    int cut = 0;
    while (repeats(axes, cut) || piece_elements(axes, cut + 1) * size > piece) {
        cut++; /* ends: one element is no larger than a piece */
    }
    route->cut = cut;
    route->rows = piece / (piece_elements(axes, cut + 1) * size);
    route->pieces = (axes->shape[cut] + route->rows - 1) / route->rows;
    for (int i = 0; i < cut; i++) {
        route->pieces *= repeats(axes, i) ? 1 : axes->shape[i];
    }
}

/*
 * Neither driver takes the other side's memory: the copy is packed by one, staged on the host, and unpacked
 * by the other.
 */
static usm_status plan_staged(usm_route *route, usm_queue *first, usm_queue *last, usm_error *error)
{
    const usm_strided *axes = &route->axes.strided;
    usm_dtype dst = axes->dst_dtype, src = axes->src_dtype;
    bool narrows = usm_dtype_table[dst].itemsize < usm_dtype_table[src].itemsize;
    bool early = dst != src && casts(first->device, dst, src) && (narrows || !casts(last->device, dst, src));
    usm_dtype staged = early ? dst : src;
    usm_route_buffer host = {.kind = USM_HOST, .dtype = staged};
    usm_status status = staging_place(first, last, &host.place, error);
    if (status != USM_OK) {
        return status;
    }
    const usm_alloc middle = placeholder_alloc(&host);
    add_side(route, first, &middle, route->src, staged == src && source_is_block(route, false), staged);
    add_buffer(route, host.place, USM_HOST, staged);
    add_side(route, last, route->dst, &middle, staged == dst && target_is_block(route), staged);
    cut_in_pieces(route, staged);
    return USM_OK;
}

/* The driver's peer copy takes blocks: each side packs and unpacks on its own device. */
static void plan_peers(usm_route *route, usm_queue *first, usm_queue *last)
{
    const usm_strided *axes = &route->axes.strided;
    usm_dtype dtype = axes->src_dtype;
    if (!source_is_block(route, false)) {
        add_hop(route, first);
        add_buffer(route, first->place, USM_DEVICE, dtype);
    }
    add_hop(route, last);
    if (axes->dst_dtype != dtype || !target_is_block(route)) {
        add_buffer(route, last->place, USM_DEVICE, dtype);
        add_hop(route, last);
    }
}

/* A queue that reaches the memory: the one that is there, else the cached one of the memory's place. */
static usm_status side_queue(usm_route *route, int side, usm_queue *queue, usm_alloc *alloc, usm_queue **out,
                             usm_error *error)
{
    usm_status status = USM_OK;
    *out = queue;
    if (!usm_place_reaches(queue->place, alloc)) {
        status = usm_place_queue(alloc->place, &route->own[side], error);
        *out = route->own[side];
    }
    return status;
}

/* The route between memory that one command does not reach, the fewest hops that the drivers allow. */
static usm_status plan_afar(usm_route *route, usm_queue *queue, usm_error *error)
{
    const usm_strided *axes = &route->axes.strided;
    usm_dtype dst = axes->dst_dtype, src = axes->src_dtype;
    usm_queue *first, *last;
    usm_status status = side_queue(route, 0, queue, route->src, &first, error);
    if (status == USM_OK) {
        status = side_queue(route, 1, queue, route->dst, &last, error);
    }
    if (status != USM_OK) {
        return status;
    }
    if (usm_connection(first->place, USM_DEVICE, last->place) == USM_CONNECTION_MIGRATABLE &&
        casts(last->device, dst, src)) {
        plan_peers(route, first, last);
        return USM_OK;
    }
    bool ordered = source_is_block(route, false);
    if (usm_alloc_host_reads(route->src) && (ordered || source_is_block(route, true)) &&
        casts(last->device, dst, src)) {
        route->source_order = !ordered;
        add_side(route, last, route->dst, route->src, route->block, src);
        return USM_OK;
    }
    if (driver_writes(first->place, route->dst) && target_is_block(route) && casts(first->device, dst, src)) {
        add_side(route, first, route->dst, route->src, route->block, dst);
        return USM_OK;
    }
    return plan_staged(route, first, last, error);
}

/* Where the device of the queue does not cast these types, but one of the two ends does: that one's queue. */
static usm_status casting_queue(usm_route *route, usm_queue **queue, const usm_view *dst, const usm_view *src,
                                usm_error *error)
{
    usm_alloc *const ends[] = {src->alloc, dst->alloc};
    for (int side = 0; side < 2; side++) {
        if (casts(ends[side]->place->device, dst->dtype, src->dtype)) {
            usm_status status = usm_place_queue(ends[side]->place, &route->own[side], error);
            *queue = route->own[side];
            return status;
        }
    }
    return USM_OK;
}

/* Every hop that casts is on a device that computes in the types. */
static usm_status check_casts(const usm_route *route, usm_error *error)
{
    usm_dtype src = route->axes.strided.src_dtype;
    for (int i = 0; i < route->n_hops; i++) {
        usm_dtype dst = i == route->n_hops - 1 ? route->axes.strided.dst_dtype : route->buffers[i].dtype;
        if (!casts(route->queues[i]->device, dst, src)) {
            const char *to = usm_dtype_table[dst].name;
            return usm_error_set(
                error, USM_VALUE,
                "%s has no aspect fp64 (Device.has_fp64) and does not cast %s to %s; it holds "
                "and copies both: cast where there is fp64, as in "
                "x.to_device(\"host\").astype(\"%s\"), and take that back with to_device",
                route->queues[i]->device->info.name, usm_dtype_table[src].name, to, to);
        }
        src = dst;
    }
    return USM_OK;
}

usm_status usm_route_plan(usm_route *route, usm_queue *queue, const usm_view *dst, const usm_view *src,
                          usm_error *error)
{
    route->dst = dst->alloc;
    route->src = src->alloc;
    route->n_hops = route->cut = 0;
    route->pieces = 1;
    route->overlaps = route->source_order = false;
    route->own[0] = route->own[1] = NULL;
    if (usm_view_size(dst) == 0) {
        return USM_OK;
    }
    usm_copy_plan(&route->axes, dst, src);
    route->rows = route->axes.strided.shape[0];
    route->block = usm_strided_is_block(&route->axes.strided);
    route->connection = usm_connection(src->alloc->place, (usm_kind)src->alloc->kind, queue->place);
    /* A block is moved as memmove does it. */
    route->overlaps = !route->block && usm_views_overlap(dst, src);
    usm_status status = USM_OK;
    if (USM_UNLIKELY(!casts(queue->device, dst->dtype, src->dtype))) {
        status = casting_queue(route, &queue, dst, src, error);
    }
    if (status == USM_OK && one_command(queue->place, dst->alloc, src->alloc, route->block)) {
        add_hop(route, queue);
    } else if (status == USM_OK) {
        status = plan_afar(route, queue, error);
    }
    if (status == USM_OK && route->overlaps && route->n_hops == 1) {
        add_buffer(route, route->queues[0]->place, USM_DEVICE, src->dtype);
        add_hop(route, route->queues[0]);
    }
    if (status == USM_OK && dst->dtype != src->dtype) {
        status = check_casts(route, error);
    }
    if (status != USM_OK) {
        usm_route_clear(route);
    }
    return status;
}

void usm_route_clear(usm_route *route)
{
    for (int i = 0; i < 2; i++) {
        if (route->own[i] != NULL) {
            usm_queue_release(route->own[i]);
        }
    }
}

/* The lengths of a piece, and the bytes to its start on either side. */
static void piece_of(const usm_route *route, int64_t piece, int64_t *shape, int64_t *dst_at, int64_t *src_at)
{
    const usm_strided *axes = &route->axes.strided;
    *dst_at = *src_at = 0;
    memcpy(shape, axes->shape, (size_t)axes->ndim * sizeof *shape);
    if (route->pieces == 1) {
        return;
    }
    int64_t chunks = (axes->shape[route->cut] + route->rows - 1) / route->rows;
    int64_t first = piece % chunks * route->rows, rest = piece / chunks;
    int64_t left = axes->shape[route->cut] - first;
    shape[route->cut] = left < route->rows ? left : route->rows;
    *dst_at = first * axes->dst_strides[route->cut];
    *src_at = first * axes->src_strides[route->cut];
    for (int i = route->cut - 1; i >= 0; i--) {
        if (!repeats(axes, i)) {
            int64_t at = rest % axes->shape[i];
            rest /= axes->shape[i];
            *dst_at += at * axes->dst_strides[i];
            *src_at += at * axes->src_strides[i];
            shape[i] = 1;
        }
    }
}

size_t usm_route_buffer_bytes(const usm_route *route, int buffer)
{
    int64_t shape[USM_MAX_NDIM], dst_at, src_at, n = 1;
    piece_of(route, 0, shape, &dst_at, &src_at); /* the largest one */
    for (int i = 0; i < route->axes.strided.ndim; i++) {
        n *= repeats(&route->axes.strided, i) ? 1 : shape[i];
    }
    return (size_t)usm_dtype_nbytes(route->buffers[buffer].dtype, n);
}

void usm_route_hop(const usm_route *route, int hop, int64_t piece, char *const *buffers, usm_plan *plan)
{
    const usm_strided *axes = &route->axes.strided;
    int64_t shape[USM_MAX_NDIM], to[USM_MAX_NDIM], from[USM_MAX_NDIM], dst_at, src_at;
    bool is_first = hop == 0, is_last = hop == route->n_hops - 1;
    usm_strided whole = {
        .dst_dtype = is_last ? axes->dst_dtype : route->buffers[hop].dtype,
        .src_dtype = is_first ? axes->src_dtype : route->buffers[hop - 1].dtype,
        .ndim = axes->ndim,
        .shape = shape,
        .dst_strides = to,
        .src_strides = from,
    };
    piece_of(route, piece, shape, &dst_at, &src_at);
    int64_t step = 1; /* of a compact buffer, in elements */
    for (int i = axes->ndim - 1; i >= 0; i--) {
        int64_t beside = repeats(axes, i) ? 0 : step;
        if (route->source_order) {
            beside = axes->src_strides[i] / usm_dtype_table[axes->src_dtype].itemsize;
        } else if (beside != 0) {
            step *= shape[i];
        }
        to[i] = is_last ? axes->dst_strides[i] : beside * usm_dtype_table[whole.dst_dtype].itemsize;
        from[i] = is_first ? axes->src_strides[i] : beside * usm_dtype_table[whole.src_dtype].itemsize;
    }
    for (int i = 0; i < axes->ndim && !is_last; i++) {
        shape[i] = repeats(axes, i) ? 1 : shape[i]; /* once is enough until the last hop */
    }
    whole.dst = is_last ? axes->dst + dst_at : buffers == NULL ? NULL : buffers[hop];
    whole.src = is_first ? axes->src + src_at : buffers == NULL ? NULL : buffers[hop - 1];
    usm_strided_plan(plan, &whole);
}
