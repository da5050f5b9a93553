#include "fork.h"

#include "core/base/reclaimer.h"
#include "core/base/sync.h"
#include "core/device/registry.h"
#include "finish.h"
#include "hazard.h"
#include "link.h"

static void never_run(usm_event *event)
{
    (void)event;
}

/*
 * The pending task of any queue that was submitted first, except the task that forks: it continues in both
 * processes. The list of each queue is in this order.
 */
static usm_event *oldest_pending(void)
{
    usm_event *oldest = NULL;
    for (usm_queue *queue = usm_all_queues; queue != NULL; queue = queue->next) {
        usm_event *event = queue->first;
        if (event != NULL && event == usm_event_current()) {
            event = event->following;
        }
        if (event != NULL && (oldest == NULL || event->order < oldest->order)) {
            oldest = event;
        }
    }
    return oldest;
}

/*
 * In the child of a fork: the threads that would have run the pending tasks are in the parent. The tasks end
 * with an error here, oldest first, so that each ends after all it waited for.
 */
static void end_pending(void)
{
    usm_error error;
    usm_error_set(
        &error, USM_FORKED,
        "this task was pending when the process was forked; it completes in the parent, not in the child");
    for (usm_queue *queue = usm_all_queues; queue != NULL; queue = queue->next) {
        for (usm_event *event = queue->first; event != NULL; event = event->following) {
            event->ready = never_run; /* what it waits for ends below: that must not start it */
            if (!usm_event_ended(event) && event != usm_event_current()) { /* whoever had it is not here */
                atomic_store_explicit(&event->task_state, USM_TASK_ON_HOST, memory_order_relaxed);
            }
        }
        usm_unretrieved_clear(&queue->unretrieved); /* the parent reports them */
    }
    if (usm_event_current() != NULL) {
        usm_event_drop_links(usm_event_current());
        usm_hazard_hold(usm_event_current());
    }
    for (usm_event *event; (event = oldest_pending()) != NULL;) {
        usm_event_finish(event, usm_failure_take(&error));
    }
}

/* Registry lock held. */
static void fork_queues(usm_fork_phase phase)
{
    for (usm_queue *queue = usm_all_queues; queue != NULL; queue = queue->next) {
        if (phase == USM_FORK_PREPARE) {
            usm_lock_take(&queue->lock);
            usm_worker_fork(queue->worker, phase);
        } else {
            usm_worker_fork(queue->worker, phase);
            usm_lock_give(&queue->lock);
        }
    }
}

static void prepare(void)
{
    usm_backends_fork_starts(USM_FORK_PREPARE);
    usm_registry_lock();
    usm_backends_fork(USM_FORK_PREPARE);
    fork_queues(USM_FORK_PREPARE);
    usm_watch_fork(USM_FORK_PREPARE);
    usm_reclaimer_fork(USM_FORK_PREPARE);
    usm_sync_lock_all();
}

/* The opposite of `prepare`, in the parent and in the child. */
static void go_on(usm_fork_phase phase)
{
    usm_sync_unlock_all();
    if (phase == USM_FORK_CHILD) {
        usm_sync_renew();
    }
    usm_reclaimer_fork(phase);
    usm_watch_fork(phase);
    fork_queues(phase);
    usm_backends_fork(phase);
    usm_registry_unlock();
    usm_backends_fork_starts(phase);
}

static void in_parent(void)
{
    go_on(USM_FORK_PARENT);
}

static void in_child(void)
{
    go_on(USM_FORK_CHILD);
    end_pending();
}

void usm_fork_start(void)
{
    pthread_atfork(prepare, in_parent, in_child);
}
