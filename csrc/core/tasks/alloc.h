/*
 * Allocations: one block of unified shared memory, owned or imported, and the tasks that use it.
 *
 * Arrays, exports and tasks hold counts of it; the last one returns the block to its pool or calls the
 * foreign deleter. Nothing here needs Python, so that a DLPack deleter over an allocation runs on any
 * thread.
 */
#ifndef USM_CORE_ALLOC_H
#define USM_CORE_ALLOC_H

#include "core/layout/view.h"
#include "core/memory/allocation.h"
#include "event.h"

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
 * the stream of another library (alloc_stream.h): that work becomes a task, on which later accesses depend.
 * Enqueues nothing if the stream is idle, or is the queue's own. USM_BUFFER if the stream is being captured
 * into a graph. No lock; does not wait.
 */
usm_status usm_alloc_stream_join(usm_alloc *alloc, struct usm_queue *queue, usm_error *error);

static inline usm_status usm_alloc_order(usm_alloc *alloc, struct usm_queue *queue, usm_error *error)
{
    return USM_LIKELY((atomic_load_explicit(&alloc->flags, memory_order_acquire) & USM_ALLOC_UNORDERED) == 0)
               ? USM_OK
               : usm_alloc_stream_join(alloc, queue, error);
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
    if (((atomic_load_explicit(&alloc->flags, memory_order_relaxed) & USM_ALLOC_SHARED) == 0 &&
         usm_refcount_down_alone(&alloc->refs)) ||
        usm_refcount_down(&alloc->refs)) {
        usm_alloc_destroy(alloc);
    }
}

/*
 * The access of a task that writes n bytes of the memory. The rest keeps what a failed task left there, so
 * that a write to a part does not end the failure: it is refused, as a read is.
 */
static inline usm_access usm_write(usm_alloc *alloc, size_t nbytes)
{
    size_t all = atomic_load_explicit(&alloc->nbytes, memory_order_relaxed); /* 0: of others */
    return (usm_access){alloc, nbytes < (all != 0 ? all : alloc->size) ? USM_READ_WRITE : USM_WRITE};
}

static inline usm_access usm_write_view(const usm_view *view)
{
    return usm_write(view->alloc, (size_t)usm_dtype_nbytes(view->dtype, usm_view_size(view)));
}

/*
 * Inside a task (elsewhere it does nothing): one call copies from or to the memory, and then waits for the
 * copy. That is refused where the copy would be ordered after the task. No other thread has the allocation.
 */
void usm_alloc_set_loaned(usm_alloc *alloc, bool loaned);
static inline bool usm_alloc_is_loaned(const usm_alloc *alloc)
{
    return (atomic_load_explicit(&((usm_alloc *)alloc)->flags, memory_order_relaxed) & USM_ALLOC_LOANED) != 0;
}

/* For workers: a foreign deleter, which may need the GIL, is deferred. */
void usm_alloc_release_deferred(USM_TAKES usm_alloc *alloc);

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
