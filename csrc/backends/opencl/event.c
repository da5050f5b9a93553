/*
 * The end of a driver's event. The driver calls back on a thread of its own, or inside any call of ours;
 * there the event is only put on a list. A thread of the backend takes it from there, or one that waits in
 * the driver for the event: it asks for times, runs usm_event_finish and what hangs on that.
 */
#include "opencl.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

static _Atomic(usm_opencl_event *) done; /* newest first */
static sem_t wakeups;
static _Atomic bool started, forked, woken;
static _Atomic unsigned joiners; /* threads in usm_opencl_event_join: each looks at the list before it goes */

/* How long a joined event's callback is looked for, after the driver's wait for it has ended. */
#define SPIN_NS 20000

bool usm_opencl_forked(void)
{
    return atomic_load_explicit(&forked, memory_order_acquire);
}

usm_status usm_opencl_after_fork(usm_error *error)
{
    return usm_error_set(
        error, USM_FORKED,
        "OpenCL was used before this process was forked, and drivers do not survive that; start "
        "processes with multiprocessing's method 'spawn'");
}

/* The driver's clock, moved to ours. */
static void read_times(usm_opencl_event *event)
{
    const usm_opencl_queue *queue = usm_opencl_queue_of(event->event.queue);
    const usm_opencl_api *api = usm_opencl_context_of(event->event.queue->context)->platform->api;
    cl_ulong start = 0, end = 0;
    cl_event id = atomic_load_explicit(&event->id, memory_order_relaxed);
    if (api->clGetEventProfilingInfo(id, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL) ==
            CL_SUCCESS &&
        api->clGetEventProfilingInfo(id, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL) == CL_SUCCESS) {
        event->event.start_ns = (int64_t)start + queue->clock_ns;
        event->event.end_ns = (int64_t)end + queue->clock_ns;
    } else {
        event->event.start_ns = event->event.end_ns = usm_clock_ns();
    }
    if (event->event.start_ns < event->event.submit_ns) { /* clocks agree to about a microsecond */
        event->event.start_ns = event->event.submit_ns;
    }
    if (event->event.end_ns < event->event.start_ns) {
        event->event.end_ns = event->event.start_ns;
    }
}

static void fail(usm_opencl_event *event, const usm_error *error)
{
    usm_failure *failure = usm_failure_from_error(error);
    usm_event_finish(&event->event, failure != NULL ? failure : usm_failure_no_memory());
}

/*
 * The driver ended this task because another one failed that it only had to come after: OpenCL's wait lists
 * know no such difference. It goes again, alone. True where it is on its way.
 */
static bool go_again(usm_opencl_event *event, usm_error *error)
{
    event->refused = atomic_exchange_explicit(&event->id, NULL, memory_order_acq_rel);
    event->late = true;
    return usm_opencl_enqueue(event, &event->command, 0, NULL, error) == USM_OK &&
           usm_opencl_watch(event, error) == USM_OK;
}

/* All links have ended, and the driver has. */
static void finish(usm_event *base)
{
    usm_opencl_event *event = (usm_opencl_event *)base;
    usm_error error;
    bool inherits = atomic_load_explicit(&base->cause, memory_order_acquire) != NULL;
    if (event->status == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST && !inherits && !event->late) {
        if (!go_again(event, &error)) {
            fail(event, &error);
        }
        return;
    }
    if (base->profiled) {
        read_times(event);
    }
    if (event->status < 0 && !inherits) {
        usm_error_driver(&error, USM_DRIVER, "opencl", event->status, usm_opencl_name(event->status),
                         "the task ended with %s (%d) on %s", usm_opencl_name(event->status), event->status,
                         base->queue->device->info.name);
        fail(event, &error);
    } else {
        usm_event_finish(base, NULL);
    }
}

/* All that have ended, oldest first. Any thread, no lock. */
static void drain(void)
{
    usm_opencl_event *event = atomic_exchange(&done, NULL), *oldest = NULL;
    while (event != NULL) {
        usm_opencl_event *next = event->next_done;
        event->next_done = oldest;
        oldest = event;
        event = next;
    }
    while (oldest != NULL) {
        usm_opencl_event *next = oldest->next_done;
        usm_opencl_learn(oldest);
        if (oldest->late || usm_event_arm(&oldest->event, finish)) {
            finish(&oldest->event);
        }
        oldest = next;
    }
}

static void *watch(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "usmpy-opencl");
    for (;;) {
        while (sem_wait(&wakeups) != 0 && errno == EINTR) {
        }
        atomic_store(&woken, false);
        drain();
    }
    return NULL;
}

bool usm_opencl_watcher_start(void)
{
    return sem_init(&wakeups, 0, 0) == 0 && usm_thread_start(watch, NULL) &&
           (atomic_store_explicit(&started, true, memory_order_release), true);
}

static void CL_CALLBACK on_end(cl_event id, cl_int status, void *argument)
{
    usm_opencl_event *event = argument;
    (void)id;
    event->status = status;
    event->ended_ns = event->kernel != NULL ? usm_clock_ns() : 0;
    bool joined = atomic_load(&event->joined);
    usm_opencl_event *head = atomic_load(&done);
    do {
        event->next_done = head;
    } while (!atomic_compare_exchange_weak(&done, &head, event));
    /* From here on the event may be gone. */
    if (!(joined && atomic_load(&joiners) > 0) && !atomic_exchange(&woken, true)) {
        sem_post(&wakeups);
    }
}

/*
 * The driver's wait, where this thread may run the task itself; then the event is mostly on the list, put
 * there by this very thread. A callback that comes after the last look at the list wakes the other thread.
 */
void usm_opencl_event_join(usm_event *base)
{
    usm_opencl_event *event = (usm_opencl_event *)base;
    cl_event id = atomic_load_explicit(&event->id, memory_order_acquire);
    if (id == NULL || !event->quick || usm_opencl_forked()) {
        return;
    }
    atomic_fetch_add(&joiners, 1);
    atomic_store(&event->joined, true);
    usm_opencl_context_of(base->queue->context)->platform->api->clWaitForEvents(1, &id);
    drain();
    for (int64_t until = 0; !usm_event_ended(base);) {
        int64_t now = usm_clock_ns();
        until = until != 0 ? until : now + SPIN_NS;
        if (now >= until) {
            break;
        }
        if (atomic_load_explicit(&done, memory_order_relaxed) != NULL) {
            drain();
        }
    }
    atomic_store(&event->joined, false);
    atomic_fetch_sub(&joiners, 1);
    drain();
}

usm_status usm_opencl_watch(usm_opencl_event *event, usm_error *error)
{
    const usm_opencl_api *api = usm_opencl_context_of(event->event.queue->context)->platform->api;
    cl_event id = atomic_load_explicit(&event->id, memory_order_relaxed);
    usm_event_retain(&event->event); /* the callback may come before this returns, and end everything */
    cl_int code = api->clSetEventCallback(id, CL_COMPLETE, on_end, event);
    usm_event_release(&event->event);
    return code == CL_SUCCESS ? USM_OK : usm_opencl_failed(error, code, "clSetEventCallback");
}

void usm_opencl_event_destroy(usm_event *base)
{
    usm_opencl_event *event = (usm_opencl_event *)base;
    free(event->strided);
    usm_launch_free(event->launch);
    const cl_event ids[] = {atomic_load_explicit(&event->id, memory_order_relaxed), event->refused};
    for (int i = 0; i < 2; i++) {
        if (ids[i] != NULL && !usm_opencl_forked()) {
            usm_opencl_context_of(base->queue->context)->platform->api->clReleaseEvent(ids[i]);
        }
    }
}

void usm_opencl_fork(usm_fork_phase phase)
{
    usm_opencl_spares_fork(phase);
    if (phase == USM_FORK_CHILD && atomic_load_explicit(&started, memory_order_acquire)) {
        atomic_store_explicit(&forked, true, memory_order_release);
    }
}
