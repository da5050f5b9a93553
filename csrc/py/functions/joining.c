/* concat and stack: one strided copy an array, on the queue that they share. */
#include "manipulation.h"
#include "py/args.h"
#include "py/arrays/array.h"
#include "py/deferred.h"
#include "py/errors.h"
#include "py/objects/placement.h"

#include <string.h>

/* The arrays of concat and stack: one at least, of promotable types, on one queue. */
typedef struct inputs {
    usmpy_joined all;
    usm_dtype dtype;
} inputs;

int usmpy_parse_joined(usmpy_state *state, PyObject *argument, const char *function, const char *list,
                       usmpy_joined *joined)
{
    joined->items = usmpy_is_array(state, argument) ? NULL : usmpy_tuple_of(argument);
    joined->queue = NULL;
    if (joined->items == NULL) {
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_TypeError, "%s(): %s is %s %s; a sequence of USMArrays is allowed", function,
                         list, USMPY_A(argument));
        }
        return -1;
    }
    joined->n = PyTuple_GET_SIZE(joined->items);
    joined->arrays = (usmpy_array **)((PyTupleObject *)joined->items)->ob_item;
    for (Py_ssize_t i = 0; i < joined->n; i++) {
        PyObject *item = PyTuple_GET_ITEM(joined->items, i);
        if (!usmpy_is_array(state, item)) {
            PyErr_Format(PyExc_TypeError, "%s(): %s[%zd] is %s %s; USMArrays are allowed", function, list, i,
                         USMPY_A(item));
            break;
        }
        if (usmpy_check_unpacked((usmpy_array *)item, function) < 0) {
            break;
        }
    }
    if (!PyErr_Occurred() && joined->n > 0) {
        joined->queue = usmpy_common_queue(state, function, list, joined->arrays, joined->n, &joined->kind);
    }
    if (PyErr_Occurred()) {
        Py_CLEAR(joined->items);
        return -1;
    }
    return 0;
}

usm_dtype usmpy_promote_joined(const usmpy_joined *joined, const char *function, const char *list)
{
    usm_promotion promotion = {0};
    bool wide = usmpy_queue_of(joined->queue)->device->info.has_fp64;
    for (Py_ssize_t i = 0; i < joined->n; i++) {
        usm_dtype next = (usm_dtype)joined->arrays[i]->dtype;
        usm_promotion_add(&promotion, next);
        wide = wide || next == USM_FLOAT64 || next == USM_COMPLEX128;
    }
    usm_dtype dtype = usm_promotion_result(&promotion);
    if (dtype == USM_NO_DTYPE) {
        Py_ssize_t i = joined->n - 1;
        while (i > 0 && joined->arrays[i]->dtype != promotion.second) {
            i--;
        }
        PyErr_Format(
            PyExc_TypeError,
            "%s(): %s[%zd] has dtype %s, and there is no common type of it and %s; cast one with astype()",
            function, list, i, usm_dtype_table[promotion.second].name, usm_dtype_table[promotion.first].name);
        return USM_NO_DTYPE;
    }
    return wide ? dtype : usm_dtype_without_fp64(dtype);
}

static int parse_inputs(usmpy_state *state, PyObject *argument, const char *function, inputs *inputs)
{
    if (usmpy_parse_joined(state, argument, function, "arrays", &inputs->all) < 0) {
        return -1;
    }
    if (inputs->all.n == 0) {
        PyErr_Format(PyExc_ValueError, "%s(): arrays is empty; at least one array is needed", function);
    } else {
        inputs->dtype = usmpy_promote_joined(&inputs->all, function, "arrays");
    }
    if (PyErr_Occurred()) {
        Py_CLEAR(inputs->all.items);
        return -1;
    }
    return 0;
}

usm_view usmpy_piece(usmpy_array *array, int ndim, const int64_t *shape, int axis, int64_t offset)
{
    char *data = array->data;
    if (data != NULL) {
        data += offset * usmpy_strides(array)[axis] * usm_dtype_table[array->dtype].itemsize;
    }
    return (usm_view){array->alloc, data, (usm_dtype)array->dtype, ndim, shape, usmpy_strides(array)};
}

static usmpy_array *too_long(void)
{
    PyErr_SetString(PyExc_ValueError, "concat(): the result would have more than 2**63 - 1 elements");
    return NULL;
}

/* concat(axis=None): every array as a vector, row-major. */
static usmpy_array *concat_flat(usmpy_state *state, const inputs *inputs)
{
    int64_t length = 0, offset = 0;
    for (Py_ssize_t i = 0; i < inputs->all.n; i++) {
        if (__builtin_add_overflow(length, inputs->all.arrays[i]->size, &length)) {
            return too_long();
        }
    }
    usmpy_array *result =
        usmpy_array_empty(state, inputs->all.queue, inputs->all.kind, inputs->dtype, 1, &length, 'C', false);
    for (Py_ssize_t i = 0; result != NULL && i < inputs->all.n; i++) {
        usmpy_array *array = inputs->all.arrays[i];
        int64_t strides[USM_MAX_NDIM];
        usm_layout_compact(array->ndim, usmpy_shape(array), 'C', strides);
        /* The piece of the vector, in the array's shape: one strided copy, whatever the strides. */
        usm_view to = usmpy_piece(result, array->ndim, usmpy_shape(array), 0, offset);
        to.strides = strides;
        const usm_view from = usmpy_view(array);
        if (usmpy_submit_copy(state, inputs->all.queue, &to, &from) < 0) {
            Py_CLEAR(result);
        }
        offset += array->size;
    }
    return result;
}

static usmpy_array *concat_axis(usmpy_state *state, const inputs *inputs, PyObject *axis_argument)
{
    usmpy_array *first = inputs->all.arrays[0];
    int ndim = first->ndim;
    int64_t shape[USM_MAX_NDIM], offset = 0;
    if (axis_argument == Py_None) {
        return concat_flat(state, inputs);
    }
    if (ndim == 0) {
        PyErr_SetString(PyExc_ValueError,
                        "concat(): arrays of 0 dimensions have no axis; use stack, or axis=None");
        return NULL;
    }
    int axis = axis_argument == NULL ? 0 : usmpy_parse_axis(axis_argument, ndim, "axis");
    if (axis < 0) {
        return NULL;
    }
    memcpy(shape, usmpy_shape(first), (size_t)ndim * sizeof *shape);
    for (Py_ssize_t i = 1; i < inputs->all.n; i++) {
        usmpy_array *array = inputs->all.arrays[i];
        bool fits = array->ndim == ndim;
        for (int k = 0; k < ndim && fits; k++) {
            fits = k == axis || usmpy_shape(array)[k] == shape[k];
        }
        if (!fits) {
            char a[200], b[200];
            PyErr_Format(
                PyExc_ValueError,
                "concat(): arrays[%zd] has shape %s and arrays[0] has %s; they may differ along axis %d only",
                i, usm_layout_text(array->ndim, usmpy_shape(array), a, sizeof a),
                usm_layout_text(ndim, usmpy_shape(first), b, sizeof b), axis);
            return NULL;
        }
        if (__builtin_add_overflow(shape[axis], usmpy_shape(array)[axis], &shape[axis])) {
            return too_long();
        }
    }
    usmpy_array *result =
        usmpy_array_empty(state, inputs->all.queue, inputs->all.kind, inputs->dtype, ndim, shape, 'C', false);
    for (Py_ssize_t i = 0; result != NULL && i < inputs->all.n; i++) {
        usmpy_array *array = inputs->all.arrays[i];
        const usm_view to = usmpy_piece(result, ndim, usmpy_shape(array), axis, offset);
        const usm_view from = usmpy_view(array);
        offset += usmpy_shape(array)[axis];
        if (usmpy_submit_copy(state, inputs->all.queue, &to, &from) < 0) {
            Py_CLEAR(result);
        }
    }
    return result;
}

static usmpy_array *stack_arrays(usmpy_state *state, const inputs *inputs, PyObject *axis_argument)
{
    usmpy_array *first = inputs->all.arrays[0];
    int ndim = first->ndim;
    int64_t shape[USM_MAX_NDIM];
    if (ndim == USM_MAX_NDIM) {
        PyErr_Format(PyExc_ValueError, "stack(): the result would have more than %d dimensions",
                     USM_MAX_NDIM);
        return NULL;
    }
    int axis = axis_argument == NULL ? 0 : usmpy_parse_axis(axis_argument, ndim + 1, "axis");
    if (axis < 0) {
        return NULL;
    }
    for (Py_ssize_t i = 1; i < inputs->all.n; i++) {
        usmpy_array *array = inputs->all.arrays[i];
        if (array->ndim != ndim ||
            memcmp(usmpy_shape(array), usmpy_shape(first), (size_t)ndim * sizeof *shape) != 0) {
            char a[200], b[200];
            PyErr_Format(PyExc_ValueError,
                         "stack(): arrays[%zd] has shape %s and arrays[0] has %s; they must be equal", i,
                         usm_layout_text(array->ndim, usmpy_shape(array), a, sizeof a),
                         usm_layout_text(ndim, usmpy_shape(first), b, sizeof b));
            return NULL;
        }
    }
    for (int i = 0, from = 0; i <= ndim; i++) {
        shape[i] = i == axis ? inputs->all.n : usmpy_shape(first)[from];
        from += i != axis;
    }
    usmpy_array *result = usmpy_array_empty(state, inputs->all.queue, inputs->all.kind, inputs->dtype,
                                            ndim + 1, shape, 'C', false);
    shape[axis] = 1;
    for (Py_ssize_t n = 0; result != NULL && n < inputs->all.n; n++) {
        int64_t strides[USM_MAX_NDIM];
        for (int i = 0, from = 0; i <= ndim; i++) {
            strides[i] = i == axis ? 1 : usmpy_strides(inputs->all.arrays[n])[from];
            from += i != axis;
        }
        usmpy_array *array = inputs->all.arrays[n];
        const usm_view to = usmpy_piece(result, ndim + 1, shape, axis, n);
        const usm_view from = {array->alloc, array->data, (usm_dtype)array->dtype, ndim + 1, shape, strides};
        if (usmpy_submit_copy(state, inputs->all.queue, &to, &from) < 0) {
            Py_CLEAR(result);
        }
    }
    return result;
}

typedef usmpy_array *(*joiner)(usmpy_state *state, const inputs *inputs, PyObject *axis_argument);

static PyObject *join(PyObject *module, const usmpy_signature *signature, PyObject *const *args,
                      Py_ssize_t nargs, PyObject *kwnames, joiner joiner)
{
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[2];
    inputs inputs;
    if (usmpy_parse(state, signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_deferred_poll();
    if (parse_inputs(state, out[0], signature->function, &inputs) < 0) {
        return NULL;
    }
    usmpy_array *result = joiner(state, &inputs, out[1]);
    Py_DECREF(inputs.all.items);
    return (PyObject *)result;
}

PyObject *usmpy_concat(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"concat", 2, 1, 1, 1, {USMPY_arrays, USMPY_axis}};
    return join(module, &signature, args, nargs, kwnames, concat_axis);
}

PyObject *usmpy_stack(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"stack", 2, 1, 1, 1, {USMPY_arrays, USMPY_axis}};
    return join(module, &signature, args, nargs, kwnames, stack_arrays);
}
