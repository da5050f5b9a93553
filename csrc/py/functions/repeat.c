/* repeat and tile: elements more than once. */
#include "creation.h"
#include "docstrings.h"
#include "manipulation.h"
#include "py/args.h"
#include "py/arrays/array.h"
#include "py/deferred.h"
#include "py/errors.h"
#include "py/objects/placement.h"

#include "core/ops/indices.h"
#include "core/ops/take.h"
#include "core/ops/tile.h"

#include <string.h>

static usmpy_array *flat(usmpy_state *state, usmpy_array *array)
{
    const int64_t one = 1;
    int64_t size = array->size;
    usmpy_array *row = (usmpy_array *)Py_NewRef(array);
    if ((array->flags & USM_C_CONTIGUOUS) == 0) {
        Py_SETREF(row, usmpy_array_duplicate(state, array, array->queue, (usm_kind)array->alloc->kind,
                                             (usm_dtype)array->dtype, 'C'));
    }
    if (row != NULL) {
        Py_SETREF(row, usmpy_array_view(state, row, row->data, 1, &size, &one));
    }
    return row;
}

/* New memory for x with another length of one axis. */
static usmpy_array *with_length(usmpy_state *state, usmpy_array *x, int axis, int64_t length, usm_kind kind)
{
    int64_t shape[USM_MAX_NDIM];
    memcpy(shape, usmpy_shape(x), x->ndim * sizeof *shape);
    shape[axis] = length;
    return usmpy_array_empty(state, x->queue, kind, (usm_dtype)x->dtype, x->ndim, shape, 'C', false);
}

/* Every element as often. */
static usmpy_array *repeat_evenly(usmpy_state *state, usmpy_array *x, int axis, int64_t count)
{
    int64_t length;
    if (__builtin_mul_overflow(usmpy_shape(x)[axis], count, &length)) {
        PyErr_SetString(PyExc_ValueError, "repeat(): the result would have more than 2**63 - 1 elements");
        return NULL;
    }
    usmpy_array *result = with_length(state, x, axis, length, (usm_kind)x->alloc->kind);
    if (result != NULL && result->size > 0) {
        const usm_view dst = usmpy_view(result), src = usmpy_view(x);
        usm_error error;
        if (usmpy_check(state,
                        usm_repeat_elements_submit(usmpy_queue_of(x->queue), &dst, &src, axis, count, &error),
                        &error) < 0) {
            Py_CLEAR(result);
        }
    }
    return result;
}

/* The counts as int64 in memory that the host reads, side by side, after a wait. New reference. */
static usmpy_array *readable_counts(usmpy_state *state, usmpy_array *counts)
{
    usmpy_array *plain = (usmpy_array *)Py_NewRef(counts);
    if (counts->dtype != USM_INT64 || (counts->flags & USM_C_CONTIGUOUS) == 0) {
        Py_SETREF(plain, usmpy_array_duplicate(state, counts, counts->queue, (usm_kind)counts->alloc->kind,
                                               USM_INT64, 'C'));
    }
    if (plain != NULL) {
        Py_SETREF(plain, usmpy_array_readable(state, plain));
    }
    return plain;
}

/*
 * Where each element's copies begin, and last where they end: n + 1 numbers, of which PyMem_Free is the end.
 * The length of the result depends on the counts, so that the host has to read them, wherever they are.
 */
static int64_t *read_begins(usmpy_state *state, usmpy_array *counts, int64_t n)
{
    usmpy_array *plain = readable_counts(state, counts);
    int64_t *begins = plain == NULL ? NULL : PyMem_Malloc((size_t)(n + 1) * sizeof *begins);
    if (begins != NULL) {
        const usm_view view = usmpy_view(plain);
        usm_error error;
        if (usmpy_check(state, usm_indices_of_counts(&view, n, begins, &error), &error) < 0) {
            PyMem_Free(begins);
            begins = NULL;
        }
    } else if (plain != NULL) {
        PyErr_NoMemory();
    }
    Py_XDECREF(plain);
    return begins;
}

/* The same numbers as an array on the queue. */
static usmpy_array *upload(usmpy_state *state, PyObject *queue, const int64_t *numbers, int64_t n)
{
    PyObject *host_queue = usmpy_queue_of(queue)->device->info.has_usm_host ? queue : usmpy_host_queue(state);
    usmpy_array *host = host_queue == NULL
                            ? NULL
                            : usmpy_array_empty(state, host_queue, USM_HOST, USM_INT64, 1, &n, 'C', false);
    usmpy_array *array = NULL;
    if (host != NULL) {
        memcpy(host->data, numbers, (size_t)n * sizeof *numbers);
        array = usmpy_array_duplicate(state, host, queue, USM_DEVICE, USM_INT64, 'C');
        Py_DECREF(host);
    }
    return array;
}

/* The index in x of each element of the result, which has `total` along the axis. */
static usmpy_array *expand(usmpy_state *state, PyObject *queue, const int64_t *begins, int64_t n,
                           int64_t total)
{
    usm_error error;
    usmpy_array *places = upload(state, queue, begins, n + 1), *indices = NULL;
    if (places != NULL) {
        indices = usmpy_array_empty(state, queue, USM_DEVICE, USM_INT64, 1, &total, 'C', false);
    }
    if (indices != NULL) {
        const usm_view out = usmpy_view(indices), from = usmpy_view(places);
        if (usmpy_check(state, usm_expand_submit(usmpy_queue_of(queue), &out, &from, n, total, &error),
                        &error) < 0) {
            Py_CLEAR(indices);
        }
    }
    Py_XDECREF(places);
    return indices;
}

static usmpy_array *repeat_each(usmpy_state *state, usmpy_array *x, int axis, usmpy_array *counts)
{
    int64_t n = usmpy_shape(x)[axis], from[USM_MAX_NDIM], along[USM_MAX_NDIM] = {0};
    int64_t *begins = read_begins(state, counts, n);
    if (begins == NULL) {
        return NULL;
    }
    usm_kind kind =
        x->alloc->kind > counts->alloc->kind ? (usm_kind)x->alloc->kind : (usm_kind)counts->alloc->kind;
    usmpy_array *indices = NULL, *result = with_length(state, x, axis, begins[n], kind);
    if (result != NULL && result->size > 0) {
        indices = expand(state, x->queue, begins, n, begins[n]);
        int status = -1;
        if (indices != NULL) {
            memcpy(from, usmpy_strides(x), x->ndim * sizeof *from);
            from[axis] = 0;
            along[axis] = 1;
            const usm_view src = {x->alloc, x->data, (usm_dtype)x->dtype, x->ndim, usmpy_shape(result), from};
            const usm_view index = {indices->alloc, indices->data,       USM_INT64,
                                    x->ndim,        usmpy_shape(result), along};
            status = usmpy_take(state, result, &src, &index, n, usmpy_strides(x)[axis]);
        }
        if (status < 0) {
            Py_CLEAR(result);
        }
    }
    Py_XDECREF(indices);
    PyMem_Free(begins);
    return result;
}

/* repeats as an array of counts: for each element, or one for all of them. New reference. */
static usmpy_array *parse_counts(usmpy_state *state, PyObject *repeats, usmpy_array *x, int64_t length)
{
    PyObject *counts;
    static const char *const names[] = {"x", "repeats"};
    if (usmpy_is_array(state, repeats)) {
        counts = Py_NewRef(repeats);
        if (usmpy_queue_of(((usmpy_array *)counts)->queue) != usmpy_queue_of(x->queue)) {
            PyObject *const both[] = {(PyObject *)x, counts};
            usmpy_raise_placement(state, "repeat", both, names, 2);
            Py_CLEAR(counts);
        }
    } else if (PyTuple_Check(repeats) || PyList_Check(repeats)) {
        PyObject *host = usmpy_host_queue(state);
        counts = host == NULL ? NULL
                              : usmpy_array_from_python(
                                    state, repeats, PySequence_Size(repeats) == 0 ? USM_INT64 : USM_NO_DTYPE,
                                    host, USM_DEVICE);
    } else {
        PyErr_Format(
            PyExc_TypeError,
            "repeat(): repeats is %s %s; an int, a USMArray of integers or a sequence of ints is allowed",
            USMPY_A(repeats));
        return NULL;
    }
    if (counts == NULL) {
        return NULL;
    }
    usmpy_array *array = (usmpy_array *)counts;
    usm_dtype_kind kind = usm_dtype_table[array->dtype].kind;
    if (kind != USM_KIND_INT && kind != USM_KIND_UINT) {
        PyErr_Format(PyExc_TypeError, "repeat(): repeats has dtype %s; an integer type is allowed",
                     usm_dtype_table[array->dtype].name);
        Py_CLEAR(counts);
    } else if (array->ndim > 1 || (array->size != 1 && array->size != length)) {
        PyErr_Format(
            PyExc_ValueError,
            "repeat(): repeats has %d dimension%s and %lld element%s; one dimension of 1 or %lld elements "
            "is allowed",
            array->ndim, usmpy_plural(array->ndim), (long long)array->size, usmpy_plural(array->size),
            (long long)length);
        Py_CLEAR(counts);
    }
    return (usmpy_array *)counts;
}

static PyObject *repeat(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"repeat", 3, 2, 2, 2, {USMPY_x, USMPY_repeats, USMPY_axis}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[3];
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_deferred_poll();
    usmpy_array *x = usmpy_check_argument(state, out[0], "repeat"), *result = NULL;
    int axis = 0;
    if (x == NULL) {
        return NULL;
    }
    if (usmpy_given(out[2])) {
        axis = usmpy_parse_axis(out[2], x->ndim, "axis");
        x = axis < 0 ? NULL : (usmpy_array *)Py_NewRef(x);
    } else {
        x = flat(state, x);
    }
    if (x == NULL) {
        return NULL;
    }
    if (PyIndex_Check(out[1]) && !usmpy_is_array(state, out[1])) {
        int64_t count = PyNumber_AsSsize_t(out[1], PyExc_ValueError);
        if (count < 0 && !PyErr_Occurred()) {
            PyErr_Format(PyExc_ValueError, "repeat(): repeats is %lld; 0 or more is allowed",
                         (long long)count);
        }
        result = PyErr_Occurred() ? NULL : repeat_evenly(state, x, axis, count);
    } else {
        usmpy_array *counts = parse_counts(state, out[1], x, usmpy_shape(x)[axis]);
        result = counts == NULL ? NULL : repeat_each(state, x, axis, counts);
        Py_XDECREF(counts);
    }
    Py_DECREF(x);
    return (PyObject *)result;
}

static PyObject *tile(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"tile", 2, 2, 2, 2, {USMPY_x, USMPY_repetitions}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[2];
    int64_t counts[USM_MAX_NDIM], whole[USM_MAX_NDIM];
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_deferred_poll();
    usmpy_array *x = usmpy_check_argument(state, out[0], "tile");
    int n = x == NULL ? -1 : usmpy_parse_shape(out[1], counts, "repetitions");
    if (n < 0) {
        return NULL;
    }
    int ndim = n > x->ndim ? n : x->ndim;
    for (int i = ndim - 1; i >= 0; i--) { /* from the last axis on, both count from there */
        int own = i - (ndim - x->ndim), given = i - (ndim - n);
        int64_t count = given >= 0 ? counts[given] : 1, length = own >= 0 ? usmpy_shape(x)[own] : 1;
        if (count < 0) {
            return PyErr_Format(PyExc_ValueError, "tile(): repetitions is %R; 0 or more is allowed", out[1]);
        }
        if (__builtin_mul_overflow(length, count, &whole[i])) {
            PyErr_SetString(PyExc_ValueError, "tile(): the result would have more than 2**63 - 1 elements");
            return NULL;
        }
    }
    usmpy_array *result = usmpy_array_empty(state, x->queue, (usm_kind)x->alloc->kind, (usm_dtype)x->dtype,
                                            ndim, whole, 'C', false);
    if (result == NULL || result->size == 0) {
        return (PyObject *)result;
    }
    const usm_view dst = usmpy_view(result), src = usmpy_view(x);
    usm_error error;
    if (usmpy_check(state, usm_tile_submit(usmpy_queue_of(x->queue), &dst, &src, &error), &error) < 0) {
        Py_CLEAR(result);
    }
    return (PyObject *)result;
}

PyMethodDef usmpy_repeat_functions[] = {
    USMPY_METHOD("repeat", repeat, USMPY_DOC_repeat),
    USMPY_METHOD("tile", tile, USMPY_DOC_tile),
    {0},
};
