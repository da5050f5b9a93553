/*
 * The end of a driver's event. Level Zero calls nobody back: who waits for an event does so in the driver for
 * a moment, and ends whatever has ended; a thread (watcher.c) looks after the others.
 */
#include "level_zero.h"

#include <pthread.h>
#include <stdlib.h>

static _Atomic bool forked; /* this is a child of the process that started the backend */

/* A call that asks for a clock takes less. */
#define HELD_UP_NS 2000
/* A thread that waits is deaf to Ctrl-C in the driver. */
#define JOIN_NS 4000000
/* Before that, with the GIL held: what a small launch takes, and little beside the interpreter's own 5 ms. */
#define PEEK_NS 8000

bool usm_level_zero_forked(void)
{
    return atomic_load_explicit(&forked, memory_order_acquire);
}

usm_status usm_level_zero_after_fork(usm_error *error)
{
    return usm_error_set(
        error, USM_FORKED,
        "Level Zero was used before this process was forked, and drivers do not survive that; start "
        "processes with multiprocessing's method 'spawn'");
}

/*
 * What the device's clock shows, and ours: again where the thread was held up between the two. False where
 * the driver does not tell.
 */
static bool compare_clocks(const usm_level_zero_device *device, int64_t *now_ns, uint64_t *there)
{
    int64_t shortest = INT64_MAX;
    for (int i = 0; i < 4 && shortest > HELD_UP_NS; i++) {
        uint64_t host = 0, device_clock = 0;
        int64_t before = usm_clock_ns();
        if (usm_level_zero.zeDeviceGetGlobalTimestamps == NULL ||
            usm_level_zero.zeDeviceGetGlobalTimestamps(device->id, &host, &device_clock) !=
                ZE_RESULT_SUCCESS) {
            return false;
        }
        int64_t after = usm_clock_ns();
        if (after - before < shortest) {
            shortest = after - before;
            *now_ns = before + shortest / 2;
            *there = device_clock;
        }
    }
    return true;
}

/*
 * When something on the device's clock was, on ours. Clocks are compared anew each time: kernels note few
 * bits of the device's, which come round within minutes, so that the difference to now is all that they tell.
 */
static void read_times(usm_level_zero_event *event)
{
    usm_event *base = &event->event;
    const usm_level_zero_device *device = usm_level_zero_device_of(base->queue->device);
    ze_kernel_timestamp_result_t times;
    uint64_t there = 0;
    int64_t now = usm_clock_ns();
    usm_level_zero_slot *slot = atomic_load_explicit(&event->slot, memory_order_relaxed);
    base->start_ns = base->end_ns = now;
    if (usm_level_zero.zeEventQueryKernelTimestamp(slot->id, &times) == ZE_RESULT_SUCCESS &&
        compare_clocks(device, &now, &there)) {
        uint64_t since = (there - times.global.kernelEnd) & device->kernel_mask;
        uint64_t length = (times.global.kernelEnd - times.global.kernelStart) & device->kernel_mask;
        if (since > device->kernel_mask / 2) { /* clocks agree to about a microsecond */
            since = 0;
        }
        base->end_ns = now - (int64_t)((double)since * device->ns_per_tick);
        base->start_ns = base->end_ns - (int64_t)((double)length * device->ns_per_tick);
    }
    if (base->start_ns < base->submit_ns) {
        base->start_ns = base->submit_ns;
    }
    if (base->end_ns < base->start_ns) {
        base->end_ns = base->start_ns;
    }
}

/* What the driver needed until the end. */
static void let_go(usm_level_zero_event *event)
{
    if (event->kernel != NULL) {
        usm_kernel_release(event->kernel);
        event->kernel = NULL;
    }
    if (event->temporary != NULL) {
        usm_level_zero.zeMemFree(usm_level_zero_context_of(event->event.queue->context)->id,
                                 event->temporary);
        event->temporary = NULL;
    }
}

/* All links have ended, and the driver has. `ended` may be NULL: usm_event_finish_among. */
static void finish(usm_event *base, usm_ended *ended)
{
    usm_level_zero_event *event = (usm_level_zero_event *)base;
    usm_error error;
    let_go(event);
    bool inherits = atomic_load_explicit(&base->cause, memory_order_acquire) != NULL;
    if (event->result == ZE_RESULT_SUCCESS || inherits) {
        if (base->profiled && event->result == ZE_RESULT_SUCCESS) {
            read_times(event);
        }
        usm_event_finish_among(base, NULL, ended);
        return;
    }
    usm_error_driver(&error, USM_DRIVER, "level_zero", (int)event->result, usm_level_zero_name(event->result),
                     "the task ended with %s (0x%x) on %s", usm_level_zero_name(event->result),
                     (unsigned)event->result, base->queue->device->info.name);
    usm_failure *failure = usm_failure_from_error(&error);
    usm_event_finish_among(base, failure != NULL ? failure : usm_failure_no_memory(), ended);
}

static void finish_alone(usm_event *base)
{
    finish(base, NULL);
}

/* Tells of the task: anything else, such as memory that ran out, tells of the question. */
static bool is_answer(ze_result_t result)
{
    return result == ZE_RESULT_SUCCESS || result == ZE_RESULT_NOT_READY ||
           result == ZE_RESULT_ERROR_DEVICE_LOST;
}

/* Has it ended, and how? */
static ze_result_t ask(const usm_level_zero_slot *slot)
{
    ze_result_t result = usm_level_zero.zeEventQueryStatus(slot->id);
    for (int i = 0; i < 3 && !is_answer(result); i++) {
        result = usm_level_zero.zeEventHostSynchronize(slot->id, 0);
    }
    return result;
}

void usm_level_zero_look_at(usm_queue *queue, const usm_level_zero_event *known, usm_level_zero_look *out)
{
    usm_level_zero_queue *native = usm_level_zero_queue_of(queue);
    usm_level_zero_event **last = &out->ended;
    bool hurries = atomic_load(&native->hurried) && atomic_exchange(&native->hurried, false), asks = true;
    known = queue->in_order && known != NULL && !known->claimed ? known : NULL;
    *out = (usm_level_zero_look){.ended = NULL};
    for (usm_event *base = queue->first; base != NULL && (asks || hurries); base = base->following) {
        usm_level_zero_event *event = (usm_level_zero_event *)base;
        usm_level_zero_slot *slot = atomic_load(&event->slot);
        if (slot == NULL || event->claimed) {
            continue;
        }
        ze_result_t result = known != NULL ? ZE_RESULT_SUCCESS : asks ? ask(slot) : ZE_RESULT_NOT_READY;
        known = event == known ? NULL : known;
        if (result == ZE_RESULT_NOT_READY) {
            out->unended = true;
            asks = asks && !queue->in_order;
            if (hurries && atomic_load(&event->hurried)) {
                native->awaited = event;
                hurries = false;
            }
            continue;
        }
        if (native->awaited == event) { /* is there another? */
            native->awaited = NULL;
            hurries = true;
        }
        event->claimed = true;
        event->result = result;
        *last = event;
        last = &event->next_ended;
    }
    out->hurried = native->awaited;
    if (out->hurried != NULL) {
        usm_event_retain(&out->hurried->event);
    }
    *last = NULL;
}

void usm_level_zero_end_all(usm_level_zero_event *event)
{
    usm_ended ended = {NULL, NULL};
    while (event != NULL) {
        usm_level_zero_event *next = event->next_ended;
        /* Who waits, waits for the last most often: what the others held of the driver is there by then. */
        if (ended.first != NULL && (next == NULL || ended.first->queue != event->event.queue)) {
            usm_events_forget(&ended);
        }
        if (event->late || usm_event_arm(&event->event, finish_alone)) {
            finish(&event->event, &ended);
        }
        event = next;
    }
    usm_events_forget(&ended);
}

/* The driver's answer to a wait for the task. */
static void take_answer(usm_level_zero_event *event, ze_result_t result)
{
    usm_queue *queue = event->event.queue;
    usm_level_zero_look seen;
    if (result == ZE_RESULT_NOT_READY) {
        return;
    }
    usm_lock_take(&queue->lock);
    usm_level_zero_look_at(queue, result == ZE_RESULT_SUCCESS ? event : NULL, &seen);
    usm_lock_give(&queue->lock);
    if (seen.hurried != NULL) {
        usm_event_release(&seen.hurried->event);
    }
    usm_level_zero_end_all(seen.ended);
}

void usm_level_zero_event_peek(usm_event *base)
{
    usm_level_zero_event *event = (usm_level_zero_event *)base;
    usm_level_zero_slot *slot = atomic_load_explicit(&event->slot, memory_order_acquire);
    if (slot != NULL && !usm_level_zero_forked() &&
        usm_level_zero.zeEventHostSynchronize(slot->id, PEEK_NS) == ZE_RESULT_SUCCESS) {
        take_answer(event, ZE_RESULT_SUCCESS); /* all else is the wait's */
    }
}

void usm_level_zero_event_join(usm_event *base)
{
    usm_level_zero_event *event = (usm_level_zero_event *)base;
    usm_level_zero_slot *slot = atomic_load_explicit(&event->slot, memory_order_acquire);
    if (slot != NULL && !usm_level_zero_forked()) {
        take_answer(event, usm_level_zero.zeEventHostSynchronize(slot->id, JOIN_NS));
    }
}

bool usm_level_zero_event_in_driver(usm_event *base)
{
    return atomic_load(&((usm_level_zero_event *)base)->slot) != NULL;
}

void usm_level_zero_event_hurry(usm_event *base)
{
    usm_level_zero_event *event = (usm_level_zero_event *)base;
    if (usm_level_zero_forked() || usm_event_ended(base) || atomic_exchange(&event->hurried, true)) {
        return;
    }
    atomic_store(&usm_level_zero_queue_of(base->queue)->hurried, true);
    if (atomic_load(&event->slot) != NULL) { /* else it is watched for when it gets one */
        usm_level_zero_wake();
    }
}

void usm_level_zero_event_destroy(usm_event *base)
{
    usm_level_zero_event *event = (usm_level_zero_event *)base;
    usm_level_zero_slot *slot = atomic_load_explicit(&event->slot, memory_order_relaxed);
    free(event->strided);
    usm_launch_free(event->launch);
    if (usm_level_zero_forked()) {
        return;
    }
    let_go(event); /* of a task that was refused half-way */
    if (slot != NULL) {
        usm_level_zero_slot_put(base->queue->context, slot, event->result != ZE_RESULT_SUCCESS);
    }
}

void usm_level_zero_fork(usm_fork_phase phase)
{
    if (phase == USM_FORK_CHILD && usm_level_zero_watcher_started()) {
        atomic_store_explicit(&forked, true, memory_order_release);
    }
}
