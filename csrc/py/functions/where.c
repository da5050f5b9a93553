/* where, all, any and count_nonzero: choices and conclusions from truth values. */
#include "where.h"
#include "compare.h"
#include "docstrings.h"
#include "py/args.h"
#include "py/arrays/mask.h"
#include "py/arrays/operands.h"
#include "py/deferred.h"
#include "py/errors.h"

#include "core/ops/logic.h"
#include "core/ops/reduce.h"

#include <string.h>

int usmpy_choose(usmpy_state *state, usmpy_array *dst, usmpy_array *condition, usmpy_array *a, usmpy_array *b)
{
    const usm_view operands[] = {usmpy_view(dst), usmpy_view(condition), usmpy_view(a), usmpy_view(b)};
    usm_error error;
    return usmpy_check(
        state, usm_where_submit(usmpy_queue_of(dst->queue), operands, usmpy_is_only_ours(dst), &error),
        &error);
}

static PyObject *where(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {
        "where", 5, 3, 3, 3, {USMPY_condition, USMPY_x1, USMPY_x2, USMPY_out, USMPY_order}};
    static const char *const names[] = {"condition", "x1", "x2"};
    usmpy_state *state = usmpy_state_of_module(module);
    usmpy_operands operands;
    usmpy_destination to;
    usmpy_array *result = NULL;
    PyObject *out[5];
    int status = -1;
    if (nargs == 1 && kwnames == NULL) {
        return usmpy_nonzero(state, args[0], "where");
    }
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0 ||
        usmpy_destination_parse(state, out + 3, "where", &to) < 0) {
        return NULL;
    }
    usmpy_deferred_poll();
    PyObject *condition =
        usmpy_is_array(state, out[0]) ? usmpy_truth_of(state, out[0], "where") : Py_NewRef(out[0]);
    if (condition == NULL) {
        return NULL;
    }
    PyObject *const arguments[] = {condition, out[1], out[2]};
    if (usmpy_operands_take(state, "where", names, arguments, 3, 1, &operands) == 0) {
        result = usmpy_operands_result(state, &operands, operands.dtype, &to);
        status = result == NULL ? -1
                                : usmpy_choose(state, result, operands.arrays[0], operands.arrays[1],
                                               operands.arrays[2]);
        usmpy_operands_drop(&operands);
    }
    Py_DECREF(condition);
    return usmpy_operands_deliver(state, &to, result, status);
}

static PyObject *conclude(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                          const char *function, usm_reduce_kind what)
{
    const usmpy_signature signature = {function, 3, 2, 1, 1, {USMPY_x, USMPY_axis, USMPY_keepdims}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[3];
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    if (!usmpy_is_array(state, out[0])) {
        return PyErr_Format(PyExc_TypeError, "%s(): x is %s %s; a USMArray is allowed (asarray makes one)",
                            function, USMPY_A(out[0]));
    }
    usmpy_array *array = (usmpy_array *)out[0];
    int axes[USM_MAX_NDIM], n = array->ndim, keepdims = usmpy_bool(out[2], 0, function, "keepdims"), ndim = 0;
    uint64_t gone = array->ndim == 64 ? ~UINT64_C(0) : (UINT64_C(1) << array->ndim) - 1;
    if (keepdims < 0 || usmpy_check_computed(array, function) < 0) {
        return NULL;
    }
    if (usmpy_given(out[1])) {
        n = usmpy_parse_axes(out[1], array->ndim, axes, "axis");
        if (n < 0) {
            return NULL;
        }
        gone = 0;
        for (int i = 0; i < n; i++) {
            gone |= UINT64_C(1) << axes[i];
        }
    }
    usmpy_deferred_poll();
    int64_t shape[USM_MAX_NDIM];
    for (int i = 0; i < array->ndim; i++) {
        bool goes = (gone >> i & 1) != 0;
        if (!goes || keepdims) {
            shape[ndim++] = goes ? 1 : usmpy_shape(array)[i];
        }
    }
    usmpy_array *result =
        usmpy_array_empty(state, array->queue, (usm_kind)array->alloc->kind,
                          what == USM_COUNT ? USM_INT64 : USM_BOOL, ndim, shape, 'C', false);
    if (result != NULL) {
        const usm_view dst = usmpy_view(result), src = usmpy_view(array);
        usm_error error;
        if (usmpy_check(state,
                        usm_reduce_submit(usmpy_queue_of(array->queue), what, &dst, &src, gone, &error),
                        &error) < 0) {
            Py_CLEAR(result);
        }
    }
    return (PyObject *)result;
}

static PyObject *all(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    return conclude(module, args, nargs, kwnames, "all", USM_ALL);
}

static PyObject *any(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    return conclude(module, args, nargs, kwnames, "any", USM_ANY);
}

static PyObject *count_nonzero(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    return conclude(module, args, nargs, kwnames, "count_nonzero", USM_COUNT);
}

PyMethodDef usmpy_where_functions[] = {
    USMPY_METHOD("where", where, USMPY_DOC_where),
    USMPY_METHOD("all", all, USMPY_DOC_all),
    USMPY_METHOD("any", any, USMPY_DOC_any),
    USMPY_METHOD("count_nonzero", count_nonzero, USMPY_DOC_count_nonzero),
    {0},
};
