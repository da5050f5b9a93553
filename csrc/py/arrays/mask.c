/* The true elements of arrays: their offsets and indices, for indexing and nonzero. */
#include "mask.h"
#include "docstrings.h"

#include "few.h"
#include "operands.h"
#include "py/args.h"
#include "py/wait.h"

#include "core/ops/mask.h"
#include "core/ops/rows.h"

/* How many elements are true, after a wait; -1 with an exception. */
static int64_t read_sum(usmpy_state *state, PyObject *queue, const usm_true_elements *mask)
{
    if (mask->total.alloc != NULL) {
        return usmpy_read_count(state, queue, &mask->total);
    }
    return usmpy_wait_alloc(state, mask->bytes.alloc, USM_READ, INT64_MAX) < 0 ? -1 : usm_mask_sum(mask);
}

static int place(const usm_true_elements *mask, usmpy_array *offsets)
{
    usmpy_state *state = offsets->state;
    const usm_view view = usmpy_view(offsets);
    usm_error error;
    /* Work on the block that was submitted before it was freed and used again may still be pending. */
    if (mask->total.alloc == NULL && usmpy_wait_alloc(state, offsets->alloc, USM_WRITE, INT64_MAX) < 0) {
        return -1;
    }
    return usmpy_check(
        state, usm_mask_place(usmpy_queue_of(offsets->queue), mask, &view, offsets->size, &error), &error);
}

usmpy_array *usmpy_mask_offsets(usmpy_array *array, const int64_t *steps, usm_kind kind)
{
    usmpy_state *state = array->state;
    const usm_view view = usmpy_view(array);
    usm_true_elements mask;
    usm_error error;
    if (array->size == 0) {
        return usmpy_array_empty(state, array->queue, kind, USM_INT64, 1, &(int64_t){0}, 'C', false);
    }
    if (usmpy_check(state, usm_mask_begin(usmpy_queue_of(array->queue), &view, steps, &mask, &error),
                    &error) < 0) {
        return NULL;
    }
    int64_t sum = read_sum(state, array->queue, &mask);
    usmpy_array *offsets =
        sum < 0 ? NULL : usmpy_array_empty(state, array->queue, kind, USM_INT64, 1, &sum, 'C', false);
    if (offsets != NULL && sum > 0 && place(&mask, offsets) < 0) {
        Py_CLEAR(offsets);
    }
    usm_mask_end(&mask);
    return offsets;
}

/* Of row-major numbers, a vector of int64, their indices along an axis: each / step % length. */
static usmpy_array *unravel_axis(usmpy_array *flat, int64_t step, int64_t length, usm_kind kind)
{
    usmpy_array *axis =
        usmpy_array_empty(flat->state, flat->queue, kind, USM_INT64, 1, usmpy_shape(flat), 'C', false);
    if (axis == NULL) {
        return NULL;
    }
    const usm_view dst = usmpy_view(axis), from = usmpy_view(flat);
    usm_error error;
    usm_status status = usm_unravel_submit(usmpy_queue_of(flat->queue), &dst, &from, step, length, &error);
    return usmpy_array_submitted(axis, status, &error);
}

int usmpy_mask_indices(usmpy_array *array, usm_kind kind, usmpy_array **axes)
{
    int64_t steps[USM_MAX_NDIM];
    usm_layout_compact(array->ndim, usmpy_shape(array), 'C', steps);
    usmpy_array *flat = usmpy_mask_offsets(array, steps, array->ndim == 1 ? kind : USM_DEVICE);
    if (flat == NULL || array->ndim == 1) { /* row-major numbers are the indices of the only axis */
        axes[0] = flat;
        return flat == NULL ? -1 : 0;
    }
    int status = 0;
    for (int i = 0; status == 0 && i < array->ndim; i++) {
        axes[i] = unravel_axis(flat, steps[i], usmpy_shape(array)[i], kind);
        if (axes[i] == NULL) {
            status = -1;
            while (i > 0) {
                Py_DECREF(axes[--i]);
            }
        }
    }
    Py_DECREF(flat);
    return status;
}

PyObject *usmpy_nonzero(usmpy_state *state, PyObject *x, const char *function)
{
    usmpy_array *axes[USM_MAX_NDIM], *array = usmpy_check_array(state, x, function);
    if (array == NULL || usmpy_check_computed(array, function) < 0) {
        return NULL;
    }
    if (array->ndim == 0) {
        return PyErr_Format(PyExc_ValueError, "%s(): x has 0 dimensions; at least 1 is needed", function);
    }
    usmpy_deferred_poll();
    int made = usmpy_few_nonzero(array, axes);
    if (made == 0) {
        made = usmpy_mask_indices(array, array->alloc->kind, axes) < 0 ? -1 : 1;
    }
    PyObject *result = made < 0 ? NULL : PyTuple_New(array->ndim);
    for (int i = 0; made > 0 && i < array->ndim; i++) {
        usmpy_set_item(&result, i, (PyObject *)axes[i]);
    }
    return result;
}

/* arguments: x. */
static PyObject *nonzero(usmpy_state *state, PyObject *const *arguments)
{
    return usmpy_nonzero(state, arguments[0], "nonzero");
}
USMPY_FUNCTION(nonzero)

PyMethodDef usmpy_mask_functions[] = {
    USMPY_ROW(nonzero),
    {0},
};
