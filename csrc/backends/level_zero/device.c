/* The start of the backend, what the driver reports about each device, and partitions. */
#include "level_zero.h"

#include <dlpack/dlpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The bits of a timestamp that are valid; all of them where the driver reports none. */
static uint64_t mask_of(uint32_t bits)
{
    return bits == 0 || bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/*
 * Finds the first group of engines that computes, and the first that copies and does nothing else (Level Zero
 * Core Programming Guide, Command Queue Groups).
 */
static ze_result_t ask_groups(usm_level_zero_device *device, usm_device_info *info)
{
    uint32_t n = 0;
    ze_result_t result = usm_level_zero.zeDeviceGetCommandQueueGroupProperties(device->id, &n, NULL);
    if (result != ZE_RESULT_SUCCESS || n == 0) {
        return result;
    }
    ze_command_queue_group_properties_t *groups = calloc(n, sizeof *groups);
    if (groups == NULL) {
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    for (uint32_t i = 0; i < n; i++) {
        groups[i].stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES;
    }
    result = usm_level_zero.zeDeviceGetCommandQueueGroupProperties(device->id, &n, groups);
    for (uint32_t i = 0; result == ZE_RESULT_SUCCESS && i < n; i++) {
        bool computes = (groups[i].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE) != 0;
        bool copies = (groups[i].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY) != 0;
        usm_level_zero_group *group = computes ? &device->compute : &device->copy;
        if ((computes || copies) && groups[i].numQueues > 0 && !group->exists) {
            *group = (usm_level_zero_group){true, i};
            if (computes) { /* whose engines fill */
                size_t most = groups[i].maxMemoryFillPatternSize;
                info->max_fill = most < info->max_fill ? (uint32_t)most : info->max_fill;
            }
        }
    }
    free(groups);
    return result;
}

/*
 * The unit of timerResolution: nanoseconds a tick in the first form of the properties, ticks a second in that
 * of version 1.2 (ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2).
 */
static void ask_clock(usm_level_zero_device *device, const ze_device_properties_t *properties)
{
    ze_device_properties_t newer = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2};
    device->ns_per_tick = (double)properties->timerResolution;
    if (device->driver->version >= ZE_API_VERSION_1_2 &&
        usm_level_zero.zeDeviceGetProperties(device->id, &newer) == ZE_RESULT_SUCCESS &&
        newer.timerResolution > 0) {
        device->ns_per_tick = 1e9 / (double)newer.timerResolution;
    }
    device->kernel_mask =
        mask_of(properties->kernelTimestampValidBits) & mask_of(properties->timestampValidBits);
}

/*
 * Kinds of memory by the access capabilities, which are 0 where the device has no such memory; the size is
 * the sum of all memories of the device.
 */
static ze_result_t ask_memory(const usm_level_zero_device *device, usm_device_info *info)
{
    ze_device_memory_access_properties_t access = {.stype =
                                                       ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES};
    uint32_t n = 0;
    ze_result_t result = usm_level_zero.zeDeviceGetMemoryAccessProperties(device->id, &access);
    info->has_usm_device = access.deviceAllocCapabilities != 0;
    info->has_usm_shared = access.sharedSingleDeviceAllocCapabilities != 0;
    info->has_usm_host = access.hostAllocCapabilities != 0;
    info->has_usm_system = access.sharedSystemAllocCapabilities != 0;
    info->aspects |=
        usm_aspect_bit(USM_ASPECT_USM_ATOMIC_HOST_ALLOCATIONS,
                       (access.hostAllocCapabilities & ZE_MEMORY_ACCESS_CAP_FLAG_ATOMIC) != 0) |
        usm_aspect_bit(USM_ASPECT_USM_ATOMIC_SHARED_ALLOCATIONS,
                       (access.sharedSingleDeviceAllocCapabilities & ZE_MEMORY_ACCESS_CAP_FLAG_ATOMIC) != 0);
    usm_level_zero.zeDeviceGetMemoryProperties(device->id, &n, NULL);
    ze_device_memory_properties_t *all = calloc(n + 1, sizeof *all);
    for (uint32_t i = 0; all != NULL && i < n; i++) {
        all[i].stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES;
    }
    if (all != NULL && n > 0 &&
        usm_level_zero.zeDeviceGetMemoryProperties(device->id, &n, all) == ZE_RESULT_SUCCESS) {
        for (uint32_t i = 0; i < n; i++) {
            info->global_mem_size += all[i].totalSize;
        }
    }
    free(all);
    return result;
}

/* Limits of groups, and what the compiler supports. */
static ze_result_t ask_compute(usm_level_zero_device *device, usm_device_info *info)
{
    ze_device_compute_properties_t compute = {.stype = ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES};
    ze_device_module_properties_t module = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES};
    ze_result_t result = usm_level_zero.zeDeviceGetComputeProperties(device->id, &compute);
    result = result == ZE_RESULT_SUCCESS ? usm_level_zero.zeDeviceGetModuleProperties(device->id, &module)
                                         : result;
    info->max_work_group_size = compute.maxTotalGroupSize;
    info->local_mem_size = compute.maxSharedLocalMemory;
    for (uint32_t i = 0; i < compute.numSubGroupSizes && i < USM_MAX_SUB_GROUP_SIZES; i++) {
        info->sub_group_sizes[i] = compute.subGroupSizes[i];
    }
    info->has_fp16 = (module.flags & ZE_DEVICE_MODULE_FLAG_FP16) != 0;
    info->has_fp64 = (module.flags & ZE_DEVICE_MODULE_FLAG_FP64) != 0;
    info->single_fp_config = module.fp32flags & (USM_FP_BIT(USM_FP_CONFIGS) - 1); /* in the same order */
    info->aspects |=
        usm_aspect_bit(USM_ASPECT_ATOMIC64, (module.flags & ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS) != 0);
    info->max_work_item_sizes[0] = compute.maxGroupSizeX;
    info->max_work_item_sizes[1] = compute.maxGroupSizeY;
    info->max_work_item_sizes[2] = compute.maxGroupSizeZ;
    info->limits.max_work_item_dims = 3;
    info->limits.max_num_sub_groups = compute.numSubGroupSizes > 0 && compute.subGroupSizes[0] > 0
                                          ? compute.maxTotalGroupSize / compute.subGroupSizes[0]
                                          : USM_UNKNOWN;
    device->groups_max[0] = compute.maxGroupCountX;
    device->groups_max[1] = compute.maxGroupCountY;
    device->groups_max[2] = compute.maxGroupCountZ;
    device->spirv_version = module.spirvVersionSupported;
    return result;
}

/* The largest of the device's caches; Level Zero does not report sizes of cache lines. */
static void ask_caches(const usm_level_zero_device *device, usm_device_limits *limits)
{
    enum { MOST = 16 };
    ze_device_cache_properties_t caches[MOST];
    uint32_t n = MOST;
    memset(caches, 0, sizeof caches);
    for (int i = 0; i < MOST; i++) {
        caches[i].stype = ZE_STRUCTURE_TYPE_DEVICE_CACHE_PROPERTIES;
    }
    if (usm_level_zero.zeDeviceGetCacheProperties == NULL ||
        usm_level_zero.zeDeviceGetCacheProperties(device->id, &n, caches) != ZE_RESULT_SUCCESS) {
        return;
    }
    limits->global_mem_cache_size = 0;
    for (uint32_t i = 0; i < n && i < MOST; i++) {
        if (caches[i].cacheSize > limits->global_mem_cache_size) {
            limits->global_mem_cache_size = caches[i].cacheSize;
        }
    }
    limits->global_mem_cache_type = limits->global_mem_cache_size > 0 ? USM_CACHE_READ_WRITE : USM_CACHE_NONE;
}

/* Optional: what stays USM_UNKNOWN is not reported. */
static void ask_images(const usm_level_zero_device *device, usm_device_info *info)
{
    ze_device_image_properties_t images = {.stype = ZE_STRUCTURE_TYPE_DEVICE_IMAGE_PROPERTIES};
    usm_device_limits *limits = &info->limits;
    if (usm_level_zero.zeDeviceGetImageProperties == NULL ||
        usm_level_zero.zeDeviceGetImageProperties(device->id, &images) != ZE_RESULT_SUCCESS) {
        return;
    }
    limits->image_2d_max_width = limits->image_2d_max_height = images.maxImageDims2D;
    limits->image_3d_max_width = limits->image_3d_max_height = images.maxImageDims3D;
    limits->image_3d_max_depth = images.maxImageDims3D;
    limits->image_max_buffer_size = images.maxImageBufferSize;
    limits->max_read_image_args = images.maxReadImageArgs;
    limits->max_write_image_args = images.maxWriteImageArgs;
    info->aspects |= usm_aspect_bit(USM_ASPECT_IMAGE, images.maxImageDims2D > 0);
}

/* Blocks above maxMemAllocSize are allowed where the driver has relaxed limits (memory.c). */
static ze_result_t describe(usm_level_zero_device *device, usm_device_info *info, usm_device_type *type)
{
    enum { INTEL = 0x8086 };
    ze_device_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
    ze_result_t result = usm_level_zero.zeDeviceGetProperties(device->id, &properties);
    if (result != ZE_RESULT_SUCCESS) {
        return result;
    }
    *type = properties.type == ZE_DEVICE_TYPE_GPU   ? USM_GPU
            : properties.type == ZE_DEVICE_TYPE_CPU ? USM_CPU
                                                    : USM_ACCELERATOR;
    snprintf(info->name, sizeof info->name, "%.*s", (int)sizeof info->name - 1, properties.name);
    if (properties.vendorId == INTEL) {
        snprintf(info->vendor, sizeof info->vendor, "Intel(R) Corporation");
    } else {
        snprintf(info->vendor, sizeof info->vendor, "vendor 0x%04x", properties.vendorId);
    }
    snprintf(info->driver_version, sizeof info->driver_version, "%s", device->driver->text);
    memcpy(info->uuid, properties.uuid.id, sizeof info->uuid);
    uint32_t units = properties.numSlices * properties.numSubslicesPerSlice * properties.numEUsPerSubslice;
    info->max_compute_units = units > 0 ? units : 1;
    device->max_block = properties.maxMemAllocSize;
    ask_clock(device, &properties);
    ask_caches(device, &info->limits);
    ask_images(device, info);
    info->limits.max_clock_frequency = properties.coreClockRate > 0 ? properties.coreClockRate : USM_UNKNOWN;
    info->limits.profiling_timer_resolution = (uint64_t)(device->ns_per_tick + 0.5);
    info->limits.address_bits = 8 * sizeof(void *);
    info->aspects |= usm_aspect_bit(USM_ASPECT_ONLINE_COMPILER, true) |
                     usm_aspect_bit(USM_ASPECT_ONLINE_LINKER, true) |
                     usm_aspect_bit(USM_ASPECT_QUEUE_PROFILING, true);
    snprintf(info->platform, sizeof info->platform, "Level Zero");
    snprintf(info->platform_vendor, sizeof info->platform_vendor, "%s", info->vendor);
    snprintf(info->platform_version, sizeof info->platform_version, "%u.%u",
             (unsigned)ZE_MAJOR_VERSION(device->driver->version),
             (unsigned)ZE_MINOR_VERSION(device->driver->version));
    result = ask_memory(device, info);
    info->max_alloc_size = device->driver->relaxed_limits && info->global_mem_size > device->max_block
                               ? info->global_mem_size
                               : device->max_block;
    result = result == ZE_RESULT_SUCCESS ? ask_compute(device, info) : result;
    info->host_reads_device = *type == USM_CPU;
    info->dlpack_type = kDLOneAPI;
    return result == ZE_RESULT_SUCCESS ? ask_groups(device, info) : result;
}

/* The driver's sub-devices, constant for the life of the process. */
static ze_result_t list_parts(usm_level_zero_device *device)
{
    uint32_t n = 0;
    ze_result_t result = usm_level_zero.zeDeviceGetSubDevices(device->id, &n, NULL);
    if (result != ZE_RESULT_SUCCESS || n == 0) {
        return ZE_RESULT_SUCCESS; /* devices of one piece */
    }
    device->parts = calloc(n, sizeof *device->parts);
    if (device->parts == NULL) {
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    result = usm_level_zero.zeDeviceGetSubDevices(device->id, &n, device->parts);
    device->n_parts = result == ZE_RESULT_SUCCESS ? n : 0;
    return result;
}

static void free_device(usm_level_zero_device *device)
{
    if (device != NULL) {
        free(device->parts);
    }
    free(device);
}

/* Describes a device of the driver, root or part. NULL, with the result, where that fails. */
static usm_level_zero_device *open_device(const usm_level_zero_driver *driver, ze_device_handle_t id,
                                          usm_device_info *info, usm_device_type *type, ze_result_t *result)
{
    usm_level_zero_device *device = calloc(1, sizeof *device);
    *result = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    if (device != NULL) {
        device->driver = driver;
        device->id = id;
        *result = describe(device, info, type);
    }
    if (*result == ZE_RESULT_SUCCESS) {
        *result = list_parts(device);
        info->limits.partition_max_sub_devices = device->n_parts;
    }
    if (*result != ZE_RESULT_SUCCESS) {
        free_device(device);
        return NULL;
    }
    return device;
}

/* Devices without an engine that computes are left out. */
static ze_result_t add_device(const usm_level_zero_driver *driver, ze_device_handle_t id, usm_device **list,
                              size_t *n)
{
    usm_device_info info;
    usm_device_type type = USM_GPU;
    usm_device_info_init(&info);
    ze_result_t result;
    usm_level_zero_device *native = open_device(driver, id, &info, &type, &result);
    if (native == NULL || !native->compute.exists) {
        free_device(native);
        return result;
    }
    usm_device *device = usm_device_new(&usm_level_zero_backend, type);
    if (device == NULL) {
        free_device(native);
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    device->info = info;
    device->info.dlpack_id = (int32_t)*n; /* SYCL's ordinal: as the driver lists them */
    device->native = native;
    list[(*n)++] = device;
    return ZE_RESULT_SUCCESS;
}

/* All devices of one driver, which may be none. */
static usm_status add_devices(const usm_level_zero_driver *driver, usm_device ***list, size_t *n,
                              usm_error *error)
{
    uint32_t count = 0;
    ze_result_t result = usm_level_zero.zeDeviceGet(driver->id, &count, NULL);
    if (result != ZE_RESULT_SUCCESS || count == 0) {
        return USM_OK; /* the driver of a device that is not here */
    }
    ze_device_handle_t *ids = calloc(count, sizeof *ids);
    usm_device **longer = ids == NULL ? NULL : realloc(*list, (*n + count) * sizeof *longer);
    result = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    if (longer != NULL) {
        *list = longer;
        result = usm_level_zero.zeDeviceGet(driver->id, &count, ids);
    }
    for (uint32_t i = 0; result == ZE_RESULT_SUCCESS && i < count; i++) {
        result = add_device(driver, ids[i], *list, n);
    }
    free(ids);
    return result == ZE_RESULT_SUCCESS
               ? USM_OK
               : usm_level_zero_failed(error, result, "zeDeviceGet, or what a device tells of itself,");
}

/* Sorts the devices by type, graphics processors first; within a type they stay as the drivers list them. */
static void sort_best_first(usm_device **devices, size_t n)
{
    static const int rank[] = {[USM_GPU] = 0, [USM_ACCELERATOR] = 1, [USM_CPU] = 2};
    for (size_t i = 1; i < n; i++) {
        usm_device *device = devices[i];
        size_t at = i;
        for (; at > 0 && rank[devices[at - 1]->type] > rank[device->type]; at--) {
            devices[at] = devices[at - 1];
        }
        devices[at] = device;
    }
}

usm_status usm_level_zero_start(usm_device ***devices, size_t *n_devices, usm_error *error)
{
    usm_level_zero_driver **drivers = NULL;
    size_t n_drivers = 0;
    *devices = NULL;
    *n_devices = 0;
    usm_status status = usm_level_zero_lists_start(error);
    if (status == USM_OK) {
        status = usm_level_zero_drivers(&drivers, &n_drivers, error);
    }
    for (size_t i = 0; status == USM_OK && i < n_drivers; i++) {
        status = add_devices(drivers[i], devices, n_devices, error);
    }
    if (status == USM_OK && *n_devices == 0) {
        char why[160];
        usm_level_zero_explain(why, sizeof why);
        status = usm_error_set(error, USM_UNAVAILABLE, "no Level Zero driver has a device%s", why);
    }
    free(drivers); /* the drivers themselves are immortal, as their devices are */
    *n_devices = status == USM_OK ? *n_devices : 0; /* those of drivers before the one that failed */
    sort_best_first(*devices, *n_devices);
    return status;
}

/*
 * Parts are the driver's sub-devices (tiles) alone; parts of other sizes are refused. The whole device counts
 * as one part of itself (Level Zero Core Programming Guide, Sub-Device Support).
 */
usm_status usm_level_zero_device_partition(usm_device *parent, uint32_t units, size_t n, usm_device **parts,
                                           usm_error *error)
{
    const usm_level_zero_device *native = usm_level_zero_device_of(parent);
    bool whole = n == 1 && units == parent->info.max_compute_units;
    if (!whole && native->n_parts == 0) {
        return usm_error_set(
            error, USM_VALUE, "units is %u; %s is one piece, so its only part has all %u compute units%s",
            units, parent->info.name, parent->info.max_compute_units,
            parent->parent == NULL ? " (ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE shows tiles as parts)" : "");
    }
    if (!whole && (n != native->n_parts || units != parent->info.max_compute_units / native->n_parts)) {
        return usm_error_set(
            error, USM_VALUE, "units is %u; %s can only be split into %u parts of %u compute units", units,
            parent->info.name, native->n_parts, parent->info.max_compute_units / native->n_parts);
    }
    usm_status status = USM_OK;
    size_t made = 0;
    for (; status == USM_OK && made < n; made++) {
        ze_device_handle_t id = whole ? native->id : native->parts[made];
        usm_device_info info;
        ze_result_t result;
        usm_device_info_init(&info);
        usm_level_zero_device *part = open_device(native->driver, id, &info, &parts[made]->type, &result);
        if (part == NULL) {
            status = usm_level_zero_failed(error, result, "a sub-device");
            break;
        }
        info.dlpack_id = parent->info.dlpack_id; /* SYCL's rule: that of the whole */
        info.max_compute_units = units;
        parts[made]->info = info;
        parts[made]->native = part;
    }
    while (status != USM_OK && made > 0) {
        free_device(parts[--made]->native);
        parts[made]->native = NULL;
    }
    return status;
}
