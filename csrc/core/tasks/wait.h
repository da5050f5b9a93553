/* Waits of the calling thread, which may be a task: for memory that the host is about to touch. */
#ifndef USM_CORE_WAIT_H
#define USM_CORE_WAIT_H

#include "queue.h"

/*
 * Inside a task (elsewhere it does nothing): one call copies from or to the memory, and then waits for the
 * copy. That is refused where the copy would be ordered after the task. No other thread has the allocation.
 */
void usm_alloc_set_loaned(usm_alloc *alloc, bool loaned);
static inline bool usm_alloc_is_loaned(const usm_alloc *alloc)
{
    return (atomic_load_explicit(&((usm_alloc *)alloc)->flags, memory_order_relaxed) & USM_ALLOC_LOANED) != 0;
}

/*
 * Before the host touches the memory: waits for work that this access must not meet (a task never waits for
 * itself or for what waits for it; for loaned memory that is USM_DEADLOCK). USM_FAILED when a read would see
 * what a failed task should have written. With `delivers` the failure then counts as delivered; without it,
 * for display, the memory is refused again. No lock, no GIL.
 */
usm_status usm_alloc_wait(usm_alloc *alloc, usm_access_mode mode, bool delivers, int64_t deadline_ns,
                          usm_wait_poll poll, void *argument, usm_error *error);
/* The last write has failed, nobody was told, and no later write is pending: a read raises. No lock. */
bool usm_alloc_has_failed(usm_alloc *alloc);

#endif
