/*
 * Times of tasks: the device's clock, converted to that of the host. Events of timed pools hold kernel
 * timestamps in ticks of the device (Level Zero Core Programming Guide, Kernel Timestamp Events).
 */
#include "level_zero.h"

/* A call that reads the clocks takes less than this, in nanoseconds. */
#define HELD_UP_NS 2000

/*
 * Reads the device's clock and ours; again where the thread was held up in between. False: the driver cannot.
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
 * Converts the times of a task. The clocks are compared each time: timestamps of kernels have few valid bits,
 * which wrap around within minutes, so only the difference to now is known.
 */
void usm_level_zero_read_times(usm_level_zero_event *event)
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
}
