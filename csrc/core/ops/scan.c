#include "scan.h"

#include "core/builtin/builtin.h"
#include "kernels/abi/scan.h"

/* By what a place knows the kernels of a type: texts that last. */
typedef struct names {
    const char *module, *options, *totals, *scan, *tiles;
} names;

/* Signed integers wrap as unsigned ones do. */
#define NAMES(type, number)                                                                             \
    {                                                                                                   \
        "scan." type, "-D USM_COMPUTE=" number, "usm_totals_" type, "usm_scan_" type, "usm_tiles_" type \
    }
static const names kernels[USM_COMPUTED_DTYPES] = {
    [USM_INT8] = NAMES("uint8", "5"),           [USM_INT16] = NAMES("uint16", "6"),
    [USM_INT32] = NAMES("uint32", "7"),         [USM_INT64] = NAMES("uint64", "8"),
    [USM_UINT8] = NAMES("uint8", "5"),          [USM_UINT16] = NAMES("uint16", "6"),
    [USM_UINT32] = NAMES("uint32", "7"),        [USM_UINT64] = NAMES("uint64", "8"),
    [USM_FLOAT32] = NAMES("float32", "10"),     [USM_FLOAT64] = NAMES("float64", "11"),
    [USM_COMPLEX64] = NAMES("complex64", "12"), [USM_COMPLEX128] = NAMES("complex128", "13"),
};

/* Groups of a tile; 0 where the device takes no tiles. */
static int64_t tile_of(const usm_queue *queue, usm_dtype dtype)
{
    int64_t tile = USM_TILE(usm_dtype_table[dtype].itemsize);
    bool takes =
        queue->place->device->type != USM_CPU && (int64_t)queue->device->info.max_work_group_size >= tile;
    return takes ? tile : 0;
}

/* By tiles, as r->mode says. */
static usm_status launch_tiles(usm_queue *queue, int64_t tile, const usm_view *dst, const usm_view *src,
                               const usm_view *before, const usm_scan *r, usm_error *error)
{
    const names *names = &kernels[src->dtype];
    const usm_view views[] = {*dst, *src, *before};
    int64_t groups = r->mode == USM_TILE_SHORT ? r->outer : r->groups;
    usm_builtin builtin;
    usm_builtin_init(&builtin, names->module, names->tiles, names->options);
    builtin.group = (unsigned)tile;
    builtin.n[0] = (groups + tile - 1) / tile * tile * (r->mode == USM_TILE_SHORT ? 1 : r->outer);
    builtin.n[1] = builtin.n[2] = 1;
    builtin.cost = (size_t)(r->outer * r->n * usm_view_itemsize(src));
    return usm_builtin_submit_views(queue, &builtin, views, 3, USM_WRITE, r, sizeof *r, error);
}

/* Groups of groups where a tile is not a whole row: as deep as the logarithm of n. */
static usm_status scan_tiles(usm_queue *queue, int64_t tile, const usm_view *dst, const usm_view *src,
                             usm_scan r, usm_error *error)
{
    usm_scratch totals, before;
    usm_status status = USM_OK;
    r.groups = (r.n + USM_GROUP - 1) / USM_GROUP;
    totals.view.alloc = before.view.alloc = NULL;
    if (r.groups > tile) {
        const usm_scan above = {.outer = r.outer,
                                .n = (r.groups + USM_GROUP - 1) / USM_GROUP,
                                .inner = 1,
                                .exclusive = 1,
                                .op = r.op};
        const int64_t n = above.outer * above.n;
        status = usm_scratch_create(queue, src->dtype, 1, &n, 'C', &totals, error);
        if (status == USM_OK) {
            status = usm_scratch_create(queue, src->dtype, 1, &n, 'C', &before, error);
        }
        if (status == USM_OK) {
            r.mode = USM_TILE_TOTALS;
            status = launch_tiles(queue, tile, &totals.view, src, src, &r, error);
        }
        if (status == USM_OK) {
            status = scan_tiles(queue, tile, &before.view, &totals.view, above, error);
        }
    }
    if (status == USM_OK) {
        r.mode = r.groups == 1 ? USM_TILE_SHORT : USM_TILE_RESULTS;
        status = launch_tiles(queue, tile, dst, src, r.groups > tile ? &before.view : src, &r, error);
    }
    usm_scratch_release(&before);
    usm_scratch_release(&totals);
    return status;
}

/* `before` NULL: the totals of groups; else the results. */
static usm_status launch(usm_queue *queue, const usm_view *dst, const usm_view *src, const usm_view *before,
                         const usm_scan *r, usm_error *error)
{
    const names *names = &kernels[src->dtype];
    usm_builtin builtin;
    const usm_access accesses[] = {
        usm_write_view(dst), {src->alloc, USM_READ}, {before != NULL ? before->alloc : NULL, USM_READ}};
    usm_builtin_init(&builtin, names->module, before == NULL ? names->totals : names->scan, names->options);
    usm_builtin_pointer(&builtin, dst->data);
    usm_builtin_pointer(&builtin, src->data);
    if (before != NULL) {
        usm_builtin_pointer(&builtin, before->data);
    }
    usm_builtin_value(&builtin, r, sizeof *r);
    builtin.n[0] = r->inner;
    builtin.n[1] = r->groups;
    builtin.n[2] = r->outer;
    builtin.cost = (size_t)(r->outer * r->n * r->inner * usm_view_itemsize(src));
    return usm_builtin_submit(queue, &builtin, accesses, before != NULL ? 3 : 2, error);
}

/* Both of the computed type and compact. */
static usm_status scan(usm_queue *queue, const usm_view *dst, const usm_view *src, usm_scan r,
                       usm_error *error)
{
    usm_scratch totals, before;
    usm_status status = USM_OK;
    r.groups = (r.n + USM_GROUP - 1) / USM_GROUP;
    totals.view.alloc = before.view.alloc = NULL;
    if (r.groups > 1) {
        const int64_t n = r.outer * r.groups * r.inner;
        status = usm_scratch_create(queue, src->dtype, 1, &n, 'C', &totals, error);
        if (status == USM_OK) {
            status = usm_scratch_create(queue, src->dtype, 1, &n, 'C', &before, error);
        }
        if (status == USM_OK) {
            status = launch(queue, &totals.view, src, NULL, &r, error);
        }
        if (status == USM_OK) { /* as deep as the logarithm of n */
            const usm_scan above = {
                .outer = r.outer, .n = r.groups, .inner = r.inner, .exclusive = 1, .op = r.op};
            status = scan(queue, &before.view, &totals.view, above, error);
        }
    }
    if (status == USM_OK) {
        status = launch(queue, dst, src, before.view.alloc != NULL ? &before.view : src, &r, error);
    }
    usm_scratch_release(&before);
    usm_scratch_release(&totals);
    return status;
}

/* The first rows of dst. */
static usm_status write_initial(usm_queue *queue, int op, const usm_view *dst, int axis, usm_error *error)
{
    static const int64_t still[USM_MAX_NDIM];
    int64_t shape[USM_MAX_NDIM];
    usm_scratch number;
    for (int i = 0; i < dst->ndim; i++) {
        shape[i] = i == axis ? 1 : dst->shape[i];
    }
    usm_status status = usm_scratch_number(queue, USM_BOOL, &(unsigned char){op == USM_PROD}, &number, error);
    if (status == USM_OK) {
        const usm_view rows = {dst->alloc, dst->data, dst->dtype, dst->ndim, shape, dst->strides};
        const usm_view all = {number.view.alloc, number.view.data, USM_BOOL, dst->ndim, shape, still};
        status = usm_copy_submit(queue, &rows, &all, NULL, error);
    }
    usm_scratch_release(&number);
    return status;
}

/* dst as in usm_scan_submit, but of a type that is computed in. */
static usm_status scan_computed(usm_queue *queue, int op, const usm_view *dst, const usm_view *src, int axis,
                                usm_scan r, usm_error *error)
{
    usm_scratch copy;
    usm_view from = *src;
    int64_t size;
    usm_status status = r.first ? write_initial(queue, op, dst, axis, error) : USM_OK;
    copy.view.alloc = NULL;
    if (status == USM_OK && r.n > 0) {
        if (src->dtype != dst->dtype || !usm_view_is_row_major(src, &size) || !usm_view_is_aligned(src)) {
            status = usm_scratch_copy(queue, src, dst->dtype, src->ndim, src->shape, 'C', &copy, error);
            from = copy.view;
        }
        if (status == USM_OK) {
            int64_t tile = r.inner == 1 ? tile_of(queue, from.dtype) : 0;
            status =
                tile > 0 ? scan_tiles(queue, tile, dst, &from, r, error) : scan(queue, dst, &from, r, error);
        }
    }
    usm_scratch_release(&copy);
    return status;
}

usm_status usm_scan_submit(usm_queue *queue, int op, const usm_view *dst, const usm_view *src, int axis,
                           bool initial, usm_error *error)
{
    usm_scan r = {.outer = 1, .n = src->shape[axis], .inner = 1, .first = initial, .op = op};
    usm_scratch wide;
    for (int i = 0; i < src->ndim; i++) {
        *(i < axis ? &r.outer : i > axis ? &r.inner : &(long){1}) *= src->shape[i];
    }
    if (r.outer * r.inner == 0) {
        return USM_OK;
    }
    usm_dtype computed = usm_builtin_computed(queue, dst->dtype);
    if (computed == dst->dtype) {
        return scan_computed(queue, op, dst, src, axis, r, error);
    }
    usm_status status = usm_scratch_create(queue, computed, dst->ndim, dst->shape, 'C', &wide, error);
    if (status == USM_OK) {
        status = scan_computed(queue, op, &wide.view, src, axis, r, error);
    }
    if (status == USM_OK) {
        status = usm_copy_submit(queue, dst, &wide.view, NULL, error);
    }
    usm_scratch_release(&wide);
    return status;
}
