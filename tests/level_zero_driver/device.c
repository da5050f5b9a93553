/* The driver, its devices and their parts, and what they say of themselves. */
#include "driver.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define VERSION 0x01000000 /* of the driver */

struct _ze_driver_handle_t sim_driver;

bool sim_peers(ze_device_handle_t a, ze_device_handle_t b)
{
    return a->root == b->root || sim_settings()->peer;
}

uint64_t sim_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The device's clock began at another time than the host's. */
uint64_t sim_ticks(uint64_t ns)
{
    return ns / SIM_NS_PER_TICK + 123456789;
}

uint64_t sim_kernel_ticks(uint64_t ns)
{
    uint32_t bits = sim_settings()->timestamp_bits;
    uint64_t ticks = sim_ticks(ns);
    return bits >= 64 ? ticks : ticks & ((1ull << bits) - 1);
}

uint32_t sim_n_groups(void)
{
    return sim_settings()->copy_engines > 0 ? 2 : 1;
}

size_t sim_fill_most(uint32_t group)
{
    size_t most = sim_settings()->fill_bytes;
    return group == SIM_COPY_GROUP && most > SIM_FILL_COPY ? SIM_FILL_COPY : most;
}

/* --- driver ------------------------------------------------------------------------------------------- */

static bool wanted(ze_init_flags_t flags)
{
    if (flags == 0)
        return true;
    bool npu = sim_settings()->type == ZE_DEVICE_TYPE_VPU;
    return (flags & (npu ? ZE_INIT_FLAG_VPU_ONLY : ZE_INIT_FLAG_GPU_ONLY)) != 0;
}

ze_result_t ZE_APICALL zeInit(ze_init_flags_t flags)
{
    sim_settings();
    SIM_ENTER(zeInit);
    return wanted(flags) ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_UNINITIALIZED;
}

/* The usual protocol: *count 0 asks for the number, else it is the room in `out`. False: only asked. */
static bool counted(uint32_t *count, uint32_t there, const void *out)
{
    bool asks = *count == 0 || out == NULL;
    if (*count == 0 || *count > there)
        *count = there;
    return !asks;
}

ze_result_t ZE_APICALL zeDriverGet(uint32_t *count, ze_driver_handle_t *drivers)
{
    SIM_ENTER(zeDriverGet);
    if (counted(count, 1, drivers))
        drivers[0] = &sim_driver;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeInitDrivers(uint32_t *count, ze_driver_handle_t *drivers,
                                     struct _ze_init_driver_type_desc_t *desc)
{
    /* ze_init_driver_type_desc_t of 1.10 */
    const struct {
        ze_structure_type_t stype;
        const void *next;
        uint32_t flags;
    } *asked = (const void *)desc;
    SIM_ENTER(zeInitDrivers);
    bool npu = sim_settings()->type == ZE_DEVICE_TYPE_VPU;
    bool fits = (asked->flags & (npu ? 2u : 1u)) != 0;
    if (counted(count, fits ? 1 : 0, drivers) && fits)
        drivers[0] = &sim_driver;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDriverGetApiVersion(ze_driver_handle_t driver, ze_api_version_t *version)
{
    (void)driver;
    SIM_ENTER(zeDriverGetApiVersion);
    *version = (ze_api_version_t)ZE_MAKE_VERSION(1, sim_settings()->api_minor);
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDriverGetProperties(ze_driver_handle_t driver, ze_driver_properties_t *properties)
{
    (void)driver;
    SIM_ENTER(zeDriverGetProperties);
    memset(&properties->uuid, 0, sizeof(properties->uuid));
    memcpy(properties->uuid.id, "usmpy-zesim", 11);
    properties->driverVersion = VERSION;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDriverGetIpcProperties(ze_driver_handle_t driver,
                                                ze_driver_ipc_properties_t *properties)
{
    (void)driver;
    SIM_ENTER(zeDriverGetIpcProperties);
    properties->flags = sim_settings()->ipc ? ZE_IPC_PROPERTY_FLAG_MEMORY : 0;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDriverGetExtensionProperties(ze_driver_handle_t driver, uint32_t *count,
                                                      ze_driver_extension_properties_t *extensions)
{
    static const char *const names[] = {
        "ZE_experimental_relaxed_allocation_limits",
        "ZE_experimental_global_offset",
        "ZE_extension_subgroups",
        "ZE_extension_memory_free_policies",
        "ZE_extension_pci_properties",
    };
    (void)driver;
    SIM_ENTER(zeDriverGetExtensionProperties);
    uint32_t skipped = sim_settings()->relaxed ? 0 : 1; /* the first */
    if (counted(count, sizeof(names) / sizeof(names[0]) - skipped, extensions))
        for (uint32_t i = 0; i < *count; i++) {
            memset(&extensions[i], 0, sizeof(extensions[i]));
            snprintf(extensions[i].name, sizeof(extensions[i].name), "%s", names[i + skipped]);
            extensions[i].version = ZE_MAKE_VERSION(1, 0);
        }
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDriverGetExtensionFunctionAddress(ze_driver_handle_t driver, const char *name,
                                                           void **address)
{
    (void)driver;
    SIM_ENTER(zeDriverGetExtensionFunctionAddress);
    *address = NULL;
    return sim_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "no extension has a function %s", name);
}

ze_result_t ZE_APICALL zeDriverGetLastErrorDescription(ze_driver_handle_t driver, const char **text)
{
    (void)driver;
    SIM_ENTER(zeDriverGetLastErrorDescription);
    *text = sim_last_error();
    return ZE_RESULT_SUCCESS;
}

/* --- devices ------------------------------------------------------------------------------------------ */

ze_result_t ZE_APICALL zeDeviceGet(ze_driver_handle_t driver, uint32_t *count, ze_device_handle_t *devices)
{
    (void)driver;
    SIM_ENTER(zeDeviceGet);
    ze_device_handle_t *shown;
    uint32_t n = sim_shown(&shown);
    if (counted(count, n, devices))
        memcpy(devices, shown, *count * sizeof(*devices));
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDeviceGetSubDevices(ze_device_handle_t device, uint32_t *count,
                                             ze_device_handle_t *devices)
{
    SIM_ENTER(zeDeviceGetSubDevices);
    if (counted(count, device->n_parts, devices))
        for (uint32_t i = 0; i < *count; i++)
            devices[i] = &device->parts[i];
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDeviceGetRootDevice(ze_device_handle_t device, ze_device_handle_t *root)
{
    SIM_ENTER(zeDeviceGetRootDevice);
    *root = sim_is_sub_device(device) ? device->root : NULL;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDeviceGetProperties(ze_device_handle_t device, ze_device_properties_t *properties)
{
    SIM_ENTER(zeDeviceGetProperties);
    const sim_setup *setup = sim_settings();
    bool part = sim_is_part(device);
    uint32_t units = part ? setup->units : setup->units * (device->n_parts > 0 ? device->n_parts : 1);
    ze_structure_type_t stype = properties->stype;
    void *next = properties->pNext;
    memset(properties, 0, sizeof(*properties));
    *properties = (ze_device_properties_t){
        .stype = stype,
        .pNext = next,
        .type = setup->type,
        .vendorId = 0x8086,
        .deviceId = 0x51d0 + device->root->index,
        .flags = ZE_DEVICE_PROPERTY_FLAG_ONDEMANDPAGING,
        .subdeviceId = part ? device->index : 0,
        .coreClockRate = 1000,
        .maxMemAllocSize = setup->max_alloc_bytes,
        .maxHardwareContexts = 1024,
        .maxCommandQueuePriority = 0,
        .numThreadsPerEU = 8,
        .physicalEUSimdWidth = 8,
        .numEUsPerSubslice = units,
        .numSubslicesPerSlice = 1,
        .numSlices = 1,
        .timestampValidBits = 64,
        .kernelTimestampValidBits = setup->timestamp_bits,
    };
    if (sim_is_sub_device(device))
        properties->flags |= ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE;
    if (setup->type == ZE_DEVICE_TYPE_CPU)
        properties->flags |= ZE_DEVICE_PROPERTY_FLAG_INTEGRATED;
    /* Nanoseconds in a tick before 1.2, ticks in a second since. */
    bool since_1_2 = stype == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2;
    properties->timerResolution = since_1_2 ? 1000000000 / SIM_NS_PER_TICK : SIM_NS_PER_TICK;
    memcpy(properties->uuid.id, "usmpyzesim", 10);
    properties->uuid.id[12] = (uint8_t)device->root->index;
    properties->uuid.id[13] = (uint8_t)(part ? 1 + device->index : 0);
    snprintf(properties->name, sizeof(properties->name), "Software Level Zero device %u",
             (unsigned)device->root->index);
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDeviceGetComputeProperties(ze_device_handle_t device,
                                                    ze_device_compute_properties_t *properties)
{
    (void)device;
    SIM_ENTER(zeDeviceGetComputeProperties);
    properties->maxTotalGroupSize = 1024;
    properties->maxGroupSizeX = properties->maxGroupSizeY = properties->maxGroupSizeZ = 1024;
    properties->maxGroupCountX = properties->maxGroupCountY = properties->maxGroupCountZ = UINT32_MAX;
    properties->maxSharedLocalMemory = 32768;
    properties->numSubGroupSizes = 3;
    memset(properties->subGroupSizes, 0, sizeof(properties->subGroupSizes));
    for (uint32_t i = 0; i < 3; i++)
        properties->subGroupSizes[i] = 8u << i;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDeviceGetModuleProperties(ze_device_handle_t device,
                                                   ze_device_module_properties_t *properties)
{
    const ze_device_fp_flags_t basic = ZE_DEVICE_FP_FLAG_DENORM | ZE_DEVICE_FP_FLAG_INF_NAN |
                                       ZE_DEVICE_FP_FLAG_ROUND_TO_NEAREST | ZE_DEVICE_FP_FLAG_ROUND_TO_ZERO |
                                       ZE_DEVICE_FP_FLAG_ROUND_TO_INF | ZE_DEVICE_FP_FLAG_FMA;
    const ze_device_fp_flags_t full = basic | ZE_DEVICE_FP_FLAG_ROUNDED_DIVIDE_SQRT;
    (void)device;
    SIM_ENTER(zeDeviceGetModuleProperties);
    properties->spirvVersionSupported = ZE_MAKE_VERSION(1, 4);
    properties->flags = ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS;
    if (sim_settings()->fp64)
        properties->flags |= ZE_DEVICE_MODULE_FLAG_FP64;
    properties->fp16flags = 0;
    properties->fp32flags = sim_settings()->fp64 ? full : basic; /* as on Intel's GPUs without fp64 */
    properties->fp64flags = sim_settings()->fp64 ? full : 0;
    properties->maxArgumentsSize = 2048;
    properties->printfBufferSize = 1 << 20;
    memset(&properties->nativeKernelSupported, 0, sizeof(properties->nativeKernelSupported));
    memcpy(properties->nativeKernelSupported.id, "zesim-native-1", 14);
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDeviceGetCommandQueueGroupProperties(ze_device_handle_t device, uint32_t *count,
                                                              ze_command_queue_group_properties_t *groups)
{
    (void)device;
    SIM_ENTER(zeDeviceGetCommandQueueGroupProperties);
    if (!counted(count, sim_n_groups(), groups))
        return ZE_RESULT_SUCCESS;
    for (uint32_t i = 0; i < *count; i++) {
        bool copies = i == SIM_COPY_GROUP;
        groups[i].flags = ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY;
        if (!copies)
            groups[i].flags |= ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE |
                               ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COOPERATIVE_KERNELS;
        groups[i].maxMemoryFillPatternSize = sim_fill_most(i);
        groups[i].numQueues = copies ? sim_settings()->copy_engines : 4;
    }
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDeviceGetMemoryProperties(ze_device_handle_t device, uint32_t *count,
                                                   ze_device_memory_properties_t *properties)
{
    SIM_ENTER(zeDeviceGetMemoryProperties);
    if (counted(count, 1, properties)) {
        const sim_setup *setup = sim_settings();
        properties->flags = 0;
        properties->maxClockRate = 1600;
        properties->maxBusWidth = 64;
        uint64_t tile = setup->memory_bytes / (setup->sub_devices > 0 ? setup->sub_devices : 1);
        bool whole = !sim_is_part(device) && device->n_parts == 0;
        properties->totalSize =
            whole ? setup->memory_bytes : tile * (sim_is_part(device) ? 1 : device->n_parts);
        memset(properties->name, 0, sizeof(properties->name));
        memcpy(properties->name, "software", 8);
    }
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDeviceGetMemoryAccessProperties(ze_device_handle_t device,
                                                         ze_device_memory_access_properties_t *properties)
{
    const ze_memory_access_cap_flags_t all = ZE_MEMORY_ACCESS_CAP_FLAG_RW | ZE_MEMORY_ACCESS_CAP_FLAG_ATOMIC |
                                             ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT |
                                             ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT_ATOMIC;
    (void)device;
    SIM_ENTER(zeDeviceGetMemoryAccessProperties);
    properties->hostAllocCapabilities = all;
    properties->deviceAllocCapabilities = all;
    properties->sharedSingleDeviceAllocCapabilities = all;
    properties->sharedCrossDeviceAllocCapabilities = sim_settings()->peer ? all : 0;
    properties->sharedSystemAllocCapabilities = 0;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDeviceGetCacheProperties(ze_device_handle_t device, uint32_t *count,
                                                  ze_device_cache_properties_t *properties)
{
    (void)device;
    SIM_ENTER(zeDeviceGetCacheProperties);
    if (counted(count, 1, properties)) {
        properties->flags = 0;
        properties->cacheSize = 4 << 20;
    }
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDeviceGetImageProperties(ze_device_handle_t device,
                                                  ze_device_image_properties_t *properties)
{
    (void)device;
    SIM_ENTER(zeDeviceGetImageProperties);
    ze_device_image_properties_t none = {.stype = properties->stype, .pNext = properties->pNext};
    *properties = none; /* no images */
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDeviceGetExternalMemoryProperties(ze_device_handle_t device,
                                                           ze_device_external_memory_properties_t *properties)
{
    (void)device;
    SIM_ENTER(zeDeviceGetExternalMemoryProperties);
    ze_device_external_memory_properties_t none = {.stype = properties->stype, .pNext = properties->pNext};
    *properties = none;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDeviceGetP2PProperties(ze_device_handle_t device, ze_device_handle_t peer,
                                                ze_device_p2p_properties_t *properties)
{
    SIM_ENTER(zeDeviceGetP2PProperties);
    properties->flags = sim_peers(device, peer)
                            ? ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS | ZE_DEVICE_P2P_PROPERTY_FLAG_ATOMICS
                            : 0;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDeviceCanAccessPeer(ze_device_handle_t device, ze_device_handle_t peer,
                                             ze_bool_t *value)
{
    SIM_ENTER(zeDeviceCanAccessPeer);
    *value = sim_peers(device, peer);
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDeviceGetStatus(ze_device_handle_t device)
{
    SIM_ENTER(zeDeviceGetStatus);
    return sim_lost(device);
}

ze_result_t ZE_APICALL zeDeviceGetGlobalTimestamps(ze_device_handle_t device, uint64_t *host, uint64_t *own)
{
    SIM_ENTER(zeDeviceGetGlobalTimestamps);
    if (sim_lost(device) != ZE_RESULT_SUCCESS)
        return sim_lost(device);
    *host = sim_now_ns();
    *own = sim_ticks(*host);
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeDevicePciGetPropertiesExt(ze_device_handle_t device,
                                                   ze_pci_ext_properties_t *properties)
{
    SIM_ENTER(zeDevicePciGetPropertiesExt);
    properties->address = (ze_pci_address_ext_t){.bus = 0x10 + device->root->index};
    properties->maxSpeed = (ze_pci_speed_ext_t){.genVersion = -1, .width = -1, .maxBandwidth = -1};
    return ZE_RESULT_SUCCESS;
}

/* --- for tests ---------------------------------------------------------------------------------------- */

/* From now on all work on the root device ends in this code, also what waits; 0: it is well again. */
SIM_EXPORT int zesimLose(uint32_t device, uint32_t code);
int zesimLose(uint32_t device, uint32_t code)
{
    ze_device_handle_t cards;
    if (device >= sim_cards(&cards))
        return -1;
    atomic_store(&cards[device].lost, code);
    sim_tell();
    return 0;
}
