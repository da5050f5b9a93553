/*
 * Contexts: the driver makes memory, events and lists of commands in them (Level Zero Core Programming Guide,
 * Contexts). They have no reference counts, so the backend counts what uses one, and gives default contexts
 * back at the end of the process, while the driver's library still works.
 */
#include "level_zero.h"

#include "core/base/heap.h"
#include "core/tasks/watch.h"

#include <stdlib.h>
#include <time.h>

/* Handles of one driver mean nothing to another (Level Zero Core Programming Guide, Drivers and Devices). */
static usm_status check_one_driver(const usm_context *context, usm_error *error)
{
    const usm_level_zero_driver *driver = usm_level_zero_device_of(context->devices[0])->driver;
    for (size_t i = 1; i < context->n_devices; i++) {
        if (usm_level_zero_device_of(context->devices[i])->driver != driver) {
            return usm_error_set(
                error, USM_VALUE,
                "devices[%zu] and devices[0] are of different drivers; the devices of a context are of one",
                i);
        }
    }
    return USM_OK;
}

/*
 * zeContextCreateEx (1.1) limits the context to its devices. Older drivers make one of all devices, which
 * works as well.
 */
static ze_result_t new_context(const usm_context *context, const usm_level_zero_driver *driver,
                               ze_context_handle_t *out)
{
    const ze_context_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    ze_device_handle_t *ids = usm_calloc(context->n_devices, sizeof *ids);
    if (ids == NULL) {
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    for (size_t i = 0; i < context->n_devices; i++) {
        ids[i] = usm_level_zero_device_of(context->devices[i])->id;
    }
    ze_result_t result = ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    if (usm_level_zero.zeContextCreateEx != NULL) {
        result = usm_level_zero.zeContextCreateEx(driver->id, &desc, (uint32_t)context->n_devices, ids, out);
    }
    free(ids);
    return result == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE || result == ZE_RESULT_ERROR_UNINITIALIZED
               ? usm_level_zero.zeContextCreate(driver->id, &desc, out) /* of all devices of the driver */
               : result;
}

usm_status usm_level_zero_context_create(usm_context *context, usm_error *error)
{
    const usm_level_zero_driver *driver = usm_level_zero_device_of(context->devices[0])->driver;
    usm_status status = check_one_driver(context, error);
    if (status != USM_OK) {
        return status;
    }
    usm_fork_guard_use(&usm_level_zero_guard);
    usm_level_zero_context *native = usm_calloc(1, sizeof *native + context->n_devices * context->n_devices);
    if (native == NULL) {
        return usm_error_memory(error, sizeof *native, "a context");
    }
    native->driver = driver;
    native->id = context->foreign; /* Level Zero counts no users: the owner is kept alive by others */
    ze_result_t result =
        context->foreign != NULL ? ZE_RESULT_SUCCESS : new_context(context, driver, &native->id);
    if (result != ZE_RESULT_SUCCESS) {
        free(native);
        return usm_level_zero_failed(error, result, "zeContextCreate");
    }
    pthread_mutex_init(&native->lock, NULL);
    context->native = native;
    return USM_OK;
}

/* Destroys what the driver has of the context. One that another library made is only left. */
static void give_back(const usm_context *context)
{
    usm_level_zero_context *native = usm_level_zero_context_of(context);
    usm_level_zero_slots_free(native);
    if (context->foreign == NULL) {
        USM_LEVEL_ZERO_GIVE_BACK(zeContextDestroy, native->id);
    }
}

/* All queues and memory are gone, so every event is back in its pool. */
void usm_level_zero_context_destroy(usm_context *context)
{
    usm_level_zero_context *native = usm_level_zero_context_of(context);
    give_back(context);
    pthread_mutex_destroy(&native->lock);
    free(native);
}

/* True where nothing is pending in the context's cached queues, and nothing lives in it but these queues. */
static bool is_unused(const usm_context *context)
{
    usm_level_zero_context *native = usm_level_zero_context_of(context);
    long queues = 0;
    for (usm_place *at = atomic_load_explicit(&context->places, memory_order_acquire); at != NULL;
         at = at->next) {
        if (at->queue != NULL) {
            usm_lock_take(&at->queue->lock);
            bool idle = at->queue->first == NULL;
            usm_lock_give(&at->queue->lock);
            if (!idle) {
                return false;
            }
            queues++;
        }
    }
    usm_spinlock_take(&native->spinlock);
    bool unused = native->slots_used == 0 && atomic_load(&native->users) == queues;
    usm_spinlock_give(&native->spinlock);
    return unused;
}

/* Stops the watching thread first, which polls queues of the context; it starts again with the next task. */
bool usm_level_zero_context_close(usm_context *context)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    if (!usm_watch_stop()) {
        return false;
    }
    for (int i = 0; !is_unused(context); i++) { /* another thread may still release the last task */
        if (i == 50) {
            return false;
        }
        nanosleep(&pause, NULL);
    }
    for (usm_place *at = atomic_load_explicit(&context->places, memory_order_acquire); at != NULL;
         at = at->next) {
        if (at->queue != NULL) {
            usm_level_zero_lists_free(at->queue);
        }
    }
    give_back(context);
    return true;
}
