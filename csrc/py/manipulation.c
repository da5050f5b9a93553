/* Manipulation functions of the array API standard: views where that is possible, else one copy on
 * the array's queue. */
#include "args.h"
#include "array.h"
#include "deferred.h"
#include "dlpack.h"
#include "errors.h"
#include "placement.h"
#include "wait.h"

#include <string.h>

static usmpy_array *check_array(usmpy_state *state, PyObject *x, const char *function)
{
    if (!usmpy_is_array(state, x)) {
        PyErr_Format(PyExc_TypeError, "%s(): x is a %s; a USMArray is allowed (asarray makes one)", function,
                     Py_TYPE(x)->tp_name);
        return NULL;
    }
    if (usmpy_check_unpacked((usmpy_array *)x, function) < 0) {
        return NULL;
    }
    return (usmpy_array *)x;
}

/* Resolves one -1 and checks the number of elements. 0 or -1. */
static int complete_shape(usmpy_array *array, int ndim, int64_t *shape)
{
    int open = -1;
    int64_t known = 1;
    char text[200];
    for (int i = 0; i < ndim; i++) {
        if (shape[i] == -1 && open < 0) {
            open = i;
        } else if (shape[i] < 0) {
            PyErr_Format(PyExc_ValueError, "shape is %s; lengths of 0 or more and at most one -1 are allowed",
                         usm_layout_text(ndim, shape, text, sizeof text));
            return -1;
        } else if (__builtin_mul_overflow(known, shape[i], &known)) {
            known = -1;
            break;
        }
    }
    if (open >= 0 && known > 0 && array->size % known == 0) {
        shape[open] = array->size / known;
        known = array->size;
    } else if (open >= 0) {
        known = -1;
    }
    if (known != array->size) {
        PyErr_Format(PyExc_ValueError, "an array of %lld elements cannot be reshaped to %s",
                     (long long)array->size, usm_layout_text(ndim, shape, text, sizeof text));
        return -1;
    }
    return 0;
}

static PyObject *reshape(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"reshape", 3, 2, 1, 2, {USMPY_x, USMPY_shape, USMPY_copy}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[3];
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM];
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_array *array = check_array(state, out[0], "reshape");
    int copy = usmpy_given(out[2]) ? usmpy_bool(out[2], -1, "reshape", "copy") : -1;
    if (array == NULL || (copy < 0 && PyErr_Occurred())) {
        return NULL;
    }
    usmpy_deferred_poll();
    int ndim = usmpy_parse_shape(out[1], shape, "shape");
    if (ndim < 0 || complete_shape(array, ndim, shape) < 0) {
        return NULL;
    }
    bool possible =
        usm_layout_reshape(array->ndim, usmpy_shape(array), usmpy_strides(array), ndim, shape, strides);
    if (possible && copy != 1) {
        return (PyObject *)usmpy_array_view(state, array, array->data, ndim, shape, strides);
    }
    if (copy == 0) {
        PyErr_SetString(PyExc_ValueError, "copy=False, but these strides cannot be reshaped without a copy");
        return NULL;
    }
    usmpy_array *compact = usmpy_array_duplicate(state, array, array->queue, (usm_kind)array->alloc->kind,
                                                 (usm_dtype)array->dtype, 'C');
    if (compact == NULL) {
        return NULL;
    }
    usm_layout_compact(ndim, shape, 'C', strides);
    PyObject *result = (PyObject *)usmpy_array_view(state, compact, compact->data, ndim, shape, strides);
    Py_DECREF(compact);
    return result;
}

static PyObject *permute_dims(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"permute_dims", 2, 2, 1, 2, {USMPY_x, USMPY_axes}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[2];
    int axes[USM_MAX_NDIM];
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM];
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_array *array = check_array(state, out[0], "permute_dims");
    if (array == NULL) {
        return NULL;
    }
    int n = usmpy_parse_axes(out[1], array->ndim, axes, "axes");
    if (n < 0) {
        return NULL;
    }
    if (n != array->ndim) {
        return PyErr_Format(PyExc_ValueError,
                            "axes has %d entries; the array has %d dimensions, each must occur once", n,
                            array->ndim);
    }
    for (int i = 0; i < n; i++) {
        shape[i] = usmpy_shape(array)[axes[i]];
        strides[i] = usmpy_strides(array)[axes[i]];
    }
    return (PyObject *)usmpy_array_view(state, array, array->data, n, shape, strides);
}

static PyObject *squeeze(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"squeeze", 2, 2, 1, 2, {USMPY_x, USMPY_axis}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[2];
    int axes[USM_MAX_NDIM], ndim = 0;
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM];
    uint64_t gone = 0;
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_array *array = check_array(state, out[0], "squeeze");
    int n = array == NULL ? -1 : usmpy_parse_axes(out[1], array->ndim, axes, "axis");
    for (int i = 0; i < n; i++) {
        if (usmpy_shape(array)[axes[i]] != 1) {
            return PyErr_Format(PyExc_ValueError,
                                "axis %d has length %lld; only axes of length 1 can be squeezed", axes[i],
                                (long long)usmpy_shape(array)[axes[i]]);
        }
        gone |= UINT64_C(1) << axes[i];
    }
    if (n < 0) {
        return NULL;
    }
    for (int i = 0; i < array->ndim; i++) {
        if ((gone >> i & 1) == 0) {
            shape[ndim] = usmpy_shape(array)[i];
            strides[ndim++] = usmpy_strides(array)[i];
        }
    }
    return (PyObject *)usmpy_array_view(state, array, array->data, ndim, shape, strides);
}

static PyObject *expand_dims(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"expand_dims", 2, 2, 1, 1, {USMPY_x, USMPY_axis}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[2];
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM];
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_array *array = check_array(state, out[0], "expand_dims");
    if (array == NULL) {
        return NULL;
    }
    if (array->ndim == USM_MAX_NDIM) {
        return PyErr_Format(PyExc_ValueError, "the array has %d dimensions already, the most that is allowed",
                            USM_MAX_NDIM);
    }
    int axis = out[1] == NULL ? 0 : usmpy_parse_axis(out[1], array->ndim + 1, "axis");
    if (axis < 0) {
        return NULL;
    }
    for (int i = 0, from = 0; i <= array->ndim; i++) {
        shape[i] = i == axis ? 1 : usmpy_shape(array)[from];
        strides[i] = i == axis ? 1 : usmpy_strides(array)[from];
        from += i != axis;
    }
    return (PyObject *)usmpy_array_view(state, array, array->data, array->ndim + 1, shape, strides);
}

static PyObject *flip(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"flip", 2, 1, 1, 1, {USMPY_x, USMPY_axis}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[2];
    int axes[USM_MAX_NDIM];
    int64_t strides[USM_MAX_NDIM];
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_array *array = check_array(state, out[0], "flip");
    if (array == NULL) {
        return NULL;
    }
    int n = array->ndim;
    for (int i = 0; i < n; i++) {
        axes[i] = i;
    }
    if (usmpy_given(out[1])) {
        n = usmpy_parse_axes(out[1], array->ndim, axes, "axis");
        if (n < 0) {
            return NULL;
        }
    }
    char *data = array->data;
    memcpy(strides, usmpy_strides(array), array->ndim * sizeof *strides);
    for (int i = 0; i < n; i++) {
        int64_t length = usmpy_shape(array)[axes[i]], stride = strides[axes[i]];
        if (data != NULL) {
            data += (length - 1) * stride * usm_dtype_table[array->dtype].itemsize;
        }
        strides[axes[i]] = -stride;
    }
    return (PyObject *)usmpy_array_view(state, array, data, array->ndim, usmpy_shape(array), strides);
}

static PyObject *broadcast_to(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"broadcast_to", 2, 2, 1, 2, {USMPY_x, USMPY_shape}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[2];
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM], size;
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_array *array = check_array(state, out[0], "broadcast_to");
    int ndim = array == NULL ? -1 : usmpy_parse_shape(out[1], shape, "shape");
    if (ndim < 0) {
        return NULL;
    }
    usm_error error;
    usm_status status = usm_layout_size(ndim, shape, usm_dtype_table[array->dtype].itemsize, &size, &error);
    if (status != USM_OK) {
        return usmpy_raise(state, status, &error);
    }
    if (!usm_layout_broadcast(array->ndim, usmpy_shape(array), usmpy_strides(array), ndim, shape, strides)) {
        char from[200], to[200];
        return PyErr_Format(PyExc_ValueError, "an array of shape %s does not broadcast to %s",
                            usm_layout_text(array->ndim, usmpy_shape(array), from, sizeof from),
                            usm_layout_text(ndim, shape, to, sizeof to));
    }
    usmpy_array *view = usmpy_array_view(state, array, array->data, ndim, shape, strides);
    if (view != NULL && usm_layout_repeats(ndim, usmpy_shape(view), usmpy_strides(view))) {
        view->flags &=
            (uint8_t)~USMPY_WRITABLE; /* one element in many places: writing would depend on the order */
    }
    return (PyObject *)view;
}

static PyObject *astype(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"astype", 4, 2,
                                              2,        2, {USMPY_x, USMPY_dtype, USMPY_copy, USMPY_device}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[4];
    usm_dtype dtype;
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_array *array = check_array(state, out[0], "astype");
    int copy = usmpy_bool(out[2], 1, "astype", "copy");
    if (array == NULL || copy < 0 || usmpy_dtype_convert(state, out[1], &dtype) < 0) {
        return NULL;
    }
    usmpy_deferred_poll();
    PyObject *queue =
        usmpy_given(out[3]) ? usmpy_queue_from(state, out[3], "device") : Py_NewRef(array->queue);
    PyObject *result = queue == NULL ? NULL : usmpy_cast(state, array, dtype, copy, queue);
    Py_XDECREF(queue);
    return result;
}

/* The arrays of concat and stack: a tuple of at least one, of promotable types, on one queue. */
typedef struct operands {
    PyObject *items; /* new reference, a tuple */
    usmpy_array **arrays;
    Py_ssize_t n;
    usm_dtype dtype;
    PyObject *queue; /* borrowed */
    usm_kind kind;
} operands;

static int parse_operands(usmpy_state *state, PyObject *argument, const char *function, operands *operands)
{
    operands->items = usmpy_is_array(state, argument) ? NULL : usmpy_tuple_of(argument);
    if (operands->items == NULL) {
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_TypeError, "%s(): arrays is a %s; a sequence of USMArrays is allowed",
                         function, Py_TYPE(argument)->tp_name);
        }
        return -1;
    }
    operands->n = PyTuple_GET_SIZE(operands->items);
    operands->arrays = (usmpy_array **)((PyTupleObject *)operands->items)->ob_item;
    operands->queue = NULL;
    if (operands->n == 0) {
        PyErr_Format(PyExc_ValueError, "%s(): arrays is empty; at least one array is needed", function);
    }
    for (Py_ssize_t i = 0; i < operands->n; i++) {
        PyObject *item = PyTuple_GET_ITEM(operands->items, i);
        if (!usmpy_is_array(state, item)) {
            PyErr_Format(PyExc_TypeError, "%s(): arrays[%zd] is a %s; USMArrays are allowed", function, i,
                         Py_TYPE(item)->tp_name);
            break;
        }
        usmpy_array *array = (usmpy_array *)item;
        if (usmpy_check_unpacked(array, function) < 0) {
            break;
        }
        usm_dtype before = i == 0 ? (usm_dtype)array->dtype : operands->dtype;
        operands->dtype = usm_dtype_promote(before, (usm_dtype)array->dtype);
        if (operands->dtype == USM_NO_DTYPE) {
            PyErr_Format(
                PyExc_TypeError,
                "%s(): arrays[%zd] has dtype %s, and there is no common type of it and %s (array API standard, "
                "type promotion); cast one with astype()",
                function, i, usm_dtype_table[array->dtype].name, usm_dtype_table[before].name);
            break;
        }
    }
    if (!PyErr_Occurred()) {
        operands->queue =
            usmpy_common_queue(state, function, "arrays", operands->arrays, operands->n, &operands->kind);
    }
    if (operands->queue == NULL) {
        Py_CLEAR(operands->items);
        return -1;
    }
    return 0;
}

/* Copies `src`, seen with this shape, into the result from `offset` along `axis`; returns its length
 * there, or -1. */
static int64_t put(usmpy_state *state, usmpy_array *result, usmpy_array *src, int ndim, const int64_t *shape,
                   const int64_t *strides, int axis, int64_t offset)
{
    char *data = result->data;
    if (data != NULL) {
        data += offset * usmpy_strides(result)[axis] * usm_dtype_table[result->dtype].itemsize;
    }
    const usm_view to = {result->alloc, data, (usm_dtype)result->dtype, ndim, shape, usmpy_strides(result)};
    const usm_view from = {src->alloc, src->data, (usm_dtype)src->dtype, ndim, shape, strides};
    usm_error error;
    usm_status status = usm_copy_submit(usmpy_queue_of(result->queue), &to, &from, NULL, &error);
    if (status != USM_OK) {
        usmpy_raise(state, status, &error);
        return -1;
    }
    return shape[axis];
}

/* concat(axis=None): every array as a vector, row-major. */
static usmpy_array *concat_flat(usmpy_state *state, const operands *operands)
{
    int64_t length = 0, offset = 0;
    for (Py_ssize_t i = 0; i < operands->n; i++) {
        length += operands->arrays[i]->size;
    }
    usmpy_array *result =
        usmpy_array_empty(state, operands->queue, operands->kind, operands->dtype, 1, &length, 'C', false);
    for (Py_ssize_t i = 0; result != NULL && i < operands->n; i++) {
        usmpy_array *array = operands->arrays[i];
        int64_t strides[USM_MAX_NDIM];
        usm_layout_compact(array->ndim, usmpy_shape(array), 'C', strides);
        /* The piece of the vector, seen in the array's shape: one strided copy, whatever
         * the source's strides. */
        char *data = result->data;
        if (data != NULL) {
            data += offset * usm_dtype_table[result->dtype].itemsize;
        }
        const usm_view to = {result->alloc, data, operands->dtype, array->ndim, usmpy_shape(array), strides};
        const usm_view from = usmpy_view(array);
        usm_error error;
        usm_status status = usm_copy_submit(usmpy_queue_of(operands->queue), &to, &from, NULL, &error);
        if (status != USM_OK) {
            usmpy_raise(state, status, &error);
            Py_CLEAR(result);
        }
        offset += array->size;
    }
    return result;
}

static usmpy_array *concat_axis(usmpy_state *state, const operands *operands, PyObject *axis_argument)
{
    usmpy_array *first = operands->arrays[0];
    int ndim = first->ndim;
    int64_t shape[USM_MAX_NDIM], offset = 0;
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
    for (Py_ssize_t i = 1; i < operands->n; i++) {
        usmpy_array *array = operands->arrays[i];
        bool fits = array->ndim == ndim;
        for (int k = 0; k < ndim && fits; k++) {
            fits = k == axis || usmpy_shape(array)[k] == shape[k];
        }
        if (!fits) {
            char a[200], b[200];
            PyErr_Format(
                PyExc_ValueError,
                "concat(): arrays[%zd] has shape %s and arrays[0] has %s; they may differ in axis %d alone",
                i, usm_layout_text(array->ndim, usmpy_shape(array), a, sizeof a),
                usm_layout_text(ndim, usmpy_shape(first), b, sizeof b), axis);
            return NULL;
        }
        shape[axis] += usmpy_shape(array)[axis];
    }
    usmpy_array *result =
        usmpy_array_empty(state, operands->queue, operands->kind, operands->dtype, ndim, shape, 'C', false);
    for (Py_ssize_t i = 0; result != NULL && i < operands->n; i++) {
        usmpy_array *array = operands->arrays[i];
        int64_t length =
            put(state, result, array, ndim, usmpy_shape(array), usmpy_strides(array), axis, offset);
        if (length < 0) {
            Py_CLEAR(result);
        }
        offset += length;
    }
    return result;
}

static PyObject *concat(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"concat", 2, 1, 1, 1, {USMPY_arrays, USMPY_axis}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[2];
    operands operands;
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_deferred_poll();
    if (parse_operands(state, out[0], "concat", &operands) < 0) {
        return NULL;
    }
    usmpy_array *result =
        out[1] == Py_None ? concat_flat(state, &operands) : concat_axis(state, &operands, out[1]);
    Py_DECREF(operands.items);
    return (PyObject *)result;
}

static usmpy_array *stack_arrays(usmpy_state *state, const operands *operands, PyObject *axis_argument)
{
    usmpy_array *first = operands->arrays[0];
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
    for (Py_ssize_t i = 1; i < operands->n; i++) {
        usmpy_array *array = operands->arrays[i];
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
        shape[i] = i == axis ? operands->n : usmpy_shape(first)[from];
        from += i != axis;
    }
    usmpy_array *result = usmpy_array_empty(state, operands->queue, operands->kind, operands->dtype, ndim + 1,
                                            shape, 'C', false);
    shape[axis] = 1;
    for (Py_ssize_t n = 0; result != NULL && n < operands->n; n++) {
        int64_t strides[USM_MAX_NDIM];
        for (int i = 0, from = 0; i <= ndim; i++) {
            strides[i] = i == axis ? 1 : usmpy_strides(operands->arrays[n])[from];
            from += i != axis;
        }
        if (put(state, result, operands->arrays[n], ndim + 1, shape, strides, axis, n) < 0) {
            Py_CLEAR(result);
        }
    }
    return result;
}

static PyObject *stack(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"stack", 2, 1, 1, 1, {USMPY_arrays, USMPY_axis}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[2];
    operands operands;
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_deferred_poll();
    if (parse_operands(state, out[0], "stack", &operands) < 0) {
        return NULL;
    }
    usmpy_array *result = stack_arrays(state, &operands, out[1]);
    Py_DECREF(operands.items);
    return (PyObject *)result;
}

static int parse_casting(PyObject *argument)
{
    static const char *const names[] = {"no", "safe", "same_kind", "unsafe"};
    if (argument == NULL) {
        return USM_CAST_SAME_KIND;
    }
    for (int i = 0; PyUnicode_Check(argument) && i < 4; i++) {
        if (PyUnicode_CompareWithASCIIString(argument, names[i]) == 0) {
            return i;
        }
    }
    PyErr_Format(PyUnicode_Check(argument) ? PyExc_ValueError : PyExc_TypeError,
                 "casting is %R; 'no', 'safe', 'same_kind' or 'unsafe' is allowed", argument);
    return -1;
}

static int copy_between(usmpy_state *state, usmpy_array *dst, usmpy_array *src, int casting)
{
    int64_t strides[USM_MAX_NDIM];
    if (usmpy_check_writable(dst) < 0) {
        return -1;
    }
    if (!usm_dtype_can_cast((usm_dtype)src->dtype, (usm_dtype)dst->dtype, (usm_casting)casting)) {
        static const char *const names[] = {"no", "safe", "same_kind", "unsafe"};
        PyErr_Format(PyExc_TypeError, "copyto(): src has dtype %s, which casting='%s' does not put into %s",
                     usm_dtype_table[src->dtype].name, names[casting], usm_dtype_table[dst->dtype].name);
        return -1;
    }
    if (!usm_layout_broadcast(src->ndim, usmpy_shape(src), usmpy_strides(src), dst->ndim, usmpy_shape(dst),
                              strides)) {
        char from[200], to[200];
        PyErr_Format(PyExc_ValueError, "copyto(): src of shape %s does not broadcast to dst's shape %s",
                     usm_layout_text(src->ndim, usmpy_shape(src), from, sizeof from),
                     usm_layout_text(dst->ndim, usmpy_shape(dst), to, sizeof to));
        return -1;
    }
    usm_view to = usmpy_view(dst), from = usmpy_view(src);
    usm_error error;
    from.ndim = dst->ndim;
    from.shape = usmpy_shape(dst);
    from.strides = strides;
    usm_status status = usm_copy_submit(usmpy_queue_of(dst->queue), &to, &from, NULL, &error);
    if (status != USM_OK) {
        usmpy_raise(state, status, &error);
        return -1;
    }
    return 0;
}

static PyObject *copyto(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"copyto", 3, 2, 2, 2, {USMPY_dst, USMPY_src, USMPY_casting}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[3];
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_deferred_poll();
    int casting = parse_casting(out[2]);
    PyObject *dst = casting < 0 ? NULL : usmpy_import_any(state, out[0]), *src = NULL;
    int status = -1;
    if (dst != NULL) {
        src = usmpy_operand(state, out[1], ((usmpy_array *)dst)->queue);
    } else if (!PyErr_Occurred()) {
        PyErr_Format(PyExc_TypeError,
                     "copyto(): dst is a %s; a USMArray or another library's array is allowed",
                     Py_TYPE(out[0])->tp_name);
    }
    if (src != NULL) {
        status = copy_between(state, (usmpy_array *)dst, (usmpy_array *)src, casting);
    }
    /* Foreign memory is finished with when this returns: its owner knows nothing of our queues. */
    if (status == 0 && (dst != out[0] || src != out[1])) {
        status = usmpy_wait_alloc(state, ((usmpy_array *)(dst != out[0] ? dst : src))->alloc, USM_READ_WRITE,
                                  INT64_MAX);
    }
    Py_XDECREF(dst);
    Py_XDECREF(src);
    if (status < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyMethodDef usmpy_manipulation_functions[] = {
    USMPY_METHOD(
        "reshape", reshape,
        "reshape(x, /, shape, *, copy=None)\n--\n\n"
        "The elements of x, in row-major order, in another shape; one length may be -1.\n\n"
        "A view where the strides allow it. copy=False: ValueError where they do not; copy=True: always a copy."),
    USMPY_METHOD(
        "permute_dims", permute_dims,
        "permute_dims(x, /, axes)\n--\n\nView with axis axes[i] of x as axis i. Each axis occurs once."),
    USMPY_METHOD(
        "squeeze", squeeze,
        "squeeze(x, /, axis)\n--\n\nView without the named axes (an int or a tuple), which must have length 1."),
    USMPY_METHOD("expand_dims", expand_dims,
                 "expand_dims(x, /, axis=0)\n--\n\nView with a new axis of length 1 at `axis`."),
    USMPY_METHOD("flip", flip,
                 "flip(x, /, *, axis=None)\n--\n\nView with the named axes reversed; None: all of them."),
    USMPY_METHOD("broadcast_to", broadcast_to,
                 "broadcast_to(x, /, shape)\n--\n\n"
                 "View of x in a larger shape. Read-only where an element appears more than once."),
    USMPY_METHOD(
        "astype", astype,
        "astype(x, dtype, /, *, copy=True, device=None)\n--\n\n"
        "The elements of x cast to dtype, as USMArray.astype does; device: where the result is to be."),
    USMPY_METHOD(
        "concat", concat,
        "concat(arrays, /, *, axis=0)\n--\n\n"
        "Join arrays along an axis, on the queue that they share; axis=None joins them as vectors.\n\n"
        "The result has the promoted dtype and the widest usm_type (device < shared < host). ValueError for shapes that\n"
        "differ elsewhere, TypeError where there is no common dtype, ExecutionPlacementError without a common queue."),
    USMPY_METHOD("stack", stack,
                 "stack(arrays, /, *, axis=0)\n--\n\n"
                 "Join arrays of one shape along a new axis. Result, dtype and errors as concat."),
    USMPY_METHOD(
        "copyto", copyto,
        "copyto(dst, src, /, *, casting='same_kind')\n--\n\n"
        "dst[...] = src, with broadcasting, between any two places: src is a USMArray, any library's array, a number or\n"
        "nested sequences; dst a USMArray or another library's writable array.\n\n"
        "casting: 'no', 'safe', 'same_kind' or 'unsafe'. Runs in dst's queue; foreign memory is finished with on return."),
    {0},
};
