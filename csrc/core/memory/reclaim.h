/*
 * Memory that nobody uses: what the pool keeps for the next allocation, and what goes back to the driver.
 */
#ifndef USM_CORE_RECLAIM_H
#define USM_CORE_RECLAIM_H

#include "core/base/detach.h"
#include "pool.h"

/* The pool keeps the block, which nobody uses. False: there is no room. Any thread, no lock. */
bool usm_reclaim_to_pool(usm_alloc *alloc);
/*
 * The block has no count and is in no pool. Hands it to the reclaimer if its end may wait: for the stream
 * that the memory was lent to, or for work of the device (frees_wait, and a driver's memory of several
 * processes). Record and count of the context go along. False: it may be freed here and now. Never blocks.
 * Any thread, no lock.
 */
bool usm_reclaim_later(usm_alloc *alloc);
/*
 * Memory of others without a count that is lent to a stream which may be gone: its owner gets it back once
 * the device has been waited for. False: it is not. Never blocks. Any thread, no lock.
 */
bool usm_reclaim_owner_later(usm_alloc *alloc);
/*
 * The stream, of this id (stream_id in backend.h), lives at this moment: its work becomes tasks on the memory
 * that waits here for it. Never blocks. Any thread, no lock.
 */
void usm_reclaim_stream_lives(usm_device *device, void *stream, uint64_t id);
/*
 * A block of this size that waits for its end in the reclaimer, as usm_alloc_create got it from the pool, or
 * NULL. Any thread, no lock.
 */
USM_GIVES usm_alloc *usm_reclaim_reuse(usm_place *place, usm_kind kind, size_t nbytes);
/*
 * Gives the block, which is not lent, back to the driver; the record stays the caller's. Waits as memory_free
 * does. Any thread that may free memory, no lock.
 */
void usm_reclaim_block(usm_alloc *alloc);
/*
 * Gives all spare blocks of the pool back to the driver: their bytes. May wait, too. A block that is lent,
 * where the device cannot be waited for, goes to the reclaimer. No lock.
 */
size_t usm_reclaim_pool(usm_pool *pool);
/*
 * Gives the spare blocks of all kinds and all that the reclaimer has back to the driver, and what the driver
 * itself keeps of freed memory back to the system: the bytes of the blocks. No lock, no GIL.
 */
size_t usm_reclaim_place(usm_place *place);
/*
 * Memory ran out: gives back what the pools of the context keep, and with it what work in the driver still
 * holds. The caller may hold the GIL of tasks of the host, so these are not waited for. Fails with
 * USM_INTERRUPTED alone. No lock, no GIL.
 */
usm_status usm_reclaim(usm_context *context, const usm_patience *patience, usm_error *error);

/*
 * Sets the limit of what the driver is asked for (usage.h); SIZE_MAX: none. Reclaims if more is held already.
 * No lock, no GIL.
 */
void usm_reclaim_beyond(usm_place *place, size_t nbytes);

/* The pools of a place. */
extern const usm_place_part usm_memory_part;

#endif
