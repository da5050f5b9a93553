/* Records of traces: what is kept of a task that was submitted, or of an array that was exchanged. */
#ifndef USM_CORE_RECORD_H
#define USM_CORE_RECORD_H

#include "core/layout/view.h"
#include "core/tasks/observer.h"
#include "core/tasks/submit.h"

#define USM_WAIT_EXPLICIT (1u << 31) /* of an entry of waits: the caller named the event */

/* Times are those of usm_clock_ns; 0: unknown. */
typedef struct usm_record {
    uint64_t order;   /* as usm_event.order */
    const char *name; /* lives as long as the process; NULL: none */
    usm_device *device;
    uint64_t amount; /* bytes; of a launch: work-items */
    int64_t submit_ns, start_ns, end_ns;
    size_t first_word; /* in the words of its trace: waits, then accesses */
    uint32_t n_waits, n_accesses;
    uint32_t queue, thread; /* numbers; queue 0: of none */
    uint8_t what;           /* usm_command_kind, or one of trace.h */
    uint8_t state;          /* usm_event_state: SUBMITTED until the end is known */
    bool in_order, profiled;
} usm_record;

/* A copy of the name that lives as long as the process; NULL: memory ran out. Any thread, any lock. */
const char *usm_record_name(const char *text);
/* The same of the name that records give the task; NULL: it has none, or memory ran out. */
const char *usm_record_name_of(const usm_submission *submission);

/* The most words that usm_record_task writes. */
static inline size_t usm_record_most_words(const usm_submission *submission, const usm_submitted *how)
{
    return submission->n_waits + submission->n_accesses + how->n_waits;
}

/*
 * Describes the task with its kept name, all but its order. Waits become orders counted from `first`, without
 * those before it; accesses become the allocation's number * 4 + usm_access_mode. The lock of traces held.
 */
void usm_record_task(usm_record *record, uint32_t *words, uint64_t first, const char *name, usm_queue *queue,
                     const usm_submission *submission, const usm_submitted *how);
/* Describes an array that is exported or imported, by the kept name. The lock of traces held. */
void usm_record_passing(usm_record *record, uint32_t *word, int what, const usm_view *view, const char *name);

#endif
