/* sort and argsort along one axis; places in a sorted vector. */
#include "docstrings.h"
#include "py/args.h"
#include "py/arrays/operands.h"

#include "core/ops/sort.h"

/* 0, or -1 with TypeError: complex numbers have no order. */
static int check_order(usmpy_array *x, const char *function, const char *name)
{
    if (usmpy_check_computed(x, function) < 0) {
        return -1;
    }
    if (usm_dtype_table[x->dtype].kind == USM_DTYPE_KIND_COMPLEX) {
        return usmpy_refuse(PyExc_TypeError, "%s(): %s has dtype %s; complex numbers have no order", function,
                            name, usm_dtype_table[x->dtype].name);
    }
    return 0;
}

/* arguments: x, axis, descending, stable. Every sort is stable. */
static PyObject *sorted(usmpy_state *state, const char *function, PyObject *const *arguments, bool indices)
{
    usmpy_array *x = usmpy_check_array(state, arguments[0], function);
    int descending = x == NULL ? -1 : usmpy_bool(arguments[2], 0, function, "descending");
    if (descending < 0 || usmpy_bool(arguments[3], 1, function, "stable") < 0 ||
        check_order(x, function, "x") < 0) {
        return NULL;
    }
    if (arguments[1] == NULL && x->ndim == 0) {
        return PyErr_Format(PyExc_ValueError, "%s(): x has 0 dimensions; at least 1 is needed", function);
    }
    int axis = arguments[1] == NULL ? x->ndim - 1 : usmpy_parse_axis(arguments[1], x->ndim, "axis");
    usmpy_array *result =
        axis < 0 ? NULL
                 : usmpy_array_beside(x, indices ? USM_INT64 : (usm_dtype)x->dtype, x->ndim, usmpy_shape(x));
    if (result != NULL) {
        const usm_view dst = usmpy_view(result), src = usmpy_view(x);
        usm_error error;
        usm_status status =
            usm_sort_submit(usmpy_queue_of(x->queue), &dst, &src, axis, indices, descending, &error);
        result = usmpy_array_submitted(result, status, &error);
    }
    return (PyObject *)result;
}

USMPY_FUNCTION_OF(sort, sorted, false)
USMPY_FUNCTION_OF(argsort, sorted, true)

/* arguments: x1 and x2 of one type and queue, sorter or None, right; usmpy._arrays.sets has checked them. */
static PyObject *_search(usmpy_state *state, PyObject *const *arguments)
{
    static const char function[] = "searchsorted";
    usmpy_array *arrays[3] = {NULL, NULL, NULL};
    for (int i = 0; i < 3; i++) {
        if (i < 2 || usmpy_given(arguments[i])) {
            arrays[i] = usmpy_check_array(state, arguments[i], function);
            if (arrays[i] == NULL) {
                return NULL;
            }
        }
    }
    int right = usmpy_bool(arguments[3], 0, function, "right");
    if (right < 0 || check_order(arrays[0], function, "x1") < 0) {
        return NULL;
    }
    usmpy_array *result = usmpy_array_beside(arrays[1], USM_INT64, arrays[1]->ndim, usmpy_shape(arrays[1]));
    if (result != NULL) {
        const usm_view dst = usmpy_view(result), row = usmpy_view(arrays[0]), values = usmpy_view(arrays[1]);
        const usm_view sorter = arrays[2] != NULL ? usmpy_view(arrays[2]) : row;
        usm_error error;
        usm_status status = usm_search_submit(usmpy_queue_of(arrays[1]->queue), &dst, &row, &values,
                                              arrays[2] != NULL ? &sorter : NULL, right, &error);
        result = usmpy_array_submitted(result, status, &error);
    }
    return (PyObject *)result;
}
USMPY_FUNCTION(_search)

PyMethodDef usmpy_sort_functions[] = {
    USMPY_ROW(sort),
    USMPY_ROW(argsort),
    USMPY_ROW(_search),
    {0},
};
