/* Copies, casts and moves of whole arrays. */
#include "array.h"
#include "docstrings.h"
#include "py/args.h"
#include "py/exchange/stream.h"

#include "core/memory/connection.h"

#include <stdlib.h>

int usmpy_submit_copy(usmpy_state *state, PyObject *queue_object, const usm_view *dst, const usm_view *src)
{
    usm_error error;
    return usmpy_check(state, usm_copy_submit(usmpy_queue_of(queue_object), dst, src, NULL, &error), &error);
}

usmpy_array *usmpy_array_submitted(usmpy_array *array, usm_status status, usm_error *error)
{
    if (usmpy_check(array->state, status, error) < 0) {
        Py_CLEAR(array);
    }
    return array;
}

int usmpy_array_copy(usmpy_array *dst, usmpy_array *src)
{
    const usm_view to = usmpy_view(dst), from = usmpy_view(src);
    return usmpy_submit_copy(dst->state, dst->queue, &to, &from);
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
        return usmpy_refuse(PyExc_ValueError, "%s of shape %s does not broadcast to shape %s", what,
                            usm_layout_text(src->ndim, usmpy_shape(src), from, sizeof from),
                            usm_layout_text(dst->ndim, usmpy_shape(dst), to, sizeof to));
    }
    *view = (usm_view){src->alloc, src->data, src->dtype, dst->ndim, usmpy_shape(dst), strides};
    return 0;
}

int usmpy_array_copy_broadcast(usmpy_array *dst, usmpy_array *src, const char *what)
{
    int64_t strides[USM_MAX_NDIM];
    usm_view from;
    if (usmpy_view_broadcast(dst, src, what, strides, &from) < 0) {
        return -1;
    }
    const usm_view to = usmpy_view(dst);
    return usmpy_submit_copy(dst->state, dst->queue, &to, &from);
}

int usmpy_array_fill(usmpy_array *dst, const void *element)
{
    const usm_view to = usmpy_view(dst);
    usm_error error;
    return usmpy_check(dst->state, usm_fill_submit(usmpy_queue_of(dst->queue), &to, element, NULL, &error),
                       &error);
}

/* Strides of compact memory whose axes are in the same order as src's, fastest last. */
static void keep_order(usmpy_array *src, int64_t *strides)
{
    const int64_t *old = usmpy_strides(src);
    int axes[USM_MAX_NDIM]; /* from the slowest to the fastest */
    for (int i = 0; i < src->ndim; i++) {
        int k = i;
        for (; k > 0 && llabs(old[axes[k - 1]]) < llabs(old[i]); k--) {
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

usmpy_array *usmpy_array_empty_like(usmpy_array *like, PyObject *queue_object, usm_kind kind, usm_dtype dtype,
                                    char order)
{
    bool keep = order == 'K' && (like->flags & (USM_C_CONTIGUOUS | USM_F_CONTIGUOUS)) == 0;
    char letter = order == 'K' || order == 'A' ? usmpy_contiguity(like) : order;
    usmpy_array *array = usmpy_array_empty(like->state, queue_object, kind, dtype, like->ndim,
                                           usmpy_shape(like), letter, false);
    if (array != NULL && keep) {
        keep_order(like, usmpy_strides(array));
        usmpy_array_finish(array);
    }
    return array;
}

usmpy_array *usmpy_array_like_over(usmpy_array *like, usm_alloc *alloc)
{
    int64_t strides[USM_MAX_NDIM];
    keep_order(like, strides);
    usmpy_array *array = usmpy_array_view(like, alloc->pointer, like->ndim, usmpy_shape(like), strides);
    if (array == NULL) {
        usm_alloc_release(alloc);
        return NULL;
    }
    usm_alloc_release(array->alloc);
    array->alloc = alloc;
    array->flags |= USMPY_WRITABLE;
    return array;
}

usmpy_array *usmpy_array_beside(usmpy_array *array, usm_dtype dtype, int ndim, const int64_t *shape)
{
    return usmpy_array_empty(array->state, array->queue, array->alloc->kind, dtype, ndim, shape, 'C', false);
}

usmpy_array *usmpy_array_duplicate(usmpy_array *src, PyObject *queue_object, usm_kind kind, usm_dtype dtype,
                                   char order)
{
    usmpy_array *copy = usmpy_array_empty_like(src, queue_object, kind, dtype, order);
    if (copy != NULL && usmpy_array_copy(copy, src) < 0) {
        Py_CLEAR(copy);
    }
    return copy;
}

PyObject *usmpy_array_copy_method(usmpy_array *array, PyObject *const *arguments)
{
    int order = usmpy_parse_order(arguments[0], "CFAK", 'C');
    return order < 0 ? NULL
                     : (PyObject *)usmpy_array_duplicate(array, array->queue, array->alloc->kind,
                                                         array->dtype, (char)order);
}

int usmpy_check_cast(usm_dtype from, usm_dtype to)
{
    if (!usm_dtype_can_cast(from, to, USM_CAST_UNSAFE)) {
        return usmpy_refuse(PyExc_TypeError,
                            "dtype %s cannot be cast to %s: one of them is only stored and exchanged",
                            usm_dtype_table[from].name, usm_dtype_table[to].name);
    }
    if (usm_dtype_table[from].kind == USM_DTYPE_KIND_COMPLEX &&
        usm_dtype_table[to].kind != USM_DTYPE_KIND_COMPLEX) {
        return usmpy_refuse(
            PyExc_TypeError,
            "dtype %s cannot be cast to %s: the imaginary part would be lost (array API standard, "
            "astype); take x.real first",
            usm_dtype_table[from].name, usm_dtype_table[to].name);
    }
    return 0;
}

PyObject *usmpy_cast(usmpy_array *array, usm_dtype dtype, bool copy, PyObject *queue_object, char order)
{
    bool same_place = usmpy_queue_of(queue_object) == usmpy_queue_of(array->queue);
    bool fits = order == 'K' || order == 'A' ||
                (array->flags & (order == 'F' ? USM_F_CONTIGUOUS : USM_C_CONTIGUOUS)) != 0;
    if (array->dtype == dtype && !copy && same_place && fits) {
        return Py_NewRef(array);
    }
    if (usmpy_check_cast(array->dtype, dtype) < 0) {
        return NULL;
    }
    usm_kind kind = usmpy_kind_on(usmpy_queue_of(queue_object)->device, array->alloc->kind);
    return (PyObject *)usmpy_array_duplicate(array, queue_object, kind, dtype, order);
}

PyObject *usmpy_array_astype(usmpy_array *array, PyObject *const *arguments)
{
    usmpy_state *state = array->state;
    usm_dtype dtype;
    int copy = usmpy_bool(arguments[1], 1, "astype", "copy");
    int order = copy < 0 ? -1 : usmpy_parse_order(arguments[2], "CFAK", 'K');
    if (order < 0 || usmpy_dtype_convert(state, arguments[0], &dtype) < 0) {
        return NULL;
    }
    PyObject *queue =
        usmpy_given(arguments[3]) ? usmpy_queue_from(state, arguments[3], "device") : Py_NewRef(array->queue);
    PyObject *result = queue == NULL ? NULL : usmpy_cast(array, dtype, copy, queue, (char)order);
    Py_XDECREF(queue);
    return result;
}

/* Later work in `queue` waits for what `after` has so far, and for work on the array's memory. 0 or -1. */
static int order_after(usm_queue *queue, usm_queue *after, usmpy_array *array)
{
    const usm_access access = {array->alloc, USM_READ};
    usm_submission submission = {.command = USM_BARRIER, .accesses = &access, .n_accesses = 1};
    usm_wait_list waits;
    usm_error error;
    usm_wait_list_init(&waits);
    usm_status status = after == NULL ? USM_OK : usm_queue_snapshot(after, &waits, &error);
    if (status == USM_OK) {
        submission.waits = waits.items;
        submission.n_waits = waits.n;
        status = usm_queue_submit(queue, &submission, NULL, &error);
    }
    usm_wait_list_clear(&waits);
    return usmpy_check(array->state, status, &error);
}

/* The array on this queue: itself, the same memory or a copy. */
static PyObject *move(usmpy_array *array, PyObject *queue)
{
    if (usmpy_queue_of(queue) == usmpy_queue_of(array->queue)) {
        return Py_NewRef(array);
    }
    if (usmpy_moves_in_place(array, queue, -1)) {
        return (PyObject *)usmpy_array_on_queue(array, queue);
    }
    usm_kind kind = usmpy_kind_on(usmpy_queue_of(queue)->device, array->alloc->kind);
    return (PyObject *)usmpy_array_duplicate(array, queue, kind, array->dtype, 'K');
}

/* The same as if the copy were made in `stream`: after what is in it so far, before what comes later. */
static PyObject *move_in_stream(usmpy_array *array, PyObject *queue, const usmpy_stream *stream)
{
    usmpy_state *state = array->state;
    usm_queue *after = usmpy_stream_queue(state, stream, usmpy_queue_of(queue)->device, "stream");
    if (after == NULL) {
        return NULL;
    }
    PyObject *result = order_after(usmpy_queue_of(queue), after, array) < 0 ? NULL : move(array, queue);
    if (result != NULL) {
        int status = stream->queue != NULL
                         ? order_after(after, NULL, (usmpy_array *)result)
                         : usmpy_stream_follow(state, after->device, stream->handle, (usmpy_array *)result);
        if (status < 0) {
            Py_CLEAR(result);
        }
    }
    usm_queue_release(after);
    return result;
}

PyObject *usmpy_array_to_device(usmpy_array *array, PyObject *const *arguments)
{
    usmpy_stream stream;
    PyObject *queue = usmpy_queue_from(array->state, arguments[0], "device"), *result = NULL;
    if (queue == NULL || !usmpy_given(arguments[1])) {
        result = queue == NULL ? NULL : move(array, queue);
    } else {
        int found = usmpy_stream_parse(array->state, arguments[1], usmpy_queue_of(queue)->device, &stream);
        static const char allowed[] =
            "a Queue, a stream of another library, the address of one or None is allowed";
        result = found > 0    ? move_in_stream(array, queue, &stream)
                 : found == 0 ? usmpy_wrong_type("stream", arguments[1], allowed)
                              : NULL;
    }
    Py_XDECREF(queue);
    return result;
}

/* A view of the whole array, which the caller may change before it returns it; NULL with an exception. */
static usmpy_array *whole_view(usmpy_state *state, PyObject *object)
{
    if (!usmpy_is_array(state, object)) {
        return usmpy_wrong_type("x", object, "a USMArray is allowed");
    }
    usmpy_array *array = (usmpy_array *)object;
    return usmpy_array_view(array, array->data, array->ndim, usmpy_shape(array), usmpy_strides(array));
}

/* The same memory as elements of another type of the same size. */
static PyObject *reinterpret(PyObject *module, PyObject *args)
{
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *object, *type;
    usm_dtype dtype;
    if (!PyArg_ParseTuple(args, "OO:_reinterpret", &object, &type) ||
        usmpy_dtype_convert(state, type, &dtype) < 0) {
        return NULL;
    }
    usmpy_array *view = whole_view(state, object);
    if (view != NULL && usm_dtype_table[dtype].bits != usm_dtype_table[view->dtype].bits) {
        PyErr_Format(PyExc_ValueError, "the sizes of dtype %s and of %s differ", usm_dtype_table[dtype].name,
                     usm_dtype_table[view->dtype].name);
        Py_CLEAR(view);
    }
    if (view != NULL) {
        view->dtype = (uint8_t)dtype;
    }
    return (PyObject *)view;
}

/* The same memory, which the result does not allow to be written. */
static PyObject *read_only(PyObject *module, PyObject *object)
{
    usmpy_array *view = whole_view(usmpy_state_of_module(module), object);
    if (view != NULL) {
        view->flags &= (uint8_t)~USMPY_WRITABLE;
    }
    return (PyObject *)view;
}

/* For usmpy._inspection.repr. */
static PyObject *peek(PyObject *module, PyObject *object)
{
    return usmpy_is_array(usmpy_state_of_module(module), object)
               ? usmpy_array_peek(object)
               : usmpy_wrong_type("x", object, "a USMArray is allowed");
}

PyMethodDef usmpy_copy_functions[] = {
    {"_peek", peek, METH_O, USMPY_DOC__peek},
    {"_reinterpret", reinterpret, METH_VARARGS, USMPY_DOC__reinterpret},
    {"_read_only", read_only, METH_O, USMPY_DOC__read_only},
    {0},
};
