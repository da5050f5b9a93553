/* Indexing of USMArray: x[key], x[key] = value, len(x) and iteration. */
#include "array.h"
#include "py/args.h"
#include "py/exchange/dlpack.h"
#include "py/functions/creation.h"
#include "py/objects/placement.h"
#include "selection.h"

#include "core/ops/few.h"

/* a[i:j] of one dimension. */
static usmpy_array *slice_vector(usmpy_array *base, PyObject *key)
{
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(key, &start, &stop, &step) < 0) {
        return NULL;
    }
    int64_t stride = usmpy_strides(base)[0];
    Py_ssize_t length = PySlice_AdjustIndices((Py_ssize_t)usmpy_shape(base)[0], &start, &stop, step);
    usmpy_array *array = usmpy_array_new(base->state, 1);
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
    if (array->ndim == 1 && PySlice_Check(key) && !usm_dtype_is_packed(array->dtype)) {
        return (PyObject *)slice_vector(array, key);
    }
    PyObject *own;
    int arrays = usmpy_key_with_arrays(array, key, &own);
    if (arrays == 0) {
        return (PyObject *)usmpy_array_key_view(array, key, NULL);
    }
    if (arrays < 0) {
        return NULL;
    }
    usmpy_deferred_poll();
    PyObject *result = usmpy_select(array, own);
    Py_DECREF(own);
    return result;
}

Py_ssize_t usmpy_array_length(PyObject *self)
{
    usmpy_array *array = (usmpy_array *)self;
    if (array->ndim == 0) {
        return usmpy_refuse(PyExc_TypeError, "len() of an array with 0 dimensions");
    }
    return (Py_ssize_t)usmpy_shape(array)[0];
}

/* Views of the first axis, one after the other. */
PyObject *usmpy_array_iter(PyObject *self)
{
    return ((usmpy_array *)self)->ndim == 0
               ? PyErr_Format(PyExc_TypeError, "iteration over an array with 0 dimensions")
               : PySeqIter_New(self);
}

PyObject *usmpy_array_item(PyObject *self, Py_ssize_t index)
{
    if (((usmpy_array *)self)->ndim == 0) {
        return PyErr_Format(PyExc_TypeError, "iteration over an array with 0 dimensions");
    }
    PyObject *key = PyLong_FromSsize_t(index);
    PyObject *item = key == NULL ? NULL : usmpy_array_subscript(self, key);
    Py_XDECREF(key);
    return item;
}

/* The value as an array whose elements may be put into dst: new reference, or NULL with an exception. */
static usmpy_array *value_array(usmpy_array *dst, PyObject *value)
{
    usmpy_state *state = dst->state;
    PyObject *array = usmpy_is_array(state, value) ? Py_NewRef(value) : usmpy_import_any(state, value);
    if (array == NULL && !PyErr_Occurred()) {
        /* Python numbers in lists are converted to dst's type, as a number alone is. */
        array = usmpy_array_from_python(state, value, dst->dtype, dst->queue, dst->alloc->kind);
    }
    usmpy_array *src = (usmpy_array *)array;
    if (src != NULL && !usm_dtype_can_cast(src->dtype, dst->dtype, USM_CAST_SAME_KIND)) {
        PyErr_Format(
            PyExc_TypeError,
            "x[...] = value: value has dtype %s, which casting='same_kind' does not cast to %s; cast it with "
            "astype() first, or use copyto(x, value, casting='unsafe')",
            usm_dtype_table[src->dtype].name, usm_dtype_table[dst->dtype].name);
        Py_CLEAR(src);
    }
    return src;
}

int usmpy_assigned_value(usmpy_array *dst, PyObject *value, usmpy_array **src, void *element)
{
    usmpy_state *state = dst->state;
    PyObject *scalar;
    bool is_array = usmpy_is_array(state, value) || dst->dtype >= USM_COMPUTED_DTYPES;
    int found = is_array ? 0 : usmpy_host_scalar(state, value, &scalar);
    if (found == 0) {
        *src = value_array(dst, value);
        return *src == NULL ? -1 : 1;
    }
    if (found > 0) {
        found = usmpy_scalar_to_element(scalar, dst->dtype, element);
        Py_DECREF(scalar);
    }
    return found;
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

/*
 * x[i, j] = number on an idle queue of the host, by the calling thread. 1 when it is done, 0 where this
 * function does not apply, or -1.
 */
static int put_one(usmpy_array *array, PyObject *key, PyObject *value)
{
    unsigned char element[USM_MAX_PATTERN];
    usm_queue *queue = usmpy_queue_of(array->queue);
    if (!(PyLong_Check(value) || PyFloat_Check(value) || PyComplex_Check(value)) || !names_one(array, key) ||
        usm_dtype_is_packed(array->dtype) || !usm_few_may_begin(queue, 1)) {
        return 0;
    }
    usmpy_array *one = usmpy_array_key_view(array, key, NULL);
    int status = one == NULL ? -1 : usmpy_scalar_to_element(value, array->dtype, element);
    if (status == 0) {
        const usm_view view = usmpy_view(one);
        status = usm_few_put(queue, &view, element);
    }
    Py_XDECREF(one);
    return status;
}

int usmpy_array_ass_subscript(PyObject *self, PyObject *key, PyObject *value)
{
    usmpy_array *array = (usmpy_array *)self;
    if (value == NULL) {
        return usmpy_refuse(PyExc_TypeError, "elements of an array cannot be deleted");
    }
    usmpy_deferred_poll();
    if (usmpy_check_writable(array) < 0) {
        return -1;
    }
    int one = put_one(array, key, value);
    if (one != 0) {
        return one < 0 ? -1 : 0;
    }
    PyObject *own;
    int arrays = usmpy_key_with_arrays(array, key, &own);
    if (arrays != 0) {
        int status = arrays < 0 ? -1 : usmpy_assign(array, own, value);
        Py_XDECREF(own);
        return status;
    }
    usmpy_array *dst = usmpy_array_key_view(array, key, NULL);
    if (dst == NULL) {
        return -1;
    }
    unsigned char element[USM_MAX_PATTERN];
    usmpy_array *src;
    int status = usmpy_assigned_value(dst, value, &src, element);
    if (status == 0) {
        status = usmpy_array_fill(dst, element);
    } else if (status > 0) {
        status = usmpy_copy_from(array->state, value, dst, src, "the value");
        Py_DECREF(src);
    }
    Py_DECREF(dst);
    return status;
}
