/* Waits of the calling thread, which may be a task: for events, queues and memory. */
#ifndef USM_CORE_WAIT_H
#define USM_CORE_WAIT_H

#include "completion.h"
#include "hazard.h"
#include "submit.h"

/*
 * Blocks until the event has ended or the deadline (usm_clock_ns; INT64_MAX: none) has passed. No lock, no
 * GIL. USM_FAILED when the task failed (which marks the failure as delivered), USM_TIMEOUT, USM_INTERRUPTED,
 * and USM_DEADLOCK when called inside a task that the event waits for.
 */
usm_status usm_event_wait(usm_event *event, const usm_patience *patience, usm_error *error);
/* The same without looking at the result: USM_OK once it has ended, however it ended. */
usm_status usm_event_wait_end(usm_event *event, const usm_patience *patience, usm_error *error);

/* The event is, or waits for, the task that this thread is running: a wait for it would never end. */
bool usm_event_needs_current(usm_event *event);
/* USM_DEADLOCK for such an event, as the wait itself returns. No lock. */
usm_status usm_event_check_wait(usm_event *event, usm_error *error);
/*
 * Before a submission that the caller then waits for: USM_DEADLOCK inside a task that it would be ordered
 * after; may fail as the submission would. No lock held.
 */
usm_status usm_queue_check_wait(usm_queue *queue, const usm_submission *submission, usm_error *error);

/*
 * Waits for all work submitted so far, in a shared queue for that of others too (inside a task: for what does
 * not wait for the task itself). USM_FAILED with the first failure since the last call of this function,
 * once.
 */
usm_status usm_queue_wait(usm_queue *queue, const usm_patience *patience, usm_error *error);

/*
 * A new list of events that stand for all work submitted so far, in a shared queue for that of others too.
 */
usm_status usm_queue_snapshot(usm_queue *queue, USM_GIVES usm_wait_list *list, usm_error *error);

/*
 * Waits on every queue of the process for the work submitted here, ignoring failures. For the interpreter's
 * exit.
 */
usm_status usm_queues_drain(const usm_patience *patience, usm_error *error);
/*
 * The driver's queue (usm_queue_handle) with all work submitted so far in it: waits for the tasks that the
 * driver has not got yet, which are those of the host and those behind them (inside a task: but for what
 * waits for the task itself).
 */
usm_status usm_queue_enter(usm_queue *queue, void **handle, const usm_patience *patience, usm_error *error);

/*
 * Inside a task (elsewhere it does nothing): one call copies from or to the memory, and then waits for the
 * copy. That is refused where the copy would be ordered after the task. No other thread has the allocation.
 */
void usm_alloc_set_loaned(usm_alloc *alloc, bool loaned);
static inline bool usm_alloc_is_loaned(const usm_alloc *alloc)
{
    return usm_alloc_has(alloc, USM_ALLOC_LOANED);
}

/*
 * Before the host touches the memory: waits for work that this access must not meet (a task never waits for
 * itself or for what waits for it; for loaned memory that is USM_DEADLOCK). USM_FAILED when a read would see
 * what a failed task should have written. With `delivers` the failure then counts as delivered; without it,
 * for display, the memory is refused again. No lock, no GIL.
 */
usm_status usm_alloc_wait(usm_alloc *alloc, usm_access_mode mode, bool delivers, const usm_patience *patience,
                          usm_error *error);
/* The last write has failed, nobody was told, and no later write is pending: a read raises. No lock. */
bool usm_alloc_has_failed(usm_alloc *alloc);

/* Waits for the work of a context. */
extern const usm_place_part usm_wait_part;

#endif
