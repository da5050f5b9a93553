/* Queues: tasks are submitted to them (submit.h), and they order tasks. */
#ifndef USM_CORE_QUEUE_H
#define USM_CORE_QUEUE_H

#include "core/base/freelist.h"
#include "core/base/sync.h"
#include "core/device/context.h"
#include "core/device/properties.h"
#include "unretrieved.h"
#include "watch.h"

struct usm_event;

typedef struct usm_queue {
    usm_refcount refs;
    const struct usm_backend *backend;
    usm_context *context; /* one count */
    usm_device *device;
    usm_place *place; /* of (context, device) */
    bool in_order, profiling;
    bool cached; /* the one queue that the process keeps for its place */
    usm_priority priority;
    void *native;
    /* Threads of the queue's tasks on the host; outlives the queue while they run. */
    usm_worker *worker;
    void *foreign; /* the driver's queue that another library made; NULL: it was made here */
    _Atomic bool
        shared;      /* others may enqueue in the driver's queue too: no look at this struct shows it idle */
    usm_keep *keeps; /* objects that live as long as the queue */

    usm_lock lock;
    /* Under lock: events that have not ended, in the order of submission. Without it, `last` says if any. */
    struct usm_event *first;
    struct usm_event *_Atomic last;
    struct usm_event
        *barrier; /* out of order: the last barrier that has not ended; everything later waits for it */
    usm_failure *failure;        /* the first since the last usm_queue_wait; one count */
    usm_unretrieved unretrieved; /* failures to report when the queue ends */
    uint32_t number;             /* in traces; 0: in none so far (lock of traces) */

    usm_watched watched;        /* with work in a driver */
    _Atomic uint64_t submitted; /* tasks that the driver got; written with the queue's lock */
    _Atomic uint64_t polled;    /* `submitted` at the last poll by a thread that submits */

    /* Memory of events that are gone; taken with the lock, given back by any thread. */
    usm_shared_freelist spare;

    /* Registry lock: the list of all queues. */
    struct usm_queue *previous, *next;
    usm_reclaimable reclaimable; /* at its end */
} usm_queue;

usm_status usm_queue_create(usm_place *place, const usm_queue_options *options, USM_GIVES usm_queue **out,
                            usm_error *error);
/*
 * The one queue that the process keeps for this pair: in order, no profiling, normal priority. Immortal for a
 * default context; for others it lives while somebody uses it.
 */
usm_status usm_place_queue(usm_place *place, USM_GIVES usm_queue **out, usm_error *error);
/*
 * A new queue that enqueues in the driver's queue `handle`, which another library made and which is held as
 * long as the new one lives. Its device must be known here (else USM_NOT_FOUND). Takes `keeps` over on
 * success.
 */
usm_status usm_queue_adopt(const struct usm_backend *backend, void *handle, usm_keep *keeps,
                           USM_GIVES usm_queue **out, usm_error *error);
/*
 * The same, unless there is such a queue: then that, and `keeps` are taken over, too. All callers of this
 * function get the same queue.
 */
usm_status usm_queue_adopt_once(const struct usm_backend *backend, void *handle, usm_keep *keeps,
                                USM_GIVES usm_queue **out, usm_error *error);
/* The oldest queue of ours that enqueues in that one of the driver, a new count; NULL where there is none. */
USM_GIVES usm_queue *usm_queue_of_native(const struct usm_backend *backend, const void *handle);
/* The driver's queue, for others to enqueue in; NULL where there is none. */
void *usm_queue_handle(usm_queue *queue);
static inline bool usm_queue_is_shared(const usm_queue *queue)
{
    return atomic_load_explicit(&((usm_queue *)queue)->shared, memory_order_acquire);
}
USM_RETAIN(usm_queue)
void usm_queue_release(USM_TAKES usm_queue *queue);

/*
 * Reports the failures of every queue that no caller has retrieved; those of the functions of one interpreter
 * where `home` is not NULL. Any thread, no lock.
 */
void usm_queues_report(const usm_deferred_list *home);

/* All queues of the process, newest first, linked by `next` (registry lock). */
extern usm_queue *usm_all_queues;
/*
 * The queues of the process one by one: the one after `queue` (NULL: the first), with a count of its own, so
 * that it can be used without the registry lock. Gives back the caller's count of `queue`. No lock.
 */
USM_GIVES usm_queue *usm_queues_next(USM_TAKES usm_queue *queue);

/* The cached queue of a place. */
extern const usm_place_part usm_queue_part;

/* Releases the failures for the report at the queue's end that were retrieved meanwhile. No lock. */
void usm_queue_prune(usm_queue *queue);
#endif
