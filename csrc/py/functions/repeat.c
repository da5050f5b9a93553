/* repeat and tile: elements more than once. */
#include "creation.h"
#include "docstrings.h"
#include "manipulation.h"
#include "py/args.h"
#include "py/arrays/hints.h"
#include "py/objects/placement.h"

#include "core/ops/indices.h"
#include "core/ops/take.h"
#include "core/ops/tile.h"

static usmpy_array *too_long(const char *function)
{
    return (usmpy_array *)PyErr_Format(PyExc_ValueError,
                                       "%s(): the result would have more than 2**63 - 1 elements", function);
}

/* New memory of this kind for x with another length of one axis. */
static usmpy_array *with_length(usmpy_array *x, int axis, int64_t length, usm_kind kind)
{
    int64_t shape[USM_MAX_NDIM];
    memcpy(shape, usmpy_shape(x), x->ndim * sizeof *shape);
    shape[axis] = length;
    return usmpy_array_empty(x->state, x->queue, kind, x->dtype, x->ndim, shape, 'C', false);
}

/* Repeats every element `count` times. */
static usmpy_array *repeat_evenly(usmpy_array *x, int axis, int64_t count)
{
    int64_t length;
    if (__builtin_mul_overflow(usmpy_shape(x)[axis], count, &length)) {
        return too_long("repeat");
    }
    usmpy_array *result = with_length(x, axis, length, x->alloc->kind);
    if (result != NULL && result->size > 0) {
        const usm_view dst = usmpy_view(result), src = usmpy_view(x);
        usm_error error;
        usm_status status =
            usm_repeat_elements_submit(usmpy_queue_of(x->queue), &dst, &src, axis, count, &error);
        result = usmpy_array_submitted(result, status, &error);
    }
    return result;
}

/*
 * Where each element's copies begin, and last where they end: n + 1 numbers that the host reads. The length
 * of the result depends on the counts, so the host reads them after a wait, wherever they are.
 */
static usmpy_array *find_begins(usmpy_array *counts, int64_t n)
{
    const int64_t length = n + 1;
    usmpy_array *plain = (usmpy_array *)Py_NewRef(counts), *begins = NULL;
    if (counts->dtype != USM_INT64 || (counts->flags & USM_C_CONTIGUOUS) == 0) {
        Py_SETREF(plain, usmpy_array_duplicate(counts, counts->queue, counts->alloc->kind, USM_INT64, 'C'));
    }
    if (plain != NULL) {
        Py_SETREF(plain, usmpy_array_readable(plain));
    }
    if (plain != NULL) {
        begins = usmpy_array_writable(counts->state, USM_INT64, counts->queue, USM_DEVICE, 1, &length);
    }
    if (begins != NULL) {
        const usm_view view = usmpy_view(plain);
        usm_error error;
        usm_status status = usm_indices_of_counts(&view, n, (int64_t *)begins->data, &error);
        begins = usmpy_array_submitted(begins, status, &error);
    }
    Py_XDECREF(plain);
    return begins;
}

/* The index in x of each of the result's `total` elements along the axis. */
static usmpy_array *expand(PyObject *queue, usmpy_array *begins, int64_t n, int64_t total)
{
    usmpy_array *indices = NULL;
    bool near =
        begins->queue == queue && begins->alloc->kind == USM_DEVICE; /* else it is copied there once */
    usmpy_array *places = near ? (usmpy_array *)Py_NewRef(begins)
                               : usmpy_array_duplicate(begins, queue, USM_DEVICE, USM_INT64, 'C');
    if (places != NULL) {
        indices = usmpy_array_empty(begins->state, queue, USM_DEVICE, USM_INT64, 1, &total, 'C', false);
    }
    if (indices != NULL) {
        const usm_view out = usmpy_view(indices), from = usmpy_view(places);
        usm_error error;
        usm_status status = usm_expand_submit(usmpy_queue_of(queue), &out, &from, n, total, &error);
        indices = usmpy_array_submitted(indices, status, &error);
    }
    Py_XDECREF(places);
    return indices;
}

/* Repeats each element along the axis as many times as its count says. */
static usmpy_array *repeat_each(usmpy_array *x, int axis, usmpy_array *counts)
{
    int64_t n = usmpy_shape(x)[axis], from[USM_MAX_NDIM], along[USM_MAX_NDIM] = {0};
    usmpy_array *begins = find_begins(counts, n);
    if (begins == NULL) {
        return NULL;
    }
    const int64_t total = ((int64_t *)begins->data)[n];
    usm_kind kind = x->alloc->kind > counts->alloc->kind ? x->alloc->kind : counts->alloc->kind;
    usmpy_array *result = with_length(x, axis, total, kind);
    if (result != NULL && result->size > 0) {
        usmpy_array *indices = expand(x->queue, begins, n, total);
        int status = -1;
        if (indices != NULL) {
            memcpy(from, usmpy_strides(x), x->ndim * sizeof *from);
            from[axis] = 0;
            along[axis] = 1;
            const usm_view src = {x->alloc, x->data, x->dtype, x->ndim, usmpy_shape(result), from};
            const usm_view index = {indices->alloc, indices->data,       USM_INT64,
                                    x->ndim,        usmpy_shape(result), along};
            status = usmpy_take(result, &src, &index, n, usmpy_strides(x)[axis]);
            Py_DECREF(indices);
        }
        if (status < 0) {
            Py_CLEAR(result);
        }
    }
    Py_DECREF(begins);
    return result;
}

/* repeats as an array of counts, one for each element or one for all. New reference. */
static usmpy_array *parse_counts(usmpy_state *state, PyObject *repeats, usmpy_array *x, int64_t length)
{
    static const char *const names[] = {"x", "repeats"};
    PyObject *counts = NULL, *const both[] = {(PyObject *)x, repeats};
    if (usmpy_is_array(state, repeats)) {
        counts = Py_NewRef(repeats);
    } else if (PyTuple_Check(repeats) || PyList_Check(repeats)) {
        PyObject *host = usmpy_host_queue(state);
        usm_dtype dtype = PySequence_Size(repeats) == 0 ? USM_INT64 : USM_NO_DTYPE;
        counts = host == NULL ? NULL : usmpy_array_from_python(state, repeats, dtype, host, USM_DEVICE);
        if (counts == NULL) {
            usmpy_name_argument("repeats");
        }
    } else {
        usmpy_refuse_operand("repeat", "repeats", repeats,
                             "an int, a USMArray of integers or a list or tuple of ints is");
    }
    if (counts == NULL) {
        return NULL;
    }
    usmpy_array *array = (usmpy_array *)counts;
    if (counts == repeats && usmpy_queue_of(array->queue) != usmpy_queue_of(x->queue)) {
        usmpy_raise_placement(state, "repeat", both, names, 2);
    } else if (!usmpy_has_integers(array)) {
        PyErr_Format(PyExc_TypeError, "repeat(): repeats has dtype %s; an integer type is allowed",
                     usm_dtype_table[array->dtype].name);
    } else if (array->ndim > 1 || (array->size != 1 && array->size != length)) {
        PyErr_Format(
            PyExc_ValueError,
            "repeat(): repeats has %d dimension%s and %lld element%s; one dimension of 1 or %lld elements "
            "is allowed",
            array->ndim, usmpy_plural(array->ndim), (long long)array->size, usmpy_plural(array->size),
            (long long)length);
    } else {
        return array;
    }
    Py_DECREF(counts);
    return NULL;
}

/* arguments: x, repeats, axis. */
static PyObject *repeat(usmpy_array *x, PyObject *const *arguments)
{
    PyObject *repeats = arguments[1];
    bool given = usmpy_given(arguments[2]);
    usmpy_array *result = NULL;
    int axis = given ? usmpy_parse_axis(arguments[2], x->ndim, "axis") : 0;
    x = axis < 0 ? NULL : given ? (usmpy_array *)Py_NewRef(x) : usmpy_flat(x);
    if (x == NULL) {
        return NULL;
    }
    /* Arrays of NumPy have __index__, whatever their dimensions. */
    int many = !PyIndex_Check(repeats) || usmpy_is_array(x->state, repeats) ? 1 : usmpy_has_length(repeats);
    if (many == 0) {
        int64_t count =
            usmpy_ssize_of(repeats, "repeat(): repeats", -1,
                           "an int, a USMArray of integers or a list or tuple of ints is allowed");
        if (count < 0 && !PyErr_Occurred()) {
            PyErr_Format(PyExc_ValueError, "repeat(): repeats is %lld; 0 or more is allowed",
                         (long long)count);
        }
        result = PyErr_Occurred() ? NULL : repeat_evenly(x, axis, count);
    } else if (many > 0) {
        usmpy_array *counts = parse_counts(x->state, repeats, x, usmpy_shape(x)[axis]);
        result = counts == NULL ? NULL : repeat_each(x, axis, counts);
        Py_XDECREF(counts);
    }
    Py_DECREF(x);
    return (PyObject *)result;
}
USMPY_ARRAY_FUNCTION(repeat)

/* arguments: x, repetitions. */
static PyObject *tile(usmpy_array *x, PyObject *const *arguments)
{
    int64_t counts[USM_MAX_NDIM], whole[USM_MAX_NDIM];
    int n = usmpy_parse_shape(arguments[1], counts, "repetitions");
    if (n < 0) {
        return NULL;
    }
    int ndim = n > x->ndim ? n : x->ndim;
    for (int i = ndim - 1; i >= 0; i--) { /* from the last axis on, both count from there */
        int own = i - (ndim - x->ndim), given = i - (ndim - n);
        int64_t count = given >= 0 ? counts[given] : 1, length = own >= 0 ? usmpy_shape(x)[own] : 1;
        if (count < 0) {
            return usmpy_error_format(PyExc_ValueError, "tile(): repetitions is %.100R; 0 or more is allowed",
                                      arguments[1]);
        }
        if (__builtin_mul_overflow(length, count, &whole[i])) {
            return (PyObject *)too_long("tile");
        }
    }
    usmpy_array *result = usmpy_array_beside(x, x->dtype, ndim, whole);
    if (result != NULL && result->size > 0) {
        const usm_view dst = usmpy_view(result), src = usmpy_view(x);
        usm_error error;
        usm_status status = usm_tile_submit(usmpy_queue_of(x->queue), &dst, &src, &error);
        result = usmpy_array_submitted(result, status, &error);
    }
    return (PyObject *)result;
}
USMPY_ARRAY_FUNCTION(tile)

PyMethodDef usmpy_repeat_functions[] = {
    USMPY_ROW(repeat),
    USMPY_ROW(tile),
    {0},
};
