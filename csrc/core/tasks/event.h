/*
 * Events. One event is one task in one queue: it holds what the task needs (its queue, allocations, Python
 * objects) until the task has ended, and the waiters that its end notifies.
 */
#ifndef USM_CORE_EVENT_H
#define USM_CORE_EVENT_H

#include "command.h"
#include "core/base/error.h"
#include "core/base/refcount.h"
#include "core/layout/view.h"
#include "core/memory/alloc.h"
#include "core/program/launch.h"
#include "queue.h"
#include "task_state.h"

#include <stddef.h>
#include <stdint.h>

/* What users see of it. Ordered: a later state is never left for an earlier one. */
typedef enum usm_event_state {
    USM_EVENT_SUBMITTED,
    USM_EVENT_RUNNING,
    USM_EVENT_COMPLETE,
    USM_EVENT_ERROR,
} usm_event_state;

/* How a task touches an allocation. Reading what a failed task should have written is refused. */
typedef enum usm_access_mode { USM_READ = 1, USM_WRITE = 2, USM_READ_WRITE = 3 } usm_access_mode;

typedef struct usm_access {
    usm_alloc *alloc;
    usm_access_mode mode;
} usm_access;

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

/* An event that another waits for. `data`: its failure is inherited; else it is order alone. */
typedef struct usm_wait {
    struct usm_event *event;
    bool data;
} usm_wait;

/*
 * Embedded in whatever is to be notified of the end. `done` runs once, on the thread that finished the event,
 * with no lock held; it must not block and must not run Python.
 */
typedef struct usm_waiter {
    struct usm_waiter *next;
    void (*done)(struct usm_waiter *self, struct usm_event *event);
} usm_waiter;

/* One dependency of a submitted task: a count of the event that is waited for, and the hook in its list. */
typedef struct usm_link {
    usm_waiter waiter;
    struct usm_event *owner; /* the event that waits; no count: it outlives its links */
    struct usm_event *event; /* one count */
    bool data;
} usm_link;

#define USM_INLINE_ACCESSES 4
#define USM_INLINE_LINKS 4

typedef struct usm_event {
    usm_refcount refs;
    _Atomic uint8_t task_state;     /* usm_task_state; changed by usm_event_enter alone */
    _Atomic bool has_python_object; /* a Python object stands for it, whose user may ask when it ended */
    bool profiled;                  /* the times below are filled as they come */
    bool refused;  /* the backend refused it: it fails no other task, since the caller got the error */
    bool internal; /* as in usm_submission */
    bool skipped;  /* queue lock: the driver ended it without having run it */
    /*
     * The order of submission in the process, above that of every dependency. 0: the task was done at once
     * and not traced.
     */
    uint64_t order;
    usm_queue *queue; /* one count */
    int64_t submit_ns, start_ns, end_ns;
    /* One count. Of a task in state ENDING: what the driver said of it, if that counts; then the task's. */
    struct usm_failure *failure;

    /* Queue lock: the queue's pending events, in the order of submission. */
    struct usm_event *previous, *following;

    /*
     * The end takes the leaf stripe only if the event is watched. To register for what follows: take the
     * stripe, set `watched`, then check `state` again. Both are sequentially consistent with the end's own
     * check.
     */
    _Atomic bool watched;
    /* Leaf stripe of this event. */
    usm_waiter *waiters;
    unsigned sleepers; /* threads in usm_event_wait */
    usm_link *links;   /* set at submission, taken away at the end */
    size_t n_links;
    uint64_t visited; /* by usm_event_needs_current: the number of the last walk */

    /* See usm_event_arm. */
    _Atomic uint32_t blockers;
    _Atomic bool after_refused; /* one of the data links was refused */
    void (*ready)(struct usm_event *self);
    _Atomic(struct usm_failure *) cause; /* of the first data link that failed; one count */

    /* From submission to the end; touched by the submitting and the finishing thread alone. */
    usm_access *accesses; /* one count of each allocation, until a later event takes it (hazard.h) */
    size_t n_accesses;
    /* Those of them that still name it as their writer or a reader (hazard.h), not counting its own end. */
    _Atomic uint32_t places;
    usm_keep *keeps;
    void *traced; /* the observer's, which is called at its end (observer.h), and needs start_ns; or NULL */

    struct usm_event *next_ended; /* in usm_ended, and of claimed ones (completion.c) */

    /* Owned copies that `command` points to; NULL: none. */
    struct usm_strided *strided;
    struct usm_launch *launch;

    usm_access inline_accesses[USM_INLINE_ACCESSES];
    usm_link inline_links[USM_INLINE_LINKS];

    /* Written where they are needed (deferral.c): the command, while a driver does not have it; its work. */
    usm_command command;
    usm_work work;
    /* For most launches: malloc is slow where one thread allocates a block and another frees it. */
    _Alignas(max_align_t) char launch_room[sizeof(usm_launch) + 8 * sizeof(usm_argument)];
} usm_event;

/* The next in the order of submission, and one above the last that was taken. */
extern _Atomic uint64_t usm_event_next;

static inline uint64_t usm_event_next_order(void)
{
    return atomic_fetch_add_explicit(&usm_event_next, 1, memory_order_relaxed);
}

static inline uint64_t usm_event_orders(void)
{
    return atomic_load_explicit(&usm_event_next, memory_order_relaxed);
}

static inline usm_task_state usm_event_task_state(const usm_event *event)
{
    return (usm_task_state)atomic_load_explicit(&((usm_event *)event)->task_state, memory_order_acquire);
}

/* A transition of task_state.h, but for those to the end. The caller owns the state. */
static inline void usm_event_enter(usm_event *event, usm_task_state to)
{
#ifdef USM_TESTING
    usm_task_state_check(usm_event_task_state(event), to);
#endif
    atomic_store_explicit(&event->task_state, (uint8_t)to, memory_order_release);
}

static inline usm_event_state usm_event_get_state(const usm_event *event)
{
    usm_task_state state = usm_event_task_state(event);
    return state == USM_TASK_RUNNING    ? USM_EVENT_RUNNING
           : state < USM_TASK_COMPLETE  ? USM_EVENT_SUBMITTED
           : state == USM_TASK_COMPLETE ? USM_EVENT_COMPLETE
                                        : USM_EVENT_ERROR;
}

static inline bool usm_event_ended(const usm_event *event)
{
    return usm_event_task_state(event) >= USM_TASK_COMPLETE;
}

/*
 * Whether the driver has the task, so that what others enqueue in its queue comes after it. False for work of
 * the host, and for what still waits for such work. Any thread, no lock.
 */
static inline bool usm_event_in_driver(const usm_event *event)
{
    usm_task_state state = usm_event_task_state(event);
    return state >= USM_TASK_SENT_AHEAD && state <= USM_TASK_ENDING;
}

USM_RETAIN(usm_event)
void usm_event_release(USM_TAKES usm_event *event);
/* The same for all that follow it by next_ended, which are of this queue. No lock held. */
void usm_events_release(usm_queue *queue, USM_TAKES usm_event *event);

/* A new event of the queue, in state NEW, one count. NULL when memory ran out. Queue lock held. */
USM_GIVES usm_event *usm_event_new(USM_KEEPS usm_queue *queue);

/* Held by the backend while it runs the task on this thread; NULL elsewhere. See usm_event_wait. */
void usm_event_set_current(usm_event *event);
usm_event *usm_event_current(void);

/*
 * Registers a waiter. False: the event has ended, and the waiter was not taken. Any thread; any lock but a
 * leaf stripe.
 */
bool usm_event_notify(usm_event *event, usm_waiter *waiter);
/* For waits: the end will look for waiters. False: the event has ended. Leaf stripe held. */
bool usm_event_watch(usm_event *event);
/* A thread sleeps until the task ends: its queue is polled more often. Any lock but a leaf. */
void usm_event_watch_closely(usm_event *event);
/*
 * For finish.c: a transition to the end, sequentially consistent as the check of `watched` behind it is.
 * Wakes sleeping threads, and returns the waiters, which the caller notifies, in the order of their
 * registration.
 */
usm_waiter *usm_event_enter_end(usm_event *event, usm_task_state to);

/*
 * For queue_submit: copies the command, with the plan or launch that it points to, into event->command, so
 * that it outlives the submission. Does nothing for a command that was kept before. Queue lock held.
 */
usm_status usm_event_keep_command(usm_event *event, const usm_command *command, usm_error *error);

#endif
