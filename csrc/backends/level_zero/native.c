/*
 * Contexts and immediate lists that other libraries made with the same driver, such as a SYCL runtime, and
 * ours for them. Level Zero counts no references, so there is no `count` entry.
 */
#include "level_zero.h"

#include "core/base/readable.h"
#include "core/device/registry.h"

#include <stdlib.h>

void *usm_level_zero_native_handle(usm_native what, const void *object)
{
    switch (what) {
        case USM_NATIVE_DEVICE:
            return usm_level_zero_device_of(object)->id;
        case USM_NATIVE_CONTEXT:
            return usm_level_zero_context_of(object)->id;
        default: /* NULL where there is no immediate list */
            return usm_level_zero_queue_of(object)->lists[USM_LEVEL_ZERO_COMPUTE].id;
    }
}

static usm_status refuse(const void *handle, const char *what, ze_result_t result, usm_error *error)
{
    return usm_error_driver(error, USM_DRIVER, "level_zero", (int)result, usm_level_zero_name(result),
                            "%p is no %s of a Level Zero driver that usmpy has opened (%s); usmpy.diagnose() "
                            "lists them",
                            handle, what, usm_level_zero_name(result));
}

static const usm_backend_report *report(void)
{
    return usm_backend_start(usm_backend_index("level_zero", 10));
}

/* A device or sub-device of ours. */
static bool is_known(ze_device_handle_t id)
{
    const usm_backend_report *all = report();
    size_t i = 0;
    while (i < all->n_devices && !usm_level_zero_is_or_has(usm_level_zero_device_of(all->devices[i]), id)) {
        i++;
    }
    return i < all->n_devices;
}

/*
 * Level Zero does not report the devices of a context, or its driver where there are several: it is taken for
 * one of all devices of the first driver.
 */
static usm_status inspect_context(ze_context_handle_t id, usm_native_facts *facts, usm_error *error)
{
    const usm_backend_report *all = report();
    if (all->n_devices == 0) {
        return refuse(id, "ze_context_handle_t", ZE_RESULT_ERROR_UNINITIALIZED, error);
    }
    const usm_level_zero_driver *driver = usm_level_zero_device_of(all->devices[0])->driver;
    ze_result_t result = usm_level_zero.zeContextGetStatus(id);
    if (result != ZE_RESULT_SUCCESS) {
        return refuse(id, "ze_context_handle_t", result, error);
    }
    facts->devices = malloc(all->n_devices * sizeof *facts->devices);
    if (facts->devices == NULL) {
        return usm_error_memory(error, all->n_devices * sizeof *facts->devices, "a list of devices");
    }
    for (size_t i = 0; i < all->n_devices; i++) {
        const usm_level_zero_device *device = usm_level_zero_device_of(all->devices[i]);
        if (device->driver == driver) {
            facts->devices[facts->n_devices++] = device->id;
        }
    }
    return USM_OK;
}

/* The functions that describe a list came with version 1.9 of the specification. */
static usm_status inspect_queue(ze_command_list_handle_t id, usm_native_facts *facts, usm_error *error)
{
    ze_device_handle_t device = NULL;
    ze_context_handle_t context = NULL;
    ze_bool_t immediate = 0;
    if (usm_level_zero.zeCommandListGetDeviceHandle == NULL ||
        usm_level_zero.zeCommandListGetContextHandle == NULL ||
        usm_level_zero.zeCommandListIsImmediate == NULL) {
        return usm_error_driver(
            error, USM_DRIVER, "level_zero", 0, "",
            "this Level Zero loader does not tell what a list of commands is; version 1.15 or "
            "later does");
    }
    ze_result_t result = usm_level_zero.zeCommandListGetDeviceHandle(id, &device);
    if (result == ZE_RESULT_SUCCESS) {
        result = usm_level_zero.zeCommandListGetContextHandle(id, &context);
    }
    if (result == ZE_RESULT_SUCCESS) {
        result = usm_level_zero.zeCommandListIsImmediate(id, &immediate);
    }
    if (result != ZE_RESULT_SUCCESS || !is_known(device)) {
        return refuse(id, "ze_command_list_handle_t",
                      result != ZE_RESULT_SUCCESS ? result : ZE_RESULT_ERROR_INVALID_NULL_HANDLE, error);
    }
    if (!immediate) {
        return usm_error_set(error, USM_VALUE, "%p is a regular command list; pass an immediate one",
                             (void *)id);
    }
    facts->context = context;
    facts->device = device;
    /* No call reports whether the list keeps an order: ours is kept with events (command.c, order_shared). */
    facts->options = (usm_queue_options){.in_order = true, .priority = USM_PRIORITY_NORMAL};
    return USM_OK;
}

/* Drivers read through the handle without a check, so it must be readable at least. */
usm_status usm_level_zero_native_inspect(usm_native what, void *handle, usm_native_facts *facts,
                                         usm_error *error)
{
    const char *kind = what == USM_NATIVE_CONTEXT ? "ze_context_handle_t" : "ze_command_list_handle_t";
    if (!usm_is_readable(handle)) {
        return refuse(handle, kind, ZE_RESULT_ERROR_INVALID_NULL_HANDLE, error);
    }
    return what == USM_NATIVE_CONTEXT ? inspect_context(handle, facts, error)
                                      : inspect_queue(handle, facts, error);
}
