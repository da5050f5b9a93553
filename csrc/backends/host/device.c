/* The host device: the processors of this machine that the process may use, and parts of them. */
#include "host.h"

#include "core/base/thread.h"
#include "cpu/processor.h"

#include <dlpack/dlpack.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* The processors that the process was allowed to use when the backend started, in the kernel's order. */
static struct {
    unsigned count;
    short ids[CPU_SETSIZE];
} processors;

/* sched_getaffinity: what taskset and containers allow, not all that the machine has. */
static void find_processors(void)
{
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
        for (int i = 0; i < CPU_SETSIZE; i++) {
            if (CPU_ISSET(i, &allowed)) {
                processors.ids[processors.count++] = (short)i;
            }
        }
    }
    if (processors.count == 0) { /* more processors than a cpu_set_t can name: count them, pin nothing */
        long online = sysconf(_SC_NPROCESSORS_ONLN);
        processors.count = online > 0 && online < CPU_SETSIZE ? (unsigned)online : 1;
        processors.ids[0] = -1;
    }
}

void usm_host_pin_thread(const usm_device *device)
{
    if (device->parent == NULL || processors.ids[0] < 0) {
        return;
    }
    cpu_set_t set;
    CPU_ZERO(&set);
    for (unsigned i = 0; i < device->info.max_compute_units; i++) {
        CPU_SET(processors.ids[device->first_unit + i], &set);
    }
    usm_thread_pin(&set);
}

/* "model name : AMD EPYC" of x86; other processors have no such line, and get the machine's name. */
static void read_cpuinfo(const char *key, char *value, size_t size)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *colon = strchr(line, ':');
        if (colon != NULL && strncmp(line, key, strlen(key)) == 0) {
            colon += 1 + strspn(colon + 1, " \t");
            colon[strcspn(colon, "\n")] = '\0';
            snprintf(value, size, "%s", colon);
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

/* sysconf returns -1 or 0 for what the C library does not know. */
static uint64_t system_value(int name, uint64_t otherwise)
{
    long value = sysconf(name);
    return value > 0 ? (uint64_t)value : otherwise;
}

/* Hertz of the first processor; 0 where the system does not report it, as in many virtual machines. */
static uint64_t clock_of_processor(void)
{
    FILE *file = fopen("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "r");
    char text[64] = "";
    double frequency = 0;
    if (file != NULL) {
        unsigned long kilohertz = 0;
        frequency = fscanf(file, "%lu", &kilohertz) == 1 ? (double)kilohertz * 1e3 : 0;
        fclose(file);
    }
    if (frequency <= 0) {
        read_cpuinfo("cpu MHz", text, sizeof text);
        frequency = strtod(text, NULL) * 1e6;
    }
    return (uint64_t)frequency;
}

/* Vector widths are those that the loops of csrc/cpu are compiled for, in elements. */
static void describe_limits(usm_device_info *info)
{
    usm_device_limits *limits = &info->limits;
    uint64_t vector = usm_cpu_vector_bytes(), frequency = clock_of_processor();
    struct timespec resolution = {0, 1};
    (void)clock_getres(CLOCK_MONOTONIC, &resolution);
    for (int i = 0; i < 3; i++) {
        info->max_work_item_sizes[i] = info->max_work_group_size;
    }
    limits->max_work_item_dims = 3;
    limits->max_num_sub_groups = info->max_work_group_size; /* of one work-item each */
    limits->sub_group_independent_forward_progress = false; /* work-items of a group run in turn */
    limits->native_vector_width_char = limits->preferred_vector_width_char = vector;
    limits->native_vector_width_short = limits->preferred_vector_width_short = vector / 2;
    limits->native_vector_width_int = limits->preferred_vector_width_int = vector / 4;
    limits->native_vector_width_long = limits->preferred_vector_width_long = vector / 8;
    limits->native_vector_width_float = limits->preferred_vector_width_float = vector / 4;
    limits->native_vector_width_double = limits->preferred_vector_width_double = vector / 8;
    limits->native_vector_width_half = limits->preferred_vector_width_half = info->has_fp16 ? vector / 2 : 0;
    limits->global_mem_cache_type = USM_CACHE_READ_WRITE;
    limits->global_mem_cache_size =
        system_value(_SC_LEVEL3_CACHE_SIZE, system_value(_SC_LEVEL2_CACHE_SIZE, USM_UNKNOWN));
    limits->global_mem_cache_line_size = system_value(_SC_LEVEL1_DCACHE_LINESIZE, USM_UNKNOWN);
    limits->image_2d_max_width = limits->image_2d_max_height = limits->image_3d_max_width = 0;
    limits->image_3d_max_height = limits->image_3d_max_depth = limits->image_max_buffer_size = 0;
    limits->max_read_image_args = limits->max_write_image_args = 0;
    limits->max_clock_frequency = frequency > 0 ? frequency / 1000000 : USM_UNKNOWN;
    limits->profiling_timer_resolution = (uint64_t)resolution.tv_nsec;
    limits->address_bits = 8 * sizeof(void *);
    limits->partition_max_sub_devices = info->max_compute_units;
    info->aspects = usm_aspect_bit(USM_ASPECT_ONLINE_COMPILER, true) | /* with the system's C compiler */
                    usm_aspect_bit(USM_ASPECT_QUEUE_PROFILING, true) |
                    usm_aspect_bit(USM_ASPECT_USM_ATOMIC_HOST_ALLOCATIONS, true) |
                    usm_aspect_bit(USM_ASPECT_USM_ATOMIC_SHARED_ALLOCATIONS, true) |
                    usm_aspect_bit(USM_ASPECT_ATOMIC64, true) |
                    usm_aspect_bit(USM_ASPECT_HOST_DEBUGGABLE, true);
}

usm_status usm_host_start(usm_device ***devices, size_t *n_devices, usm_error *error)
{
    extern const usm_backend usm_host_backend;
    usm_device *device = usm_device_new(&usm_host_backend, USM_CPU);
    *devices = malloc(sizeof **devices);
    if (device == NULL || *devices == NULL) {
        free(device);
        free(*devices);
        return usm_error_memory(error, sizeof *device, "the host device");
    }
    find_processors();
    usm_device_info *info = &device->info;
    struct utsname system;
    if (uname(&system) != 0) {
        memset(&system, 0, sizeof system);
    }
    snprintf(info->name, sizeof info->name, "%.100s processor", system.machine);
    snprintf(info->vendor, sizeof info->vendor, "unknown");
    read_cpuinfo("model name", info->name, sizeof info->name);
    read_cpuinfo("vendor_id", info->vendor, sizeof info->vendor);
    snprintf(info->driver_version, sizeof info->driver_version, "%.20s %.40s", system.sysname,
             system.release);
    usm_device_make_uuid(info->name, info->uuid);
    info->max_compute_units = processors.count;
    /* Work-items of a group run in turn on one thread, so these are limits of size, not of hardware. */
    info->max_work_group_size = 8192;
    info->sub_group_sizes[0] = 1;
    info->local_mem_size = system_value(_SC_LEVEL1_DCACHE_SIZE, 32768);
    info->global_mem_size = system_value(_SC_PHYS_PAGES, 0) * system_value(_SC_PAGESIZE, 4096);
    info->max_alloc_size = info->global_mem_size;
    info->has_fp64 = true;
    info->single_fp_config = USM_FP_IEEE;
#ifdef __FLT16_MANT_DIG__
    info->has_fp16 = true; /* the compiler has _Float16, which kernels for the host are built with */
#endif
    info->has_usm_device = info->has_usm_shared = info->has_usm_host = info->has_usm_system = true;
    info->host_reads_device = true;
    snprintf(info->platform, sizeof info->platform, "Host");
    snprintf(info->platform_vendor, sizeof info->platform_vendor, "usmpy");
    snprintf(info->platform_version, sizeof info->platform_version, "%s", info->driver_version);
    describe_limits(info);
    info->dlpack_type = kDLCPU;
    info->dlpack_id = 0;
    (*devices)[0] = device;
    *n_devices = 1;
    return USM_OK;
}

/* Nothing of a driver: threads of a part's queues are pinned to its processors (usm_host_pin_thread). */
usm_status usm_host_device_partition(usm_device *parent, uint32_t units, size_t n, usm_device **parts,
                                     usm_error *error)
{
    (void)error;
    for (size_t i = 0; i < n; i++) {
        parts[i]->info = parent->info;
        parts[i]->info.max_compute_units = units;
        parts[i]->info.limits.partition_max_sub_devices = units;
    }
    return USM_OK;
}
