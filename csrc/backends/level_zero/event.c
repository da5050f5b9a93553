/*
 * How tasks end. Level Zero has no callbacks: a waiting thread waits in the driver for a moment;
 * core/tasks/watch.h has the rest.
 */
#include "level_zero.h"

/* The longest wait in the driver, in nanoseconds: Ctrl-C is not noticed meanwhile. */
#define JOIN_NS 4000000

void usm_level_zero_release_parts(usm_level_zero_event *event)
{
    if (event->kernel != NULL) {
        usm_kernel_release(event->kernel);
        event->kernel = NULL;
    }
    if (event->temporary != NULL) {
        USM_LEVEL_ZERO_GIVE_BACK(zeMemFree, usm_level_zero_context_of(event->event.queue->context)->id,
                                 event->temporary);
        event->temporary = NULL;
    }
}

/* Is this about the task? Other results, such as memory that ran out, are about the query. */
static bool is_answer(ze_result_t result)
{
    return result == ZE_RESULT_SUCCESS || result == ZE_RESULT_NOT_READY ||
           result == ZE_RESULT_ERROR_DEVICE_LOST;
}

/*
 * The task's result, or ZE_RESULT_NOT_READY. Queries that failed themselves are repeated; after three the
 * error counts.
 */
static ze_result_t ask(const usm_level_zero_slot *slot)
{
    ze_result_t result = usm_level_zero.zeEventQueryStatus(slot->id);
    for (int i = 0; i < 3 && !is_answer(result); i++) {
        result = usm_level_zero.zeEventHostSynchronize(slot->id, 0);
    }
    return result;
}

/*
 * Level Zero events carry no error of the task: only a lost device makes one fail. They do not tell whether a
 * task has begun.
 */
usm_progress usm_level_zero_event_poll(usm_event *base, usm_error *error)
{
    usm_level_zero_event *event = (usm_level_zero_event *)base;
    event->result = ask(atomic_load_explicit(&event->slot, memory_order_relaxed));
    if (event->result == ZE_RESULT_NOT_READY) {
        return USM_PROGRESS_PENDING;
    }
    usm_level_zero_release_parts(event);
    if (base->profiled) {
        usm_level_zero_read_times(event);
    }
    if (event->result == ZE_RESULT_SUCCESS) {
        return USM_PROGRESS_COMPLETE;
    }
    (void)usm_error_driver(error, USM_DRIVER, "level_zero", (int)event->result,
                           usm_level_zero_name(event->result), "the task ended with %s (0x%x) on %s",
                           usm_level_zero_name(event->result), (unsigned)event->result,
                           base->queue->device->info.name);
    return USM_PROGRESS_FAILED;
}

void usm_level_zero_event_wait(usm_event *base)
{
    (void)usm_level_zero.zeEventHostSynchronize(
        atomic_load_explicit(&((usm_level_zero_event *)base)->slot, memory_order_acquire)->id, JOIN_NS);
}

/* The pool gets the event back when no other task waits for it: links hold references to this one. */
void usm_level_zero_event_destroy(usm_event *base)
{
    usm_level_zero_event *event = (usm_level_zero_event *)base;
    usm_level_zero_slot *slot = atomic_load_explicit(&event->slot, memory_order_relaxed);
    if (slot != NULL) {
        usm_level_zero_slot_put(base->queue->context, slot, event->result != ZE_RESULT_SUCCESS);
    }
}
