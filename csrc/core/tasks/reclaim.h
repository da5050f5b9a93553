/*
 * Memory that nobody uses: what the pool keeps for the next allocation, and what goes back to the driver.
 */
#ifndef USM_CORE_RECLAIM_H
#define USM_CORE_RECLAIM_H

#include "core/memory/pool.h"
#include "event.h"

/* The pool keeps the block, which nobody uses. False: there is no room. Any thread, no lock. */
bool usm_reclaim_to_pool(usm_alloc *alloc);
/*
 * Gives the block back to the driver; the record stays the caller's. Waits, ten seconds at most, for the
 * stream that the memory was lent to. Any thread that may free memory, no lock.
 */
void usm_reclaim_block(usm_alloc *alloc);
/* Gives all spare blocks of the pool back to the driver: their bytes. No lock. */
size_t usm_reclaim_pool(usm_pool *pool);
/*
 * Gives the spare blocks of all kinds back to the driver, and what the driver itself keeps of freed memory
 * back to the system: the bytes of the blocks. No lock, no GIL.
 */
size_t usm_reclaim_place(usm_place *place);
/*
 * Memory ran out: gives back what the pools of the context keep, and with it what work in the driver still
 * holds. The caller may hold the GIL of tasks of the host, so these are not waited for. Fails with
 * USM_INTERRUPTED alone. No lock, no GIL.
 */
usm_status usm_reclaim(usm_context *context, usm_wait_poll poll, void *argument, usm_error *error);

/*
 * Sets the limit of what the driver is asked for (usage.h); SIZE_MAX: none. Reclaims if more is held already.
 * No lock, no GIL.
 */
void usm_reclaim_beyond(usm_place *place, size_t nbytes);

/* The pools of a place. */
extern const usm_place_part usm_memory_part;

#endif
