/* Times of tasks: the driver's clock, moved to ours. */
#include "opencl.h"

/*
 * Where the driver does not say what its clock shows now, its time of each enqueue stands beside ours, which
 * is taken just before: early by what lies between the two, mostly a microsecond. The latest that was found
 * is the best, but for what clocks drift: one part in so many.
 */
#define DRIFT 20000

void usm_opencl_compare_clocks(const usm_opencl_platform *platform, cl_device_id device,
                               usm_opencl_queue *queue)
{
    int64_t shortest = INT64_MAX;
    for (int i = 0; i < 3; i++) { /* the first call in a process may take long */
        cl_ulong there = 0, host = 0;
        int64_t before = usm_clock_ns();
        if (platform->version < 201 || platform->api->clGetDeviceAndHostTimer == NULL ||
            platform->api->clGetDeviceAndHostTimer(device, &there, &host) != CL_SUCCESS) {
            return;
        }
        int64_t after = usm_clock_ns();
        if (after - before < shortest) {
            shortest = after - before;
            queue->clock_ns = before + (after - before) / 2 - (int64_t)there;
        }
    }
    queue->has_timer = true;
}

static bool ask(const usm_opencl_event *event, cl_profiling_info what, int64_t *time)
{
    const usm_opencl_api *api = usm_opencl_context_of(event->event.queue->context)->platform->api;
    cl_event id = atomic_load_explicit(&((usm_opencl_event *)event)->id, memory_order_relaxed);
    cl_ulong value = 0;
    bool told = api->clGetEventProfilingInfo(id, what, sizeof value, &value, NULL) == CL_SUCCESS;
    *time = (int64_t)value;
    return told;
}

/*
 * Of tasks that end one after the other, the first is not said to have ended later: what was found for it
 * holds for the next. No lock.
 */
static int64_t best_of(usm_queue *base, int64_t found_ns)
{
    usm_opencl_queue *queue = usm_opencl_queue_of(base);
    usm_lock_take(&base->lock);
    int64_t now_ns = usm_clock_ns(), drifted = (now_ns - queue->compared_ns) / DRIFT;
    if (queue->compared_ns == 0 || found_ns > queue->clock_ns - drifted) {
        queue->clock_ns = found_ns;
        queue->compared_ns = now_ns;
    }
    int64_t best_ns = queue->clock_ns;
    usm_lock_give(&base->lock);
    return best_ns;
}

void usm_opencl_read_times(usm_opencl_event *event)
{
    usm_opencl_queue *queue = usm_opencl_queue_of(event->event.queue);
    usm_event *base = &event->event;
    int64_t start, end, queued;
    bool told = ask(event, CL_PROFILING_COMMAND_START, &start) &&
                ask(event, CL_PROFILING_COMMAND_END, &end) &&
                (queue->has_timer || ask(event, CL_PROFILING_COMMAND_QUEUED, &queued));
    if (told) {
        int64_t clock_ns =
            queue->has_timer ? queue->clock_ns : best_of(base->queue, event->enqueued_ns - queued);
        base->start_ns = start + clock_ns;
        base->end_ns = end + clock_ns;
    } else {
        base->start_ns = base->end_ns = usm_clock_ns();
    }
    if (base->start_ns < base->submit_ns) { /* clocks agree to about a microsecond */
        base->start_ns = base->submit_ns;
    }
    if (base->end_ns < base->start_ns) {
        base->end_ns = base->start_ns;
    }
}
