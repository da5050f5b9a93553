#include "native.h"

#include "dlpack_types.h"

#include "core/device/registry.h"
#include "core/device/rule.h"

#include <string.h>

bool usm_backend_has_native(const usm_backend *backend)
{
    return backend->native != NULL;
}

bool usm_backend_knows_memory(const usm_backend *backend)
{
    return backend->memory_query != NULL;
}

void *usm_native_handle(const usm_backend *backend, usm_native what, const void *object)
{
    return backend->native == NULL ? NULL : USM_CALL(backend->native, handle)(what, object);
}

void *usm_native_event(usm_event *event)
{
    const usm_backend *backend = event->queue->backend;
    return usm_backend_has_streams(backend) && usm_event_in_driver(event) && !usm_is_forked(backend)
               ? USM_CALL(backend->native, handle)(USM_NATIVE_EVENT, event)
               : NULL;
}

void usm_native_count(const usm_backend *backend, usm_native what, void *handle, bool more)
{
    if (backend->native != NULL && backend->native->count != NULL && !usm_is_forked(backend)) {
        USM_CALL(backend->native, count)(what, handle, more);
    }
}

usm_status usm_native_device(const usm_backend *backend, void *queue, usm_device **out, usm_error *error)
{
    usm_native_facts facts = {.devices = NULL};
    const usm_backend_report *report =
        usm_backend_start(usm_backend_index(backend->name, strlen(backend->name)));
    if (report->n_devices == 1) {
        *out = report->devices[0];
        return USM_OK;
    }
    usm_status status = USM_UNLESS_FORKED(
        backend, error, USM_CALL(backend->native, inspect)(USM_NATIVE_QUEUE, queue, &facts, error));
    return status == USM_OK ? usm_device_adopt(backend, facts.device, out, error) : status;
}

usm_status usm_memory_query(usm_context *context, const void *pointer, usm_pointer_info *info,
                            usm_error *error)
{
    *info = (usm_pointer_info){.device = NULL};
    return context->backend->memory_query == NULL
               ? USM_OK
               : USM_UNLESS_FORKED(context->backend, error,
                                   USM_CALL(context->backend, memory_query)(context, pointer, info, error));
}

/* Of several devices with memory of one name, the one that this memory is of; else `device`. */
static usm_device *device_of(usm_device *device, const void *pointer)
{
    usm_context *context;
    usm_pointer_info info = {.device = NULL};
    if (pointer == NULL || device->backend->memory_query == NULL || usm_is_forked(device->backend) ||
        usm_context_default(device, &context, NULL) != USM_OK ||
        USM_CALL(device->backend, memory_query)(context, pointer, &info, NULL) != USM_OK ||
        info.device == NULL) {
        return device;
    }
    return info.device;
}

/*
 * Is this memory of the device? Of a name that devices of several backends have: Level Zero and OpenCL count
 * theirs as kDLOneAPI each by themselves, and others may have it as a view, which only we give them. A driver
 * that identifies memory knows whose it is.
 */
typedef enum match { NO, UNKNOWN, YES } match;

static match device_owns_pointer(usm_device *device, const void *pointer)
{
    usm_pointer_info info = {.device = NULL};
    usm_registry_lock();
    usm_context *context = device->context;
    usm_registry_unlock();
    if (pointer == NULL) {
        return UNKNOWN;
    }
    if (context == NULL) { /* nothing of it was ever used */
        return NO;
    }
    if (device->backend->memory_query == NULL || usm_is_forked(device->backend) ||
        USM_CALL(device->backend, memory_query)(context, pointer, &info, NULL) != USM_OK) {
        return UNKNOWN;
    }
    return info.device == device ? YES : info.identifies == USM_IDENTIFIES_NONE ? UNKNOWN : NO;
}

usm_device *usm_device_from_dlpack(int32_t type, int32_t id, const void *pointer)
{
    usm_device *best = NULL;
    bool is_shared = usm_dlpack_type_of(type)->is_of_default_context;
    int best_rank = -2;
    const usm_backend_report *report;
    for (int i = 0; (report = usm_backend_next(&i)) != NULL;) {
        for (size_t k = 0; k < report->n_devices; k++) {
            const usm_device_info *info = &report->devices[k]->info;
            bool named = info->dlpack_type == type && info->dlpack_id == id;
            if (named && !is_shared) {
                return report->devices[k];
            }
            if (named || usm_device_info_has_view(info, type, id)) {
                match match = device_owns_pointer(report->devices[k], pointer);
                int rank = match == YES || named ? (int)match : -1;
                if (rank > best_rank) {
                    best = report->devices[k];
                    best_rank = rank;
                }
                continue;
            }
            if (id == 0 && type != 0 &&
                (info->dlpack_shared_type == type || info->dlpack_host_type == type)) {
                return device_of(report->devices[k], pointer);
            }
        }
    }
    return best;
}
