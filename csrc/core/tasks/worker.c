#include "worker.h"

#include "core/base/heap.h"

#include <stdlib.h>

/* A thread without work for this time ends; the next task starts another. */
#define IDLE_NS INT64_C(5000000000)
/* How long a thread polls for the next task before it sleeps: about the cost of a wake-up. */
#define SPIN_NS 20000
#define LOOKS 32 /* polls from one reading of the clock to the next */

static _Thread_local struct {
    usm_worker *worker;    /* whose thread this is; NULL: of no worker */
    void (*on_idle)(void); /* usm_worker_when_idle; NULL: nothing is to be done */
    unsigned waits;        /* nested waits: a signal handler may wait inside of one, or fork */
} here;

/* Lock held at entry and exit. */
static void on_idle(usm_worker *worker)
{
    void (*function)(void) = here.on_idle;
    if (function != NULL) {
        here.on_idle = NULL;
        usm_mutex_unlock(&worker->lock);
        function();
        usm_mutex_lock(&worker->lock);
    }
}

void usm_worker_when_idle(void (*function)(void))
{
    here.on_idle = function;
}

/*
 * Polls for the next task, so that a thread which submits one short task after the other need not wake this
 * one. One thread of a worker at a time. Lock held at entry and exit.
 */
static void spin(usm_worker *worker)
{
    worker->is_spinning = true;
    usm_mutex_unlock(&worker->lock);
    int64_t until = usm_clock_ns() + SPIN_NS;
    do {
        for (int i = 0; i < LOOKS && atomic_load_explicit(&worker->n_ready, memory_order_relaxed) == 0; i++) {
            usm_pause();
        }
        if (atomic_load_explicit(&worker->n_ready, memory_order_relaxed) != 0) {
            break;
        }
        sched_yield(); /* the submitting thread may need this processor */
    } while (usm_clock_ns() < until);
    usm_mutex_lock(&worker->lock);
    worker->is_spinning = false;
}

/* The first ready task; there is one. Lock held. */
static usm_work *pop(usm_worker *worker)
{
    usm_work *work = worker->first;
    worker->first = work->next;
    worker->n_ready--;
    if (worker->first == NULL) {
        worker->last = NULL;
    }
    return work;
}

/* An announced task has ended. Lock held. */
static void count_ended(usm_worker *worker)
{
    if (--worker->tasks == 0 && worker->stopping) {
        pthread_cond_broadcast(&worker->changed); /* others found it stopping with this task left */
    }
}

/* A thread may go when nothing is left that could become ready later. Lock held. */
static usm_work *next_work(usm_worker *worker)
{
    int64_t deadline = 0; /* the clock is asked only where there is something to wait for */
    if (worker->first == NULL) {
        on_idle(worker);
    }
    if (worker->first == NULL && !worker->is_spinning && !worker->stopping) {
        spin(worker);
    }
    while (worker->first == NULL) {
        if (worker->stopping && worker->tasks == 0) {
            return NULL;
        }
        if (deadline == 0) {
            deadline = usm_clock_ns() + IDLE_NS;
        }
        bool in_time = usm_cond_wait_until(&worker->changed, &worker->lock, deadline);
        if (!in_time && worker->first == NULL) {
            if (worker->tasks == 0) {
                return NULL;
            }
            deadline = 0;
        }
    }
    return pop(worker);
}

/* Whether a thread replaced a blocked one that runs again. Lock held. */
static bool is_extra(const usm_worker *worker)
{
    return worker->threads > worker->max_threads + worker->blocked;
}

static void free_worker(usm_worker *worker)
{
    pthread_cond_destroy(&worker->changed);
    pthread_mutex_destroy(&worker->lock);
    free(worker);
}

static void *live(void *argument)
{
    usm_worker *worker = argument;
    pthread_setname_np(pthread_self(), "usmpy-queue");
    if (worker->begin != NULL) {
        worker->begin(worker);
    }
    here.worker = worker;
    usm_mutex_lock(&worker->lock);
    for (usm_work *work; (work = next_work(worker)) != NULL;) {
        worker->idle--;
        usm_mutex_unlock(&worker->lock);
        work->run(work); /* may drop the worker; the task is gone afterwards */
        usm_mutex_lock(&worker->lock);
        worker->idle++;
        count_ended(worker);
        if (is_extra(worker)) {
            on_idle(worker);
            if (is_extra(worker)) { /* still: another may have gone meanwhile */
                break;
            }
        }
    }
    worker->threads--;
    worker->idle--;
    bool last = worker->stopping && worker->threads == 0;
    usm_mutex_unlock(&worker->lock);
    if (last) {
        free_worker(worker);
    }
    return NULL;
}

/* Lock held. False when the system has no thread for us. */
static bool add_thread(usm_worker *worker)
{
    bool started = usm_thread_start(live, worker);
    worker->threads += started;
    worker->idle += started;
    return started;
}

void usm_worker_init(usm_worker *worker, unsigned max_threads, void (*begin)(usm_worker *self))
{
    *worker = (usm_worker){.max_threads = max_threads, .begin = begin};
    usm_mutex_init(&worker->lock);
    usm_cond_init(&worker->changed);
}

usm_worker *usm_worker_new(unsigned max_threads)
{
    usm_worker *worker = usm_malloc(sizeof *worker);
    if (worker != NULL) {
        usm_worker_init(worker, max_threads, NULL);
    }
    return worker;
}

usm_status usm_worker_announce(usm_worker *worker, const char *backend, usm_error *error)
{
    usm_mutex_lock(&worker->lock);
    bool enough = worker->threads > 0 || add_thread(worker);
    worker->tasks += enough;
    usm_mutex_unlock(&worker->lock);
    return enough
               ? USM_OK
               : usm_error_driver(error, USM_DRIVER, backend, 0, "",
                                  "the system refused a thread for this queue; see ulimit -u and ulimit -v");
}

void usm_worker_put(usm_worker *worker, usm_work *work)
{
    usm_mutex_lock(&worker->lock);
    work->next = NULL;
    *(worker->last != NULL ? &worker->last->next : &worker->first) = work;
    worker->last = work;
    worker->n_ready++;
    if (worker->n_ready <= worker->idle) { /* idle threads that were signalled before still count as idle */
        pthread_cond_signal(&worker->changed);
    } else if (worker->threads < worker->max_threads + worker->blocked) {
        add_thread(worker); /* without it the threads that are there will come to it later */
    }
    usm_mutex_unlock(&worker->lock);
}

usm_work *usm_worker_take(usm_worker *worker, bool awake_too,
                          bool (*fits)(const usm_work *work, const void *argument), const void *argument)
{
    if (atomic_load_explicit(&worker->n_ready, memory_order_relaxed) == 0) {
        return NULL;
    }
    usm_mutex_lock(&worker->lock);
    bool ours = worker->first != NULL && (awake_too || !worker->is_spinning);
    usm_work *work = ours && fits(worker->first, argument) ? pop(worker) : NULL;
    usm_mutex_unlock(&worker->lock);
    return work;
}

void usm_worker_done(usm_worker *worker)
{
    usm_mutex_lock(&worker->lock);
    count_ended(worker);
    usm_mutex_unlock(&worker->lock);
}

void usm_worker_drop(usm_worker *worker)
{
    usm_mutex_lock(&worker->lock);
    worker->stopping = true;
    bool unused = worker->threads == 0;
    pthread_cond_broadcast(&worker->changed);
    usm_mutex_unlock(&worker->lock);
    if (unused) {
        free_worker(worker);
    }
}

void usm_worker_block(bool begins)
{
    usm_worker *worker = here.worker;
    if (worker == NULL || (begins ? here.waits++ > 0 : --here.waits > 0)) {
        return;
    }
    usm_mutex_lock(&worker->lock);
    worker->blocked += begins ? 1u : -1u;
    if (begins && worker->n_ready > worker->idle) {
        add_thread(worker);
    }
    usm_mutex_unlock(&worker->lock);
}

void usm_worker_fork(usm_worker *worker, usm_fork_phase phase)
{
    if (phase == USM_FORK_PREPARE) {
        usm_mutex_lock(&worker->lock);
        return;
    }
    if (phase == USM_FORK_CHILD) { /* its threads are in the parent, but for one that forks inside a task */
        worker->first = worker->last = NULL;
        worker->n_ready = worker->idle = 0;
        worker->is_spinning = false;
        worker->tasks = worker->threads = here.worker == worker;
        worker->blocked = worker->threads > 0 && here.waits > 0;
        usm_cond_init(&worker->changed);
    }
    usm_mutex_unlock(&worker->lock);
}
