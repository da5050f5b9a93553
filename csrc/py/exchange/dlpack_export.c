/* __dlpack__ and __dlpack_device__: capsules over allocations, whose deleters need no Python. */
#include "dlpack.h"
#include "py/args.h"
#include "py/deferred.h"
#include "py/errors.h"
#include "py/wait.h"
#include "stream.h"

#include <limits.h>

DLDevice usmpy_dlpack_device(usmpy_array *array)
{
    /* The view that most consumers understand: host-readable memory of a CPU-type device is kDLCPU. */
    const usm_device *device = usm_device_root(array->alloc->place->device);
    const usm_device_info *info = &device->info;
    usm_kind kind = (usm_kind)array->alloc->kind;
    if (device->type == USM_CPU && usm_alloc_host_reads(array->alloc)) {
        return (DLDevice){kDLCPU, 0};
    }
    if (kind == USM_SHARED && info->dlpack_shared_type != 0) {
        return (DLDevice){(DLDeviceType)info->dlpack_shared_type, 0};
    }
    if (kind == USM_HOST && info->dlpack_host_type != 0) {
        return (DLDevice){(DLDeviceType)info->dlpack_host_type, 0};
    }
    return (DLDevice){(DLDeviceType)info->dlpack_type, info->dlpack_id};
}

PyObject *usmpy_array_dlpack_device(PyObject *self, PyObject *unused)
{
    (void)unused;
    DLDevice device = usmpy_dlpack_device((usmpy_array *)self);
    PyObject *tuple = PyTuple_New(2);
    if (tuple !=
        NULL) { /* small ints: these cannot fail for real devices, and NULL items are harmless if they do */
        PyTuple_SET_ITEM(tuple, 0, PyLong_FromLong((long)device.device_type));
        PyTuple_SET_ITEM(tuple, 1, PyLong_FromLong((long)device.device_id));
        if (PyErr_Occurred()) {
            Py_CLEAR(tuple);
        }
    }
    return tuple;
}

int usmpy_finish_for_export(usmpy_state *state, usmpy_array *array)
{
    /* The consumer may write unless the array is read-only, so readers are waited for as well. */
    usm_access_mode mode = (array->flags & USMPY_WRITABLE) != 0 ? USM_READ_WRITE : USM_READ;
    return usmpy_wait_alloc(state, array->alloc, mode, INT64_MAX);
}

/* kDLOneAPI names a device: consumers assume memory of its default context. */
int usmpy_check_context(const usmpy_array *array, const DLDevice *device)
{
    if (USM_LIKELY(device->device_type != kDLOneAPI) || array->alloc->context->is_default) {
        return 0;
    }
    PyErr_SetString(
        PyExc_BufferError,
        "the array's memory is of a context that is not its device's default context, which DLPack's "
        "kDLOneAPI cannot express; copy it with x.to_device(device), or pass x.data_ptr and "
        "x.context.native_handle");
    return -1;
}

static void versioned_capsule_destructor(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) { /* not renamed, so not consumed */
        DLManagedTensorVersioned *tensor = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        tensor->deleter(tensor);
    }
}

static void legacy_capsule_destructor(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        DLManagedTensor *tensor = PyCapsule_GetPointer(capsule, "dltensor");
        tensor->deleter(tensor);
    }
}

static PyObject *make_versioned(usmpy_array *array, DLDevice device, uint64_t flags, void *stream)
{
    usm_view view = usmpy_view(array);
    DLManagedTensorVersioned *tensor = usm_export_versioned(
        &view, device, flags | ((array->flags & USMPY_WRITABLE) == 0 ? DLPACK_FLAG_BITMASK_READ_ONLY : 0),
        stream);
    if (tensor == NULL) {
        return PyErr_NoMemory();
    }
    PyObject *capsule = PyCapsule_New(tensor, "dltensor_versioned", versioned_capsule_destructor);
    if (capsule == NULL) {
        tensor->deleter(tensor);
    }
    return capsule;
}

static PyObject *make_legacy(usmpy_array *array, DLDevice device, void *stream)
{
    if ((array->flags & USMPY_WRITABLE) == 0) {
        PyErr_SetString(
            PyExc_BufferError,
            "the array is read-only, which a DLPack capsule without a version cannot express; the consumer "
            "must pass max_version=(1, 0) or higher");
        return NULL;
    }
    usm_view view = usmpy_view(array);
    DLManagedTensor *tensor = usm_export_legacy(&view, device, stream);
    if (tensor == NULL) {
        return PyErr_NoMemory();
    }
    PyObject *capsule = PyCapsule_New(tensor, "dltensor", legacy_capsule_destructor);
    if (capsule == NULL) {
        tensor->deleter(tensor);
    }
    return capsule;
}

int usmpy_dlpack_pair(PyObject *pair, int64_t *values)
{
    if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2) {
        return 0;
    }
    /* Both before either: __index__ may have effects. */
    if (!PyIndex_Check(PyTuple_GET_ITEM(pair, 0)) || !PyIndex_Check(PyTuple_GET_ITEM(pair, 1))) {
        return 0;
    }
    for (int i = 0; i < 2; i++) {
        int overflow;
        PyObject *number = PyNumber_Index(PyTuple_GET_ITEM(pair, i));
        if (number == NULL) {
            return -1;
        }
        long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
        values[i] = overflow == 0 ? value : overflow > 0 ? INT64_MAX : INT64_MIN;
        Py_DECREF(number);
    }
    return 1;
}

/* 1 for a version of 1 or more, 0 for None and less, -1 with an exception. */
static int wants_version(PyObject *max_version)
{
    int64_t version[2];
    if (!usmpy_given(max_version)) {
        return 0;
    }
    /* The fast path for the pair that most consumers pass. */
    if (PyTuple_Check(max_version) && PyTuple_GET_SIZE(max_version) == 2 &&
        PyLong_Check(PyTuple_GET_ITEM(max_version, 0)) && PyLong_Check(PyTuple_GET_ITEM(max_version, 1))) {
        int overflow;
        long major = PyLong_AsLongAndOverflow(PyTuple_GET_ITEM(max_version, 0), &overflow);
        return overflow > 0 || (overflow == 0 && major >= 1);
    }
    int found = usmpy_dlpack_pair(max_version, version);
    if (found > 0) {
        return version[0] >= 1;
    }
    if (found == 0) {
        PyErr_Format(PyExc_TypeError,
                     "max_version is %R; None or a tuple of two ints, such as (1, 0), is allowed",
                     max_version);
    }
    return -1;
}

/* Whether the memory has this view beside the first one. */
static bool shows_as(const usmpy_array *array, int64_t type, int64_t id)
{
    const usm_device_info *info = &usm_device_root(array->alloc->place->device)->info;
    if (type == kDLCPU) {
        return id == 0 && usm_alloc_host_reads(array->alloc);
    }
    if (type == kDLOneAPI && info->dlpack_oneapi_id >= 0 && id == info->dlpack_oneapi_id) {
        return true;
    }
    /* Memory that is visible as the host's, or as that of all devices, also keeps its own device's view. */
    return type == info->dlpack_type && id == info->dlpack_id;
}

/*
 * Replaces *device, the first view, by the requested device. 0, or -1 with TypeError or BufferError.
 * *to_host: the memory is not visible on the host, but a copy would be, and `copy` (-1: None) allows one.
 */
static int wanted_device(usmpy_array *array, PyObject *dl_device, int copy, DLDevice *device, bool *to_host)
{
    int64_t pair[2];
    int found = usmpy_dlpack_pair(dl_device, pair);
    if (found <= 0) {
        if (found == 0) {
            PyErr_Format(
                PyExc_TypeError,
                "dl_device is %R; None or a pair of ints (device type, device id), such as (1, 0), is "
                "allowed",
                dl_device);
        }
        return -1;
    }
    bool exists = usmpy_pair_is_device(pair), is_host = pair[0] == kDLCPU && pair[1] == 0;
    if (pair[0] == (int64_t)device->device_type && pair[1] == device->device_id) {
        return 0;
    }
    *to_host = is_host && copy != 0 && !usm_alloc_host_reads(array->alloc);
    if (*to_host || (exists && shows_as(array, pair[0], pair[1]))) {
        *device = (DLDevice){(DLDeviceType)pair[0], (int32_t)pair[1]};
        return 0;
    }
    char own[48];
    PyErr_Format(PyExc_BufferError,
                 "dl_device is %R; this array's memory is visible as %s, id %d, but as no such device%s",
                 dl_device, usm_dldevice_text((int32_t)device->device_type, own, sizeof own),
                 (int)device->device_id, is_host ? " without a copy, and copy=False was given" : "");
    return -1;
}

/* The meaning of a stream= argument. */
typedef enum order {
    ORDER_ERROR = -1,
    ORDER_NONE,   /* -1: no synchronisation */
    ORDER_HOST,   /* None, of memory whose consumers have no streams: finished data */
    ORDER_STREAM, /* work on the memory comes before later work of the stream */
} order;

/* For a consumer on the CPU, or on a device whose queues are not streams. */
static order order_without_streams(PyObject *stream)
{
    if (!usmpy_given(stream)) {
        return ORDER_HOST;
    }
    if (PyLong_CheckExact(stream)) {
        int overflow;
        long value = PyLong_AsLongAndOverflow(stream, &overflow);
        if (overflow == 0 && value == -1) {
            return ORDER_NONE;
        }
    }
    PyErr_Format(PyExc_BufferError,
                 "stream is %R; memory of the CPU has no streams, so None or -1 is allowed", stream);
    return ORDER_ERROR;
}

/* Array API standard 2024.12, __dlpack__, stream, for CUDA. */
static order order_of_stream(PyObject *stream, const DLDevice *device, void **handle)
{
    if (!usmpy_given(stream)) {
        *handle = USM_STREAM_LEGACY;
        return device->device_type == kDLCUDA ? ORDER_STREAM : ORDER_HOST;
    }
    if (!PyLong_Check(stream) || PyBool_Check(stream)) {
        PyErr_Format(PyExc_TypeError,
                     "stream is %s %s; None, -1, 1, 2 or the address of a CUDA stream, an int, is allowed",
                     USMPY_A(stream));
        return ORDER_ERROR;
    }
    int overflow;
    long long value = PyLong_AsLongLongAndOverflow(stream, &overflow);
    if (overflow != 0 || value < -1 || value == 0) {
        PyErr_Format(PyExc_ValueError,
                     "stream is %R; None, -1, 1 (the legacy default stream), 2 (the calling thread's) or the "
                     "address of a CUDA stream is allowed",
                     stream);
        return ORDER_ERROR;
    }
    *handle = (void *)(intptr_t)value;
    return value == -1 ? ORDER_NONE : ORDER_STREAM;
}

/*
 * Keywords by address alone, which is how every compiled or Python caller passes them: false sends the call
 * through the general parser.
 */
static bool quick_keywords(usmpy_state *state, PyObject *const *args, PyObject *kwnames, PyObject **out)
{
    out[0] = out[1] = out[2] = out[3] = NULL;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kwnames); i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i);
        if (name == state->names[USMPY_max_version]) {
            out[0] = args[i];
        } else if (name == state->names[USMPY_stream]) {
            out[1] = args[i];
        } else if (name == state->names[USMPY_dl_device]) {
            out[2] = args[i];
        } else if (name == state->names[USMPY_copy]) {
            out[3] = args[i];
        } else {
            return false;
        }
    }
    return true;
}

/* Makes the memory ready as requested. *handle: NULL if the consumer's stream is unknown. 0 or -1. */
static inline int prepare(usmpy_state *state, usmpy_array *array, const DLDevice *device, PyObject *stream,
                          void **handle)
{
    if (USM_LIKELY(device->device_type == kDLCPU && !usmpy_given(stream))) {
        return usmpy_finish_for_export(state, array);
    }
    if (usmpy_check_context(array, device) < 0) {
        return -1;
    }
    bool streams =
        device->device_type != kDLCPU && device->device_type != kDLOneAPI && usmpy_has_streams(array->alloc);
    order order = streams ? order_of_stream(stream, device, handle) : order_without_streams(stream);
    if (order == ORDER_STREAM) {
        return usmpy_stream_follow(state, array->alloc->place->device, *handle, array);
    }
    *handle = NULL;
    return order == ORDER_HOST ? usmpy_finish_for_export(state, array) : order == ORDER_NONE ? 0 : -1;
}

/* copy=True, or a copy on the host. The copy is our work, which a consumer that passes -1 ignores. */
static PyObject *export_copy(usmpy_state *state, usmpy_array *array, bool versioned, DLDevice device,
                             PyObject *stream, bool to_host)
{
    void *handle = NULL;
    PyObject *queue = to_host ? usmpy_host_queue(state) : array->queue, *capsule = NULL;
    if (queue == NULL) {
        return NULL;
    }
    usm_kind kind = to_host ? USM_DEVICE : (usm_kind)array->alloc->kind;
    usmpy_array *copy = usmpy_array_duplicate(array, queue, kind, (usm_dtype)array->dtype, 'K');
    if (copy != NULL && prepare(state, copy, &device, stream, &handle) == 0 &&
        (handle != NULL || usmpy_finish_for_export(state, copy) == 0)) {
        capsule = versioned ? make_versioned(copy, device, DLPACK_FLAG_BITMASK_IS_COPIED, handle)
                            : make_legacy(copy, device, handle);
    }
    Py_XDECREF(copy);
    return capsule;
}

PyObject *usmpy_array_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {
        "__dlpack__", 4, 0, 0, 0, {USMPY_max_version, USMPY_stream, USMPY_dl_device, USMPY_copy}};
    usmpy_array *array = (usmpy_array *)self;
    usmpy_state *state = array->state;
    PyObject *out[4];
    DLDevice device;
    bool to_host = false;
    void *handle = NULL;
    if ((kwnames == NULL || nargs != 0 || !quick_keywords(state, args, kwnames, out)) &&
        usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    int versioned = wants_version(out[0]);
    int copy = versioned < 0 ? -2 : usmpy_given(out[3]) ? usmpy_bool(out[3], 0, "__dlpack__", "copy") : -1;
    if (copy == -2 || (copy == -1 && usmpy_given(out[3]))) {
        return NULL;
    }
    device = usmpy_dlpack_device(array);
    if (usmpy_given(out[2]) && wanted_device(array, out[2], copy, &device, &to_host) < 0) {
        return NULL;
    }
    if (USM_UNLIKELY(copy == 1 || to_host)) {
        return export_copy(state, array, versioned, device, out[1], to_host);
    }
    if (prepare(state, array, &device, out[1], &handle) < 0) {
        return NULL;
    }
    return versioned ? make_versioned(array, device, 0, handle) : make_legacy(array, device, handle);
}
