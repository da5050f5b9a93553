#include "take.h"

#include "core/builtin/builtin.h"
#include "kernels/abi/take.h"

#include <string.h>

/* One axis in byte strides. */
typedef struct axis {
    int64_t length, dst, src, index;
} axis;

typedef struct plan {
    int size; /* of what is moved: an element, several, or a part of one */
    int ndim;
    axis axes[USM_MAX_NDIM + 1]; /* from the fastest in dst to the slowest */
} plan;

static void set_axes(plan *plan, const usm_view *dst, const usm_view *src, const usm_view *index)
{
    int64_t size = usm_dtype_table[dst->dtype].itemsize, index_size = usm_dtype_table[index->dtype].itemsize;
    plan->size = (int)size;
    plan->ndim = 0;
    for (int i = dst->ndim - 1; i >= 0; i--) {
        axis outer = {dst->shape[i], dst->strides[i] * size, src->strides[i] * size,
                      index->strides[i] * index_size};
        axis *inner = plan->ndim > 0 ? &plan->axes[plan->ndim - 1] : NULL;
        if (outer.length == 1) {
            continue;
        }
        if (inner != NULL && outer.dst == inner->dst * inner->length &&
            outer.src == inner->src * inner->length && outer.index == inner->index * inner->length) {
            inner->length *= outer.length;
        } else {
            plan->axes[plan->ndim++] = outer;
        }
    }
    if (plan->ndim == 0) {
        plan->axes[plan->ndim++] = (axis){1, size, size, 0};
    }
}

/* The bits of all addresses and strides of dst and src from an axis on: what divides them divides this. */
static uint64_t together(const plan *plan, const usm_view *dst, const usm_view *src, int64_t step, int from)
{
    uint64_t all = (uint64_t)(uintptr_t)dst->data | (uint64_t)(uintptr_t)src->data | (uint64_t)step;
    for (int i = from; i < plan->ndim; i++) {
        all |= (uint64_t)plan->axes[i].dst | (uint64_t)plan->axes[i].src;
    }
    return all;
}

static bool has_rows(const plan *plan)
{
    const axis *first = &plan->axes[0];
    return first->index == 0 && first->dst == plan->size && first->src == plan->size;
}

static void set_rows(plan *plan, int size, int64_t length)
{
    plan->size = size;
    plan->axes[0] = (axis){length, size, size, 0};
}

/* Rows go by wider elements, and by narrower ones where memory is not aligned (core/builtin/kernels.c). */
static void choose_size(plan *plan, const usm_view *dst, const usm_view *src, int64_t step)
{
    int part = plan->size < 8 ? plan->size : 8;
    uint64_t all = together(plan, dst, src, step, 0);
    if (all % (uint64_t)part != 0) {
        int64_t whole = plan->size;
        while (all % (uint64_t)part != 0) {
            part /= 2;
        }
        int64_t length = whole / part;
        if (has_rows(plan)) {
            length *= plan->axes[0].length;
        } else {
            memmove(plan->axes + 1, plan->axes, (size_t)plan->ndim * sizeof *plan->axes);
            plan->ndim += 1;
        }
        set_rows(plan, part, length);
    } else if (has_rows(plan)) {
        uint64_t others = together(plan, dst, src, step, 1);
        while (plan->size < 8 && plan->axes[0].length % 2 == 0 && others % (2 * (uint64_t)plan->size) == 0) {
            set_rows(plan, 2 * plan->size, plan->axes[0].length / 2);
        }
    }
}

/* False where there are too many axes for a kernel, or where index is not aligned. */
static bool make_plan(plan *plan, const usm_view *dst, const usm_view *src, const usm_view *index,
                      int64_t step)
{
    set_axes(plan, dst, src, index);
    choose_size(plan, dst, src, step * usm_view_itemsize(dst));
    return plan->ndim <= USM_TAKE_AXES && usm_view_is_aligned(index);
}

static usm_status submit(usm_queue *queue, const plan *plan, const usm_view *dst, const usm_view *src,
                         const usm_view *index, int64_t length, int64_t step, usm_error *error)
{
    const usm_access accesses[] = {{dst->alloc, USM_WRITE}, {src->alloc, USM_READ}, {index->alloc, USM_READ}};
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
        const axis axis = i < plan->ndim ? plan->axes[i] : (struct axis){1, 0, 0, 0};
        take.shape[i] = axis.length;
        take.dst[i] = axis.dst;
        take.src[i] = axis.src;
        take.index[i] = axis.index;
        builtin.n[i < 2 ? i : 2] *= axis.length;
    }
    builtin.cost = 3 * (size_t)(builtin.n[0] * builtin.n[1] * builtin.n[2]) * (size_t)plan->size;
    usm_builtin_pointer(&builtin, dst->data);
    usm_builtin_pointer(&builtin, src->data);
    usm_builtin_pointer(&builtin, index->data);
    usm_builtin_value(&builtin, &take, sizeof take);
    return usm_builtin_submit(queue, &builtin, accesses, 3, NULL, error);
}

/* A compact copy of a view of fewer elements than its shape says: repeated axes stay repeated. */
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
    const usm_access accesses[] = {{out->alloc, USM_WRITE}, {begins->alloc, USM_READ}};
    usm_builtin builtin = {
        .module = "take", .function = "usm_expand", .n = {n, 1, 1}, .cost = 8 * (size_t)(n + total)};
    uint64_t count = (uint64_t)n;
    usm_builtin_pointer(&builtin, out->data);
    usm_builtin_pointer(&builtin, begins->data);
    usm_builtin_value(&builtin, &count, sizeof count);
    return usm_builtin_submit(queue, &builtin, accesses, 2, NULL, error);
}
