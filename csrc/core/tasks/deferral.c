#include "deferral.h"

#include "core/device/rule.h"
#include "link.h"

#include <stddef.h>

/* A dependency has failed: the task must not run. */
static bool is_skipped(const usm_event *event)
{
    return atomic_load_explicit(&((usm_event *)event)->cause, memory_order_acquire) != NULL;
}

static _Thread_local struct {
    usm_ended events;
    unsigned n;
} ended;

void usm_deferral_forget_ended(void)
{
    ended.n = 0;
    usm_events_forget(&ended.events);
}

/* A task that inherits a failure ends without having run. One that waits may have taken this one. */
void usm_deferral_run(usm_work *work)
{
    enum { MANY = 16 };
    usm_event *event = (usm_event *)((char *)work - offsetof(usm_event, work)), *outer = usm_event_current();
    const usm_command *command = &event->command;
    bool timed = event->profiled || event->traced;
    usm_status status = USM_OK;
    usm_error error;
    error.failure = NULL;
    if (command->kind == USM_COMMAND_HOST) {
        usm_deferral_forget_ended(); /* it may take long, and fork */
    }
    event->start_ns = timed ? usm_clock_ns() : 0;
    if (!is_skipped(event)) {
        usm_event_enter(event, USM_TASK_RUNNING);
        usm_event_set_current(event);
        status = command->kind == USM_COMMAND_HOST
                     ? command->as.host.run(command->as.host.argument, &error)
                     : USM_CALL(event->queue->backend, queue_run)(event, command, &error);
        usm_event_set_current(outer);
    }
    event->end_ns = timed ? usm_clock_ns() : 0;
    usm_event_finish_among(event, status == USM_OK ? NULL : usm_failure_take(&error), &ended.events);
    usm_worker_when_idle(usm_deferral_forget_ended);
    if (++ended.n == MANY) {
        usm_deferral_forget_ended();
    }
}

static void host_ready(usm_event *event)
{
    usm_worker_put(event->queue->worker, &event->work);
}

/* Announces the task to the threads of its queue, which get it when all links have ended. Queue lock held. */
static usm_status leave_to_host(usm_event *event, const usm_command *command, usm_error *error)
{
    usm_queue *queue = event->queue;
    usm_status status = usm_event_keep_command(event, command, error);
    if (status == USM_OK) {
        event->work.run = usm_deferral_run;
        status = usm_worker_announce(queue->worker, queue->backend->name, error);
    }
    if (status == USM_OK) {
        usm_event_enter(event, USM_TASK_ON_HOST);
        if (usm_event_arm(event, host_ready)) {
            host_ready(event);
        }
    }
    return status;
}

/*
 * The driver has the task: usm_event_in_driver is true of it from now on, and the watching thread polls its
 * queue. Queue lock held.
 */
static void driver_has(usm_event *event)
{
    usm_queue *queue = event->queue;
    uint64_t submitted = atomic_load_explicit(&queue->submitted, memory_order_relaxed);
    atomic_store_explicit(&queue->submitted, submitted + 1, memory_order_relaxed);
    usm_task_state before = usm_event_task_state(event);
    usm_event_enter(event, before == USM_TASK_DEFERRED ? USM_TASK_SENT_AHEAD : USM_TASK_IN_DRIVER);
    usm_watch_add(&queue->watched);
    if (before != USM_TASK_RECORDED) { /* a thread may have begun to wait before the driver had the task */
        atomic_thread_fence(memory_order_seq_cst);
        if (atomic_load(&event->watched)) {
            usm_watch_closely(&queue->watched);
        }
    }
}

/* Queue lock held. */
static usm_status hand_over(usm_event *event, const usm_command *command, usm_error *error)
{
    usm_queue *queue = event->queue;
    usm_status status =
        queue->backend->queue_submit == NULL
            ? USM_ON_HOST
            : USM_UNLESS_FORKED(queue->backend, error,
                                USM_CALL(queue->backend, queue_submit)(event, command, error));
    if (status == USM_OK) {
        driver_has(event);
    } else if (status == USM_ON_HOST) {
        status = leave_to_host(event, command, error);
    }
    return status;
}

/*
 * The driver has the task: deferred ones behind it that wait for nothing else outside of the driver need not
 * wait for its end. Those that it cannot take yet are tried again when their links have ended. Queue lock
 * held.
 */
static void submit_followers(usm_event *event)
{
    usm_queue *queue = event->queue;
    for (usm_event *next = event->following; next != NULL; next = next->following) {
        usm_error error;
        if (usm_event_task_state(next) != USM_TASK_DEFERRED || is_skipped(next)) {
            continue;
        }
        error.failure = NULL;
        usm_status status = USM_UNLESS_FORKED(
            queue->backend, &error, USM_CALL(queue->backend, queue_submit)(next, &next->command, &error));
        if (status == USM_OK) {
            driver_has(next);
            continue;
        }
        if (status != USM_LATER && status != USM_ON_HOST) {
            usm_error_clear(&error);
        }
        if (queue->in_order) {
            return;
        }
    }
}

/*
 * The driver ended the task without having run it, since another that it only had to come after had failed.
 * It gets the kept command once more. False: the task has to end now, with the failure in event->failure.
 * State ENDING, no lock.
 */
static bool submit_again(usm_event *event)
{
    usm_queue *queue = event->queue;
    usm_error error;
    error.failure = NULL;
    usm_lock_take(&queue->lock);
    usm_event_enter(event, USM_TASK_UNBLOCKED);
    usm_status status = hand_over(event, &event->command, &error);
    usm_lock_give(&queue->lock);
    if (status != USM_OK) {
        event->failure = usm_failure_take(&error);
    }
    return status == USM_OK;
}

void usm_deferral_end(usm_event *event, usm_ended *ended)
{
    bool inherits = atomic_load_explicit(&event->cause, memory_order_acquire) != NULL;
    if (USM_UNLIKELY(event->skipped) && !inherits && submit_again(event)) {
        return;
    }
    /* The driver's clock, converted to the host's, is exact to about a microsecond. */
    if (event->profiled) {
        event->start_ns = event->start_ns < event->submit_ns ? event->submit_ns : event->start_ns;
        event->end_ns = event->end_ns < event->start_ns ? event->start_ns : event->end_ns;
    }
    usm_failure *failure = event->failure;
    event->failure = NULL;
    if (USM_UNLIKELY(failure != NULL) && inherits) { /* the first failure is the cause of this one */
        usm_failure_release(failure);
        failure = NULL;
    }
    usm_event_finish_among(event, failure, ended);
}

/* No lock held. */
static void links_ended(usm_event *event)
{
    usm_queue *queue = usm_queue_retain(event->queue); /* once the driver has it, the event may go */
    usm_status status = USM_OK;
    usm_error error;
    error.failure = NULL;
    usm_lock_take(&queue->lock);
    usm_task_state state = usm_event_task_state(event);
    bool runs = state == USM_TASK_DEFERRED && !is_skipped(event);
    if (runs) {
        usm_event_enter(event, USM_TASK_UNBLOCKED);
        status = hand_over(event, &event->command, &error);
    } else if (state != USM_TASK_DEFERRED) {
        usm_event_enter(event, state == USM_TASK_SENT_AHEAD ? USM_TASK_IN_DRIVER : USM_TASK_ENDING);
    }
    if (runs && status == USM_OK) {
        submit_followers(event);
    }
    usm_lock_give(&queue->lock);
    if (state == USM_TASK_DRIVER_ENDED) {
        usm_deferral_end(event, NULL);
    } else if (state == USM_TASK_DEFERRED && (!runs || status != USM_OK)) {
        usm_event_finish(event, status == USM_OK ? NULL : usm_failure_take(&error));
    }
    usm_queue_release(queue);
}

/* Keeps the command until all links have ended, or the driver has them. Queue lock held. */
static usm_status defer(usm_event *event, const usm_command *command, usm_error *error)
{
    usm_status status = usm_event_keep_command(event, command, error);
    if (status != USM_OK) {
        return status;
    }
    usm_event_enter(event, USM_TASK_DEFERRED);
    if (!usm_event_arm(event, links_ended)) {
        return USM_OK;
    }
    /* All of them have ended meanwhile. A task that is skipped ends where no lock is held. */
    usm_event_enter(event, USM_TASK_UNBLOCKED);
    return is_skipped(event) ? leave_to_host(event, &event->command, error)
                             : hand_over(event, &event->command, error);
}

usm_status usm_deferral_submit(usm_event *event, const usm_command *command, usm_error *error)
{
    /* A driver runs what it gets. */
    bool skipped = USM_UNLIKELY(is_skipped(event)) && command->kind != USM_COMMAND_HOST;
    usm_status status = skipped ? USM_LATER : hand_over(event, command, error);
    return USM_LIKELY(status != USM_LATER) ? status : defer(event, command, error);
}
