#include "operands.h"

#include "dtype.h"
#include "errors.h"
#include "placement.h"

#include "../core/builtin.h"
#include "../core/elements.h"

#include <string.h>

int usmpy_check_computed(usmpy_array *array, const char *function)
{
    if (array->dtype >= USM_COMPUTED_DTYPES) {
        PyErr_Format(PyExc_TypeError,
                     "%s(): dtype %s is only stored and exchanged; nothing is computed with its values",
                     function, usm_dtype_table[array->dtype].name);
        return -1;
    }
    return 0;
}

bool usmpy_broadcast_shape(int *ndim, int64_t *shape, int other_ndim, const int64_t *other)
{
    int more = other_ndim - *ndim;
    if (more > 0) {
        memmove(shape + more, shape, (size_t)*ndim * sizeof *shape);
        memcpy(shape, other, (size_t)more * sizeof *shape);
        *ndim = other_ndim;
        more = 0;
        for (int i = 0; i < other_ndim; i++) {
            if (shape[i] == 1) {
                shape[i] = other[i];
            } else if (other[i] != 1 && other[i] != shape[i]) {
                return false;
            }
        }
        return true;
    }
    for (int i = 0; i < other_ndim; i++) {
        int64_t *length = &shape[i - more];
        if (*length == 1) {
            *length = other[i];
        } else if (other[i] != 1 && other[i] != *length) {
            return false;
        }
    }
    return true;
}

usmpy_array *usmpy_number_array(usmpy_state *state, PyObject *number, usm_dtype dtype, PyObject *queue)
{
    unsigned char element[USM_MAX_PATTERN];
    if (usmpy_scalar_to_element(state, number, dtype, element) < 0) {
        return NULL;
    }
    usmpy_array *array = usmpy_array_empty(state, queue, USM_DEVICE, dtype, 0, NULL, 'C', false);
    if (array != NULL && usmpy_array_fill(state, array, element) < 0) {
        Py_CLEAR(array);
    }
    return array;
}

void usmpy_operands_drop(usmpy_operands *operands)
{
    for (int i = 0; i < operands->n; i++) {
        Py_CLEAR(operands->arrays[i]);
    }
}

/* The arrays among the arguments: in out->arrays, where numbers leave NULL; queue, kind and type. */
static int take_arrays(usmpy_state *state, const char *function, const char *const *names,
                       PyObject *const *arguments, int n_free, usmpy_operands *out)
{
    bool same = true;
    out->queue = NULL;
    out->kind = USM_DEVICE;
    out->dtype = USM_NO_DTYPE;
    for (int i = 0; i < out->n; i++) {
        if (!usmpy_is_array(state, arguments[i])) {
            continue;
        }
        usmpy_array *array = (usmpy_array *)arguments[i];
        out->arrays[i] = (usmpy_array *)Py_NewRef(array);
        same = same && (out->queue == NULL || usmpy_queue_of(out->queue) == usmpy_queue_of(array->queue));
        out->queue = out->queue == NULL ? array->queue : out->queue;
        out->kind = array->alloc->kind > out->kind ? (usm_kind)array->alloc->kind : out->kind;
        if (i < n_free) {
            continue;
        }
        if (usmpy_check_computed(array, function) < 0) {
            return -1;
        }
        usm_dtype before = out->dtype;
        out->dtype = before == USM_NO_DTYPE ? (usm_dtype)array->dtype
                                            : usm_dtype_promote(before, (usm_dtype)array->dtype);
        if (out->dtype == USM_NO_DTYPE) {
            PyErr_Format(
                PyExc_TypeError,
                "%s(): %s has dtype %s, and there is no common type of it and %s (array API standard, "
                "type promotion); cast one with astype()",
                function, names[i], usm_dtype_table[array->dtype].name, usm_dtype_table[before].name);
            return -1;
        }
    }
    if (!same) {
        PyObject *arrays[USMPY_OPERANDS];
        const char *own[USMPY_OPERANDS];
        int count = 0;
        for (int i = 0; i < out->n; i++) {
            if (out->arrays[i] != NULL) {
                arrays[count] = arguments[i];
                own[count++] = names[i];
            }
        }
        usmpy_raise_placement(state, function, arrays, own, count);
        return -1;
    }
    return 0;
}

static int take_number(usmpy_state *state, const char *function, const char *name, PyObject *argument,
                       bool free, int i, usmpy_operands *out)
{
    PyObject *number = NULL;
    int found = free ? 0 : usmpy_host_scalar(state, argument, &number);
    if (found == 0) {
        PyErr_Format(PyExc_TypeError, "%s(): %s is a %s; a USMArray%s is allowed (asarray makes one)",
                     function, name, Py_TYPE(argument)->tp_name, free ? "" : " or a Python number");
    }
    if (found <= 0) {
        return -1;
    }
    if (out->dtype == USM_NO_DTYPE) {
        PyErr_Format(PyExc_TypeError, "%s(): one argument at least has to be a USMArray; %s is a %s",
                     function, name, Py_TYPE(argument)->tp_name);
    } else if (out->dtype == USM_BOOL && !PyBool_Check(number)) {
        PyErr_Format(
            PyExc_TypeError,
            "%s(): %s is %R, and the array has dtype bool; the two have no common type (array API standard, "
            "mixing arrays with Python scalars)",
            function, name, number);
    } else {
        out->arrays[i] = usmpy_number_array(state, number, out->dtype, out->queue);
    }
    Py_DECREF(number);
    return out->arrays[i] == NULL ? -1 : 0;
}

static int broadcast(const char *function, usmpy_operands *out)
{
    out->ndim = out->arrays[0]->ndim;
    memcpy(out->shape, usmpy_shape(out->arrays[0]), (size_t)out->ndim * sizeof *out->shape);
    for (int i = 1; i < out->n; i++) {
        usmpy_array *array = out->arrays[i];
        if (!usmpy_broadcast_shape(&out->ndim, out->shape, array->ndim, usmpy_shape(array))) {
            char texts[USMPY_OPERANDS][100];
            for (int k = 0; k < out->n; k++) {
                usm_layout_text(out->arrays[k]->ndim, usmpy_shape(out->arrays[k]), texts[k], sizeof texts[k]);
            }
            PyErr_Format(PyExc_ValueError, "%s(): shapes %s%s%s%s%s do not broadcast", function, texts[0],
                         out->n > 2 ? ", " : " and ", texts[1], out->n > 2 ? " and " : "",
                         out->n > 2 ? texts[2] : "");
            return -1;
        }
    }
    return 0;
}

int usmpy_operands_take(usmpy_state *state, const char *function, const char *const *names,
                        PyObject *const *arguments, int n, int n_free, usmpy_operands *out)
{
    out->n = n;
    memset(out->arrays, 0, sizeof out->arrays);
    if (take_arrays(state, function, names, arguments, n_free, out) < 0) {
        goto failed;
    }
    for (int i = 0; i < n; i++) {
        if (out->arrays[i] == NULL) {
            if (take_number(state, function, names[i], arguments[i], i < n_free, i, out) < 0) {
                goto failed;
            }
        } else if (i >= n_free && out->arrays[i]->dtype != out->dtype) {
            PyObject *cast = usmpy_cast(state, out->arrays[i], out->dtype, false, out->queue);
            if (cast == NULL) {
                goto failed;
            }
            Py_SETREF(out->arrays[i], (usmpy_array *)cast);
            out->queue = out->arrays[i]->queue;
        }
    }
    if (broadcast(function, out) == 0) {
        return 0;
    }
failed:
    usmpy_operands_drop(out);
    return -1;
}

usmpy_array *usmpy_operands_result(usmpy_state *state, const usmpy_operands *operands, usm_dtype dtype)
{
    const usmpy_array *first = operands->arrays[0];
    bool columns = first->ndim == operands->ndim && (first->flags & USM_C_CONTIGUOUS) == 0 &&
                   (first->flags & USM_F_CONTIGUOUS) != 0;
    return usmpy_array_empty(state, operands->queue, operands->kind, dtype, operands->ndim, operands->shape,
                             columns ? 'F' : 'C', false);
}

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
