/*
 * The hook for traces. core/trace sets the observer when the first trace starts; core/tasks calls it and
 * depends on nothing else of traces. Without a trace a submission reads one flag.
 */
#ifndef USM_CORE_OBSERVER_H
#define USM_CORE_OBSERVER_H

#include "event.h"

struct usm_queue;
struct usm_submission;

/* The progress of a submitted task when the observer is called. */
typedef struct usm_submitted {
    int64_t submit_ns;        /* when usm_queue_submit was called */
    int64_t start_ns, end_ns; /* of a task that is done, where the backend measured them; or 0 */
    bool done;                /* it ran at once; its event, if any, will not be reported as ended */
    const usm_wait *waits;    /* what it waits for, explicitly or through memory and queue */
    size_t n_waits;
} usm_submitted;

typedef struct usm_observer {
    /*
     * A task gets its place in the order of submission, which this returns. Sets event->traced if
     * `ended` is to be called; event may be NULL. Queue lock and hazard stripes held.
     */
    uint64_t (*submitted)(struct usm_queue *queue, const struct usm_submission *submission, usm_event *event,
                          const usm_submitted *how);
    /* An event with `traced` set has ended. Any thread, no lock. */
    void (*ended)(usm_event *event, bool failed);
} usm_observer;

extern _Atomic bool usm_trace_on;             /* at least one trace records */
extern const usm_observer *usm_task_observer; /* set before the flag is, and kept */

static inline bool usm_trace_is_on(void)
{
    return atomic_load_explicit(&usm_trace_on, memory_order_acquire);
}

#endif
