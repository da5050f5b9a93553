/*
 * Traces: what was submitted while a trace recorded, when it ran, and what it waited for. Traces of one time
 * share one log: a list of records that grows under one lock, and one of ends under another.
 */
#ifndef USM_CORE_TRACE_H
#define USM_CORE_TRACE_H

#include "record.h"

/*
 * Records beside the kinds of commands: arrays that were exported, and arrays of others that were
 * imported.
 */
#define USM_TRACE_EXPORT 32
#define USM_TRACE_IMPORT 33

typedef struct usm_trace usm_trace;

/* Starts a trace of the next `limit` tasks and exchanges, of all queues and threads. No lock. */
usm_status usm_trace_start(size_t limit, USM_GIVES usm_trace **out, usm_error *error);
/* Ends the recording of new tasks; the ends of recorded ones are still noted. May be called again. */
void usm_trace_stop(usm_trace *trace);
void usm_trace_free(USM_TAKES usm_trace *trace);

typedef struct usm_trace_counts {
    size_t n;
    uint64_t dropped; /* what came after the limit, or found no memory */
    size_t pending;   /* tasks that have not ended */
    int64_t start_ns, stop_ns;
} usm_trace_counts;

/* The counts so far. Any thread, no lock. */
usm_trace_counts usm_trace_count(usm_trace *trace);

/* A copy of the records so far, in the order of submission. */
typedef struct usm_trace_list {
    uint64_t first; /* waits are counted from it */
    size_t n;
    usm_record *records;
    uint32_t *words;
} usm_trace_list;

/* Copies the records of a trace that may still record. usm_trace_list_free releases them. No lock. */
usm_status usm_trace_read(usm_trace *trace, USM_GIVES usm_trace_list *out, usm_error *error);
void usm_trace_list_free(USM_TAKES usm_trace_list *list);
/* The index of the record that a wait names; list->n where it is not in the trace. */
size_t usm_trace_find(const usm_trace_list *list, uint32_t wait);

/*
 * Records that an array is exported or imported (`what`), and by which interface (`name`). Called where
 * usm_trace_is_on. Any lock but a leaf.
 */
void usm_trace_passing(int what, const usm_view *view, const char *name);

#endif
