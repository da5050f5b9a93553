/* Devices: the start of the backend, and what the driver reports about each device. */
#include "cuda_backend.h"

#include <dlpack/dlpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Constant once the backend has started. Ordinals of the driver are places in the list. */
static struct {
    usm_device **devices;
    int n;
} all;

/* 0 for an attribute that the driver does not know: older drivers return CUDA_ERROR_INVALID_VALUE. */
static int attribute(CUdevice id, CUdevice_attribute what)
{
    int value = 0;
    return usm_cuda.cuDeviceGetAttribute(&value, what, id) == CUDA_SUCCESS ? value : 0;
}

/* The same for facts whose value may be 0: USM_UNKNOWN where the driver does not know the attribute. */
static uint64_t limit(CUdevice id, CUdevice_attribute what)
{
    int value = 0;
    return usm_cuda.cuDeviceGetAttribute(&value, what, id) == CUDA_SUCCESS && value >= 0 ? (uint64_t)value
                                                                                         : USM_UNKNOWN;
}

/* Memory in stream order (CUDA 11.2): all functions, and a device that supports them. */
static bool has_pools(CUdevice id)
{
    return usm_cuda.cuMemPoolCreate != NULL && usm_cuda.cuMemPoolSetAttribute != NULL &&
           usm_cuda.cuMemPoolSetAccess != NULL && usm_cuda.cuMemPoolTrimTo != NULL &&
           usm_cuda.cuMemAllocFromPoolAsync != NULL && usm_cuda.cuMemFreeAsync != NULL &&
           attribute(id, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) != 0;
}

/*
 * CUDA reports no vector widths, sizes of cache lines, numbers of image arguments or resolution of events:
 * these stay USM_UNKNOWN.
 */
static void describe_limits(const usm_cuda_device *native, usm_device_info *info)
{
    CUdevice id = native->id;
    usm_device_limits *limits = &info->limits;
    const struct {
        uint64_t *limit;
        CUdevice_attribute what;
    } numbers[] = {
        {&limits->global_mem_cache_size, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
        {&limits->image_2d_max_width, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH},
        {&limits->image_2d_max_height, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT},
        {&limits->image_3d_max_width, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH},
        {&limits->image_3d_max_height, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT},
        {&limits->image_3d_max_depth, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH},
        {&limits->image_max_buffer_size, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        *numbers[i].limit = limit(id, numbers[i].what);
    }
    info->max_work_item_sizes[0] = (uint64_t)attribute(id, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
    info->max_work_item_sizes[1] = (uint64_t)attribute(id, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
    info->max_work_item_sizes[2] = (uint64_t)attribute(id, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
    int kilohertz = attribute(id, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
    limits->max_work_item_dims = 3;
    limits->max_num_sub_groups =
        info->sub_group_sizes[0] > 0 ? info->max_work_group_size / info->sub_group_sizes[0] : USM_UNKNOWN;
    limits->sub_group_independent_forward_progress = native->major >= 7;
    if (limits->global_mem_cache_size != USM_UNKNOWN) {
        limits->global_mem_cache_type =
            limits->global_mem_cache_size > 0 ? USM_CACHE_READ_WRITE : USM_CACHE_NONE;
    }
    limits->max_clock_frequency = kilohertz > 0 ? (uint64_t)kilohertz / 1000 : USM_UNKNOWN;
    limits->address_bits = 8 * sizeof(CUdeviceptr);
    limits->partition_max_sub_devices = 0;
    info->aspects =
        usm_aspect_bit(USM_ASPECT_IMAGE, attribute(id, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH) > 0) |
        usm_aspect_bit(USM_ASPECT_ONLINE_COMPILER, true) | usm_aspect_bit(USM_ASPECT_ONLINE_LINKER, true) |
        usm_aspect_bit(USM_ASPECT_QUEUE_PROFILING, true) | usm_aspect_bit(USM_ASPECT_ATOMIC64, true) |
        usm_aspect_bit(USM_ASPECT_USM_ATOMIC_HOST_ALLOCATIONS,
                       attribute(id, CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED) != 0) |
        usm_aspect_bit(USM_ASPECT_USM_ATOMIC_SHARED_ALLOCATIONS, native->has_managed);
}

/*
 * Managed memory counts as shared memory only if host and device may use it at the same time
 * (concurrentManagedAccess), which devices on Windows and before Pascal cannot.
 */
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
    info->single_fp_config = USM_FP_IEEE;   /* of code that NVRTC's options do not make faster */
    info->max_fill = 4;
    info->has_usm_device = true;
    info->has_usm_shared = native->has_managed;
    info->has_usm_host = attribute(id, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY) != 0 &&
                         attribute(id, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING) != 0;
    info->has_usm_system = native->has_pageable;
    info->frees_wait = 1u << USM_SHARED | 1u << USM_HOST | (native->has_pools ? 0 : 1u << USM_DEVICE);
    snprintf(info->platform, sizeof info->platform, "NVIDIA CUDA");
    snprintf(info->platform_vendor, sizeof info->platform_vendor, "NVIDIA Corporation");
    snprintf(info->platform_version, sizeof info->platform_version, "CUDA %s", info->driver_version);
    describe_limits(native, info);
    info->dlpack_type = kDLCUDA;
    info->dlpack_shared_type = kDLCUDAManaged;
    info->dlpack_host_type = kDLCUDAHost;
    info->dlpack_view_type = kDLOneAPI;
    info->dlpack_id = info->dlpack_view_id = (int32_t)id;
}

/* `peers` has one entry for each device of the process. NULL: memory ran out. */
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

/* No context is made here: that takes long, and memory of the GPU. */
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
    usm_fork_guard_use(&usm_cuda_guard);
    all.devices = own;
    *devices = list;
    *n_devices = (size_t)all.n;
    return USM_OK;
}

/* Not NULL, since the message has advice: MIG partitions are devices of their own. */
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

/* Ordinals are those of cuDeviceGet, after CUDA_VISIBLE_DEVICES. */
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
