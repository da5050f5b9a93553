#include "trace.h"

#include "core/base/heap.h"

#include <stddef.h>
#include <string.h>

/* What happened while at least one trace recorded: traces are parts of it. Under the leaf stripe of `log`. */
typedef struct usm_trace_log {
    size_t users;   /* traces */
    uint64_t first; /* the order of submission that it counts from */
    usm_segment *segments;
    usm_segment *loose; /* the one of them for what is no task */
    size_t room;        /* those below it are kept */
    bool full;          /* memory ran out: the room stays */
} usm_trace_log;

/* Orders are counted from the log's first. */
struct usm_trace {
    usm_trace_log *log;
    size_t begin, end, limit; /* end: SIZE_MAX while it records */
    int64_t start_ns, stop_ns;
};

_Atomic bool usm_trace_on;

static usm_trace_log *log; /* NULL where no trace records */
static size_t n_recording;

/* Of `log`, for those who submit, who take no lock: the first order, and the order that is not kept. */
static _Atomic uint64_t log_first, log_room;

static _Atomic uint32_t last_queue;

/* Memory ran out: nothing from this order on is kept. With the lock. */
static void close_log(uint64_t order)
{
    size_t at = (size_t)(order - log->first);
    log->full = true;
    log->room = at < log->room ? at : log->room;
    atomic_store_explicit(&log_room, log->first + log->room, memory_order_relaxed);
}

/* A new one for the log. With the lock. */
static usm_segment *segment_for(uint64_t order)
{
    usm_segment *segment = usm_segment_new();
    if (segment == NULL) {
        close_log(order);
        return NULL;
    }
    segment->log = log->first;
    segment->queue = 0;
    segment->in_order = segment->profiled = false;
    segment->of_log = true;
    segment->next = log->segments;
    log->segments = segment;
    return segment;
}

/* With the lock. */
static void leave(usm_segment *segment)
{
    segment->of_queue = false;
    if (!segment->of_log) {
        usm_segment_drop(segment);
    }
}

void usm_trace_leave(usm_queue *queue)
{
    if (queue->records != NULL) {
        usm_leaf *leaf = usm_leaf_of(&log);
        pthread_mutex_lock(&leaf->mutex);
        leave(queue->records);
        pthread_mutex_unlock(&leaf->mutex);
        queue->records = NULL;
    }
}

/* Another segment for the queue, whose lock is held: the one that it has is full, or of an older log. */
static usm_segment *renew(usm_queue *queue, uint64_t order)
{
    usm_trace_leave(queue);
    if (queue->number == 0) {
        queue->number = atomic_fetch_add_explicit(&last_queue, 1, memory_order_relaxed) + 1;
    }
    usm_leaf *leaf = usm_leaf_of(&log);
    pthread_mutex_lock(&leaf->mutex);
    usm_segment *segment = log != NULL && order >= log->first ? segment_for(order) : NULL;
    if (segment != NULL) {
        segment->queue = queue->number;
        segment->in_order = queue->in_order;
        segment->profiled = queue->profiling;
        segment->of_queue = true;
    }
    pthread_mutex_unlock(&leaf->mutex);
    return queue->records = segment;
}

static void put_end(usm_record_end *slot, uint64_t order, int64_t start, int64_t end, unsigned flags)
{
    slot->start = start;
    slot->end = end;
    atomic_store_explicit(&slot->told, order << 2 | flags, memory_order_release);
}

void usm_trace_task(usm_queue *queue, const usm_submission *submission, usm_event *event, uint64_t order,
                    const usm_submitted *how)
{
    uint64_t first = atomic_load_explicit(&log_first, memory_order_relaxed);
    if (event != NULL) {
        event->order = order;
    }
    if (order >= atomic_load_explicit(&log_room, memory_order_relaxed)) {
        return;
    }
    usm_segment *segment = queue->records;
    size_t n_words = submission->n_waits + submission->n_accesses + (event != NULL ? event->n_links : 0);
    n_words = n_words < USM_RECORD_MOST_WORDS ? n_words : USM_RECORD_MOST_WORDS;
    uint32_t n = segment == NULL ? 0 : atomic_load_explicit(&segment->n, memory_order_relaxed);
    if (USM_UNLIKELY(segment == NULL || segment->log != first ||
                     n + usm_record_slots(n_words) > USM_SEGMENT_SLOTS)) {
        segment = renew(queue, order);
        if (segment == NULL) {
            return;
        }
        n = 0;
    }
    usm_record *record = &segment->records[n];
    usm_record_end *end = &segment->ends[n];
    usm_record_task(record, queue, submission, event, order, segment->log, n_words);
    record->submitted = how->begun;
    if (how->done) {
        bool timed = how->start_ns != 0 && how->end_ns != 0;
        put_end(end, order, timed ? how->start_ns : how->begun, timed ? how->end_ns : usm_ticks(),
                timed ? 0 : USM_END_TICKS);
    } else {
        segment->n_tasks++;
        event->record = end;
    }
    n += usm_record_slots((size_t)record->n_waits + record->n_accesses);
    atomic_store_explicit(&segment->n, n, memory_order_release);
    /* The next one's line: else the next locked operation waits until it has come. */
    __builtin_prefetch(&segment->records[n < USM_SEGMENT_SLOTS ? n : 0], 1);
}

void usm_trace_end(usm_event *event, bool failed, usm_ended *ended)
{
    usm_record_end *slot = event->record;
    unsigned flags = failed ? USM_END_FAILED : 0;
    event->record = NULL;
    if (event->end_ns != 0 && event->start_ns != 0) {
        put_end(slot, event->order, event->start_ns, event->end_ns, flags);
    } else {
        int64_t now = ended != NULL && ended->ticks != 0 ? ended->ticks : usm_ticks();
        if (ended != NULL) {
            ended->ticks = now;
        }
        put_end(slot, event->order, event->start_ticks, now, flags | USM_END_TICKS);
    }
    atomic_fetch_add_explicit(&usm_segment_of(slot)->n_ended, 1, memory_order_release);
}

void usm_trace_passing(int what, const usm_view *view, const char *name)
{
    usm_record record = {.submitted = usm_ticks(), .what = (uint8_t)what};
    usm_record_passing(&record, view, what == USM_TRACE_EXPORT ? USM_READ : USM_WRITE, name);
    usm_leaf *leaf = usm_leaf_of(&log);
    pthread_mutex_lock(&leaf->mutex);
    uint64_t order = usm_event_next_order();
    if (log != NULL && order - log->first < log->room) {
        usm_segment *segment = log->loose;
        if (segment == NULL || atomic_load(&segment->n) == USM_SEGMENT_SLOTS) {
            segment = log->loose = segment_for(order);
        }
        if (segment != NULL) {
            uint32_t n = atomic_load(&segment->n);
            record.at = (uint32_t)(order - log->first);
            segment->records[n] = record;
            put_end(&segment->ends[n], order, record.submitted, record.submitted, USM_END_TICKS);
            atomic_store_explicit(&segment->n, n + 1, memory_order_release);
        }
    }
    pthread_mutex_unlock(&leaf->mutex);
}

usm_status usm_trace_start(size_t limit, usm_trace **out, usm_error *error)
{
    usm_trace *trace = usm_calloc(1, sizeof *trace);
    usm_trace_log *new = trace == NULL ? NULL : usm_calloc(1, sizeof *new);
    if (new == NULL) {
        free(trace);
        return usm_error_memory(error, sizeof *trace + sizeof *new, "a trace");
    }
    trace->limit = limit;
    trace->end = SIZE_MAX;
    usm_ticks_start();
    usm_leaf *leaf = usm_leaf_of(&log);
    pthread_mutex_lock(&leaf->mutex);
    if (log == NULL) {
        log = new;
        log->first = usm_event_next_order(); /* no other log has it */
        atomic_store_explicit(&log_room, 0, memory_order_relaxed);
        atomic_store_explicit(&log_first, log->first, memory_order_relaxed);
        new = NULL;
    }
    trace->start_ns = usm_clock_ns();
    trace->log = log;
    trace->begin = (size_t)(usm_event_orders() - log->first);
    log->users++;
    if (!log->full && trace->begin + limit > log->room) {
        log->room = trace->begin + limit;
        log->room = log->room < USM_WAIT_EXPLICIT ? log->room : USM_WAIT_EXPLICIT;
        atomic_store_explicit(&log_room, log->first + log->room, memory_order_relaxed);
    }
    n_recording++;
    atomic_store_explicit(&usm_trace_on, true, memory_order_release);
    pthread_mutex_unlock(&leaf->mutex);
    free(new);
    *out = trace;
    return USM_OK;
}

void usm_trace_stop(usm_trace *trace)
{
    usm_leaf *leaf = usm_leaf_of(&log);
    pthread_mutex_lock(&leaf->mutex);
    if (trace->end == SIZE_MAX) {
        trace->end = (size_t)(usm_event_orders() - trace->log->first);
        trace->stop_ns = usm_clock_ns();
        if (--n_recording == 0) {
            atomic_store_explicit(&usm_trace_on, false, memory_order_relaxed);
            log = NULL; /* its traces have it */
        }
    }
    pthread_mutex_unlock(&leaf->mutex);
}

/* With the lock. */
static void free_log(usm_trace_log *old)
{
    for (usm_segment *segment = old->segments; segment != NULL;) {
        usm_segment *next = segment->next;
        segment->of_log = false;
        if (!segment->of_queue) {
            usm_segment_drop(segment);
        }
        segment = next;
    }
    free(old);
}

void usm_trace_free(usm_trace *trace)
{
    usm_trace_stop(trace);
    usm_leaf *leaf = usm_leaf_of(&log);
    pthread_mutex_lock(&leaf->mutex);
    if (--trace->log->users == 0) {
        free_log(trace->log);
    }
    pthread_mutex_unlock(&leaf->mutex);
    free(trace);
}

/* What of the log is the trace's: these segments stay as long as it, and new ones come before them. */
typedef struct window {
    usm_segment *segments;
    size_t begin, kept, end;
} window;

static window window_of(const usm_trace *trace)
{
    const usm_trace_log *from = trace->log;
    usm_leaf *leaf = usm_leaf_of(&log);
    pthread_mutex_lock(&leaf->mutex);
    size_t end = trace->end != SIZE_MAX ? trace->end : (size_t)(usm_event_orders() - from->first);
    size_t kept = trace->begin + trace->limit;
    kept = kept < from->room ? kept : from->room;
    kept = kept < end ? kept : end;
    window window = {from->segments, trace->begin, kept > trace->begin ? kept : trace->begin, end};
    pthread_mutex_unlock(&leaf->mutex);
    return window;
}

/* The records of the window, in no order: of each segment the next one behind *record; NULL at the end. */
static const usm_record *next_record(const window *window, usm_segment **segment, const usm_record *record)
{
    for (; *segment != NULL; *segment = (*segment)->next, record = NULL) {
        const usm_record *first = (*segment)->records;
        const usm_record *end = first + atomic_load_explicit(&(*segment)->n, memory_order_acquire);
        if (record == NULL) {
            record = first;
        } else {
            record += usm_record_slots((size_t)record->n_waits + record->n_accesses);
        }
        while (record < end && (record->at < window->begin || record->at >= window->kept)) {
            record += usm_record_slots((size_t)record->n_waits + record->n_accesses);
        }
        if (record < end) {
            return record;
        }
    }
    return NULL;
}

usm_trace_counts usm_trace_count(usm_trace *trace)
{
    window window = window_of(trace);
    usm_segment *segment = window.segments;
    usm_trace_counts counts = {
        .dropped = window.end - window.kept, .start_ns = trace->start_ns, .stop_ns = trace->stop_ns};
    for (const usm_record *record = NULL; (record = next_record(&window, &segment, record)) != NULL;) {
        counts.n++;
        counts.pending += !usm_record_has_ended(record);
    }
    return counts;
}

static int compare(const void *a, const void *b)
{
    uint32_t x = ((const struct usm_trace_place *)a)->at, y = ((const struct usm_trace_place *)b)->at;
    return (x > y) - (x < y);
}

usm_status usm_trace_read(usm_trace *trace, usm_trace_list *out, usm_error *error)
{
    window window = window_of(trace);
    usm_segment *segment = window.segments;
    size_t most = window.kept - window.begin, n = 0;
    struct usm_trace_place *places = usm_malloc((most + 1) * sizeof *places);
    if (places == NULL) {
        return usm_error_memory(error, (most + 1) * sizeof *places, "a list of records");
    }
    for (const usm_record *record = NULL;
         n < most && (record = next_record(&window, &segment, record)) != NULL;) {
        places[n++] = (struct usm_trace_place){record->at, record};
    }
    qsort(places, n, sizeof *places, compare);
    *out = (usm_trace_list){trace, usm_moment_now(), n, places};
    return USM_OK;
}

void usm_trace_list_free(usm_trace_list *list)
{
    free(list->places);
}

size_t usm_trace_find(const usm_trace_list *list, uint32_t wait)
{
    struct usm_trace_place key = {wait & ~USM_WAIT_EXPLICIT, NULL};
    struct usm_trace_place *found = bsearch(&key, list->places, list->n, sizeof key, compare);
    return found != NULL ? (size_t)(found - list->places) : list->n;
}

/* Rounded times stay within the trace. */
static int64_t within(const usm_trace_list *list, int64_t ticks)
{
    int64_t ns = usm_ticks_to_ns(ticks, &list->now), least = list->trace->start_ns;
    return ns < least ? least : ns > list->now.ns ? list->now.ns : ns;
}

usm_trace_entry usm_trace_entry_at(const usm_trace_list *list, size_t index)
{
    const usm_record *record = list->places[index].record;
    const usm_record_end *end = usm_record_end_of(record);
    usm_trace_entry entry = {.record = record,
                             .segment = usm_segment_of(record),
                             .state = USM_EVENT_SUBMITTED,
                             .submit_ns = within(list, record->submitted)};
    if (!usm_record_has_ended(record)) { /* who ends it may be writing */
        return entry;
    }
    uint64_t told = atomic_load_explicit(&((usm_record_end *)end)->told, memory_order_relaxed);
    bool ticks = (told & USM_END_TICKS) != 0;
    entry.state = (told & USM_END_FAILED) != 0 ? USM_EVENT_ERROR : USM_EVENT_COMPLETE;
    entry.start_ns = ticks && end->start != 0 ? within(list, end->start) : end->start;
    entry.end_ns = ticks ? within(list, end->end) : end->end;
    return entry;
}
