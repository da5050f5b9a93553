/*
 * Completion of tasks of drivers that do not call back: the core ends a task once the driver has completed
 * it.
 *
 * Tasks end in whichever thread asks the driver first: a thread that waits (usm_event_wait_end), one that
 * submits many tasks (usm_completion_reap), or the watching thread, of which a process has one. The watching
 * thread polls every queue with work in a driver about once a millisecond. While a thread sleeps until a
 * task ends, it polls as often as threads can be woken, and less often the longer that takes.
 *
 * late.c has what a driver does not do itself: tasks of the host, and commands whose dependencies the driver
 * cannot wait for.
 */
#ifndef USM_CORE_COMPLETION_H
#define USM_CORE_COMPLETION_H

#include "command.h"
#include "queue.h"
#include "worker.h"

/* Tasks that a queue takes before the submitting thread polls it, so that ended ones do not pile up. */
#define USM_COMPLETION_BATCH 512

/* Starts the watching thread unless it runs. USM_DRIVER: the system refuses a thread. Any lock but a leaf. */
usm_status usm_completion_start(usm_error *error);
/*
 * Ends the thread, once it has run what it was handed, at the end of an interpreter; it starts again with the
 * next task or work. False where it does not end within a second, or has started again. No lock.
 */
bool usm_completion_stop(void);

/*
 * The driver has the task: usm_event_in_driver is true of it from now on, and the watching thread polls its
 * queue. The backend calls it at the end of queue_submit. Queue lock held.
 */
void usm_completion_watch(usm_event *event);
/* A thread sleeps until the task ends: its queue is polled more often. Any lock but a leaf. */
void usm_completion_poll_often(usm_event *event);
/* What a poll of a queue found. */
typedef struct usm_polled {
    unsigned ended; /* tasks that were ended */
    bool more;      /* the driver has others */
} usm_polled;

/*
 * Ends the queue's tasks that the driver has ended, oldest first; for the backend's queue_poll and
 * event_wait. Calls `has_ended`, with the queue's lock held, for tasks in the driver: all of them, but not
 * beyond the first of a queue in order that has not ended, nor beyond the first few of another. `known`,
 * which may be NULL, has ended, and with it all in front of it where the queue is in order. No lock held;
 * event_result is called for each task that ends.
 */
usm_polled usm_completion_end(usm_queue *queue, const usm_event *known, bool (*has_ended)(usm_event *event));
/* Polls the queue once every USM_COMPLETION_BATCH tasks. Called by the submitting thread, with no lock. */
void usm_completion_reap(usm_queue *queue);
/* For late.c: ends a task in state ENDING, whose links have all ended. No lock. */
void usm_completion_finish(usm_event *event);
static inline bool usm_completion_is_due(const usm_queue *queue)
{
    return atomic_load_explicit(&((usm_queue *)queue)->watch.submitted, memory_order_relaxed) -
               atomic_load_explicit(&((usm_queue *)queue)->watch.polled, memory_order_relaxed) >=
           USM_COMPLETION_BATCH;
}

/*
 * Runs it on the watching thread, soon, which starts for it if it has ended. Any thread, any lock but a leaf;
 * the driver's callbacks may.
 */
void usm_completion_run(usm_work *work);

/* For core/tasks/fork.c only; the queues' locks are held. */
void usm_completion_fork(usm_fork_phase phase);

/*
 * What the core keeps of a command that the driver does not get in its submission. It lies in each event of
 * such a backend, at usm_backend.event_zeroed, and is not zeroed.
 */
typedef struct usm_later {
    usm_event *event;
    /* What a thread of the queue runs; NULL: command.as.host. */
    usm_status (*run)(usm_event *event, const usm_command *command, usm_error *error);
    usm_command command;
    usm_work work;
} usm_later;

/*
 * Copies the command, with the plan or launch that it points to, so that it outlives the submission. Does
 * nothing for a command that was kept before. Queue lock held.
 */
usm_status usm_later_keep(usm_event *event, const usm_command *command, usm_error *error);
/*
 * For queue_submit, of a link that has ended: the task may inherit its failure, which only a deferred one is
 * looked at for. Queue lock held.
 */
static inline bool usm_later_inherits(const usm_event *event, const usm_link *link)
{
    return usm_event_get_state(link->event) == USM_EVENT_ERROR && link->data &&
           usm_event_task_state(event) != USM_TASK_UNBLOCKED;
}

/*
 * For queue_submit: the command runs on a thread of the queue once all links have ended. `run` does it, with
 * no lock held, and may block; NULL: it is a host task. A queue out of order has several such threads. Queue
 * lock held.
 */
usm_status usm_later_run_on_host(usm_event *event, const usm_command *command,
                                 usm_status (*run)(usm_event *event, const usm_command *command,
                                                   usm_error *error),
                                 usm_error *error);
/*
 * For core/tasks/submit.c: queue_submit, and what its answer USM_LATER means: the command is kept until all
 * links have ended, or until the driver has those that it had to wait for. Queue lock held.
 */
usm_status usm_later_submit(usm_queue *queue, usm_event *event, const usm_command *command, usm_error *error);

#endif
