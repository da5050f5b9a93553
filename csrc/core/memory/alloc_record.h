/*
 * The record of an allocation: one block of unified shared memory, owned or imported (alloc.h), the tasks on
 * it that have not ended (core/tasks/hazard.h), and the stream that others work on it in (core/streams).
 */
#ifndef USM_CORE_ALLOC_RECORD_H
#define USM_CORE_ALLOC_RECORD_H

#include "core/base/deferred.h"
#include "core/base/reclaimer.h"
#include "core/base/refcount.h"
#include "core/base/sync.h"
#include "core/device/context.h"

struct usm_event;
struct usm_queue;
struct usm_alloc;

/*
 * What others ask of memory that is lent, by whoever lent it: the first use here, and the end, must not meet
 * the work of others. Any thread, no lock.
 */
typedef struct usm_lender {
    /* usm_alloc_order */
    usm_status (*join)(struct usm_alloc *alloc, struct usm_queue *queue, usm_error *error);
    /*
     * The last count is gone, and the caller has it again: makes the work in the stream a task, which then
     * has a count. `alive`: the stream is known to live, else only one that always does is asked. False:
     * nothing was pending, or no task can stand for it, and the memory is still lent. Never waits.
     */
    bool (*hold)(struct usm_alloc *alloc, bool alive);
    /*
     * True if no work of others is left, as far as the stream can be asked. With `waits`, waits for all that
     * the device got before since_ns, without the GIL, and reports a failure: the memory is then still lent.
     */
    bool (*end)(struct usm_alloc *alloc, int64_t since_ns, bool waits);
} usm_lender;

/*
 * Work on the block that has not ended (hazard stripe of the allocation). A task that reads waits for
 * `writer`; one that writes waits for `writer` and all `readers`, and replaces them.
 */
typedef struct usm_hazards {
    /* No counts: an event takes itself out of here before it goes. */
    struct usm_event *writer;
    struct usm_event **readers;
    uint32_t n_readers, readers_capacity;
    _Atomic uint32_t pending; /* writer and readers together; 0 may be read without the lock */
    /*
     * The last write that ended failed and the failure was not delivered: reading the memory is refused. One
     * count.
     */
    usm_failure *_Atomic failure;
} usm_hazards;

#define USM_ALLOC_ZEROED 1u  /* as it came from the backend; only before its first use */
#define USM_ALLOC_ENDED 2u   /* a borrow that has ended: the memory may be freed */
#define USM_ALLOC_FOREIGN 4u /* imported: the deleter, if any, releases it */
/* Work of others on it may be pending in `stream`, and nothing here waits for that yet. */
#define USM_ALLOC_UNORDERED 8u
/* Of several processes (core/share/): an index that holds no count finds it. The deleter releases it. */
#define USM_ALLOC_SHARED 16u
#define USM_ALLOC_LOANED 32u /* usm_alloc_set_loaned */

typedef struct usm_alloc {
    usm_refcount refs;
    uint8_t kind;       /* usm_kind */
    uint8_t size_class; /* of the pool; USM_NOT_POOLED */
    _Atomic uint8_t flags;
    struct usm_place *place; /* alive through its context */
    usm_context *context;    /* one count */
    void *pointer;           /* NULL where size is 0 */
    uint64_t inside;         /* the order of the host task that made it; 0: none did */
    size_t size;             /* bytes of the block; imported: spanned by the first array */
    _Atomic size_t nbytes;   /* asked for; 0: in the pool, imported or empty */
    usm_hazards hazards;
    /* Imported memory: called with owner when the last count is gone; NULL for memory of our own. */
    void (*deleter)(void *owner);
    void *owner;
    uint32_t number;             /* in traces; 0: in none so far (lock of traces) */
    struct usm_tracked *tracked; /* NULL where nobody asked where it was made (track.h) */
    /*
     * Where USM_ALLOC_UNORDERED was set: the stream (core/streams/stream.h), and the device that it is of.
     * They, the flag and the number of lends so far change together (hazard stripe; the first and the last
     * holder of the allocation need none).
     */
    void *stream;
    struct usm_device *stream_device;
    const usm_lender *_Atomic lender; /* may be read as soon as the flag is seen */
    /*
     * 0: the stream lives, and can be asked. Else its number (stream_id in backend.h): it may have been
     * destroyed.
     */
    uint64_t stream_id;
    uint64_t lends;
    struct {
        struct usm_alloc *lower, *higher;
    } tree;                /* of blocks.c */
    usm_deferred deferred; /* on its way to a thread that may run the deleter */
    union {
        struct usm_alloc *next_free; /* in the pool */
        usm_reclaimable reclaimable; /* on its way back to the driver or to the owner */
    } link;
} usm_alloc;

/* The mask of the stripe of its hazards. */
static inline uint64_t usm_alloc_stripe(const usm_alloc *alloc)
{
    return UINT64_C(1) << usm_stripe(alloc);
}

USM_RETAIN(usm_alloc)

static inline bool usm_alloc_has(const usm_alloc *alloc, uint8_t flags)
{
    return (atomic_load_explicit(&((usm_alloc *)alloc)->flags, memory_order_acquire) & flags) != 0;
}

/* Of memory with USM_ALLOC_UNORDERED. */
static inline const usm_lender *usm_alloc_lender(const usm_alloc *alloc)
{
    return atomic_load_explicit(&((usm_alloc *)alloc)->lender, memory_order_relaxed);
}

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

/* And work on it may begin at once: no borrow that has ended, no work of others. */
static inline bool usm_alloc_is_untouched(const usm_alloc *alloc)
{
    return usm_alloc_is_clean(alloc) && !usm_alloc_has(alloc, USM_ALLOC_ENDED | USM_ALLOC_UNORDERED);
}

#endif
