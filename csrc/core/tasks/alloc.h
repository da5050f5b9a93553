/*
 * Allocations: one block of unified shared memory, owned or imported, and who works on it.
 *
 * Arrays, exports and tasks hold counts of it; the last one returns the block to its pool or calls the
 * foreign deleter. There is no Python in here, so that a DLPack deleter over it runs on any thread.
 */
#ifndef USM_CORE_ALLOC_H
#define USM_CORE_ALLOC_H

#include "core/device/context.h"
#include "event.h"

/*
 * Work on the block that has not ended (hazard stripe of the allocation). A task that reads waits for
 * `writer`; one that writes waits for `writer` and all `readers`, and replaces them.
 */
typedef struct usm_hazards {
    /* No counts: an event takes itself out of here before it goes. */
    usm_event *writer;
    usm_event **readers;
    uint32_t n_readers, readers_capacity;
    _Atomic uint32_t pending; /* writer and readers together; 0 may be read without the lock */
    /* The last write that ended failed and nobody was told: reading it is refused. One count. */
    usm_failure *_Atomic failure;
} usm_hazards;

#define USM_ALLOC_ZEROED 1u  /* as it came from the backend; only before its first use */
#define USM_ALLOC_ENDED 2u   /* a borrow that is over: the memory may be gone */
#define USM_ALLOC_FOREIGN 4u /* imported: the deleter, if any, releases it */
/* Work of others on it may be pending in `stream`, and nothing here waits for that yet. */
#define USM_ALLOC_UNORDERED 8u

typedef struct usm_alloc {
    usm_refcount refs;
    uint8_t kind;       /* usm_kind */
    uint8_t size_class; /* of the pool; USM_NOT_POOLED */
    _Atomic uint8_t flags;
    uint8_t stripe;          /* of its hazards (sync.h) */
    struct usm_place *place; /* alive through its context */
    usm_context *context;    /* one count */
    void *pointer;           /* NULL where size is 0 */
    size_t size;             /* bytes of the block; imported: spanned by the first array */
    _Atomic size_t nbytes;   /* asked for; 0: imported, or in the pool */
    usm_hazards hazards;
    /* Imported memory: called with owner when the last count is gone; NULL for memory of our own. */
    void (*deleter)(void *owner);
    void *owner;
    _Atomic uint32_t number;     /* in traces; 0: in none so far (trace.h) */
    struct usm_tracked *tracked; /* NULL where nobody asked where it was made (track.h) */
    /* Where USM_ALLOC_UNORDERED was set: the stream, in DLPack's words, and the device that it is of. */
    _Atomic(void *) stream;
    struct usm_device *stream_device;
    struct {
        struct usm_alloc *lower, *higher;
    } tree; /* of blocks.c */
    union {
        struct usm_alloc *next_free; /* in the pool */
        usm_deferred deferred;       /* on its way to a thread that may run the deleter */
    } link;
} usm_alloc;

/*
 * nbytes of a kind in the place, from the pool. 0 bytes give an allocation without memory. want_zeros: sets
 * USM_ALLOC_ZEROED where the block is known to hold zeros. Any thread, no lock; may block in the driver.
 */
usm_status usm_alloc_create(usm_place *place, usm_kind kind, size_t nbytes, bool want_zeros,
                            USM_GIVES usm_alloc **out, usm_error *error);

/*
 * Foreign memory: owner is released by deleter (both may be NULL). On failure the owner stays with the
 * caller.
 */
usm_status usm_alloc_import(usm_place *place, usm_kind kind, void *pointer, size_t nbytes,
                            USM_TAKES void *owner, void (*deleter)(void *owner), USM_GIVES usm_alloc **out,
                            usm_error *error);

/*
 * The producer of memory that was imported just now, and that nobody else has seen, may have work on it in
 * this stream of the device (1 and 2 as in DLPack). Nothing is enqueued yet: the first use of the memory
 * brings the two into order (usm_alloc_order), if it still must.
 */
void usm_alloc_follows(usm_alloc *alloc, usm_device *device, void *stream);
/*
 * From now on others may work on the memory in this stream, for they were lent it: the next use of it comes
 * behind, in the same way. Memory that is not in order yet is put so first. Any thread, no lock.
 */
usm_status usm_alloc_lend(usm_alloc *alloc, usm_device *device, void *stream, usm_error *error);
/*
 * Before work of `queue` (NULL: the host, or another stream) touches such memory: from here on the work that
 * is pending in the stream is a task of ours, which what comes next waits for. Nothing is enqueued where the
 * stream is idle, or is the queue's own. USM_BUFFER where it is being captured into a graph. No lock; does
 * not wait.
 */
usm_status usm_alloc_put_in_order(usm_alloc *alloc, struct usm_queue *queue, usm_error *error);

static inline usm_status usm_alloc_order(usm_alloc *alloc, struct usm_queue *queue, usm_error *error)
{
    return USM_LIKELY((atomic_load_explicit(&alloc->flags, memory_order_acquire) & USM_ALLOC_UNORDERED) == 0)
               ? USM_OK
               : usm_alloc_put_in_order(alloc, queue, error);
}

/*
 * Before memory that was lent goes back to the driver, where no task of ours holds it: waits for the stream,
 * ten seconds at most. At once for all other memory. No lock, no GIL where that may take long.
 */
void usm_alloc_finish_lent(usm_alloc *alloc);

/* Ends what the driver has ended of the work on it: usm_alloc_is_busy is exact then. No lock. */
void usm_alloc_settle(usm_alloc *alloc);
/*
 * Later work of the stream waits, on the device, for what an access must wait for: usm_stream_follow. Nothing
 * is enqueued where nothing is pending, or where it is pending in that very stream. No lock, no GIL.
 */
usm_status usm_alloc_hand_over(usm_alloc *alloc, usm_access_mode mode, usm_device *device, void *stream,
                               usm_wait_poll poll, void *argument, usm_error *error);
/*
 * What is enqueued in the stream at this moment becomes a task of ours that accesses the memory: it stays as
 * long, and later uses come behind. Nothing where the stream is idle, or is being captured. No lock.
 */
usm_status usm_alloc_outlast(usm_alloc *alloc, usm_access_mode mode, usm_device *device, void *stream,
                             usm_error *error);

/* The mask of the stripe of its hazards. */
static inline uint64_t usm_alloc_stripe(const usm_alloc *alloc)
{
    return UINT64_C(1) << alloc->stripe;
}

static inline usm_alloc *usm_alloc_retain(USM_KEEPS usm_alloc *alloc)
{
    usm_refcount_up(&alloc->refs);
    return alloc;
}

/* For destruction on the thread that is here: a foreign deleter runs in the call. No lock held. */
void usm_alloc_destroy(USM_TAKES usm_alloc *alloc);

static inline void usm_alloc_release(USM_TAKES usm_alloc *alloc)
{
    /* The only count: nobody else can make another, since no list finds an allocation without one. */
    if (atomic_load_explicit(&alloc->refs.value, memory_order_acquire) == 1 ||
        usm_refcount_down(&alloc->refs)) {
        usm_alloc_destroy(alloc);
    }
}

/* For workers: a foreign deleter, which may need the GIL, is deferred. */
void usm_alloc_release_deferred(USM_TAKES usm_alloc *alloc);

static inline bool usm_alloc_is_busy(const usm_alloc *alloc)
{
    return atomic_load_explicit(&((usm_alloc *)alloc)->hazards.pending, memory_order_acquire) != 0;
}

/* The host may read and write it through its pointer, once work on it has ended. */
static inline bool usm_alloc_host_reads(const usm_alloc *alloc)
{
    return usm_place_host_reads(alloc->place, (usm_kind)alloc->kind);
}

/* Neither busy nor holding the failure of the last write. */
static inline bool usm_alloc_is_clean(const usm_alloc *alloc)
{
    return !usm_alloc_is_busy(alloc) &&
           atomic_load_explicit(&((usm_alloc *)alloc)->hazards.failure, memory_order_relaxed) == NULL;
}

/* And work on it may begin at once: no borrow that is over, no work of others. */
static inline bool usm_alloc_is_untouched(const usm_alloc *alloc)
{
    uint8_t flags = atomic_load_explicit(&((usm_alloc *)alloc)->flags, memory_order_acquire);
    return usm_alloc_is_clean(alloc) && (flags & (USM_ALLOC_ENDED | USM_ALLOC_UNORDERED)) == 0;
}

/*
 * Before the host touches the memory: waits for work that this access must not meet (a task never waits for
 * itself or for what waits for it). USM_FAILED when a read would see what a failed task should have written;
 * the failure counts as delivered then. No lock, no GIL.
 */
usm_status usm_alloc_wait(usm_alloc *alloc, usm_access_mode mode, int64_t deadline_ns, usm_wait_poll poll,
                          void *argument, usm_error *error);
/* The same for display: the failure does not count as delivered, and the memory is refused again. */
usm_status usm_alloc_peek(usm_alloc *alloc, usm_access_mode mode, int64_t deadline_ns, usm_wait_poll poll,
                          void *argument, usm_error *error);

#endif
