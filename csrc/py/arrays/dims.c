/* Shapes, axes, orders and ints as arguments, and shapes as results. */
#include "array.h"
#include "py/args.h"

static const char ints[] = "an int or a tuple, list or range of ints is allowed";

/* The items of an argument that is no int, as a new tuple of USM_MAX_NDIM at most; NULL with an exception. */
static PyObject *items_of(PyObject *argument, const char *parameter, const char *noun)
{
    PyObject *items =
        usmpy_sequence_of(argument, parameter, USM_MAX_NDIM); /* an item's __index__ may change a list */
    if (items == NULL && !PyErr_Occurred()) {
        PyObject *text = usmpy_text_of(argument);
        if (text != NULL) {
            PyErr_Format(PyExc_TypeError, "%s is %.100U; %s", parameter, text, ints);
        }
        Py_XDECREF(text);
    }
    if (items != NULL && PyTuple_GET_SIZE(items) > USM_MAX_NDIM) {
        PyErr_Format(PyExc_ValueError, "%s has %zd %s; at most %d are allowed", parameter,
                     PyTuple_GET_SIZE(items), noun, USM_MAX_NDIM);
        Py_CLEAR(items);
    }
    return items;
}

int usmpy_parse_shape(PyObject *argument, int64_t *shape, const char *parameter)
{
    if (usmpy_small_int(argument, shape)) {
        return 1;
    }
    int has_length = PyIndex_Check(argument) ? usmpy_has_length(argument) : 1;
    if (has_length < 0) {
        return -1;
    }
    if (has_length == 0) {
        shape[0] = usmpy_ssize_of(argument, parameter, -1, ints);
        return shape[0] == -1 && PyErr_Occurred() ? -1 : 1;
    }
    PyObject *items = items_of(argument, parameter, "dimensions");
    int n = items == NULL ? -1 : (int)PyTuple_GET_SIZE(items);
    for (int i = 0; i < n; i++) {
        PyObject *item = PyTuple_GET_ITEM(items, i);
        if (usmpy_small_int(item, &shape[i])) {
            continue;
        }
        shape[i] = usmpy_ssize_of(item, parameter, i, USMPY_AN_INT); /* clipped: larger than any array */
        if (shape[i] == -1 && PyErr_Occurred()) {
            n = -1;
        }
    }
    Py_XDECREF(items);
    return n;
}

int usmpy_parse_int(PyObject *argument, const char *parameter, int64_t *value)
{
    *value = usmpy_ssize_of(argument, parameter, -1, USMPY_AN_INT);
    return *value == -1 && PyErr_Occurred() ? -1 : 0;
}

int usmpy_parse_axis(PyObject *argument, int ndim, const char *parameter)
{
    int64_t axis;
    if (usmpy_parse_int(argument, parameter, &axis) < 0) {
        return -1;
    }
    if (axis >= -ndim && axis < ndim) {
        return (int)(axis < 0 ? axis + ndim : axis);
    }
    PyObject *axis_error = usmpy_find_state()->axis_error;
    if (ndim == 0) {
        usmpy_error_format(axis_error, "%s is %.100R; an array of 0 dimensions has no axes", parameter,
                           argument);
    } else {
        usmpy_error_format(axis_error, "%s is %.100R; the array has %d dimension%s, so %d to %d are allowed",
                           parameter, argument, ndim, usmpy_plural(ndim), -ndim, ndim - 1);
    }
    return -1;
}

int usmpy_parse_axes(PyObject *argument, int ndim, int *axes, const char *parameter)
{
    if (PyIndex_Check(argument)) {
        axes[0] = usmpy_parse_axis(argument, ndim, parameter);
        return axes[0] < 0 ? -1 : 1;
    }
    PyObject *items = items_of(argument, parameter, "entries");
    int n = items == NULL ? -1 : (int)PyTuple_GET_SIZE(items);
    uint64_t seen = 0;
    for (int i = 0; i < n; i++) {
        axes[i] = usmpy_parse_axis(PyTuple_GET_ITEM(items, i), ndim, parameter);
        if (axes[i] < 0) {
            n = -1;
        } else if ((seen >> axes[i] & 1) != 0) {
            usmpy_error_format(PyExc_ValueError, "%s is %.100R; axis %d is repeated", parameter, items,
                               axes[i]);
            n = -1;
        } else {
            seen |= UINT64_C(1) << axes[i];
        }
    }
    Py_XDECREF(items);
    return n;
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
    return usmpy_refuse(
        PyUnicode_Check(order) ? PyExc_ValueError : PyExc_TypeError,
        "order is %.100R; 'C' (row-major)%s 'F' (column-major)%s%s is allowed", order, column ? "," : " or",
        column && !keep ? " or 'A' ('F' for column-major arrays, else 'C')" : "",
        keep ? ", 'A' ('F' for column-major arrays, else 'C') or 'K' (axes in the array's own order)" : "");
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
