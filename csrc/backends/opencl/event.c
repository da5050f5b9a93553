/*
 * How tasks end. The driver is polled and never calls back: a callback (clSetEventCallback) costs a tenth of
 * a launch, and often a change of threads. core/tasks/watch.h says who polls, and when.
 */
#include "opencl.h"

/*
 * A value above CL_COMPLETE: it has not ended. CL_COMPLETE is 0, and errors are below (OpenCL API 3.0, 5.11).
 */
cl_int usm_opencl_ask(const usm_opencl_event *event, cl_event id)
{
    const usm_opencl_api *api = usm_opencl_platform_of(event->event.queue)->api;
    cl_int status = CL_QUEUED;
    cl_int code = api->clGetEventInfo(id, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    return code == CL_SUCCESS ? status : code;
}

/*
 * A waiting thread may have seen the success before (wait.c), and is then believed. A profiling queue reads
 * its times here, since the driver's event has them from its end on (OpenCL API 3.0, 5.14). How long a launch
 * took is kept for waits to come (wait.c).
 *
 * The driver ends a task whose wait list has one that failed (OpenCL API 3.0, 5.11), although it may only
 * have to run after that one: wait lists know no order without the failure.
 */
usm_progress usm_opencl_event_poll(usm_event *base, usm_error *error)
{
    usm_opencl_event *event = (usm_opencl_event *)base;
    cl_int how = atomic_load_explicit(&event->status, memory_order_relaxed);
    if (how > CL_COMPLETE) {
        how = usm_opencl_ask(event, atomic_load_explicit(&event->id, memory_order_relaxed));
        atomic_store_explicit(&event->status, how, memory_order_relaxed);
    }
    if (how > CL_COMPLETE) {
        return how == CL_RUNNING ? USM_PROGRESS_RUNNING : USM_PROGRESS_PENDING;
    }
    if (how == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST && event->state == USM_OPENCL_BEHIND) {
        return USM_PROGRESS_SKIPPED;
    }
    if (base->profiled) {
        usm_opencl_read_times(event);
    }
    if (event->kernel != NULL && event->enqueued_ns != 0) {
        usm_opencl_learn(event, usm_clock_ns() - event->enqueued_ns);
    }
    if (how >= 0) {
        return USM_PROGRESS_COMPLETE;
    }
    (void)usm_error_driver(error, USM_DRIVER, "opencl", how, usm_opencl_name(how),
                           "the task ended with %s (%d) on %s", usm_opencl_name(how), how,
                           base->queue->device->info.name);
    return USM_PROGRESS_FAILED;
}

void usm_opencl_event_wait(usm_event *base)
{
    usm_opencl_event *event = (usm_opencl_event *)base;
    cl_event id = atomic_load_explicit(&event->id, memory_order_acquire);
    if (id != NULL && usm_opencl_ask(event, id) > CL_COMPLETE) {
        usm_opencl_wait(event, id);
    }
}

void usm_opencl_event_destroy(usm_event *base)
{
    usm_opencl_event *event = (usm_opencl_event *)base;
    const cl_event ids[] = {atomic_load_explicit(&event->id, memory_order_relaxed), event->refused};
    for (int i = 0; i < 2; i++) {
        if (ids[i] != NULL) {
            usm_opencl_platform_of(base->queue)->api->clReleaseEvent(ids[i]);
        }
    }
}
