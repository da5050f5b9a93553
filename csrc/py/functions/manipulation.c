/* Manipulation functions of the array API standard: views where that is possible, else one copy on
 * the array's queue. */
#include "manipulation.h"
#include "docstrings.h"
#include "py/args.h"
#include "py/arrays/array.h"
#include "py/deferred.h"
#include "py/errors.h"
#include "py/objects/placement.h"

#include <string.h>

usmpy_array *usmpy_check_argument(usmpy_state *state, PyObject *x, const char *function)
{
    if (!usmpy_is_array(state, x)) {
        PyErr_Format(PyExc_TypeError, "%s(): x is %s %s; a USMArray is allowed (asarray makes one)", function,
                     USMPY_A(x));
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

static void reverse(int n, const int64_t *from, int64_t *to)
{
    for (int i = 0; i < n; i++) {
        to[i] = from[n - 1 - i];
    }
}

/* Strides of the array's elements in another shape and order. False: only a copy has that shape. */
static bool view_strides(usmpy_array *array, int ndim, const int64_t *shape, char order, int64_t *strides)
{
    if (order == 'C') {
        return usm_layout_reshape(array->ndim, usmpy_shape(array), usmpy_strides(array), ndim, shape,
                                  strides);
    }
    int64_t old_shape[USM_MAX_NDIM], old_strides[USM_MAX_NDIM], new_shape[USM_MAX_NDIM], found[USM_MAX_NDIM];
    reverse(array->ndim, usmpy_shape(array), old_shape);
    reverse(array->ndim, usmpy_strides(array), old_strides);
    reverse(ndim, shape, new_shape);
    bool possible = usm_layout_reshape(array->ndim, old_shape, old_strides, ndim, new_shape, found);
    if (possible) {
        reverse(ndim, found, strides);
    }
    return possible;
}

static PyObject *reshape(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"reshape", 4, 2,
                                              1,         2, {USMPY_x, USMPY_shape, USMPY_order, USMPY_copy}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[4];
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM];
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_array *array = usmpy_check_argument(state, out[0], "reshape");
    int copy = usmpy_given(out[3]) ? usmpy_bool(out[3], -1, "reshape", "copy") : -1;
    if (array == NULL || (copy < 0 && PyErr_Occurred())) {
        return NULL;
    }
    int order = usmpy_parse_order(out[2], "CFA", 'C');
    usmpy_deferred_poll();
    int ndim = order < 0 ? -1 : usmpy_parse_shape(out[1], shape, "shape");
    if (ndim < 0 || complete_shape(array, ndim, shape) < 0) {
        return NULL;
    }
    if (order == 'A') {
        order = (array->flags & (USM_C_CONTIGUOUS | USM_F_CONTIGUOUS)) == USM_F_CONTIGUOUS ? 'F' : 'C';
    }
    if (copy != 1 && view_strides(array, ndim, shape, (char)order, strides)) {
        return (PyObject *)usmpy_array_view(state, array, array->data, ndim, shape, strides);
    }
    if (copy == 0) {
        PyErr_SetString(PyExc_ValueError, "copy=False, but these strides cannot be reshaped without a copy");
        return NULL;
    }
    usmpy_array *compact = usmpy_array_duplicate(state, array, array->queue, (usm_kind)array->alloc->kind,
                                                 (usm_dtype)array->dtype, (char)order);
    if (compact == NULL) {
        return NULL;
    }
    usm_layout_compact(ndim, shape, (char)order, strides);
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
    usmpy_array *array = usmpy_check_argument(state, out[0], "permute_dims");
    if (array == NULL) {
        return NULL;
    }
    int n = usmpy_parse_axes(out[1], array->ndim, axes, "axes");
    if (n < 0) {
        return NULL;
    }
    if (n != array->ndim) {
        return PyErr_Format(PyExc_ValueError,
                            "axes has %d entr%s; the array has %d dimension%s, and each must occur once", n,
                            n == 1 ? "y" : "ies", array->ndim, usmpy_plural(array->ndim));
    }
    for (int i = 0; i < n; i++) {
        shape[i] = usmpy_shape(array)[axes[i]];
        strides[i] = usmpy_strides(array)[axes[i]];
    }
    return (PyObject *)usmpy_array_view(state, array, array->data, n, shape, strides);
}

static PyObject *squeeze(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"squeeze", 2, 2, 1, 1, {USMPY_x, USMPY_axis}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[2];
    int axes[USM_MAX_NDIM], ndim = 0, n = 0;
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM];
    uint64_t gone = 0;
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_array *array = usmpy_check_argument(state, out[0], "squeeze");
    if (array == NULL) {
        return NULL;
    }
    if (usmpy_given(out[1])) {
        n = usmpy_parse_axes(out[1], array->ndim, axes, "axis");
        if (n < 0) {
            return NULL;
        }
    } else {
        for (int i = 0; i < array->ndim; i++) {
            if (usmpy_shape(array)[i] == 1) {
                axes[n++] = i;
            }
        }
    }
    for (int i = 0; i < n; i++) {
        if (usmpy_shape(array)[axes[i]] != 1) {
            return PyErr_Format(PyExc_ValueError,
                                "axis %d has length %lld; only axes of length 1 can be squeezed", axes[i],
                                (long long)usmpy_shape(array)[axes[i]]);
        }
        gone |= UINT64_C(1) << axes[i];
    }
    for (int i = 0; i < array->ndim; i++) {
        if ((gone >> i & 1) == 0) {
            shape[ndim] = usmpy_shape(array)[i];
            strides[ndim++] = usmpy_strides(array)[i];
        }
    }
    return (PyObject *)usmpy_array_view(state, array, array->data, ndim, shape, strides);
}

/* How many entries `axis` has, before it is known what they count from. -1 with an exception. */
static Py_ssize_t count_axes(PyObject *axis)
{
    return axis == NULL || PyIndex_Check(axis) || !PySequence_Check(axis) ? 1 : PySequence_Size(axis);
}

static PyObject *expand_dims(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"expand_dims", 2, 2, 1, 1, {USMPY_x, USMPY_axis}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[2];
    int axes[USM_MAX_NDIM] = {0}, n = 1;
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM];
    uint64_t added = 0;
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_array *array = usmpy_check_argument(state, out[0], "expand_dims");
    Py_ssize_t count = array == NULL ? -1 : count_axes(out[1]);
    if (count < 0) {
        return NULL;
    }
    if (count > USM_MAX_NDIM - array->ndim) {
        return PyErr_Format(PyExc_ValueError, "expand_dims(): the result would have more than %d dimensions",
                            USM_MAX_NDIM);
    }
    int ndim = array->ndim + (int)count;
    if (out[1] != NULL) {
        n = usmpy_parse_axes(out[1], ndim, axes, "axis"); /* they count in the result */
    }
    if (n != (int)count) {
        return n < 0 ? NULL : PyErr_Format(PyExc_RuntimeError, "axis changed its size while it was read");
    }
    for (int i = 0; i < n; i++) {
        added |= UINT64_C(1) << axes[i];
    }
    for (int i = 0, from = 0; i < ndim; i++) {
        bool is_new = (added >> i & 1) != 0;
        shape[i] = is_new ? 1 : usmpy_shape(array)[from];
        strides[i] = is_new ? 1 : usmpy_strides(array)[from];
        from += !is_new;
    }
    return (PyObject *)usmpy_array_view(state, array, array->data, ndim, shape, strides);
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
    usmpy_array *array = usmpy_check_argument(state, out[0], "flip");
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
        if (array->size > 0) { /* else there is no last element to begin with */
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
    usmpy_array *array = usmpy_check_argument(state, out[0], "broadcast_to");
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
    static const usmpy_signature signature = {
        "astype", 5, 2, 2, 2, {USMPY_x, USMPY_dtype, USMPY_copy, USMPY_order, USMPY_device}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[5];
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_array *array = usmpy_check_argument(state, out[0], "astype");
    return array == NULL ? NULL : usmpy_astype(state, array, out + 1);
}

PyMethodDef usmpy_manipulation_functions[] = {
    USMPY_METHOD("reshape", reshape, USMPY_DOC_reshape),
    USMPY_METHOD("permute_dims", permute_dims, USMPY_DOC_permute_dims),
    USMPY_METHOD("squeeze", squeeze, USMPY_DOC_squeeze),
    USMPY_METHOD("expand_dims", expand_dims, USMPY_DOC_expand_dims),
    USMPY_METHOD("flip", flip, USMPY_DOC_flip),
    USMPY_METHOD("broadcast_to", broadcast_to, USMPY_DOC_broadcast_to),
    USMPY_METHOD("astype", astype, USMPY_DOC_astype),
    USMPY_METHOD("concat", usmpy_concat, USMPY_DOC_concat),
    USMPY_METHOD("stack", usmpy_stack, USMPY_DOC_stack),
    USMPY_METHOD("copyto", usmpy_copyto, USMPY_DOC_copyto),
    USMPY_METHOD("explain_copy", usmpy_explain_copy, USMPY_DOC_explain_copy),
    {0},
};
