/* Basic indexing of the array API standard: integers, slices, Ellipsis and None give views. */
#include "array.h"
#include "py/args.h"
#include "py/deferred.h"
#include "py/errors.h"
#include "py/exchange/dlpack.h"
#include "py/functions/creation.h"
#include "py/objects/placement.h"
#include "py/wait.h"
#include "selection.h"

#include "core/ops/few.h"

#include <string.h>

/* What is left of the array while a key is applied to it, axis by axis. */
typedef struct cut {
    usmpy_array *array;
    char *data;
    int axis; /* next axis of the array */
    int ndim; /* of the result so far */
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM];
} cut;

static int64_t byte_stride(usmpy_array *array, int axis)
{
    return usmpy_strides(array)[axis] * usm_dtype_table[array->dtype].itemsize;
}

/*
 * An int, or what stands for one: NumPy's scalars, arrays of 0 dimensions. Not bool, which is a mask, and not
 * an array that merely has one element. As a new int in *index: 1, 0 for anything else, -1 with an exception.
 */
static int integer_key(PyObject *key, PyObject **index)
{
    if (PyLong_Check(key)) {
        *index = key;
        return PyBool_Check(key) ? 0 : (Py_INCREF(key), 1);
    }
    if (!PyIndex_Check(key)) {
        return 0;
    }
    if (PySequence_Check(key)) {
        if (PySequence_Size(key) >= 0) {
            return 0;
        }
        PyErr_Clear();
    }
    *index = PyNumber_Index(key);
    if (*index != NULL) {
        return 1;
    }
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) {
        return -1;
    }
    PyErr_Clear();
    return 0;
}

static int refuse_key(PyObject *key)
{
    PyErr_Format(
        PyExc_IndexError,
        "%R is not an index; integers, slices, Ellipsis, None, and arrays or lists of integers or bool are "
        "allowed",
        key);
    return -1;
}

static int cut_integer(cut *cut, PyObject *key)
{
    int64_t length = usmpy_shape(cut->array)[cut->axis];
    PyObject *index;
    int found = integer_key(key, &index);
    if (found <= 0) {
        return found < 0 ? -1 : refuse_key(key);
    }
    Py_ssize_t i = PyNumber_AsSsize_t(index, PyExc_IndexError);
    Py_DECREF(index);
    if (i == -1 && PyErr_Occurred()) {
        return -1;
    }
    if (i < -length || i >= length) {
        PyErr_Format(PyExc_IndexError, "index %zd is out of range for axis %d with length %lld", i, cut->axis,
                     (long long)length);
        return -1;
    }
    if (cut->data != NULL) {
        cut->data += (i < 0 ? i + length : i) * byte_stride(cut->array, cut->axis);
    }
    cut->axis++;
    return 0;
}

static int cut_slice(cut *cut, PyObject *key)
{
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(key, &start, &stop, &step) < 0) {
        return -1;
    }
    int axis = cut->axis++;
    Py_ssize_t length = PySlice_AdjustIndices((Py_ssize_t)usmpy_shape(cut->array)[axis], &start, &stop, step);
    /* An empty slice may start behind the end: it has no first element to point at. */
    if (cut->data != NULL && length > 0) {
        cut->data += start * byte_stride(cut->array, axis);
    }
    cut->shape[cut->ndim] = length;
    /* A step beyond the length leaves one element, whose stride says nothing. */
    cut->strides[cut->ndim++] = length > 1 ? usmpy_strides(cut->array)[axis] * step : 1;
    return 0;
}

static int cut_whole(cut *cut, int axes)
{
    for (; axes > 0; axes--) {
        cut->shape[cut->ndim] = usmpy_shape(cut->array)[cut->axis];
        cut->strides[cut->ndim++] = usmpy_strides(cut->array)[cut->axis++];
    }
    return 0;
}

/* How many axes the items of a tuple key use up; -1 with an exception. */
static int count_axes(PyObject *const *items, Py_ssize_t n, int ndim)
{
    int axes = 0, added = 0,
        ellipses = 0; /* added: axes of the result that are not whole axes of the array */
    for (Py_ssize_t i = 0; i < n; i++) {
        ellipses += items[i] == Py_Ellipsis;
        added += items[i] == Py_None || PySlice_Check(items[i]);
        axes += items[i] != Py_Ellipsis && items[i] != Py_None;
    }
    if (ellipses > 1) {
        PyErr_SetString(PyExc_IndexError, "the index has several Ellipses ('...'); one is allowed");
        return -1;
    }
    if (axes > ndim) {
        PyErr_Format(PyExc_IndexError, "too many indices: %d given, the array has %d dimension%s", axes, ndim,
                     usmpy_plural(ndim));
        return -1;
    }
    if (ndim - axes + added > USM_MAX_NDIM) {
        PyErr_Format(PyExc_IndexError, "the result would have more than %d dimensions", USM_MAX_NDIM);
        return -1;
    }
    return axes;
}

static int apply(cut *cut, PyObject *key)
{
    PyObject *const *items = PyTuple_Check(key) ? ((PyTupleObject *)key)->ob_item : &key;
    Py_ssize_t n = PyTuple_Check(key) ? PyTuple_GET_SIZE(key) : 1;
    int ndim = cut->array->ndim, axes = count_axes(items, n, ndim);
    if (axes < 0) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = items[i];
        int status;
        if (PySlice_Check(item)) {
            status = cut_slice(cut, item);
        } else if (item == Py_Ellipsis) {
            status = cut_whole(cut, ndim - axes);
        } else if (item == Py_None) {
            cut->shape[cut->ndim] = cut->strides[cut->ndim] = 1;
            cut->ndim++;
            status = 0;
        } else {
            status = cut_integer(cut, item);
        }
        if (status < 0) {
            return -1;
        }
    }
    return cut_whole(cut, ndim - cut->axis);
}

usmpy_array *usmpy_array_basic_view(usmpy_state *state, usmpy_array *array, PyObject *key)
{
    cut cut = {.array = array, .data = array->data};
    if (usm_dtype_is_packed((usm_dtype)array->dtype) && key != Py_Ellipsis) {
        usmpy_check_unpacked(array, "indexing");
        return NULL;
    }
    if (apply(&cut, key) < 0) {
        return NULL;
    }
    return usmpy_array_view(state, array, cut.data, cut.ndim, cut.shape, cut.strides);
}

/* a[i:j] of one dimension, without the general machinery. */
static usmpy_array *slice_vector(usmpy_state *state, usmpy_array *base, PyObject *key)
{
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(key, &start, &stop, &step) < 0) {
        return NULL;
    }
    int64_t stride = usmpy_strides(base)[0];
    Py_ssize_t length = PySlice_AdjustIndices((Py_ssize_t)usmpy_shape(base)[0], &start, &stop, step);
    usmpy_array *array = usmpy_array_new(state, 1);
    if (array == NULL) {
        return NULL;
    }
    array->alloc = usm_alloc_retain(base->alloc);
    array->data = base->data;
    if (length > 0) {
        array->data += start * stride * usm_dtype_table[base->dtype].itemsize;
    }
    array->queue = Py_NewRef(base->queue);
    array->dtype = base->dtype;
    array->flags = base->flags;
    array->dims[0] = length;
    array->dims[1] = length > 1 ? stride * step : 1;
    usmpy_array_finish(array);
    return array;
}

PyObject *usmpy_array_subscript(PyObject *self, PyObject *key)
{
    usmpy_array *array = (usmpy_array *)self;
    usmpy_state *state = ((usmpy_array *)self)->state;
    if (array->ndim == 1 && PySlice_Check(key) && !usm_dtype_is_packed((usm_dtype)array->dtype)) {
        return (PyObject *)slice_vector(state, array, key);
    }
    PyObject *own;
    int arrays = usmpy_key_with_arrays(state, array, key, &own);
    if (arrays == 0) {
        return (PyObject *)usmpy_array_basic_view(state, array, key);
    }
    if (arrays < 0) {
        return NULL;
    }
    usmpy_deferred_poll();
    PyObject *result = usmpy_select(state, array, own);
    Py_DECREF(own);
    return result;
}

Py_ssize_t usmpy_array_length(PyObject *self)
{
    usmpy_array *array = (usmpy_array *)self;
    if (array->ndim == 0) {
        PyErr_SetString(PyExc_TypeError, "len() of an array with 0 dimensions");
        return -1;
    }
    return (Py_ssize_t)usmpy_shape(array)[0];
}

/* Views of the first axis, one after the other. */
PyObject *usmpy_array_iter(PyObject *self)
{
    if (((usmpy_array *)self)->ndim == 0) {
        PyErr_SetString(PyExc_TypeError, "iteration over an array with 0 dimensions");
        return NULL;
    }
    return PySeqIter_New(self);
}

PyObject *usmpy_array_item(PyObject *self, Py_ssize_t index)
{
    if (((usmpy_array *)self)->ndim == 0) {
        PyErr_SetString(PyExc_TypeError, "iteration over an array with 0 dimensions");
        return NULL;
    }
    PyObject *key = PyLong_FromSsize_t(index);
    PyObject *item = key == NULL ? NULL : usmpy_array_subscript(self, key);
    Py_XDECREF(key);
    return item;
}

/* The value as an array whose elements may be put into dst: new reference, or NULL with an exception. */
static usmpy_array *value_array(usmpy_state *state, usmpy_array *dst, PyObject *value)
{
    PyObject *array = usmpy_is_array(state, value) ? Py_NewRef(value) : usmpy_import_any(state, value);
    if (array == NULL && !PyErr_Occurred()) { /* Python numbers in lists follow dst, as a number alone does */
        array = usmpy_array_from_python(state, value, (usm_dtype)dst->dtype, dst->queue,
                                        (usm_kind)dst->alloc->kind);
    }
    if (array == NULL) {
        return NULL;
    }
    usmpy_array *src = (usmpy_array *)array;
    if (!usm_dtype_can_cast((usm_dtype)src->dtype, (usm_dtype)dst->dtype, USM_CAST_SAME_KIND)) {
        PyErr_Format(
            PyExc_TypeError,
            "x[...] = value: value has dtype %s, which casting='same_kind' does not cast to %s; cast it with "
            "astype() first, or use copyto(x, value, casting='unsafe')",
            usm_dtype_table[src->dtype].name, usm_dtype_table[dst->dtype].name);
        Py_CLEAR(src);
    }
    return src;
}

usmpy_array *usmpy_assigned_value(usmpy_state *state, usmpy_array *dst, PyObject *value, void *element)
{
    PyObject *scalar = NULL;
    if (usmpy_is_array(state, value) || usmpy_host_scalar(state, value, &scalar) == 0) {
        usmpy_array *src = value_array(state, dst, value);
        bool foreign = !usmpy_is_array(state, value);
        /* Whoever owns a foreign value may change it as soon as the assignment returns: it is copied now. */
        if (src != NULL && (foreign || usmpy_queue_of(src->queue) != usmpy_queue_of(dst->queue))) {
            usmpy_array *own =
                usmpy_array_duplicate(state, src, dst->queue, USM_DEVICE, (usm_dtype)src->dtype, 'C');
            if (own != NULL && foreign && usmpy_give_back(state, value, src) < 0) {
                Py_CLEAR(own);
            }
            Py_SETREF(src, own);
        }
        return src;
    }
    if (scalar != NULL) {
        (void)usmpy_scalar_to_element(state, scalar, (usm_dtype)dst->dtype, element);
        Py_DECREF(scalar);
    }
    return NULL;
}

static bool is_int(PyObject *key)
{
    return PyLong_Check(key) && !PyBool_Check(key);
}

/* Integers alone, one for each axis. */
static bool names_one(usmpy_array *array, PyObject *key)
{
    if (!PyTuple_Check(key)) {
        return array->ndim == 1 && is_int(key);
    }
    bool integers = PyTuple_GET_SIZE(key) == array->ndim;
    for (Py_ssize_t i = 0; integers && i < array->ndim; i++) {
        integers = is_int(PyTuple_GET_ITEM(key, i));
    }
    return integers;
}

/* x[i, j] = number on an idle queue of the host. 1 when it is done, 0 where the general way is due, or -1. */
static int put_one(usmpy_state *state, usmpy_array *array, PyObject *key, PyObject *value)
{
    unsigned char element[USM_MAX_PATTERN];
    cut cut = {.array = array, .data = array->data};
    usm_queue *queue = usmpy_queue_of(array->queue);
    if (!(PyLong_Check(value) || PyFloat_Check(value) || PyComplex_Check(value)) || !names_one(array, key) ||
        usm_dtype_is_packed((usm_dtype)array->dtype) || !usm_few_may_begin(queue, 1)) {
        return 0;
    }
    if (apply(&cut, key) < 0 || usmpy_scalar_to_element(state, value, (usm_dtype)array->dtype, element) < 0) {
        return -1;
    }
    const usm_view view = usmpy_view(array);
    return usm_few_put(queue, &view, cut.data, element);
}

int usmpy_array_ass_subscript(PyObject *self, PyObject *key, PyObject *value)
{
    usmpy_array *array = (usmpy_array *)self;
    usmpy_state *state = ((usmpy_array *)self)->state;
    if (value == NULL) {
        PyErr_SetString(PyExc_TypeError, "elements of an array cannot be deleted");
        return -1;
    }
    usmpy_deferred_poll();
    if (usmpy_check_writable(array) < 0) {
        return -1;
    }
    int one = put_one(state, array, key, value);
    if (one != 0) {
        return one < 0 ? -1 : 0;
    }
    PyObject *own;
    int arrays = usmpy_key_with_arrays(state, array, key, &own);
    if (arrays != 0) {
        int status = arrays < 0 ? -1 : usmpy_assign(state, array, own, value);
        Py_XDECREF(own);
        return status;
    }
    usmpy_array *dst = usmpy_array_basic_view(state, array, key);
    if (dst == NULL) {
        return -1;
    }
    int status = -1;
    PyObject *scalar = NULL;
    if (usmpy_is_array(state, value) || usmpy_host_scalar(state, value, &scalar) == 0) {
        usmpy_array *src = value_array(state, dst, value);
        if (src != NULL) {
            status = usmpy_array_copy_broadcast(state, dst, src, "the value");
            /* Whoever owns a foreign value may change it as soon as this returns. */
            if (status == 0 && !usmpy_is_array(state, value)) {
                status = usmpy_give_back(state, value, src);
            }
            Py_DECREF(src);
        }
    } else if (scalar != NULL) {
        unsigned char element[USM_MAX_PATTERN];
        if (usmpy_scalar_to_element(state, scalar, (usm_dtype)dst->dtype, element) == 0) {
            status = usmpy_array_fill(state, dst, element);
        }
        Py_DECREF(scalar);
    }
    Py_DECREF(dst);
    return status;
}
