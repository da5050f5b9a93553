#include "trace.h"

#include "backend.h"
#include "heap.h"
#include "launch.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

/*
 * Chunks of the size of a large page, and some that are kept: touching fresh pages of the usual size one by
 * one would cost more than all the rest of a record.
 */
#define CHUNK_BYTES ((size_t)2 << 20)
#define CHUNK 20000
#define MOST_SPARE 2

typedef struct chunk {
    /* The log, and each record, until its task has ended: who takes the last count away frees the chunk. */
    _Atomic uint32_t counts;
    uint32_t n_tasks; /* records that the end of a task takes a count away for */
    struct chunk *next_spare;
    usm_trace_record records[CHUNK];
} chunk;

/*
 * What happened while at least one trace recorded: traces are parts of it. All under the leaf stripe of
 * `log`, but for the ends of tasks, which need no lock.
 */
typedef struct usm_trace_log {
    size_t users;   /* traces */
    uint64_t first; /* number of its first record, counted over all logs of the process */
    size_t n;       /* records so far, with those that were not kept */
    size_t room;    /* those below it are kept */
    bool full;      /* memory ran out: the room stays */
    chunk **chunks; /* NULL where nothing was kept */
    size_t n_chunks;
} usm_trace_log;

struct usm_trace {
    usm_trace_log *log;
    size_t begin, end, limit; /* end: SIZE_MAX while it records */
    int64_t start_ns, stop_ns;
};

_Atomic bool usm_trace_on;
_Atomic bool usm_trace_ticks;

typedef usm_trace_moment moment;

/* When the first trace began; ticks 0: none did. */
static moment first_moment;

static usm_trace_log *log; /* NULL where no trace records */
static size_t n_recording;
static chunk *spare;
static size_t n_spare;
static uint64_t last_record;
static uint32_t last_queue, last_alloc, last_thread;

/* Names, each once, found by a hash: a power of two of entries, half of them free. */
static struct {
    char **texts; /* number - 1 */
    uint32_t *slots;
    uint32_t n, n_slots;
} names;

static _Thread_local uint32_t this_thread;

/* Between two looks at the ticks that are close to each other. */
static moment moment_now(void)
{
    moment best = {0, 0};
    int64_t least = INT64_MAX;
    for (int i = 0; i < 5; i++) {
        int64_t before = usm_trace_clock(), ns = usm_clock_ns(), after = usm_trace_clock();
        if (after - before < least) {
            least = after - before;
            best = (moment){before + (after - before) / 2, ns};
        }
    }
    return best;
}

/* Does the processor count time at one rate, on all cores alike? Then the system's clock is made of it. */
static bool has_ticks(void)
{
#if defined(__x86_64__)
    char text[16] = "";
    unsigned a, b, c, d = 0;
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
    bool used = file != NULL && fgets(text, sizeof text, file) != NULL && strcmp(text, "tsc\n") == 0;
    if (file != NULL) {
        fclose(file);
    }
    return used && __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & 1u << 8) != 0;
#else
    return false;
#endif
}

/* Once a process, before anything is recorded. With the lock. */
static void start_clock(bool ticks)
{
    if (first_moment.ticks == 0) {
        atomic_store_explicit(&usm_trace_ticks, ticks, memory_order_relaxed);
        first_moment = moment_now();
    }
}

static int64_t to_ns(int64_t ticks, const moment *now)
{
    if (!atomic_load_explicit(&usm_trace_ticks, memory_order_relaxed) || now->ticks == first_moment.ticks) {
        return ticks;
    }
    double rate = (double)(now->ns - first_moment.ns) / (double)(now->ticks - first_moment.ticks);
    return now->ns + (int64_t)((double)(ticks - now->ticks) * rate);
}

static uint32_t hash_of(const char *text)
{
    uint32_t hash = 2166136261u;
    for (; *text != 0; text++) {
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    }
    return hash;
}

static uint32_t *slot_of(const char *text)
{
    uint32_t i = hash_of(text) & (names.n_slots - 1);
    while (names.slots[i] != 0 && strcmp(names.texts[names.slots[i] - 1], text) != 0) {
        i = (i + 1) & (names.n_slots - 1);
    }
    return &names.slots[i];
}

static bool grow_names(void)
{
    uint32_t n_slots = names.n_slots == 0 ? 64 : 2 * names.n_slots;
    uint32_t *slots = usm_calloc(n_slots, sizeof *slots);
    char **texts = slots == NULL ? NULL : usm_realloc(names.texts, n_slots / 2 * sizeof *texts);
    if (texts == NULL) {
        free(slots);
        return false;
    }
    free(names.slots);
    names.slots = slots;
    names.n_slots = n_slots;
    names.texts = texts;
    for (uint32_t i = 0; i < names.n; i++) {
        *slot_of(texts[i]) = i + 1;
    }
    return true;
}

/* 0 where memory ran out: a task without a name. */
static uint32_t number_of(const char *text)
{
    if (names.n * 2 >= names.n_slots && !grow_names()) {
        return 0;
    }
    uint32_t *slot = slot_of(text);
    if (*slot == 0) {
        size_t size = strlen(text) + 1;
        char *copy = usm_malloc(size);
        if (copy == NULL) {
            return 0;
        }
        names.texts[names.n] = memcpy(copy, text, size);
        *slot = ++names.n;
    }
    return *slot;
}

uint32_t usm_trace_intern(const char *text)
{
    usm_leaf *leaf = usm_leaf_of(&log);
    pthread_mutex_lock(&leaf->mutex);
    uint32_t number = number_of(text);
    pthread_mutex_unlock(&leaf->mutex);
    return number;
}

const char *usm_trace_name(uint32_t number)
{
    usm_leaf *leaf = usm_leaf_of(&log);
    pthread_mutex_lock(&leaf->mutex);
    const char *text = number == 0 ? NULL : names.texts[number - 1];
    pthread_mutex_unlock(&leaf->mutex);
    return text;
}

static uint32_t thread_number(void)
{
    if (this_thread == 0) {
        this_thread = ++last_thread;
    }
    return this_thread;
}

_Static_assert(sizeof(chunk) <= CHUNK_BYTES, "a chunk fits into a large page");

static chunk *chunk_new(void)
{
    chunk *new = spare;
    if (new != NULL) {
        spare = new->next_spare;
        n_spare--;
    } else {
        new = USM_HEAP_FAULT() ? NULL : aligned_alloc(CHUNK_BYTES, CHUNK_BYTES);
        if (new != NULL) {
            madvise(new, CHUNK_BYTES, MADV_HUGEPAGE); /* a hint */
        }
    }
    if (new != NULL) {
        atomic_init(&new->counts, CHUNK + 1);
        new->n_tasks = 0;
    }
    return new;
}

/* The chunk that record n is to be in; NULL where memory ran out. */
static chunk *chunk_for(size_t n)
{
    size_t i = n / CHUNK;
    if (i >= log->n_chunks) {
        size_t n_chunks = 2 * i + 8;
        chunk **chunks = usm_realloc(log->chunks, n_chunks * sizeof *chunks);
        if (chunks == NULL) {
            return NULL;
        }
        memset(chunks + log->n_chunks, 0, (n_chunks - log->n_chunks) * sizeof *chunks);
        log->chunks = chunks;
        log->n_chunks = n_chunks;
    }
    if (log->chunks[i] == NULL) {
        log->chunks[i] = chunk_new();
    }
    return log->chunks[i];
}

/* The next record; NULL where it is not kept. `task`: its end will be told. */
static usm_trace_record *append(bool task)
{
    size_t n = log->n++;
    chunk *chunk = n < log->room ? chunk_for(n) : NULL;
    last_record++;
    if (chunk == NULL) {
        if (n < log->room) {
            log->full = true;
            log->room = n;
        }
        return NULL;
    }
    chunk->n_tasks += task;
    chunk->records[n % CHUNK].at = (uint16_t)(n % CHUNK);
    return &chunk->records[n % CHUNK];
}

/* Takes counts away. Without the lock: what is freed by the end of a task is not kept. */
static void give_up(chunk *chunk, uint32_t counts)
{
    if (atomic_fetch_sub_explicit(&chunk->counts, counts, memory_order_acq_rel) == counts) {
        free(chunk);
    }
}

/* The log lets go of a chunk. With the lock. */
static void drop_chunk(chunk *chunk)
{
    uint32_t counts = CHUNK + 1 - chunk->n_tasks;
    if (n_spare < MOST_SPARE && atomic_load_explicit(&chunk->counts, memory_order_acquire) == counts) {
        chunk->next_spare = spare; /* its tasks have ended */
        spare = chunk;
        n_spare++;
    } else {
        give_up(chunk, counts);
    }
}

static void free_log(usm_trace_log *old)
{
    for (size_t i = 0; i < old->n_chunks; i++) {
        chunk *chunk = old->chunks[i];
        size_t n = chunk == NULL ? 0 : old->n < old->room ? old->n : old->room;
        for (size_t k = i * CHUNK; k < n && k < (i + 1) * CHUNK; k++) {
            usm_trace_record *record = &chunk->records[k % CHUNK];
            if (record->n_waits + record->n_accesses > USM_TRACE_INLINE) {
                free(record->words.many);
            }
        }
        if (chunk != NULL) {
            drop_chunk(chunk);
        }
    }
    free(old->chunks);
    free(old);
}

static uint64_t work_items(const usm_range *range)
{
    return (uint64_t)range->global[0] * range->global[1] * range->global[2];
}

static uint64_t amount_of(const usm_command *command)
{
    switch (command->kind) {
        case USM_COMMAND_COPY:
            return command->as.copy.nbytes;
        case USM_COMMAND_FILL:
            return command->as.fill.nbytes;
        case USM_COMMAND_PREFETCH:
            return command->as.prefetch.nbytes;
        case USM_COMMAND_LAUNCH:
            return work_items(&command->as.launch->range);
        case USM_COMMAND_SEQUENCE:
            return (uint64_t)command->as.sequence.count *
                   usm_dtype_table[command->as.sequence.dtype].itemsize;
        case USM_COMMAND_STRIDED: {
            const usm_strided *strided = command->as.strided;
            uint64_t n = usm_dtype_table[strided->dst_dtype].itemsize;
            for (int i = 0; i < strided->ndim; i++) {
                n *= (uint64_t)strided->shape[i];
            }
            return n;
        }
        default:
            return 0;
    }
}

static uint32_t name_of(const usm_submission *submission)
{
    if (submission->command->kind == USM_COMMAND_LAUNCH) {
        usm_kernel *kernel = submission->command->as.launch->kernel;
        if (kernel->traced_name == 0) {
            kernel->traced_name = number_of(kernel->name);
        }
        return kernel->traced_name;
    }
    return submission->name;
}

static uint32_t alloc_number(usm_alloc *alloc)
{
    if (alloc->number == 0) {
        alloc->number = ++last_alloc & (UINT32_MAX >> 2);
    }
    return alloc->number;
}

/* The event's place in the log, where it is in it. */
static bool place_of(const usm_event *event, uint32_t *out)
{
    if (event->traced < log->first) {
        return false;
    }
    *out = (uint32_t)(event->traced - log->first);
    return true;
}

/* Waits that were asked for, those that are there for order, and the memory that the task touches. */
static void add_words(usm_trace_record *record, const usm_submission *submission, const usm_event *event)
{
    enum { MOST = 1 << 14 };
    size_t n_links = event != NULL ? event->n_links : 0;
    size_t most = submission->n_waits + n_links + submission->n_accesses, n = 0;
    uint32_t *words = record->words.few, *many = NULL, at;
    record->n_waits = record->n_accesses = 0;
    if (most > USM_TRACE_INLINE) {
        many = most > MOST ? NULL : usm_malloc(most * sizeof *many);
        if (many == NULL) {
            return;
        }
        words = many;
    }
    for (size_t i = 0; i < submission->n_waits; i++) {
        if (place_of(submission->waits[i].event, &at)) {
            words[n++] = at | USM_TRACE_EXPLICIT;
        }
    }
    for (size_t i = 0; i < n_links; i++) {
        if (place_of(event->links[i].event, &at)) {
            words[n++] = at;
        }
    }
    record->n_waits = (uint16_t)n;
    for (size_t i = 0; i < submission->n_accesses; i++) {
        const usm_access *access = &submission->accesses[i];
        words[n++] = alloc_number(access->alloc) << 2 | (uint32_t)access->mode;
    }
    record->n_accesses = (uint16_t)submission->n_accesses;
    if (many != NULL && n <= USM_TRACE_INLINE) {
        memcpy(record->words.few, many, n * sizeof *many);
        free(many);
    } else if (many != NULL) {
        record->words.many = many;
    }
}

void usm_trace_task(usm_queue *queue, const usm_submission *submission, usm_event *event, int64_t begun,
                    int64_t start_ns, int64_t end_ns, bool done)
{
    bool ticks = done && (start_ns == 0 || end_ns == 0);
    int64_t end = ticks ? usm_trace_clock() : end_ns;
    usm_leaf *leaf = usm_leaf_of(&log);
    pthread_mutex_lock(&leaf->mutex);
    usm_trace_record *record = log != NULL ? append(!done) : NULL;
    if (record != NULL) {
        if (queue->number == 0) {
            queue->number = ++last_queue;
        }
        record->submit_ns = begun;
        record->span.start_ns = ticks ? begun : start_ns;
        record->span.end_ns = end;
        record->span.ticks = ticks;
        record->device = queue->device;
        record->amount = amount_of(submission->command);
        record->queue = queue->number;
        record->name = name_of(submission);
        record->thread = thread_number();
        record->what = (uint8_t)submission->command->kind;
        record->flags =
            (queue->profiling ? USM_TRACE_PROFILED : 0) | (queue->in_order ? USM_TRACE_IN_ORDER : 0);
        atomic_store_explicit(&record->state, done ? USM_EVENT_COMPLETE : USM_EVENT_SUBMITTED,
                              memory_order_relaxed);
        add_words(record, submission, event);
        if (event != NULL) {
            event->traced = last_record;
            event->record = done ? NULL : record;
        }
    }
    pthread_mutex_unlock(&leaf->mutex);
}

void usm_trace_end(usm_event *event, bool failed)
{
    usm_trace_record *record = event->record;
    chunk *chunk = (struct chunk *)((char *)(record - record->at) - offsetof(struct chunk, records));
    bool timed = event->end_ns != 0 && event->start_ns != 0;
    event->record = NULL;
    record->span.start_ns = timed ? event->start_ns : 0;
    record->span.end_ns = timed ? event->end_ns : usm_trace_clock();
    record->span.ticks = !timed;
    atomic_store_explicit(&record->state, failed ? USM_EVENT_ERROR : USM_EVENT_COMPLETE,
                          memory_order_release);
    give_up(chunk, 1);
}

void usm_trace_export(const usm_view *view, const char *name)
{
    uint64_t bits = usm_dtype_table[view->dtype].bits;
    int64_t now = usm_trace_clock();
    for (int i = 0; i < view->ndim; i++) {
        bits *= (uint64_t)view->shape[i];
    }
    usm_leaf *leaf = usm_leaf_of(&log);
    pthread_mutex_lock(&leaf->mutex);
    usm_trace_record *record = log != NULL ? append(false) : NULL;
    if (record != NULL) {
        record->submit_ns = record->span.start_ns = record->span.end_ns = now;
        record->span.ticks = true;
        record->device = view->alloc->place->device;
        record->amount = (bits + 7) / 8;
        record->queue = 0;
        record->name = number_of(name);
        record->thread = thread_number();
        record->what = USM_TRACE_EXPORT;
        record->flags = 0;
        record->n_waits = 0;
        record->n_accesses = 1;
        record->words.few[0] = alloc_number(view->alloc) << 2 | USM_READ;
        atomic_store_explicit(&record->state, USM_EVENT_COMPLETE, memory_order_relaxed);
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
    bool ticks = has_ticks(); /* reads a file: not under the lock */
    usm_leaf *leaf = usm_leaf_of(&log);
    pthread_mutex_lock(&leaf->mutex);
    start_clock(ticks);
    if (log == NULL) {
        log = new;
        log->first = last_record + 1;
        new = NULL;
    }
    trace->start_ns = usm_clock_ns();
    trace->log = log;
    trace->begin = log->n;
    log->users++;
    if (!log->full && trace->begin + limit > log->room) {
        log->room = trace->begin + limit;
    }
    if (log->room > log->n && chunk_for(log->n) != NULL && log->n % CHUNK == 0) {
        chunk_for(log->n)->records[0].at = 0; /* touched here, and not by the first task */
    }
    n_recording++;
    atomic_store_explicit(&usm_trace_on, true, memory_order_relaxed);
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
        trace->end = trace->log->n;
        trace->stop_ns = usm_clock_ns();
        if (--n_recording == 0) {
            atomic_store_explicit(&usm_trace_on, false, memory_order_relaxed);
            log = NULL; /* its traces have it */
        }
    }
    pthread_mutex_unlock(&leaf->mutex);
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

static usm_trace_record *record_at(usm_trace_log *from, size_t n)
{
    return &from->chunks[n / CHUNK]->records[n % CHUNK];
}

usm_trace_moment usm_trace_now(void)
{
    return moment_now();
}

usm_trace_counts usm_trace_count(usm_trace *trace)
{
    usm_leaf *leaf = usm_leaf_of(&log);
    usm_trace_log *from = trace->log;
    pthread_mutex_lock(&leaf->mutex);
    size_t end = trace->end < from->n ? trace->end : from->n, kept = trace->begin + trace->limit;
    kept = kept < from->room ? kept : from->room;
    kept = kept < end ? kept : end;
    kept = kept > trace->begin ? kept : trace->begin;
    usm_trace_counts counts = {.n = kept - trace->begin,
                               .dropped = end - kept,
                               .before = trace->begin,
                               .start_ns = trace->start_ns,
                               .stop_ns = trace->stop_ns};
    for (size_t i = trace->begin; i < kept; i++) {
        counts.pending +=
            atomic_load_explicit(&record_at(from, i)->state, memory_order_relaxed) == USM_EVENT_SUBMITTED;
    }
    pthread_mutex_unlock(&leaf->mutex);
    return counts;
}

/* Rounded times stay within the trace. */
static int64_t within(const usm_trace *trace, int64_t ns, int64_t now_ns)
{
    return ns < trace->start_ns ? trace->start_ns : ns > now_ns ? now_ns : ns;
}

void usm_trace_read(usm_trace *trace, size_t index, const usm_trace_moment *now, usm_trace_record *out)
{
    usm_leaf *leaf = usm_leaf_of(&log);
    pthread_mutex_lock(&leaf->mutex);
    usm_trace_record *record = record_at(trace->log, trace->begin + index);
    pthread_mutex_unlock(&leaf->mutex);
    uint8_t state = atomic_load_explicit(&record->state, memory_order_acquire);
    memset(out, 0, sizeof *out);
    memcpy(out, record, offsetof(usm_trace_record, state));
    memcpy((char *)out + offsetof(usm_trace_record, flags),
           (char *)record + offsetof(usm_trace_record, flags),
           offsetof(usm_trace_record, span) - offsetof(usm_trace_record, flags));
    if (state != USM_EVENT_SUBMITTED) { /* before that, who ends it may be writing */
        out->span = record->span;
    }
    out->submit_ns = within(trace, to_ns(out->submit_ns, now), now->ns);
    if (out->span.ticks) {
        int64_t start_ns =
            out->span.start_ns == 0 ? 0 : within(trace, to_ns(out->span.start_ns, now), now->ns);
        out->span.start_ns = start_ns;
        out->span.end_ns = within(trace, to_ns(out->span.end_ns, now), now->ns);
    }
    atomic_init(&out->state, state);
}
