/* The true elements of masks: offsets for indexing, nonzero and count_nonzero. */
#include "mask.h"
#include "docstrings.h"

#include "few.h"
#include "operands.h"
#include "py/args.h"
#include "py/deferred.h"
#include "py/errors.h"
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

static int place(usmpy_state *state, const usm_true_elements *mask, usmpy_array *offsets)
{
    const usm_view view = usmpy_view(offsets);
    usm_error error;
    /* The block's earlier life may not have ended. */
    if (mask->total.alloc == NULL && usmpy_wait_alloc(state, offsets->alloc, USM_WRITE, INT64_MAX) < 0) {
        return -1;
    }
    return usmpy_check(
        state, usm_mask_place(usmpy_queue_of(offsets->queue), mask, &view, offsets->size, &error), &error);
}

usmpy_array *usmpy_mask_offsets(usmpy_state *state, usmpy_array *array, const int64_t *steps, usm_kind kind)
{
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
    if (offsets != NULL && sum > 0 && place(state, &mask, offsets) < 0) {
        Py_CLEAR(offsets);
    }
    usm_mask_end(&mask);
    return offsets;
}

usmpy_array *usmpy_unravel_axis(usmpy_state *state, usmpy_array *flat, int64_t step, int64_t length,
                                usm_kind kind)
{
    usmpy_array *axis =
        usmpy_array_empty(state, flat->queue, kind, USM_INT64, 1, usmpy_shape(flat), 'C', false);
    if (axis != NULL) {
        const usm_view dst = usmpy_view(axis), from = usmpy_view(flat);
        usm_error error;
        if (usmpy_check(state,
                        usm_unravel_submit(usmpy_queue_of(flat->queue), &dst, &from, step, length, &error),
                        &error) < 0) {
            Py_CLEAR(axis);
        }
    }
    return axis;
}

static usmpy_array *check(usmpy_state *state, PyObject *x, const char *function)
{
    if (!usmpy_is_array(state, x)) {
        PyErr_Format(PyExc_TypeError, "%s(): x is %s %s; a USMArray is allowed (asarray makes one)", function,
                     USMPY_A(x));
        return NULL;
    }
    return usmpy_check_computed((usmpy_array *)x, function) < 0 ? NULL : (usmpy_array *)x;
}

PyObject *usmpy_nonzero(usmpy_state *state, PyObject *x, const char *function)
{
    int64_t steps[USM_MAX_NDIM];
    usmpy_array *array = check(state, x, function);
    if (array == NULL) {
        return NULL;
    }
    if (array->ndim == 0) {
        return PyErr_Format(PyExc_ValueError, "%s(): x has 0 dimensions; at least 1 is needed", function);
    }
    usmpy_deferred_poll();
    PyObject *few = usmpy_few_nonzero(state, array);
    if (few != NULL || PyErr_Occurred()) {
        return few;
    }
    usm_layout_compact(array->ndim, usmpy_shape(array), 'C', steps);
    usm_kind kind = array->ndim == 1 ? (usm_kind)array->alloc->kind : USM_DEVICE;
    usmpy_array *flat = usmpy_mask_offsets(state, array, steps, kind);
    if (flat != NULL && array->ndim == 1) { /* it is the only axis already */
        PyObject *one = PyTuple_Pack(1, flat);
        Py_DECREF(flat);
        return one;
    }
    PyObject *result = flat == NULL ? NULL : PyTuple_New(array->ndim);
    for (int i = 0; result != NULL && i < array->ndim; i++) {
        usmpy_array *axis =
            usmpy_unravel_axis(state, flat, steps[i], usmpy_shape(array)[i], (usm_kind)array->alloc->kind);
        if (axis == NULL) {
            Py_CLEAR(result);
        } else {
            PyTuple_SET_ITEM(result, i, (PyObject *)axis);
        }
    }
    Py_XDECREF(flat);
    return result;
}

static PyObject *nonzero(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"nonzero", 1, 1, 1, 1, {USMPY_x}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *x;
    return usmpy_parse(state, &signature, args, nargs, kwnames, &x) < 0 ? NULL
                                                                        : usmpy_nonzero(state, x, "nonzero");
}

PyMethodDef usmpy_mask_functions[] = {
    USMPY_METHOD("nonzero", nonzero, USMPY_DOC_nonzero),
    {0},
};
