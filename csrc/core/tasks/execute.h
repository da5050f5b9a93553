/*
 * Asynchronous queues for backends whose drivers have none: threads of the queue call queue_execute
 * (core/device/backend.h) for one command after another, and the core does the rest of a submission.
 */
#ifndef USM_CORE_EXECUTE_H
#define USM_CORE_EXECUTE_H

#include "command.h"
#include "event.h"
#include "worker.h"

#include <stddef.h>

struct usm_queue;

/* The event of such a backend, for its event_size and event_zeroed. */
typedef struct usm_execution {
    usm_event event;
    usm_strided *strided;      /* owned copy of the plan of a strided command */
    struct usm_launch *launch; /* owned copy of a launch */
    /* Written by usm_execute_submit, not zeroed. */
    usm_command command;
    usm_work work;
} usm_execution;

#define USM_EXECUTION_ZEROED offsetof(usm_execution, command)

/* Sets queue->executor, whose threads start with the first task. */
usm_status usm_execute_start(struct usm_queue *queue, usm_error *error);
/* Releases it: its threads end after their last task. Any thread; does not block. */
void usm_execute_stop(struct usm_queue *queue);
/* The same contract as queue_submit of a backend. */
usm_status usm_execute_submit(struct usm_queue *queue, usm_event *event, const usm_command *command,
                              usm_error *error);
/* Frees what the event copied from the command. Any thread. */
void usm_execute_clear(usm_event *event);

#endif
