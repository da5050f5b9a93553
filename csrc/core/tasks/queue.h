/* Queues: tasks are submitted to them, and they order tasks. */
#ifndef USM_CORE_QUEUE_H
#define USM_CORE_QUEUE_H

#include "command.h"
#include "core/base/freelist.h"
#include "core/base/sync.h"
#include "core/device/context.h"
#include "core/device/properties.h"
#include "core/memory/alloc.h"
#include "event.h"
#include "unretrieved.h"

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
    struct usm_worker *worker;
    void *foreign; /* the driver's queue that another library made; NULL: it was made here */
    _Atomic bool
        shared;      /* others may enqueue in the driver's queue too: no look at this struct shows it idle */
    usm_keep *keeps; /* objects that live as long as the queue */

    usm_lock lock;
    /* Under lock: events that have not ended, in the order of submission. Without it, `last` says if any. */
    usm_event *first;
    usm_event *_Atomic last;
    usm_event *barrier; /* out of order: the last barrier that has not ended; everything later waits for it */
    usm_failure *failure;        /* the first since the last usm_queue_wait; one count */
    usm_unretrieved unretrieved; /* failures to report when the queue ends */
    uint32_t number;             /* in traces; 0: in none so far (lock of traces) */

    /* State of the watching thread, for a queue with work in a driver (completion.c). */
    struct {
        bool listed;                /* queue lock: the thread looks after the queue */
        _Atomic bool has_sleeper;   /* a thread sleeps until a task ends */
        _Atomic uint64_t submitted; /* tasks that the driver got; written with the queue's lock */
        _Atomic uint64_t polled;    /* `submitted` at the last poll by a thread that submits */
        unsigned idle_ticks;        /* the watching thread's own: polls without work */
        struct usm_queue *next;     /* the thread's lock */
    } watch;

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
/*
 * The same, with all work submitted so far in it: waits for the tasks that the driver has not got yet, which
 * are those of the host and those behind them (inside a task: but for what waits for the task itself).
 */
usm_status usm_queue_enter(usm_queue *queue, void **handle, usm_wait_poll poll, void *argument,
                           usm_error *error);
static inline bool usm_queue_is_shared(const usm_queue *queue)
{
    return atomic_load_explicit(&((usm_queue *)queue)->shared, memory_order_acquire);
}
USM_GIVES usm_queue *usm_queue_retain(usm_queue *queue);
void usm_queue_release(USM_TAKES usm_queue *queue);

/* A task to submit. Everything is borrowed for the call unless a member says otherwise. */
typedef struct usm_submission {
    const usm_command *command;
    const usm_access *accesses; /* at most one entry an allocation is needed; repeats are allowed */
    size_t n_accesses;
    const usm_wait *waits; /* explicit dependencies */
    size_t n_waits;
    /* Taken over when the submission succeeds; stays the caller's when it fails. */
    usm_keep *keeps;
    /* The task itself is what brings imported memory into order (usm_alloc_order). */
    bool orders;
    bool fresh; /* accesses[0] writes to memory that nobody else has: it is locked only where others will */
    /*
     * A step, in this queue, of an operation that the caller submitted to another one. If the step is skipped
     * because a dependency failed, a wait for this queue does not raise that failure.
     */
    bool internal;
    const usm_command
        *original_command; /* what the command, a launch, is there for, which traces tell of; or NULL */
    const char *name;      /* for traces, where the command has none; borrowed for the call; NULL: none */
} usm_submission;

/*
 * Hands work to the queue and returns at once, but for short work on an idle queue, which is done when this
 * returns. *out (may be NULL) is the task's event. Fails without a trace; a dependency that has failed
 * already is not a failure of the call but ends the event in ERROR. No lock held; does not run Python.
 */
usm_status usm_queue_submit(usm_queue *queue, const usm_submission *submission, USM_GIVES usm_event **out,
                            usm_error *error);
/*
 * Before a submission that the caller then waits for: USM_DEADLOCK inside a task that it would be ordered
 * after; may fail as the submission would. No lock held.
 */
usm_status usm_queue_check_wait(usm_queue *queue, const usm_submission *submission, usm_error *error);

/*
 * For short work on the host that is not a command. True if no work is pending on the queue and the memory,
 * and the calling thread would run the work itself: no other task touches the memory until
 * usm_queue_end_now, which must follow soon. False: submit the work. One entry for each allocation is
 * enough. No lock held, and none may be taken in between.
 */
bool usm_queue_begin_now(usm_queue *queue, const usm_access *accesses, size_t n, uint64_t *held);
static inline void usm_queue_end_now(uint64_t held)
{
    usm_hazard_unlock(held);
}
/*
 * Whether usm_queue_begin_now would succeed if the memory allows it: a check without a lock, to be repeated.
 */
bool usm_queue_may_begin_now(usm_queue *queue);

/*
 * Waits for all work submitted so far, in a shared queue for that of others too (inside a task: for what does
 * not wait for the task itself). USM_FAILED with the first failure since the last call of this function,
 * once.
 */
usm_status usm_queue_wait(usm_queue *queue, int64_t deadline_ns, usm_wait_poll poll, void *argument,
                          usm_error *error);

/*
 * Events that stand for all work submitted so far, in a shared queue for that of others too: one count each,
 * in a malloc'd array.
 */
usm_status usm_queue_snapshot(usm_queue *queue, USM_GIVES usm_wait **out, size_t *count, usm_error *error);

/*
 * Waits on every queue of the process for the work submitted here, ignoring failures. For the interpreter's
 * exit.
 */
usm_status usm_queues_drain(int64_t deadline_ns, usm_wait_poll poll, void *argument, usm_error *error);
/*
 * How many tasks of all queues have not ended. *oldest is the device of the one that was submitted first,
 * NULL if there is none. Any thread, no lock.
 */
size_t usm_queues_pending(usm_device **oldest);
/*
 * Reports the failures of every queue that no caller has retrieved; those of the functions of one interpreter
 * where `home` is not NULL. Any thread, no lock.
 */
void usm_queues_report(const usm_deferred_list *home);

/* For core/tasks/fork.c only. The first: registry lock held. The second: in the child, with no lock held. */
void usm_queues_fork(usm_fork_phase phase);
void usm_queues_after_fork(void);

/* For core/tasks/queue.c only: the queue ends, and the watching thread drops it. */
void usm_queue_unwatch(usm_queue *queue);

/* The cached queue of a place. */
extern const usm_place_part usm_queue_part;

/*
 * For core/tasks/event.c only: the event is about to fail. Its queue keeps the failure for the next
 * usm_queue_wait, unless the event is internal and only inherits it, and for the report at the queue's end.
 * Called before the state is ERROR; usm_queue_forget follows.
 */
void usm_queue_remember(const usm_event *event, usm_failure *failure);
/* Releases the failures for the report at the queue's end that were retrieved meanwhile. No lock. */
void usm_queue_prune(usm_queue *queue);
/* With all that follow it by next_ended. */
void usm_queue_forget(usm_queue *queue, usm_event *event);

#endif
