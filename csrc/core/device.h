/* Devices: what a backend found, and the partitions of it. */
#ifndef USM_CORE_DEVICE_H
#define USM_CORE_DEVICE_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct usm_backend;
struct usm_context;

typedef enum usm_device_type { USM_CPU, USM_GPU, USM_ACCELERATOR } usm_device_type;

#define USM_MAX_SUB_GROUP_SIZES 8

/* Plain facts, filled once by the backend; sizes in bytes. */
typedef struct usm_device_info {
    char name[128];
    char vendor[64];
    char driver_version[64];
    uint8_t uuid[16];
    uint32_t max_compute_units;
    uint64_t max_work_group_size;
    uint32_t sub_group_sizes[USM_MAX_SUB_GROUP_SIZES]; /* ends at the first 0 */
    uint64_t global_mem_size;
    uint64_t local_mem_size;
    uint64_t max_alloc_size;
    bool has_fp16, has_fp64;
    bool has_usm_device, has_usm_shared, has_usm_host, has_usm_system;
    bool host_reads_device; /* memory of kind "device" may be read and written by the host too */
    bool is_host; /* a driver's view of the host's processors: the host's loops do copies and what is built in
                   */
    /* DLPack's name of memory on this device: (type, id). */
    int32_t dlpack_type, dlpack_id;
    /* The same of memory of kinds "shared" and "host", whose id is 0 then; 0: as memory of the device. */
    int32_t dlpack_shared_type, dlpack_host_type;
    /* The id of the view kDLOneAPI beside these, where the device has that too; else -1. */
    int32_t dlpack_oneapi_id;
} usm_device_info;

/*
 * One object a piece of hardware: a partition that was made before comes back as the same object, so devices
 * are compared by address. All devices are immortal: there are few, and everything points at them.
 */
typedef struct usm_device {
    const struct usm_backend *backend;
    struct usm_device *parent; /* NULL for a root device */
    usm_device_type type;
    uint32_t index;      /* root: among the backend's root devices of this type; else: among its siblings */
    uint32_t first_unit; /* in the root's compute units */
    uint32_t partition;  /* compute units that create_sub_devices() was asked for; 0 for a root */
    usm_device_info info;
    void *native;
    struct usm_context *context;   /* the platform's default context, made on first use (registry lock) */
    struct usm_device *partitions; /* first of the sub-devices made so far, all partitions (registry lock) */
    struct usm_device *sibling;
} usm_device;

/* Zeroed but for backend and type; NULL when memory ran out. */
usm_device *usm_device_new(const struct usm_backend *backend, usm_device_type type);

/*
 * The device cut into parts of `units` compute units each (SYCL 2020, partition_equally: units that are left
 * over go unused). *count parts in a malloc'd array that the caller frees; the devices are immortal.
 * USM_VALUE where units is 0 or exceeds the device's.
 */
usm_status usm_device_partition(usm_device *device, uint32_t units, usm_device ***parts, size_t *count,
                                usm_error *error);

/* The device that the driver's object is, a part that was made before included; else USM_NOT_FOUND. */
usm_status usm_device_adopt(const struct usm_backend *backend, void *handle, usm_device **out,
                            usm_error *error);

const char *usm_device_type_name(usm_device_type type);
usm_device *usm_device_root(usm_device *device);

/* "host:cpu:0"; a partition adds ".K@UNITS" for each level: "host:cpu:0.1@2". Returns text. */
#define USM_DEVICE_TEXT 96
char *usm_device_text(const usm_device *device, char *text, size_t size);

/*
 * For devices whose driver has no identity of its own: the same for every process on this machine, other for
 * other machines and other texts. A hash of the machine's id and the text (FNV-1a).
 */
void usm_device_make_uuid(const char *text, uint8_t uuid[16]);

#endif
