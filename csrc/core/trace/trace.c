#include "trace.h"

#include "core/base/heap.h"
#include "core/base/sync.h"

#include <stdlib.h>
#include <string.h>

/* What was submitted while at least one trace recorded: traces are windows of it. */
typedef struct usm_trace_log {
    size_t users;   /* traces */
    uint64_t first; /* the order of submission that it counts from */
    uint64_t room;  /* records of this order, counted from the first, and of later ones are dropped */
    bool full;      /* memory ran out: the room does not grow any more */
    usm_record *records;
    uint32_t *words;
    size_t n, capacity, n_words, words_capacity;
} usm_trace_log;

/* Orders are counted from the log's first. */
struct usm_trace {
    usm_trace_log *log;
    uint64_t begin, end, limit; /* end: UINT64_MAX while it records */
    int64_t start_ns, stop_ns;
};

/* Under the spinlock stripe of `log`. */
static usm_trace_log *log; /* NULL where no trace records */
static size_t n_recording, n_traces;

/* How a recorded task ended. */
typedef struct end {
    uint64_t order;
    int64_t start_ns, end_ns; /* start 0: unknown */
    bool failed;
} end;

/*
 * The ends of all logs, under the spinlock stripe of `ends`: a buffer of their own, since the threads that
 * end tasks would otherwise take the lock and the records from the threads that submit.
 */
static struct {
    end *items;
    size_t n, capacity;
} ends;

/* Room for `needed` items in a malloc'd array. False: memory ran out, and nothing changed. */
static bool grow(void **items, size_t *capacity, size_t needed, size_t size)
{
    if (USM_LIKELY(needed <= *capacity)) {
        return true;
    }
    size_t more = 2 * *capacity > needed ? 2 * *capacity : needed + 1024;
    void *new = usm_realloc(*items, more * size);
    if (new != NULL) {
        *items = new;
        *capacity = more;
    }
    return new != NULL;
}

/* The next record, with room for its words; NULL where it is dropped. Lock held. */
static usm_record *append(uint64_t order, size_t most_words)
{
    if (log == NULL || order - log->first >= log->room) {
        return NULL;
    }
    if (!grow((void **)&log->records, &log->capacity, log->n + 1, sizeof *log->records) ||
        !grow((void **)&log->words, &log->words_capacity, log->n_words + most_words, sizeof *log->words)) {
        log->full = true;
        log->room = order - log->first;
        return NULL;
    }
    return &log->records[log->n];
}

/* The record is complete. Lock held. */
static void commit(usm_record *record, uint64_t order)
{
    record->order = order;
    record->first_word = log->n_words;
    log->n_words += record->n_waits + record->n_accesses;
    log->n++;
}

/* The observer's functions. Orders are taken under the lock, so that records are in that order. */
static uint64_t submitted(usm_queue *queue, const usm_submission *submission, usm_event *event,
                          const usm_submitted *how)
{
    usm_spinlock *lock = usm_spinlock_take_stripe(&log);
    uint64_t order = usm_event_next_order();
    usm_record *record = append(order, usm_record_most_words(submission, how));
    if (record != NULL) {
        usm_record_task(record, log->words + log->n_words, log->first, queue, submission, how);
        commit(record, order);
        if (!how->done) {
            event->traced = true;
        }
    }
    usm_spinlock_give(lock);
    return order;
}

static void ended(usm_event *event, bool failed)
{
    bool timed = event->start_ns != 0 && event->end_ns != 0;
    const end new = {event->order, event->start_ns, timed ? event->end_ns : usm_clock_ns(), failed};
    usm_spinlock *lock = usm_spinlock_take_stripe(&ends);
    if (grow((void **)&ends.items, &ends.capacity, ends.n + 1, sizeof *ends.items)) {
        ends.items[ends.n++] = new;
    } /* else the task stays pending for traces */
    usm_spinlock_give(lock);
}

/* Drops ends that belong to no trace any more: all of them, or those from `first` to `last`. */
static void drop_ends(bool all, uint64_t first, uint64_t last)
{
    size_t kept = 0;
    usm_spinlock *lock = usm_spinlock_take_stripe(&ends);
    for (size_t i = 0; i < ends.n && !all; i++) {
        if (ends.items[i].order < first || ends.items[i].order > last) {
            ends.items[kept++] = ends.items[i];
        }
    }
    ends.n = kept;
    if (all) {
        free(ends.items);
        ends.items = NULL;
        ends.capacity = 0;
    }
    usm_spinlock_give(lock);
}

void usm_trace_passing(int what, const usm_view *view, const char *name)
{
    usm_spinlock *lock = usm_spinlock_take_stripe(&log);
    uint64_t order = usm_event_next_order();
    usm_record *record = append(order, 1);
    if (record != NULL) {
        usm_record_passing(record, log->words + log->n_words, what, view, name);
        commit(record, order);
    }
    usm_spinlock_give(lock);
}

usm_status usm_trace_start(size_t limit, usm_trace **out, usm_error *error)
{
    static const usm_observer observer = {submitted, ended};
    usm_trace *trace = usm_calloc(1, sizeof *trace);
    usm_trace_log *new = trace == NULL ? NULL : usm_calloc(1, sizeof *new);
    if (new == NULL) {
        free(trace);
        return usm_error_memory(error, sizeof *trace + sizeof *new, "a trace");
    }
    usm_spinlock *lock = usm_spinlock_take_stripe(&log);
    if (log == NULL) {
        log = new;
        log->first = usm_event_next_order(); /* no other log has it */
        new = NULL;
    }
    *trace = (usm_trace){.log = log, .end = UINT64_MAX, .limit = limit, .start_ns = usm_clock_ns()};
    trace->begin = usm_event_orders() - log->first;
    log->users++;
    if (!log->full && trace->begin + limit > log->room) {
        log->room = trace->begin + limit;
        log->room = log->room < USM_WAIT_EXPLICIT ? log->room : USM_WAIT_EXPLICIT;
    }
    n_recording++;
    n_traces++;
    if (usm_task_observer == NULL) {
        usm_task_observer = &observer; /* permanent: tasks outlive traces */
    }
    atomic_store_explicit(&usm_trace_on, true, memory_order_release);
    usm_spinlock_give(lock);
    free(new);
    *out = trace;
    return USM_OK;
}

void usm_trace_stop(usm_trace *trace)
{
    usm_spinlock *lock = usm_spinlock_take_stripe(&log);
    if (trace->end == UINT64_MAX) {
        trace->end = usm_event_orders() - trace->log->first;
        trace->stop_ns = usm_clock_ns();
        if (--n_recording == 0) {
            atomic_store_explicit(&usm_trace_on, false, memory_order_relaxed);
            log = NULL; /* its traces have it */
        }
    }
    usm_spinlock_give(lock);
}

void usm_trace_free(usm_trace *trace)
{
    usm_trace_log *gone = trace->log;
    usm_trace_stop(trace);
    usm_spinlock *lock = usm_spinlock_take_stripe(&log);
    bool last = --gone->users == 0, all = --n_traces == 0;
    usm_spinlock_give(lock);
    if (last) {
        if (gone->n > 0) {
            drop_ends(all, gone->records[0].order, gone->records[gone->n - 1].order);
        }
        free(gone->records);
        free(gone->words);
        free(gone);
    }
    free(trace);
}

/* What of the log is the trace's: records from `first`, and the orders from `kept` on that were dropped. */
typedef struct window {
    const usm_record *first;
    size_t n;
    uint64_t dropped;
} window;

/* The number of records before this order, counted from the log's first. */
static size_t records_before(const usm_trace_log *from, uint64_t at)
{
    size_t low = 0, high = from->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (from->records[middle].order - from->first < at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Lock held. */
static window window_of(const usm_trace *trace)
{
    const usm_trace_log *from = trace->log;
    uint64_t end = trace->end != UINT64_MAX ? trace->end : usm_event_orders() - from->first;
    uint64_t kept = trace->begin + trace->limit;
    kept = kept < from->room ? kept : from->room;
    kept = kept < end ? kept : end;
    kept = kept > trace->begin ? kept : trace->begin;
    size_t begin = records_before(from, trace->begin);
    return (window){from->records + begin, records_before(from, kept) - begin, end - kept};
}

usm_trace_counts usm_trace_count(usm_trace *trace)
{
    usm_spinlock *lock = usm_spinlock_take_stripe(&log);
    window window = window_of(trace);
    usm_trace_counts counts = {
        .n = window.n, .dropped = window.dropped, .start_ns = trace->start_ns, .stop_ns = trace->stop_ns};
    for (size_t i = 0; i < window.n; i++) {
        counts.pending += window.first[i].state == USM_EVENT_SUBMITTED;
    }
    uint64_t first = window.n > 0 ? window.first[0].order : UINT64_MAX;
    uint64_t last = window.n > 0 ? window.first[window.n - 1].order : 0;
    usm_spinlock_give(lock);
    lock = usm_spinlock_take_stripe(&ends);
    for (size_t i = 0; i < ends.n; i++) {
        counts.pending -= ends.items[i].order >= first && ends.items[i].order <= last;
    }
    usm_spinlock_give(lock);
    return counts;
}

static int compare(const void *order, const void *record)
{
    uint64_t x = *(const uint64_t *)order, y = ((const usm_record *)record)->order;
    return (x > y) - (x < y);
}

/* The record of this order; NULL: it is not in the list. */
static usm_record *find(const usm_trace_list *list, uint64_t order)
{
    return bsearch(&order, list->records, list->n, sizeof *list->records, compare);
}

/* Completes the copies of records by the ends that were recorded meanwhile. */
static void add_ends(usm_trace_list *list)
{
    usm_spinlock *lock = usm_spinlock_take_stripe(&ends);
    for (size_t i = 0; i < ends.n; i++) {
        const end *end = &ends.items[i];
        usm_record *record = find(list, end->order);
        if (record != NULL) {
            record->state = end->failed ? USM_EVENT_ERROR : USM_EVENT_COMPLETE;
            record->start_ns = end->start_ns;
            record->end_ns = end->end_ns;
        }
    }
    usm_spinlock_give(lock);
}

usm_status usm_trace_read(usm_trace *trace, usm_trace_list *out, usm_error *error)
{
    usm_spinlock *lock = usm_spinlock_take_stripe(&log);
    window window = window_of(trace);
    size_t n_words = trace->log->n_words;
    *out = (usm_trace_list){
        .first = trace->log->first,
        .n = window.n,
        .records = usm_malloc((window.n + 1) * sizeof *out->records),
        .words = usm_malloc((n_words + 1) * sizeof *out->words),
    };
    bool enough = out->records != NULL && out->words != NULL;
    if (enough && window.n > 0) {
        memcpy(out->records, window.first, window.n * sizeof *out->records);
    }
    if (enough && n_words > 0) {
        memcpy(out->words, trace->log->words, n_words * sizeof *out->words);
    }
    usm_spinlock_give(lock);
    if (!enough) {
        usm_trace_list_free(out);
        return usm_error_memory(error, window.n * sizeof *out->records, "a list of records");
    }
    add_ends(out);
    return USM_OK;
}

void usm_trace_list_free(usm_trace_list *list)
{
    free(list->records);
    free(list->words);
}

size_t usm_trace_find(const usm_trace_list *list, uint32_t wait)
{
    const usm_record *found = find(list, list->first + (wait & ~USM_WAIT_EXPLICIT));
    return found != NULL ? (size_t)(found - list->records) : list->n;
}
