/* Copies, casts and moves of whole arrays. */
#include "array.h"
#include "docstrings.h"
#include "py/args.h"
#include "py/deferred.h"
#include "py/errors.h"
#include "py/exchange/stream.h"

#include "core/memory/connection.h"

#include <stdlib.h>
#include <string.h>

int usmpy_submit_copy(usmpy_state *state, PyObject *queue_object, const usm_view *dst, const usm_view *src)
{
    usm_error error;
    usm_status status = usm_copy_submit(usmpy_queue_of(queue_object), dst, src, NULL, &error);
    if (status != USM_OK) {
        usmpy_raise(state, status, &error);
        return -1;
    }
    return 0;
}

int usmpy_array_copy(usmpy_state *state, usmpy_array *dst, usmpy_array *src)
{
    const usm_view to = usmpy_view(dst), from = usmpy_view(src);
    return usmpy_submit_copy(state, dst->queue, &to, &from);
}

int usmpy_view_broadcast(usmpy_array *dst, usmpy_array *src, const char *what, int64_t *strides,
                         usm_view *view)
{
    /* Leading lengths of 1 that dst lacks are dropped, as NumPy does. */
    int extra = src->ndim > dst->ndim ? src->ndim - dst->ndim : 0;
    for (int i = 0; i < extra; i++) {
        if (usmpy_shape(src)[i] != 1) {
            extra = 0;
        }
    }
    if (!usm_layout_broadcast(src->ndim - extra, usmpy_shape(src) + extra, usmpy_strides(src) + extra,
                              dst->ndim, usmpy_shape(dst), strides)) {
        char from[200], to[200];
        PyErr_Format(PyExc_ValueError, "%s of shape %s does not broadcast to shape %s", what,
                     usm_layout_text(src->ndim, usmpy_shape(src), from, sizeof from),
                     usm_layout_text(dst->ndim, usmpy_shape(dst), to, sizeof to));
        return -1;
    }
    *view = (usm_view){src->alloc, src->data, (usm_dtype)src->dtype, dst->ndim, usmpy_shape(dst), strides};
    return 0;
}

int usmpy_array_copy_broadcast(usmpy_state *state, usmpy_array *dst, usmpy_array *src, const char *what)
{
    int64_t strides[USM_MAX_NDIM];
    usm_view from;
    if (usmpy_view_broadcast(dst, src, what, strides, &from) < 0) {
        return -1;
    }
    const usm_view to = usmpy_view(dst);
    return usmpy_submit_copy(state, dst->queue, &to, &from);
}

int usmpy_array_fill(usmpy_state *state, usmpy_array *dst, const void *element)
{
    usm_view to = usmpy_view(dst);
    usm_error error;
    usm_status status = usm_fill_submit(usmpy_queue_of(dst->queue), &to, element, NULL, &error);
    if (status != USM_OK) {
        usmpy_raise(state, status, &error);
        return -1;
    }
    return 0;
}

/* Strides of compact memory whose axes are in the same order as src's, fastest last. */
static void keep_order(usmpy_array *src, int64_t *strides)
{
    int axes[USM_MAX_NDIM];
    for (int i = 0; i < src->ndim; i++) {
        int64_t stride = usmpy_strides(src)[i] < 0 ? -usmpy_strides(src)[i] : usmpy_strides(src)[i];
        int k = i;
        for (; k > 0; k--) {
            int64_t before = usmpy_strides(src)[axes[k - 1]];
            if ((before < 0 ? -before : before) >= stride) {
                break;
            }
            axes[k] = axes[k - 1];
        }
        axes[k] = i;
    }
    int64_t step = 1;
    for (int k = src->ndim - 1; k >= 0; k--) {
        strides[axes[k]] = step;
        int64_t length = usmpy_shape(src)[axes[k]];
        if (length > 1 && __builtin_mul_overflow(step, length, &step)) {
            step = INT64_MAX; /* an empty array: no stride of it is ever used */
        }
    }
}

bool usmpy_moves_in_place(const usmpy_array *array, PyObject *queue, int copy)
{
    const usm_place *place = usmpy_queue_of(queue)->place;
    return copy == 0 ? usm_place_reaches(place, array->alloc) : usm_place_is_home(place, array->alloc);
}

usmpy_array *usmpy_array_empty_like(usmpy_state *state, usmpy_array *like, PyObject *queue_object,
                                    usm_kind kind, usm_dtype dtype, char order)
{
    unsigned contiguous = like->flags & (USM_C_CONTIGUOUS | USM_F_CONTIGUOUS);
    if (order == 'A' || (order == 'K' && contiguous != 0)) {
        order = contiguous == USM_F_CONTIGUOUS ? 'F' : 'C';
    }
    usmpy_array *array = usmpy_array_empty(state, queue_object, kind, dtype, like->ndim, usmpy_shape(like),
                                           order == 'F' ? 'F' : 'C', false);
    if (array != NULL && order == 'K') {
        keep_order(like, usmpy_strides(array));
        usmpy_array_finish(array);
    }
    return array;
}

usmpy_array *usmpy_array_duplicate(usmpy_state *state, usmpy_array *src, PyObject *queue_object,
                                   usm_kind kind, usm_dtype dtype, char order)
{
    usmpy_array *copy = usmpy_array_empty_like(state, src, queue_object, kind, dtype, order);
    if (copy != NULL && usmpy_array_copy(state, copy, src) < 0) {
        Py_CLEAR(copy);
    }
    return copy;
}

PyObject *usmpy_array_copy_method(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"copy", 1, 1, 0, 0, {USMPY_order}};
    usmpy_array *array = (usmpy_array *)self;
    PyObject *out[1];
    if (usmpy_parse(array->state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    int order = usmpy_parse_order(out[0], "CFAK", 'C');
    usmpy_deferred_poll();
    return order < 0 ? NULL
                     : (PyObject *)usmpy_array_duplicate(array->state, array, array->queue,
                                                         (usm_kind)array->alloc->kind,
                                                         (usm_dtype)array->dtype, (char)order);
}

/* 0, or -1 with TypeError where a cast of values makes no sense, however it is asked for. */
int usmpy_check_cast(usm_dtype from, usm_dtype to)
{
    if (!usm_dtype_can_cast(from, to, USM_CAST_UNSAFE)) {
        PyErr_Format(PyExc_TypeError,
                     "dtype %s cannot be cast to %s: one of them is only stored and exchanged",
                     usm_dtype_table[from].name, usm_dtype_table[to].name);
        return -1;
    }
    if (usm_dtype_table[from].kind == USM_KIND_COMPLEX && usm_dtype_table[to].kind != USM_KIND_COMPLEX) {
        PyErr_Format(PyExc_TypeError,
                     "dtype %s cannot be cast to %s: the imaginary part would be lost (array API standard, "
                     "astype); take x.real first",
                     usm_dtype_table[from].name, usm_dtype_table[to].name);
        return -1;
    }
    return 0;
}

PyObject *usmpy_cast(usmpy_state *state, usmpy_array *array, usm_dtype dtype, bool copy,
                     PyObject *queue_object, char order)
{
    bool same_place = usmpy_queue_of(queue_object) == usmpy_queue_of(array->queue);
    bool fits = order == 'K' || order == 'A' ||
                (array->flags & (order == 'F' ? USM_F_CONTIGUOUS : USM_C_CONTIGUOUS)) != 0;
    if (array->dtype == dtype && !copy && same_place && fits) {
        return Py_NewRef(array);
    }
    if (usmpy_check_cast((usm_dtype)array->dtype, dtype) < 0) {
        return NULL;
    }
    usm_kind kind = usmpy_kind_on(usmpy_queue_of(queue_object)->device, (usm_kind)array->alloc->kind);
    return (PyObject *)usmpy_array_duplicate(state, array, queue_object, kind, dtype, order);
}

/* What astype takes after its array: dtype, copy, order, device. */
PyObject *usmpy_astype(usmpy_state *state, usmpy_array *array, PyObject *const *out)
{
    usm_dtype dtype;
    int copy = usmpy_bool(out[1], 1, "astype", "copy");
    int order = copy < 0 ? -1 : usmpy_parse_order(out[2], "CFAK", 'K');
    if (order < 0 || usmpy_dtype_convert(state, out[0], &dtype) < 0) {
        return NULL;
    }
    usmpy_deferred_poll();
    PyObject *queue =
        usmpy_given(out[3]) ? usmpy_queue_from(state, out[3], "device") : Py_NewRef(array->queue);
    PyObject *result = queue == NULL ? NULL : usmpy_cast(state, array, dtype, copy, queue, (char)order);
    Py_XDECREF(queue);
    return result;
}

PyObject *usmpy_array_astype(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {
        "astype", 4, 1, 1, 1, {USMPY_dtype, USMPY_copy, USMPY_order, USMPY_device}};
    usmpy_state *state = ((usmpy_array *)self)->state;
    PyObject *out[4];
    return usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0
               ? NULL
               : usmpy_astype(state, (usmpy_array *)self, out);
}

/* Later work in `queue` waits for what `after` has so far, and for work on the memory of `array`. 0 or -1. */
static int order_behind(usmpy_state *state, usm_queue *queue, usm_queue *after, usmpy_array *array)
{
    const usm_command command = {.kind = USM_COMMAND_BARRIER};
    const usm_access access = {array->alloc, USM_READ};
    usm_submission submission = {.command = &command, .accesses = &access, .n_accesses = 1};
    usm_wait *waits = NULL;
    usm_error error;
    usm_status status = USM_OK;
    if (after != NULL) {
        status = usm_queue_snapshot(after, &waits, &submission.n_waits, &error);
        submission.waits = waits;
    }
    if (status == USM_OK) {
        status = usm_queue_submit(queue, &submission, NULL, &error);
    }
    for (size_t i = 0; i < submission.n_waits; i++) {
        usm_event_release(waits[i].event);
    }
    free(waits);
    if (status != USM_OK) {
        usmpy_raise(state, status, &error);
        return -1;
    }
    return 0;
}

PyObject *usmpy_array_to_device(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"to_device", 2, 1, 1, 1, {USMPY_device, USMPY_stream}};
    usmpy_state *state = ((usmpy_array *)self)->state;
    usmpy_array *array = (usmpy_array *)self;
    PyObject *out[2];
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_stream stream;
    int given = usmpy_given(out[1]) ? usmpy_stream_parse(state, out[1], &stream) : 0;
    if (given < 0 || (given == 0 && usmpy_given(out[1]))) {
        return given < 0
                   ? NULL
                   : PyErr_Format(
                         PyExc_TypeError,
                         "stream is %s %s; a Queue, a CUDA stream of any library, the address of one or "
                         "None is allowed",
                         USMPY_A(out[1]));
    }
    usmpy_deferred_poll();
    PyObject *queue = usmpy_queue_from(state, out[0], "device"), *result;
    if (queue == NULL) {
        return NULL;
    }
    /* As if the copy were made in `stream`: behind what is in it so far, before what comes later. */
    usm_queue *after =
        given > 0 ? usmpy_stream_queue(state, &stream, usmpy_queue_of(queue)->device, "stream") : NULL;
    if (given > 0 && (after == NULL || order_behind(state, usmpy_queue_of(queue), after, array) < 0)) {
        if (after != NULL) {
            usm_queue_release(after);
        }
        Py_DECREF(queue);
        return NULL;
    }
    if (usmpy_queue_of(queue) == usmpy_queue_of(array->queue)) {
        result = Py_NewRef(self);
    } else if (usmpy_moves_in_place(array, queue, -1)) {
        result = (PyObject *)usmpy_array_on_queue(state, array, queue);
    } else {
        usm_kind kind = usmpy_kind_on(usmpy_queue_of(queue)->device, (usm_kind)array->alloc->kind);
        result = (PyObject *)usmpy_array_duplicate(state, array, queue, kind, (usm_dtype)array->dtype, 'K');
    }
    Py_DECREF(queue);
    if (result != NULL && given > 0) {
        int status = stream.queue != NULL
                         ? order_behind(state, after, NULL, (usmpy_array *)result)
                         : usmpy_stream_follow(state, after->device, stream.handle, (usmpy_array *)result);
        if (status < 0) {
            Py_CLEAR(result);
        }
    }
    if (after != NULL) {
        usm_queue_release(after);
    }
    return result;
}

/* The same memory as elements of another type of the same size. */
static PyObject *reinterpret(PyObject *module, PyObject *args)
{
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *object, *type;
    usm_dtype dtype;
    if (!PyArg_ParseTuple(args, "O!O:_reinterpret", state->array_type, &object, &type) ||
        usmpy_dtype_convert(state, type, &dtype) < 0) {
        return NULL;
    }
    usmpy_array *array = (usmpy_array *)object;
    if (usm_dtype_table[dtype].bits != usm_dtype_table[array->dtype].bits) {
        return PyErr_Format(PyExc_ValueError, "the sizes of dtype %s and of %s differ",
                            usm_dtype_table[dtype].name, usm_dtype_table[array->dtype].name);
    }
    usmpy_array *view =
        usmpy_array_view(state, array, array->data, array->ndim, usmpy_shape(array), usmpy_strides(array));
    if (view != NULL) {
        view->dtype = (uint8_t)dtype;
    }
    return (PyObject *)view;
}

/* The same memory, not to be written through the result. */
static PyObject *read_only(PyObject *module, PyObject *object)
{
    usmpy_state *state = usmpy_state_of_module(module);
    if (!usmpy_is_array(state, object)) {
        return PyErr_Format(PyExc_TypeError, "x is %s %s; a USMArray is allowed", USMPY_A(object));
    }
    usmpy_array *array = (usmpy_array *)object;
    usmpy_array *view =
        usmpy_array_view(state, array, array->data, array->ndim, usmpy_shape(array), usmpy_strides(array));
    if (view != NULL) {
        view->flags &= (uint8_t)~USMPY_WRITABLE;
    }
    return (PyObject *)view;
}

/* For usmpy._display.repr: tolist() that does not count as asking for an error. */
static PyObject *peek(PyObject *module, PyObject *object)
{
    if (!usmpy_is_array(usmpy_state_of_module(module), object)) {
        return PyErr_Format(PyExc_TypeError, "x is a %s; a USMArray is allowed", Py_TYPE(object)->tp_name);
    }
    return usmpy_array_peek(object);
}

PyMethodDef usmpy_copy_functions[] = {
    {"_peek", peek, METH_O, USMPY_DOC__peek},
    {"_reinterpret", reinterpret, METH_VARARGS, USMPY_DOC__reinterpret},
    {"_read_only", read_only, METH_O, USMPY_DOC__read_only},
    {0},
};
