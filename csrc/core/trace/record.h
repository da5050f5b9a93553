/* Records of traces: what there is to say of a task that is submitted, or an array that is passed on. */
#ifndef USM_CORE_RECORD_H
#define USM_CORE_RECORD_H

#include "core/copy/copy.h"

#define USM_RECORD_WORDS 5

#define USM_WAIT_EXPLICIT (1u << 31) /* of an entry of waits: the caller named the event */

/* One line of the cache; the rest goes on in the slots behind it. Readers resolve names and numbers. */
typedef struct usm_record {
    uint32_t at;       /* usm_event.order, counted from the first of its log */
    uint32_t name;     /* usm_name_number; 0: none */
    int64_t submitted; /* usm_ticks */
    uint64_t amount;   /* bytes; of a launch: work-items */
    usm_device *device;
    uint32_t thread; /* number */
    uint16_t n_waits, n_accesses;
    uint8_t what;
    /* Waits: as `at`. Then allocations: their number * 4 + usm_access_mode. */
    uint32_t words[USM_RECORD_WORDS];
} usm_record;

_Static_assert(sizeof(usm_record) == 64, "a record is one line");

/* Slots of a record of so many words. */
static inline uint32_t usm_record_slots(size_t n_words)
{
    return n_words <= USM_RECORD_WORDS ? 1 : 2 + (uint32_t)((n_words - USM_RECORD_WORDS - 1) / 16);
}

static inline uint32_t *usm_record_words(const usm_record *record)
{
    return (uint32_t *)((char *)record + offsetof(usm_record, words)); /* more than the array: see above */
}

/*
 * All but `submitted`, with orders counted from `first` and at most so many words. event may be
 * NULL. Queue lock and hazard stripes held.
 */
void usm_record_task(usm_record *record, const usm_queue *queue, const usm_submission *submission,
                     const usm_event *event, uint64_t order, uint64_t first, size_t most_words);
/* Of an array that passes between libraries: knows neither when nor in what order. Any lock but a leaf. */
void usm_record_passing(usm_record *record, const usm_view *view, usm_access_mode mode, const char *name);

#endif
