/* tril and triu: a copy, and zeros on one side of a diagonal of it. */
#include "creation.h"
#include "docstrings.h"
#include "manipulation.h"
#include "py/args.h"
#include "py/arrays/array.h"
#include "py/deferred.h"
#include "py/errors.h"

#include "core/program/builtin.h"
#include "kernels/abi/triangle.h"

/* `array` is row-major, or one column-major matrix, and has elements. */
static int clear_side(usmpy_state *state, usmpy_array *array, int64_t k, bool upper)
{
    int ndim = array->ndim, itemsize = usm_dtype_table[array->dtype].itemsize;
    int size = itemsize < 8 ? itemsize : 8;
    int64_t rows = usmpy_shape(array)[ndim - 2], columns = usmpy_shape(array)[ndim - 1];
    /* No further than just outside, so that no sum overflows. */
    k = k > columns ? columns : k < -rows ? -rows : k;
    if ((array->flags & USM_C_CONTIGUOUS) == 0) { /* its transpose is row-major */
        int64_t length = rows;
        rows = columns;
        columns = length;
        k = -k;
        upper = !upper;
    }
    const usm_triangle triangle = {
        {columns, rows, array->size / rows / columns}, upper ? k : k + 1, itemsize / size, upper};
    static const char *const functions[] = {"usm_triangle_1", "usm_triangle_2", "usm_triangle_4",
                                            "usm_triangle_8"};
    usm_builtin builtin = {
        .module = "triangle",
        .function = functions[__builtin_ctz((unsigned)size)],
        .n = {columns * triangle.unit, rows, triangle.n[2]},
        .cost = (size_t)array->size * (size_t)itemsize,
    };
    const usm_access access = {array->alloc, USM_WRITE};
    usm_error error;
    usm_builtin_pointer(&builtin, array->data);
    usm_builtin_value(&builtin, &triangle, sizeof triangle);
    usm_status status = usm_builtin_submit(usmpy_queue_of(array->queue), &builtin, &access, 1, NULL, &error);
    if (status != USM_OK) {
        usmpy_raise(state, status, &error);
        return -1;
    }
    return 0;
}

/* Any int; those beyond 64 bits count as the furthest. 0 or -1. */
static int parse_diagonal(PyObject *argument, int64_t *k)
{
    *k = 0;
    if (argument == NULL) {
        return 0;
    }
    if (!PyIndex_Check(argument)) {
        PyErr_Format(PyExc_TypeError, "k is %R; an int is allowed", argument);
        return -1;
    }
    *k = PyNumber_AsSsize_t(argument, NULL);
    return *k == -1 && PyErr_Occurred() ? -1 : 0;
}

static PyObject *triangle_of(PyObject *module, const usmpy_signature *signature, PyObject *const *args,
                             Py_ssize_t nargs, PyObject *kwnames, bool upper)
{
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[6];
    int64_t k;
    int order;
    usmpy_target target;
    if (usmpy_parse(state, signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_array *array = usmpy_check_argument(state, out[0], signature->function);
    if (array == NULL || parse_diagonal(out[1], &k) < 0 ||
        (order = usmpy_parse_order(out[5], "CFAK", 'K')) < 0) {
        return NULL;
    }
    if (array->ndim < 2) {
        return PyErr_Format(PyExc_ValueError, "%s(): x has %d dimension%s; 2 or more are needed",
                            signature->function, array->ndim, usmpy_plural(array->ndim));
    }
    PyObject *const options[] = {NULL, out[2], out[3], out[4]};
    if (usmpy_parse_target(state, options, array, &target) < 0) {
        return NULL;
    }
    /* Of stacks only the axes of the matrices could change places: they are row-major. */
    bool by_column =
        array->ndim == 2 && (order == 'F' || (order != 'C' && !(array->flags & USM_C_CONTIGUOUS) &&
                                              (array->flags & USM_F_CONTIGUOUS) != 0));
    usmpy_array *result = usmpy_array_duplicate(state, array, target.queue, target.kind,
                                                (usm_dtype)array->dtype, by_column ? 'F' : 'C');
    if (result != NULL && result->size > 0 && clear_side(state, result, k, upper) < 0) {
        Py_CLEAR(result);
    }
    Py_DECREF(target.queue);
    return (PyObject *)result;
}

#define TRIANGLE_SIGNATURE(name)                                                     \
    {                                                                                \
        name, 6, 1, 1, 1,                                                            \
        {                                                                            \
            USMPY_x, USMPY_k, USMPY_device, USMPY_queue, USMPY_usm_type, USMPY_order \
        }                                                                            \
    }

static PyObject *tril(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = TRIANGLE_SIGNATURE("tril");
    return triangle_of(module, &signature, args, nargs, kwnames, false);
}

static PyObject *triu(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = TRIANGLE_SIGNATURE("triu");
    return triangle_of(module, &signature, args, nargs, kwnames, true);
}

PyMethodDef usmpy_triangle_functions[] = {
    USMPY_METHOD("tril", tril, USMPY_DOC_tril),
    USMPY_METHOD("triu", triu, USMPY_DOC_triu),
    {0},
};
