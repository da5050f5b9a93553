/* The one device of the minimal backend, and its description. */
#include "minimal.h"

#include <dlpack/dlpack.h>
#include <stdio.h>
#include <stdlib.h>

static void describe(usm_device_info *info)
{
    snprintf(info->name, sizeof info->name, "minimal device");
    snprintf(info->vendor, sizeof info->vendor, "usmpy");
    snprintf(info->driver_version, sizeof info->driver_version, "1");
    snprintf(info->platform, sizeof info->platform, "Minimal");
    snprintf(info->platform_vendor, sizeof info->platform_vendor, "usmpy");
    snprintf(info->platform_version, sizeof info->platform_version, "1");
    usm_device_make_uuid(info->name, info->uuid);
    info->max_compute_units = 1;
    info->max_work_group_size = 1;
    for (int i = 0; i < 3; i++) {
        info->max_work_item_sizes[i] = 1;
    }
    info->sub_group_sizes[0] = 1;
    info->local_mem_size = 1024;
    info->global_mem_size = info->max_alloc_size = (uint64_t)1 << 40;
    info->has_fp64 = true;
    info->single_fp_config = USM_FP_IEEE;
    info->has_usm_device = info->has_usm_shared = info->has_usm_host = true;
    /* Its memory is memory of this process, and it can use all memory of the process. */
    info->host_reads_device = info->has_usm_system = true;
    info->is_host = true; /* the host's loops run the built-in kernels */
    /* The limits that every device reports. */
    info->limits.max_work_item_dims = 3;
    info->limits.address_bits = 8 * sizeof(void *);
    info->limits.partition_max_sub_devices = 0;
    info->limits.image_2d_max_width = 0;
    info->aspects = usm_aspect_bit(USM_ASPECT_QUEUE_PROFILING, true); /* the core takes the times */
    /* DLPack's name for devices that it does not know; other libraries refuse it. */
    info->dlpack_type = kDLExtDev;
    info->dlpack_id = 0;
}

usm_status usm_minimal_start(usm_device ***devices, size_t *n_devices, usm_error *error)
{
    extern const usm_backend usm_minimal_backend;
    usm_device *device = usm_device_new(&usm_minimal_backend, USM_CPU);
    *devices = malloc(sizeof **devices);
    if (device == NULL || *devices == NULL) {
        free(device);
        free(*devices);
        return usm_error_memory(error, sizeof *device, "the minimal device");
    }
    describe(&device->info);
    (*devices)[0] = device;
    *n_devices = 1;
    return USM_OK;
}
