/* Functions that put axes and elements in another order: views, and roll, whose pieces are strided copies. */
#include "docstrings.h"
#include "manipulation.h"
#include "py/args.h"
#include "py/arrays/array.h"
#include "py/deferred.h"
#include "py/errors.h"

#include "core/ops/tile.h"

#include <string.h>

static PyObject *matrix_transpose(PyObject *module, PyObject *x)
{
    usmpy_state *state = usmpy_state_of_module(module);
    usmpy_array *array = usmpy_check_argument(state, x, "matrix_transpose");
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM];
    if (array == NULL) {
        return NULL;
    }
    int ndim = array->ndim;
    if (ndim < 2) {
        return PyErr_Format(PyExc_ValueError,
                            "matrix_transpose(): x has %d dimension%s; 2 or more are needed", ndim,
                            usmpy_plural(ndim));
    }
    memcpy(shape, usmpy_shape(array), (size_t)ndim * sizeof *shape);
    memcpy(strides, usmpy_strides(array), (size_t)ndim * sizeof *strides);
    shape[ndim - 1] = usmpy_shape(array)[ndim - 2];
    shape[ndim - 2] = usmpy_shape(array)[ndim - 1];
    strides[ndim - 1] = usmpy_strides(array)[ndim - 2];
    strides[ndim - 2] = usmpy_strides(array)[ndim - 1];
    return (PyObject *)usmpy_array_view(state, array, array->data, ndim, shape, strides);
}

static PyObject *moveaxis(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"moveaxis", 3, 3,
                                              3,          3, {USMPY_x, USMPY_source, USMPY_destination}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[3];
    int from[USM_MAX_NDIM], to[USM_MAX_NDIM], order[USM_MAX_NDIM];
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM];
    uint64_t moved = 0;
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_array *array = usmpy_check_argument(state, out[0], "moveaxis");
    int n = array == NULL ? -1 : usmpy_parse_axes(out[1], array->ndim, from, "source");
    int m = n < 0 ? -1 : usmpy_parse_axes(out[2], array->ndim, to, "destination");
    if (m < 0) {
        return NULL;
    }
    if (n != m) {
        return PyErr_Format(PyExc_ValueError,
                            "source names %d ax%s and destination %d; the numbers must be equal", n,
                            n == 1 ? "is" : "es", m);
    }
    memset(order, -1, sizeof order);
    for (int i = 0; i < n; i++) {
        order[to[i]] = from[i];
        moved |= UINT64_C(1) << from[i];
    }
    for (int i = 0, next = 0; i < array->ndim; i++) {
        if (order[i] < 0) { /* the others stay in their order */
            while ((moved >> next & 1) != 0) {
                next++;
            }
            order[i] = next++;
        }
        shape[i] = usmpy_shape(array)[order[i]];
        strides[i] = usmpy_strides(array)[order[i]];
    }
    return (PyObject *)usmpy_array_view(state, array, array->data, array->ndim, shape, strides);
}

static PyObject *unstack(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"unstack", 2, 1, 1, 1, {USMPY_x, USMPY_axis}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[2];
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM];
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_array *array = usmpy_check_argument(state, out[0], "unstack");
    if (array == NULL) {
        return NULL;
    }
    if (array->ndim == 0) {
        PyErr_SetString(PyExc_ValueError, "unstack(): x has 0 dimensions; at least 1 is needed");
        return NULL;
    }
    int axis = out[1] == NULL ? 0 : usmpy_parse_axis(out[1], array->ndim, "axis");
    if (axis < 0) {
        return NULL;
    }
    for (int i = 0; i < array->ndim - 1; i++) {
        shape[i] = usmpy_shape(array)[i + (i >= axis)];
        strides[i] = usmpy_strides(array)[i + (i >= axis)];
    }
    int64_t length = usmpy_shape(array)[axis];
    PyObject *parts = PyTuple_New((Py_ssize_t)length);
    for (int64_t i = 0; parts != NULL && i < length; i++) {
        char *data = usmpy_piece(array, 0, NULL, axis, array->size > 0 ? i : 0).data;
        PyObject *part = (PyObject *)usmpy_array_view(state, array, data, array->ndim - 1, shape, strides);
        if (part == NULL) {
            Py_CLEAR(parts);
            break;
        }
        PyTuple_SET_ITEM(parts, (Py_ssize_t)i, part);
    }
    return parts;
}

/* What roll moves: axes that have an effect, each by 0 < shift < length. */
typedef struct rolled {
    int n, axes[USM_MAX_NDIM];
    int64_t shifts[USM_MAX_NDIM];
} rolled;

/* A shift of any size, as 0 <= shift < length. 0 or -1. */
static int parse_shift(PyObject *item, int64_t length, int64_t *shift)
{
    if (!PyIndex_Check(item)) {
        PyErr_Format(PyExc_TypeError, "roll(): shift is %R; an int, or a tuple of ints, is allowed", item);
        return -1;
    }
    PyObject *modulus = PyLong_FromLongLong(length > 0 ? length : 1);
    PyObject *rest = NULL, *number = modulus == NULL ? NULL : PyNumber_Index(item);
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
    if (length > 0) { /* without an overflow of the sum */
        int64_t room = length - shift;
        rolled->shifts[i] = rolled->shifts[i] >= room ? rolled->shifts[i] - room : rolled->shifts[i] + shift;
    }
    return 0;
}

/* A number, or a tuple of them that no __index__ and no other thread changes: new reference. */
static PyObject *settled(PyObject *argument)
{
    return PyList_Check(argument) ? PyList_AsTuple(argument) : Py_NewRef(argument);
}

static int parse_rolled(PyObject *shift, PyObject *axis, usmpy_array *array, rolled *rolled)
{
    rolled->n = 0;
    bool many = PyTuple_Check(shift);
    if (!PyTuple_Check(axis)) { /* one axis, and one shift or several */
        int one = usmpy_parse_axis(axis, array->ndim, "axis");
        Py_ssize_t n = many ? PyTuple_GET_SIZE(shift) : 1;
        for (Py_ssize_t i = 0; one >= 0 && i < n; i++) {
            PyObject *item = many ? PyTuple_GET_ITEM(shift, i) : shift;
            if (add_shift(rolled, item, one, usmpy_shape(array)[one]) < 0) {
                return -1;
            }
        }
        return one < 0 ? -1 : 0;
    }
    Py_ssize_t n = PyTuple_GET_SIZE(axis);
    if (many && PyTuple_GET_SIZE(shift) != n) {
        PyErr_Format(PyExc_ValueError, "roll(): shift has %zd entries and axis has %zd; they must be equal",
                     PyTuple_GET_SIZE(shift), n);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        int one = usmpy_parse_axis(PyTuple_GET_ITEM(axis, i), array->ndim, "axis");
        PyObject *item = many ? PyTuple_GET_ITEM(shift, i) : shift;
        if (one < 0 || add_shift(rolled, item, one, usmpy_shape(array)[one]) < 0) {
            return -1;
        }
    }
    return 0;
}

static void drop_still(rolled *rolled)
{
    int kept = 0;
    for (int i = 0; i < rolled->n; i++) {
        if (rolled->shifts[i] != 0) {
            rolled->axes[kept] = rolled->axes[i];
            rolled->shifts[kept++] = rolled->shifts[i];
        }
    }
    rolled->n = kept;
}

static usmpy_array *roll_axes(usmpy_state *state, usmpy_array *array, const rolled *rolled)
{
    usmpy_array *result =
        usmpy_array_empty(state, array->queue, (usm_kind)array->alloc->kind, (usm_dtype)array->dtype,
                          array->ndim, usmpy_shape(array), 'C', false);
    if (result != NULL && array->size > 0) {
        const usm_view dst = usmpy_view(result), src = usmpy_view(array);
        usm_error error;
        if (usmpy_check(state,
                        usm_roll_submit(usmpy_queue_of(array->queue), &dst, &src, rolled->n, rolled->axes,
                                        rolled->shifts, &error),
                        &error) < 0) {
            Py_CLEAR(result);
        }
    }
    return result;
}

/* Of x as a vector, in x's shape. */
static PyObject *roll_flat(usmpy_state *state, usmpy_array *array, PyObject *shift)
{
    const int64_t one = 1;
    int64_t size = array->size;
    rolled rolled = {.n = 0};
    if (PyTuple_Check(shift) || PyList_Check(shift)) {
        PyErr_SetString(PyExc_TypeError,
                        "roll(): shift is a tuple and axis is None; give an int, or an axis for each shift");
        return NULL;
    }
    if (add_shift(&rolled, shift, 0, size) < 0) {
        return NULL;
    }
    drop_still(&rolled);
    usmpy_array *row = (usmpy_array *)Py_NewRef(array);
    if ((array->flags & USM_C_CONTIGUOUS) == 0) {
        Py_SETREF(row, usmpy_array_duplicate(state, array, array->queue, (usm_kind)array->alloc->kind,
                                             (usm_dtype)array->dtype, 'C'));
    }
    if (row != NULL) {
        Py_SETREF(row, usmpy_array_view(state, row, row->data, 1, &size, &one));
    }
    if (row != NULL) {
        Py_SETREF(row, roll_axes(state, row, &rolled));
    }
    if (row != NULL) {
        int64_t strides[USM_MAX_NDIM];
        usm_layout_compact(array->ndim, usmpy_shape(array), 'C', strides);
        Py_SETREF(row, usmpy_array_view(state, row, row->data, array->ndim, usmpy_shape(array), strides));
    }
    return (PyObject *)row;
}

static PyObject *roll(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"roll", 3, 2, 1, 2, {USMPY_x, USMPY_shift, USMPY_axis}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[3];
    rolled rolled;
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_deferred_poll();
    usmpy_array *array = usmpy_check_argument(state, out[0], "roll");
    if (array == NULL) {
        return NULL;
    }
    if (!usmpy_given(out[2])) {
        return roll_flat(state, array, out[1]);
    }
    PyObject *shift = settled(out[1]), *axis = settled(out[2]);
    int status = shift == NULL || axis == NULL ? -1 : parse_rolled(shift, axis, array, &rolled);
    Py_XDECREF(shift);
    Py_XDECREF(axis);
    if (status < 0) {
        return NULL;
    }
    drop_still(&rolled);
    return (PyObject *)roll_axes(state, array, &rolled);
}

static PyObject *swapaxes(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"swapaxes", 3, 3, 1, 3, {USMPY_x, USMPY_axis1, USMPY_axis2}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[3];
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM];
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_array *array = usmpy_check_argument(state, out[0], "swapaxes");
    int a = array == NULL ? -1 : usmpy_parse_axis(out[1], array->ndim, "axis1");
    int b = a < 0 ? -1 : usmpy_parse_axis(out[2], array->ndim, "axis2");
    if (b < 0) {
        return NULL;
    }
    for (int i = 0; i < array->ndim; i++) {
        int from = i == a ? b : i == b ? a : i;
        shape[i] = usmpy_shape(array)[from];
        strides[i] = usmpy_strides(array)[from];
    }
    return (PyObject *)usmpy_array_view(state, array, array->data, array->ndim, shape, strides);
}

PyMethodDef usmpy_rearrange_functions[] = {
    USMPY_METHOD("swapaxes", swapaxes, USMPY_DOC_swapaxes),
    {"matrix_transpose", matrix_transpose, METH_O, USMPY_DOC_matrix_transpose},
    USMPY_METHOD("moveaxis", moveaxis, USMPY_DOC_moveaxis),
    USMPY_METHOD("unstack", unstack, USMPY_DOC_unstack),
    USMPY_METHOD("roll", roll, USMPY_DOC_roll),
    {0},
};
