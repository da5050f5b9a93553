#include "take.h"

#include "core/builtin/builtin.h"
#include "kernels/abi/take.h"

#include <string.h>

typedef struct plan {
    int size; /* of what is moved: an element, several, or a part of one */
    int ndim;
    usm_axis axes[USM_MAX_NDIM + 1]; /* of dst, src and index; from the fastest in dst to the slowest */
} plan;

static void set_axes(plan *plan, const usm_view *dst, const usm_view *src, const usm_view *index)
{
    int64_t size = usm_view_itemsize(dst), index_size = usm_view_itemsize(index);
    usm_axis axes[USM_MAX_NDIM];
    int n = 0;
    for (int i = 0; i < dst->ndim; i++) {
        if (dst->shape[i] != 1) {
            axes[n++] =
                (usm_axis){dst->shape[i],
                           {dst->strides[i] * size, src->strides[i] * size, index->strides[i] * index_size}};
        }
    }
    n = usm_axes_merge(axes, n, 3);
    if (n == 0) {
        axes[n++] = (usm_axis){1, {size, size}};
    }
    plan->ndim = n;
    for (int i = 0; i < n; i++) {
        plan->axes[i] = axes[n - 1 - i];
    }
}

/* False where there are too many axes for a kernel, or where index is not aligned. */
static bool make_plan(plan *plan, const usm_view *dst, const usm_view *src, const usm_view *index,
                      int64_t step)
{
    int size = usm_view_itemsize(dst);
    uint64_t addresses = (uint64_t)(uintptr_t)dst->data | (uint64_t)(uintptr_t)src->data;
    set_axes(plan, dst, src, index);
    plan->size = usm_axes_choose_unit(plan->axes, &plan->ndim, 3, addresses | (uint64_t)(step * size), size);
    return plan->ndim <= USM_TAKE_AXES && usm_view_is_aligned(index);
}

static usm_status submit(usm_queue *queue, const plan *plan, const usm_view *dst, const usm_view *src,
                         const usm_view *index, int64_t length, int64_t step, usm_error *error)
{
    const usm_view views[] = {*dst, *src, *index};
    static const char *const functions[2][5] = {
        {"usm_take_1", "usm_take_2", "usm_take_4", "usm_take_8", "usm_take_16"},
        {"usm_take_1_int32", "usm_take_2_int32", "usm_take_4_int32", "usm_take_8_int32", "usm_take_16_int32"},
    };
    usm_take take = {.length = length, .step = step * usm_view_itemsize(dst)};
    usm_builtin builtin = {
        .module = "take",
        .function = functions[index->dtype == USM_INT32][__builtin_ctz((unsigned)plan->size)],
        .n = {1, 1, 1},
    };
    for (int i = 0; i < USM_TAKE_AXES; i++) {
        const usm_axis axis = i < plan->ndim ? plan->axes[i] : (usm_axis){.length = 1};
        take.shape[i] = axis.length;
        take.dst[i] = axis.strides[0];
        take.src[i] = axis.strides[1];
        take.index[i] = axis.strides[2];
        builtin.n[i < 2 ? i : 2] *= axis.length;
    }
    builtin.cost = 3 * (size_t)(builtin.n[0] * builtin.n[1] * builtin.n[2]) * (size_t)plan->size;
    return usm_builtin_submit_views(queue, &builtin, views, 3, USM_WRITE, &take, sizeof take, error);
}

/* A compact copy of a view with fewer elements than its shape: repeated axes stay repeated. */
static usm_status compact(usm_queue *queue, const usm_view *view, usm_scratch *copy, usm_error *error)
{
    int64_t shape[USM_MAX_NDIM];
    for (int i = 0; i < view->ndim; i++) {
        shape[i] = view->strides[i] == 0 ? 1 : view->shape[i];
    }
    usm_view source = *view;
    source.shape = shape;
    usm_status status = usm_scratch_create(queue, view->dtype, view->ndim, shape, 'C', copy, error);
    if (status == USM_OK) {
        status = usm_copy_submit(queue, &copy->view, &source, NULL, error);
    }
    for (int i = 0; status == USM_OK && i < view->ndim; i++) {
        copy->shape[i] = view->shape[i];
        copy->strides[i] = view->strides[i] == 0 ? 0 : copy->strides[i];
    }
    return status;
}

/* Through compact copies of src and index. The copy of src has the indexed axis as one more, its last. */
static usm_status submit_copies(usm_queue *queue, const usm_view *dst, const usm_view *src,
                                const usm_view *index, int64_t length, int64_t step, usm_error *error)
{
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM];
    int ndim = dst->ndim;
    usm_scratch source, indices;
    plan plan;
    if (ndim == USM_MAX_NDIM) {
        return usm_error_set(
            error, USM_VALUE,
            "take(): arrays of %d dimensions whose axes cannot be merged are not supported; copy x first",
            ndim);
    }
    memcpy(shape, src->shape, (size_t)ndim * sizeof *shape);
    memcpy(strides, src->strides, (size_t)ndim * sizeof *strides);
    shape[ndim] = length;
    strides[ndim] = step;
    const usm_view whole = {src->alloc, src->data, src->dtype, ndim + 1, shape, strides};
    source.view.alloc = indices.view.alloc = NULL;
    usm_status status = compact(queue, &whole, &source, error);
    if (status == USM_OK) {
        status = compact(queue, index, &indices, error);
    }
    if (status == USM_OK) {
        source.view.ndim = ndim;
        step = source.strides[ndim]; /* 0 where src is broadcast along the axis */
        status = make_plan(&plan, dst, &source.view, &indices.view, step)
                     ? submit(queue, &plan, dst, &source.view, &indices.view, length, step, error)
                     : usm_error_set(error, USM_VALUE,
                                     "the arrays are broadcast along too many axes; copy them first");
    }
    usm_scratch_release(&source);
    usm_scratch_release(&indices);
    return status;
}

usm_status usm_take_submit(usm_queue *queue, const usm_view *dst, const usm_view *src, const usm_view *index,
                           int64_t length, int64_t step, usm_error *error)
{
    plan plan;
    return make_plan(&plan, dst, src, index, step)
               ? submit(queue, &plan, dst, src, index, length, step, error)
               : submit_copies(queue, dst, src, index, length, step, error);
}

usm_status usm_expand_submit(usm_queue *queue, const usm_view *out, const usm_view *begins, int64_t n,
                             int64_t total, usm_error *error)
{
    const usm_view views[] = {*out, *begins};
    usm_builtin builtin = {
        .module = "take", .function = "usm_expand", .n = {n, 1, 1}, .cost = 8 * (size_t)(n + total)};
    uint64_t count = (uint64_t)n;
    return usm_builtin_submit_views(queue, &builtin, views, 2, USM_WRITE, &count, sizeof count, error);
}
