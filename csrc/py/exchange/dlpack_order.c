/* Orders the streams of producers and the queues of usmpy, on import and when memory is returned. */
#include "dlpack.h"
#include "py/args.h"
#include "py/errors.h"
#include "py/wait.h"
#include "stream.h"

#include "core/streams/lend.h"

#include <string.h>

/* Calls x.__dlpack_device__(): 1; 0 if x has no such method; -1 with an exception. */
static int ask_device(usmpy_state *state, PyObject *x, DLDevice *device)
{
    PyObject *method = usmpy_attribute(state, x, USMPY___dlpack_device__);
    if (method == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    PyObject *pair = PyObject_CallNoArgs(method);
    Py_DECREF(method);
    if (pair == NULL) {
        usmpy_chain_foreign("__dlpack_device__", x);
        return -1;
    }
    int64_t values[2];
    int found = usmpy_dlpack_pair(pair, values);
    if (found == 0) {
        usmpy_error_format(PyExc_TypeError,
                           "%.80s.__dlpack_device__() returned %.100R; a pair of ints is needed",
                           Py_TYPE(x)->tp_name, pair);
    } else if (found > 0 && !usmpy_pair_is_device(values)) {
        usmpy_error_format(
            PyExc_BufferError,
            "%.80s.__dlpack_device__() returned %.100R; no DLPack device has such a type or id",
            Py_TYPE(x)->tp_name, pair);
        found = 0;
    } else if (found > 0) {
        *device = (DLDevice){(DLDeviceType)values[0], (int32_t)values[1]};
    }
    Py_DECREF(pair);
    return found > 0 ? 1 : -1;
}

/*
 * CuPy works in the current stream of the thread and device. Its Cython interface returns that stream in a
 * few nanoseconds (cupy_backends/cuda/stream.pxd of version 14; a capsule is named after the C type), while
 * reading an array's device and its __cuda_array_interface__ takes longer than the rest of an import.
 */
usmpy_stream_of *usmpy_find_stream_of(PyTypeObject *type)
{
    usmpy_stream_of *stream_of = NULL;
    PyObject *name = PyObject_GetAttrString((PyObject *)type, "__module__"), *functions = NULL;
    PyObject *module = NULL, *wanted = NULL;
    if (name != NULL && PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "cupy") == 0) {
        wanted = PyUnicode_FromString("cupy_backends.cuda.stream");
        module = wanted == NULL ? NULL : PyImport_GetModule(wanted);
        functions = module == NULL ? NULL : PyObject_GetAttrString(module, "__pyx_capi__");
    }
    if (functions != NULL && PyDict_Check(functions)) {
        PyObject *capsule = PyDict_GetItemString(functions, "get_stream_ptr");
        if (capsule != NULL && PyCapsule_IsValid(capsule, "intptr_t (int)")) {
            void *pointer = PyCapsule_GetPointer(capsule, "intptr_t (int)");
            memcpy(&stream_of, &pointer, sizeof stream_of);
        }
    }
    PyErr_Clear();
    Py_XDECREF(functions);
    Py_XDECREF(module);
    Py_XDECREF(wanted);
    Py_XDECREF(name);
    return stream_of;
}

int usmpy_ask_stream_of(usmpy_stream_of *stream_of, usm_device *device, usmpy_origin *origin)
{
    intptr_t stream = stream_of((int)device->info.dlpack_id);
    if (USM_UNLIKELY(stream == -1) && PyErr_Occurred()) {
        return -1;
    }
    *origin = (usmpy_origin){.stream = stream == 0 ? USM_STREAM_LEGACY : (void *)stream, .device = device};
    return 0;
}

int usmpy_choose_stream(usmpy_state *state, PyObject *x, const usmpy_type_entry *entry,
                        PyObject *queue_object, usmpy_origin *origin, PyObject **stream)
{
    DLDevice device;
    *stream = NULL;
    if (entry->stream_of != NULL) { /* usmpy orders the two, as for __cuda_array_interface__ below */
        *origin = (usmpy_origin){.stream_of = entry->stream_of};
        *stream = PyLong_FromLong(-1);
        return *stream == NULL ? -1 : 0;
    }
    int found = ask_device(state, x, &device);
    if (found <= 0) {
        return found;
    }
    const usm_stream_numbers *numbers = usm_dlpack_type_of((int32_t)device.device_type)->numbers;
    usm_queue *queue = device.device_type == kDLCPU ? NULL : usmpy_current_queue(state, device);
    if (queue == NULL || !usm_backend_has_streams(queue->backend)) {
        PyErr_Clear(); /* the import of its tensor raises, with the reason */
        if (entry->where == USMPY_WHERE_UNKNOWN) {
            usmpy_type_learn(state, Py_TYPE(x), USMPY_ROUTE_NONE, USMPY_WHERE_HOST);
        }
        return 0;
    }
    if (entry->where != USMPY_WHERE_ASK) {
        usmpy_type_learn(state, Py_TYPE(x), USMPY_ROUTE_NONE, USMPY_WHERE_ASK);
    }
    if (numbers == NULL) { /* a view: the protocol of its type has no way to name a stream */
        return 0;
    }
    if (queue_object != NULL && usmpy_queue_of(queue_object)->device == queue->device) {
        queue = usmpy_queue_of(queue_object);
    }
    *origin = (usmpy_origin){.stream = usm_queue_stream(queue), .device = queue->device};
    /*
     * For its own stream, the producer has nothing to enqueue, and usmpy orders the two at the first use:
     * this saves an event, and keeps work of usmpy out of a graph that is being captured in that stream.
     */
    if (entry->reads_stream && usmpy_cuda_interface_stream(state, x, origin) < 0) {
        return -1;
    }
    *stream = PyLong_FromUnsignedLongLong(usm_number_of_stream(numbers, &origin->stream));
    return *stream == NULL ? -1 : 0;
}

void usmpy_attach_stream(usmpy_array *array, usm_queue *queue, const usmpy_origin *origin)
{
    usm_device *device = origin->device != NULL ? origin->device : array->alloc->place->device;
    usm_alloc_stream_attach(array->alloc, device, origin->stream);
    if (!origin->trusted && origin->stream != USM_STREAM_LEGACY) {
        /* Recorded now, since the stream may be destroyed before the first use; a captured stream then. */
        (void)usm_alloc_order(array->alloc, queue, NULL);
    }
}

void usmpy_table_failed(PyObject *x)
{
    if (PyErr_Occurred()) {
        usmpy_chain_foreign("the exchange table", x);
    } else {
        PyErr_Format(PyExc_BufferError, "the exchange table of %.80s failed without an exception",
                     Py_TYPE(x)->tp_name);
    }
}

/* The stream that a table names for the device; NULL stands for the legacy default stream. 0 or -1. */
static int table_stream(PyObject *x, const DLPackExchangeAPI *api, const usm_device *device, void **stream)
{
    *stream = NULL;
    if (USM_UNLIKELY(api->current_work_stream((DLDeviceType)device->info.dlpack_type, device->info.dlpack_id,
                                              stream) != 0)) {
        usmpy_table_failed(x);
        return -1;
    }
    *stream = *stream == NULL ? USM_STREAM_LEGACY : *stream;
    return 0;
}

int usmpy_ask_table(usmpy_state *state, PyObject *x, const DLPackExchangeAPI *api, const DLTensor *tensor,
                    usmpy_origin *origin)
{
    PyObject *home = usmpy_home_queue(state, tensor->device, usm_dltensor_first(tensor));
    if (home == NULL) {
        return -1;
    }
    usm_device *device = usmpy_queue_of(home)->device;
    Py_DECREF(home);
    if (!usm_backend_has_streams(device->backend)) {
        return 0;
    }
    origin->device = device;
    return table_stream(x, api, device, &origin->stream);
}

int usmpy_owner_stream(usmpy_state *state, PyObject *x, const usmpy_array *array, usmpy_origin *origin)
{
    usmpy_type_entry room;
    usmpy_stream stream;
    if (!usmpy_has_streams(array->alloc)) {
        return 0;
    }
    const usmpy_type_entry *entry = usmpy_type_lookup(state, Py_TYPE(x), &room);
    if (entry == NULL) {
        return -1;
    }
    if (entry->route == USMPY_ROUTE_TABLE) {
        origin->device = array->alloc->place->device;
        return table_stream(x, entry->api, origin->device, &origin->stream) < 0 ? -1 : 1;
    }
    if (entry->stream_of != NULL) {
        return usmpy_ask_stream_of(entry->stream_of, array->alloc->place->device, origin) < 0 ? -1 : 1;
    }
    int found = usmpy_cuda_interface_stream(state, x, origin);
    if (found == 0 && PyObject_HasAttr(x, state->names[USMPY___cuda_stream__])) {
        found = usmpy_stream_parse(state, x, array->alloc->place->device, &stream);
        origin->stream = stream.handle;
        if (found > 0) {
            origin->device =
                usmpy_stream_device(state, &stream, array->alloc->place->device, "the stream of x");
            found = origin->device == NULL ? -1 : 1;
        }
    }
    return found;
}

int usmpy_give_back(usmpy_state *state, PyObject *x, usmpy_array *array)
{
    usmpy_origin owner;
    if (!usm_alloc_has(array->alloc, USM_ALLOC_FOREIGN)) {
        return 0; /* made from Python objects: there is no other owner */
    }
    int found = usmpy_owner_stream(state, x, array, &owner);
    if (found < 0) {
        return -1;
    }
    return found > 0 ? usmpy_stream_follow_alloc(state, owner.device, owner.stream, array->alloc,
                                                 USM_READ_WRITE, true)
                     : usmpy_wait_alloc(state, array->alloc, USM_READ_WRITE, INT64_MAX);
}

void usmpy_mark_loaned(usmpy_array *array)
{
    if (usm_alloc_has(array->alloc, USM_ALLOC_FOREIGN)) {
        usm_alloc_set_loaned(array->alloc, true);
    }
}

int usmpy_copy_from(usmpy_state *state, PyObject *x, usmpy_array *dst, usmpy_array *src, const char *what)
{
    if (usmpy_is_array(state, x)) {
        return usmpy_array_copy_broadcast(dst, src, what);
    }
    usmpy_mark_loaned(src);
    int status = usmpy_array_copy_broadcast(dst, src, what);
    return status < 0 ? -1 : usmpy_give_back(state, x, src);
}

usmpy_array *usmpy_duplicate_from(usmpy_state *state, PyObject *x, usmpy_array *src, PyObject *queue_object,
                                  usm_kind kind, usm_dtype dtype, char order)
{
    bool foreign = !usmpy_is_array(state, x);
    if (foreign) {
        usmpy_mark_loaned(src);
    }
    usmpy_array *copy = usmpy_array_duplicate(src, queue_object, kind, dtype, order);
    if (copy != NULL && foreign && usmpy_give_back(state, x, src) < 0) {
        Py_CLEAR(copy);
    }
    return copy;
}
