/* Kernels that walk over the elements of several arrays of one shape. */
#include "operands.h"

#include "py/errors.h"
#include "py/objects/placement.h"

#include "core/layout/elements.h"
#include "core/program/builtin.h"

static bool is_aligned(usmpy_array *array)
{
    const usm_dtype_info *info = &usm_dtype_table[array->dtype];
    uintptr_t to = info->itemsize / (info->kind == USM_KIND_COMPLEX ? 2u : 1u);
    return (uintptr_t)array->data % to == 0; /* strides count elements */
}

/* A compact array with the elements of src, in dst's shape. */
static usmpy_array *expanded(usmpy_state *state, usmpy_array *dst, usmpy_array *src)
{
    usmpy_array *whole = usmpy_array_empty(state, dst->queue, USM_DEVICE, (usm_dtype)src->dtype, dst->ndim,
                                           usmpy_shape(dst), 'C', false);
    if (whole != NULL && usmpy_array_copy_broadcast(state, whole, src, "an operand") < 0) {
        Py_CLEAR(whole);
    }
    return whole;
}

static int submit(usmpy_state *state, const usmpy_elements_kernel *kernel, const usm_elements *elements,
                  usmpy_array *const *operands, int n)
{
    usm_builtin builtin;
    usm_access accesses[USM_ELEMENTS_OPERANDS];
    size_t bytes = 0;
    usm_builtin_init(&builtin, kernel->module, kernel->function, kernel->options);
    for (int i = 0; i < n; i++) {
        usmpy_array *array = operands[i];
        usm_builtin_pointer(&builtin, array->data);
        accesses[i] = (usm_access){array->alloc, i == 0 ? USM_WRITE : USM_READ};
        bytes += usm_dtype_table[array->dtype].itemsize;
    }
    builtin.fresh = usmpy_is_only_ours(operands[0]);
    usm_builtin_value(&builtin, elements, sizeof *elements);
    usm_elements_range(elements, builtin.n);
    builtin.cost = bytes * (size_t)operands[0]->size;
    usm_error error;
    usm_status status =
        usm_builtin_submit(usmpy_queue_of(operands[0]->queue), &builtin, accesses, (size_t)n, NULL, &error);
    if (status != USM_OK) {
        usmpy_raise(state, status, &error);
        return -1;
    }
    return 0;
}

/* Through compact copies, where the axes are too many or memory is not aligned. */
static int submit_expanded(usmpy_state *state, const usmpy_elements_kernel *kernel, usmpy_array *dst,
                           usmpy_array *const *sources, int n, int64_t op, int64_t extra)
{
    usmpy_array *operands[USM_ELEMENTS_OPERANDS] = {NULL};
    usm_elements elements = {.op = op, .extra = extra};
    const int64_t *strides[USM_ELEMENTS_OPERANDS];
    int sizes[USM_ELEMENTS_OPERANDS], status = -1;
    operands[0] = usmpy_array_empty(state, dst->queue, USM_DEVICE, (usm_dtype)dst->dtype, dst->ndim,
                                    usmpy_shape(dst), 'C', false);
    bool made = operands[0] != NULL;
    for (int i = 0; i < n && made; i++) {
        operands[i + 1] = expanded(state, dst, sources[i]);
        made = operands[i + 1] != NULL;
    }
    if (made) {
        for (int i = 0; i <= n; i++) {
            strides[i] = usmpy_strides(operands[i]);
            sizes[i] = usm_dtype_table[operands[i]->dtype].itemsize;
        }
        usm_elements_plan(&elements, 0, dst->ndim, usmpy_shape(dst), n + 1, strides, sizes); /* one axis */
        status = submit(state, kernel, &elements, operands, n + 1);
        status = status < 0 ? -1 : usmpy_array_copy(state, dst, operands[0]);
    }
    for (int i = 0; i <= n; i++) {
        Py_XDECREF(operands[i]);
    }
    return status;
}

/*
 * The commonest layout, written down at once: every operand lies side by side in the same order, or is one
 * element. Of the strides only those are set that the kernels look at then.
 */
static bool plan_side_by_side(usm_elements *elements, usmpy_array *const *operands, int n)
{
    unsigned order = USM_C_CONTIGUOUS | USM_F_CONTIGUOUS;
    for (int i = 0; i < n; i++) {
        const usmpy_array *array = operands[i];
        bool whole = array->size == operands[0]->size; /* then the shapes differ in leading lengths of 1 */
        order &= whole ? array->flags : array->size == 1 ? order : 0;
        elements->strides[i][0] = whole ? usm_dtype_table[array->dtype].itemsize : 0;
        elements->strides[i][1] = 0;
    }
    elements->shape[0] = operands[0]->size;
    for (int i = 1; i < USM_ELEMENTS_AXES; i++) {
        elements->shape[i] = 1;
    }
    return order != 0;
}

int usmpy_elements_submit(usmpy_state *state, const usmpy_elements_kernel *kernel, usmpy_array *dst,
                          usmpy_array *const *sources, int n, int64_t op, int64_t extra)
{
    int64_t room[USMPY_OPERANDS][USM_MAX_NDIM];
    const int64_t *strides[USM_ELEMENTS_OPERANDS] = {usmpy_strides(dst)};
    usmpy_array *operands[USM_ELEMENTS_OPERANDS] = {dst};
    int sizes[USM_ELEMENTS_OPERANDS] = {usm_dtype_table[dst->dtype].itemsize};
    usm_elements elements;
    bool aligned = is_aligned(dst);
    elements.op = op;
    elements.extra = extra;
    if (dst->size == 0) {
        return 0;
    }
    for (int i = 0; i < n; i++) {
        operands[i + 1] = sources[i];
        aligned = aligned && is_aligned(sources[i]);
    }
    if (aligned && plan_side_by_side(&elements, operands, n + 1)) {
        return submit(state, kernel, &elements, operands, n + 1);
    }
    for (int i = 0; i < n; i++) {
        usm_layout_broadcast(sources[i]->ndim, usmpy_shape(sources[i]), usmpy_strides(sources[i]), dst->ndim,
                             usmpy_shape(dst), room[i]);
        strides[i + 1] = room[i];
        sizes[i + 1] = usm_dtype_table[sources[i]->dtype].itemsize;
    }
    if (!aligned || !usm_elements_plan(&elements, 0, dst->ndim, usmpy_shape(dst), n + 1, strides, sizes)) {
        return submit_expanded(state, kernel, dst, sources, n, op, extra);
    }
    return submit(state, kernel, &elements, operands, n + 1);
}
