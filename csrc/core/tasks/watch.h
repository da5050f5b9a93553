/*
 * The watching thread, of which a process has one. It polls every queue with work in a driver about once a
 * millisecond. While a thread sleeps until a task ends, it polls as often as threads can be woken, and less
 * often the longer that takes. It also runs what a driver's own threads may not do.
 */
#ifndef USM_CORE_WATCH_H
#define USM_CORE_WATCH_H

#include "core/base/refcount.h"
#include "worker.h"

/* Embedded in a queue. */
typedef struct usm_watched {
    usm_refcount *refs;       /* of the queue */
    bool listed;              /* queue lock: the thread polls it */
    _Atomic bool has_sleeper; /* a thread sleeps until a task ends */
    unsigned idle_ticks;      /* the thread's own: polls without work */
    struct usm_watched *next; /* the thread's lock */
} usm_watched;

/*
 * Set once, before the first task: polls a queue, and gives back a count of it. True if a thread sleeps until
 * a task of the queue ends.
 */
void usm_watch_set_poll(bool (*poll)(USM_TAKES usm_watched *watched));

/* Starts the thread unless it runs. USM_DRIVER: the system refuses a thread. Any lock but a leaf. */
usm_status usm_watch_start(usm_error *error);
/*
 * Ends the thread, once it has run what it was handed, at the end of an interpreter; it starts again with the
 * next task or work. False where it does not end within a second, or has started again. No lock.
 */
bool usm_watch_stop(void);

/* The thread polls the queue from now on. Queue lock held. */
void usm_watch_add(usm_watched *watched);
/* It does not any more. Queue lock held, or by the owner of the last count. */
void usm_watch_remove(usm_watched *watched);
/* A thread waits for a task of the queue, which is polled often, and soon. Any lock but a leaf. */
void usm_watch_closely(usm_watched *watched);

/*
 * Runs it on the watching thread, soon, which starts for it if it has ended. Any thread, any lock but a leaf;
 * the driver's callbacks may.
 */
void usm_watch_run(usm_work *work);

/* For core/tasks/fork.c only; the queues' locks are held. */
void usm_watch_fork(usm_fork_phase phase);

#endif
