/* The table of the Level Zero backend, the loader behind it, and the drivers that the loader lists. */
#include "level_zero.h"

#include "core/base/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

usm_level_zero_api usm_level_zero;
/* Drivers keep threads and file descriptors that a child does not have. */
usm_fork_guard usm_level_zero_guard = {.driver = "Level Zero"};
static usm_library_report libraries;

static const usm_symbol symbols[] = {
#define USM_LEVEL_ZERO_FUNCTION(required, name) {#name, offsetof(usm_level_zero_api, name), required},
#define USM_LEVEL_ZERO_NEWER(name, type) {#name, offsetof(usm_level_zero_api, name), false},
#include "symbols.inc"
#undef USM_LEVEL_ZERO_FUNCTION
#undef USM_LEVEL_ZERO_NEWER
};
#define N_SYMBOLS (sizeof symbols / sizeof symbols[0])

static const char *const loaders[] = {"libze_loader.so.1", "libze_loader.so", NULL};

/* Intel's packages install libze_loader.so.1; the name without a version comes with development packages. */
static usm_status open_loader(usm_error *error)
{
    const char *named = getenv("USMPY_LEVEL_ZERO_LOADER");
    const char *const one[] = {named, NULL};
    bool chosen = named != NULL && named[0] != '\0';
    char path[USM_LIBRARY_PATH] = "";
    usm_error why;
    usm_status status =
        usm_library_open(chosen ? one : loaders, NULL, symbols, N_SYMBOLS, &usm_level_zero, path, &why);
    if (status != USM_OK) {
        return usm_error_set(error, status, "%.600s%s", why.text,
                             chosen ? "; USMPY_LEVEL_ZERO_LOADER names this file" : "");
    }
    usm_library_note(&libraries, "loader", path);
    return USM_OK;
}

/*
 * Counts the render nodes of the system, and finds one that this user may not open: the usual reason for a
 * missing device.
 */
static unsigned count_nodes(char *closed, size_t size)
{
    enum { FIRST = 128, LAST = 143 };
    unsigned n = 0;
    closed[0] = '\0';
    for (int i = FIRST; i <= LAST; i++) {
        char path[32];
        snprintf(path, sizeof path, "/dev/dri/renderD%d", i);
        if (access(path, F_OK) != 0) {
            continue;
        }
        n++;
        if (closed[0] == '\0' && access(path, R_OK | W_OK) != 0) {
            snprintf(closed, size, "%s", path);
        }
    }
    return n;
}

void usm_level_zero_explain(char *text, size_t size)
{
    char closed[32];
    unsigned n = count_nodes(closed, sizeof closed);
    text[0] = '\0';
    if (closed[0] != '\0') {
        snprintf(text, size, "; this user may not open %s, which members of the group \"render\" may",
                 closed);
    } else if (n == 0) {
        snprintf(text, size, "; the system shows no graphics processor in /dev/dri");
    }
    if (getenv("ZE_AFFINITY_MASK") != NULL) {
        size_t used = strlen(text);
        snprintf(text + used, size - used, "; ZE_AFFINITY_MASK may hide devices");
    }
}

/* The error where no driver was listed. For loaders from 1.19 on, a driver without a device is none. */
static usm_status no_driver(ze_result_t result, usm_error *error)
{
    char why[160];
    usm_level_zero_explain(why, sizeof why);
    if (result == ZE_RESULT_ERROR_UNINITIALIZED || result == ZE_RESULT_SUCCESS) {
        return usm_error_set(error, USM_UNAVAILABLE,
                             "the Level Zero loader finds no driver that starts%s (Debian and Ubuntu: "
                             "libze-intel-gpu1 or intel-level-zero-gpu; docs/level-zero.md)",
                             why);
    }
    return usm_error_driver(error, USM_DRIVER, "level_zero", (int)result, usm_level_zero_name(result),
                            "zeInit failed with %s (0x%x)%s", usm_level_zero_name(result), (unsigned)result,
                            why);
}

/* What lists drivers: how many there are (ids NULL), or as many as *n. */
typedef ze_result_t (*list_fn)(uint32_t *n, ze_driver_handle_t *ids);

static ze_result_t list_of_all_kinds(uint32_t *n, ze_driver_handle_t *ids)
{
    usm_level_zero_init_drivers_desc desc = {.stype = USM_LEVEL_ZERO_INIT_DRIVERS_DESC, .flags = UINT32_MAX};
    return usm_level_zero.zeInitDrivers(n, ids, &desc);
}

static ze_result_t list_after_init(uint32_t *n, ze_driver_handle_t *ids)
{
    ze_result_t result = usm_level_zero.zeInit(0);
    return result == ZE_RESULT_SUCCESS ? usm_level_zero.zeDriverGet(n, ids) : result;
}

/* Sets *ids to a malloc'd array, NULL where there is no driver. */
static ze_result_t list_by(list_fn list, uint32_t *n, ze_driver_handle_t **ids)
{
    *ids = NULL;
    *n = 0;
    ze_result_t result = list(n, NULL);
    if (result != ZE_RESULT_SUCCESS || *n == 0) {
        return result;
    }
    *ids = calloc(*n, sizeof **ids);
    result = *ids == NULL ? ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY : list(n, *ids);
    if (result != ZE_RESULT_SUCCESS) {
        free(*ids);
        *ids = NULL;
    }
    return result;
}

/*
 * Lists the drivers. zeInitDrivers (1.10) initializes and lists drivers of every type. It may leave out older
 * drivers, and the validation layer of loaders from 1.19 to 1.26 at least, where it tracks handles, does not
 * know those that it returns: then zeInit and zeDriverGet are used.
 */
static ze_result_t list_drivers(uint32_t *n, ze_driver_handle_t **ids)
{
    ze_api_version_t version;
    if (usm_level_zero.zeInitDrivers != NULL) {
        ze_result_t result = list_by(list_of_all_kinds, n, ids);
        if (result == ZE_RESULT_SUCCESS && *n > 0 &&
            usm_level_zero.zeDriverGetApiVersion((*ids)[0], &version) == ZE_RESULT_SUCCESS) {
            return ZE_RESULT_SUCCESS;
        }
        free(*ids);
    }
    return list_by(list_after_init, n, ids);
}

/* By name (zeDriverGetExtensionProperties). */
static bool has_extension(ze_driver_handle_t id, const char *name)
{
    uint32_t n = 0;
    bool found = false;
    if (usm_level_zero.zeDriverGetExtensionProperties(id, &n, NULL) != ZE_RESULT_SUCCESS || n == 0) {
        return false;
    }
    ze_driver_extension_properties_t *all = calloc(n, sizeof *all);
    if (all != NULL && usm_level_zero.zeDriverGetExtensionProperties(id, &n, all) == ZE_RESULT_SUCCESS) {
        for (uint32_t i = 0; i < n && !found; i++) {
            found = strcmp(all[i].name, name) == 0;
        }
    }
    free(all);
    return found;
}

/* zeDriverGetIpcProperties, and the functions for it. */
static bool shares_memory(ze_driver_handle_t id)
{
    ze_driver_ipc_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DRIVER_IPC_PROPERTIES};
    return usm_level_zero.zeDriverGetIpcProperties != NULL && usm_level_zero.zeMemGetIpcHandle != NULL &&
           usm_level_zero.zeMemOpenIpcHandle != NULL && usm_level_zero.zeMemCloseIpcHandle != NULL &&
           usm_level_zero.zeDriverGetIpcProperties(id, &properties) == ZE_RESULT_SUCCESS &&
           (properties.flags & ZE_IPC_PROPERTY_FLAG_MEMORY) != 0;
}

/*
 * The driver's version: Intel's own function returns the text by which its packages are named; the
 * specification has three numbers.
 */
static void name_version(ze_driver_handle_t id, char *text, size_t size)
{
    typedef ze_result_t (*version_fn)(ze_driver_handle_t driver, char *text, size_t *size);
    ze_driver_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES};
    void *found = NULL;
    if (usm_level_zero.zeDriverGetExtensionFunctionAddress != NULL &&
        usm_level_zero.zeDriverGetExtensionFunctionAddress(id, "zeIntelGetDriverVersionString", &found) ==
            ZE_RESULT_SUCCESS &&
        found != NULL) {
        version_fn version;
        size_t length = 0;
        char own[64] = "";
        memcpy(&version, &found, sizeof version);
        if (version(id, NULL, &length) == ZE_RESULT_SUCCESS && length < sizeof own) {
            length = sizeof own;
            if (version(id, own, &length) == ZE_RESULT_SUCCESS && own[0] != '\0') {
                snprintf(text, size, "%s", own);
                return;
            }
        }
    }
    usm_level_zero.zeDriverGetProperties(id, &properties);
    snprintf(text, size, "%u.%u.%u", properties.driverVersion >> 24, properties.driverVersion >> 16 & 0xff,
             properties.driverVersion & 0xffff);
}

static usm_level_zero_driver *new_driver(ze_driver_handle_t id)
{
    usm_level_zero_driver *driver = calloc(1, sizeof *driver);
    if (driver != NULL) {
        driver->id = id;
        usm_level_zero.zeDriverGetApiVersion(id, &driver->version);
        driver->relaxed_limits = has_extension(id, ZE_RELAXED_ALLOCATION_LIMITS_EXP_NAME);
        driver->shares_memory = shares_memory(id);
        name_version(id, driver->text, sizeof driver->text);
    }
    return driver;
}

/* Layers that the environment has loaded are reported, since they change what drivers do. */
usm_status usm_level_zero_drivers(usm_level_zero_driver ***drivers, size_t *n, usm_error *error)
{
    uint32_t count = 0;
    *drivers = NULL;
    *n = 0;
    usm_status status = open_loader(error);
    if (status != USM_OK) {
        return status;
    }
    ze_driver_handle_t *ids;
    ze_result_t result = list_drivers(&count, &ids);
    usm_library_note_loaded(&libraries, "layer", "libze_validation_layer");
    usm_library_note_loaded(&libraries, "layer", "libze_tracing_layer");
    usm_library_note_loaded(&libraries, "driver", "libze_");
    if (ids == NULL) {
        return no_driver(result, error);
    }
    *drivers = calloc(count, sizeof **drivers);
    bool enough = *drivers != NULL;
    for (uint32_t i = 0; enough && i < count; i++) {
        (*drivers)[i] = new_driver(ids[i]);
        enough = (*drivers)[i] != NULL;
        *n = i + 1;
    }
    free(ids);
    if (!enough) {
        free(*drivers);
        *drivers = NULL;
        return usm_error_memory(error, sizeof(usm_level_zero_driver), "a Level Zero driver");
    }
    return USM_OK;
}

static const char *const environment[] = {
    "USMPY_LEVEL_ZERO_LOADER",      "USMPY_LEVEL_ZERO_COMMAND_LISTS", "ZE_AFFINITY_MASK",
    "ZE_FLAT_DEVICE_HIERARCHY",     "ZE_ENABLE_ALT_DRIVERS",          "ZE_ENABLE_PCI_ID_DEVICE_ORDER",
    "ZE_SHARED_FORCE_DEVICE_ALLOC", "ZE_ENABLE_VALIDATION_LAYER",     "ZE_ENABLE_PARAMETER_VALIDATION",
    "ZE_ENABLE_HANDLE_LIFETIME",    "ZE_ENABLE_TRACING_LAYER",        NULL};

static const usm_native_entries native = {
    .handle = usm_level_zero_native_handle,
    .inspect = usm_level_zero_native_inspect,
};

static const usm_share_entries share = {
    .kinds = 1u << USM_DEVICE,
    .ends_with_exporter = true, /* the specification says nothing of memory that its owner has freed */
    .create = usm_level_zero_share_create,
    .open = usm_level_zero_share_open,
    .close = usm_level_zero_share_close,
};

const usm_backend usm_level_zero_backend = {
    .name = "level_zero",
    .fork_guard = &usm_level_zero_guard,
    .languages = USM_LANGUAGE_BIT(USM_LANGUAGE_PORTABLE) | USM_LANGUAGE_BIT(USM_LANGUAGE_OPENCL) |
                 USM_LANGUAGE_BIT(USM_LANGUAGE_SPIRV) | USM_LANGUAGE_BIT(USM_LANGUAGE_NATIVE),
    .program_language = USM_LANGUAGE_SPIRV,
    .builtin_language = USM_LANGUAGE_SPIRV,
    .event_size = sizeof(usm_level_zero_event),
    .environment = environment,
    .libraries = &libraries,
    USM_DRIVER_ROWS(usm_level_zero),
    .native = &native,
    .share = &share,
    .context_destroy = usm_level_zero_context_destroy,
    .context_close = usm_level_zero_context_close,
    .memory_connect = usm_level_zero_memory_connect,
};
