/*
 * Devices: what the driver says of them, their primary contexts, and which of them reach
 * each other's memory.
 */
#include "cuda_backend.h"

#include "../../core/heap.h"

#include <dlpack/dlpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Constant once the backend has started. Ordinals of the driver are places in the list. */
static struct {
    usm_device **devices;
    int n;
} all;

/* Making a primary context takes long and is done once; nothing else is locked under it. */
static pthread_mutex_t retaining = PTHREAD_MUTEX_INITIALIZER;

static int attribute(CUdevice id, CUdevice_attribute what)
{
    int value = 0;
    return usm_cuda.cuDeviceGetAttribute(&value, what, id) == CUDA_SUCCESS ? value : 0;
}

static bool has_pools(CUdevice id)
{
    return usm_cuda.cuMemPoolCreate != NULL && usm_cuda.cuMemPoolSetAttribute != NULL &&
           usm_cuda.cuMemPoolSetAccess != NULL && usm_cuda.cuMemPoolTrimTo != NULL &&
           usm_cuda.cuMemAllocFromPoolAsync != NULL && usm_cuda.cuMemFreeAsync != NULL &&
           attribute(id, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) != 0;
}

static void describe(usm_cuda_device *native, usm_device_info *info)
{
    CUdevice id = native->id;
    CUuuid uuid;
    size_t total = 0;
    int version = 0;
    if (usm_cuda.cuDeviceGetName(info->name, sizeof info->name, id) != CUDA_SUCCESS) {
        snprintf(info->name, sizeof info->name, "NVIDIA device %d", (int)id);
    }
    snprintf(info->vendor, sizeof info->vendor, "NVIDIA");
    (void)usm_cuda.cuDriverGetVersion(&version);
    snprintf(info->driver_version, sizeof info->driver_version, "%d.%d", version / 1000, version % 1000 / 10);
    if (usm_cuda.cuDeviceGetUuid(&uuid, id) == CUDA_SUCCESS) {
        memcpy(info->uuid, uuid.bytes, sizeof info->uuid);
    } else {
        usm_device_make_uuid(info->name, info->uuid);
    }
    (void)usm_cuda.cuDeviceTotalMem(&total, id);
    native->major = attribute(id, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    native->minor = attribute(id, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    native->has_pools = has_pools(id);
    native->has_managed = attribute(id, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY) != 0 &&
                          attribute(id, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS) != 0;
    native->has_pageable = attribute(id, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS) != 0;
    int units = attribute(id, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    int local = attribute(id, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    if (local == 0) {
        local = attribute(id, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    }
    info->max_compute_units = units > 0 ? (uint32_t)units : 1;
    info->max_work_group_size = (uint64_t)attribute(id, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    info->sub_group_sizes[0] = (uint32_t)attribute(id, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    info->global_mem_size = info->max_alloc_size = total;
    info->local_mem_size = (uint64_t)local;
    info->has_fp16 = info->has_fp64 = true; /* of every processor that CUDA 12 knows */
    info->has_usm_device = true;
    info->has_usm_shared = native->has_managed;
    info->has_usm_host = attribute(id, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY) != 0 &&
                         attribute(id, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING) != 0;
    info->has_usm_system = native->has_pageable;
    info->dlpack_type = kDLCUDA;
    info->dlpack_shared_type = kDLCUDAManaged;
    info->dlpack_host_type = kDLCUDAHost;
    info->dlpack_id = info->dlpack_oneapi_id = (int32_t)id;
}

static usm_device *new_device(CUdevice id)
{
    usm_device *device = usm_device_new(&usm_cuda_backend, USM_GPU);
    usm_cuda_device *native = device == NULL ? NULL : calloc(1, sizeof *native);
    _Atomic uint8_t *peers = native == NULL ? NULL : calloc((size_t)all.n, sizeof *peers);
    if (peers == NULL) {
        free(native);
        free(device);
        return NULL;
    }
    native->id = id;
    native->peers = peers;
    pthread_mutex_init(&native->lock, NULL);
    device->native = native;
    describe(native, &device->info);
    return device;
}

usm_status usm_cuda_start(usm_device ***devices, size_t *n_devices, usm_error *error)
{
    *devices = NULL;
    *n_devices = 0;
    usm_status status = usm_cuda_open(error);
    if (status != USM_OK) {
        return status;
    }
    CUresult code = usm_cuda.cuDeviceGetCount(&all.n);
    if (code != CUDA_SUCCESS) {
        return usm_cuda_failed(error, code, "cuDeviceGetCount");
    }
    if (all.n == 0) {
        return usm_error_set(error, USM_UNAVAILABLE,
                             "NVIDIA's driver works, and has no GPU; CUDA_VISIBLE_DEVICES may hide them");
    }
    usm_device **list = calloc((size_t)all.n, sizeof *list), **own = calloc((size_t)all.n, sizeof *own);
    for (int i = 0; i < all.n && list != NULL && own != NULL; i++) {
        CUdevice id;
        code = usm_cuda.cuDeviceGet(&id, i);
        if (code != CUDA_SUCCESS) {
            return usm_cuda_failed(error, code, "cuDeviceGet");
        }
        list[i] = own[i] = new_device(id);
        if (list[i] == NULL) {
            own = NULL;
        }
    }
    if (list == NULL || own == NULL) {
        return usm_error_memory(error, sizeof(usm_device), "a CUDA device");
    }
    if (!usm_cuda_watcher_start()) {
        return usm_error_set(error, USM_DRIVER, "the system refused a thread; see ulimit -u");
    }
    all.devices = own;
    *devices = list;
    *n_devices = (size_t)all.n;
    return USM_OK;
}

usm_status usm_cuda_device_partition(usm_device *parent, uint32_t units, size_t n, usm_device **parts,
                                     usm_error *error)
{
    (void)units;
    (void)n;
    (void)parts;
    return usm_error_set(error, USM_VALUE,
                         "%s cannot be cut into parts by a process: CUDA has no such call (the machine's "
                         "administrator can, see nvidia-smi mig)",
                         parent->info.name);
}

usm_device *usm_cuda_device_at(int ordinal)
{
    for (int i = 0; i < all.n && all.devices != NULL; i++) {
        if (usm_cuda_device_of(all.devices[i])->id == ordinal) {
            return all.devices[i];
        }
    }
    return NULL;
}

usm_device *usm_cuda_device_of_context(CUcontext context)
{
    for (int i = 0; i < all.n && all.devices != NULL; i++) {
        if (atomic_load_explicit(&usm_cuda_device_of(all.devices[i])->context, memory_order_acquire) ==
            context) {
            return all.devices[i];
        }
    }
    return NULL;
}

usm_status usm_cuda_retain_primary(usm_device *device, usm_error *error)
{
    usm_cuda_device *native = usm_cuda_device_of(device);
    CUcontext context = NULL;
    CUresult code = CUDA_SUCCESS;
    if (usm_cuda_forked()) {
        return usm_cuda_after_fork(error);
    }
    pthread_mutex_lock(&retaining);
    if (atomic_load_explicit(&native->context, memory_order_relaxed) == NULL) {
        code = usm_cuda.cuDevicePrimaryCtxRetain(&context, native->id);
        if (code == CUDA_SUCCESS) {
            atomic_store_explicit(&native->context, context, memory_order_release);
        }
    }
    pthread_mutex_unlock(&retaining);
    return code == CUDA_SUCCESS ? USM_OK
                                : usm_cuda_failed_on(device, error, code, "cuDevicePrimaryCtxRetain");
}

usm_status usm_cuda_push(CUcontext context, usm_error *error)
{
    if (usm_cuda_forked()) {
        return usm_cuda_after_fork(error);
    }
    CUresult code = usm_cuda.cuCtxPushCurrent(context);
    usm_device *device = code == CUDA_SUCCESS ? NULL : usm_cuda_device_of_context(context);
    if (device != NULL) {
        usm_cuda_note(device, code);
    }
    return code == CUDA_SUCCESS ? USM_OK : usm_cuda_failed(error, code, "cuCtxPushCurrent");
}

/* Contexts of the core are lists of devices: each device's work is in its primary context. */
usm_status usm_cuda_context_create(usm_context *context, usm_error *error)
{
    for (size_t i = 0; i < context->n_devices; i++) {
        usm_cuda_scope scope;
        usm_status status = usm_cuda_enter(context->devices[i], &scope, error);
        if (status != USM_OK) {
            return status;
        }
        usm_cuda_leave(&scope);
    }
    context->native =
        atomic_load_explicit(&usm_cuda_device_of(context->devices[0])->context, memory_order_acquire);
    return USM_OK;
}

void usm_cuda_context_destroy(usm_context *context)
{
    (void)context; /* primary contexts stay, since other libraries may use them too */
}

/* `from` may use memory of `to` in place from now on: memory of cuMemAlloc, and of our pool. */
static bool enable(usm_device *from, usm_device *to)
{
    usm_cuda_scope scope;
    int can = 0;
    if (usm_cuda.cuDeviceCanAccessPeer(&can, usm_cuda_device_of(from)->id, usm_cuda_device_of(to)->id) !=
            CUDA_SUCCESS ||
        can == 0) {
        return false;
    }
    if (usm_cuda_enter(to, &scope, NULL) != USM_OK) { /* there is a context to be reached */
        return false;
    }
    CUresult code = usm_cuda_enable_pool_access(to, from);
    usm_cuda_leave(&scope);
    if (code != CUDA_SUCCESS || usm_cuda_enter(from, &scope, NULL) != USM_OK) {
        return false;
    }
    code = usm_cuda.cuCtxEnablePeerAccess(
        atomic_load_explicit(&usm_cuda_device_of(to)->context, memory_order_acquire), 0);
    usm_cuda_leave(&scope);
    return code == CUDA_SUCCESS || code == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

bool usm_cuda_reaches(usm_device *a, usm_device *b)
{
    enum { UNASKED, YES, NO };
    if (a == b) {
        return true;
    }
    _Atomic uint8_t *known = &usm_cuda_device_of(a)->peers[b->index];
    uint8_t answer = atomic_load_explicit(known, memory_order_acquire);
    if (answer == UNASKED && !usm_cuda_forked()) {
        answer =
            enable(a, b) ? YES : NO; /* two threads may both do this: it changes nothing the second time */
        atomic_store_explicit(known, answer, memory_order_release);
    }
    return answer == YES;
}
