#include "trace.h"

#include "core/base/heap.h"
#include "core/base/sync.h"

#include <stdlib.h>

/* At least this many bytes in a block. */
#define BLOCK 32768

/*
 * Items of one size that never move: appended under a lock, and read without one, as many as there were when
 * the lock was held.
 */
typedef struct block {
    struct block *next;
    _Atomic size_t used; /* bytes; written with the lock */
    size_t room;
    _Alignas(8) char bytes[];
} block;

typedef struct chain {
    block *first, *last;
    size_t n; /* items */
} chain;

/* How a recorded task ended. */
typedef struct end {
    uint64_t order;
    int64_t start_ns, end_ns; /* start 0: unknown */
    bool failed;
} end;

/*
 * What was submitted while at least one trace recorded: traces are windows of it. The members up to `words`
 * are under the spinlock stripe of `log`. The others are under that of the log's `ends`: the threads that end
 * tasks would otherwise take the lock and the records from the threads that submit.
 */
typedef struct usm_trace_log {
    size_t users;   /* traces */
    uint64_t first; /* the order of submission that it counts from */
    uint64_t room;  /* records of this order, counted from the first, and of later ones are dropped */
    bool full;      /* memory ran out: the room does not grow any more */
    size_t awaited; /* tasks whose ends it will be told of */
    chain records, words;

    size_t n_ended;  /* of the tasks that are awaited */
    size_t last_end; /* that many, where no trace has it any more: the last end frees it; else SIZE_MAX */
    chain ends;
} usm_trace_log;

/* Orders are counted from the log's first. */
struct usm_trace {
    usm_trace_log *log;
    uint64_t begin, end, limit; /* end: UINT64_MAX while it records */
    int64_t start_ns, stop_ns;
};

/* Under the spinlock stripe of `log`. */
static usm_trace_log *log; /* NULL where no trace records */
static size_t n_recording;

static bool has_room(const chain *chain, size_t nbytes)
{
    const block *last = chain->last;
    return last != NULL &&
           last->room - atomic_load_explicit(&((block *)last)->used, memory_order_relaxed) >= nbytes;
}

/* NULL: memory ran out. No lock. */
static block *new_block(size_t nbytes)
{
    size_t room = nbytes > BLOCK ? nbytes : BLOCK;
    block *block = usm_malloc(sizeof *block + room);
    if (block != NULL) {
        block->next = NULL;
        atomic_init(&block->used, 0);
        block->room = room;
    }
    return block;
}

/* Lock held. */
static void add_block(chain *chain, block *block)
{
    *(chain->last != NULL ? &chain->last->next : &chain->first) = block;
    chain->last = block;
}

/* Where the next items go, for which there is room. Lock held. */
static void *place_of(const chain *chain)
{
    return chain->last->bytes + atomic_load_explicit(&chain->last->used, memory_order_relaxed);
}

/* That many items are there from now on. Lock held. */
static void commit(chain *chain, size_t n, size_t size)
{
    size_t used = atomic_load_explicit(&chain->last->used, memory_order_relaxed);
    atomic_store_explicit(&chain->last->used, used + n * size, memory_order_relaxed);
    chain->n += n;
}

/* Goes through the items that a chain has when this is made, with the lock held. */
typedef struct cursor {
    const block *block;
    size_t at, left;
} cursor;

static cursor cursor_of(const chain *chain)
{
    return (cursor){chain->first, 0, chain->n};
}

/* NULL: there are no more. No lock is needed. */
static const void *next_item(cursor *cursor, size_t size)
{
    if (cursor->left == 0) {
        return NULL;
    }
    while (cursor->at == atomic_load_explicit(&((block *)cursor->block)->used, memory_order_relaxed)) {
        cursor->block = cursor->block->next;
        cursor->at = 0;
    }
    const void *item = cursor->block->bytes + cursor->at;
    cursor->at += size;
    cursor->left--;
    return item;
}

static void free_chain(chain *chain)
{
    for (block *block = chain->first, *next; block != NULL; block = next) {
        next = block->next;
        free(block);
    }
}

static void free_log(USM_TAKES usm_trace_log *gone)
{
    free_chain(&gone->records);
    free_chain(&gone->words);
    free_chain(&gone->ends);
    free(gone);
}

/* The next record is dropped, or there is no trace. Lock held. */
static bool is_dropped(void)
{
    return log == NULL || usm_event_orders() - log->first >= log->room;
}

/* The chain without room for what comes next; NULL: none. Lock held. */
static chain *lacks_room(size_t most_words)
{
    return is_dropped()                                            ? NULL
           : !has_room(&log->records, sizeof(usm_record))          ? &log->records
           : !has_room(&log->words, most_words * sizeof(uint32_t)) ? &log->words
                                                                   : NULL;
}

/*
 * Takes the lock and makes room for a record of that many words, unless the record is dropped. While memory
 * is allocated without the lock, other threads may use the room or add some.
 */
static usm_spinlock *lock_log(size_t most_words)
{
    size_t nbytes = most_words * sizeof(uint32_t);
    block *more = NULL;
    chain *chain;
    usm_spinlock *lock = usm_spinlock_take_stripe(&log);
    while ((chain = lacks_room(most_words)) != NULL) {
        if (more != NULL) {
            add_block(chain, more);
            more = NULL;
            continue;
        }
        usm_spinlock_give(lock);
        more = new_block(nbytes);
        usm_spinlock_take(lock);
        if (more == NULL && log != NULL) {
            log->full = true;
            log->room = usm_event_orders() - log->first;
        }
    }
    free(more);
    return lock;
}

/* Where the next record goes; NULL: it is dropped. Its order, and with it that of all records: lock held. */
static usm_record *next_record(uint64_t *order)
{
    usm_record *record = is_dropped() ? NULL : place_of(&log->records);
    *order = usm_event_next_order();
    return record;
}

/* The record is complete. Lock held. */
static void commit_record(usm_record *record, uint64_t order)
{
    size_t n_words = record->n_waits + record->n_accesses;
    record->order = order;
    record->first_word = log->words.n;
    commit(&log->words, n_words, sizeof(uint32_t));
    commit(&log->records, 1, sizeof *record);
}

/* The observer's functions. Orders are taken under the lock, so that records are in that order. */
static uint64_t submitted(usm_queue *queue, const usm_submission *submission, usm_event *event,
                          const usm_submitted *how)
{
    uint64_t order;
    const char *name = usm_record_name_of(submission);
    usm_spinlock *lock = lock_log(usm_record_most_words(submission, how));
    usm_record *record = next_record(&order);
    if (record != NULL) {
        usm_record_task(record, place_of(&log->words), log->first, name, queue, submission, how);
        commit_record(record, order);
        if (!how->done) {
            event->traced = log;
            log->awaited++;
        }
    }
    usm_spinlock_give(lock);
    return order;
}

/* Where memory runs out the task stays pending for traces. */
static void ended(usm_event *event, bool failed)
{
    usm_trace_log *of = event->traced;
    bool timed = event->start_ns != 0 && event->end_ns != 0;
    const end new = {event->order, event->start_ns, timed ? event->end_ns : usm_clock_ns(), failed};
    block *more = NULL;
    usm_spinlock *lock = usm_spinlock_take_stripe(&of->ends);
    if (!has_room(&of->ends, sizeof new)) {
        usm_spinlock_give(lock);
        more = new_block(0);
        usm_spinlock_take(lock);
        if (more != NULL && !has_room(&of->ends, sizeof new)) {
            add_block(&of->ends, more);
            more = NULL;
        }
    }
    if (has_room(&of->ends, sizeof new)) {
        *(end *)place_of(&of->ends) = new;
        commit(&of->ends, 1, sizeof new);
    }
    bool last = ++of->n_ended == of->last_end;
    usm_spinlock_give(lock);
    free(more);
    if (last) {
        free_log(of);
    }
}

void usm_trace_passing(int what, const usm_view *view, const char *name)
{
    uint64_t order;
    const char *kept = usm_record_name(name);
    usm_spinlock *lock = lock_log(1);
    usm_record *record = next_record(&order);
    if (record != NULL) {
        usm_record_passing(record, place_of(&log->words), what, view, kept);
        commit_record(record, order);
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
    new->last_end = SIZE_MAX;
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
    bool last = --gone->users == 0;
    size_t awaited = gone->awaited;
    usm_spinlock_give(lock);
    if (last) { /* no trace records into it, and nothing more will be awaited */
        lock = usm_spinlock_take_stripe(&gone->ends);
        bool all = gone->n_ended == awaited;
        gone->last_end = awaited;
        usm_spinlock_give(lock);
        if (all) {
            free_log(gone);
        }
    }
    free(trace);
}

/* What of the log is the trace's: records of these orders, counted from the log's first. */
typedef struct window {
    cursor records, words, ends;
    uint64_t begin, end, dropped;
} window;

static window window_of(const usm_trace *trace)
{
    const usm_trace_log *from = trace->log;
    window window = {.begin = trace->begin};
    usm_spinlock *lock = usm_spinlock_take_stripe(&log);
    uint64_t end = trace->end != UINT64_MAX ? trace->end : usm_event_orders() - from->first;
    uint64_t kept = trace->begin + trace->limit;
    kept = kept < from->room ? kept : from->room;
    kept = kept < end ? kept : end;
    kept = kept > trace->begin ? kept : trace->begin;
    window.records = cursor_of(&from->records);
    window.words = cursor_of(&from->words);
    usm_spinlock_give(lock);
    lock = usm_spinlock_take_stripe(&from->ends); /* later: what is known to have ended is in the records */
    window.ends = cursor_of(&from->ends);
    usm_spinlock_give(lock);
    window.end = kept;
    window.dropped = end - kept;
    return window;
}

/* The window's next record; NULL: there are no more. No lock. */
static const usm_record *next_of(window *window, const usm_trace *trace)
{
    const usm_record *record;
    do {
        record = next_item(&window->records, sizeof *record);
    } while (record != NULL && record->order - trace->log->first < window->begin);
    return record != NULL && record->order - trace->log->first < window->end ? record : NULL;
}

usm_trace_counts usm_trace_count(usm_trace *trace)
{
    window window = window_of(trace);
    usm_trace_counts counts = {
        .dropped = window.dropped, .start_ns = trace->start_ns, .stop_ns = trace->stop_ns};
    for (const usm_record *record; (record = next_of(&window, trace)) != NULL;) {
        counts.n++;
        counts.pending += record->state == USM_EVENT_SUBMITTED;
    }
    for (const end *end; (end = next_item(&window.ends, sizeof *end)) != NULL;) {
        uint64_t order = end->order - trace->log->first;
        counts.pending -= order >= window.begin && order < window.end;
    }
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
static void add_ends(usm_trace_list *list, cursor ends)
{
    for (const end *end; (end = next_item(&ends, sizeof *end)) != NULL;) {
        usm_record *record = find(list, end->order);
        if (record != NULL) {
            record->state = end->failed ? USM_EVENT_ERROR : USM_EVENT_COMPLETE;
            record->start_ns = end->start_ns;
            record->end_ns = end->end_ns;
        }
    }
}

usm_status usm_trace_read(usm_trace *trace, usm_trace_list *out, usm_error *error)
{
    window window = window_of(trace);
    struct window counted = window;
    size_t n = 0, n_words = 0;
    while (next_of(&counted, trace) != NULL) {
        n++;
    }
    *out = (usm_trace_list){
        .first = trace->log->first,
        .records = usm_malloc((n + 1) * sizeof *out->records),
        .words = usm_malloc((window.words.left + 1) * sizeof *out->words),
    };
    if (out->records == NULL || out->words == NULL) {
        usm_trace_list_free(out);
        return usm_error_memory(error, n * sizeof *out->records, "a list of records");
    }
    for (const usm_record *record; (record = next_of(&window, trace)) != NULL;) {
        out->records[out->n++] = *record;
    }
    for (const uint32_t *word; (word = next_item(&window.words, sizeof *word)) != NULL;) {
        out->words[n_words++] = *word;
    }
    add_ends(out, window.ends);
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
