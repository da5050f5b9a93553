/* __dlpack__ and __dlpack_device__: capsules over allocations, whose deleters need no Python. */
#include "args.h"
#include "deferred.h"
#include "dlpack.h"
#include "errors.h"
#include "wait.h"

#include <limits.h>

DLDevice usmpy_dlpack_device(usmpy_array *array)
{
    /* The view that most consumers understand: what the host can read of a CPU-type device is kDLCPU. */
    const usm_device *device = usm_device_root(array->alloc->place->device);
    if (device->type == USM_CPU && usm_alloc_host_reads(array->alloc)) {
        return (DLDevice){kDLCPU, 0};
    }
    return (DLDevice){(DLDeviceType)device->info.dlpack_type, device->info.dlpack_id};
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

static void versioned_capsule_destructor(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) { /* not renamed: nobody took it */
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

static PyObject *make_versioned(usmpy_array *array, DLDevice device, uint64_t flags)
{
    usm_view view = usmpy_view(array);
    DLManagedTensorVersioned *tensor = usm_export_versioned(
        &view, device, flags | ((array->flags & USMPY_WRITABLE) == 0 ? DLPACK_FLAG_BITMASK_READ_ONLY : 0),
        NULL);
    if (tensor == NULL) {
        return PyErr_NoMemory();
    }
    PyObject *capsule = PyCapsule_New(tensor, "dltensor_versioned", versioned_capsule_destructor);
    if (capsule == NULL) {
        tensor->deleter(tensor);
    }
    return capsule;
}

static PyObject *make_legacy(usmpy_array *array, DLDevice device)
{
    if ((array->flags & USMPY_WRITABLE) == 0) {
        PyErr_SetString(
            PyExc_BufferError,
            "the array is read-only, which a DLPack capsule without a version cannot say; the consumer must "
            "pass max_version=(1, 0) or more");
        return NULL;
    }
    usm_view view = usmpy_view(array);
    DLManagedTensor *tensor = usm_export_legacy(&view, device, NULL);
    if (tensor == NULL) {
        return PyErr_NoMemory();
    }
    PyObject *capsule = PyCapsule_New(tensor, "dltensor", legacy_capsule_destructor);
    if (capsule == NULL) {
        tensor->deleter(tensor);
    }
    return capsule;
}

/* 1 for a version of 1 or more, 0 for None and less, -1 with TypeError. */
static int wants_version(PyObject *max_version)
{
    if (!usmpy_given(max_version)) {
        return 0;
    }
    if (PyTuple_Check(max_version) && PyTuple_GET_SIZE(max_version) == 2 &&
        PyLong_Check(PyTuple_GET_ITEM(max_version, 0)) && PyLong_Check(PyTuple_GET_ITEM(max_version, 1))) {
        int overflow;
        long major = PyLong_AsLongAndOverflow(PyTuple_GET_ITEM(max_version, 0), &overflow);
        return overflow > 0 || (overflow == 0 && major >= 1);
    }
    PyErr_Format(PyExc_TypeError, "max_version is %R; None or a tuple of two ints such as (1, 0) is allowed",
                 max_version);
    return -1;
}

/* The device asked for; 0, or -1 with TypeError or BufferError. */
static int wanted_device(usmpy_array *array, PyObject *dl_device, DLDevice *device)
{
    *device = usmpy_dlpack_device(array);
    if (!usmpy_given(dl_device)) {
        return 0;
    }
    PyObject *type_object = NULL, *id_object = NULL;
    if (PyTuple_Check(dl_device) && PyTuple_GET_SIZE(dl_device) == 2) {
        type_object = PyTuple_GET_ITEM(dl_device, 0);
        id_object = PyTuple_GET_ITEM(dl_device, 1);
    }
    if (type_object == NULL || !PyLong_Check(type_object) || !PyLong_Check(id_object)) {
        PyErr_Format(
            PyExc_TypeError,
            "dl_device is %R; None or a pair of ints (device type, device id) such as (1, 0) is allowed",
            dl_device);
        return -1;
    }
    int overflow_type, overflow_id;
    long type = PyLong_AsLongAndOverflow(type_object, &overflow_type);
    long id = PyLong_AsLongAndOverflow(id_object, &overflow_id);
    bool same = overflow_type == 0 && overflow_id == 0 && type == (long)device->device_type &&
                id == (long)device->device_id;
    bool host = overflow_type == 0 && overflow_id == 0 && type == kDLCPU && id == 0;
    if (same) {
        return 0;
    }
    if (host && usm_alloc_host_reads(array->alloc)) {
        *device = (DLDevice){kDLCPU, 0};
        return 0;
    }
    /* What shows as the host's first is still its own device's. */
    const usm_device_info *info = &usm_device_root(array->alloc->place->device)->info;
    if (overflow_type == 0 && overflow_id == 0 && type == info->dlpack_type && id == info->dlpack_id) {
        *device = (DLDevice){(DLDeviceType)info->dlpack_type, info->dlpack_id};
        return 0;
    }
    char own[48];
    PyErr_Format(PyExc_BufferError,
                 "dl_device is %R; this array's memory is on %s, id %d, and can be seen as no such device",
                 dl_device, usm_dldevice_text((int32_t)device->device_type, own, sizeof own),
                 (int)device->device_id);
    return -1;
}

/* For a CPU consumer: 1 to wait for pending work, 0 for stream=-1 (no synchronisation),
 * -1 with BufferError. */
static int wants_wait(PyObject *stream)
{
    if (!usmpy_given(stream)) {
        return 1;
    }
    if (PyLong_CheckExact(stream)) {
        int overflow;
        long value = PyLong_AsLongAndOverflow(stream, &overflow);
        if (overflow == 0 && value == -1) {
            return 0;
        }
    }
    PyErr_Format(PyExc_BufferError,
                 "stream is %R; memory of the CPU has no streams, so None or -1 is allowed", stream);
    return -1;
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

static PyObject *export_copy(usmpy_state *state, usmpy_array *array, bool versioned, DLDevice device)
{
    usmpy_array *copy = usmpy_array_duplicate(state, array, array->queue, (usm_kind)array->alloc->kind,
                                              (usm_dtype)array->dtype, 'K');
    PyObject *capsule = NULL;
    /* The copy is work of ours, about which the consumer knows nothing: waited for whatever stream says. */
    if (copy != NULL && usmpy_finish_for_export(state, copy) == 0) {
        capsule = versioned ? make_versioned(copy, device, DLPACK_FLAG_BITMASK_IS_COPIED)
                            : make_legacy(copy, device);
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
    if ((kwnames == NULL || nargs != 0 || !quick_keywords(state, args, kwnames, out)) &&
        usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    int versioned = wants_version(out[0]);
    int copy = versioned < 0 ? -2 : usmpy_given(out[3]) ? usmpy_bool(out[3], 0, "__dlpack__", "copy") : 0;
    if (copy < 0 || wanted_device(array, out[2], &device) < 0) {
        return NULL;
    }
    int wait = wants_wait(out[1]);
    if (wait < 0) {
        return NULL;
    }
    if (USM_UNLIKELY(copy)) {
        return export_copy(state, array, versioned, device);
    }
    if (wait && usmpy_finish_for_export(state, array) < 0) {
        return NULL;
    }
    return versioned ? make_versioned(array, device, 0) : make_legacy(array, device);
}
