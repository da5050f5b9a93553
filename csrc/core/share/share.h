/*
 * Memory for several processes: allocations that others can open, and those that were opened here. A driver's
 * memory is shared by its backend's entries (usm_share_entries), memory of the host by memfd.h.
 *
 * A block has one mapping a process, and one allocation over it, so that all work of the process on it is in
 * one order. An index by the blocks' random identities finds it.
 */
#ifndef USM_CORE_SHARE_H
#define USM_CORE_SHARE_H

#include "core/tasks/submit.h"
#include "handle.h"

/* A block of this process. What changes in it, but `readonly`, is the lock's (usm_share_lock). */
typedef struct usm_share {
    struct usm_share *next; /* in `all` */
    uint8_t block[16];      /* as in handles */
    usm_alloc *alloc;       /* no count; NULL: it has ended, and others have the memory open */
    usm_place *place;
    const usm_share_entries *entries;
    usm_shared_memory memory;
    usm_share_record record; /* its descriptors are this struct's */
    bool created;            /* by this process, and not opened */
    _Atomic bool readonly;   /* nothing here may write to it; only ever cleared */
    /* Of handles that were made here, where the memory ends with the exporter. */
    struct usm_pipe *pipes;
    /* While a thread asks the system, without the lock, which of them are closed: these are that thread's. */
    bool busy;
    struct usm_pipe *asked;
    struct usm_share *next_asked;
} usm_share;

/* Other processes can open the memory; true of memory without bytes. */
static inline bool usm_share_has(const usm_alloc *alloc)
{
    return alloc->pointer == NULL || usm_alloc_has(alloc, USM_ALLOC_SHARED);
}

/*
 * New memory for arrays on queues of the place that other processes can open: memory of the host where the
 * device uses all of it. USM_BUFFER, which says why, where there is none. No lock, no GIL. `poll`: for a wait
 * where memory runs out.
 */
usm_status usm_share_create(usm_place *place, usm_kind kind, size_t nbytes, const usm_patience *patience,
                            USM_GIVES usm_alloc **out, usm_error *error);

/*
 * Closes the blocks of ended allocations that other processes had open and have closed since
 * (usm_share_entries.ends_with_exporter): the number of those that are still open. Each creation and trim()
 * call it. No lock, no GIL.
 */
size_t usm_share_sweep(void);

/* What follows is for export.c and opening.c. */

/* The block of memory that usm_share_has(). */
static inline usm_share *usm_share_of(usm_alloc *alloc)
{
    return alloc->owner;
}

/* Locks the index of blocks: a leaf, which the caller unlocks. */
pthread_mutex_t *usm_share_lock(void);
/* A record without memory; NULL: no memory for it. */
USM_GIVES usm_share *usm_share_new(usm_place *place, const usm_share_entries *entries, usm_kind kind,
                                   size_t nbytes);
/* Closes a block that is not in the index. No lock. */
void usm_share_destroy(USM_TAKES usm_share *share);
/* An allocation over a mapped block that nobody else knows. It does not own the block yet. */
usm_status usm_share_new_alloc(usm_share *share, size_t nbytes, USM_GIVES usm_alloc **out, usm_error *error);
/* The allocation's end is the block's from now on. The lock is held, unless nobody knows either of them. */
void usm_share_own(usm_share *share, usm_alloc *alloc);
/* Puts the block into the index. The lock is held. */
void usm_share_list(usm_share *share);
/*
 * The lock is held. The allocation of a block, a new count; else NULL, and *lent is the block if it is one of
 * this process whose allocation has ended, or ends now, while others have it open.
 */
USM_GIVES usm_alloc *usm_share_find_listed(const usm_share_handle *handle, usm_share **lent);
/* Adds a pipe, whose write end goes to *out. Those of handles that are closed go. No lock. */
usm_status usm_share_add_pipe(usm_share *share, int *out, usm_error *error);

#endif
