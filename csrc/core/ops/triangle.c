#include "triangle.h"

#include "core/builtin/builtin.h"
#include "kernels/abi/triangle.h"

usm_status usm_triangle_submit(usm_queue *queue, const usm_view *array, int64_t k, bool upper,
                               usm_error *error)
{
    int ndim = array->ndim, itemsize = usm_view_itemsize(array), size = itemsize < 8 ? itemsize : 8;
    int64_t rows = array->shape[ndim - 2], columns = array->shape[ndim - 1], whole = usm_view_size(array);
    /* No further than just outside, so that no sum overflows. */
    k = k > columns ? columns : k < -rows ? -rows : k;
    if ((usm_view_order(array) & USM_C_CONTIGUOUS) == 0) { /* its transpose is row-major */
        int64_t length = rows;
        rows = columns;
        columns = length;
        k = -k;
        upper = !upper;
    }
    const usm_triangle triangle = {
        {columns, rows, whole / rows / columns}, upper ? k : k + 1, itemsize / size, upper};
    static const char *const functions[] = {"usm_triangle_1", "usm_triangle_2", "usm_triangle_4",
                                            "usm_triangle_8"};
    usm_builtin builtin = {
        .module = "triangle",
        .function = functions[__builtin_ctz((unsigned)size)],
        .n = {columns * triangle.unit, rows, triangle.n[2]},
        .cost = (size_t)whole * (size_t)itemsize,
    };
    return usm_builtin_submit_views(queue, &builtin, array, 1, USM_READ_WRITE, &triangle, sizeof triangle,
                                    error);
}
