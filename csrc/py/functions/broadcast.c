/* Several arrays in one shape: broadcast_arrays, broadcast_shapes, meshgrid. */
#include "docstrings.h"
#include "manipulation.h"
#include "py/args.h"
#include "py/arrays/operands.h"

/* Broadcasts the shape of the arguments before i with that of argument i. 0, or -1 with ValueError. */
static int join_shape(const char *function, Py_ssize_t i, int other_ndim, const int64_t *other, int *ndim,
                      int64_t *shape)
{
    char a[200], b[200];
    if (usmpy_broadcast_shape(ndim, shape, other_ndim, other)) {
        return 0;
    }
    return usmpy_refuse(PyExc_ValueError,
                        "%s(): argument %zd of shape %s does not broadcast against %s of those before",
                        function, i, usm_layout_text(other_ndim, other, b, sizeof b),
                        usm_layout_text(*ndim, shape, a, sizeof a));
}

static PyObject *broadcast_shapes(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    int64_t shape[USM_MAX_NDIM], next[USM_MAX_NDIM];
    int ndim = 0;
    for (Py_ssize_t i = 0; i < nargs; i++) {
        int n = usmpy_parse_shape(args[i], next, "shapes");
        for (int k = 0; k < n; k++) {
            if (next[k] < 0) {
                return usmpy_error_format(
                    PyExc_ValueError,
                    "broadcast_shapes(): argument %zd is %.100R; lengths of 0 or more are allowed", i,
                    args[i]);
            }
        }
        if (n < 0 || join_shape("broadcast_shapes", i, n, next, &ndim, shape) < 0) {
            return NULL;
        }
    }
    return usmpy_int_tuple(ndim, shape);
}

/* Positional arguments as arrays of one queue. 0, or -1 with an exception and nothing to drop. */
static int parse_arrays(usmpy_state *state, const char *function, PyObject *const *args, Py_ssize_t nargs,
                        usmpy_joined *joined)
{
    PyObject *tuple = PyTuple_New(nargs);
    for (Py_ssize_t i = 0; tuple != NULL && i < nargs; i++) {
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(args[i]));
    }
    int status = tuple == NULL ? -1 : usmpy_parse_joined(state, tuple, function, "arrays", joined);
    Py_XDECREF(tuple);
    return status;
}

static PyObject *broadcast_arrays(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    usmpy_state *state = usmpy_state_of_module(module);
    usmpy_joined joined;
    int64_t shape[USM_MAX_NDIM], size;
    int ndim = 0, status = 0;
    usm_error error;
    if (parse_arrays(state, "broadcast_arrays", args, nargs, &joined) < 0) {
        return NULL;
    }
    for (Py_ssize_t i = 0; status == 0 && i < joined.n; i++) {
        usmpy_array *array = joined.arrays[i];
        status = join_shape("broadcast_arrays", i, array->ndim, usmpy_shape(array), &ndim, shape);
    }
    if (status == 0) {
        status = usmpy_check(state, usm_layout_size(ndim, shape, USM_MAX_PATTERN, &size, &error), &error);
    }
    PyObject *result = status < 0 ? NULL : PyTuple_New(joined.n);
    for (Py_ssize_t i = 0; result != NULL && i < joined.n; i++) {
        usmpy_set_item(&result, i, (PyObject *)usmpy_broadcast_view(joined.arrays[i], ndim, shape));
    }
    Py_DECREF(joined.items);
    return result;
}

/* A vector along `axis`, copied into new memory of the grid's shape. */
static PyObject *grid_of(const usmpy_joined *joined, usmpy_array *vector, int axis, int64_t *shape)
{
    int64_t strides[USM_MAX_NDIM] = {0};
    int ndim = (int)joined->n;
    strides[axis] = vector->ndim == 0 ? 0 : usmpy_strides(vector)[0];
    usmpy_array *grid = usmpy_array_view(vector, vector->data, ndim, shape, strides);
    if (grid != NULL) {
        Py_SETREF(grid, usmpy_array_duplicate(grid, joined->queue, vector->alloc->kind, vector->dtype, 'C'));
    }
    return (PyObject *)grid;
}

static PyObject *make_grids(const usmpy_joined *joined, bool swapped)
{
    int64_t shape[USM_MAX_NDIM];
    if (joined->n > USM_MAX_NDIM) {
        return PyErr_Format(PyExc_ValueError, "meshgrid(): %zd arrays; at most %d dimensions are allowed",
                            joined->n, USM_MAX_NDIM);
    }
    for (Py_ssize_t i = 0; i < joined->n; i++) {
        Py_ssize_t axis = swapped && i < 2 ? 1 - i : i;
        usmpy_array *vector = joined->arrays[i];
        if (vector->ndim > 1) {
            return PyErr_Format(PyExc_ValueError, "meshgrid(): arrays[%zd] has %d dimensions; 1 is allowed",
                                i, vector->ndim);
        }
        if (vector->dtype != joined->arrays[0]->dtype) {
            return PyErr_Format(
                PyExc_ValueError,
                "meshgrid(): arrays[%zd] has dtype %s and arrays[0] has %s; one is allowed (array "
                "API standard, meshgrid)",
                i, usm_dtype_table[vector->dtype].name, usm_dtype_table[joined->arrays[0]->dtype].name);
        }
        shape[axis] = vector->size;
    }
    PyObject *grids = PyTuple_New(joined->n);
    for (Py_ssize_t i = 0; grids != NULL && i < joined->n; i++) {
        int axis = (int)(swapped && i < 2 ? 1 - i : i);
        usmpy_set_item(&grids, i, grid_of(joined, joined->arrays[i], axis, shape));
    }
    return grids;
}

static PyObject *meshgrid(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = USMPY_SIGNATURE_meshgrid;
    static const char *const words[] = {"xy", "ij", NULL};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[1];
    usmpy_joined joined;
    usmpy_deferred_poll();
    if (usmpy_parse(state, &signature, args + nargs, 0, kwnames, out) < 0) {
        return NULL;
    }
    int indexing = usmpy_word(out[0], words, 0, "meshgrid(): indexing", "'xy' or 'ij'");
    if (indexing < 0 || parse_arrays(state, "meshgrid", args, nargs, &joined) < 0) {
        return NULL;
    }
    PyObject *grids = make_grids(&joined, indexing == 0 && joined.n > 1);
    Py_DECREF(joined.items);
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
