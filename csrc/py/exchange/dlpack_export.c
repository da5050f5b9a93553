/* __dlpack__ and __dlpack_device__: exports arrays as capsules whose deleters need no Python. */
#include "dlpack.h"
#include "py/args.h"
#include "py/errors.h"
#include "py/wait.h"
#include "stream.h"

#include <string.h>

DLDevice usmpy_dlpack_device(usmpy_array *array)
{
    /* Most consumers understand kDLCPU, so host-readable memory of a CPU device is exported as that. */
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

PyObject *usmpy_array_dlpack_device(PyObject *self, PyObject *Py_UNUSED(unused))
{
    DLDevice device = usmpy_dlpack_device((usmpy_array *)self);
    return usmpy_int_tuple(2, (int64_t[]){device.device_type, device.device_id});
}

int usmpy_finish_for_export(usmpy_state *state, usmpy_array *array)
{
    return usmpy_wait_alloc(state, array->alloc, usmpy_foreign_access(array), INT64_MAX);
}

int usmpy_check_context(const usmpy_array *array, const DLDevice *device)
{
    const usm_dlpack_type *type = usm_dlpack_type_of((int32_t)device->device_type);
    if (USM_LIKELY(!type->is_of_default_context) || array->alloc->context->is_default) {
        return 0;
    }
    return usmpy_refuse(
        PyExc_BufferError,
        "the array's memory is of a context that is not its device's default context, which DLPack's "
        "%s cannot express; copy it with x.to_device(device), or pass x.data_ptr and "
        "x.context.native_handle",
        type->name);
}

static void delete_capsule(PyObject *capsule)
{
    const char *name = PyCapsule_GetName(capsule);
    if (name == NULL || name[0] != USMPY_CAPSULE[0]) {
        return; /* a consumer renamed it to "used_...", and owns the tensor */
    }
    if (strcmp(name, USMPY_CAPSULE) == 0) {
        DLManagedTensorVersioned *tensor = PyCapsule_GetPointer(capsule, name);
        tensor->deleter(tensor);
    } else if (strcmp(name, USMPY_LEGACY_CAPSULE) == 0) {
        DLManagedTensor *tensor = PyCapsule_GetPointer(capsule, name);
        tensor->deleter(tensor);
    }
}

/* A capsule over the array's memory; `stream` as in usm_export_versioned. */
static PyObject *make_capsule(usmpy_array *array, bool versioned, DLDevice device, uint64_t flags,
                              void *stream)
{
    usm_view view = usmpy_view(array);
    usmpy_tensor tensor = {NULL, NULL};
    if ((array->flags & USMPY_WRITABLE) == 0) {
        if (!versioned) {
            return PyErr_Format(PyExc_BufferError,
                                "the array is read-only, which a DLPack capsule without a version cannot "
                                "express; the consumer must pass max_version=(1, 0) or higher");
        }
        flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
    }
    if (versioned) {
        tensor.versioned = usm_export_versioned(&view, device, flags, stream);
    } else {
        tensor.legacy = usm_export_legacy(&view, device, stream);
    }
    void *pointer = versioned ? (void *)tensor.versioned : tensor.legacy;
    if (pointer == NULL) {
        return PyErr_NoMemory();
    }
    PyObject *capsule =
        PyCapsule_New(pointer, versioned ? USMPY_CAPSULE : USMPY_LEGACY_CAPSULE, delete_capsule);
    if (capsule == NULL) {
        usmpy_tensor_delete(&tensor);
    }
    return capsule;
}

int usmpy_dlpack_pair(PyObject *pair, int64_t *values)
{
    if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2) {
        return 0;
    }
    /* Check both before converting either: __index__ may have side effects. */
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

/* Whether the consumer understands DLPack 1: 1; 0 for None and earlier versions; -1 with an exception. */
static int wants_version(PyObject *max_version)
{
    int64_t version[2];
    if (!usmpy_given(max_version)) {
        return 0;
    }
    if (PyTuple_Check(max_version) && PyTuple_GET_SIZE(max_version) == 2 &&
        usmpy_small_int(PyTuple_GET_ITEM(max_version, 0), version) &&
        PyLong_Check(PyTuple_GET_ITEM(max_version, 1))) {
        return version[0] >= 1; /* what most consumers pass: the minor version is not needed */
    }
    int found = usmpy_dlpack_pair(max_version, version);
    if (found > 0) {
        return version[0] >= 1;
    }
    if (found == 0) {
        usmpy_error_format(PyExc_TypeError,
                           "max_version is %.100R; None or a tuple of two ints, such as (1, 0), is allowed",
                           max_version);
    }
    return -1;
}

/* Whether the memory can also be exported as that of this device. */
static bool shows_as(const usmpy_array *array, int64_t type, int64_t id)
{
    const usm_device_info *info = &usm_device_root(array->alloc->place->device)->info;
    if (type == kDLCPU) {
        return id == 0 && usm_alloc_host_reads(array->alloc);
    }
    if (usm_device_info_has_view(info, type, id)) {
        return true;
    }
    /* Host-readable and managed memory can also be exported as that of its own device. */
    return type == info->dlpack_type && id == info->dlpack_id;
}

/*
 * Replaces *device by the requested device. 0, or -1 with TypeError or BufferError. *to_host: the host cannot
 * read the memory, but could read a copy, which `copy` (-1: None) allows.
 */
static int wanted_device(usmpy_array *array, PyObject *dl_device, int copy, DLDevice *device, bool *to_host)
{
    int64_t pair[2];
    int found = usmpy_dlpack_pair(dl_device, pair);
    if (found <= 0) {
        if (found == 0) {
            usmpy_error_format(
                PyExc_TypeError,
                "dl_device is %.100R; None or a pair of ints (device type, device id), such as (1, 0), is "
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
    return usmpy_refuse(
        PyExc_BufferError,
        "dl_device is %.100R; this array's memory is visible as %s, id %d, but as no such device%s",
        dl_device, usm_dldevice_text((int32_t)device->device_type, own, sizeof own), (int)device->device_id,
        is_host ? " without a copy, and copy=False was given" : "");
}

/* What a stream= argument asks for. */
typedef enum order {
    ORDER_ERROR = -1,
    ORDER_NONE,   /* no synchronisation */
    ORDER_HOST,   /* finished data: the consumer has no streams */
    ORDER_STREAM, /* later work of the stream is ordered after work on the memory */
} order;

/*
 * Array API standard 2025.12, __dlpack__, stream. Memory of a type whose streams have no numbers, or of a
 * backend without streams, has none.
 */
static order order_of_stream(const usmpy_array *array, const DLDevice *device, PyObject *stream,
                             void **handle)
{
    char text[128];
    int overflow = 0;
    const usm_dlpack_type *type = usm_dlpack_type_of((int32_t)device->device_type);
    const usm_stream_numbers *numbers = usmpy_has_streams(array->alloc) ? type->numbers : NULL;
    if (!usmpy_given(stream)) { /* pinned and managed memory: the consumer is on the host */
        *handle = numbers != NULL && type->kind == USM_DEVICE ? USM_STREAM_LEGACY : NULL;
        return *handle != NULL ? ORDER_STREAM : ORDER_HOST;
    }
    bool is_int = PyLong_Check(stream) && !PyBool_Check(stream);
    long long value = is_int ? PyLong_AsLongLongAndOverflow(stream, &overflow) : 0;
    if (value == -1 && overflow == 0) {
        return ORDER_NONE;
    }
    if (numbers == NULL) {
        usmpy_error_format(PyExc_BufferError,
                           "stream is %.100R; memory of %s has no streams, so None or -1 is allowed", stream,
                           device->device_type == kDLCPU
                               ? "the CPU"
                               : usm_dldevice_text((int32_t)device->device_type, text, sizeof text));
    } else if (!is_int) {
        PyOS_snprintf(text, sizeof text, "None, -1, %s, an int, is allowed", numbers->allowed);
        usmpy_wrong_type("stream", stream, text);
    } else {
        *handle = overflow == 0 && value >= 0 ? usm_stream_of_number(numbers, (uint64_t)value) : NULL;
        if (*handle != NULL) {
            return ORDER_STREAM;
        }
        usmpy_error_format(PyExc_ValueError, "stream is %.100R; None, -1, %s is allowed", stream,
                           numbers->allowed);
    }
    return ORDER_ERROR;
}

/*
 * Makes the memory ready as requested. *handle: NULL if the consumer's stream is unknown. 0 or -1.
 *
 * `in_place`: with copy=False, stream=-1 is mpi4py's request (asdlpack.pxi of versions 4.0 and 4.1). Its
 * consumer is an MPI library, which has no stream and no other means to wait, so it gets finished data.
 */
static inline int prepare(usmpy_state *state, usmpy_array *array, const DLDevice *device, PyObject *stream,
                          bool in_place, void **handle)
{
    if (USM_LIKELY(device->device_type == kDLCPU && !usmpy_given(stream))) {
        return usmpy_finish_for_export(state, array);
    }
    if (usmpy_check_context(array, device) < 0) {
        return -1;
    }
    order order = order_of_stream(array, device, stream, handle);
    if (order == ORDER_STREAM) {
        return usmpy_stream_follow(state, array->alloc->place->device, *handle, array);
    }
    *handle = NULL;
    if (order == ORDER_NONE && !in_place) {
        return 0;
    }
    return order == ORDER_ERROR ? -1 : usmpy_finish_for_export(state, array);
}

/*
 * Exports a copy: copy=True, or the requested device is the host. A consumer that passes stream=-1 does not
 * wait for the copy, so this does.
 */
static PyObject *export_copy(usmpy_state *state, usmpy_array *array, bool versioned, DLDevice device,
                             PyObject *stream, bool to_host)
{
    void *handle = NULL;
    PyObject *queue = to_host ? usmpy_host_queue(state) : array->queue, *capsule = NULL;
    if (queue == NULL) {
        return NULL;
    }
    usm_kind kind = to_host ? USM_DEVICE : (usm_kind)array->alloc->kind;
    usmpy_array *copy = usmpy_array_empty_like(array, queue, kind, (usm_dtype)array->dtype, 'K');
    if (copy == NULL) {
        return NULL;
    }
    usm_alloc_set_loaned(copy->alloc, true);
    if (usmpy_array_copy(copy, array) == 0 && prepare(state, copy, &device, stream, false, &handle) == 0 &&
        (handle != NULL || usmpy_finish_for_export(state, copy) == 0)) {
        usm_alloc_set_loaned(copy->alloc, false);
        capsule = make_capsule(copy, versioned, device, DLPACK_FLAG_BITMASK_IS_COPIED, handle);
    }
    Py_DECREF(copy);
    return capsule;
}

PyObject *usmpy_array_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {
        "__dlpack__", 4, 0, 0, 0, {USMPY_max_version, USMPY_stream, USMPY_dl_device, USMPY_copy}};
    usmpy_array *array = (usmpy_array *)self;
    usmpy_state *state = array->state;
    PyObject *out[4] = {NULL};
    DLDevice device;
    bool to_host = false;
    void *handle = NULL;
    if (nargs == 0 && kwnames != NULL && PyTuple_GET_SIZE(kwnames) == 1 &&
        PyTuple_GET_ITEM(kwnames, 0) == state->names[USMPY_max_version]) {
        out[0] = args[0]; /* the usual call, of which the general parser would be a tenth */
    } else if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
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
    return prepare(state, array, &device, out[1], copy == 0, &handle) < 0
               ? NULL
               : make_capsule(array, versioned, device, 0, handle);
}
