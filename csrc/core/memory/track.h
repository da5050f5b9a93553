/* The live allocations and the lines that made them, for finding leaks; only while tracking is on. */
#ifndef USM_CORE_TRACK_H
#define USM_CORE_TRACK_H

#include "alloc_record.h"
#include "core/base/sync.h"

extern _Atomic bool usm_track_on;

static inline bool usm_track_is_on(void)
{
    return atomic_load_explicit(&usm_track_on, memory_order_relaxed);
}

/* For allocations from now on; those that are remembered stay so until they end. Any thread. */
void usm_track_set(bool on);

/*
 * Sets, once, the function that describes where the calling thread is in the user's program: a malloc'd text,
 * or NULL if that is unknown. It is called with no lock, on any thread, with or without the GIL.
 */
void usm_track_set_place(char *(*place)(void));

/* For alloc.c. Where memory runs out, the allocation is not remembered. No lock. */
void usm_track_begin(usm_alloc *alloc);
void usm_track_end(usm_alloc *alloc);

typedef struct usm_tracked_info {
    usm_device *device;
    usm_kind kind;
    bool foreign;
    const void *pointer;
    size_t size;
    int64_t born_ns; /* usm_clock_ns */
    char *where;     /* malloc'd, or NULL */
} usm_tracked_info;

/* All that are alive, oldest first, in a malloc'd array that is the caller's, with its texts. No lock. */
usm_status usm_track_list(usm_tracked_info **out, size_t *n, usm_error *error);
void usm_track_list_free(USM_TAKES usm_tracked_info *list, size_t n);

#endif
