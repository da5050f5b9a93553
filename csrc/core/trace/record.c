#include "record.h"

#include "core/base/heap.h"
#include "core/program/launch.h"
#include "trace.h"

#include <string.h>

/* Under the lock of traces. */
static uint32_t last_alloc, last_queue, last_thread;
static _Thread_local uint32_t this_thread;

/* A hash table of names: its lists stay short for as many kernels as a program has. */
#define BUCKETS 1024

typedef struct name {
    struct name *next;
    char text[];
} name;

static _Atomic(name *) names[BUCKETS]; /* names are added at the heads, and stay */

const char *usm_record_name(const char *text)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    size_t size = 1;
    for (const char *at = text; *at != 0; at++, size++) {
        hash = (hash ^ (unsigned char)*at) * 16777619u;
    }
    _Atomic(name *) *bucket = &names[hash % BUCKETS];
    name *seen = NULL, *head = atomic_load_explicit(bucket, memory_order_acquire), *new = NULL;
    do {
        for (const name *known = head; known != seen; known = known->next) {
            if (strcmp(known->text, text) == 0) {
                free(new);
                return known->text;
            }
        }
        if (new == NULL && (new = usm_malloc(sizeof *new + size)) == NULL) {
            return NULL;
        }
        memcpy(new->text, text, size);
        new->next = seen = head;
    } while (!atomic_compare_exchange_weak_explicit(bucket, &head, new, memory_order_acq_rel,
                                                    memory_order_acquire));
    return new->text;
}

/* The number of an object, given when it is first recorded. */
static uint32_t number_of(uint32_t *number, uint32_t *last)
{
    *number = *number != 0 ? *number : ++*last;
    return *number;
}

static uint32_t access_word(usm_alloc *alloc, usm_access_mode mode)
{
    return number_of(&alloc->number, &last_alloc) << 2 | (uint32_t)mode;
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
            return usm_range_items(&command->as.launch->range);
        case USM_COMMAND_SEQUENCE:
            return (uint64_t)command->as.sequence.count *
                   usm_dtype_table[command->as.sequence.dtype].itemsize;
        case USM_COMMAND_STRIDED:
            return usm_strided_count(command->as.strided) *
                   usm_dtype_table[command->as.strided->dst_dtype].itemsize;
        default:
            return 0;
    }
}

/* As it was asked for, whatever carries it out. */
static const usm_command *command_of(const usm_submission *submission)
{
    return submission->original_command != NULL ? submission->original_command : submission->command;
}

const char *usm_record_name_of(const usm_submission *submission)
{
    const usm_command *command = command_of(submission);
    const char *name = submission->name;
    if (command->kind == USM_COMMAND_LAUNCH) {
        const usm_kernel *kernel = command->as.launch->kernel;
        name = kernel->label != NULL ? kernel->label : kernel->name;
    }
    return name != NULL ? usm_record_name(name) : NULL;
}

/* Adds what is not older than the trace's first; `flag` marks each. */
static size_t add_waits(uint32_t *words, uint64_t first, const usm_wait *waits, size_t n_waits, uint32_t flag)
{
    size_t n = 0;
    for (size_t i = 0; i < n_waits; i++) {
        uint64_t order = waits[i].event->order;
        if (order >= first) {
            words[n++] = (uint32_t)(order - first) | flag;
        }
    }
    return n;
}

void usm_record_task(usm_record *record, uint32_t *words, uint64_t first, const char *name, usm_queue *queue,
                     const usm_submission *submission, const usm_submitted *how)
{
    const usm_command *command = command_of(submission);
    record->name = name;
    record->device = queue->device;
    record->amount = amount_of(command);
    record->submit_ns = how->submit_ns;
    record->start_ns = how->done && how->end_ns != 0 ? how->start_ns : how->done ? how->submit_ns : 0;
    record->end_ns = !how->done ? 0 : how->end_ns != 0 ? how->end_ns : usm_clock_ns();
    record->queue = number_of(&queue->number, &last_queue);
    record->thread = number_of(&this_thread, &last_thread);
    record->what = (uint8_t)command->kind;
    record->state = how->done ? USM_EVENT_COMPLETE : USM_EVENT_SUBMITTED;
    record->in_order = queue->in_order;
    record->profiled = queue->profiling;
    size_t n = add_waits(words, first, submission->waits, submission->n_waits, USM_WAIT_EXPLICIT);
    n += add_waits(words + n, first, how->waits, how->n_waits, 0);
    record->n_waits = (uint32_t)n;
    record->n_accesses = (uint32_t)submission->n_accesses;
    for (size_t i = 0; i < submission->n_accesses; i++) {
        words[n + i] = access_word(submission->accesses[i].alloc, submission->accesses[i].mode);
    }
}

void usm_record_passing(usm_record *record, uint32_t *word, int what, const usm_view *view, const char *name)
{
    int64_t now = usm_clock_ns();
    *record = (usm_record){
        .name = name,
        .device = view->alloc->place->device,
        .amount = (uint64_t)usm_dtype_nbytes(view->dtype, usm_view_size(view)),
        .submit_ns = now,
        .start_ns = now,
        .end_ns = now,
        .n_accesses = 1,
        .thread = number_of(&this_thread, &last_thread),
        .what = (uint8_t)what,
        .state = USM_EVENT_COMPLETE,
    };
    *word = access_word(view->alloc, what == USM_TRACE_EXPORT ? USM_READ : USM_WRITE);
}
