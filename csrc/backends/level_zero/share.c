/*
 * Memory of devices for several processes (Level Zero Core Programming Guide, Inter-Process Communication).
 * The specification leaves a handle's bytes to the driver. On Linux they begin with the descriptor of a
 * dma-buf, which travels beside them, and each process puts the number that the descriptor has there in its
 * place.
 */
#include "level_zero.h"

#include "core/base/heap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * How a handle begins. Newer drivers of Intel add the number of the process that made it, and take the
 * descriptor out of that process by themselves; the number is 0 in handles of device memory of others.
 */
typedef struct handle_head {
    int32_t descriptor, unused;
    uint64_t offset; /* of the memory in what the descriptor holds */
    int32_t process;
} handle_head;

/* The bytes of a usm_share_record. */
typedef struct share_bytes {
    ze_ipc_mem_handle_t handle; /* as the exporter's driver made it */
    uint8_t names_process;      /* handle_head.process is the exporter's */
} share_bytes;

_Static_assert(sizeof(share_bytes) <= USM_SHARE_BYTES, "a record has room for the handle");

static void copy_head(handle_head *head, const ze_ipc_mem_handle_t *handle)
{
    memcpy(head, handle->data, sizeof *head);
}

/* Closes the driver's descriptor. Older drivers do that when the block is freed. */
static void put_handle(const usm_place *place, const ze_ipc_mem_handle_t *handle)
{
    if (usm_level_zero.zeMemPutIpcHandle != NULL) {
        usm_level_zero.zeMemPutIpcHandle(usm_level_zero_context_of(place->context)->id, *handle);
    }
}

/* The driver's handle, and a duplicate of its descriptor. */
static usm_status get_handle(const usm_place *place, void *pointer, ze_ipc_mem_handle_t *handle,
                             usm_share_record *record, usm_error *error)
{
    handle_head head;
    memset(handle, 0, sizeof *handle);
    ze_result_t result =
        usm_level_zero.zeMemGetIpcHandle(usm_level_zero_context_of(place->context)->id, pointer, handle);
    if (result == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE || result == ZE_RESULT_ERROR_UNINITIALIZED) {
        return usm_error_driver(
            error, USM_BUFFER, "level_zero", (int)result, usm_level_zero_name(result),
            "%s cannot share device memory between processes (zeMemGetIpcHandle: %s); share "
            "an array of the host and copy it here",
            place->device->info.name, usm_level_zero_name(result));
    }
    if (result != ZE_RESULT_SUCCESS) {
        return usm_level_zero_failed(error, result, "zeMemGetIpcHandle");
    }
    copy_head(&head, handle);
    int descriptor = fcntl(head.descriptor, F_DUPFD_CLOEXEC, 0);
    if (descriptor < 0) {
        int code = errno;
        put_handle(place, handle);
        return usm_error_set(error, code == EBADF ? USM_BUFFER : USM_MEMORY,
                             "the driver's handle of %s memory gives no file descriptor to pass on: %s",
                             place->device->info.name, usm_error_errno(code));
    }
    record->descriptors[0] = descriptor;
    record->n_descriptors = 1;
    const share_bytes bytes = {.handle = *handle, .names_process = head.process == getpid()};
    memcpy(record->bytes, &bytes, sizeof bytes);
    record->n_bytes = sizeof bytes;
    return USM_OK;
}

/* `native` is the driver's handle, which stays valid until the block is freed. */
usm_status usm_level_zero_share_create(const usm_place *place, usm_shared_memory *memory,
                                       usm_share_record *record, bool *zeroed, usm_error *error)
{
    if (!usm_level_zero_device_of(place->device)->driver->shares_memory) {
        return usm_error_set(error, USM_BUFFER,
                             "%s cannot share device memory between processes: its driver does not have that "
                             "(zeDriverGetIpcProperties); share an array of the host and copy it here",
                             place->device->info.name);
    }
    ze_ipc_mem_handle_t *handle = usm_malloc(sizeof *handle);
    if (handle == NULL) {
        return usm_error_memory(error, sizeof *handle, "the driver's handle of a shared block");
    }
    usm_status status =
        usm_level_zero_memory_allocate(place, memory->kind, memory->nbytes, &memory->pointer, zeroed, error);
    if (status == USM_OK) {
        status = get_handle(place, memory->pointer, handle, record, error);
        if (status != USM_OK) {
            usm_level_zero_memory_free(place, memory->kind, memory->pointer, memory->nbytes);
        }
    }
    if (status != USM_OK) {
        free(handle);
        return status;
    }
    memory->native = handle;
    return USM_OK;
}

/* The descriptor of this process takes the place of the exporter's, and this process that of the exporter. */
static ze_result_t open_handle(const usm_place *place, const share_bytes *bytes, int descriptor, void **out)
{
    handle_head head;
    ze_ipc_mem_handle_t handle = bytes->handle;
    const ze_context_handle_t context = usm_level_zero_context_of(place->context)->id;
    const ze_device_handle_t device = usm_level_zero_device_of(place->device)->id;
    copy_head(&head, &handle);
    head.descriptor = descriptor;
    if (bytes->names_process) {
        head.process = getpid();
    }
    memcpy(handle.data, &head, sizeof head);
    ze_result_t result = usm_level_zero.zeMemOpenIpcHandle(context, device, handle, 0, out);
    if (result != ZE_RESULT_SUCCESS && bytes->names_process) {
        /* It may ask the exporter's driver through a socket, which it does where the kernel has no Yama. */
        result = usm_level_zero.zeMemOpenIpcHandle(context, device, bytes->handle, 0, out);
    }
    return result;
}

/* The driver maps what the descriptor holds: the call has no argument for the size. */
static usm_status check_size(const usm_place *place, const usm_shared_memory *memory, usm_error *error)
{
    void *base = NULL;
    size_t size = 0;
    ze_result_t result = usm_level_zero.zeMemGetAddressRange(usm_level_zero_context_of(place->context)->id,
                                                             memory->pointer, &base, &size);
    if (result != ZE_RESULT_SUCCESS) {
        return usm_level_zero_failed(error, result, "zeMemGetAddressRange");
    }
    size_t before = (size_t)((char *)memory->pointer - (char *)base);
    if (before > size || size - before < memory->nbytes) {
        return usm_error_set(error, USM_VALUE,
                             "the handle is of %zu bytes and its memory has %zu; where a device consists of "
                             "tiles whose memory the driver splits, share memory of one tile",
                             memory->nbytes, before > size ? 0 : size - before);
    }
    return USM_OK;
}

/* There are no read-only mappings of such memory. */
usm_status usm_level_zero_share_open(const usm_place *place, const usm_share_record *record, bool readonly,
                                     usm_shared_memory *memory, usm_error *error)
{
    usm_level_zero_context *context = usm_level_zero_context_of(place->context);
    share_bytes bytes;
    (void)readonly;
    if (record->n_bytes != sizeof bytes || record->n_descriptors == 0) {
        return usm_error_set(
            error, USM_VALUE,
            "the handle has %u bytes of the driver and %u descriptors; memory of a Level Zero "
            "device has %zu and at least 1",
            record->n_bytes, record->n_descriptors, sizeof bytes);
    }
    memcpy(&bytes, record->bytes, sizeof bytes);
    memory->pointer = NULL;
    memory->native = NULL;
    atomic_fetch_add(&context->users, 1);
    ze_result_t result = open_handle(place, &bytes, record->descriptors[0], &memory->pointer);
    usm_status status = USM_OK;
    if (result == ZE_RESULT_ERROR_INVALID_ARGUMENT) {
        status =
            usm_error_driver(error, USM_VALUE, "level_zero", (int)result, usm_level_zero_name(result),
                             "the driver of %s does not open the handle (zeMemOpenIpcHandle: %s): it is of "
                             "other memory or another driver, or its exporter has ended",
                             place->device->info.name, usm_level_zero_name(result));
    } else if (result != ZE_RESULT_SUCCESS) {
        status = usm_level_zero_failed(error, result, "zeMemOpenIpcHandle");
    } else {
        status = check_size(place, memory, error);
        if (status != USM_OK) {
            usm_level_zero.zeMemCloseIpcHandle(context->id, memory->pointer);
        }
    }
    if (status != USM_OK) {
        atomic_fetch_sub(&context->users, 1);
    }
    return status;
}

void usm_level_zero_share_close(const usm_place *place, const usm_shared_memory *memory)
{
    usm_level_zero_context *context = usm_level_zero_context_of(place->context);
    ze_ipc_mem_handle_t *handle = memory->native;
    if (handle == NULL) {
        USM_LEVEL_ZERO_GIVE_BACK(zeMemCloseIpcHandle, context->id, memory->pointer);
        atomic_fetch_sub(&context->users, 1);
        return;
    }
    put_handle(place, handle);
    free(handle);
    usm_level_zero_memory_free(place, memory->kind, memory->pointer, memory->nbytes);
}
