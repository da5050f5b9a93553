#include "native.h"

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

usm_status usm_stream_inspect(usm_device *device, void *stream, usm_stream_facts *facts, usm_error *error)
{
    return USM_UNLESS_FORKED(device->backend, error,
                             USM_CALL(device->backend->native, stream_inspect)(device, stream, facts, error));
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
