/*
 * Completion of tasks that drivers have. Drivers do not call back: the core ends a task once the driver, when
 * it is asked (event_poll), has completed it.
 *
 * Tasks end in whichever thread asks the driver first: a thread that waits (usm_event_wait_end), one that
 * submits many tasks (usm_completion_reap), or the watching thread (watch.h).
 */
#ifndef USM_CORE_COMPLETION_H
#define USM_CORE_COMPLETION_H

#include "event.h"

/* Tasks that a queue takes before the submitting thread polls it, so that ended ones do not pile up. */
#define USM_COMPLETION_BATCH 512

/* The watching thread ends tasks in this way from now on. Once, at the start of the process. */
void usm_completion_start(void);
/*
 * Ends the queue's tasks that the driver has ended, oldest first. Asks about all that the driver has, but not
 * beyond the first of a queue in order that has not ended, nor beyond the first few of another. True if it
 * has more. No lock held.
 */
bool usm_completion_poll(usm_queue *queue);
/* The state, and whether it has ended, asking the driver first, which may know more. Do not wait. No lock. */
usm_event_state usm_event_ask_state(usm_event *event);
bool usm_event_has_ended(usm_event *event);

/* Polls the queue once every USM_COMPLETION_BATCH tasks. Called by the submitting thread, with no lock. */
void usm_completion_reap(usm_queue *queue);
static inline bool usm_completion_is_due(const usm_queue *queue)
{
    return atomic_load_explicit(&((usm_queue *)queue)->submitted, memory_order_relaxed) -
               atomic_load_explicit(&((usm_queue *)queue)->polled, memory_order_relaxed) >=
           USM_COMPLETION_BATCH;
}

#endif
