/*
 * Memory for several processes: allocations that others can open, and those that were opened here. A driver's
 * memory is shared by its backend's entries (usm_share_entries), memory of the host by memfd.h.
 *
 * A block has one mapping a process, and one allocation over it, so that all work of the process on it is in
 * one order. An index by the blocks' random identities finds it.
 */
#ifndef USM_CORE_SHARE_H
#define USM_CORE_SHARE_H

#include "core/tasks/queue.h"
#include "handle.h"

/* Other processes can open the memory; true of memory without bytes. */
static inline bool usm_share_has(const usm_alloc *alloc)
{
    return alloc->pointer == NULL ||
           (atomic_load_explicit(&((usm_alloc *)alloc)->flags, memory_order_relaxed) & USM_ALLOC_SHARED) != 0;
}

/*
 * New memory for arrays on queues of the place that other processes can open: memory of the host where the
 * device uses all of it. USM_BUFFER, which says why, where there is none. No lock, no GIL. `poll`: for a wait
 * where memory runs out.
 */
usm_status usm_share_create(usm_place *place, usm_kind kind, size_t nbytes, usm_wait_poll poll,
                            void *argument, USM_GIVES usm_alloc **out, usm_error *error);

/*
 * Fills what a handle says of the block, and `descriptors`, which are the caller's to close. Orders openers
 * after all work that is pending on the memory: waits for it here, or records an event in the driver. The
 * caller has set the members of the array and zeroed the others, and calls usm_handle_seal. USM_BUFFER for
 * memory that is not shared. No lock, no GIL.
 */
usm_status usm_share_export(usm_alloc *alloc, usm_share_handle *handle,
                            int descriptors[USM_HANDLE_DESCRIPTORS], usm_wait_poll poll, void *argument,
                            usm_error *error);

/* The block of a handle if this process has it, a new count; else NULL. Any thread, no lock. */
USM_GIVES usm_alloc *usm_share_find(const usm_share_handle *handle);
/*
 * The block of a handle, which is opened in the place that is the memory's unless this process has it. The
 * descriptors stay the caller's. Later work here is ordered after what the handle orders. USM_VALUE where
 * handle and descriptors do not fit or the exporter has ended; nothing is mapped then. No lock, no GIL.
 */
usm_status usm_share_open(usm_place *place, const usm_share_handle *handle, const int *descriptors,
                          bool readonly, USM_GIVES usm_alloc **out, usm_error *error);

/*
 * Closes the blocks of ended allocations that other processes had open and have closed since
 * (usm_share_entries.ends_with_exporter): the number of those that are still open. Each creation and trim()
 * call it. No lock, no GIL.
 */
size_t usm_share_sweep(void);

#endif
