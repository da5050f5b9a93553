#include "sort.h"

#include "axes.h"
#include "scan.h"

#include "core/builtin/builtin.h"
#include "kernels/abi/sort.h"

#include <string.h>

/* Rows that one work-item of a host sorts, and rows that any other device sorts by rank. */
#define ROW_OF_HOST 65536
#define RANKED 2048
#define RANKED_IN_GROUPS 128   /* where groups sort more in local memory */
#define HOST_NEEDS_NO_ROOM 256 /* USM_CPU_SORT_FEW */
/* Elements of a chunk, and about as many chunks as a device can use. */
#define CHUNK_OF_PROCESSOR 32768
#define CHUNK 1024
#define MOST_CHUNKS 16384

/* The kernels for elements of 1, 2, 4 and 8 bytes: texts that last. */
typedef struct names {
    const char *count, *place, *tally, *move, *rank, *rows, *search, *options;
} names;

#define NAMES(size)                                                                                    \
    {                                                                                                  \
        "usm_sort_count_" size, "usm_sort_place_" size, "usm_sort_tally_" size, "usm_sort_move_" size, \
            "usm_sort_rank_" size, "usm_sort_rows_" size, "usm_search_" size, "-D USM_ONLY=" size      \
    }
static const names kernels[] = {NAMES("1"), NAMES("2"), NAMES("4"), NAMES("8")};

static const names *kernels_of(usm_dtype dtype)
{
    return &kernels[__builtin_ctz(usm_dtype_table[dtype].itemsize)];
}

/* How elements of a type are ordered. */
static usm_sort_order order_of(usm_dtype dtype, bool descending)
{
    const usm_dtype_info *info = &usm_dtype_table[dtype];
    uint64_t top = (uint64_t)1 << (info->bits - 1), mirrored = descending ? ~(uint64_t)0 : 0;
    if (info->kind == USM_DTYPE_KIND_FLOAT) {
        uint64_t infinity = dtype == USM_FLOAT16    ? 0x7c00
                            : dtype == USM_BFLOAT16 ? 0x7f80
                            : dtype == USM_FLOAT32  ? 0x7f800000
                                                    : 0x7ff0000000000000;
        return (usm_sort_order){~(uint64_t)0 ^ mirrored, top ^ mirrored, top, infinity};
    }
    mirrored ^= info->kind == USM_DTYPE_KIND_INT ? top : 0;
    return (usm_sort_order){mirrored, mirrored, 0, ~(uint64_t)0};
}

/* Memory that a sort may need: NULL where it does not. Pointers that a kernel does not use are any others. */
enum { VALUES, PLACES, COUNTS = PLACES + 2, SUMS, BUFFERS };

/* The kernel over these arrays, of which it writes those with a bit in `written`, the first one's lowest. */
static usm_status launch(usm_queue *queue, usm_dtype dtype, const char *function,
                         const usm_view *const *views, int n, unsigned written, const usm_sort *s,
                         const int64_t *range, size_t bytes, usm_error *error)
{
    usm_builtin builtin;
    usm_access accesses[5];
    usm_builtin_init(&builtin, "sort", function, kernels_of(dtype)->options);
    for (int i = 0; i < n; i++) {
        usm_builtin_pointer(&builtin, views[i]->data);
        accesses[i] = (usm_access){views[i]->alloc, (written >> i & 1) != 0 ? USM_READ_WRITE : USM_READ};
    }
    usm_builtin_value(&builtin, s, sizeof *s);
    if (s->rounds > 0) {
        builtin.group = USM_SORT_ITEMS;
        builtin.n[0] = s->rows * s->chunks * USM_SORT_ITEMS;
    } else {
        memcpy(builtin.n, range, sizeof builtin.n);
    }
    builtin.cost = bytes;
    return usm_builtin_submit(queue, &builtin, accesses, (size_t)n, error);
}

/* A pass over one digit: the elements of each chunk in each bucket, where these begin, and the moves. */
static usm_status pass(usm_queue *queue, usm_dtype dtype, usm_scratch *own, const usm_view *to,
                       const usm_view *to_places, const usm_view *from, const usm_view *places, usm_sort *s,
                       usm_error *error)
{
    const int64_t shape[] = {s->rows, USM_SORT_BUCKETS * s->chunks}, longer[] = {shape[0], shape[1] + 1};
    const int64_t strides[] = {shape[1], 1}, longer_strides[] = {longer[1], 1};
    const usm_view counts = {own[COUNTS].view.alloc, own[COUNTS].view.data, USM_UINT32, 2, shape, strides};
    const usm_view sums = {own[SUMS].view.alloc, own[SUMS].view.data, USM_UINT32, 2, longer, longer_strides};
    const int64_t range[] = {1, s->chunks, s->rows};
    const names *names = kernels_of(dtype);
    size_t bytes = (size_t)(s->rows * s->n) * usm_dtype_table[dtype].itemsize;
    const usm_view *const counted[] = {&counts, from}, *const moved[] = {to, to_places, from, places, &sums};
    usm_status status =
        launch(queue, dtype, s->rounds ? names->tally : names->count, counted, 2, 1u, s, range, bytes, error);
    if (status == USM_OK) {
        status = usm_scan_submit(queue, USM_SUM, &sums, &counts, 1, true, error);
    }
    return status != USM_OK ? status
                            : launch(queue, dtype, s->rounds ? names->move : names->place, moved, 5, 3u, s,
                                     range, 2 * bytes + (s->indices ? 8 * bytes : 0), error);
}

/* By radix, from the lowest digit to the highest. Values move between two buffers, of which dst is one where
 * values are asked for; their places before do so too. */
static usm_status radix(usm_queue *queue, const usm_view *dst, const usm_view *src, usm_sort *s,
                        usm_scratch *own, usm_error *error)
{
    int passes = usm_dtype_table[src->dtype].itemsize;
    int64_t n = s->rows * s->n, counts = s->rows * s->chunks * USM_SORT_BUCKETS;
    usm_view from = *src;
    usm_status status = usm_scratch_vector(queue, USM_UINT32, counts, &own[COUNTS], error);
    if (status == USM_OK) {
        status = usm_scratch_vector(queue, USM_UINT32, counts + s->rows, &own[SUMS], error);
    }
    if (status == USM_OK && passes > 1) {
        status = usm_scratch_vector(queue, src->dtype, s->indices ? 2 * n : n, &own[VALUES], error);
    }
    for (int i = 0; i < 2 && status == USM_OK && s->indices && passes > 1; i++) {
        status = usm_scratch_vector(queue, USM_UINT32, n, &own[PLACES + i], error);
    }
    for (int k = 0; k < passes && status == USM_OK; k++) {
        bool into_dst = (passes - 1 - k) % 2 == 0;
        usm_view to = into_dst && !s->indices ? *dst : own[VALUES].view;
        s->first = k == 0;
        s->last = k == passes - 1;
        s->shift = k * USM_SORT_BITS;
        if (s->indices && passes > 1 && into_dst) {
            to.data += n * passes; /* the second half; a pass moves a byte of each element */
        }
        const usm_view *to_places = s->indices && !s->last ? &own[PLACES + k % 2].view : dst;
        const usm_view *places = s->indices && !s->first ? &own[PLACES + (k + 1) % 2].view : src;
        status = pass(queue, src->dtype, own, s->indices && s->last ? dst : &to, to_places, &from, places, s,
                      error);
        from = to;
    }
    return status;
}

/* A launch that sorts whole rows: in local memory, by rank, or by a thread of the host for each. */
static usm_status whole_rows(usm_queue *queue, const usm_view *dst, const usm_view *src, usm_sort *s,
                             bool on_host, usm_scratch *own, usm_error *error)
{
    const names *names = kernels_of(src->dtype);
    int64_t n = s->rows * s->n;
    usm_status status = USM_OK;
    if (s->rounds) {
        const usm_view *const views[] = {dst, dst, src, src, src};
        return launch(queue, src->dtype, names->move, views, 5, 3u, s, (const int64_t[]){1, 1, 1},
                      (size_t)n * usm_dtype_table[src->dtype].itemsize * 8, error);
    }
    if (!on_host) {
        const usm_view *const views[] = {dst, dst, src};
        return launch(queue, src->dtype, names->rank, views, 3, 3u, s, (const int64_t[]){s->n, s->rows, 1},
                      (size_t)(n * s->n), error);
    }
    const usm_view *spare = dst, *places = dst;
    if (s->n > HOST_NEEDS_NO_ROOM) {
        status = usm_scratch_vector(queue, src->dtype, s->indices ? 2 * n : n, &own[VALUES], error);
        spare = &own[VALUES].view;
        if (status == USM_OK && s->indices) {
            status = usm_scratch_vector(queue, USM_UINT32, 2 * n, &own[PLACES], error);
            places = &own[PLACES].view;
        }
    }
    const usm_view *const views[] = {dst, dst, src, spare, places}; /* all but the third are written */
    return status != USM_OK
               ? status
               : launch(queue, src->dtype, names->rows, views, 5, 27u, s, (const int64_t[]){1, s->rows, 1},
                        (size_t)n * usm_dtype_table[src->dtype].itemsize * 16, error);
}

/* Compact rows into compact rows. */
static usm_status sort(usm_queue *queue, const usm_view *dst, const usm_view *src, usm_sort *s,
                       usm_error *error)
{
    bool on_host = usm_builtin_is_on_host(queue), processor = queue->place->device->type == USM_CPU;
    int64_t units = queue->device->info.max_compute_units, itemsize = usm_dtype_table[src->dtype].itemsize;
    bool in_groups = !processor && queue->device->info.max_work_group_size >= USM_SORT_ITEMS;
    usm_scratch own[BUFFERS];
    usm_status status;
    for (int i = 0; i < BUFFERS; i++) {
        own[i].view.alloc = NULL;
    }
    if (s->n >= (int64_t)1 << 32) {
        return usm_error_set(error, USM_VALUE,
                             "an axis of %lld elements is too long to sort; below 2**32 can be",
                             (long long)s->n);
    }
    if (in_groups && s->n > RANKED_IN_GROUPS) {
        s->chunk = (s->indices || itemsize > 4 ? 1 : 2) * USM_SORT_TILE; /* measured on an H200 */
        s->chunks = (s->n + s->chunk - 1) / s->chunk;
        s->rounds = 2;
        if (s->n <= USM_SORT_TILE) {
            s->first = s->last = 1;
            s->rounds = 2 * itemsize;
            status = whole_rows(queue, dst, src, s, on_host, own, error);
        } else {
            status = radix(queue, dst, src, s, own, error);
        }
    } else if (on_host ? s->n <= ROW_OF_HOST || s->rows >= units || units == 1 : s->n <= RANKED) {
        status = whole_rows(queue, dst, src, s, on_host, own, error);
    } else {
        int64_t most = processor ? 4 * units : MOST_CHUNKS, least = processor ? CHUNK_OF_PROCESSOR : CHUNK;
        s->chunk = (s->n * s->rows + most - 1) / most;
        s->chunk = s->chunk < least ? least : s->chunk > s->n ? s->n : s->chunk;
        s->chunks = (s->n + s->chunk - 1) / s->chunk;
        status = radix(queue, dst, src, s, own, error);
    }
    for (int i = 0; i < BUFFERS; i++) {
        usm_scratch_release(&own[i]);
    }
    return status;
}

usm_status usm_sort_submit(usm_queue *queue, const usm_view *dst, const usm_view *src, int axis, bool indices,
                           bool descending, usm_error *error)
{
    usm_axes_plan plan;
    usm_scratch copy, result;
    usm_view from, to = *dst, results;
    int64_t room[USM_MAX_NDIM];
    uint64_t reduced_axes = (uint64_t)1 << axis;
    usm_axes_plan_make(src, reduced_axes, true, &plan);
    if (plan.outer * plan.reduced == 0) {
        return USM_OK;
    }
    result.view.alloc = NULL;
    usm_status status = usm_axes_operand(queue, src, reduced_axes, &plan, src->dtype, &copy, &from, error);
    if (status == USM_OK && !plan.together) {
        status =
            usm_axes_scratch(queue, dst, reduced_axes, &plan, dst->dtype, &result, &results, room, error);
        to = result.view;
    }
    if (status == USM_OK) {
        usm_sort s = {.order = order_of(src->dtype, descending),
                      .rows = plan.outer,
                      .n = plan.reduced,
                      .buckets = USM_SORT_BUCKETS,
                      .values = !indices,
                      .indices = indices};
        status = sort(queue, &to, &from, &s, error);
    }
    if (status == USM_OK && !plan.together) {
        status = usm_copy_submit(queue, dst, &results, NULL, error);
    }
    usm_scratch_release(&copy);
    usm_scratch_release(&result);
    return status;
}

usm_status usm_search_submit(usm_queue *queue, const usm_view *dst, const usm_view *row,
                             const usm_view *values, const usm_view *sorter, bool right, usm_error *error)
{
    usm_scratch copies[3];
    usm_view views[4] = {*dst};
    const usm_search search = {.order = order_of(row->dtype, false),
                               .n = usm_view_size(values),
                               .length = row->shape[0],
                               .right = right,
                               .sorted = sorter == NULL};
    usm_builtin builtin;
    copies[1].view.alloc = copies[2].view.alloc = NULL;
    if (search.n == 0) {
        return USM_OK;
    }
    usm_status status = usm_scratch_compact(queue, values, row->dtype, values->ndim, values->shape,
                                            &copies[0], &views[1], error);
    if (status == USM_OK) {
        status =
            usm_scratch_compact(queue, row, row->dtype, row->ndim, row->shape, &copies[1], &views[2], error);
    }
    views[3] = views[2];
    if (status == USM_OK && sorter != NULL) {
        status = usm_scratch_compact(queue, sorter, USM_INT64, sorter->ndim, sorter->shape, &copies[2],
                                     &views[3], error);
    }
    if (status == USM_OK) {
        usm_builtin_init(&builtin, "sort", kernels_of(row->dtype)->search, kernels_of(row->dtype)->options);
        builtin.n[0] = search.n;
        builtin.cost = (size_t)search.n * 128;
        status =
            usm_builtin_submit_views(queue, &builtin, views, 4, USM_WRITE, &search, sizeof search, error);
    }
    for (int i = 0; i < 3; i++) {
        usm_scratch_release(&copies[i]);
    }
    return status;
}
