/*
 * Times of tasks: the driver's clock, converted to that of the host (usm_clock_ns). The driver's times are
 * counters of the device in nanoseconds, with an arbitrary origin (OpenCL API 3.0, 5.14).
 */
#include "opencl.h"

/*
 * Where the driver cannot report what its clock shows now, its time of each enqueue
 * (CL_PROFILING_COMMAND_QUEUED) is compared with ours, which is taken just before. The difference is too
 * early by the time in between, mostly a microsecond, so the latest difference found so far is the best one,
 * less what the clocks may drift: one part in DRIFT.
 */
#define DRIFT 20000

/*
 * clGetDeviceAndHostTimer (OpenCL API 3.0, 4.2.1) reads the device's clock; ours is read before and after,
 * and the shortest of three tries is the most exact.
 */
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

/* One of the four times that a profiling queue records of a command. */
static bool ask(const usm_opencl_event *event, cl_profiling_info what, int64_t *time)
{
    const usm_opencl_api *api = usm_opencl_platform_of(event->event.queue)->api;
    cl_event id = atomic_load_explicit(&((usm_opencl_event *)event)->id, memory_order_relaxed);
    cl_ulong value = 0;
    bool known = api->clGetEventProfilingInfo(id, what, sizeof value, &value, NULL) == CL_SUCCESS;
    *time = (int64_t)value;
    return known;
}

/*
 * The best difference between the clocks so far. A task that ends after another must not get an earlier end
 * than that one, so a difference that was used for a task holds for the next. Queue lock held.
 */
static int64_t best_of(usm_opencl_queue *queue, int64_t found_ns)
{
    int64_t now_ns = usm_clock_ns(), drifted = (now_ns - queue->compared_ns) / DRIFT;
    if (queue->compared_ns == 0 || found_ns > queue->clock_ns - drifted) {
        queue->clock_ns = found_ns;
        queue->compared_ns = now_ns;
    }
    return queue->clock_ns;
}

/*
 * Where the driver reports no times, for example of a command that it did on the host, the end is the time at
 * which usmpy noticed it.
 */
void usm_opencl_read_times(usm_opencl_event *event)
{
    usm_opencl_queue *queue = usm_opencl_queue_of(event->event.queue);
    usm_event *base = &event->event;
    int64_t start, end, queued;
    bool known = ask(event, CL_PROFILING_COMMAND_START, &start) &&
                 ask(event, CL_PROFILING_COMMAND_END, &end) &&
                 (queue->has_timer || ask(event, CL_PROFILING_COMMAND_QUEUED, &queued));
    if (known) {
        int64_t clock_ns = queue->has_timer ? queue->clock_ns : best_of(queue, event->enqueued_ns - queued);
        base->start_ns = start + clock_ns;
        base->end_ns = end + clock_ns;
    } else {
        base->start_ns = base->end_ns = usm_clock_ns();
    }
}
