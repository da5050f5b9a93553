#include "record.h"

#include "core/base/names.h"
#include "core/device/backend.h"
#include "core/program/launch.h"

static _Atomic uint32_t last_alloc, last_thread;
static _Thread_local uint32_t this_thread;

static uint32_t next_number(_Atomic uint32_t *last)
{
    return atomic_fetch_add_explicit(last, 1, memory_order_relaxed) + 1;
}

static uint32_t thread_number(void)
{
    if (USM_UNLIKELY(this_thread == 0)) {
        this_thread = next_number(&last_thread);
    }
    return this_thread;
}

static uint32_t alloc_number(usm_alloc *alloc)
{
    uint32_t number = atomic_load_explicit(&alloc->number, memory_order_relaxed), none = 0;
    if (USM_LIKELY(number != 0)) {
        return number;
    }
    number = next_number(&last_alloc) & (UINT32_MAX >> 2);
    return atomic_compare_exchange_strong(&alloc->number, &none, number) ? number : none;
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
        case USM_COMMAND_LAUNCH: {
            const size_t *global = command->as.launch->range.global;
            return (uint64_t)global[0] * global[1] * global[2];
        }
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

/* As it was asked for, whatever carries it out. */
static const usm_command *command_of(const usm_submission *submission)
{
    return submission->asked != NULL ? submission->asked : submission->command;
}

static uint32_t name_of(const usm_submission *submission)
{
    if (command_of(submission)->kind != USM_COMMAND_LAUNCH) {
        return submission->name;
    }
    usm_kernel *kernel = submission->command->as.launch->kernel;
    uint32_t number = atomic_load_explicit(&kernel->traced_name, memory_order_relaxed);
    if (USM_UNLIKELY(number == 0)) {
        number = usm_name_number(kernel->name);
        atomic_store_explicit(&kernel->traced_name, number, memory_order_relaxed);
    }
    return number;
}

/* Waits that were asked for, those that are there for order, and the memory that the task touches. */
static void add_words(usm_record *record, uint64_t first, const usm_submission *submission,
                      const usm_event *event, size_t room)
{
    size_t n_links = event != NULL ? event->n_links : 0, n = 0;
    uint32_t *words = usm_record_words(record);
    for (size_t i = 0; i < submission->n_waits && n < room; i++) {
        uint64_t order = submission->waits[i].event->order;
        if (order >= first) {
            words[n++] = (uint32_t)(order - first) | USM_WAIT_EXPLICIT;
        }
    }
    for (size_t i = 0; i < n_links && n < room; i++) {
        uint64_t order = event->links[i].event->order;
        if (order >= first) {
            words[n++] = (uint32_t)(order - first);
        }
    }
    record->n_waits = (uint16_t)n;
    for (size_t i = 0; i < submission->n_accesses && n < room; i++) {
        const usm_access *access = &submission->accesses[i];
        words[n++] = alloc_number(access->alloc) << 2 | (uint32_t)access->mode;
    }
    record->n_accesses = (uint16_t)(n - record->n_waits);
}

void usm_record_task(usm_record *record, const usm_queue *queue, const usm_submission *submission,
                     const usm_event *event, uint64_t order, uint64_t first, size_t most_words)
{
    record->at = (uint32_t)(order - first);
    record->name = name_of(submission);
    record->amount = amount_of(command_of(submission));
    record->device = queue->device;
    record->thread = thread_number();
    record->what = (uint8_t)command_of(submission)->kind;
    add_words(record, first, submission, event, most_words);
}

void usm_record_passing(usm_record *record, const usm_view *view, usm_access_mode mode, const char *name)
{
    uint64_t bits = usm_dtype_table[view->dtype].bits;
    for (int i = 0; i < view->ndim; i++) {
        bits *= (uint64_t)view->shape[i];
    }
    record->name = usm_name_number(name);
    record->amount = (bits + 7) / 8;
    record->device = view->alloc->place->device;
    record->thread = thread_number();
    record->n_waits = 0;
    record->n_accesses = 1;
    record->words[0] = alloc_number(view->alloc) << 2 | (uint32_t)mode;
}
