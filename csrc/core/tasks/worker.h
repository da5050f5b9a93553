/*
 * Threads of a queue that run its tasks on the host: they start when they are needed and end when they have
 * been idle for a while. Every backend runs host functions here; the host backend runs all of its work here.
 */
#ifndef USM_CORE_WORKER_H
#define USM_CORE_WORKER_H

#include "core/base/error.h"
#include "core/base/sync.h"
#include "core/base/thread.h"

#include <pthread.h>
#include <stdbool.h>

/*
 * Embedded in the task. `run` is called once, on a thread of the worker, with no lock held. It may free the
 * task, and release the owner of the worker.
 */
typedef struct usm_work {
    struct usm_work *next;
    void (*run)(struct usm_work *self);
} usm_work;

/* First member of the owner's block, which came from malloc: the worker frees it, see usm_worker_drop. */
typedef struct usm_worker {
    /* A leaf: nothing is locked under it, and no task runs under it. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    usm_work *first, *last;   /* ready: everything they wait for has ended */
    _Atomic unsigned n_ready; /* written with the lock */
    unsigned tasks;           /* announced, not yet finished */
    unsigned threads, max_threads;
    unsigned idle;    /* threads that run no task, those that are just starting too */
    unsigned blocked; /* threads whose tasks are stuck in waits; they do not count against max_threads */
    bool is_spinning; /* a thread looks for tasks, and needs no signal */
    bool stopping;
    void (*begin)(struct usm_worker *self);
} usm_worker;

/*
 * No thread is started yet. `begin`, which may be NULL, is called on each new thread before its first task,
 * also when the worker was dropped in between.
 */
void usm_worker_init(usm_worker *worker, unsigned max_threads, void (*begin)(usm_worker *self));

/* The same in a block of its own; usm_worker_drop frees it. NULL: memory ran out. */
USM_GIVES usm_worker *usm_worker_new(unsigned max_threads);

/*
 * Announces a task that will be put later: starts its thread while that can still fail. The error names
 * `backend`. Any lock but a leaf.
 */
usm_status usm_worker_announce(usm_worker *worker, const char *backend, usm_error *error);

/* The announced task is ready; tasks begin in the order of these calls. Any thread, any lock but a leaf. */
void usm_worker_put(usm_worker *worker, usm_work *work);

/*
 * For a waiting thread, which is awake while the worker's own may have to be woken: takes the next ready task
 * if fits(task, argument). Returns NULL if there is none or, without awake_too, if a thread of the worker is
 * already looking for tasks. The caller runs the task and then calls usm_worker_done; the owner lives until
 * then. Called without locks.
 */
usm_work *usm_worker_take(usm_worker *worker, bool awake_too,
                          bool (*fits)(const usm_work *work, const void *argument), const void *argument);
void usm_worker_done(usm_worker *worker);

/*
 * For a task that runs: called once, with no lock held, when the calling thread of a worker has no more tasks
 * for now. The worker may be dropped in it.
 */
void usm_worker_when_idle(void (*on_idle)(void));

/*
 * The owner ends: nothing more is announced. Announced tasks still run; then the threads end, and the last
 * one frees the block with free(). Any thread, including the worker's own; does not block.
 */
void usm_worker_drop(USM_TAKES usm_worker *worker);

/*
 * The calling thread is about to block in a wait (begins), or goes on: if it belongs to a worker, another
 * thread may have to run what it waits for. Pairs may be nested. No lock held.
 */
void usm_worker_block(bool begins);

/*
 * fork(): locks in PREPARE, unlocks in the others. In the child all tasks are forgotten but for that of the
 * calling thread. Not for a worker that was dropped.
 */
void usm_worker_fork(usm_worker *worker, usm_fork_phase phase);

#endif
