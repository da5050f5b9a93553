/* Arrays of other processes: share(), handles of arrays, and arrays from handles. */
#include "docstrings.h"
#include "py/args.h"
#include "py/arrays/array.h"
#include "py/objects/trace.h"
#include "py/wait.h"

#include "core/device/registry.h"
#include "core/memory/connection.h"
#include "core/share/export.h"
#include "core/share/opening.h"
#include "core/share/share.h"

/* How traces name the exchange. */
#define HANDLE "IPC handle"

static PyObject *share(usmpy_state *state, PyObject *const *arguments)
{
    if (!usmpy_is_array(state, arguments[0])) {
        return usmpy_wrong_type("x", arguments[0], "a USMArray is allowed");
    }
    usmpy_array *array = (usmpy_array *)arguments[0];
    if (usm_share_has(array->alloc)) {
        return Py_NewRef(array);
    }
    usm_alloc *alloc;
    usm_error error;
    size_t nbytes = (size_t)usm_dtype_nbytes(array->dtype, array->size);
    usm_place *place = usmpy_queue_of(array->queue)->place;
    PyThreadState *thread = PyEval_SaveThread();
    usm_status status = usm_share_create(place, (usm_kind)array->alloc->kind, nbytes,
                                         USMPY_PATIENCE(INT64_MAX, &thread), &alloc, &error);
    PyEval_RestoreThread(thread);
    if (status != USM_OK) {
        return usmpy_raise(state, status, &error);
    }
    usmpy_array *copy = usmpy_array_like_over(array, alloc);
    if (copy != NULL && usmpy_array_copy(copy, array) < 0) {
        Py_CLEAR(copy);
    }
    return (PyObject *)copy;
}

PyObject *usmpy_array_get_shareable(PyObject *self, void *Py_UNUSED(unused))
{
    return PyBool_FromLong(usm_share_has(((usmpy_array *)self)->alloc));
}

/* A tuple of the ints; the descriptors stay open. NULL with an exception. */
static PyObject *tuple_of(const int *descriptors, size_t n)
{
    int64_t values[USM_HANDLE_DESCRIPTORS];
    for (size_t i = 0; i < n; i++) {
        values[i] = descriptors[i];
    }
    return usmpy_int_tuple((int)n, values);
}

PyObject *usmpy_array_get_ipc_handle(PyObject *self, PyObject *Py_UNUSED(unused))
{
    usmpy_array *array = (usmpy_array *)self;
    usm_share_handle handle;
    int descriptors[USM_HANDLE_DESCRIPTORS];
    usm_error error;
    usmpy_deferred_poll();
    memset(&handle, 0, sizeof handle);
    PyThreadState *thread = PyEval_SaveThread();
    usm_status status =
        usm_share_export(array->alloc, &handle, descriptors, USMPY_PATIENCE(INT64_MAX, &thread), &error);
    PyEval_RestoreThread(thread);
    if (usmpy_check(array->state, status, &error) < 0) {
        return NULL;
    }
    const usm_device *device = usmpy_queue_of(array->queue)->device;
    if (handle.rule == USM_SHARE_BACKEND) {
        device = array->alloc->place->device;
    }
    size_t length = (size_t)array->ndim * sizeof(int64_t);
    handle.dtype = array->dtype;
    handle.ndim = array->ndim;
    handle.flags = (array->flags & USMPY_WRITABLE) != 0 ? 0 : USM_HANDLE_READONLY;
    handle.kind = array->alloc->kind;
    handle.offset = array->data == NULL ? 0 : array->data - (char *)array->alloc->pointer;
    memcpy(handle.uuid, device->info.uuid, sizeof handle.uuid);
    usm_device_text(device, handle.device, sizeof handle.device);
    memcpy(handle.dims, usmpy_shape(array), length);
    memcpy(handle.dims + array->ndim, usmpy_strides(array), length);
    if (usmpy_check(array->state, usm_handle_seal(&handle, &error), &error) < 0) {
        usm_descriptors_close(descriptors, handle.n_descriptors);
        return NULL;
    }
    usmpy_trace_export(array, HANDLE);
    PyObject *tuple = tuple_of(descriptors, handle.n_descriptors);
    PyObject *result = tuple == NULL ? NULL
                                     : usmpy_call("usmpy._processes.share", "make_handle", "(y#N)", &handle,
                                                  (Py_ssize_t)handle.size, tuple);
    if (result == NULL) {
        usm_descriptors_close(descriptors, handle.n_descriptors);
    }
    return result;
}

/* The bytes of a handle: 0, or -1 with TypeError or ValueError. */
static int read_handle(usmpy_state *state, PyObject *data, usm_share_handle *handle)
{
    Py_buffer view;
    usm_error error;
    if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) < 0) {
        return -1;
    }
    usm_status status = usm_handle_read(view.buf, (size_t)view.len, handle, &error);
    PyBuffer_Release(&view);
    return usmpy_check(state, status, &error);
}

/* The descriptors in a tuple of ints: 0, or -1 with an exception. */
static int read_descriptors(usmpy_state *state, PyObject *tuple, const usm_share_handle *handle, int *out)
{
    usm_error error;
    size_t n = (size_t)PyTuple_GET_SIZE(tuple);
    for (size_t i = 0; i < n && i < USM_HANDLE_DESCRIPTORS; i++) {
        PyObject *item = PyTuple_GET_ITEM(tuple, (Py_ssize_t)i);
        Py_ssize_t descriptor = usmpy_ssize_of(item, "fds", (Py_ssize_t)i, USMPY_AN_INT);
        if (descriptor == -1 && PyErr_Occurred() != NULL) {
            return -1;
        }
        out[i] = descriptor == (int)descriptor ? (int)descriptor : -1; /* which is none that is open */
    }
    return usmpy_check(state, usm_handle_check(handle, out, n, &error), &error);
}

/* Duplicates of the descriptors that were given, or that the exporter has, for the caller to close. */
static PyObject *share_descriptors(usmpy_state *state, PyObject *const *arguments)
{
    usm_share_handle handle;
    usm_error error;
    int given[USM_HANDLE_DESCRIPTORS], own[USM_HANDLE_DESCRIPTORS];
    usm_status status;
    if (read_handle(state, arguments[0], &handle) < 0) {
        return NULL;
    }
    if (arguments[1] == Py_None) {
        status = usm_handle_fetch(&handle, own, &error);
    } else if (read_descriptors(state, arguments[1], &handle, given) < 0) {
        return NULL;
    } else {
        status = usm_descriptors_copy(given, handle.n_descriptors, own, &error);
    }
    if (usmpy_check(state, status, &error) < 0) {
        return NULL;
    }
    PyObject *tuple = tuple_of(own, handle.n_descriptors);
    if (tuple == NULL) {
        usm_descriptors_close(own, handle.n_descriptors);
    }
    return tuple;
}

/* What finds the exporter's device; the host's queue where it is that, or where no device need be found. */
static PyObject *share_exporter(usmpy_state *state, PyObject *const *arguments)
{
    usm_share_handle handle;
    char text[USM_DEVICE_TEXT];
    PyObject *host = usmpy_host_queue(state);
    if (host == NULL || read_handle(state, arguments[0], &handle) < 0) {
        return NULL;
    }
    if ((handle.rule == USM_SHARE_MEMFD && arguments[1] != Py_None) ||
        strcmp(handle.device, usm_device_text(usmpy_queue_of(host)->device, text, sizeof text)) == 0) {
        return Py_NewRef(host);
    }
    return Py_BuildValue("(sy#)", handle.device, handle.uuid, (Py_ssize_t)sizeof handle.uuid);
}

/*
 * The queue of the array that a handle opens to, a new reference, and the place of its memory. `exporter` is
 * the queue of the exporter's device, and `alloc` the block if this process has it, else NULL.
 */
static PyObject *placement(usmpy_state *state, const usm_share_handle *handle, const usm_alloc *alloc,
                           PyObject *exporter, PyObject *device, usm_place **place)
{
    usm_queue *queue;
    usm_error error;
    PyObject *result;
    bool is_file = handle->rule == USM_SHARE_MEMFD;
    *place =
        alloc != NULL ? alloc->place : usmpy_queue_of(is_file ? usmpy_host_queue(state) : exporter)->place;
    if (device != Py_None) {
        result = usmpy_queue_from(state, device, "device");
    } else if (alloc == NULL || is_file) {
        result = Py_NewRef(exporter);
    } else { /* in the context that the block is of */
        usm_status status = usm_place_queue(*place, &queue, &error);
        result = status == USM_OK ? usmpy_queue_wrap(state, queue) : usmpy_raise(state, status, &error);
    }
    const usm_queue *user = result == NULL ? NULL : usmpy_queue_of(result);
    /* Memory of the device itself is opened in the context of the queue that was given. */
    if (user != NULL && (handle->rule == USM_SHARE_NOTHING ||
                         (alloc == NULL && !is_file && user->device == (*place)->device))) {
        *place = user->place;
    }
    if (user != NULL &&
        usm_connection(*place, (usm_kind)handle->kind, user->place) != USM_CONNECTION_UNIFIED) {
        PyErr_Format(
            PyExc_BufferError,
            "%s cannot use the memory of %s in place; open the handle there, and copy with to_device()",
            user->device->info.name, (*place)->device->info.name);
        Py_CLEAR(result);
    }
    return result;
}

static PyObject *share_open(usmpy_state *state, PyObject *const *arguments)
{
    usm_share_handle handle;
    usm_error error;
    int descriptors[USM_HANDLE_DESCRIPTORS];
    usm_place *place;
    usm_alloc *alloc = NULL;
    int readonly = usmpy_bool(arguments[4], 0, "open", "readonly");
    if (readonly < 0 || read_handle(state, arguments[0], &handle) < 0 ||
        read_descriptors(state, arguments[1], &handle, descriptors) < 0) {
        return NULL;
    }
    if (!usm_handle_is_within(&handle)) {
        return usmpy_error_format(PyExc_ValueError, "the handle's array does not lie within its memory");
    }
    readonly |= (handle.flags & USM_HANDLE_READONLY) != 0;
    PyObject *exporter =
        usmpy_host_queue(state) == NULL ? NULL : usmpy_queue_from(state, arguments[2], "exporter");
    if (exporter == NULL) {
        return NULL;
    }
    usm_alloc *known = usm_share_find(&handle);
    PyObject *queue = placement(state, &handle, known, exporter, arguments[3], &place);
    Py_DECREF(exporter);
    usmpy_array *array = queue == NULL ? NULL : usmpy_array_new(state, handle.ndim);
    if (array != NULL) {
        PyThreadState *thread = PyEval_SaveThread();
        usm_status status = usm_share_open(place, &handle, descriptors, readonly != 0, &alloc, &error);
        PyEval_RestoreThread(thread);
        if (usmpy_check(state, status, &error) < 0) {
            Py_CLEAR(array);
        }
    }
    if (known != NULL) {
        usm_alloc_release(known);
    }
    if (array == NULL) {
        Py_XDECREF(queue);
        return NULL;
    }
    size_t length = (size_t)handle.ndim * sizeof(int64_t);
    memcpy(usmpy_shape(array), handle.dims, length);
    memcpy(usmpy_strides(array), handle.dims + handle.ndim, length);
    array->alloc = alloc;
    char *data = alloc->pointer == NULL ? NULL : (char *)alloc->pointer + handle.offset;
    return (PyObject *)usmpy_array_imported(array, data, queue, handle.dtype, readonly == 0, HANDLE);
}

USMPY_FUNCTION(share)
USMPY_ENTRY(_share_descriptors, share_descriptors(state, arguments))
USMPY_ENTRY(_share_exporter, share_exporter(state, arguments))
USMPY_ENTRY(_share_open, share_open(state, arguments))

PyMethodDef usmpy_share_functions[] = {
    USMPY_ROW(share), USMPY_ROW(_share_descriptors), USMPY_ROW(_share_exporter), USMPY_ROW(_share_open), {0},
};
