/* Parses stream arguments, orders streams of other libraries after tasks, and makes queues over streams. */
#include "stream.h"

#include "dlpack.h"
#include "native.h"
#include "py/args.h"
#include "py/deferred.h"
#include "py/errors.h"
#include "py/keep.h"
#include "py/wait.h"

#include "core/device/registry.h"
#include "core/streams/lend.h"

const usm_backend *usmpy_reported_backend(usmpy_state *state, const usm_backend_report *report)
{
    if (report->absent != NULL) {
        PyErr_SetString(report->broken ? state->usm_error : state->backend_unavailable, report->absent);
        return NULL;
    }
    return report->backend;
}

const usm_backend *usmpy_backend_for(usmpy_state *state, usm_interface interface)
{
    const usm_backend_report *report;
    USMPY_WITHOUT_GIL(report = usm_backend_start_for(interface));
    return usmpy_reported_backend(state, report);
}

PyObject *usmpy_attribute(usmpy_state *state, PyObject *object, usmpy_name name)
{
    PyObject *value = PyObject_GetAttr(object, state->names[name]);
    if (value == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
    }
    return value;
}

/*
 * Converts a handle that an object returned; 0 and None are the legacy default stream. Takes ownership of
 * `number`. 1 or -1.
 */
static int convert_handle(PyObject *object, PyObject *number, usmpy_stream *out)
{
    int found = number == Py_None ? 1 : usmpy_address_of(number, "handle", &out->handle);
    if (found == 0 || (found < 0 && PyErr_ExceptionMatches(PyExc_TypeError))) {
        usmpy_error_format(PyExc_TypeError,
                           "the stream %.100R has the handle %.100R; an address, 0 or None is allowed",
                           object, number);
    }
    Py_DECREF(number);
    out->handle = out->handle == NULL ? USM_STREAM_LEGACY : out->handle;
    return found > 0 ? 1 : -1;
}

/* Reads __cuda_stream__, a method or an attribute that gives (0, handle). 1; 0 if there is none; -1. */
static int by_protocol(usmpy_state *state, PyObject *object, usmpy_stream *out)
{
    PyObject *info = usmpy_attribute(state, object, USMPY___cuda_stream__);
    if (info != NULL && PyCallable_Check(info)) {
        Py_SETREF(info, PyObject_CallNoArgs(info));
    }
    if (info == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    PyObject *pair =
        PySequence_Check(info) && !PyUnicode_Check(info) ? usmpy_tuple_of(info, "__cuda_stream__", 2) : NULL;
    int found = -1;
    if (pair == NULL || PyTuple_GET_SIZE(pair) != 2 || !PyLong_Check(PyTuple_GET_ITEM(pair, 0))) {
        usmpy_error_format(PyExc_TypeError, "%.80s.__cuda_stream__ returned %.100R; (0, handle) is needed",
                           Py_TYPE(object)->tp_name, info);
    } else if (PyObject_IsTrue(PyTuple_GET_ITEM(pair, 0)) != 0) {
        usmpy_error_format(PyExc_TypeError,
                           "%.80s.__cuda_stream__ has version %.100R; version 0 is supported",
                           Py_TYPE(object)->tp_name, PyTuple_GET_ITEM(pair, 0));
    } else {
        found = convert_handle(object, Py_NewRef(PyTuple_GET_ITEM(pair, 1)), out);
    }
    Py_XDECREF(pair);
    Py_DECREF(info);
    return found;
}

/*
 * Reads streams without the protocol. Other objects also have an attribute named ptr or handle, so one named
 * synchronize is required. 1, 0 or -1.
 */
static int by_library(usmpy_state *state, PyObject *object, usmpy_stream *out)
{
    PyObject *number = usmpy_attribute(state, object, USMPY_cuda_stream);
    if (number == NULL && !PyErr_Occurred() && PyObject_HasAttr(object, state->names[USMPY_synchronize])) {
        number = usmpy_attribute(state, object, USMPY_ptr);
        if (number == NULL && !PyErr_Occurred()) {
            number = usmpy_attribute(state, object, USMPY_handle);
            PyObject *value = number == NULL ? NULL : usmpy_attribute(state, number, USMPY_value);
            if (value != NULL || PyErr_Occurred()) { /* Numba's handle is a ctypes object */
                Py_XSETREF(number, value);
            }
        }
    }
    return number != NULL ? convert_handle(object, number, out) : PyErr_Occurred() ? -1 : 0;
}

/* The number of the object's device: its device_id, device.device_id or device.index; -1 for none. */
static int device_number(usmpy_state *state, PyObject *object)
{
    static const usmpy_name names[] = {USMPY_device_id, USMPY_index};
    PyObject *number = usmpy_attribute(state, object, USMPY_device_id);
    if (number == NULL && !PyErr_Occurred()) {
        PyObject *device = usmpy_attribute(state, object, USMPY_device);
        for (size_t i = 0; device != NULL && number == NULL && i < sizeof names / sizeof names[0]; i++) {
            number = usmpy_attribute(state, device, names[i]);
        }
        Py_XDECREF(device);
    }
    long value = number != NULL && PyLong_Check(number) ? PyLong_AsLong(number) : -1;
    Py_XDECREF(number);
    PyErr_Clear();
    return value >= 0 && value <= INT32_MAX ? (int)value : -1;
}

/* `otherwise` if it has streams, else the first device that has; NULL with an exception. */
static usm_device *device_with_streams(usmpy_state *state, usm_device *otherwise)
{
    if (otherwise != NULL && usm_backend_has_streams(otherwise->backend)) {
        return otherwise;
    }
    return usmpy_backend_for(state, USM_INTERFACE_STREAMS) == NULL
               ? NULL
               : usm_backend_start_for(USM_INTERFACE_STREAMS)->devices[0];
}

static int refuse_number(const char *parameter, const usm_device *device)
{
    return usmpy_refuse(PyExc_TypeError,
                        "%s is an int, but backend %s has no streams with numbers; a Queue, an Event or a "
                        "stream object is allowed",
                        parameter, usm_backend_name(device->backend));
}

/*
 * The stream that an int stands for: on the device, or on the one that has streams. 1, or -1 with ValueError,
 * or TypeError where streams have no numbers. Where there are none, usmpy_stream_device raises that.
 */
static int by_number(usmpy_state *state, PyObject *object, const usm_device *device, usmpy_stream *out)
{
    void *number = NULL;
    device = device != NULL ? device : device_with_streams(state, NULL);
    PyErr_Clear();
    const usm_stream_numbers *numbers =
        usm_dlpack_type_of(device != NULL ? device->info.dlpack_type : kDLCUDA)->numbers;
    out->plain = true;
    if (numbers == NULL) {
        return usm_backend_has_streams(device->backend) ? refuse_number("stream", device) : 1;
    }
    out->handle = usmpy_address_of(object, "stream", &number) > 0
                      ? usm_stream_of_number(numbers, (uint64_t)(uintptr_t)number)
                      : NULL;
    return out->handle != NULL
               ? 1
               : usmpy_refuse(PyExc_ValueError, "stream is %.100R; %s is allowed", object, numbers->allowed);
}

int usmpy_stream_parse(usmpy_state *state, PyObject *object, const usm_device *device, usmpy_stream *out)
{
    *out = (usmpy_stream){.device = -1};
    if (Py_IS_TYPE(object, state->queue_type)) {
        out->queue = usmpy_queue_of(object);
        return 1;
    }
    if (PyLong_Check(object) && !PyBool_Check(object)) {
        return by_number(state, object, device, out);
    }
    if (object == Py_None || PyLong_Check(object) || PyFloat_Check(object) || PyUnicode_Check(object) ||
        Py_IS_TYPE(object, state->array_type)) {
        return 0;
    }
    int found = by_protocol(state, object, out);
    found = found == 0 ? by_library(state, object, out) : found;
    if (found > 0 && (uintptr_t)out->handle <= (uintptr_t)USM_STREAM_PER_THREAD) {
        out->device = device_number(state, object);
    }
    return found;
}

usm_device *usmpy_device_of_handle(usmpy_state *state, const usm_backend *backend, void *handle)
{
    usm_device *device = NULL;
    usm_error error;
    usm_status status = usm_native_device(backend, handle, &device, &error);
    return status == USM_OK ? device : usmpy_raise(state, status, &error);
}

usm_device *usmpy_stream_device(usmpy_state *state, const usmpy_stream *stream, usm_device *otherwise,
                                const char *parameter)
{
    usm_device *device = NULL;
    bool any = (uintptr_t)stream->handle <= (uintptr_t)USM_STREAM_PER_THREAD;
    if (stream->queue != NULL) {
        return stream->queue->device;
    }
    bool has_streams = otherwise != NULL && usm_backend_has_streams(otherwise->backend);
    if (stream->plain && otherwise != NULL && !has_streams) {
        refuse_number(parameter, otherwise);
        return NULL;
    }
    if (any && stream->device < 0 && has_streams) {
        return otherwise;
    }
    const usm_device *any_device = device_with_streams(state, otherwise);
    if (any_device == NULL) {
        return NULL;
    }
    const usm_backend *backend = any_device->backend;
    if (any && stream->device >= 0) {
        USMPY_WITHOUT_GIL(device =
                              usm_device_from_dlpack(any_device->info.dlpack_type, stream->device, NULL));
        if (device == NULL) {
            PyErr_Format(PyExc_ValueError,
                         "the stream is of device %d, and the %s backend has no such device", stream->device,
                         usm_backend_name(backend));
        }
        return device;
    }
    return usmpy_device_of_handle(state, backend, stream->handle);
}

usm_queue *usmpy_stream_queue(usmpy_state *state, const usmpy_stream *stream, usm_device *otherwise,
                              const char *parameter)
{
    usm_queue *queue = NULL;
    usm_error error;
    if (stream->queue != NULL) {
        return usm_queue_retain(stream->queue);
    }
    usm_device *device = usmpy_stream_device(state, stream, otherwise, parameter);
    if (device == NULL) {
        return NULL;
    }
    usm_stream_facts facts;
    usm_status status = usm_stream_inspect(device, stream->handle, &facts, &error);
    if (status == USM_OK && facts.capturing) {
        status = usm_error_set(
            &error, USM_BUFFER,
            "the stream %p is being captured into a graph, and other queues cannot wait for it: work in "
            "Queue.from_stream() of that stream, which becomes a part of the graph, or end the capture first",
            stream->handle);
    }
    if (status == USM_OK) {
        status = usm_stream_queue(device, stream->handle, &queue, &error);
    }
    return status == USM_OK ? queue : usmpy_raise(state, status, &error);
}

int usmpy_stream_follow_alloc(usmpy_state *state, usm_device *device, void *stream, usm_alloc *alloc,
                              usm_access_mode mode, bool delivers)
{
    usm_error error;
    bool ended = usm_alloc_has(alloc, USM_ALLOC_ENDED);
    if (USM_LIKELY(usm_alloc_is_clean(alloc) && !ended)) {
        return 0;
    }
    if (!ended && !usm_alloc_has_failed(alloc)) {
        PyThreadState *thread = PyEval_SaveThread();
        usm_status status =
            usm_alloc_stream_signal(alloc, mode, device, stream, USMPY_PATIENCE(INT64_MAX, &thread), &error);
        PyEval_RestoreThread(thread);
        if (usmpy_check(state, status, &error) < 0) {
            return -1;
        }
    }
    /* A stream cannot wait for a failure of the last write or the end of a borrow: raise as a wait does. */
    if (!ended && usm_alloc_is_busy(alloc) && !usm_alloc_has_failed(alloc)) {
        return 0;
    }
    return delivers ? usmpy_wait_alloc(state, alloc, USM_READ, INT64_MAX)
                    : usmpy_peek_alloc(state, alloc, USM_READ);
}

int usmpy_stream_follow(usmpy_state *state, usm_device *device, void *stream, usmpy_array *array)
{
    return usmpy_stream_follow_alloc(state, device, stream, array->alloc, usmpy_foreign_access(array), true);
}

int usmpy_submit_point(usmpy_state *state, usm_queue *queue, usm_command_kind kind,
                       const usm_access *accesses, size_t n_accesses, const usm_wait *wait, usm_event **event)
{
    const usm_command command = {.kind = kind};
    const usm_submission submission = {.command = &command,
                                       .accesses = accesses,
                                       .n_accesses = n_accesses,
                                       .waits = wait,
                                       .n_waits = wait != NULL};
    usm_error error;
    return usmpy_check(state, usm_queue_submit(queue, &submission, event, &error), &error);
}

PyObject *usmpy_queue_from_stream(usmpy_state *state, PyObject *Py_UNUSED(type), PyObject *const *arguments)
{
    PyObject *object = arguments[0];
    usmpy_stream stream;
    usmpy_deferred_poll();
    int found = usmpy_stream_parse(state, object, NULL, &stream);
    if (found <= 0) {
        return found < 0 ? NULL
                         : usmpy_wrong_type(
                               "from_stream(): stream", object,
                               "an object with __cuda_stream__, a stream of CuPy, PyTorch or Numba, or an "
                               "int is allowed");
    }
    if (stream.queue != NULL) {
        return Py_NewRef(object);
    }
    usm_device *device = usmpy_stream_device(state, &stream, NULL, "stream");
    usm_keep *keeps = NULL;
    usm_queue *queue;
    usm_error error;
    usm_status status;
    if (device == NULL || (!PyLong_Check(object) && usmpy_keep_object(&keeps, object) < 0)) {
        return NULL;
    }
    USMPY_WITHOUT_GIL(status = usm_stream_adopt(device, stream.handle, keeps, &queue, &error));
    if (status != USM_OK) {
        usmpy_keep_drop(keeps);
        return usmpy_raise(state, status, &error);
    }
    return usmpy_queue_wrap(state, queue);
}

PyObject *usmpy_queue_cuda_stream(PyObject *self, PyObject *Py_UNUSED(unused))
{
    usm_queue *queue = usmpy_queue_of(self);
    if (!usm_backend_has_streams(queue->backend) || queue->device->info.dlpack_type != kDLCUDA) {
        return PyErr_Format(PyExc_TypeError, "a queue of backend %s is not a CUDA stream",
                            usm_backend_name(queue->backend));
    }
    void *stream;
    return usmpy_wait_native_queue(usmpy_state_of(self), queue, &stream) < 0
               ? NULL
               : Py_BuildValue("(iN)", 0, PyLong_FromVoidPtr(stream));
}
