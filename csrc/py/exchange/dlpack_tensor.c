/* Makes an array from the tensor of another library, after checking its memory with the driver. */
#include "dlpack.h"
#include "py/errors.h"
#include "py/objects/trace.h"
#include "stream.h"

#include "core/memory/connection.h"

static void delete_versioned(void *owner)
{
    DLManagedTensorVersioned *tensor = owner;
    if (tensor->deleter != NULL) { /* NULL is allowed: there is nothing to release */
        tensor->deleter(tensor);
    }
}

static void delete_legacy(void *owner)
{
    DLManagedTensor *tensor = owner;
    if (tensor->deleter != NULL) {
        tensor->deleter(tensor);
    }
}

void usmpy_tensor_delete(usmpy_tensor *tensor)
{
    PyObject *pending = usmpy_take_exception(); /* the deleter may run Python code */
    if (tensor->versioned != NULL) {
        delete_versioned(tensor->versioned);
    } else if (tensor->legacy != NULL) {
        delete_legacy(tensor->legacy);
    }
    tensor->versioned = NULL;
    tensor->legacy = NULL;
    usmpy_restore_exception(pending);
}

/*
 * Asks the driver about memory that another library allocated: its kind, device, and bounds. If the driver
 * knows all of its memory, memory that it does not know is refused, and so is memory that differs from what
 * the producer reports.
 */
static usm_status examine(const DLTensor *tensor, const usm_queue *queue, int64_t low, int64_t high,
                          bool wraps, usm_kind *kind, usm_error *error)
{
    usm_pointer_info info;
    const char *data = usm_dltensor_first(tensor);
    if (low == high) {
        return USM_OK;
    }
    usm_status status = usm_memory_query(queue->context, data, &info, error);
    bool complete = info.identifies == USM_IDENTIFIES_ALL;
    if (status != USM_OK && (complete || wraps)) {
        return status;
    }
    if (status != USM_OK) {
        usm_error_clear(error);
        info.device = NULL;
    }
    if (info.device == NULL && complete) {
        return usm_error_set(
            error, USM_BUFFER,
            "the tensor's memory is at %p, which the %s driver does not know as memory of its own%s",
            (const void *)data, usm_backend_name(queue->backend),
            usm_dlpack_type_of((int32_t)tensor->device.device_type)->is_of_default_context
                ? " in the device's default context, which the tensor's device type stands for; use memory of "
                  "another context in that context (Context.from_native, USMArray.from_pointer)"
                : "");
    }
    if (wraps && info.size == 0) { /* the bounds are unknown */
        return usm_dltensor_refuse(tensor, error);
    }
    if (info.device != NULL) {
        *kind = info.kind;
    }
    if (!complete && !wraps) {
        return USM_OK;
    }
    if (info.size > 0 && !usm_span_is_within(data, low, high, info.base, info.size)) {
        uintptr_t at = (uintptr_t)data - (uintptr_t)info.base;
        return usm_error_set(
            error, USM_BUFFER, "the tensor's elements are bytes %lld to %lld of an allocation of %zu bytes",
            (long long)(at + (uintptr_t)low), (long long)(at + (uintptr_t)high - 1), info.size);
    }
    if (info.kind == USM_DEVICE && usm_device_root(info.device) != usm_device_root(queue->device)) {
        return usm_error_set(
            error, USM_BUFFER,
            "the producer reports that its memory is on device %d, but the driver reports that %p is on "
            "device %d",
            (int)tensor->device.device_id, (const void *)data, (int)info.device->info.dlpack_id);
    }
    return USM_OK;
}

/* Fills the array's layout, data and allocation, which takes over the tensor unless this fails. */
static usm_status import_memory(usmpy_array *array, usmpy_tensor *owned, const DLTensor *tensor,
                                usm_dtype dtype, const usm_queue *home, bool trusted, usm_error *error)
{
    int64_t low, high;
    bool wraps;
    usm_kind kind = usm_dlpack_type_of((int32_t)tensor->device.device_type)->kind;
    usm_status status = usm_dltensor_layout(tensor, dtype, usmpy_shape(array), usmpy_strides(array), &low,
                                            &high, &wraps, error);
    if (USM_LIKELY(status == USM_OK) && tensor->device.device_type != kDLCPU) {
        if (!trusted || wraps || !usm_backend_has_streams(home->backend)) {
            status = examine(tensor, home, low, high, wraps, &kind, error);
        }
    } else if (USM_UNLIKELY(status == USM_OK && wraps)) { /* the bounds of host memory are unknown */
        status = usm_dltensor_refuse(tensor, error);
    }
    if (USM_UNLIKELY(status != USM_OK)) {
        return status;
    }
    bool versioned = owned->versioned != NULL;
    array->data = usm_dltensor_first(tensor);
    status = usm_alloc_import(home->place, kind, array->data + low, (size_t)(high - low),
                              versioned ? (void *)owned->versioned : owned->legacy,
                              versioned ? delete_versioned : delete_legacy, &array->alloc, error);
    if (USM_UNLIKELY(usm_deferred_has_many()) && status == USM_OK &&
        usm_export_is_ours(owned->versioned, owned->legacy)) {
        usm_alloc_end_anywhere(array->alloc); /* perhaps of an array of another interpreter */
    }
    return status;
}

usmpy_array *usmpy_array_from_tensor(usmpy_state *state, usmpy_tensor *owned, const usmpy_origin *origin,
                                     PyObject *queue_object)
{
    const DLTensor *tensor =
        owned->versioned != NULL ? &owned->versioned->dl_tensor : &owned->legacy->dl_tensor;
    uint64_t flags = owned->versioned != NULL ? owned->versioned->flags : 0;
    usmpy_array *array = NULL;
    PyObject *queue = NULL;
    usm_error error;
    usm_dtype dtype;
    usmpy_origin current;
    if (usmpy_check(state, usm_dltensor_check(tensor, flags, &dtype, &error), &error) < 0) {
        goto failed;
    }
    queue = usmpy_home_queue(state, tensor->device, usm_dltensor_first(tensor));
    if (queue == NULL) {
        goto failed;
    }
    usm_queue *home = usmpy_queue_of(queue);
    if (origin->stream_of != NULL) {
        if (usmpy_ask_stream_of(origin->stream_of, home->device, &current) < 0) {
            goto failed;
        }
        origin = &current;
    }
    array = usmpy_array_new(state, tensor->ndim);
    if (array == NULL) {
        goto failed;
    }
    usm_status status = import_memory(array, owned, tensor, dtype, home, origin->trusted, &error);
    if (usmpy_check(state, status, &error) < 0) {
        goto failed;
    }
    if (tensor->device.device_type != kDLCPU && origin->stream != NULL && usmpy_has_streams(array->alloc)) {
        usmpy_attach_stream(array, home, origin);
    }
    if (queue_object != NULL && usm_place_reaches(usmpy_queue_of(queue_object)->place, array->alloc)) {
        Py_SETREF(queue, Py_NewRef(queue_object));
    }
    /* A legacy producer must refuse read-only arrays. */
    return usmpy_array_imported(array, array->data, queue, dtype,
                                (flags & DLPACK_FLAG_BITMASK_READ_ONLY) == 0, "DLPack");

failed:
    Py_XDECREF(array);
    Py_XDECREF(queue);
    usmpy_tensor_delete(owned);
    return NULL;
}
