#include "scan.h"

#include "accumulate.h"
#include "axes.h"

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
static const names kernels[USM_COMPUTED_DTYPES] = {USM_WRAPPING_ROWS(NAMES), USM_REAL_ROWS(NAMES),
                                                   USM_COMPLEX_ROWS(NAMES)};

/* Groups of a tile; 0 where the device takes no tiles. */
static int64_t tile_of(const usm_queue *queue, usm_dtype dtype)
{
    int64_t tile = USM_TILE(usm_dtype_table[dtype].itemsize);
    bool takes =
        queue->place->device->type != USM_CPU && (int64_t)queue->device->info.max_work_group_size >= tile;
    return takes ? tile : 0;
}

/* By tiles, as r->mode says, or without. `before` NULL: the totals of groups; else the results. */
static usm_status launch(usm_queue *queue, int64_t tile, const usm_view *dst, const usm_view *src,
                         const usm_view *before, const usm_scan *r, usm_error *error)
{
    const names *names = &kernels[src->dtype];
    const usm_view *third = before != NULL ? before : src;
    const usm_access accesses[] = {usm_write_view(dst), {src->alloc, USM_READ}, {third->alloc, USM_READ}};
    const char *function = tile > 0 ? names->tiles : before == NULL ? names->totals : names->scan;
    usm_builtin builtin;
    usm_builtin_init(&builtin, names->module, function, names->options);
    usm_builtin_pointer(&builtin, dst->data);
    usm_builtin_pointer(&builtin, src->data);
    if (function != names->totals) {
        usm_builtin_pointer(&builtin, third->data);
    }
    usm_builtin_value(&builtin, r, sizeof *r);
    if (tile > 0) {
        int64_t groups = r->mode == USM_TILE_SHORT ? r->outer : r->groups;
        builtin.group = (unsigned)tile;
        builtin.n[0] = (groups + tile - 1) / tile * tile * (r->mode == USM_TILE_SHORT ? 1 : r->outer);
    } else {
        builtin.n[0] = r->inner;
        builtin.n[1] = r->groups;
        builtin.n[2] = r->outer;
    }
    builtin.cost = (size_t)(r->outer * r->n * r->inner * usm_view_itemsize(src));
    return usm_builtin_submit(queue, &builtin, accesses, function != names->totals ? 3 : 2, error);
}

/*
 * Both of the computed type and compact. Groups of groups where a tile, or one group, is not a whole row: as
 * deep as the logarithm of n.
 */
static usm_status scan(usm_queue *queue, int64_t tile, const usm_view *dst, const usm_view *src, usm_scan r,
                       usm_error *error)
{
    usm_scratch totals, before;
    usm_status status = USM_OK;
    r.groups = (r.n + USM_GROUP - 1) / USM_GROUP;
    totals.view.alloc = before.view.alloc = NULL;
    if (r.groups > (tile > 0 ? tile : 1)) {
        const usm_scan above = {.outer = r.outer,
                                .n = tile > 0 ? (r.groups + USM_GROUP - 1) / USM_GROUP : r.groups,
                                .inner = r.inner,
                                .exclusive = 1,
                                .op = r.op};
        const int64_t n = above.outer * above.n * above.inner;
        status = usm_scratch_vector(queue, src->dtype, n, &totals, error);
        if (status == USM_OK) {
            status = usm_scratch_vector(queue, src->dtype, n, &before, error);
        }
        if (status == USM_OK) {
            r.mode = USM_TILE_TOTALS;
            status = launch(queue, tile, &totals.view, src, NULL, &r, error);
        }
        if (status == USM_OK) {
            status = scan(queue, tile, &before.view, &totals.view, above, error);
        }
    }
    if (status == USM_OK) {
        r.mode = r.groups == 1 ? USM_TILE_SHORT : USM_TILE_RESULTS;
        status = launch(queue, tile, dst, src, before.view.alloc != NULL ? &before.view : src, &r, error);
    }
    usm_scratch_release(&before);
    usm_scratch_release(&totals);
    return status;
}

/* The first rows of dst. */
static usm_status write_initial(usm_queue *queue, int op, const usm_view *dst, int axis, usm_error *error)
{
    int64_t shape[USM_MAX_NDIM];
    const usm_view rows = {dst->alloc, dst->data, dst->dtype, dst->ndim, shape, dst->strides};
    for (int i = 0; i < dst->ndim; i++) {
        shape[i] = i == axis ? 1 : dst->shape[i];
    }
    return usm_identity_submit(queue, op, &rows, error);
}

/* dst as in usm_scan_submit, but of a type that is computed in. */
static usm_status scan_computed(usm_queue *queue, int op, const usm_view *dst, const usm_view *src, int axis,
                                usm_scan r, usm_error *error)
{
    usm_scratch copy;
    usm_view from;
    usm_status status = r.first ? write_initial(queue, op, dst, axis, error) : USM_OK;
    copy.view.alloc = NULL;
    if (status == USM_OK && r.n > 0) {
        status = usm_scratch_compact(queue, src, dst->dtype, src->ndim, src->shape, &copy, &from, error);
        if (status == USM_OK) {
            status = scan(queue, r.inner == 1 ? tile_of(queue, from.dtype) : 0, dst, &from, r, error);
        }
    }
    usm_scratch_release(&copy);
    return status;
}

usm_status usm_scan_submit(usm_queue *queue, int op, const usm_view *dst, const usm_view *src, int axis,
                           bool initial, usm_error *error)
{
    usm_axes_plan plan;
    usm_scratch wide;
    usm_axes_plan_make(src, UINT64_C(1) << axis, false, &plan);
    const usm_scan r = {
        .outer = plan.outer, .n = plan.reduced, .inner = plan.inner, .first = initial, .op = op};
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
