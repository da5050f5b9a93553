/*
 * The end of a driver's event. Level Zero calls nobody back: a thread that waits does so in the driver for a
 * moment; core/tasks/completion.h has the rest.
 */
#include "level_zero.h"

/* A call that asks for a clock takes less. */
#define HELD_UP_NS 2000
/* A thread that waits is deaf to Ctrl-C in the driver. */
#define JOIN_NS 4000000

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

usm_status usm_level_zero_event_result(usm_event *base, usm_error *error)
{
    usm_level_zero_event *event = (usm_level_zero_event *)base;
    let_go(event);
    if (base->profiled && event->result == ZE_RESULT_SUCCESS) {
        read_times(event);
    }
    if (event->result == ZE_RESULT_SUCCESS ||
        atomic_load_explicit(&base->cause, memory_order_acquire) != NULL) {
        return USM_OK;
    }
    return usm_error_driver(error, USM_DRIVER, "level_zero", (int)event->result,
                            usm_level_zero_name(event->result), "the task ended with %s (0x%x) on %s",
                            usm_level_zero_name(event->result), (unsigned)event->result,
                            base->queue->device->info.name);
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

static bool has_ended(usm_event *base)
{
    usm_level_zero_event *event = (usm_level_zero_event *)base;
    ze_result_t result = ask(atomic_load_explicit(&event->slot, memory_order_relaxed));
    if (result != ZE_RESULT_NOT_READY) { /* a wait may know of a success first: that is what is there */
        event->result = result;
    }
    return result != ZE_RESULT_NOT_READY;
}

bool usm_level_zero_queue_poll(usm_queue *queue)
{
    return !usm_level_zero_forked() && usm_completion_end(queue, NULL, has_ended).more;
}

/* In the driver, also with the GIL held: a driver spins for a small budget. */
void usm_level_zero_event_wait(usm_event *base, int64_t budget_ns)
{
    usm_level_zero_slot *slot =
        atomic_load_explicit(&((usm_level_zero_event *)base)->slot, memory_order_acquire);
    if (slot == NULL || usm_level_zero_forked()) {
        return;
    }
    uint64_t longest = (uint64_t)(budget_ns < JOIN_NS ? budget_ns : JOIN_NS);
    ze_result_t result = usm_level_zero.zeEventHostSynchronize(slot->id, longest);
    if (result != ZE_RESULT_NOT_READY) {
        (void)usm_completion_end(base->queue, result == ZE_RESULT_SUCCESS ? base : NULL, has_ended);
    }
}

bool usm_level_zero_event_in_driver(usm_event *base)
{
    return atomic_load(&((usm_level_zero_event *)base)->slot) != NULL;
}

void usm_level_zero_event_destroy(usm_event *base)
{
    usm_level_zero_event *event = (usm_level_zero_event *)base;
    usm_level_zero_slot *slot = atomic_load_explicit(&event->slot, memory_order_relaxed);
    if (usm_level_zero_forked()) {
        return;
    }
    let_go(event); /* of a task that was refused half-way */
    if (slot != NULL) {
        usm_level_zero_slot_put(base->queue->context, slot, event->result != ZE_RESULT_SUCCESS);
    }
}
