#include "copy.h"

#include "backend.h"
#include "heap.h"

#include <string.h>

static int64_t magnitude(int64_t x)
{
    return x < 0 ? -x : x;
}

/* One axis in byte strides. */
typedef struct axis {
    int64_t length, dst, src;
} axis;

/* Slower axes first. Ties (dst stride 0 on both) are broken by src. */
static bool slower(const axis *a, const axis *b)
{
    int64_t x = magnitude(a->dst), y = magnitude(b->dst);
    return x != y ? x > y : magnitude(a->src) > magnitude(b->src);
}

static void sort(axis *axes, int n)
{
    for (int i = 1; i < n; i++) {
        axis moving = axes[i];
        int k = i;
        for (; k > 0 && slower(&moving, &axes[k - 1]); k--) {
            axes[k] = axes[k - 1];
        }
        axes[k] = moving;
    }
}

static int merge(axis *axes, int n)
{
    int kept = 0;
    for (int i = 1; i < n; i++) {
        axis *outer = &axes[kept], *inner = &axes[i];
        if (outer->dst == inner->dst * inner->length && outer->src == inner->src * inner->length) {
            inner->length *= outer->length;
            *outer = *inner;
        } else {
            axes[++kept] = *inner;
        }
    }
    return kept + 1;
}

void usm_copy_plan(usm_plan *plan, const usm_view *dst, const usm_view *src)
{
    axis axes[USM_MAX_NDIM];
    int n = 0;
    char *dst_data = dst->data;
    const char *src_data = src->data;
    int dst_size = usm_dtype_table[dst->dtype].itemsize, src_size = usm_dtype_table[src->dtype].itemsize;
    for (int i = 0; i < dst->ndim; i++) {
        if (dst->shape[i] == 1) {
            continue;
        }
        axis next = {dst->shape[i], dst->strides[i] * dst_size, src->strides[i] * src_size};
        if (next.dst < 0) { /* walk it from the other end */
            dst_data += next.dst * (next.length - 1);
            src_data += next.src * (next.length - 1);
            next.dst = -next.dst;
            next.src = -next.src;
        }
        axes[n++] = next;
    }
    if (n == 0) {
        axes[n++] = (axis){1, dst_size, src_size};
    }
    sort(axes, n);
    n = merge(axes, n);
    usm_strided *strided = &plan->strided;
    *strided = (usm_strided){
        .dst = dst_data,
        .src = src_data,
        .dst_dtype = dst->dtype,
        .src_dtype = src->dtype,
        .ndim = n,
        .shape = plan->numbers,
        .dst_strides = plan->numbers + n,
        .src_strides = plan->numbers + 2 * n,
    };
    for (int i = 0; i < n; i++) {
        strided->shape[i] = axes[i].length;
        strided->dst_strides[i] = axes[i].dst;
        strided->src_strides[i] = axes[i].src;
    }
}

usm_strided *usm_strided_clone(const usm_strided *plan)
{
    size_t numbers = 3 * (size_t)plan->ndim * sizeof(int64_t);
    usm_strided *clone = usm_malloc(sizeof *clone + numbers);
    if (clone != NULL) {
        *clone = *plan;
        clone->shape = (int64_t *)(clone + 1);
        clone->dst_strides = clone->shape + plan->ndim;
        clone->src_strides = clone->dst_strides + plan->ndim;
        memcpy(clone->shape, plan->shape, numbers / 3);
        memcpy(clone->dst_strides, plan->dst_strides, numbers / 3);
        memcpy(clone->src_strides, plan->src_strides, numbers / 3);
    }
    return clone;
}

static int64_t count(const usm_view *view)
{
    uint64_t n = 1; /* beside a length of 0, others may have any product */
    for (int i = 0; i < view->ndim; i++) {
        n *= (uint64_t)view->shape[i];
    }
    return (int64_t)n;
}

/* Memory that both sides touch, unless each element only meets itself. */
static bool overlap(const usm_view *dst, const usm_view *src)
{
    int64_t dst_low, dst_high, src_low, src_high;
    int dst_size = usm_dtype_table[dst->dtype].itemsize, src_size = usm_dtype_table[src->dtype].itemsize;
    if (!usm_layout_span(dst->ndim, dst->shape, dst->strides, dst_size, &dst_low, &dst_high) ||
        !usm_layout_span(src->ndim, src->shape, src->strides, src_size, &src_low, &src_high)) {
        return true;
    }
    if (dst->data + dst_high <= src->data + src_low || src->data + src_high <= dst->data + dst_low) {
        return false;
    }
    bool same = dst->data == src->data && dst_size == src_size;
    for (int i = 0; i < dst->ndim && same; i++) {
        same = dst->shape[i] == 1 || dst->strides[i] == src->strides[i];
    }
    return !same;
}

/* Elements side by side on both sides, of one type. */
static bool is_contiguous(const usm_plan *plan)
{
    const usm_strided *strided = &plan->strided;
    int size = usm_dtype_table[strided->dst_dtype].itemsize;
    return strided->dst_dtype == strided->src_dtype && strided->ndim == 1 &&
           strided->dst_strides[0] == size && strided->src_strides[0] == size;
}

/* One command in the queue, which reaches both sides. */
static usm_status submit_plan(usm_queue *queue, const usm_view *dst, const usm_view *src, usm_event **out,
                              usm_error *error)
{
    const usm_access accesses[] = {{dst->alloc, USM_WRITE}, {src->alloc, USM_READ}};
    usm_command command;
    usm_plan plan;
    usm_copy_plan(&plan, dst, src);
    if (is_contiguous(&plan)) {
        command.kind = USM_COMMAND_COPY;
        command.as.copy.dst = plan.strided.dst;
        command.as.copy.src = plan.strided.src;
        command.as.copy.nbytes = (size_t)usm_dtype_nbytes(dst->dtype, plan.strided.shape[0]);
    } else {
        command.kind = USM_COMMAND_STRIDED;
        command.as.strided = &plan.strided;
    }
    const usm_submission submission = {.command = &command, .accesses = accesses, .n_accesses = 2};
    return usm_queue_submit(queue, &submission, out, error);
}

static usm_status submit_nothing(usm_queue *queue, usm_event **out, usm_error *error)
{
    const usm_command command = {.kind = USM_COMMAND_MARKER};
    const usm_submission submission = {.command = &command};
    return out == NULL ? USM_OK : usm_queue_submit(queue, &submission, out, error);
}

/* A place between dst and src: new row-major memory in the shape of `like`. */
static usm_status make_third(usm_place *place, usm_kind kind, const usm_view *like, usm_dtype dtype,
                             int64_t *strides, usm_view *third, usm_error *error)
{
    usm_alloc *alloc;
    usm_status status =
        usm_alloc_create(place, kind, (size_t)usm_dtype_nbytes(dtype, count(like)), false, &alloc, error);
    if (status == USM_OK) {
        usm_layout_compact(like->ndim, like->shape, 'C', strides);
        *third = (usm_view){alloc, alloc->pointer, dtype, like->ndim, like->shape, strides};
    }
    return status;
}

bool usm_place_reaches(const usm_place *place, const usm_alloc *alloc)
{
    const usm_backend *backend = place->context->backend;
    if (place == alloc->place) {
        return true;
    }
    if (backend != alloc->context->backend) {
        return usm_alloc_host_reads(alloc) && place->device->info.has_usm_system;
    }
    return backend->memory_connection(place, alloc->place) == USM_CONNECTION_UNIFIED ||
           (place->context == alloc->context && alloc->kind != USM_DEVICE);
}

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

static bool driver_copies(const usm_place *place, const usm_view *dst, const usm_view *src)
{
    usm_plan plan;
    usm_copy_plan(&plan, dst, src);
    return is_contiguous(&plan) &&
           (usm_place_reaches(place, dst->alloc) || driver_writes(place, dst->alloc)) &&
           (usm_place_reaches(place, src->alloc) || usm_alloc_host_reads(src->alloc));
}

/* In two steps over a third place; each is a copy of its own. Takes the count of third->alloc. */
static usm_status submit_through(usm_queue *first, usm_queue *second, const usm_view *dst,
                                 const usm_view *third, const usm_view *src, usm_event **out,
                                 usm_error *error)
{
    usm_status status = usm_copy_submit(first, third, src, NULL, error);
    if (status == USM_OK) {
        status = usm_copy_submit(second, dst, third, out, error);
    }
    usm_alloc_release(third->alloc); /* the tasks hold it */
    return status;
}

/*
 * Memory of the host for what passes through it: of the place itself, or of the host device, from which every
 * driver copies whole blocks.
 */
static usm_status staging_place(usm_place *place, usm_place **out, usm_error *error)
{
    usm_context *context;
    *out = place;
    if (place->device->info.has_usm_host) {
        return USM_OK;
    }
    const usm_backend_report *host = usm_backend_start(usm_backend_index("host", 4));
    if (host->absent != NULL) {
        return usm_error_set(error, USM_UNAVAILABLE, "%s", host->absent);
    }
    usm_status status = usm_context_default(host->devices[0], &context, error);
    return status == USM_OK ? usm_context_place(context, host->devices[0], out, error) : status;
}

static usm_status make_staging(usm_place *place, const usm_view *like, usm_dtype dtype, int64_t *strides,
                               usm_view *third, usm_error *error)
{
    usm_place *host;
    usm_status status = staging_place(place, &host, error);
    return status == USM_OK ? make_third(host, USM_HOST, like, dtype, strides, third, error) : status;
}

/* All of the view is one block of host memory, in row-major order: a driver copies it as it is. */
static bool is_host_block(const usm_view *view)
{
    int64_t strides[USM_MAX_NDIM];
    usm_layout_compact(view->ndim, view->shape, 'C', strides);
    const usm_view compact = {view->alloc, view->data, view->dtype, view->ndim, view->shape, strides};
    usm_plan plan;
    usm_copy_plan(&plan, &compact, view);
    return is_contiguous(&plan) && usm_alloc_host_reads(view->alloc);
}

/* The source is out of the queue's reach. Its own place brings it into one block that a driver can copy. */
static usm_status submit_from_afar(usm_queue *queue, const usm_view *dst, const usm_view *src,
                                   usm_event **out, usm_error *error)
{
    usm_queue *own;
    usm_view third;
    int64_t strides[USM_MAX_NDIM];
    if (is_host_block(src)) {
        usm_status status = make_third(queue->place, USM_DEVICE, src, src->dtype, strides, &third, error);
        return status != USM_OK ? status : submit_through(queue, queue, dst, &third, src, out, error);
    }
    usm_status status = usm_place_queue(src->alloc->place, &own, error);
    if (status != USM_OK) {
        return status;
    }
    status = make_staging(src->alloc->place, src, src->dtype, strides, &third, error);
    if (status == USM_OK) {
        status = submit_through(own, queue, dst, &third, src, out, error);
    }
    usm_queue_release(own);
    return status;
}

/* The target is out of the queue's reach: a block is the driver's to write, else its own place does it. */
static usm_status submit_to_afar(usm_queue *queue, const usm_view *dst, const usm_view *src, usm_event **out,
                                 usm_error *error)
{
    usm_queue *own;
    usm_view third;
    int64_t strides[USM_MAX_NDIM];
    if (is_host_block(dst) && driver_writes(queue->place, dst->alloc)) {
        usm_status status = make_third(queue->place, USM_DEVICE, dst, dst->dtype, strides, &third, error);
        return status != USM_OK ? status : submit_through(queue, queue, dst, &third, src, out, error);
    }
    usm_status status = usm_place_queue(dst->alloc->place, &own, error);
    if (status != USM_OK) {
        return status;
    }
    status = make_staging(queue->place, dst, dst->dtype, strides, &third, error);
    if (status == USM_OK) {
        status = submit_through(queue, own, dst, &third, src, out, error);
    }
    usm_queue_release(own);
    return status;
}

usm_status usm_copy_submit(usm_queue *queue, const usm_view *dst, const usm_view *src, usm_event **out,
                           usm_error *error)
{
    if (count(dst) == 0) {
        return submit_nothing(queue, out, error);
    }
    bool from = usm_place_reaches(queue->place, src->alloc), to = usm_place_reaches(queue->place, dst->alloc);
    if (!(from && to) && !driver_copies(queue->place, dst, src)) {
        return from ? submit_to_afar(queue, dst, src, out, error)
                    : submit_from_afar(queue, dst, src, out, error);
    }
    if (!overlap(dst, src)) {
        return submit_plan(queue, dst, src, out, error);
    }
    usm_view third;
    int64_t strides[USM_MAX_NDIM];
    usm_status status = make_third(queue->place, USM_DEVICE, dst, src->dtype, strides, &third, error);
    return status != USM_OK ? status : submit_through(queue, queue, dst, &third, src, out, error);
}

usm_status usm_fill_submit(usm_queue *queue, const usm_view *dst, const void *value, usm_event **out,
                           usm_error *error)
{
    size_t size = usm_dtype_table[dst->dtype].itemsize;
    if (count(dst) == 0) {
        return submit_nothing(queue, out, error);
    }
    usm_plan plan;
    usm_copy_plan(&plan, dst, dst);
    if (plan.strided.ndim == 1 && plan.strided.dst_strides[0] == (int64_t)size) {
        const usm_access access = {dst->alloc, USM_WRITE};
        usm_command command = {.kind = USM_COMMAND_FILL};
        const usm_submission submission = {.command = &command, .accesses = &access, .n_accesses = 1};
        command.as.fill.dst = plan.strided.dst;
        command.as.fill.nbytes = (size_t)plan.strided.shape[0] * size;
        command.as.fill.pattern_size = size;
        memcpy(command.as.fill.pattern, value, size);
        return usm_queue_submit(queue, &submission, out, error);
    }
    /* One element, read again and again; on a device without host memory it is filled in first. */
    usm_kind kind = queue->device->info.has_usm_host ? USM_HOST : USM_DEVICE;
    usm_alloc *element;
    usm_status status = usm_alloc_create(queue->place, kind, size, false, &element, error);
    if (status != USM_OK) {
        return status;
    }
    int64_t zeros[USM_MAX_NDIM] = {0};
    const usm_view src = {element, element->pointer, dst->dtype, dst->ndim, dst->shape, zeros};
    if (kind == USM_HOST) {
        memcpy(element->pointer, value, size);
    } else {
        const usm_view one = {element, element->pointer, dst->dtype, 0, NULL, NULL};
        status = usm_fill_submit(queue, &one, value, NULL, error);
    }
    if (status == USM_OK) {
        status = submit_plan(queue, dst, &src, out, error);
    }
    usm_alloc_release(element);
    return status;
}
