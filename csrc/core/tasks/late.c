/*
 * Commands that a driver does not get in their submission: tasks of the host, which a thread of the queue
 * runs, and commands whose dependencies the driver cannot wait for.
 */
#include "completion.h"

#include "core/device/rule.h"
#include "core/layout/strided.h"
#include "core/program/launch.h"

static usm_later *later_of(usm_event *event)
{
    return (usm_later *)((char *)event + event->queue->backend->event_zeroed);
}

/* A dependency has failed: the task must not run. */
static bool is_skipped(usm_event *event)
{
    return atomic_load_explicit(&event->cause, memory_order_acquire) != NULL;
}

usm_status usm_later_keep(usm_event *event, const usm_command *command, usm_error *error)
{
    usm_later *later = later_of(event);
    if (command == &later->command) {
        return USM_OK;
    }
    later->command = *command;
    if (command->kind == USM_COMMAND_STRIDED) {
        event->strided = usm_strided_clone(command->as.strided);
        later->command.as.strided = event->strided;
        if (event->strided == NULL) {
            return usm_error_memory(error, sizeof(usm_strided), "a copy's plan");
        }
    } else if (command->kind == USM_COMMAND_LAUNCH) {
        event->launch = usm_launch_clone(command->as.launch);
        later->command.as.launch = event->launch;
        if (event->launch == NULL) {
            return usm_error_memory(error, sizeof(usm_launch), "a launch");
        }
    }
    return USM_OK;
}

/* On a thread of the queue. A task that inherits a failure ends without having run. */
static void run_on_host(usm_work *work)
{
    usm_later *later = (usm_later *)((char *)work - offsetof(usm_later, work));
    usm_event *event = later->event;
    bool timed = event->profiled || event->traced;
    usm_status status = USM_OK;
    usm_error error;
    error.failure = NULL;
    event->start_ns = timed ? usm_clock_ns() : 0;
    if (!is_skipped(event)) {
        usm_event_enter(event, USM_TASK_RUNNING);
        if (later->run != NULL) {
            status = later->run(event, &later->command, &error);
        } else {
            usm_event_set_current(event);
            status = later->command.as.host.run(later->command.as.host.argument, &error);
            usm_event_set_current(NULL);
        }
    }
    event->end_ns = timed ? usm_clock_ns() : 0;
    usm_event_finish(event, status == USM_OK ? NULL : usm_failure_take(&error));
}

static void host_ready(usm_event *event)
{
    usm_worker_put(event->queue->worker, &later_of(event)->work);
}

/* Queue lock held. */
static usm_status announce(usm_event *event, usm_error *error)
{
    usm_later *later = later_of(event);
    later->event = event;
    later->work.run = run_on_host;
    usm_status status = usm_worker_announce(event->queue->worker, event->queue->backend->name, error);
    if (status == USM_OK) {
        usm_event_enter(event, USM_TASK_ON_HOST);
    }
    return status;
}

usm_status usm_later_run_on_host(usm_event *event, const usm_command *command,
                                 usm_status (*run)(usm_event *event, const usm_command *command,
                                                   usm_error *error),
                                 usm_error *error)
{
    later_of(event)->run = run;
    usm_status status = usm_later_keep(event, command, error);
    if (status == USM_OK) {
        status = announce(event, error);
    }
    if (status == USM_OK && usm_event_arm(event, host_ready)) {
        host_ready(event);
    }
    return status;
}

/*
 * The driver has the task: deferred ones behind it that wait for nothing else outside of the driver need not
 * wait for its end. Queue lock held.
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
        usm_status status =
            USM_CALL(queue->backend, queue_submit)(queue, next, &later_of(next)->command, &error);
        if (status == USM_OK) {
            continue;
        }
        if (status != USM_LATER) { /* it is tried again when its links have ended */
            usm_error_clear(&error);
        }
        if (queue->in_order) {
            return;
        }
    }
}

/* All links have ended. No lock held. */
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
        status = USM_CALL(queue->backend, queue_submit)(queue, event, &later_of(event)->command, &error);
    } else if (state != USM_TASK_DEFERRED) {
        usm_event_enter(event, state == USM_TASK_SENT_AHEAD ? USM_TASK_IN_DRIVER : USM_TASK_ENDING);
    }
    if (runs && status == USM_OK) {
        submit_followers(event);
    }
    usm_lock_give(&queue->lock);
    if (state == USM_TASK_DRIVER_ENDED) {
        usm_completion_finish(event);
    } else if (state == USM_TASK_DEFERRED && (!runs || status != USM_OK)) {
        usm_event_finish(event, status == USM_OK ? NULL : usm_failure_take(&error));
    }
    usm_queue_release(queue);
}

/* Queue lock held, so that no event may end in here. */
static usm_status postpone(usm_queue *queue, usm_event *event, const usm_command *command, usm_error *error)
{
    usm_status status = usm_later_keep(event, command, error);
    if (status != USM_OK) {
        return status;
    }
    usm_event_enter(event, USM_TASK_DEFERRED);
    if (!usm_event_arm(event, links_ended)) {
        return USM_OK;
    }
    /* All of it has ended meanwhile. */
    usm_event_enter(event, USM_TASK_UNBLOCKED);
    if (!is_skipped(event)) {
        return USM_CALL(queue->backend, queue_submit)(queue, event, &later_of(event)->command, error);
    }
    status = announce(event, error); /* it ends without having run, where no lock is held */
    if (status == USM_OK) {
        host_ready(event);
    }
    return status;
}

usm_status usm_later_submit(usm_queue *queue, usm_event *event, const usm_command *command, usm_error *error)
{
    /* A driver runs what it gets; a thread of the host looks whether the task has to be skipped. */
    bool kept = USM_UNLIKELY(is_skipped(event)) && command->kind != USM_COMMAND_HOST &&
                queue->backend->queue_poll != NULL;
    usm_status status =
        kept ? USM_LATER : USM_CALL(queue->backend, queue_submit)(queue, event, command, error);
    return USM_LIKELY(status != USM_LATER) ? status : postpone(queue, event, command, error);
}
