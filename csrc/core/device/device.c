#include "device.h"

#include "core/base/heap.h"
#include "core/base/sync.h"
#include "rule.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *usm_backend_name(const usm_backend *backend)
{
    return backend->name;
}

usm_device *usm_device_new(const usm_backend *backend, usm_device_type type)
{
    usm_device *device = usm_calloc(1, sizeof *device);
    if (device != NULL) {
        device->backend = backend;
        device->type = type;
        usm_device_info_init(&device->info);
    }
    return device;
}

void usm_device_info_init(usm_device_info *info)
{
    memset(info, 0, sizeof *info);
    memset(&info->limits, 0xff, sizeof info->limits); /* USM_UNKNOWN */
    info->max_fill = 16;                              /* the longest that there is */
}

const char *usm_aspect_name(usm_aspect aspect)
{
    static const char *const names[USM_ASPECTS] = {
        [USM_ASPECT_CPU] = "cpu",
        [USM_ASPECT_GPU] = "gpu",
        [USM_ASPECT_ACCELERATOR] = "accelerator",
        [USM_ASPECT_CUSTOM] = "custom",
        [USM_ASPECT_FP16] = "fp16",
        [USM_ASPECT_FP64] = "fp64",
        [USM_ASPECT_ATOMIC64] = "atomic64",
        [USM_ASPECT_IMAGE] = "image",
        [USM_ASPECT_ONLINE_COMPILER] = "online_compiler",
        [USM_ASPECT_ONLINE_LINKER] = "online_linker",
        [USM_ASPECT_QUEUE_PROFILING] = "queue_profiling",
        [USM_ASPECT_USM_DEVICE_ALLOCATIONS] = "usm_device_allocations",
        [USM_ASPECT_USM_HOST_ALLOCATIONS] = "usm_host_allocations",
        [USM_ASPECT_USM_SHARED_ALLOCATIONS] = "usm_shared_allocations",
        [USM_ASPECT_USM_SYSTEM_ALLOCATIONS] = "usm_system_allocations",
        [USM_ASPECT_USM_ATOMIC_HOST_ALLOCATIONS] = "usm_atomic_host_allocations",
        [USM_ASPECT_USM_ATOMIC_SHARED_ALLOCATIONS] = "usm_atomic_shared_allocations",
        [USM_ASPECT_HOST_DEBUGGABLE] = "host_debuggable",
        [USM_ASPECT_EMULATED] = "emulated",
    };
    return names[aspect];
}

const char *usm_fp_config_name(usm_fp_config config)
{
    static const char *const names[USM_FP_CONFIGS] = {
        [USM_FP_DENORM] = "denorm",
        [USM_FP_INF_NAN] = "inf_nan",
        [USM_FP_ROUND_TO_NEAREST] = "round_to_nearest",
        [USM_FP_ROUND_TO_ZERO] = "round_to_zero",
        [USM_FP_ROUND_TO_INF] = "round_to_inf",
        [USM_FP_FMA] = "fma",
        [USM_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT] = "correctly_rounded_divide_sqrt",
        [USM_FP_SOFT_FLOAT] = "soft_float",
    };
    return names[config];
}

uint32_t usm_device_aspects(const usm_device *device)
{
    const usm_device_info *info = &device->info;
    return info->aspects | usm_aspect_bit(USM_ASPECT_CPU, device->type == USM_CPU) |
           usm_aspect_bit(USM_ASPECT_GPU, device->type == USM_GPU) |
           usm_aspect_bit(USM_ASPECT_ACCELERATOR, device->type == USM_ACCELERATOR) |
           usm_aspect_bit(USM_ASPECT_FP16, info->has_fp16) | usm_aspect_bit(USM_ASPECT_FP64, info->has_fp64) |
           usm_aspect_bit(USM_ASPECT_USM_DEVICE_ALLOCATIONS, info->has_usm_device) |
           usm_aspect_bit(USM_ASPECT_USM_SHARED_ALLOCATIONS, info->has_usm_shared) |
           usm_aspect_bit(USM_ASPECT_USM_HOST_ALLOCATIONS, info->has_usm_host) |
           usm_aspect_bit(USM_ASPECT_USM_SYSTEM_ALLOCATIONS, info->has_usm_system);
}

/* Registry lock held. The parts of an earlier call with the same number of units: their count, 0 for none. */
static size_t find_parts(usm_device *device, uint32_t units, usm_device **parts)
{
    size_t n = 0;
    for (usm_device *part = device->partitions; part != NULL; part = part->sibling) {
        if (part->partition == units) {
            parts[part->index] = part;
            n++;
        }
    }
    return n;
}

static usm_status make_parts(usm_device *device, uint32_t units, size_t n, usm_device **parts,
                             usm_error *error)
{
    usm_status status = USM_OK;
    size_t made = 0;
    for (; made < n && status == USM_OK; made++) {
        parts[made] = usm_device_new(device->backend, device->type);
        if (parts[made] == NULL) {
            status = usm_error_memory(error, sizeof(usm_device), "a sub-device");
            break;
        }
        parts[made]->parent = device;
        parts[made]->index = (uint32_t)made;
        parts[made]->partition = units;
        parts[made]->first_unit = device->first_unit + (uint32_t)made * units;
    }
    if (status == USM_OK) {
        status = device->backend->device_partition != NULL
                     ? USM_UNLESS_FORKED(
                           device->backend, error,
                           USM_CALL(device->backend, device_partition)(device, units, n, parts, error))
                     : usm_error_set(error, USM_VALUE, "%s cannot be partitioned", device->info.name);
    }
    if (status != USM_OK) {
        while (made > 0) {
            free(parts[--made]);
        }
        return status;
    }
    for (size_t i = 0; i < n; i++) {
        parts[i]->sibling = device->partitions;
        device->partitions = parts[i];
    }
    return USM_OK;
}

usm_status usm_device_partition(usm_device *device, uint32_t units, usm_device ***parts, size_t *count,
                                usm_error *error)
{
    uint32_t all = device->info.max_compute_units;
    if (units == 0 || units > all) {
        return usm_error_set(error, USM_VALUE, "units is %u; %s has %u compute units, so 1 to %u are allowed",
                             units, device->info.name, all, all);
    }
    size_t n = all / units;
    usm_device **list = usm_calloc(n, sizeof *list);
    if (list == NULL) {
        return usm_error_memory(error, n * sizeof *list, "a list of sub-devices");
    }
    usm_registry_lock();
    usm_status status =
        find_parts(device, units, list) == n ? USM_OK : make_parts(device, units, n, list, error);
    usm_registry_unlock();
    if (status != USM_OK) {
        free(list);
        return status;
    }
    *parts = list;
    *count = n;
    return USM_OK;
}

const char *usm_kind_name(usm_kind kind)
{
    static const char *const names[USM_KINDS] = {"device", "shared", "host"};
    return names[kind];
}

const char *usm_device_type_name(usm_device_type type)
{
    static const char *const names[] = {"cpu", "gpu", "accelerator"};
    return names[type];
}

usm_device *usm_device_root(usm_device *device)
{
    while (device->parent != NULL) {
        device = device->parent;
    }
    return device;
}

char *usm_device_text(const usm_device *device, char *text, size_t size)
{
    if (device->parent == NULL) {
        snprintf(text, size, "%s:%s:%u", device->backend->name, usm_device_type_name(device->type),
                 device->index);
    } else {
        size_t used = strlen(usm_device_text(device->parent, text, size));
        snprintf(text + used, size - used, ".%u@%u", device->index, device->partition);
    }
    return text;
}

void usm_device_make_uuid(const char *text, uint8_t uuid[16])
{
    char id[64] = "";
    FILE *file = fopen("/etc/machine-id", "r");
    if (file != NULL) {
        if (fgets(id, sizeof id, file) == NULL) {
            id[0] = '\0';
        }
        fclose(file);
    }
    if (id[0] == '\0') {
        gethostname(id, sizeof id - 1);
    }
    for (int half = 0; half < 2; half++) {
        uint64_t hash = UINT64_C(14695981039346656037) + (uint64_t)half;
        for (const char *c = id; *c != '\0'; c++) {
            hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
        }
        for (const char *c = text; *c != '\0'; c++) {
            hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
        }
        memcpy(uuid + 8 * half, &hash, 8);
    }
}
