/* Queues of backends with queue_execute: their tasks run on threads of the queue. */
#include "execute.h"

#include "core/base/heap.h"
#include "core/copy/copy.h"
#include "core/device/backend.h"
#include "core/program/launch.h"
#include "core/trace/ticks.h"

#include <stdlib.h>

static usm_status execute(const usm_execution *execution, usm_error *error)
{
    const usm_command *command = &execution->command;
    usm_queue *queue = execution->event.queue;
    switch (command->kind) {
        case USM_COMMAND_HOST:
            return command->as.host.run(command->as.host.argument, error);
        case USM_COMMAND_BARRIER:
        case USM_COMMAND_MARKER:
        case USM_COMMAND_PREFETCH: /* a hint */
            return USM_OK;
        default:
            return queue->backend->queue_execute(queue, command, error);
    }
}

static void run(usm_work *work)
{
    usm_execution *execution = (usm_execution *)((char *)work - offsetof(usm_execution, work));
    usm_event *event = &execution->event;
    usm_failure *failure = NULL;
    usm_error error;
    error.failure = NULL;
    if (event->profiled) {
        event->start_ns = usm_clock_ns();
    } else if (event->record != NULL) {
        event->start_ticks = usm_ticks();
    }
    if (atomic_load_explicit(&event->cause, memory_order_acquire) == NULL) {
        atomic_store_explicit(&event->state, USM_EVENT_RUNNING, memory_order_release);
        usm_event_set_current(event);
        usm_status status = execute(execution, &error);
        usm_event_set_current(NULL);
        if (status != USM_OK) {
            failure = usm_failure_from_error(&error);
            failure = failure != NULL ? failure : usm_failure_no_memory();
            usm_error_clear(&error);
        }
    }
    event->end_ns = event->profiled ? usm_clock_ns() : 0;
    usm_event_finish(event, failure); /* may release the queue; the event is gone afterwards */
}

usm_status usm_execute_start(usm_queue *queue, usm_error *error)
{
    usm_worker *worker = usm_malloc(sizeof *worker);
    if (worker == NULL) {
        return usm_error_memory(error, sizeof *worker, "a queue");
    }
    /* An out-of-order queue has two at least, so that one blocked task does not stop the others. */
    unsigned units = queue->device->info.max_compute_units;
    usm_worker_init(worker, queue->in_order ? 1 : units < 2 ? 2 : units, NULL, NULL);
    queue->executor = worker;
    return USM_OK;
}

void usm_execute_stop(usm_queue *queue)
{
    usm_worker_drop(queue->executor);
}

static void ready(usm_event *event)
{
    usm_worker_put(event->queue->executor, &((usm_execution *)event)->work); /* the event holds the queue */
}

usm_status usm_execute_submit(usm_queue *queue, usm_event *event, const usm_command *command,
                              usm_error *error)
{
    usm_execution *execution = (usm_execution *)event;
    execution->command = *command;
    execution->work.run = run;
    if (command->kind == USM_COMMAND_STRIDED) {
        execution->strided = usm_strided_clone(command->as.strided);
        if (execution->strided == NULL) {
            return usm_error_memory(error, sizeof(usm_strided), "a copy's plan");
        }
        execution->command.as.strided = execution->strided;
    }
    if (command->kind == USM_COMMAND_LAUNCH) {
        execution->launch = usm_launch_clone(command->as.launch);
        if (execution->launch == NULL) {
            return usm_error_memory(error, sizeof(usm_launch), "a launch");
        }
        execution->command.as.launch = execution->launch;
    }
    usm_status status = usm_worker_announce(queue->executor, queue->backend->name, error);
    if (status == USM_OK && usm_event_arm(event, ready)) {
        ready(event);
    }
    return status;
}

void usm_execute_clear(usm_event *event)
{
    usm_execution *execution = (usm_execution *)event;
    free(execution->strided);
    usm_launch_free(execution->launch);
}
