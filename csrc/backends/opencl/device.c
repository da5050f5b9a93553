/* The start of the backend, what the driver reports about each device, and partitions. */
#include "opencl.h"

#include <dlpack/dlpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Asks for one fact, and says whether the driver knows it; the value stays as it was otherwise. Drivers
 * answer CL_INVALID_VALUE about facts of later versions of OpenCL.
 */
#define ASK(device, what, value)                                                                    \
    ((device)->platform->api->clGetDeviceInfo((device)->id, what, sizeof(value), &(value), NULL) == \
     CL_SUCCESS)

/* Whole words only: cl_intel_unified_shared_memory is also how the names of its previews begin. */
static bool has_extension(const char *extensions, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = extensions; (at = strstr(at, name)) != NULL; at += length) {
        bool begins = at == extensions || at[-1] == ' ';
        if (begins && (at[length] == ' ' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

/* A string of any length; "" where the driver has none. malloc'd; NULL when memory ran out. */
static char *ask_text(const usm_opencl_device *device, cl_device_info what)
{
    size_t size = 0;
    const usm_opencl_api *api = device->platform->api;
    if (api->clGetDeviceInfo(device->id, what, 0, NULL, &size) != CL_SUCCESS) {
        size = 0;
    }
    char *text = calloc(1, size + 1);
    if (text != NULL && size > 0) {
        api->clGetDeviceInfo(device->id, what, size, text, NULL);
    }
    return text;
}

/* Into an array of a fixed size, cut where it is longer. */
static void copy_text(const usm_opencl_device *device, cl_device_info what, char *text, size_t size)
{
    char *whole = ask_text(device, what);
    if (whole != NULL) {
        snprintf(text, size, "%s", whole + strspn(whole, " ")); /* Intel's names begin with blanks */
    }
    free(whole);
}

static void set_atomics(usm_device_info *info, bool host, bool shared)
{
    info->aspects |= usm_aspect_bit(USM_ASPECT_USM_ATOMIC_HOST_ALLOCATIONS, host) |
                     usm_aspect_bit(USM_ASPECT_USM_ATOMIC_SHARED_ALLOCATIONS, shared);
}

/*
 * Where memory comes from, and which kinds there are: docs/design.md, section 6. Intel's extension has all
 * kinds by name. Fine-grained SVM buffers are used by host and device at the same time, so all kinds are made
 * of them; coarse-grained ones must be mapped first, so they are of kind "device" only (OpenCL API 3.0, 5.6).
 * Atomics on SVM are a fact of the device, on unified shared memory one of each kind.
 */
static void ask_memory(usm_opencl_device *device, usm_device_info *info, const char *extensions)
{
    cl_device_svm_capabilities svm = 0;
    cl_bitfield device_caps = 0, shared_caps = 0, host_caps = 0, system_caps = 0;
    const usm_opencl_platform *platform = device->platform;
    if (platform->device_alloc != NULL && platform->enqueue_memcpy != NULL &&
        has_extension(extensions, "cl_intel_unified_shared_memory")) {
        device->memory = USM_OPENCL_INTEL_USM;
        (void)ASK(device, CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL, device_caps);
        (void)ASK(device, CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL, shared_caps);
        (void)ASK(device, CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL, host_caps);
        (void)ASK(device, CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL, system_caps);
        info->has_usm_device = device_caps != 0;
        info->has_usm_shared = shared_caps != 0;
        info->has_usm_host = host_caps != 0;
        info->has_usm_system = system_caps != 0;
        set_atomics(info, (host_caps & CL_UNIFIED_SHARED_MEMORY_ATOMIC_ACCESS_INTEL) != 0,
                    (shared_caps & CL_UNIFIED_SHARED_MEMORY_ATOMIC_ACCESS_INTEL) != 0);
        return;
    }
    (void)ASK(device, CL_DEVICE_SVM_CAPABILITIES, svm);
    if (platform->api->clSVMAlloc == NULL || platform->api->clEnqueueSVMMemcpy == NULL) {
        svm = 0;
    }
#ifdef USM_TESTING
    if (getenv("USMPY_TEST_COARSE_SVM") != NULL) { /* a graphics card's memory, on machines that have none */
        svm = svm != 0 ? CL_DEVICE_SVM_COARSE_GRAIN_BUFFER : 0;
    }
#endif
    if ((svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) != 0) {
        device->memory = USM_OPENCL_FINE_SVM;
        info->has_usm_device = info->has_usm_shared = info->has_usm_host = true;
        info->has_usm_system = (svm & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM) != 0;
        set_atomics(info, (svm & CL_DEVICE_SVM_ATOMICS) != 0, (svm & CL_DEVICE_SVM_ATOMICS) != 0);
    } else if ((svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) != 0) {
        device->memory = USM_OPENCL_COARSE_SVM;
        info->has_usm_device = true;
    }
}

/*
 * Of cl_intel_required_subgroup_size. Drivers without it leave the zeros, which mean that sizes are unknown.
 */
static void ask_sub_groups(const usm_opencl_device *device, usm_device_info *info)
{
    size_t sizes[USM_MAX_SUB_GROUP_SIZES] = {0};
    (void)device->platform->api->clGetDeviceInfo(device->id, CL_DEVICE_SUB_GROUP_SIZES_INTEL, sizeof sizes,
                                                 sizes, NULL);
    for (int i = 0; i < USM_MAX_SUB_GROUP_SIZES; i++) {
        info->sub_group_sizes[i] = (uint32_t)sizes[i];
    }
}

/* OpenCL numbers the last two bits of usm_fp_config the other way round. */
static uint32_t single_fp_config(const usm_opencl_device *device)
{
    cl_device_fp_config told = 0;
    (void)ASK(device, CL_DEVICE_SINGLE_FP_CONFIG, told);
    return (uint32_t)(told & (USM_FP_BIT(USM_FP_FMA + 1) - 1)) |
           ((told & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0
                ? USM_FP_BIT(USM_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT)
                : 0) |
           ((told & CL_FP_SOFT_FLOAT) != 0 ? USM_FP_BIT(USM_FP_SOFT_FLOAT) : 0);
}

/* Drivers without cl_khr_device_uuid get one of their names: the same in every process of this machine. */
static void ask_uuid(const usm_opencl_device *device, usm_device_info *info, const char *extensions)
{
    if (!has_extension(extensions, "cl_khr_device_uuid") || !ASK(device, CL_DEVICE_UUID_KHR, info->uuid)) {
        char text[260];
        snprintf(text, sizeof text, "%s %s", device->platform->name, info->name);
        usm_device_make_uuid(text, info->uuid);
    }
}

/* A number of type cl_uint, cl_ulong or size_t, by how many bytes the driver writes. */
static uint64_t ask_number(const usm_opencl_device *device, cl_device_info what)
{
    union {
        cl_uint small;
        cl_ulong large;
    } value = {.large = 0};
    size_t size = 0;
    if (device->platform->api->clGetDeviceInfo(device->id, what, sizeof value, &value, &size) != CL_SUCCESS ||
        (size != sizeof value.small && size != sizeof value.large)) {
        return USM_UNKNOWN;
    }
    return size == sizeof value.small ? value.small : value.large;
}

static void ask_limits(const usm_opencl_device *device, usm_device_info *info)
{
    usm_device_limits *limits = &info->limits;
    const struct {
        uint64_t *limit;
        cl_device_info what;
    } numbers[] = {
        {&limits->max_work_item_dims, CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS},
        {&limits->max_num_sub_groups, CL_DEVICE_MAX_NUM_SUB_GROUPS},
        {&limits->sub_group_independent_forward_progress, CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS},
        {&limits->preferred_vector_width_char, CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR},
        {&limits->preferred_vector_width_short, CL_DEVICE_PREFERRED_VECTOR_WIDTH_SHORT},
        {&limits->preferred_vector_width_int, CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT},
        {&limits->preferred_vector_width_long, CL_DEVICE_PREFERRED_VECTOR_WIDTH_LONG},
        {&limits->preferred_vector_width_float, CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT},
        {&limits->preferred_vector_width_double, CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE},
        {&limits->preferred_vector_width_half, CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF},
        {&limits->native_vector_width_char, CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR},
        {&limits->native_vector_width_short, CL_DEVICE_NATIVE_VECTOR_WIDTH_SHORT},
        {&limits->native_vector_width_int, CL_DEVICE_NATIVE_VECTOR_WIDTH_INT},
        {&limits->native_vector_width_long, CL_DEVICE_NATIVE_VECTOR_WIDTH_LONG},
        {&limits->native_vector_width_float, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT},
        {&limits->native_vector_width_double, CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE},
        {&limits->native_vector_width_half, CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF},
        {&limits->global_mem_cache_type, CL_DEVICE_GLOBAL_MEM_CACHE_TYPE},
        {&limits->global_mem_cache_size, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE},
        {&limits->global_mem_cache_line_size, CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE},
        {&limits->image_2d_max_width, CL_DEVICE_IMAGE2D_MAX_WIDTH},
        {&limits->image_2d_max_height, CL_DEVICE_IMAGE2D_MAX_HEIGHT},
        {&limits->image_3d_max_width, CL_DEVICE_IMAGE3D_MAX_WIDTH},
        {&limits->image_3d_max_height, CL_DEVICE_IMAGE3D_MAX_HEIGHT},
        {&limits->image_3d_max_depth, CL_DEVICE_IMAGE3D_MAX_DEPTH},
        {&limits->image_max_buffer_size, CL_DEVICE_IMAGE_MAX_BUFFER_SIZE},
        {&limits->max_read_image_args, CL_DEVICE_MAX_READ_IMAGE_ARGS},
        {&limits->max_write_image_args, CL_DEVICE_MAX_WRITE_IMAGE_ARGS},
        {&limits->max_clock_frequency, CL_DEVICE_MAX_CLOCK_FREQUENCY},
        {&limits->profiling_timer_resolution, CL_DEVICE_PROFILING_TIMER_RESOLUTION},
        {&limits->address_bits, CL_DEVICE_ADDRESS_BITS},
        {&limits->partition_max_sub_devices, CL_DEVICE_PARTITION_MAX_SUB_DEVICES},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        *numbers[i].limit = ask_number(device, numbers[i].what);
    }
    if (limits->global_mem_cache_type > USM_CACHE_READ_WRITE) { /* OpenCL numbers the types as we do */
        limits->global_mem_cache_type = USM_UNKNOWN;
    }
    if (limits->max_num_sub_groups == 0) { /* drivers below OpenCL 2.1, and those without sub-groups */
        limits->max_num_sub_groups = USM_UNKNOWN;
    }
    if (limits->max_clock_frequency == 0) { /* virtual machines */
        limits->max_clock_frequency = USM_UNKNOWN;
    }
    size_t sizes[16] = {0};
    (void)ASK(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizes);
    for (int i = 0; i < 3; i++) {
        info->max_work_item_sizes[i] = sizes[i];
    }
}

/* Aspects of SYCL 2020, 4.6.4.5, that follow from no other fact. */
static void ask_aspects(const usm_opencl_device *device, usm_device_info *info, const char *extensions)
{
    cl_bool image = CL_FALSE, compiler = CL_FALSE, linker = CL_FALSE;
    cl_command_queue_properties queue = 0;
    (void)ASK(device, CL_DEVICE_IMAGE_SUPPORT, image);
    (void)ASK(device, CL_DEVICE_COMPILER_AVAILABLE, compiler);
    (void)ASK(device, CL_DEVICE_LINKER_AVAILABLE, linker);
    (void)ASK(device, CL_DEVICE_QUEUE_PROPERTIES, queue);
    info->aspects |=
        usm_aspect_bit(USM_ASPECT_IMAGE, image != CL_FALSE) |
        usm_aspect_bit(USM_ASPECT_ONLINE_COMPILER, compiler != CL_FALSE) |
        usm_aspect_bit(USM_ASPECT_ONLINE_LINKER, linker != CL_FALSE) |
        usm_aspect_bit(USM_ASPECT_QUEUE_PROFILING, (queue & CL_QUEUE_PROFILING_ENABLE) != 0) |
        usm_aspect_bit(USM_ASPECT_ATOMIC64, has_extension(extensions, "cl_khr_int64_base_atomics") &&
                                                has_extension(extensions, "cl_khr_int64_extended_atomics"));
}

/* False when memory ran out. */
static bool describe(usm_opencl_device *device, usm_device_type type, usm_device_info *info)
{
    char *extensions = ask_text(device, CL_DEVICE_EXTENSIONS);
    if (extensions == NULL) {
        return false;
    }
    cl_uint units = 0;
    size_t group = 0;
    cl_ulong global = 0, local = 0, largest = 0;
    cl_device_fp_config fp64 = 0;
    cl_device_exec_capabilities abilities = 0;
    copy_text(device, CL_DEVICE_NAME, info->name, sizeof info->name);
    copy_text(device, CL_DEVICE_VENDOR, info->vendor, sizeof info->vendor);
    copy_text(device, CL_DRIVER_VERSION, info->driver_version, sizeof info->driver_version);
    (void)ASK(device, CL_DEVICE_MAX_COMPUTE_UNITS, units);
    (void)ASK(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, group);
    (void)ASK(device, CL_DEVICE_GLOBAL_MEM_SIZE, global);
    (void)ASK(device, CL_DEVICE_LOCAL_MEM_SIZE, local);
    (void)ASK(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, largest);
    (void)ASK(device, CL_DEVICE_DOUBLE_FP_CONFIG, fp64);
    info->max_compute_units = units > 0 ? units : 1;
    info->max_work_group_size = group;
    info->global_mem_size = global;
    info->local_mem_size = local;
    info->max_alloc_size = largest;
    info->has_fp64 = fp64 != 0;
    info->has_fp16 = has_extension(extensions, "cl_khr_fp16");
    info->single_fp_config = single_fp_config(device);
#ifdef USM_TESTING
    if (getenv("USMPY_TEST_WITHOUT_FP64") != NULL) { /* what small graphics processors lack */
        info->has_fp64 = info->has_fp16 = false;
        info->single_fp_config &= ~USM_FP_BIT(USM_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT);
    }
#endif
    (void)ASK(device, CL_DEVICE_EXECUTION_CAPABILITIES, abilities);
    device->has_priorities = has_extension(extensions, "cl_khr_priority_hints");
    ask_memory(device, info, extensions);
    ask_sub_groups(device, info);
    ask_limits(device, info);
    ask_aspects(device, info, extensions);
    snprintf(info->platform, sizeof info->platform, "%s", device->platform->name);
    snprintf(info->platform_vendor, sizeof info->platform_vendor, "%s", device->platform->vendor);
    snprintf(info->platform_version, sizeof info->platform_version, "%s", device->platform->version_text);
    ask_uuid(device, info, extensions);
    /* A processor's "device" memory is the host's, unless the driver wants it mapped. */
    info->host_reads_device = type == USM_CPU && device->memory != USM_OPENCL_COARSE_SVM;
    info->is_host = info->host_reads_device && (abilities & CL_EXEC_NATIVE_KERNEL) != 0 &&
                    device->platform->api->clEnqueueNativeKernel != NULL;
    info->dlpack_type = kDLOneAPI;
    free(extensions);
    return true;
}

/* The best bit of the type decides; CL_DEVICE_TYPE_DEFAULT may be set beside it. False: a custom device. */
static bool type_of(const usm_opencl_platform *platform, cl_device_id id, usm_device_type *type)
{
    cl_device_type bits = 0;
    platform->api->clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof bits, &bits, NULL);
    *type = (bits & CL_DEVICE_TYPE_GPU) != 0           ? USM_GPU
            : (bits & CL_DEVICE_TYPE_ACCELERATOR) != 0 ? USM_ACCELERATOR
                                                       : USM_CPU;
    return (bits & CL_DEVICE_TYPE_CUSTOM) == 0; /* those run no programs */
}

/* NULL: memory ran out. */
static usm_device *new_device(usm_opencl_platform *platform, cl_device_id id, usm_device_type type)
{
    usm_device *device = usm_device_new(&usm_opencl_backend, type);
    usm_opencl_device *native = device == NULL ? NULL : calloc(1, sizeof *native);
    if (native != NULL) {
        native->platform = platform;
        native->id = id;
        device->native = native;
        if (describe(native, type, &device->info)) {
            return device;
        }
    }
    free(native);
    free(device);
    return NULL;
}

/* Appends the platform's devices of one type. */
static usm_status add_devices(usm_opencl_platform *platform, usm_device_type wanted, usm_device ***list,
                              size_t *n, usm_error *error)
{
    cl_uint count = 0;
    cl_int code = platform->api->clGetDeviceIDs(platform->id, CL_DEVICE_TYPE_ALL, 0, NULL, &count);
    if (code == CL_DEVICE_NOT_FOUND || (code == CL_SUCCESS && count == 0)) {
        return USM_OK;
    }
    if (code != CL_SUCCESS) {
        return usm_opencl_failed(error, code, "clGetDeviceIDs");
    }
    cl_device_id *ids = calloc(count, sizeof *ids);
    usm_device **longer = ids == NULL ? NULL : realloc(*list, (*n + count) * sizeof *longer);
    bool enough = longer != NULL;
    if (enough) {
        *list = longer;
        code = platform->api->clGetDeviceIDs(platform->id, CL_DEVICE_TYPE_ALL, count, ids, NULL);
    }
    for (cl_uint i = 0; enough && code == CL_SUCCESS && i < count; i++) {
        usm_device_type type;
        if (type_of(platform, ids[i], &type) && type == wanted) {
            usm_device *device = new_device(platform, ids[i], type);
            enough = device != NULL;
            if (enough) {
                device->info.dlpack_id = (int32_t)*n;
                (*list)[(*n)++] = device;
            }
        }
    }
    free(ids);
    return !enough              ? usm_error_memory(error, sizeof(usm_device), "an OpenCL device")
           : code != CL_SUCCESS ? usm_opencl_failed(error, code, "clGetDeviceIDs")
                                : USM_OK;
}

/*
 * Devices of one type stay in the order of their platforms, so that filter strings mean the same device in
 * every process. Platforms and devices are never freed.
 */
usm_status usm_opencl_start(usm_device ***devices, size_t *n_devices, usm_error *error)
{
    static const usm_device_type best_first[] = {USM_GPU, USM_ACCELERATOR, USM_CPU};
    usm_opencl_platform **platforms;
    size_t n_platforms;
    *devices = NULL;
    *n_devices = 0;
    usm_status status = usm_opencl_platforms(&platforms, &n_platforms, error);
    for (int t = 0; t < 3; t++) {
        for (size_t i = 0; status == USM_OK && i < n_platforms; i++) {
            status = add_devices(platforms[i], best_first[t], devices, n_devices, error);
        }
    }
    free(platforms); /* the platforms themselves are immortal, as their devices are */
    if (status == USM_OK && *n_devices == 0) {
        status = usm_error_set(error, USM_UNAVAILABLE, "no OpenCL platform has a device");
    }
    if (status != USM_OK) {
        *n_devices = 0; /* those of platforms before the one that failed */
        return status;
    }
    usm_fork_guard_use(&usm_opencl_guard);
    return USM_OK;
}

/*
 * CL_DEVICE_PARTITION_EQUALLY makes as many parts as fit, in the order of the compute units (OpenCL API 3.0,
 * 4.3), which is what the core counts on.
 */
usm_status usm_opencl_device_partition(usm_device *parent, uint32_t units, size_t n, usm_device **parts,
                                       usm_error *error)
{
    const usm_opencl_device *native = usm_opencl_device_of(parent);
    const cl_device_partition_property properties[] = {CL_DEVICE_PARTITION_EQUALLY, units, 0};
    cl_device_id *ids = calloc(n, sizeof *ids);
    if (ids == NULL) {
        return usm_error_memory(error, n * sizeof *ids, "sub-devices");
    }
    cl_int code = CL_SUCCESS;
    if (n == 1 && units == parent->info.max_compute_units) {
        ids[0] = native->id; /* drivers may refuse to cut off everything */
    } else {
        code = native->platform->api->clCreateSubDevices(native->id, properties, (cl_uint)n, ids, NULL);
    }
    usm_status status = code == CL_SUCCESS ? USM_OK : usm_opencl_failed(error, code, "clCreateSubDevices");
    for (size_t i = 0; status == USM_OK && i < n; i++) {
        usm_opencl_device *part = calloc(1, sizeof *part);
        if (part == NULL) {
            status = usm_error_memory(error, sizeof *part, "a sub-device");
            break;
        }
        *part = *native;
        part->id = ids[i];
        parts[i]->native = part;
        parts[i]->info = parent->info;
        parts[i]->info.max_compute_units = units;
        parts[i]->info.limits.partition_max_sub_devices =
            ask_number(part, CL_DEVICE_PARTITION_MAX_SUB_DEVICES);
        parts[i]->info.is_host = false; /* threads that help with copies would leave its processors */
    }
    for (size_t i = 0; status != USM_OK && i < n; i++) {
        free(parts[i]->native); /* the driver's parts stay: they are few */
        parts[i]->native = NULL;
    }
    free(ids);
    return status;
}
