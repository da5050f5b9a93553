/* Integer indices: whether all are in range, and as types that kernels take. */
#include "py/functions/manipulation.h"
#include "py/wait.h"

#include "core/ops/indices.h"

int usmpy_check_indices(usmpy_state *state, usmpy_array *indices, int64_t length, const char *function)
{
    if (!usm_alloc_host_reads(indices->alloc)) {
        return 0;
    }
    if (usmpy_wait_alloc(state, indices->alloc, USM_READ, INT64_MAX) < 0) {
        return -1;
    }
    const usm_view view = usmpy_view(indices);
    if (!usm_indices_in_range(&view, length)) {
        PyErr_Format(
            PyExc_IndexError,
            "%s(): indices has an element out of range for an axis of length %lld; -%lld to %lld are "
            "allowed",
            function, (long long)length, (long long)length, (long long)(length - 1));
        return -1;
    }
    return 0;
}

usmpy_array *usmpy_usable_indices(usmpy_state *state, usmpy_array *indices)
{
    if (indices->dtype == USM_INT64 || indices->dtype == USM_INT32) {
        return (usmpy_array *)Py_NewRef(indices);
    }
    return usmpy_array_duplicate(state, indices, indices->queue, (usm_kind)indices->alloc->kind, USM_INT64,
                                 'C');
}
