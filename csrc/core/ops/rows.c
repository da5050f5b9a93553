#include "rows.h"

#include "core/builtin/builtin.h"
#include "core/layout/elements.h"
#include "kernels/abi/index.h"

/* The strides of a row's axes in a compact array of n rows; the result is the stride from row to row. */
static int64_t lay_out(const usm_rows *rows, int64_t n, int64_t *strides)
{
    int64_t step = 1, row_stride = 1;
    for (int i = rows->ndim; i >= 0; i--) {
        if (i < rows->ndim) {
            strides[i] = step;
            step *= rows->shape[i];
        }
        if (i == rows->place) {
            row_stride = step;
            step *= n;
        }
    }
    return row_stride;
}

usm_status usm_rows_move(usm_queue *queue, const usm_view *array, const usm_rows *rows, const usm_view *other,
                         bool put, usm_error *error)
{
    static const char *const functions[2][5] = {USM_BY_SIZE("usm_gather_"), USM_BY_SIZE("usm_scatter_")};
    static const char *const options[5] = USM_BY_SIZE("-D USM_ONLY=");
    int size = usm_view_itemsize(array), which = __builtin_ctz((unsigned)size);
    int64_t n = usm_view_size(&rows->offsets), other_strides[USM_MAX_NDIM];
    int64_t row_stride = lay_out(rows, n, other_strides);
    const usm_view *dst = put ? array : other, *src = put ? other : array;
    usm_builtin builtin = {.module = "gather", .function = functions[put][which], .options = options[which]};
    const usm_view views[] = {*dst, *src, rows->offsets};
    const int64_t *const strides[] = {put ? rows->strides : other_strides,
                                      put ? other_strides : rows->strides};
    const int sizes[] = {size, size};
    usm_elements elements = {.shape = {n}};
    elements.strides[put ? 1 : 0][0] = row_stride * size;
    if (!usm_elements_plan(&elements, 1, rows->ndim, rows->shape, 2, strides, sizes)) {
        return usm_error_set(
            error, USM_VALUE,
            "the array has more than %d axes beside the index that cannot be merged; copy it first",
            USM_ELEMENTS_AXES - 1);
    }
    builtin.n[0] = 1;
    for (int i = 1; i < USM_ELEMENTS_AXES; i++) {
        builtin.n[0] *= elements.shape[i];
    }
    builtin.n[1] = n;
    builtin.n[2] = 1;
    builtin.cost = (size_t)(builtin.n[0] * n) * (size_t)(size + 8);
    return usm_builtin_submit_views(queue, &builtin, views, 3, USM_WRITE, &elements, sizeof elements, error);
}

/* A kernel of index.cl over compact vectors; view 1 is read, the others are accessed as `mode` says. */
static usm_status submit(usm_queue *queue, const char *function, const usm_view *const *views, int n,
                         usm_access_mode mode, const usm_indices *indices, usm_error *error)
{
    usm_builtin builtin = {
        .module = "index", .function = function, .n = {indices->n, 1, 1}, .cost = (size_t)indices->n * 16};
    usm_access accesses[3];
    for (int i = 0; i < n; i++) {
        usm_builtin_pointer(&builtin, views[i]->data);
        accesses[i] = (usm_access){views[i]->alloc, i == 1 ? USM_READ : mode};
    }
    usm_builtin_value(&builtin, indices, sizeof *indices);
    return usm_builtin_submit(queue, &builtin, accesses, (size_t)n, error);
}

usm_status usm_locate_submit(usm_queue *queue, const usm_view *offsets, const usm_view *index, int ndim,
                             const int64_t *shape, const usm_view *bad, int64_t length, int64_t step,
                             bool first, usm_error *error)
{
    const usm_indices indices = {usm_view_size(offsets), length, step, first, index->dtype == USM_UINT64};
    usm_scratch copy;
    usm_view from;
    usm_status status = usm_scratch_compact(queue, index, index->dtype == USM_UINT64 ? USM_UINT64 : USM_INT64,
                                            ndim, shape, &copy, &from, error);
    if (status == USM_OK) {
        status = submit(queue, "usm_locate", (const usm_view *[]){offsets, &from, bad}, 3, USM_READ_WRITE,
                        &indices, error);
    }
    usm_scratch_release(&copy);
    return status;
}

usm_status usm_unravel_submit(usm_queue *queue, const usm_view *dst, const usm_view *flat, int64_t step,
                              int64_t length, usm_error *error)
{
    const usm_indices indices = {usm_view_size(flat), length, step, 0, 0};
    return indices.n == 0
               ? USM_OK
               : submit(queue, "usm_unravel", (const usm_view *[]){dst, flat}, 2, USM_WRITE, &indices, error);
}
