/* Sums, products, extreme elements along axes, and where they are; cumulative sums and products. */
#include "docstrings.h"
#include "py/args.h"
#include "py/arrays/operands.h"
#include "py/objects/dtype.h"
#include "reduce.h"

#include "core/ops/accumulate.h"
#include "core/ops/extreme.h"
#include "core/ops/scan.h"

#include <string.h>

/* As the array API standard: at least the default integer type, or its unsigned counterpart. */
static usm_dtype wide_integer(usm_dtype dtype)
{
    const usm_dtype_info *info = &usm_dtype_table[dtype];
    return info->kind == USM_DTYPE_KIND_UINT  ? USM_UINT64
           : info->kind <= USM_DTYPE_KIND_INT ? USM_INT64
                                              : dtype;
}

/* dtype= of sums and products; USM_NO_DTYPE with TypeError. */
static usm_dtype sum_type(usmpy_state *state, const usmpy_array *x, PyObject *dtype)
{
    usm_dtype own;
    if (!usmpy_given(dtype)) {
        return wide_integer((usm_dtype)x->dtype);
    }
    if (usmpy_dtype_convert(state, dtype, &own) < 0) {
        return USM_NO_DTYPE;
    }
    if (own == USM_BOOL || own >= USM_COMPUTED_DTYPES) {
        PyErr_Format(PyExc_TypeError, "dtype is %s; types of integers, real and complex numbers are allowed",
                     usm_dtype_table[own].name);
        return USM_NO_DTYPE;
    }
    if (usm_dtype_table[x->dtype].kind == USM_DTYPE_KIND_COMPLEX &&
        usm_dtype_table[own].kind != USM_DTYPE_KIND_COMPLEX) {
        PyErr_Format(PyExc_TypeError,
                     "dtype is %s, and x has complex numbers; complex64 and complex128 are allowed, or the "
                     "function of x.real",
                     usm_dtype_table[own].name);
        return USM_NO_DTYPE;
    }
    return own;
}

/* That of max and min, which is x's. */
static usm_dtype extreme_type(const char *function, const usmpy_array *x)
{
    const usm_dtype_info *info = &usm_dtype_table[x->dtype];
    if (info->kind == USM_DTYPE_KIND_COMPLEX || info->kind == USM_DTYPE_KIND_BOOL) {
        PyErr_Format(PyExc_TypeError, "%s(): x has dtype %s; integers and real numbers have an order",
                     function, info->name);
        return USM_NO_DTYPE;
    }
    return (usm_dtype)x->dtype;
}

/* No largest element of none: an exception. */
static int check_elements(const char *function, usmpy_array *x, uint64_t reduced_axes)
{
    bool some = true, kept = true;
    for (int i = 0; i < x->ndim; i++) {
        *((reduced_axes >> i & 1) != 0 ? &some : &kept) &= usmpy_shape(x)[i] != 0;
    }
    if (!some && kept) {
        char text[200];
        return usmpy_refuse(
            PyExc_ValueError,
            "%s(): x has shape %s, with no elements along the axes to reduce; 1 or more are needed", function,
            usm_layout_text(x->ndim, usmpy_shape(x), text, sizeof text));
    }
    return 0;
}

/* arguments: x, axis, keepdims, and dtype of sums and products. */
static PyObject *accumulate(usmpy_state *state, const char *function, PyObject *const *arguments,
                            usm_accumulate_kind kind)
{
    bool adds = kind == USM_ACCUMULATE_SUM || kind == USM_ACCUMULATE_PROD;
    int64_t shape[USM_MAX_NDIM];
    uint64_t reduced_axes;
    usmpy_array *x = usmpy_check_array(state, arguments[0], function);
    int keepdims = x == NULL ? -1 : usmpy_bool(arguments[2], 0, function, "keepdims");
    if (keepdims < 0 || usmpy_check_computed(x, function) < 0) {
        return NULL;
    }
    usm_dtype dtype = adds ? sum_type(state, x, arguments[3]) : extreme_type(function, x);
    int ndim =
        dtype == USM_NO_DTYPE ? -1 : usmpy_reduced_axes(x, arguments[1], keepdims, &reduced_axes, shape);
    if (ndim < 0 || (!adds && check_elements(function, x, reduced_axes) < 0)) {
        return NULL;
    }
    usmpy_array *result = usmpy_array_beside(x, dtype, ndim, shape);
    if (result != NULL) {
        const usm_view dst = usmpy_view(result), src = usmpy_view(x);
        usm_error error;
        usm_status status =
            usm_accumulate_submit(usmpy_queue_of(x->queue), kind, &dst, &src, reduced_axes, &error);
        result = usmpy_array_submitted(result, status, &error);
    }
    return (PyObject *)result;
}

USMPY_FUNCTION_OF(sum, accumulate, USM_ACCUMULATE_SUM)
USMPY_FUNCTION_OF(prod, accumulate, USM_ACCUMULATE_PROD)
USMPY_FUNCTION_OF(max, accumulate, USM_ACCUMULATE_MAX)
USMPY_FUNCTION_OF(min, accumulate, USM_ACCUMULATE_MIN)

/* arguments: x, axis, keepdims. */
static PyObject *extreme(usmpy_state *state, const char *function, PyObject *const *arguments, int op)
{
    int64_t shape[USM_MAX_NDIM];
    uint64_t reduced_axes;
    usmpy_array *x = usmpy_check_array(state, arguments[0], function);
    int keepdims = x == NULL ? -1 : usmpy_bool(arguments[2], 0, function, "keepdims");
    if (keepdims < 0 || usmpy_check_computed(x, function) < 0) {
        return NULL;
    }
    if (x->dtype != USM_BOOL && extreme_type(function, x) == USM_NO_DTYPE) {
        return NULL;
    }
    if (usmpy_given(arguments[1]) && usmpy_parse_axis(arguments[1], x->ndim, "axis") < 0) {
        return NULL;
    }
    int ndim = usmpy_reduced_axes(x, arguments[1], keepdims, &reduced_axes, shape);
    if (ndim < 0 || check_elements(function, x, reduced_axes) < 0) {
        return NULL;
    }
    usmpy_array *result = usmpy_array_beside(x, USM_INT64, ndim, shape);
    if (result != NULL) {
        const usm_view dst = usmpy_view(result), src = usmpy_view(x);
        usm_error error;
        usm_status status =
            usm_extreme_submit(usmpy_queue_of(x->queue), op, &dst, &src, reduced_axes, &error);
        result = usmpy_array_submitted(result, status, &error);
    }
    return (PyObject *)result;
}

USMPY_FUNCTION_OF(argmax, extreme, USM_MAX)
USMPY_FUNCTION_OF(argmin, extreme, USM_MIN)

/* arguments: x, axis, dtype, include_initial. */
static PyObject *scan(usmpy_state *state, const char *function, PyObject *const *arguments, int op)
{
    int64_t shape[USM_MAX_NDIM];
    int axis = 0;
    usmpy_array *x = usmpy_check_array(state, arguments[0], function);
    int initial = x == NULL ? -1 : usmpy_bool(arguments[3], 0, function, "include_initial");
    if (initial < 0 || usmpy_check_computed(x, function) < 0) {
        return NULL;
    }
    if (!usmpy_given(arguments[1]) && x->ndim != 1) {
        return PyErr_Format(PyExc_ValueError,
                            "%s(): x has %d dimensions; axis may be left out of arrays with 1", function,
                            (int)x->ndim);
    }
    usm_dtype dtype = sum_type(state, x, arguments[2]);
    if (dtype == USM_NO_DTYPE ||
        (usmpy_given(arguments[1]) && (axis = usmpy_parse_axis(arguments[1], x->ndim, "axis")) < 0)) {
        return NULL;
    }
    memcpy(shape, usmpy_shape(x), (size_t)x->ndim * sizeof *shape);
    shape[axis] += initial;
    usmpy_array *result = usmpy_array_beside(x, dtype, x->ndim, shape);
    if (result != NULL) {
        const usm_view dst = usmpy_view(result), src = usmpy_view(x);
        usm_error error;
        usm_status status = usm_scan_submit(usmpy_queue_of(x->queue), op, &dst, &src, axis, initial, &error);
        result = usmpy_array_submitted(result, status, &error);
    }
    return (PyObject *)result;
}

USMPY_FUNCTION_OF(cumulative_sum, scan, USM_SUM)
USMPY_FUNCTION_OF(cumulative_prod, scan, USM_PROD)

PyMethodDef usmpy_accumulate_functions[] = {
    USMPY_ROW(sum),
    USMPY_ROW(prod),
    USMPY_ROW(max),
    USMPY_ROW(min),
    USMPY_ROW(argmax),
    USMPY_ROW(argmin),
    USMPY_ROW(cumulative_sum),
    USMPY_ROW(cumulative_prod),
    {0},
};
