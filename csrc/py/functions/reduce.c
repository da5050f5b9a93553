/* Functions that reduce axes: truth, counts, sums, products, extremes and where they are; cumulative ones. */
#include "docstrings.h"
#include "py/args.h"
#include "py/arrays/operands.h"

#include "core/ops/accumulate.h"
#include "core/ops/extreme.h"
#include "core/ops/reduce.h"
#include "core/ops/scan.h"

/* As the array API standard: at least the default integer type, or its unsigned counterpart. */
static usm_dtype wide_integer(usm_dtype dtype)
{
    usm_dtype_kind kind = usm_dtype_table[dtype].kind;
    return kind == USM_DTYPE_KIND_UINT ? USM_UINT64 : kind <= USM_DTYPE_KIND_INT ? USM_INT64 : dtype;
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
    } else if (usm_dtype_table[x->dtype].kind == USM_DTYPE_KIND_COMPLEX &&
               usm_dtype_table[own].kind != USM_DTYPE_KIND_COMPLEX) {
        PyErr_Format(PyExc_TypeError,
                     "dtype is %s, and x has complex numbers; complex64 and complex128 are allowed, or the "
                     "function of x.real",
                     usm_dtype_table[own].name);
    } else {
        return own;
    }
    return USM_NO_DTYPE;
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

/*
 * axis= and keepdims=: the axes that are reduced in *reduced_axes (bit i: axis i), and the result's shape.
 * Its number of dimensions, or -1 with an exception.
 */
static int parse_reduced(usmpy_array *x, PyObject *axis, bool keepdims, uint64_t *reduced_axes,
                         int64_t *shape)
{
    int axes[USM_MAX_NDIM], ndim = 0;
    int n = usmpy_given(axis) ? usmpy_parse_axes(axis, x->ndim, axes, "axis") : x->ndim;
    *reduced_axes = 0;
    for (int i = 0; i < n; i++) {
        *reduced_axes |= UINT64_C(1) << (usmpy_given(axis) ? axes[i] : i);
    }
    for (int i = 0; i < x->ndim; i++) {
        bool goes = (*reduced_axes >> i & 1) != 0;
        if (!goes || keepdims) {
            shape[ndim++] = goes ? 1 : usmpy_shape(x)[i];
        }
    }
    return n < 0 ? -1 : ndim;
}

/* What a reduction does with the elements along some axes. */
typedef struct reduction {
    enum { TRUTH, SUM, EXTREME, PLACE } family;
    int what; /* a usm_reduce_kind for TRUTH, else of kernels/abi/accumulate.h */
} reduction;

/* USM_NO_DTYPE with TypeError. `dtype`: the argument of sums. */
static usm_dtype result_type(usmpy_state *state, const char *function, const usmpy_array *x, reduction row,
                             PyObject *const *dtype)
{
    switch (row.family) {
        case TRUTH:
            return row.what == USM_COUNT ? USM_INT64 : USM_BOOL;
        case SUM:
            return sum_type(state, x, *dtype);
        case EXTREME:
            return extreme_type(function, x);
        default:
            return x->dtype == USM_BOOL || extreme_type(function, x) != USM_NO_DTYPE ? USM_INT64
                                                                                     : USM_NO_DTYPE;
    }
}

/* arguments: x, axis, keepdims, and dtype of sums and products. */
static PyObject *reduce(usmpy_state *state, const char *function, PyObject *const *arguments, reduction row)
{
    int64_t shape[USM_MAX_NDIM];
    uint64_t axes;
    usmpy_array *x = usmpy_check_array(state, arguments[0], function);
    int keepdims = x == NULL ? -1 : usmpy_bool(arguments[2], 0, function, "keepdims");
    if (keepdims < 0 || usmpy_check_computed(x, function) < 0) {
        return NULL;
    }
    usm_dtype dtype = result_type(state, function, x, row, arguments + 3);
    bool one = row.family == PLACE && usmpy_given(arguments[1]);
    if (dtype == USM_NO_DTYPE || (one && usmpy_parse_axis(arguments[1], x->ndim, "axis") < 0)) {
        return NULL;
    }
    int ndim = parse_reduced(x, arguments[1], keepdims, &axes, shape);
    if (ndim < 0 || (row.family >= EXTREME && check_elements(function, x, axes) < 0)) {
        return NULL;
    }
    usmpy_array *result = usmpy_array_beside(x, dtype, ndim, shape);
    if (result == NULL) {
        return NULL;
    }
    const usm_view dst = usmpy_view(result), src = usmpy_view(x);
    usm_queue *queue = usmpy_queue_of(x->queue);
    usm_error error;
    usm_status status =
        row.family == TRUTH ? usm_reduce_submit(queue, (usm_reduce_kind)row.what, &dst, &src, axes, &error)
        : row.family == PLACE
            ? usm_extreme_submit(queue, row.what, &dst, &src, axes, &error)
            : usm_accumulate_submit(queue, (usm_accumulate_kind)row.what, &dst, &src, axes, &error);
    return (PyObject *)usmpy_array_submitted(result, status, &error);
}

USMPY_FUNCTION_OF(all, reduce, ((reduction){TRUTH, USM_ALL}))
USMPY_FUNCTION_OF(any, reduce, ((reduction){TRUTH, USM_ANY}))
USMPY_FUNCTION_OF(count_nonzero, reduce, ((reduction){TRUTH, USM_COUNT}))
USMPY_FUNCTION_OF(sum, reduce, ((reduction){SUM, USM_SUM}))
USMPY_FUNCTION_OF(prod, reduce, ((reduction){SUM, USM_PROD}))
USMPY_FUNCTION_OF(max, reduce, ((reduction){EXTREME, USM_MAX}))
USMPY_FUNCTION_OF(min, reduce, ((reduction){EXTREME, USM_MIN}))
USMPY_FUNCTION_OF(argmax, reduce, ((reduction){PLACE, USM_MAX}))
USMPY_FUNCTION_OF(argmin, reduce, ((reduction){PLACE, USM_MIN}))

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
    if (result == NULL) {
        return NULL;
    }
    const usm_view dst = usmpy_view(result), src = usmpy_view(x);
    usm_error error;
    usm_status status = usm_scan_submit(usmpy_queue_of(x->queue), op, &dst, &src, axis, initial, &error);
    return (PyObject *)usmpy_array_submitted(result, status, &error);
}

USMPY_FUNCTION_OF(cumulative_sum, scan, USM_SUM)
USMPY_FUNCTION_OF(cumulative_prod, scan, USM_PROD)

PyMethodDef usmpy_reduce_functions[] = {
    USMPY_ROW(all),
    USMPY_ROW(any),
    USMPY_ROW(count_nonzero),
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
