/* Functions that put axes and elements in another order: views, and roll, whose pieces are strided copies. */
#include "docstrings.h"
#include "manipulation.h"
#include "py/args.h"

#include "core/ops/tile.h"

/* arguments: x. */
static PyObject *matrix_transpose(PyObject *module, PyObject *x)
{
    usmpy_array *array = usmpy_check_argument(usmpy_state_of_module(module), x, "matrix_transpose");
    if (array == NULL) {
        return NULL;
    }
    if (array->ndim < 2) {
        return PyErr_Format(PyExc_ValueError,
                            "matrix_transpose(): x has %d dimension%s; 2 or more are needed", array->ndim,
                            usmpy_plural(array->ndim));
    }
    return (PyObject *)usmpy_array_swapped(array, array->ndim - 1, array->ndim - 2);
}

/* arguments: x, axis1, axis2. */
static PyObject *swapaxes(usmpy_array *x, PyObject *const *arguments)
{
    int a = usmpy_parse_axis(arguments[1], x->ndim, "axis1");
    int b = a < 0 ? -1 : usmpy_parse_axis(arguments[2], x->ndim, "axis2");
    return b < 0 ? NULL : (PyObject *)usmpy_array_swapped(x, a, b);
}
USMPY_ARRAY_FUNCTION(swapaxes)

/* arguments: x, axes. */
static PyObject *permute_dims(usmpy_array *x, PyObject *const *arguments)
{
    int axes[USM_MAX_NDIM], n = usmpy_parse_axes(arguments[1], x->ndim, axes, "axes");
    if (n >= 0 && n != x->ndim) {
        return PyErr_Format(PyExc_ValueError,
                            "axes has %d entr%s; the array has %d dimension%s, and each must occur once", n,
                            n == 1 ? "y" : "ies", x->ndim, usmpy_plural(x->ndim));
    }
    return n < 0 ? NULL : (PyObject *)usmpy_array_permuted(x, axes);
}
USMPY_ARRAY_FUNCTION(permute_dims)

/* arguments: x, source, destination. */
static PyObject *moveaxis(usmpy_array *x, PyObject *const *arguments)
{
    int from[USM_MAX_NDIM], to[USM_MAX_NDIM], axes[USM_MAX_NDIM];
    uint64_t moved = 0;
    int n = usmpy_parse_axes(arguments[1], x->ndim, from, "source");
    int m = n < 0 ? -1 : usmpy_parse_axes(arguments[2], x->ndim, to, "destination");
    if (m < 0) {
        return NULL;
    }
    if (n != m) {
        return PyErr_Format(PyExc_ValueError,
                            "source names %d ax%s and destination %d; the numbers must be equal", n,
                            n == 1 ? "is" : "es", m);
    }
    memset(axes, -1, sizeof axes);
    for (int i = 0; i < n; i++) {
        axes[to[i]] = from[i];
        moved |= UINT64_C(1) << from[i];
    }
    for (int i = 0, next = 0; i < x->ndim; i++) { /* the others stay in their order */
        if (axes[i] < 0) {
            while ((moved >> next & 1) != 0) {
                next++;
            }
            axes[i] = next++;
        }
    }
    return (PyObject *)usmpy_array_permuted(x, axes);
}
USMPY_ARRAY_FUNCTION(moveaxis)

/* arguments: x, axis. */
static PyObject *flip(usmpy_array *x, PyObject *const *arguments)
{
    int axes[USM_MAX_NDIM], n = x->ndim;
    int64_t strides[USM_MAX_NDIM];
    bool given = usmpy_given(arguments[1]);
    if (given) {
        n = usmpy_parse_axes(arguments[1], x->ndim, axes, "axis");
    }
    char *data = x->data;
    memcpy(strides, usmpy_strides(x), x->ndim * sizeof *strides);
    for (int i = 0; i < n; i++) {
        int axis = given ? axes[i] : i;
        if (x->size > 0) { /* else there is no last element to begin with */
            data += (usmpy_shape(x)[axis] - 1) * strides[axis] * usm_dtype_table[x->dtype].itemsize;
        }
        strides[axis] = -strides[axis];
    }
    return n < 0 ? NULL : (PyObject *)usmpy_array_view(x, data, x->ndim, usmpy_shape(x), strides);
}
USMPY_ARRAY_FUNCTION(flip)

/* arguments: x, axis. */
static PyObject *unstack(usmpy_array *x, PyObject *const *arguments)
{
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM];
    if (x->ndim == 0) {
        return PyErr_Format(PyExc_ValueError, "unstack(): x has 0 dimensions; at least 1 is needed");
    }
    int axis = arguments[1] == NULL ? 0 : usmpy_parse_axis(arguments[1], x->ndim, "axis");
    if (axis < 0) {
        return NULL;
    }
    for (int i = 0; i < x->ndim - 1; i++) {
        shape[i] = usmpy_shape(x)[i + (i >= axis)];
        strides[i] = usmpy_strides(x)[i + (i >= axis)];
    }
    int64_t length = usmpy_shape(x)[axis];
    PyObject *parts = PyTuple_New((Py_ssize_t)length);
    for (int64_t i = 0; parts != NULL && i < length; i++) {
        usmpy_array *part = usmpy_array_view(x, usmpy_address(x, axis, i), x->ndim - 1, shape, strides);
        usmpy_set_item(&parts, (Py_ssize_t)i, (PyObject *)part);
    }
    return parts;
}
USMPY_ARRAY_FUNCTION(unstack)

/* The axes that roll moves, distinct, each by 0 <= shift < length. */
typedef struct rolled {
    int n, axes[USM_MAX_NDIM];
    int64_t shifts[USM_MAX_NDIM];
} rolled;

/* A shift of any size, as 0 <= shift < length. 0 or -1. */
static int parse_shift(PyObject *item, int64_t length, int64_t *shift)
{
    PyObject *modulus = PyLong_FromLongLong(length > 0 ? length : 1), *rest = NULL;
    PyObject *number =
        modulus == NULL ? NULL
                        : usmpy_index_of(item, "roll(): shift", -1, "an int, or a tuple of ints, is allowed");
    if (number != NULL) {
        rest = PyNumber_Remainder(number, modulus);
    }
    *shift = rest == NULL ? -1 : PyLong_AsLongLong(rest);
    Py_XDECREF(modulus);
    Py_XDECREF(number);
    Py_XDECREF(rest);
    return *shift < 0 ? -1 : 0;
}

/* The shifts of one axis add up. */
static int add_shift(rolled *rolled, PyObject *item, int axis, int64_t length)
{
    int64_t shift;
    int i = 0;
    if (parse_shift(item, length, &shift) < 0) {
        return -1;
    }
    while (i < rolled->n && rolled->axes[i] != axis) {
        i++;
    }
    if (i == rolled->n) {
        rolled->axes[rolled->n] = axis;
        rolled->shifts[rolled->n++] = 0;
    }
    int64_t room = length - shift; /* no sum overflows */
    rolled->shifts[i] = rolled->shifts[i] >= room ? rolled->shifts[i] - room : rolled->shifts[i] + shift;
    return 0;
}

/* `shift` and `axis`: tuples of one length, one of them for all entries of the other, or neither. 0 or -1. */
static int parse_rolled(PyObject *shift, PyObject *axis, usmpy_array *x, rolled *rolled)
{
    Py_ssize_t shifts = PyTuple_Check(shift) ? PyTuple_GET_SIZE(shift) : -1;
    Py_ssize_t axes = PyTuple_Check(axis) ? PyTuple_GET_SIZE(axis) : -1;
    if (shifts >= 0 && axes >= 0 && shifts != axes) {
        return usmpy_refuse(PyExc_ValueError,
                            "roll(): shift has %zd entries and axis has %zd; they must be equal", shifts,
                            axes);
    }
    Py_ssize_t n = axes >= 0 ? axes : shifts >= 0 ? shifts : 1;
    int one = axes >= 0 ? 0 : usmpy_parse_axis(axis, x->ndim, "axis");
    for (Py_ssize_t i = 0; one >= 0 && i < n; i++) {
        PyObject *item = shifts >= 0 ? PyTuple_GET_ITEM(shift, i) : shift;
        if (axes >= 0) {
            one = usmpy_parse_axis(PyTuple_GET_ITEM(axis, i), x->ndim, "axis");
        }
        if (one < 0 || add_shift(rolled, item, one, usmpy_shape(x)[one]) < 0) {
            return -1;
        }
    }
    return one < 0 ? -1 : 0;
}

static usmpy_array *roll_axes(usmpy_array *x, rolled *rolled)
{
    int n = 0;
    for (int i = 0; i < rolled->n; i++) { /* shifts of 0 do nothing */
        rolled->axes[n] = rolled->axes[i];
        rolled->shifts[n] = rolled->shifts[i];
        n += rolled->shifts[i] != 0;
    }
    usmpy_array *result = usmpy_array_beside(x, x->dtype, x->ndim, usmpy_shape(x));
    if (result != NULL && x->size > 0) {
        const usm_view dst = usmpy_view(result), src = usmpy_view(x);
        usm_error error;
        usm_status status =
            usm_roll_submit(usmpy_queue_of(x->queue), &dst, &src, n, rolled->axes, rolled->shifts, &error);
        result = usmpy_array_submitted(result, status, &error);
    }
    return result;
}

/* x as a vector is rolled, in x's shape. */
static PyObject *roll_flat(usmpy_array *x, PyObject *shift)
{
    rolled rolled = {.n = 0};
    if (PyTuple_Check(shift) || PyList_Check(shift)) {
        return PyErr_Format(
            PyExc_TypeError,
            "roll(): shift is a tuple and axis is None; give an int, or an axis for each shift");
    }
    if (add_shift(&rolled, shift, 0, x->size) < 0) {
        return NULL;
    }
    usmpy_array *row = usmpy_flat(x);
    if (row != NULL) {
        Py_SETREF(row, roll_axes(row, &rolled));
    }
    if (row != NULL) {
        int64_t strides[USM_MAX_NDIM];
        usm_layout_compact(x->ndim, usmpy_shape(x), 'C', strides);
        Py_SETREF(row, usmpy_array_view(row, row->data, x->ndim, usmpy_shape(x), strides));
    }
    return (PyObject *)row;
}

/* A number, or a tuple of them that no __index__ and no other thread changes: new reference. */
static PyObject *fixed(PyObject *argument)
{
    return PyList_Check(argument) ? PyList_AsTuple(argument) : Py_NewRef(argument);
}

/* arguments: x, shift, axis. */
static PyObject *roll(usmpy_array *x, PyObject *const *arguments)
{
    rolled rolled = {.n = 0};
    if (!usmpy_given(arguments[2])) {
        return roll_flat(x, arguments[1]);
    }
    PyObject *shift = fixed(arguments[1]), *axis = fixed(arguments[2]);
    int status = shift == NULL || axis == NULL ? -1 : parse_rolled(shift, axis, x, &rolled);
    Py_XDECREF(shift);
    Py_XDECREF(axis);
    return status < 0 ? NULL : (PyObject *)roll_axes(x, &rolled);
}
USMPY_ARRAY_FUNCTION(roll)

PyMethodDef usmpy_rearrange_functions[] = {
    {"matrix_transpose", matrix_transpose, METH_O, USMPY_DOC_matrix_transpose},
    USMPY_ROW(swapaxes),
    USMPY_ROW(permute_dims),
    USMPY_ROW(moveaxis),
    USMPY_ROW(flip),
    USMPY_ROW(unstack),
    USMPY_ROW(roll),
    {0},
};
