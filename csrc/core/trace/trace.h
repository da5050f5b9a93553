/*
 * Traces: what was submitted while somebody looked, when it ran, and what it waited for. Off, each place that
 * would tell of something costs one look at a flag.
 */
#ifndef USM_CORE_TRACE_H
#define USM_CORE_TRACE_H

#include "segment.h"
#include "ticks.h"

/* Beside the kinds of commands: arrays that were shown to others, and those of others that were taken. */
#define USM_TRACE_EXPORT 32
#define USM_TRACE_IMPORT 33

typedef struct usm_trace usm_trace;

extern _Atomic bool usm_trace_on;

static inline bool usm_trace_is_on(void)
{
    return atomic_load_explicit(&usm_trace_on, memory_order_relaxed);
}

/* Records the first `limit` things from now on, of all queues and threads. */
usm_status usm_trace_start(size_t limit, USM_GIVES usm_trace **out, usm_error *error);
/* Nothing new from now on; how tasks of the trace end is still recorded. May be called again. */
void usm_trace_stop(usm_trace *trace);
void usm_trace_free(USM_TAKES usm_trace *trace);

typedef struct usm_trace_counts {
    size_t n;
    uint64_t dropped; /* what came after the limit, or found no memory */
    size_t pending;   /* tasks that have not ended */
    int64_t start_ns, stop_ns;
} usm_trace_counts;

usm_trace_counts usm_trace_count(usm_trace *trace);

/* The records so far, in the order of submission; valid as long as the trace. */
typedef struct usm_trace_list {
    const usm_trace *trace;
    usm_moment now; /* of all of its times */
    size_t n;
    struct usm_trace_place {
        uint32_t at;
        const usm_record *record;
    } * places;
} usm_trace_list;

usm_status usm_trace_read(usm_trace *trace, USM_GIVES usm_trace_list *out, usm_error *error);
void usm_trace_list_free(USM_TAKES usm_trace_list *list);
/* The index of the record that a wait names; list->n where it is older than the trace. */
size_t usm_trace_find(const usm_trace_list *list, uint32_t wait);

/* Times are those of usm_clock_ns; 0: unknown. */
typedef struct usm_trace_entry {
    const usm_record *record;
    const usm_segment *segment;
    usm_event_state state;
    int64_t submit_ns, start_ns, end_ns;
} usm_trace_entry;

usm_trace_entry usm_trace_entry_at(const usm_trace_list *list, size_t index);

/* For core/tasks/submit.c. How a submission went, that was begun at this time of usm_ticks. */
typedef struct usm_submitted {
    int64_t begun;
    int64_t start_ns, end_ns; /* what the backend said, or 0 */
    bool done;                /* it has ended already */
} usm_submitted;

/*
 * The task has this place in the order of submission. Its dependencies are those of the submission and
 * event->links; event may be NULL. Queue lock and hazard stripes held.
 */
void usm_trace_task(usm_queue *queue, const usm_submission *submission, usm_event *event, uint64_t order,
                    const usm_submitted *how);
/* The queue goes. */
void usm_trace_leave(usm_queue *queue);
/* For core/tasks/event.c, where event->record is not NULL. Those that end together, in `ended`, end
 * at one time. */
void usm_trace_end(usm_event *event, bool failed, usm_ended *ended);
/* An array is shown to others, or theirs is taken (`what`): `name` says how. Only locks above leaves. */
void usm_trace_passing(int what, const usm_view *view, const char *name);

#endif
