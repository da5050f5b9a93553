/*
 * The life of an allocation: one block of unified shared memory, owned or imported.
 *
 * Arrays, exports and tasks hold counts of it; the last one returns the block to its pool or calls the
 * foreign deleter. Nothing here needs Python, so that a DLPack deleter over an allocation runs on any
 * thread.
 */
#ifndef USM_CORE_ALLOC_H
#define USM_CORE_ALLOC_H

#include "alloc_record.h"

/* The order of the host task that this thread runs (core/tasks/event.h), for the record; 0: none. */
extern _Thread_local uint64_t usm_alloc_inside;

/*
 * nbytes of a kind in the place, from the pool. 0 bytes give an allocation without memory. want_zeros: sets
 * USM_ALLOC_ZEROED where the block is known to hold zeros. Any thread, no lock; may block in the driver.
 */
usm_status usm_alloc_create(usm_place *place, usm_kind kind, size_t nbytes, bool want_zeros,
                            USM_GIVES usm_alloc **out, usm_error *error);

/*
 * Before a block of this size is made: USM_MEMORY where the device or the limit of the place does not allow
 * it; else the bytes count as held (usage.h). Any thread, no lock.
 */
usm_status usm_alloc_admit(usm_place *place, usm_kind kind, size_t nbytes, usm_error *error);

/*
 * Foreign memory: owner is released by deleter (both may be NULL), under the interpreter that the caller,
 * who then has its GIL, runs in. On failure the owner stays with the caller.
 */
usm_status usm_alloc_import(usm_place *place, usm_kind kind, void *pointer, size_t nbytes,
                            USM_TAKES void *owner, void (*deleter)(void *owner), USM_GIVES usm_alloc **out,
                            usm_error *error);

/* The deleter needs no interpreter: any thread may run it, also after the end of the one that imported. */
static inline void usm_alloc_end_anywhere(usm_alloc *alloc)
{
    alloc->deferred.home = NULL;
}

/*
 * Orders work of `queue` (NULL: the host, or another stream) after the work that is pending on the memory in
 * the stream that it is lent to: that work becomes a task, on which later accesses depend. Enqueues nothing
 * if the stream is idle, or is the queue's own. USM_BUFFER if the stream is being captured into a graph. No
 * lock; does not wait.
 */
static inline usm_status usm_alloc_order(usm_alloc *alloc, struct usm_queue *queue, usm_error *error)
{
    return USM_LIKELY(!usm_alloc_has(alloc, USM_ALLOC_UNORDERED))
               ? USM_OK
               : usm_alloc_lender(alloc)->join(alloc, queue, error);
}

/*
 * Ends an allocation without a count, on the calling thread: a foreign deleter runs in the call. No lock
 * held.
 */
void usm_alloc_destroy(USM_TAKES usm_alloc *alloc);

static inline void usm_alloc_release(USM_TAKES usm_alloc *alloc)
{
    /*
     * The only count: nobody else can make another, since no list but that of shared memory finds an
     * allocation without one.
     */
    if ((!usm_alloc_has(alloc, USM_ALLOC_SHARED) && usm_refcount_down_alone(&alloc->refs)) ||
        usm_refcount_down(&alloc->refs)) {
        usm_alloc_destroy(alloc);
    }
}

/* For workers: a foreign deleter, which may need the GIL, is deferred. */
void usm_alloc_release_deferred(USM_TAKES usm_alloc *alloc);

#endif
