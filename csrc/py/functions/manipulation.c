/* Functions that change the shape: views where that is possible, else one copy on the array's queue. */
#include "manipulation.h"
#include "docstrings.h"
#include "py/args.h"

usmpy_array *usmpy_check_argument(usmpy_state *state, PyObject *x, const char *function)
{
    usmpy_array *array = usmpy_check_array(state, x, function);
    return array == NULL || usmpy_check_unpacked(array, function) < 0 ? NULL : array;
}

PyObject *usmpy_with_array(usmpy_state *state, const char *function, PyObject *const *arguments,
                           usmpy_array_body body)
{
    usmpy_array *x = usmpy_check_argument(state, arguments[0], function);
    return x == NULL ? NULL : body(x, arguments);
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
            return usmpy_refuse(PyExc_ValueError,
                                "shape is %s; lengths of 0 or more and at most one -1 are allowed",
                                usm_layout_text(ndim, shape, text, sizeof text));
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
        return usmpy_refuse(PyExc_ValueError, "an array of %lld elements cannot be reshaped to %s",
                            (long long)array->size, usm_layout_text(ndim, shape, text, sizeof text));
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

/* The array's elements, read in this order, in another shape: a view, or with copy != 0 a copy. */
static usmpy_array *in_shape(usmpy_array *array, int ndim, const int64_t *shape, char order, int copy)
{
    int64_t strides[USM_MAX_NDIM];
    if (copy != 1 && view_strides(array, ndim, shape, order, strides)) {
        return usmpy_array_view(array, array->data, ndim, shape, strides);
    }
    if (copy == 0) {
        return (usmpy_array *)PyErr_Format(PyExc_ValueError,
                                           "copy=False, but these strides cannot be reshaped without a copy");
    }
    usmpy_array *compact =
        usmpy_array_duplicate(array, array->queue, array->alloc->kind, array->dtype, order);
    if (compact != NULL) {
        usm_layout_compact(ndim, shape, order, strides);
        Py_SETREF(compact, usmpy_array_view(compact, compact->data, ndim, shape, strides));
    }
    return compact;
}

usmpy_array *usmpy_flat(usmpy_array *array)
{
    return in_shape(array, 1, &array->size, 'C', -1);
}

/* arguments: x, shape, order, copy. */
static PyObject *reshape(usmpy_array *x, PyObject *const *arguments)
{
    int64_t shape[USM_MAX_NDIM];
    int copy = usmpy_given(arguments[3]) ? usmpy_bool(arguments[3], -1, "reshape", "copy") : -1;
    int order = copy < 0 && PyErr_Occurred() ? -1 : usmpy_parse_order(arguments[2], "CFA", 'C');
    int ndim = order < 0 ? -1 : usmpy_parse_shape(arguments[1], shape, "shape");
    if (ndim < 0 || complete_shape(x, ndim, shape) < 0) {
        return NULL;
    }
    return (PyObject *)in_shape(x, ndim, shape, order == 'A' ? usmpy_contiguity(x) : (char)order, copy);
}

PyObject *usmpy_reshape(usmpy_state *state, PyObject *const *arguments)
{
    return usmpy_with_array(state, "reshape", arguments, reshape);
}
USMPY_ARRAY_FUNCTION(reshape)

/* arguments: x, axis. */
static PyObject *squeeze(usmpy_array *x, PyObject *const *arguments)
{
    int axes[USM_MAX_NDIM], ndim = 0, n = 0;
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM];
    uint64_t removed_axes = 0;
    if (usmpy_given(arguments[1])) {
        n = usmpy_parse_axes(arguments[1], x->ndim, axes, "axis");
        if (n < 0) {
            return NULL;
        }
    }
    for (int i = 0; i < n; i++) {
        if (usmpy_shape(x)[axes[i]] != 1) {
            return PyErr_Format(PyExc_ValueError,
                                "axis %d has length %lld; only axes of length 1 can be squeezed", axes[i],
                                (long long)usmpy_shape(x)[axes[i]]);
        }
        removed_axes |= UINT64_C(1) << axes[i];
    }
    for (int i = 0; i < x->ndim; i++) {
        if (usmpy_given(arguments[1]) ? (removed_axes >> i & 1) == 0 : usmpy_shape(x)[i] != 1) {
            shape[ndim] = usmpy_shape(x)[i];
            strides[ndim++] = usmpy_strides(x)[i];
        }
    }
    return (PyObject *)usmpy_array_view(x, x->data, ndim, shape, strides);
}
USMPY_ARRAY_FUNCTION(squeeze)

/* How many entries `axis` has, before it is known what they count from. -1 with an exception. */
static Py_ssize_t count_axes(PyObject *axis)
{
    return axis == NULL || PyIndex_Check(axis) || !PySequence_Check(axis) ? 1 : PySequence_Size(axis);
}

/* arguments: x, axis. */
static PyObject *expand_dims(usmpy_array *x, PyObject *const *arguments)
{
    int axes[USM_MAX_NDIM] = {0}, n = 1;
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM];
    uint64_t added = 0;
    Py_ssize_t count = count_axes(arguments[1]);
    if (count < 0) {
        return NULL;
    }
    if (count > USM_MAX_NDIM - x->ndim) {
        return PyErr_Format(PyExc_ValueError, "expand_dims(): the result would have more than %d dimensions",
                            USM_MAX_NDIM);
    }
    int ndim = x->ndim + (int)count;
    if (arguments[1] != NULL) {
        n = usmpy_parse_axes(arguments[1], ndim, axes, "axis"); /* axes of the result */
    }
    if (n != (int)count) {
        return n < 0 ? NULL : PyErr_Format(PyExc_RuntimeError, "axis changed its size while it was read");
    }
    for (int i = 0; i < n; i++) {
        added |= UINT64_C(1) << axes[i];
    }
    for (int i = 0, from = 0; i < ndim; i++) {
        bool is_new = (added >> i & 1) != 0;
        shape[i] = is_new ? 1 : usmpy_shape(x)[from];
        strides[i] = is_new ? 1 : usmpy_strides(x)[from];
        from += !is_new;
    }
    return (PyObject *)usmpy_array_view(x, x->data, ndim, shape, strides);
}
USMPY_ARRAY_FUNCTION(expand_dims)

/* arguments: x, shape. */
static PyObject *broadcast_to(usmpy_array *x, PyObject *const *arguments)
{
    int64_t shape[USM_MAX_NDIM], size;
    int ndim = usmpy_parse_shape(arguments[1], shape, "shape");
    usm_error error;
    if (ndim < 0 ||
        usmpy_check(x->state, usm_layout_size(ndim, shape, usm_dtype_table[x->dtype].itemsize, &size, &error),
                    &error) < 0) {
        return NULL;
    }
    return (PyObject *)usmpy_broadcast_view(x, ndim, shape);
}
USMPY_ARRAY_FUNCTION(broadcast_to)

usmpy_array *usmpy_broadcast_view(usmpy_array *array, int ndim, const int64_t *shape)
{
    int64_t strides[USM_MAX_NDIM];
    if (!usm_layout_broadcast(array->ndim, usmpy_shape(array), usmpy_strides(array), ndim, shape, strides)) {
        char from[200], to[200];
        PyErr_Format(PyExc_ValueError, "an array of shape %s does not broadcast to %s",
                     usm_layout_text(array->ndim, usmpy_shape(array), from, sizeof from),
                     usm_layout_text(ndim, shape, to, sizeof to));
        return NULL;
    }
    usmpy_array *view = usmpy_array_view(array, array->data, ndim, shape, strides);
    if (view != NULL && usm_layout_repeats(ndim, usmpy_shape(view), usmpy_strides(view))) {
        /* One element in several places: what a write leaves there would depend on its order. */
        view->flags &= (uint8_t)~USMPY_WRITABLE;
    }
    return view;
}

/* arguments: x, dtype, copy, order, device. */
static PyObject *astype(usmpy_array *x, PyObject *const *arguments)
{
    return usmpy_array_astype(x, arguments + 1);
}
USMPY_ARRAY_FUNCTION(astype)

PyMethodDef usmpy_manipulation_functions[] = {
    USMPY_ROW(reshape),      USMPY_ROW(squeeze), USMPY_ROW(expand_dims),
    USMPY_ROW(broadcast_to), USMPY_ROW(astype),  {0},
};
