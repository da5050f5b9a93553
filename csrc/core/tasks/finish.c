#include "finish.h"

#include "core/base/sync.h"
#include "hazard.h"
#include "observer.h"
#include "pending.h"

/*
 * The queue keeps the failure for the next usm_queue_wait, unless the event is internal and only inherits it,
 * and for the report at its end.
 */
static void remember(const usm_event *event, usm_failure *failure)
{
    usm_queue *queue = event->queue;
    bool inherited = event->internal && failure->cause != NULL;
    usm_lock_take(&queue->lock);
    if (queue->failure == NULL && !inherited &&
        !atomic_load_explicit(&failure->delivered, memory_order_acquire)) {
        queue->failure = usm_failure_retain(failure);
    }
    usm_unretrieved_add(&queue->unretrieved, failure);
    usm_lock_give(&queue->lock);
}

/*
 * Releases what the task held before any thread sees its end, so that a waiting thread finds the memory
 * free. Counts of allocations that later tasks took over belong to them (hazard.h). Each other access is
 * removed from the list after the allocation has dropped the task and before its count is released: a fork
 * in between leaks memory in the child at worst.
 */
static void release_held(usm_event *event, usm_failure *failure)
{
    if (failure != NULL) { /* first: a thread that waits for the memory may ask the queue next */
        remember(event, failure);
    }
    if (usm_hazard_is_forgotten(event, failure)) {
        event->n_accesses = 0;
    }
    while (event->n_accesses > 0) {
        const usm_access *access = &event->accesses[event->n_accesses - 1];
        uint64_t stripe = usm_alloc_stripe(access->alloc);
        usm_hazard_lock(stripe);
        bool counted = usm_hazard_forget(access->alloc, access->mode, event, failure);
        usm_hazard_unlock(stripe);
        event->n_accesses--;
        if (counted) {
            usm_alloc_release_deferred(access->alloc);
        }
    }
    usm_deferred_list *home = usm_keep_home(event->keeps);
    usm_keep_drop(event->keeps);
    event->keeps = NULL;
    usm_deferred_count_task(home, -1);
}

void usm_events_forget(usm_ended *ended)
{
    usm_event *event = ended->first;
    if (event == NULL) {
        return;
    }
    usm_queue *queue = event->queue;
    ended->first = ended->last = NULL;
    usm_pending_forget(queue, event);
    usm_events_release(queue, event);
}

void usm_event_finish(usm_event *event, usm_failure *failure)
{
    usm_event_finish_among(event, failure, NULL);
}

void usm_event_finish_among(usm_event *event, usm_failure *failure, usm_ended *ended)
{
    if (usm_event_ended(event)) {
        event->next_ended = NULL;
        usm_pending_forget(event->queue, event);
        usm_failure_release(failure);
        usm_event_release(event);
        return;
    }
    /* All links have ended: no thread writes it any more. */
    usm_failure *cause = atomic_load_explicit(&event->cause, memory_order_acquire);
    if (USM_UNLIKELY(cause != NULL)) {
        atomic_store_explicit(&event->cause, NULL, memory_order_relaxed);
        if (failure == NULL) {
            failure = usm_failure_from_cause(cause);
            failure = failure != NULL ? failure : usm_failure_no_memory();
        }
        usm_failure_release(cause);
    }
    event->failure = failure;
    if (USM_UNLIKELY(event->traced)) {
        usm_task_observer->ended(event, failure != NULL);
    }
    release_held(event, failure);

    usm_waiter *waiters = usm_event_enter_end(event, failure != NULL ? USM_TASK_ERROR : USM_TASK_COMPLETE);
    size_t n_links = event->n_links;
    event->n_links = 0;
    if (ended == NULL) {
        usm_pending_forget(event->queue, event);
    }

    while (waiters != NULL) {
        usm_waiter *next = waiters->next; /* the waiter's memory may go with its call */
        waiters->done(waiters, event);
        waiters = next;
    }
    for (size_t i = 0; i < n_links; i++) {
        usm_event_release(event->links[i].event);
    }
    if (ended == NULL) {
        usm_event_release(event);
        return;
    }
    *(ended->last != NULL ? &ended->last->next_ended : &ended->first) = event;
    ended->last = event;
}
