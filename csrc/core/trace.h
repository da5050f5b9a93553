/*
 * Traces: what was submitted while somebody looked, when it ran, and what it waited for. Off, each place that
 * would tell of something costs one look at a flag.
 */
#ifndef USM_CORE_TRACE_H
#define USM_CORE_TRACE_H

#include "copy.h"

/* Beside the kinds of commands. */
#define USM_TRACE_EXPORT 32

#define USM_TRACE_PROFILED 1u /* start and end are the device's own */
#define USM_TRACE_IN_ORDER 2u
#define USM_TRACE_EXPLICIT (1u << 31) /* of an entry of waits: the caller named the event */

#define USM_TRACE_INLINE 8

/*
 * Times are those of usm_clock_ns; 0: unknown. Written by the submitting thread, but for start, end and
 * state, which the end of the task sets, the state last.
 */
typedef struct usm_trace_record {
    int64_t submit_ns;
    usm_device *device;
    uint64_t amount; /* bytes; of a launch: work-items */
    uint32_t queue;  /* numbers: of the queue (0: none), name (usm_trace_name; 0: none) and thread */
    uint32_t name;
    uint32_t thread;
    uint8_t what;          /* usm_command_kind or USM_TRACE_EXPORT */
    _Atomic uint8_t state; /* usm_event_state */
    uint8_t flags;
    uint16_t at; /* in its chunk */
    uint16_t n_waits, n_accesses;
    /*
     * Records, counted as usm_trace_read counts them plus usm_trace_counts.before; then allocations: their
     * number * 4 + usm_access_mode.
     */
    union {
        uint32_t few[USM_TRACE_INLINE];
        uint32_t *many;
    } words;
    struct {
        int64_t start_ns, end_ns;
        bool ticks; /* of usm_trace_clock, as submit_ns; usm_trace_read makes nanoseconds of both */
    } span;         /* once it has ended */
} usm_trace_record;

static inline const uint32_t *usm_trace_words(const usm_trace_record *record)
{
    return record->n_waits + record->n_accesses <= USM_TRACE_INLINE ? record->words.few : record->words.many;
}

typedef struct usm_trace usm_trace;

extern _Atomic bool usm_trace_on;

static inline bool usm_trace_is_on(void)
{
    return atomic_load_explicit(&usm_trace_on, memory_order_relaxed);
}

/*
 * The clock of records: the processor's own where it runs at one rate on all cores, since asking the system
 * for the time would cost more than all the rest.
 */
extern _Atomic bool usm_trace_ticks;

static inline int64_t usm_trace_clock(void)
{
#if defined(__x86_64__)
    if (USM_LIKELY(atomic_load_explicit(&usm_trace_ticks, memory_order_relaxed))) {
        return (int64_t)__builtin_ia32_rdtsc();
    }
#endif
    return usm_clock_ns();
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
    size_t before;    /* to be taken from the waits of records; those below it are older than the trace */
    int64_t start_ns, stop_ns;
} usm_trace_counts;

usm_trace_counts usm_trace_count(usm_trace *trace);
/* The same moment on both clocks. */
typedef struct usm_trace_moment {
    int64_t ticks, ns;
} usm_trace_moment;

usm_trace_moment usm_trace_now(void);

/*
 * Copies the record as it is, its times in nanoseconds; words that are many stay the trace's. `now` is one
 * moment for all records that are compared. index < n.
 */
void usm_trace_read(usm_trace *trace, size_t index, const usm_trace_moment *now, usm_trace_record *out);
/* Numbers of names, and back; they stay as long as the process. 0: no memory. Any lock but a leaf. */
uint32_t usm_trace_intern(const char *text);
const char *usm_trace_name(uint32_t number);

/*
 * For core/queue.c: the task that was begun to be submitted at this time of usm_trace_clock is recorded, or
 * done already (start and end: what the backend said, or 0). Its dependencies are those of the submission and
 * event->links. Queue lock and hazard stripes held.
 */
void usm_trace_task(usm_queue *queue, const usm_submission *submission, usm_event *event, int64_t begun,
                    int64_t start_ns, int64_t end_ns, bool done);
/* For core/event.c, where event->record is not NULL. Any lock. */
void usm_trace_end(usm_event *event, bool failed);
/* An array is shown to others: `name` says how. No lock but those above leaves. */
void usm_trace_export(const usm_view *view, const char *name);

#endif
