/* Reductions: all, any and count_nonzero along axes. */
#include "reduce.h"

#include "docstrings.h"
#include "py/args.h"
#include "py/arrays/operands.h"

#include "core/ops/reduce.h"

/* What a reduction does with the elements along some axes. */
typedef struct reduction {
    usm_reduce_kind what;
    usm_dtype dtype; /* of the result */
} reduction;

int usmpy_reduced_axes(usmpy_array *x, PyObject *axis, bool keepdims, uint64_t *reduced_axes, int64_t *shape)
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

/* arguments: x, axis, keepdims. */
static PyObject *reduce(usmpy_state *state, const char *function, PyObject *const *arguments,
                        const reduction *row)
{
    int64_t shape[USM_MAX_NDIM];
    uint64_t reduced_axes;
    usmpy_array *x = usmpy_check_array(state, arguments[0], function);
    int keepdims = x == NULL ? -1 : usmpy_bool(arguments[2], 0, function, "keepdims");
    if (keepdims < 0 || usmpy_check_computed(x, function) < 0) {
        return NULL;
    }
    int ndim = usmpy_reduced_axes(x, arguments[1], keepdims, &reduced_axes, shape);
    usmpy_array *result = ndim < 0 ? NULL : usmpy_array_beside(x, row->dtype, ndim, shape);
    if (result != NULL) {
        const usm_view dst = usmpy_view(result), src = usmpy_view(x);
        usm_error error;
        usm_status status =
            usm_reduce_submit(usmpy_queue_of(x->queue), row->what, &dst, &src, reduced_axes, &error);
        result = usmpy_array_submitted(result, status, &error);
    }
    return (PyObject *)result;
}

static const reduction all = {USM_ALL, USM_BOOL}, any = {USM_ANY, USM_BOOL}, count = {USM_COUNT, USM_INT64};

USMPY_FUNCTION_OF(all, reduce, &all)
USMPY_FUNCTION_OF(any, reduce, &any)
USMPY_FUNCTION_OF(count_nonzero, reduce, &count)

PyMethodDef usmpy_reduce_functions[] = {
    USMPY_ROW(all),
    USMPY_ROW(any),
    USMPY_ROW(count_nonzero),
    {0},
};
