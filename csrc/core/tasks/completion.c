#include "completion.h"

#include "core/device/rule.h"
#include "deferral.h"
#include "link.h"

#include <stddef.h>

/*
 * After this many polls without work a queue leaves the list. It is not earlier, since putting it back costs
 * a lock.
 */
#define IDLE_TICKS 20
/*
 * Tasks of a queue out of order end in about the order of submission: a poll passes at most this many that
 * have not ended.
 */
#define MOST_UNENDED 64

static void end_alone(usm_event *event)
{
    usm_deferral_end(event, NULL);
}

/* Ends events that were claimed, linked by next_ended. No lock. */
static void end_all(usm_event *event)
{
    usm_ended ended = {NULL, NULL};
    while (event != NULL) {
        usm_event *next = event->next_ended;
        event->next_ended = NULL;
        /*
         * Most waits are for the last task: by then the others have given back their parts of the driver, of
         * which the next submission may find no other ones.
         */
        if (next == NULL) {
            usm_events_forget(&ended);
        }
        /* Tasks of other queues that it waited for have ended too, but may not have been ended here. */
        if (usm_event_arm(event, end_alone)) {
            usm_deferral_end(event, &ended);
        }
        event = next;
    }
    usm_events_forget(&ended);
}

/* The driver has not ended it, as far as was seen. Queue lock held. */
static bool is_with_driver(const usm_event *event)
{
    usm_task_state state = usm_event_task_state(event);
    return state == USM_TASK_SENT_AHEAD || state == USM_TASK_IN_DRIVER;
}

/*
 * Asks the driver about a task that it has. Once the driver has ended it, the caller ends it here, or its
 * links do (DRIVER_ENDED). Queue lock held.
 */
static usm_progress ask(usm_event *event)
{
    usm_error error;
    error.failure = NULL;
    usm_progress progress = usm_is_forked(event->queue->backend)
                                ? USM_PROGRESS_PENDING
                                : USM_CALL(event->queue->backend, event_poll)(event, &error);
    if (progress >= USM_PROGRESS_COMPLETE) {
        event->failure = progress == USM_PROGRESS_FAILED ? usm_failure_take(&error) : NULL;
        event->skipped = progress == USM_PROGRESS_SKIPPED;
        usm_event_enter(event, usm_event_task_state(event) == USM_TASK_SENT_AHEAD ? USM_TASK_DRIVER_ENDED
                                                                                  : USM_TASK_ENDING);
    }
    return progress;
}

bool usm_completion_poll(usm_queue *queue)
{
    usm_event *claimed = NULL, **last = &claimed;
    unsigned unended = 0, most = queue->in_order ? 1 : MOST_UNENDED;
    usm_lock_take(&queue->lock);
    for (usm_event *event = queue->first; event != NULL && unended < most; event = event->following) {
        if (!is_with_driver(event)) {
            continue;
        }
        if (ask(event) < USM_PROGRESS_COMPLETE) {
            unended++;
            continue;
        }
        if (usm_event_task_state(event) == USM_TASK_ENDING) {
            *last = event;
            last = &event->next_ended;
        }
    }
    *last = NULL;
    /*
     * All that the driver has of the queue ends here. The submitting thread need not poll for it
     * (usm_completion_reap), and no thread sleeps until a later task ends: else the watching thread would go
     * on polling often, and compete for the driver's locks with the next submissions.
     */
    if (unended == 0) {
        uint64_t submitted = atomic_load_explicit(&queue->submitted, memory_order_relaxed);
        atomic_store_explicit(&queue->polled, submitted, memory_order_relaxed);
        atomic_store_explicit(&queue->watched.has_sleeper, false, memory_order_relaxed);
    }
    usm_lock_give(&queue->lock);
    end_all(claimed);
    return unended > 0;
}

/* Whether the driver has begun with the task, which was not seen to end. No lock. */
static bool is_running(usm_event *event)
{
    usm_queue *queue = event->queue;
    usm_progress progress = USM_PROGRESS_PENDING;
    usm_lock_take(&queue->lock);
    if (is_with_driver(event)) {
        progress = ask(event);
    }
    bool ends = progress >= USM_PROGRESS_COMPLETE && usm_event_task_state(event) == USM_TASK_ENDING;
    usm_lock_give(&queue->lock);
    if (ends) {
        event->next_ended = NULL;
        end_all(event);
    }
    return progress == USM_PROGRESS_RUNNING;
}

void usm_completion_reap(usm_queue *queue)
{
    uint64_t submitted = atomic_load_explicit(&queue->submitted, memory_order_relaxed);
    uint64_t polled = atomic_load_explicit(&queue->polled, memory_order_relaxed);
    if (submitted - polled >= USM_COMPLETION_BATCH &&
        atomic_compare_exchange_strong(&queue->polled, &polled, submitted)) {
        (void)usm_completion_poll(queue);
    }
}

bool usm_event_has_ended(usm_event *event)
{
    if (usm_event_in_driver(event)) {
        (void)usm_completion_poll(event->queue);
    }
    return usm_event_ended(event);
}

usm_event_state usm_event_ask_state(usm_event *event)
{
    return !usm_event_has_ended(event) && is_running(event) ? USM_EVENT_RUNNING : usm_event_get_state(event);
}

/* The watching thread polls a queue, and gives the count back. */
static bool look_after(usm_watched *watched)
{
    usm_queue *queue = (usm_queue *)((char *)watched - offsetof(usm_queue, watched));
    uint64_t submitted = atomic_load_explicit(&queue->submitted, memory_order_relaxed);
    bool has_sleeper = atomic_exchange(&watched->has_sleeper, false);
    bool unended = usm_completion_poll(queue);
    if (unended) {
        watched->idle_ticks = 0;
        if (has_sleeper) {
            atomic_store(&watched->has_sleeper, true);
        }
    } else if (++watched->idle_ticks > IDLE_TICKS) {
        usm_lock_take(&queue->lock);
        if (submitted == atomic_load_explicit(&queue->submitted, memory_order_relaxed)) {
            usm_watch_remove(watched);
        }
        usm_lock_give(&queue->lock);
    }
    usm_queue_release(queue);
    return unended && has_sleeper;
}

void usm_completion_start(void)
{
    usm_watch_set_poll(look_after);
}
