/*
 * How tasks end. The driver is polled and never calls back: a callback (clSetEventCallback) costs a tenth of
 * a launch, and often a change of threads. core/tasks/completion.h says who polls, and when.
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

/* As it was seen last, without a call of the driver. */
static cl_int status_of(const usm_opencl_event *event)
{
    return atomic_load_explicit(&((usm_opencl_event *)event)->status, memory_order_relaxed);
}

/*
 * For usm_completion_end, with the queue's lock held. A waiting thread may have seen the success before
 * (wait.c), and is then believed.
 */
static bool has_ended(usm_event *base)
{
    usm_opencl_event *event = (usm_opencl_event *)base;
    if (status_of(event) > CL_COMPLETE) {
        cl_int status = usm_opencl_ask(event, atomic_load_explicit(&event->id, memory_order_relaxed));
        atomic_store_explicit(&event->status, status, memory_order_relaxed);
        return status <= CL_COMPLETE;
    }
    return true;
}

/*
 * One call of the driver for the oldest task, and one for each that has ended; in a queue out of order for
 * the first few.
 */
bool usm_opencl_queue_poll(usm_queue *queue)
{
    return !usm_opencl_forked() && usm_completion_end(queue, NULL, has_ended).more;
}

/*
 * The driver ended this task because one in its wait list failed (OpenCL API 3.0, 5.11), although it only had
 * to run after that one: wait lists know no order without the failure. The command is enqueued once more,
 * without a list. No lock held.
 */
static usm_status go_again(usm_opencl_event *event, usm_error *error)
{
    usm_queue *queue = event->event.queue;
    usm_lock_take(&queue->lock);
    event->refused = atomic_exchange_explicit(&event->id, NULL, memory_order_acq_rel);
    event->state = USM_OPENCL_FINAL;
    atomic_store_explicit(&event->status, CL_QUEUED, memory_order_relaxed);
    event->enqueued_ns = event->event.profiled ? usm_clock_ns() : 0;
    usm_status status = usm_opencl_enqueue(event, &event->later.command, 0, NULL, error);
    if (status == USM_OK) {
        usm_opencl_platform_of(queue)->api->clFlush(usm_opencl_queue_of(queue)->id);
        usm_completion_watch(&event->event);
    }
    usm_lock_give(&queue->lock);
    return status == USM_OK ? USM_LATER : status;
}

/*
 * A profiling queue reads its times here, since the driver's event has them from its end on (OpenCL API 3.0,
 * 5.14). How long a launch took is kept for waits to come (wait.c).
 */
usm_status usm_opencl_event_result(usm_event *base, usm_error *error)
{
    usm_opencl_event *event = (usm_opencl_event *)base;
    cl_int how = status_of(event);
    bool inherits = atomic_load_explicit(&base->cause, memory_order_acquire) != NULL;
    if (how == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST && !inherits &&
        event->state == USM_OPENCL_BEHIND) {
        return go_again(event, error);
    }
    if (base->profiled) {
        usm_opencl_read_times(event);
    }
    if (event->kernel != NULL && event->enqueued_ns != 0) {
        usm_opencl_learn(event, usm_clock_ns() - event->enqueued_ns);
    }
    if (how >= 0 || inherits) {
        return USM_OK;
    }
    return usm_error_driver(error, USM_DRIVER, "opencl", how, usm_opencl_name(how),
                            "the task ended with %s (%d) on %s", usm_opencl_name(how), how,
                            base->queue->device->info.name);
}

/*
 * Polls and waits for the driver of this one task; others of the queue that have ended meanwhile are ended on
 * the way.
 */
void usm_opencl_event_wait(usm_event *base)
{
    usm_opencl_event *event = (usm_opencl_event *)base;
    cl_event id = atomic_load_explicit(&event->id, memory_order_acquire);
    if (id == NULL || usm_opencl_forked()) {
        return;
    }
    usm_polled polled;
    do { /* the driver runs the last tasks: meanwhile the first ones are ended here */
        polled = usm_completion_end(base->queue, NULL, has_ended);
    } while (polled.ended > 0 && polled.more && !usm_event_ended(base));
    if (usm_event_ended(base)) {
        return;
    }
    if (usm_opencl_wait(event, id)) {
        (void)usm_completion_end(base->queue, NULL, has_ended);
    }
}

bool usm_opencl_event_is_running(usm_event *base)
{
    const usm_opencl_event *event = (usm_opencl_event *)base;
    cl_event id = atomic_load_explicit(&((usm_opencl_event *)base)->id, memory_order_acquire);
    if (id == NULL || usm_opencl_forked()) {
        return false;
    }
    cl_int status = usm_opencl_ask(event, id);
    return status >= CL_COMPLETE && status <= CL_RUNNING; /* or just ended, and not seen yet */
}

/* In a forked child the driver's events are the parent's. */
void usm_opencl_event_destroy(usm_event *base)
{
    usm_opencl_event *event = (usm_opencl_event *)base;
    const cl_event ids[] = {atomic_load_explicit(&event->id, memory_order_relaxed), event->refused};
    for (int i = 0; i < 2; i++) {
        if (ids[i] != NULL && !usm_opencl_forked()) {
            usm_opencl_platform_of(base->queue)->api->clReleaseEvent(ids[i]);
        }
    }
}
