/* The table of the OpenCL backend, the libraries behind it, and their platforms. A platform is one driver. */
#include "opencl.h"

#include "core/base/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const usm_symbol symbols[] = {
#define USM_OPENCL_FUNCTION(required, name) {#name, offsetof(usm_opencl_api, name), required},
#include "symbols.inc"
#undef USM_OPENCL_FUNCTION
};
#define N_SYMBOLS (sizeof symbols / sizeof symbols[0])

/* The system's loader and the environment's; Intel's runtime for processors, as its package installs it. */
static const char *const loaders[] = {"libOpenCL.so.1", "libOpenCL.so", NULL};
static const char intel_cpu[] = "libintelocl.so";

usm_fork_guard usm_opencl_guard = {.driver = "OpenCL"};
static usm_opencl_api loader, intel;
static usm_library_report libraries;

/* Drivers write all of a text or nothing of it. "" where there is none. */
static void ask_text(const usm_opencl_api *api, cl_platform_id id, cl_platform_info what, char *text,
                     int size)
{
    char whole[1024] = "";
    if (api->clGetPlatformInfo(id, what, sizeof whole, whole, NULL) == CL_SUCCESS) {
        snprintf(text, (size_t)size, "%.*s", size - 1, whole);
    }
}

/*
 * Reads the version, and finds the functions of unified shared memory, which belong to a platform and not to
 * a library. NULL: memory ran out.
 */
static usm_opencl_platform *new_platform(const usm_opencl_api *api, cl_platform_id id)
{
    usm_opencl_platform *platform = calloc(1, sizeof *platform);
    if (platform == NULL) {
        return NULL;
    }
    unsigned major = 1, minor = 0;
    platform->api = api;
    platform->id = id;
    ask_text(api, id, CL_PLATFORM_NAME, platform->name, sizeof platform->name);
    ask_text(api, id, CL_PLATFORM_VENDOR, platform->vendor, sizeof platform->vendor);
    ask_text(api, id, CL_PLATFORM_VERSION, platform->version_text, sizeof platform->version_text);
    if (sscanf(platform->version_text, "OpenCL %u.%u", &major, &minor) == 2) {
        platform->version = 100 * major + minor;
    }
#define FIND(member, name) \
    platform->member = (name##_fn)api->clGetExtensionFunctionAddressForPlatform(id, #name)
    FIND(device_alloc, clDeviceMemAllocINTEL);
    FIND(shared_alloc, clSharedMemAllocINTEL);
    FIND(host_alloc, clHostMemAllocINTEL);
    FIND(free, clMemFreeINTEL);
    FIND(alloc_info, clGetMemAllocInfoINTEL);
    FIND(enqueue_memcpy, clEnqueueMemcpyINTEL);
    FIND(enqueue_fill, clEnqueueMemFillINTEL);
    FIND(enqueue_migrate, clEnqueueMigrateMemINTEL);
    FIND(set_pointer, clSetKernelArgMemPointerINTEL);
#undef FIND
    return platform;
}

typedef cl_int (*get_platforms_fn)(cl_uint n, cl_platform_id *platforms, cl_uint *count);

/* Adds the platforms that `get` lists, but those whose name is there already from elsewhere. */
static usm_status add_platforms(const usm_opencl_api *api, get_platforms_fn get, usm_opencl_platform ***list,
                                size_t *n, usm_error *error)
{
    cl_uint count = 0;
    size_t before = *n;
    cl_int code = get(0, NULL, &count);
    if (code == CL_PLATFORM_NOT_FOUND_KHR || (code == CL_SUCCESS && count == 0)) {
        return USM_OK;
    }
    cl_platform_id *ids = code == CL_SUCCESS ? calloc(count, sizeof *ids) : NULL;
    usm_opencl_platform **longer = ids != NULL ? realloc(*list, (*n + count) * sizeof *longer) : NULL;
    if (longer != NULL) {
        *list = longer;
        code = get(count, ids, NULL);
    }
    usm_status status = code != CL_SUCCESS ? usm_opencl_failed(error, code, "clGetPlatformIDs")
                        : longer == NULL   ? usm_error_memory(error, count * sizeof *ids, "OpenCL platforms")
                                           : USM_OK;
    for (cl_uint i = 0; status == USM_OK && i < count; i++) {
        usm_opencl_platform *platform = new_platform(api, ids[i]);
        if (platform == NULL) {
            status = usm_error_memory(error, sizeof *platform, "an OpenCL platform");
            break;
        }
        bool known = false;
        for (size_t k = 0; k < before; k++) {
            known |= strcmp((*list)[k]->name, platform->name) == 0;
        }
        if (known) {
            free(platform);
        } else {
            usm_library_note_function(
                &libraries, "driver",
                api->clGetExtensionFunctionAddressForPlatform(ids[i], "clIcdGetPlatformIDsKHR"));
            platform->unlisted = get != api->clGetPlatformIDs;
            (*list)[(*n)++] = platform;
        }
    }
    free(ids);
    return status;
}

/*
 * Drivers that OCL_ICD_FILENAMES names, for loaders that ignore that variable (Debian's). Objects of a driver
 * begin with the table of its functions (cl_khr_icd), so the loader's functions work on them. A driver that
 * fails to load is reported by diagnose().
 */
static usm_status add_named(usm_opencl_platform ***list, size_t *n, usm_error *error)
{
    const char *names = getenv("OCL_ICD_FILENAMES");
    usm_status status = USM_OK;
    for (const char *end; status == USM_OK && names != NULL && *names != '\0'; names = end) {
        char path[512];
        size_t length = strcspn(names, ":");
        end = names + length + (names[length] == ':');
        if (length == 0 || length >= sizeof path) {
            continue;
        }
        memcpy(path, names, length);
        path[length] = '\0';
        void *(*address)(const char *);
        void *found = usm_library_function(path, "clGetExtensionFunctionAddress");
        memcpy(&address, &found, sizeof address);
        get_platforms_fn get = address != NULL ? (get_platforms_fn)address("clIcdGetPlatformIDsKHR") : NULL;
        if (get != NULL) {
            status = add_platforms(&loader, get, list, n, error);
        }
    }
    return status;
}

/*
 * First the system's loader with what it lists, then drivers that the environment names, then Intel's runtime
 * for processors where a Python package has installed it without telling the loader. A failure counts only
 * where nothing else was found.
 */
usm_status usm_opencl_platforms(usm_opencl_platform ***platforms, size_t *n, usm_error *error)
{
    char path[USM_LIBRARY_PATH] = "";
    usm_error other;
    *platforms = NULL;
    *n = 0;
    usm_status status = usm_library_open(loaders, NULL, symbols, N_SYMBOLS, &loader, path, error);
    if (status == USM_OK) {
        usm_library_note(&libraries, "loader", path);
        status = add_platforms(&loader, loader.clGetPlatformIDs, platforms, n, error);
    }
    if (status == USM_OK) {
        status = add_named(platforms, n, error);
    }
    if (status != USM_OK && status != USM_UNAVAILABLE) {
        return status;
    }
    usm_status direct = usm_library_open_in_prefix(intel_cpu, symbols, N_SYMBOLS, &intel, NULL, &other);
    if (direct == USM_OK) {
        direct = add_platforms(&intel, intel.clGetPlatformIDs, platforms, n, &other);
    }
    if (direct != USM_OK && direct != USM_UNAVAILABLE) {
        if (*n == 0) {
            *error = other;
            return direct;
        }
        usm_library_note(&libraries, "driver that does not load", other.text);
    }
    if (*n == 0 && status == USM_OK) {
        status = usm_error_set(error, USM_UNAVAILABLE, "the OpenCL loader lists no platform");
    }
    return *n > 0 ? USM_OK : status;
}

static const char *const environment[] = {"OCL_ICD_FILENAMES", "OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH",
                                          "CL_CONFIG_CPU_FORCE_LOCAL_MEM_SIZE", NULL};

static const usm_native_entries native = {
    .handle = usm_opencl_native_handle,
    .inspect = usm_opencl_native_inspect,
    .count = usm_opencl_native_count,
};

const usm_backend usm_opencl_backend = {
    .name = "opencl",
    .fork_guard = &usm_opencl_guard,
    .languages = USM_LANGUAGE_BIT(USM_LANGUAGE_PORTABLE) | USM_LANGUAGE_BIT(USM_LANGUAGE_OPENCL) |
                 USM_LANGUAGE_BIT(USM_LANGUAGE_SPIRV) | USM_LANGUAGE_BIT(USM_LANGUAGE_NATIVE),
    .program_language = USM_LANGUAGE_OPENCL,
    .builtin_language = USM_LANGUAGE_OPENCL,
    .event_size = sizeof(usm_opencl_event),
    .environment = environment,
    .libraries = &libraries,
    USM_DRIVER_ROWS(usm_opencl),
    .native = &native,
    .context_destroy = usm_opencl_context_destroy,
    .fork = usm_opencl_queue_cache_fork,
};
