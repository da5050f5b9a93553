/* Devices: what a backend found, and the partitions of it. */
#ifndef USM_CORE_DEVICE_H
#define USM_CORE_DEVICE_H

#include "core/base/error.h"
#include "properties.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct usm_backend;
struct usm_context;

/* As in filter strings; static. */
const char *usm_backend_name(const struct usm_backend *backend);

typedef enum usm_device_type { USM_CPU, USM_GPU, USM_ACCELERATOR } usm_device_type;

#define USM_MAX_SUB_GROUP_SIZES 8

/* SYCL 2020, 4.6.4.5; usm_aspect_name has their names. */
typedef enum usm_aspect {
    USM_ASPECT_CPU,
    USM_ASPECT_GPU,
    USM_ASPECT_ACCELERATOR,
    USM_ASPECT_CUSTOM,
    USM_ASPECT_FP16,
    USM_ASPECT_FP64,
    USM_ASPECT_ATOMIC64,
    USM_ASPECT_IMAGE,
    USM_ASPECT_ONLINE_COMPILER,
    USM_ASPECT_ONLINE_LINKER,
    USM_ASPECT_QUEUE_PROFILING,
    USM_ASPECT_USM_DEVICE_ALLOCATIONS,
    USM_ASPECT_USM_HOST_ALLOCATIONS,
    USM_ASPECT_USM_SHARED_ALLOCATIONS,
    USM_ASPECT_USM_SYSTEM_ALLOCATIONS,
    USM_ASPECT_USM_ATOMIC_HOST_ALLOCATIONS,
    USM_ASPECT_USM_ATOMIC_SHARED_ALLOCATIONS,
    USM_ASPECT_HOST_DEBUGGABLE,
    USM_ASPECT_EMULATED,
    USM_ASPECTS
} usm_aspect;

static inline uint32_t usm_aspect_bit(usm_aspect aspect, bool has)
{
    return has ? UINT32_C(1) << aspect : 0;
}

/* What float32 arithmetic of a device can do (SYCL 2020, info::fp_config). */
typedef enum usm_fp_config {
    USM_FP_DENORM,
    USM_FP_INF_NAN,
    USM_FP_ROUND_TO_NEAREST,
    USM_FP_ROUND_TO_ZERO,
    USM_FP_ROUND_TO_INF,
    USM_FP_FMA,
    USM_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT,
    USM_FP_SOFT_FLOAT,
    USM_FP_CONFIGS
} usm_fp_config;

#define USM_FP_BIT(config) (UINT32_C(1) << (config))
#define USM_FP_IEEE (USM_FP_BIT(USM_FP_SOFT_FLOAT) - 1) /* all of it, in hardware */

#define USM_UNKNOWN UINT64_MAX /* the driver does not tell */

/* What some drivers tell and others do not. */
typedef struct usm_device_limits {
#define USM_LIMIT(kind, name) uint64_t name;
#include "device_facts.inc"
} usm_device_limits;

/* Values of global_mem_cache_type. */
enum { USM_CACHE_NONE, USM_CACHE_READ_ONLY, USM_CACHE_READ_WRITE };

/* Plain facts, filled once by the backend. */
typedef struct usm_device_info {
#define USM_FACT(kind, name, declaration) declaration;
#include "device_facts.inc"
    usm_device_limits limits;
    char platform[64], platform_vendor[64], platform_version[128];
    bool host_reads_device; /* memory of kind "device" may be read and written by the host too */
    bool is_host; /* a driver's view of the host's processors: the host's loops do copies and what is built in
                   */
    uint32_t frees_wait; /* kinds whose memory_free waits for work of the device: 1u << usm_kind each */
    uint32_t max_fill;   /* bytes of a fill's pattern; of longer ones, kernels of the core's do the fills */
    /* DLPack's name of memory on this device: (type, id). */
    int32_t dlpack_type, dlpack_id;
    /* The same of memory of kinds "shared" and "host", whose id is 0 then; 0: as memory of the device. */
    int32_t dlpack_shared_type, dlpack_host_type;
    /* Another name under which memory on this device is exported on request and found; type 0: none. */
    int32_t dlpack_view_type, dlpack_view_id;
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
    _Atomic int64_t synchronized_ns; /* all that the driver got before this usm_clock_ns has ended */
} usm_device;

/* The pair is the device's other name in DLPack. */
static inline bool usm_device_info_has_view(const usm_device_info *info, int64_t type, int64_t id)
{
    return type != 0 && type == info->dlpack_view_type && id == info->dlpack_view_id;
}

/* Zeroed, with unknown limits. */
void usm_device_info_init(usm_device_info *info);
/* usm_device_info_init of its info; the rest zeroed, but for backend and type. NULL when memory ran out. */
usm_device *usm_device_new(const struct usm_backend *backend, usm_device_type type);

/*
 * The device cut into parts of `units` compute units each (SYCL 2020, partition_equally: units that are left
 * over go unused). *count parts in a malloc'd array that the caller frees; the devices are immortal.
 * USM_VALUE where units is 0 or exceeds the device's.
 */
usm_status usm_device_partition(usm_device *device, uint32_t units, usm_device ***parts, size_t *count,
                                usm_error *error);

const char *usm_kind_name(usm_kind kind);
const char *usm_device_type_name(usm_device_type type);
/* Bits of usm_aspect. */
uint32_t usm_device_aspects(const usm_device *device);
const char *usm_aspect_name(usm_aspect aspect);
const char *usm_fp_config_name(usm_fp_config config);
usm_device *usm_device_root(usm_device *device);

/* "host:cpu:0"; a partition adds ".K@UNITS" for each level: "host:cpu:0.1@2". Returns text. */
#define USM_DEVICE_TEXT 96
char *usm_device_text(const usm_device *device, char *text, size_t size);

/*
 * For devices whose driver reports no identity: the same in every process on this machine, different on
 * other machines and for other texts. A hash of the machine's id and the text (FNV-1a).
 */
void usm_device_make_uuid(const char *text, uint8_t uuid[16]);

#endif
