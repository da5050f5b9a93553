/*
 * Segments: where records of traces lie, with the ends of their tasks. They are written without a lock: by
 * who holds the lock of their queue, and, where tasks end, by the thread that ends them.
 */
#ifndef USM_CORE_SEGMENT_H
#define USM_CORE_SEGMENT_H

#include "record.h"

#define USM_END_FAILED 1u
#define USM_END_TICKS 2u /* start and end are usm_ticks, not usm_clock_ns */

/* Written once, by who ends the task, `told` last. */
typedef struct usm_record_end {
    _Atomic uint64_t told; /* order of the event * 4 + flags; that of another event: it has not ended */
    int64_t start, end;    /* start 0: unknown */
} usm_record_end;

#define USM_SEGMENT_BYTES 16384
#define USM_SEGMENT_SLOTS 184

/* Aligned to its size. */
typedef struct usm_segment {
    struct usm_segment *next; /* of its log, of those that are free, or of those whose tasks have not ended */
    uint64_t log;             /* the first order of the log */
    uint32_t queue;           /* number; 0: of none */
    bool in_order, profiled;
    bool of_log, of_queue; /* who still has it: under the lock of traces */
    uint32_t n_tasks;      /* that had not ended when they were recorded */
    _Atomic uint32_t n;    /* slots that are filled */
    /*
     * Of n_tasks, and the last that the end of a task touches. On a line of its own, as the ends are: to look
     * at those instead would take them out of the other core's cache.
     */
    _Alignas(64) _Atomic uint32_t n_ended;
    _Alignas(64) usm_record_end ends[USM_SEGMENT_SLOTS];
    _Alignas(64) usm_record records[USM_SEGMENT_SLOTS];
} usm_segment;

_Static_assert(USM_SEGMENT_BYTES - sizeof(usm_segment) < 88, "no room is lost");

#define USM_RECORD_MOST_WORDS (USM_RECORD_WORDS + 16 * (USM_SEGMENT_SLOTS - 1))

static inline usm_segment *usm_segment_of(const void *inside)
{
    return (usm_segment *)((uintptr_t)inside & ~(uintptr_t)(USM_SEGMENT_BYTES - 1));
}

static inline usm_record_end *usm_record_end_of(const usm_record *record)
{
    usm_segment *segment = usm_segment_of(record);
    return &segment->ends[record - segment->records];
}

/* Has its task ended, so that the other members of the end may be read? */
static inline bool usm_record_has_ended(const usm_record *record)
{
    usm_record_end *end = usm_record_end_of(record);
    uint64_t order = usm_segment_of(record)->log + record->at;
    return atomic_load_explicit(&end->told, memory_order_acquire) >> 2 == order;
}

/* Both under one lock of the caller's. Of nobody, and empty; NULL where memory ran out. */
usm_segment *usm_segment_new(void);
/* Nobody has it any more; it is used again once all of its tasks have ended. */
void usm_segment_drop(usm_segment *segment);

#endif
