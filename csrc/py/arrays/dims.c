/* Shapes and axes as Python gives them, and as it gets them. */
#include "array.h"
#include "py/args.h"

#include <string.h>

int usmpy_parse_shape(PyObject *argument, int64_t *shape, const char *parameter)
{
    if (!PyTuple_CheckExact(argument) &&
        (PyLong_Check(argument) || (!PySequence_Check(argument) && PyIndex_Check(argument)))) {
        shape[0] = PyNumber_AsSsize_t(argument, NULL);
        return shape[0] == -1 && PyErr_Occurred() ? -1 : 1;
    }
    PyObject *items = usmpy_sequence_of(argument);
    if (items == NULL) {
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_TypeError, "%s is %R; an int or a tuple, list or range of ints is allowed",
                         parameter, argument);
        }
        return -1;
    }
    Py_ssize_t n = PySequence_Fast_GET_SIZE(items);
    if (n > USM_MAX_NDIM) {
        PyErr_Format(PyExc_ValueError, "%s has %zd dimensions; at most %d are allowed", parameter, n,
                     USM_MAX_NDIM);
        n = -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(items, i);
        if (PyLong_CheckExact(item)) {
            int overflow;
            shape[i] = PyLong_AsLongLongAndOverflow(item, &overflow);
            shape[i] = overflow == 0  ? shape[i]
                       : overflow > 0 ? INT64_MAX
                                      : INT64_MIN; /* refused by its size */
            continue;
        }
        if (!PyIndex_Check(item)) {
            PyErr_Format(PyExc_TypeError, "%s[%zd] is %R; an int is allowed", parameter, i, item);
            n = -1;
            break;
        }
        shape[i] = PyNumber_AsSsize_t(item, NULL);
        if (shape[i] == -1 && PyErr_Occurred()) {
            n = -1;
            break;
        }
    }
    Py_DECREF(items);
    return (int)n;
}

int usmpy_parse_axis(PyObject *argument, int ndim, const char *parameter)
{
    if (!PyIndex_Check(argument)) {
        PyErr_Format(PyExc_TypeError, "%s is %R; an int is allowed", parameter, argument);
        return -1;
    }
    Py_ssize_t axis = PyNumber_AsSsize_t(argument, NULL);
    if (axis == -1 && PyErr_Occurred()) {
        return -1;
    }
    if (axis < -ndim || axis >= ndim) {
        usmpy_state *state = atomic_load_explicit(&usmpy_newest_state, memory_order_acquire);
        if (ndim == 0) {
            PyErr_Format(state->axis_error, "%s is %R; an array of 0 dimensions has no axes", parameter,
                         argument);
        } else {
            PyErr_Format(state->axis_error, "%s is %R; the array has %d dimension%s, so %d to %d are allowed",
                         parameter, argument, ndim, ndim == 1 ? "" : "s", -ndim, ndim - 1);
        }
        return -1;
    }
    return (int)(axis < 0 ? axis + ndim : axis);
}

int usmpy_parse_axes(PyObject *argument, int ndim, int *axes, const char *parameter)
{
    if (PyIndex_Check(argument)) {
        axes[0] = usmpy_parse_axis(argument, ndim, parameter);
        return axes[0] < 0 ? -1 : 1;
    }
    PyObject *items = usmpy_sequence_of(argument); /* an item's __index__ may change a list */
    if (items == NULL) {
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_TypeError, "%s is %R; an int or a tuple, list or range of ints is allowed",
                         parameter, argument);
        }
        return -1;
    }
    Py_ssize_t n = PyTuple_GET_SIZE(items);
    uint64_t seen = 0;
    if (n > USM_MAX_NDIM) {
        PyErr_Format(PyExc_ValueError, "%s has %zd entries; at most %d are allowed", parameter, n,
                     USM_MAX_NDIM);
        n = -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        axes[i] = usmpy_parse_axis(PyTuple_GET_ITEM(items, i), ndim, parameter);
        if (axes[i] < 0) {
            n = -1;
        } else if ((seen >> axes[i] & 1) != 0) {
            PyErr_Format(PyExc_ValueError, "%s is %R; axis %d is repeated", parameter, items, axes[i]);
            n = -1;
        } else {
            seen |= UINT64_C(1) << axes[i];
        }
    }
    Py_DECREF(items);
    return (int)n;
}

int usmpy_parse_order(PyObject *order, const char *allowed, char otherwise)
{
    if (!usmpy_given(order)) {
        return otherwise;
    }
    if (PyUnicode_Check(order) && PyUnicode_GET_LENGTH(order) == 1) {
        Py_UCS4 letter = PyUnicode_READ_CHAR(order, 0);
        if (letter < 128 && letter != 0 && strchr(allowed, (int)letter) != NULL) {
            return (int)letter;
        }
    }
    bool column = strchr(allowed, 'A') != NULL, keep = strchr(allowed, 'K') != NULL;
    PyErr_Format(
        PyUnicode_Check(order) ? PyExc_ValueError : PyExc_TypeError,
        "order is %R; 'C' (row-major)%s 'F' (column-major)%s%s is allowed", order, column ? "," : " or",
        column && !keep ? " or 'A' ('F' for column-major arrays, else 'C')" : "",
        keep ? ", 'A' ('F' for column-major arrays, else 'C') or 'K' (axes in the array's own order)" : "");
    return -1;
}

PyObject *usmpy_int_tuple(int n, const int64_t *values)
{
    PyObject *tuple = PyTuple_New(n);
    for (int i = 0; tuple != NULL && i < n; i++) {
        PyObject *item = PyLong_FromLongLong(values[i]);
        if (item == NULL) {
            Py_CLEAR(tuple);
        } else {
            PyTuple_SET_ITEM(tuple, i, item);
        }
    }
    return tuple;
}
