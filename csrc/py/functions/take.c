/* take and take_along_axis: elements by index, along one axis. */
#include "docstrings.h"
#include "manipulation.h"
#include "py/args.h"
#include "py/arrays/array.h"
#include "py/arrays/operands.h"
#include "py/arrays/selection.h"
#include "py/deferred.h"
#include "py/errors.h"
#include "py/objects/placement.h"
#include "py/wait.h"

#include "core/ops/indices.h"
#include "core/ops/take.h"

#include <string.h>

int usmpy_take(usmpy_state *state, usmpy_array *dst, const usm_view *src, const usm_view *index,
               int64_t length, int64_t step)
{
    const usm_view to = usmpy_view(dst);
    usm_error error;
    return usmpy_check(
        state, usm_take_submit(usmpy_queue_of(dst->queue), &to, src, index, length, step, &error), &error);
}

/* x and indices of both functions, and the queue that they share. */
typedef struct taken {
    usmpy_array *x;       /* borrowed */
    usmpy_array *indices; /* one reference */
    PyObject *queue;      /* borrowed from x */
    usm_kind kind;
} taken;

static int parse_taken(usmpy_state *state, PyObject *x, PyObject *indices, const char *function, taken *out)
{
    out->x = usmpy_check_argument(state, x, function);
    if (out->x == NULL) {
        return -1;
    }
    out->indices = usmpy_index_array(state, indices, out->x->queue);
    if (out->indices == NULL) {
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_TypeError, "%s(): indices is %s %s; an array or a list of integers is allowed",
                         function, USMPY_A(indices));
        }
        return -1;
    }
    static const char *const names[] = {"x", "indices"};
    const usm_dtype_info *info = &usm_dtype_table[out->indices->dtype];
    usm_kind kinds[2] = {(usm_kind)out->x->alloc->kind, (usm_kind)out->indices->alloc->kind};
    out->queue = out->x->queue;
    /* What came from the host is on the queue for this call alone. */
    out->kind = usmpy_is_array(state, indices) && kinds[1] > kinds[0] ? kinds[1] : kinds[0];
    if (info->kind != USM_KIND_INT && info->kind != USM_KIND_UINT) {
        PyErr_Format(PyExc_TypeError, "%s(): indices has dtype %s; an integer type is allowed", function,
                     info->name);
    } else if (usmpy_queue_of(out->x->queue) != usmpy_queue_of(out->indices->queue)) {
        PyObject *const both[] = {x, (PyObject *)out->indices};
        usmpy_raise_placement(state, function, both, names, 2);
    } else {
        return 0;
    }
    Py_CLEAR(out->indices);
    return -1;
}

/* The host has seen that the indices are in range, if it can. */
static PyObject *take_checked(usmpy_state *state, const taken *t, int axis, const usmpy_destination *to)
{
    int64_t shape[USM_MAX_NDIM], from[USM_MAX_NDIM], along[USM_MAX_NDIM];
    int more = t->indices->ndim, ndim = t->x->ndim - 1 + more;
    for (int i = 0; i < ndim; i++) {
        bool indexed = i >= axis && i < axis + more;
        int of_x = i < axis ? i : i - more + 1;
        shape[i] = indexed ? usmpy_shape(t->indices)[i - axis] : usmpy_shape(t->x)[of_x];
        from[i] = indexed ? 0 : usmpy_strides(t->x)[of_x];
        along[i] = 0;
    }
    int64_t length = usmpy_shape(t->x)[axis];
    usmpy_operands operands = {.function = "take",
                               .owner = "x",
                               .n = 2,
                               .arrays = {t->x, t->indices},
                               .queue = t->queue,
                               .kind = t->kind,
                               .ndim = ndim};
    memcpy(operands.shape, shape, (size_t)ndim * sizeof *shape);
    usmpy_array *result = usmpy_operands_result(state, &operands, (usm_dtype)t->x->dtype, to);
    if (result == NULL || result->size == 0) {
        return usmpy_operands_deliver(state, to, result, 0);
    }
    if (length == 0) { /* of indices that the host cannot read */
        Py_DECREF(result);
        return PyErr_Format(PyExc_IndexError, "take(): axis %d of x has length 0; no index is in range",
                            axis);
    }
    usmpy_array *indices = usmpy_usable_indices(state, t->indices);
    int status = -1;
    if (indices != NULL) {
        memcpy(along + axis, usmpy_strides(indices), (size_t)more * sizeof *along);
        const usm_view src = {t->x->alloc, t->x->data, (usm_dtype)t->x->dtype, ndim, shape, from};
        const usm_view index = {indices->alloc, indices->data, (usm_dtype)indices->dtype, ndim, shape, along};
        status = usmpy_take(state, result, &src, &index, length, usmpy_strides(t->x)[axis]);
        Py_DECREF(indices);
    }
    return usmpy_operands_deliver(state, to, result, status);
}

static const usmpy_destination anywhere = {.order = 'C'};

int usmpy_take_rows(usmpy_state *state, usmpy_array *x, usmpy_array *indices, PyObject **result)
{
    const taken t = {x, indices, x->queue, (usm_kind)x->alloc->kind};
    *result = NULL;
    if (!usm_alloc_host_reads(indices->alloc) || usm_dtype_is_packed((usm_dtype)x->dtype) ||
        x->ndim - 1 + indices->ndim > USM_MAX_NDIM) {
        return 0;
    }
    if (usmpy_wait_alloc(state, indices->alloc, USM_READ, INT64_MAX) < 0) {
        return -1;
    }
    const usm_view view = usmpy_view(indices);
    if (usm_indices_in_range(&view, usmpy_shape(x)[0])) {
        *result = take_checked(state, &t, 0, &anywhere);
        return *result == NULL ? -1 : 0;
    }
    return 0;
}

/* The axis of take: -1 with an exception. */
static int axis_of_take(const taken *t, PyObject *argument)
{
    if (usmpy_given(argument)) {
        return usmpy_parse_axis(argument, t->x->ndim, "axis");
    }
    if (t->x->ndim != 1) {
        PyErr_Format(
            PyExc_ValueError,
            "take(): x has %d dimensions and axis is None; only arrays of one dimension have a default",
            t->x->ndim);
        return -1;
    }
    return 0;
}

static PyObject *take(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"take", 4, 2,
                                              2,      2, {USMPY_x, USMPY_indices, USMPY_axis, USMPY_out}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[4], *result = NULL;
    usmpy_destination to;
    taken t;
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0 ||
        usmpy_destination_parse(state, (PyObject *const[]){out[3], NULL}, "take", &to) < 0) {
        return NULL;
    }
    to.order = 'C';
    to.apart = true;
    usmpy_deferred_poll();
    if (parse_taken(state, out[0], out[1], "take", &t) < 0) {
        return NULL;
    }
    int axis = axis_of_take(&t, out[2]);
    if (axis >= 0 && t.x->ndim - 1 + t.indices->ndim > USM_MAX_NDIM) {
        PyErr_Format(PyExc_ValueError, "take(): the result would have more than %d dimensions", USM_MAX_NDIM);
    } else if (axis >= 0 && (t.indices->size == 0 ||
                             usmpy_check_indices(state, t.indices, usmpy_shape(t.x)[axis], "take") == 0)) {
        result = take_checked(state, &t, axis, &to);
    }
    Py_DECREF(t.indices);
    return result;
}

/* Lengths of both without the axis, broadcast against each other: the result's shape. 0 or -1. */
static int along_shape(const taken *t, int axis, int64_t *shape)
{
    for (int i = 0; i < t->x->ndim; i++) {
        int64_t a = usmpy_shape(t->x)[i], b = usmpy_shape(t->indices)[i];
        shape[i] = i == axis ? b : a == 1 ? b : a;
        if (i != axis && a != b && a != 1 && b != 1) {
            char x[200], indices[200];
            PyErr_Format(
                PyExc_ValueError,
                "take_along_axis(): x of shape %s and indices of shape %s do not broadcast; they may differ along axis %d only",
                usm_layout_text(t->x->ndim, usmpy_shape(t->x), x, sizeof x),
                usm_layout_text(t->x->ndim, usmpy_shape(t->indices), indices, sizeof indices), axis);
            return -1;
        }
    }
    return 0;
}

static PyObject *take_along(usmpy_state *state, const taken *t, PyObject *axis_argument)
{
    int64_t shape[USM_MAX_NDIM], from[USM_MAX_NDIM], along[USM_MAX_NDIM];
    int ndim = t->x->ndim;
    if (ndim == 0 || t->indices->ndim != ndim) {
        return PyErr_Format(
            PyExc_ValueError,
            "take_along_axis(): x has %d dimension%s and indices %d; they must be equal, and at least 1",
            ndim, usmpy_plural(ndim), t->indices->ndim);
    }
    int axis = axis_argument == NULL ? ndim - 1 : usmpy_parse_axis(axis_argument, ndim, "axis");
    if (axis < 0 || along_shape(t, axis, shape) < 0) {
        return NULL;
    }
    int64_t length = usmpy_shape(t->x)[axis];
    if (t->indices->size > 0 && usmpy_check_indices(state, t->indices, length, "take_along_axis") < 0) {
        return NULL;
    }
    usmpy_array *result =
        usmpy_array_empty(state, t->queue, t->kind, (usm_dtype)t->x->dtype, ndim, shape, 'C', false);
    if (result == NULL || result->size == 0) {
        return (PyObject *)result;
    }
    if (length == 0) {
        Py_DECREF(result);
        return PyErr_Format(PyExc_IndexError,
                            "take_along_axis(): axis %d of x has length 0; no index is in range", axis);
    }
    usmpy_array *indices = usmpy_usable_indices(state, t->indices);
    int status = -1;
    if (indices != NULL) {
        for (int i = 0; i < ndim; i++) {
            bool repeats_x = i == axis || usmpy_shape(t->x)[i] == 1;
            from[i] = repeats_x ? 0 : usmpy_strides(t->x)[i];
            along[i] = usmpy_shape(indices)[i] == 1 ? 0 : usmpy_strides(indices)[i];
        }
        const usm_view src = {t->x->alloc, t->x->data, (usm_dtype)t->x->dtype, ndim, shape, from};
        const usm_view index = {indices->alloc, indices->data, (usm_dtype)indices->dtype, ndim, shape, along};
        status = usmpy_take(state, result, &src, &index, length, usmpy_strides(t->x)[axis]);
        Py_DECREF(indices);
    }
    if (status < 0) {
        Py_CLEAR(result);
    }
    return (PyObject *)result;
}

static PyObject *take_along_axis(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {
        "take_along_axis", 3, 2, 2, 2, {USMPY_x, USMPY_indices, USMPY_axis}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[3];
    taken t;
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_deferred_poll();
    if (parse_taken(state, out[0], out[1], "take_along_axis", &t) < 0) {
        return NULL;
    }
    PyObject *result = take_along(state, &t, out[2]);
    Py_DECREF(t.indices);
    return result;
}

PyMethodDef usmpy_take_functions[] = {
    USMPY_METHOD("take", take, USMPY_DOC_take),
    USMPY_METHOD("take_along_axis", take_along_axis, USMPY_DOC_take_along_axis),
    {0},
};
