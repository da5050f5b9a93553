/*
 * Hazards: which earlier tasks a new one must wait for because they touch the same memory.
 * The caller holds the hazard stripe of the allocation, unless a function says otherwise.
 */
#ifndef USM_CORE_HAZARD_H
#define USM_CORE_HAZARD_H

#include "event.h"

/* A growing list of dependencies; each entry has a count of its event. Small ones need no memory. */
#define USM_INLINE_WAITS 16
typedef struct usm_wait_list {
    usm_wait *items;
    size_t n, capacity;
    usm_wait inline_items[USM_INLINE_WAITS];
} usm_wait_list;

static inline void usm_wait_list_init(usm_wait_list *list)
{
    list->items = list->inline_items;
    list->n = 0;
    list->capacity = USM_INLINE_WAITS;
}

/* Adds an event that has not ended; an event that is there already only gains `data`. False: no memory. */
bool usm_wait_list_add(usm_wait_list *list, USM_KEEPS usm_event *event, bool data);
/* Gives the counts back; no lock held (an event's last count may go here). */
void usm_wait_list_clear(usm_wait_list *list);

/* The mask of the stripes of all these allocations, for usm_hazard_lock. No lock. */
uint64_t usm_hazard_mask(const usm_access *accesses, size_t n);

/*
 * Adds what the access must wait for. *cause (if NULL before) becomes the failure, without a count, that
 * makes the access pointless. USM_MEMORY, or USM_VALUE for memory whose borrow has ended.
 */
usm_status usm_hazard_collect(usm_alloc *alloc, usm_access_mode mode, usm_wait_list *waits,
                              usm_failure **cause, usm_error *error);
/* The same into a new list, without a submission: takes the stripe itself. No lock held. */
usm_status usm_hazard_look(usm_alloc *alloc, usm_access_mode mode, usm_wait_list *waits, usm_error *error);
/*
 * The failure of the last write: NULL if it succeeded, if the failure was delivered, and while a write is
 * pending, whose own end decides. Without a count.
 */
usm_failure *usm_hazard_failure(usm_alloc *alloc);
/* Makes room for one more reader, so that recording cannot fail. False: no memory. */
bool usm_hazard_reserve(usm_alloc *alloc, usm_access_mode mode);
/*
 * Makes later accesses wait for the event, on all its allocations, each of which it names once; a write
 * replaces what was recorded before. The event gets a count of each allocation: that of an event which it
 * replaces, and after which it ends, else a new one. All stripes held.
 */
void usm_hazard_record(usm_event *event);
/*
 * Whether usm_hazard_forget would do nothing for each of the event's accesses. True for most tasks of a busy
 * queue: later ones have taken over their places and counts. No lock.
 */
bool usm_hazard_is_forgotten(const usm_event *event, const usm_failure *failure);
/*
 * Removes an event that has ended. A write that succeeded clears the failure of an earlier one. A write that
 * failed spoils the memory, unless its failure was delivered before (a refused submission). True if the
 * event still had a count of the allocation, which is now the caller's.
 */
bool usm_hazard_forget(usm_alloc *alloc, usm_access_mode mode, usm_event *event, usm_failure *failure);
/*
 * In the child of a fork, where the event continues and later ones end: takes again, permanently, the counts
 * that later events took over. One thread, no lock.
 */
void usm_hazard_hold(const usm_event *event);
/* Sets `pending` anew: tasks, and work of other libraries that no task stands for. */
void usm_hazard_recount(usm_alloc *alloc);
/* Sets the failure of the last write; NULL clears it, since the memory was written again. */
void usm_hazard_spoil(usm_alloc *alloc, USM_KEEPS usm_failure *failure);

#endif
