/* Several arrays in one shape: broadcast_arrays, broadcast_shapes, meshgrid. */
#include "docstrings.h"
#include "manipulation.h"
#include "py/args.h"
#include "py/arrays/array.h"
#include "py/deferred.h"
#include "py/errors.h"
#include "py/objects/placement.h"

#include <string.h>

/* The shape that both broadcast to, in `shape` again; its dimensions, or -1 where there is none. */
static int broadcast_two(int ndim, int64_t *shape, int other_ndim, const int64_t *other)
{
    int64_t result[USM_MAX_NDIM];
    int n = ndim > other_ndim ? ndim : other_ndim;
    for (int i = 1; i <= n; i++) {
        int64_t a = i <= ndim ? shape[ndim - i] : 1, b = i <= other_ndim ? other[other_ndim - i] : 1;
        if (a != b && a != 1 && b != 1) {
            return -1;
        }
        result[n - i] = a == 1 ? b : a;
    }
    memcpy(shape, result, (size_t)n * sizeof *shape);
    return n;
}

static int refuse_shapes(const char *function, int ndim, const int64_t *shape, Py_ssize_t i, int other_ndim,
                         const int64_t *other)
{
    char a[200], b[200];
    PyErr_Format(PyExc_ValueError,
                 "%s(): argument %zd of shape %s does not broadcast against %s of those before", function, i,
                 usm_layout_text(other_ndim, other, b, sizeof b), usm_layout_text(ndim, shape, a, sizeof a));
    return -1;
}

static PyObject *broadcast_shapes(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    int64_t shape[USM_MAX_NDIM], next[USM_MAX_NDIM];
    int ndim = 0;
    (void)module;
    for (Py_ssize_t i = 0; i < nargs; i++) {
        int n = usmpy_parse_shape(args[i], next, "shapes");
        for (int k = 0; k < n; k++) {
            if (next[k] < 0) {
                return PyErr_Format(
                    PyExc_ValueError,
                    "broadcast_shapes(): argument %zd is %R; lengths of 0 or more are allowed", i, args[i]);
            }
        }
        int both = n < 0 ? -1 : broadcast_two(ndim, shape, n, next);
        if (both < 0) {
            if (n >= 0) {
                refuse_shapes("broadcast_shapes", ndim, shape, i, n, next);
            }
            return NULL;
        }
        ndim = both;
    }
    return usmpy_int_tuple(ndim, shape);
}

/* `array` in a larger shape; read-only where elements repeat. */
static PyObject *in_shape(usmpy_state *state, usmpy_array *array, int ndim, const int64_t *shape)
{
    int64_t strides[USM_MAX_NDIM];
    usm_layout_broadcast(array->ndim, usmpy_shape(array), usmpy_strides(array), ndim, shape, strides);
    usmpy_array *view = usmpy_array_view(state, array, array->data, ndim, shape, strides);
    if (view != NULL && usm_layout_repeats(ndim, usmpy_shape(view), usmpy_strides(view))) {
        view->flags &= (uint8_t)~USMPY_WRITABLE;
    }
    return (PyObject *)view;
}

static PyObject *broadcast_arrays(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    usmpy_state *state = usmpy_state_of_module(module);
    usmpy_joined operands;
    int64_t shape[USM_MAX_NDIM], size;
    int ndim = 0;
    usm_error error;
    PyObject *result = NULL, *tuple = PyTuple_New(nargs);
    for (Py_ssize_t i = 0; tuple != NULL && i < nargs; i++) {
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(args[i]));
    }
    int parsed =
        tuple == NULL ? -1 : usmpy_parse_joined(state, tuple, "broadcast_arrays", "arrays", &operands);
    Py_XDECREF(tuple);
    if (parsed < 0) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < operands.n; i++) {
        usmpy_array *array = operands.arrays[i];
        int both = broadcast_two(ndim, shape, array->ndim, usmpy_shape(array));
        if (both < 0) {
            refuse_shapes("broadcast_arrays", ndim, shape, i, array->ndim, usmpy_shape(array));
            goto done;
        }
        ndim = both;
    }
    usm_status status = usm_layout_size(ndim, shape, USM_MAX_PATTERN, &size, &error);
    if (status != USM_OK) {
        usmpy_raise(state, status, &error);
        goto done;
    }
    result = PyList_New(operands.n);
    for (Py_ssize_t i = 0; result != NULL && i < operands.n; i++) {
        PyObject *view = in_shape(state, operands.arrays[i], ndim, shape);
        if (view == NULL) {
            Py_CLEAR(result);
            break;
        }
        PyList_SET_ITEM(result, i, view);
    }
done:
    Py_DECREF(operands.items);
    return result;
}

/* The vector number `axis` of a grid, copied into new memory of the whole shape. */
static PyObject *grid_of(usmpy_state *state, const usmpy_joined *operands, usmpy_array *vector, int axis,
                         int64_t *shape)
{
    int64_t strides[USM_MAX_NDIM] = {0};
    int ndim = (int)operands->n;
    usmpy_array *grid = usmpy_array_empty(state, operands->queue, (usm_kind)vector->alloc->kind,
                                          (usm_dtype)vector->dtype, ndim, shape, 'C', false);
    if (grid != NULL) {
        strides[axis] = vector->ndim == 0 ? 0 : usmpy_strides(vector)[0];
        const usm_view to = usmpy_view(grid);
        const usm_view from = {vector->alloc, vector->data, (usm_dtype)vector->dtype, ndim, shape, strides};
        if (usmpy_submit_copy(state, operands->queue, &to, &from) < 0) {
            Py_CLEAR(grid);
        }
    }
    return (PyObject *)grid;
}

/* 0: "xy", 1: "ij"; -1 with an exception. */
static int parse_indexing(PyObject *indexing)
{
    if (indexing == NULL) {
        return 0;
    }
    for (int i = 0; PyUnicode_Check(indexing) && i < 2; i++) {
        if (PyUnicode_CompareWithASCIIString(indexing, i == 0 ? "xy" : "ij") == 0) {
            return i;
        }
    }
    PyErr_Format(PyUnicode_Check(indexing) ? PyExc_ValueError : PyExc_TypeError,
                 "meshgrid(): indexing is %R; 'xy' or 'ij' is allowed", indexing);
    return -1;
}

static PyObject *make_grids(usmpy_state *state, const usmpy_joined *operands, bool swapped)
{
    int64_t shape[USM_MAX_NDIM];
    if (operands->n > USM_MAX_NDIM) {
        return PyErr_Format(PyExc_ValueError, "meshgrid(): %zd arrays; at most %d dimensions are allowed",
                            operands->n, USM_MAX_NDIM);
    }
    for (Py_ssize_t i = 0; i < operands->n; i++) {
        Py_ssize_t axis = swapped && i < 2 ? 1 - i : i;
        usmpy_array *vector = operands->arrays[i];
        if (vector->ndim > 1) {
            return PyErr_Format(PyExc_ValueError, "meshgrid(): arrays[%zd] has %d dimensions; 1 is allowed",
                                i, vector->ndim);
        }
        if (vector->dtype != operands->arrays[0]->dtype) {
            return PyErr_Format(
                PyExc_ValueError,
                "meshgrid(): arrays[%zd] has dtype %s and arrays[0] has %s; one is allowed (array "
                "API standard, meshgrid)",
                i, usm_dtype_table[vector->dtype].name, usm_dtype_table[operands->arrays[0]->dtype].name);
        }
        shape[axis] = vector->size;
    }
    PyObject *grids = PyList_New(operands->n);
    for (Py_ssize_t i = 0; grids != NULL && i < operands->n; i++) {
        int axis = (int)(swapped && i < 2 ? 1 - i : i);
        PyObject *grid = grid_of(state, operands, operands->arrays[i], axis, shape);
        if (grid == NULL) {
            Py_CLEAR(grids);
            break;
        }
        PyList_SET_ITEM(grids, i, grid);
    }
    return grids;
}

static PyObject *meshgrid(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"meshgrid", 1, 0, 0, 0, {USMPY_indexing}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[1], *grids = NULL, *tuple;
    usmpy_joined operands;
    if (usmpy_parse(state, &signature, args + nargs, 0, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_deferred_poll();
    int indexing = parse_indexing(out[0]);
    tuple = indexing < 0 ? NULL : PyTuple_New(nargs);
    for (Py_ssize_t i = 0; tuple != NULL && i < nargs; i++) {
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(args[i]));
    }
    if (tuple != NULL && usmpy_parse_joined(state, tuple, "meshgrid", "arrays", &operands) == 0) {
        grids = make_grids(state, &operands, indexing == 0 && operands.n > 1);
        Py_DECREF(operands.items);
    }
    Py_XDECREF(tuple);
    return grids;
}

PyMethodDef usmpy_broadcast_functions[] = {
    {"broadcast_shapes", (PyCFunction)(void (*)(void))broadcast_shapes, METH_FASTCALL,
     USMPY_DOC_broadcast_shapes},
    {"broadcast_arrays", (PyCFunction)(void (*)(void))broadcast_arrays, METH_FASTCALL,
     USMPY_DOC_broadcast_arrays},
    USMPY_METHOD("meshgrid", meshgrid, USMPY_DOC_meshgrid),
    {0},
};
