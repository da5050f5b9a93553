/* Queues over those that other libraries made with the same driver. */
#include "core/device/rule.h"
#include "queue.h"

usm_status usm_queue_adopt(const usm_backend *backend, void *handle, usm_keep *keeps, usm_queue **out,
                           usm_error *error)
{
    usm_native_facts facts = {.devices = NULL};
    usm_device *device;
    usm_context *context = NULL;
    usm_place *place;
    usm_status status = USM_UNLESS_FORKED(
        backend, error, USM_CALL(backend->native, inspect)(USM_NATIVE_QUEUE, handle, &facts, error));
    if (status == USM_OK) {
        status = usm_device_adopt(backend, facts.device, &device, error);
    }
    if (status == USM_OK) {
        status = usm_context_adopt(backend, facts.context, &context, error);
    }
    if (status == USM_OK) {
        status = usm_context_place(context, device, &place, error);
    }
    if (status == USM_OK) {
        facts.options.foreign = handle;
        facts.options.keeps = keeps;
        status = usm_queue_create(place, &facts.options, out, error);
    }
    if (context != NULL) {
        usm_context_release(context); /* the queue has a count of its own */
    }
    return status;
}

/* No lock is held while the driver is asked, so another thread may adopt it too: the older one stays. */
usm_status usm_queue_adopt_once(const usm_backend *backend, void *handle, usm_keep *keeps, usm_queue **out,
                                usm_error *error)
{
    usm_queue *known = usm_queue_of_native(backend, handle), *own;
    if (known != NULL) {
        usm_keep_drop(keeps);
        *out = known;
        return USM_OK;
    }
    usm_status status = usm_queue_adopt(backend, handle, keeps, &own, error);
    if (status == USM_OK) {
        *out = usm_queue_of_native(backend, handle);
        usm_queue_release(own);
    }
    return status;
}
