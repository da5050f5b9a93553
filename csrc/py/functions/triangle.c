/* tril and triu: a copy, and zeros on one side of a diagonal of it. */
#include "creation.h"
#include "docstrings.h"
#include "manipulation.h"
#include "py/args.h"
#include "py/arrays/array.h"
#include "py/deferred.h"
#include "py/errors.h"

#include "core/ops/triangle.h"

static int clear_side(usmpy_state *state, usmpy_array *array, int64_t k, bool upper)
{
    const usm_view view = usmpy_view(array);
    usm_error error;
    return usmpy_check(state, usm_triangle_submit(usmpy_queue_of(array->queue), &view, k, upper, &error),
                       &error);
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
