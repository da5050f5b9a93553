/* Lists and other sequences, truth values and arrays of other libraries in an index become USMArrays. */
#include "operands.h"
#include "py/exchange/dlpack.h"
#include "py/functions/creation.h"
#include "selection.h"

/* Ints that are no truth values, slices, Ellipsis and None: the keys of basic indexing. */
static bool is_basic(PyObject *item)
{
    return (PyLong_Check(item) && !PyBool_Check(item)) || PySlice_Check(item) || item == Py_Ellipsis ||
           item == Py_None;
}

/* A copy on the queue of what the host has. Takes the reference of the array. */
static usmpy_array *bring(usmpy_state *state, usmpy_array *array, PyObject *source, PyObject *queue)
{
    if (array->queue != state->host_queue || usmpy_queue_of(queue) == usmpy_queue_of(array->queue)) {
        return array;
    }
    usmpy_array *copy = usmpy_array_duplicate(state, array, queue, USM_DEVICE, (usm_dtype)array->dtype, 'C');
    if (copy != NULL && usmpy_give_back(state, source, array) < 0) {
        Py_CLEAR(copy);
    }
    Py_DECREF(array);
    return copy;
}

usmpy_array *usmpy_index_array(usmpy_state *state, PyObject *object, PyObject *queue)
{
    if (usmpy_is_array(state, object)) {
        return (usmpy_array *)Py_NewRef(object);
    }
    PyObject *imported = usmpy_import_any(state, object);
    if (imported != NULL) {
        return bring(state, (usmpy_array *)imported, object, queue);
    }
    if (PyErr_Occurred() || !(PyBool_Check(object) || PySequence_Check(object)) || PyUnicode_Check(object)) {
        return NULL;
    }
    usmpy_nested nested;
    usmpy_array *array = NULL;
    if (usmpy_nested_read(state, object, &nested) == 0) {
        usm_dtype dtype =
            nested.n == 0 ? USM_INT64 : usmpy_nested_dtype(&nested, usmpy_queue_of(queue)->device);
        array = usmpy_nested_array(state, &nested, dtype, queue, USM_DEVICE);
    }
    usmpy_nested_drop(&nested);
    return array;
}

/*
 * An item of a key as an array: a new reference. NULL without an exception where it is a basic index, an
 * integer of 0 dimensions of any library, or nothing that can be one.
 */
static usmpy_array *item_array(usmpy_state *state, PyObject *item, PyObject *queue)
{
    if (is_basic(item)) {
        return NULL;
    }
    usmpy_array *array = usmpy_index_array(state, item, queue);
    if (array != NULL && array->ndim == 0 && array->dtype != USM_BOOL) {
        Py_CLEAR(array);
    }
    return array;
}

int usmpy_key_with_arrays(usmpy_state *state, usmpy_array *array, PyObject *key, PyObject **own)
{
    *own = NULL;
    if (!PyTuple_Check(key)) {
        *own = (PyObject *)item_array(state, key, array->queue);
        return *own != NULL ? 1 : PyErr_Occurred() ? -1 : 0;
    }
    Py_ssize_t n = PyTuple_GET_SIZE(key);
    for (Py_ssize_t i = 0; i < n; i++) {
        usmpy_array *index = item_array(state, PyTuple_GET_ITEM(key, i), array->queue);
        if (index == NULL) {
            if (PyErr_Occurred()) {
                Py_CLEAR(*own);
                return -1;
            }
            continue;
        }
        if (*own == NULL) { /* the same tuple, with arrays in the places of what stands for them */
            *own = PyTuple_New(n);
            if (*own == NULL) {
                Py_DECREF(index);
                return -1;
            }
            for (Py_ssize_t k = 0; k < n; k++) {
                PyTuple_SET_ITEM(*own, k, Py_NewRef(PyTuple_GET_ITEM(key, k)));
            }
        }
        Py_DECREF(PyTuple_GET_ITEM(*own, i));
        PyTuple_SET_ITEM(*own, i, (PyObject *)index);
    }
    return *own != NULL;
}
