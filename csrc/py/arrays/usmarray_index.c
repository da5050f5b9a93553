/* Indexing of USMArray: x[key], x[key] = value, len(x) and iteration. */
#include "array.h"
#include "py/args.h"
#include "py/exchange/dlpack.h"
#include "py/functions/creation.h"
#include "py/objects/placement.h"
#include "selection.h"

#include "core/ops/few.h"

/* a[i:j] of one dimension. */
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
    if (array->ndim == 1 && PySlice_Check(key) && !usm_dtype_is_packed(array->dtype)) {
        return (PyObject *)slice_vector(state, array, key);
    }
    PyObject *own;
    int arrays = usmpy_key_with_arrays(state, array, key, &own);
    if (arrays == 0) {
        return (PyObject *)usmpy_array_key_view(array, key, NULL);
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
        return usmpy_refuse(PyExc_TypeError, "len() of an array with 0 dimensions");
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
    if (array == NULL &&
        !PyErr_Occurred()) { /* Python numbers in lists are converted to dst's type, as a number alone is */
        array = usmpy_array_from_python(state, value, dst->dtype, dst->queue, dst->alloc->kind);
    }
    if (array == NULL) {
        return NULL;
    }
    usmpy_array *src = (usmpy_array *)array;
    if (!usm_dtype_can_cast(src->dtype, dst->dtype, USM_CAST_SAME_KIND)) {
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
    if (usmpy_is_array(state, value) || dst->dtype >= USM_COMPUTED_DTYPES ||
        usmpy_host_scalar(state, value, &scalar) == 0) {
        usmpy_array *src = value_array(state, dst, value);
        bool foreign = !usmpy_is_array(state, value);
        /* The owner of a foreign value may change it as soon as the assignment returns: it is copied now. */
        if (src != NULL && (foreign || usmpy_queue_of(src->queue) != usmpy_queue_of(dst->queue))) {
            Py_SETREF(src, usmpy_duplicate_from(state, value, src, dst->queue, USM_DEVICE, src->dtype, 'C'));
        }
        return src;
    }
    if (scalar != NULL) {
        (void)usmpy_scalar_to_element(state, scalar, dst->dtype, element);
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

/*
 * x[i, j] = number on an idle queue of the host, by the calling thread. 1 when it is done, 0 where this
 * function does not apply, or -1.
 */
static int put_one(usmpy_state *state, usmpy_array *array, PyObject *key, PyObject *value)
{
    unsigned char element[USM_MAX_PATTERN];
    usm_queue *queue = usmpy_queue_of(array->queue);
    if (!(PyLong_Check(value) || PyFloat_Check(value) || PyComplex_Check(value)) || !names_one(array, key) ||
        usm_dtype_is_packed(array->dtype) || !usm_few_may_begin(queue, 1)) {
        return 0;
    }
    usmpy_array *one = usmpy_array_key_view(array, key, NULL);
    int status = one == NULL ? -1 : usmpy_scalar_to_element(state, value, array->dtype, element);
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
    usmpy_state *state = ((usmpy_array *)self)->state;
    if (value == NULL) {
        return usmpy_refuse(PyExc_TypeError, "elements of an array cannot be deleted");
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
    usmpy_array *dst = usmpy_array_key_view(array, key, NULL);
    if (dst == NULL) {
        return -1;
    }
    int status = -1;
    PyObject *scalar = NULL;
    if (usmpy_is_array(state, value) || dst->dtype >= USM_COMPUTED_DTYPES ||
        usmpy_host_scalar(state, value, &scalar) == 0) {
        usmpy_array *src = value_array(state, dst, value);
        if (src != NULL) {
            status = usmpy_copy_from(state, value, dst, src, "the value");
            Py_DECREF(src);
        }
    } else if (scalar != NULL) {
        unsigned char element[USM_MAX_PATTERN];
        if (usmpy_scalar_to_element(state, scalar, dst->dtype, element) == 0) {
            status = usmpy_array_fill(dst, element);
        }
        Py_DECREF(scalar);
    }
    Py_DECREF(dst);
    return status;
}
