/* sum, prod, max and min. */
#include "py/args.h"
#include "py/arrays/operands.h"
#include "py/deferred.h"
#include "py/errors.h"
#include "py/objects/dtype.h"

#include "core/ops/accumulate.h"
#include "core/ops/scan.h"

#include <string.h>

static const char *const functions[] = {
    [USM_KIND_SUM] = "sum", [USM_KIND_PROD] = "prod", [USM_KIND_MAX] = "max", [USM_KIND_MIN] = "min"};

/* As the array API standard: at least the default integer type, or its unsigned counterpart. */
static usm_dtype wide_integer(usm_dtype dtype)
{
    const usm_dtype_info *info = &usm_dtype_table[dtype];
    return info->kind == USM_KIND_UINT ? USM_UINT64 : info->kind <= USM_KIND_INT ? USM_INT64 : dtype;
}

/* The type of the result; USM_NO_DTYPE with TypeError. */
static usm_dtype result_type(usmpy_state *state, usm_accumulate_kind kind, const usmpy_array *array,
                             PyObject *dtype)
{
    const usm_dtype_info *info = &usm_dtype_table[array->dtype];
    bool extreme = kind == USM_KIND_MAX || kind == USM_KIND_MIN;
    if (usmpy_given(dtype)) {
        usm_dtype own;
        return usmpy_dtype_convert(state, dtype, &own) < 0 ? USM_NO_DTYPE : own;
    }
    if (extreme && (info->kind == USM_KIND_COMPLEX || info->kind == USM_KIND_BOOL)) {
        PyErr_Format(PyExc_TypeError, "%s(): x has dtype %s; integers and real numbers have an order",
                     functions[kind], info->name);
        return USM_NO_DTYPE;
    }
    return extreme ? (usm_dtype)array->dtype : wide_integer((usm_dtype)array->dtype);
}

static uint64_t parse_gone(PyObject *axis, int ndim, bool *failed)
{
    int axes[USM_MAX_NDIM];
    uint64_t gone = 0;
    if (!usmpy_given(axis)) {
        return ndim == 64 ? ~UINT64_C(0) : (UINT64_C(1) << ndim) - 1;
    }
    int n = usmpy_parse_axes(axis, ndim, axes, "axis");
    *failed = n < 0;
    for (int i = 0; i < n; i++) {
        gone |= UINT64_C(1) << axes[i];
    }
    return gone;
}

static PyObject *accumulate(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                            usm_accumulate_kind kind)
{
    bool adds = kind == USM_KIND_SUM || kind == USM_KIND_PROD;
    const char *function = functions[kind];
    const usmpy_signature with_type = {function, 4, 2,
                                       1,        1, {USMPY_x, USMPY_axis, USMPY_keepdims, USMPY_dtype}};
    const usmpy_signature plain = {function, 3, 2, 1, 1, {USMPY_x, USMPY_axis, USMPY_keepdims}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[4] = {NULL};
    bool failed = false;
    if (usmpy_parse(state, adds ? &with_type : &plain, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    if (!usmpy_is_array(state, out[0])) {
        return PyErr_Format(PyExc_TypeError, "%s(): x is %s %s; a USMArray is allowed (asarray makes one)",
                            function, USMPY_A(out[0]));
    }
    usmpy_array *array = (usmpy_array *)out[0];
    int keepdims = usmpy_bool(out[2], 0, function, "keepdims"), ndim = 0;
    if (keepdims < 0 || usmpy_check_computed(array, function) < 0) {
        return NULL;
    }
    uint64_t gone = parse_gone(out[1], array->ndim, &failed);
    usm_dtype dtype = failed ? USM_NO_DTYPE : result_type(state, kind, array, out[3]);
    if (dtype == USM_NO_DTYPE) {
        return NULL;
    }
    int64_t shape[USM_MAX_NDIM], kept = 1, reduced = 1;
    for (int i = 0; i < array->ndim; i++) {
        bool goes = (gone >> i & 1) != 0;
        int64_t length = usmpy_shape(array)[i];
        *(goes ? &reduced : &kept) *= length != 0;
        if (!goes || keepdims) {
            shape[ndim++] = goes ? 1 : length;
        }
    }
    if (!adds && reduced == 0 && kept != 0) {
        return PyErr_Format(PyExc_ValueError, "%s(): the axes to reduce have no elements", function);
    }
    usmpy_deferred_poll();
    usmpy_array *result =
        usmpy_array_empty(state, array->queue, (usm_kind)array->alloc->kind, dtype, ndim, shape, 'C', false);
    if (result != NULL) {
        const usm_view dst = usmpy_view(result), src = usmpy_view(array);
        usm_error error;
        if (usmpy_check(state,
                        usm_accumulate_submit(usmpy_queue_of(array->queue), kind, &dst, &src, gone, &error),
                        &error) < 0) {
            Py_CLEAR(result);
        }
    }
    return (PyObject *)result;
}

#define FUNCTION(name, kind)                                                                            \
    static PyObject *name(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) \
    {                                                                                                   \
        return accumulate(module, args, nargs, kwnames, kind);                                          \
    }
FUNCTION(sum, USM_KIND_SUM)
FUNCTION(prod, USM_KIND_PROD)
FUNCTION(max, USM_KIND_MAX)
FUNCTION(min, USM_KIND_MIN)

static PyObject *scan(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, int op)
{
    const char *function = op == USM_SUM ? "cumulative_sum" : "cumulative_prod";
    const usmpy_signature signature = {
        function, 4, 1, 1, 1, {USMPY_x, USMPY_axis, USMPY_dtype, USMPY_include_initial}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[4];
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    if (!usmpy_is_array(state, out[0])) {
        return PyErr_Format(PyExc_TypeError, "%s(): x is %s %s; a USMArray is allowed (asarray makes one)",
                            function, USMPY_A(out[0]));
    }
    usmpy_array *array = (usmpy_array *)out[0];
    int axis = 0, initial = usmpy_bool(out[3], 0, function, "include_initial");
    if (initial < 0 || usmpy_check_computed(array, function) < 0) {
        return NULL;
    }
    if (usmpy_given(out[1])) {
        if (usmpy_parse_axes(out[1], array->ndim, &axis, "axis") < 0) {
            return NULL;
        }
    } else if (array->ndim != 1) {
        return PyErr_Format(PyExc_ValueError, "%s(): x has %d dimensions; axis must be given unless it has 1",
                            function, (int)array->ndim);
    }
    usm_dtype dtype = result_type(state, op == USM_SUM ? USM_KIND_SUM : USM_KIND_PROD, array, out[2]);
    if (dtype == USM_NO_DTYPE) {
        return NULL;
    }
    int64_t shape[USM_MAX_NDIM];
    memcpy(shape, usmpy_shape(array), (size_t)array->ndim * sizeof *shape);
    shape[axis] += initial;
    usmpy_deferred_poll();
    usmpy_array *result = usmpy_array_empty(state, array->queue, (usm_kind)array->alloc->kind, dtype,
                                            array->ndim, shape, 'C', false);
    if (result != NULL) {
        const usm_view dst = usmpy_view(result), src = usmpy_view(array);
        usm_error error;
        if (usmpy_check(state,
                        usm_scan_submit(usmpy_queue_of(array->queue), op, &dst, &src, axis, initial, &error),
                        &error) < 0) {
            Py_CLEAR(result);
        }
    }
    return (PyObject *)result;
}

static PyObject *cumulative_sum(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    return scan(module, args, nargs, kwnames, USM_SUM);
}

static PyObject *cumulative_prod(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    return scan(module, args, nargs, kwnames, USM_PROD);
}

PyMethodDef usmpy_accumulate_functions[] = {
    USMPY_METHOD("cumulative_sum", cumulative_sum, NULL),
    USMPY_METHOD("cumulative_prod", cumulative_prod, NULL),
    USMPY_METHOD("sum", sum, NULL),
    USMPY_METHOD("prod", prod, NULL),
    USMPY_METHOD("max", max, NULL),
    USMPY_METHOD("min", min, NULL),
    {0},
};
