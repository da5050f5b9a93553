/*
 * Completion of tasks that drivers have. Drivers do not call back: the core ends a task once the driver, when
 * it is asked (event_poll), has completed it.
 *
 * Tasks end in whichever thread asks the driver first: a thread that waits (usm_event_wait_end), one that
 * submits many tasks (usm_completion_reap), or the watching thread, of which a process has one. The watching
 * thread polls every queue with work in a driver about once a millisecond. While a thread sleeps until a
 * task ends, it polls as often as threads can be woken, and less often the longer that takes.
 */
#ifndef USM_CORE_COMPLETION_H
#define USM_CORE_COMPLETION_H

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
 * queue. Queue lock held.
 */
void usm_completion_watch(usm_event *event);
/* A thread sleeps until the task ends: its queue is polled more often. Any lock but a leaf. */
void usm_completion_poll_often(usm_event *event);
/*
 * Ends the queue's tasks that the driver has ended, oldest first. Asks about all that the driver has, but not
 * beyond the first of a queue in order that has not ended, nor beyond the first few of another. True if it
 * has more. No lock held.
 */
bool usm_completion_poll(usm_queue *queue);
/* Whether the driver has begun with the task, which was not seen to end. No lock. */
bool usm_completion_is_running(usm_event *event);
/*
 * What a waiting thread does before it sleeps: waits in the backend as long as that pays, and polls.
 * True once the event has ended. No lock.
 */
bool usm_completion_wait(usm_event *event);
/* Polls the queue once every USM_COMPLETION_BATCH tasks. Called by the submitting thread, with no lock. */
void usm_completion_reap(usm_queue *queue);
/* For deferral.c: ends a task in state ENDING, whose links have all ended. No lock. */
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

#endif
