/* Tasks of usm_worker for its tests: jobs that stop, wait and tell their order; its threads, counted. */
#ifndef USM_TESTS_JOBS_H
#define USM_TESTS_JOBS_H

#include "support.h"

#include "core/tasks/worker.h"

#include <stdlib.h>

/* An owner: the worker frees the block. */
typedef struct owner {
    usm_worker worker;
    _Atomic int begun;  /* threads */
    _Atomic int rested; /* times that a thread had no more tasks */
    int rest_ms;        /* how long it takes over that, so that several threads do it at once */
} owner;

/* A task, and what may happen in it. */
typedef struct job {
    usm_work work;
    usm_worker *worker; /* that runs it, or NULL: its rests are not counted */
    gate *gate;         /* stops there */
    bool waits;         /* says that it waits at the gate */
    bool drops;         /* releases the worker */
    _Atomic int order;  /* began as the n-th, from 1; 0: did not begin */
} job;

static _Atomic int n_begun, n_ran;

static _Thread_local owner *of_thread; /* of the job that the thread ran last */

static inline void count_rest(void)
{
    owner *of = of_thread;
    of->rested++;
    if (of->rest_ms != 0) {
        sleep_ms(of->rest_ms);
    }
}

static inline usm_worker *new_worker(unsigned max_threads, void (*begin)(usm_worker *))
{
    owner *owner = malloc(sizeof *owner);
    memset(owner, 0xff, sizeof *owner); /* the caller need not zero it */
    usm_worker_init(&owner->worker, max_threads, begin);
    owner->begun = owner->rested = owner->rest_ms = 0;
    return &owner->worker;
}

static inline void announce(usm_worker *worker)
{
    usm_error error;
    CHECK_OK(usm_worker_announce(worker, "host", &error));
}

static inline void run_job(usm_work *work)
{
    job *job = (struct job *)work; /* its first member */
    CHECK_EQ(job->order, 0);
    job->order = 1 + atomic_fetch_add(&n_begun, 1);
    if (job->worker != NULL) {
        of_thread = (owner *)job->worker;
        usm_worker_when_idle(count_rest);
    }
    if (job->waits) {
        usm_worker_block(true);
    }
    if (job->gate != NULL) {
        gate_pass(job->gate);
    }
    if (job->waits) {
        usm_worker_block(false);
    }
    if (job->drops) {
        usm_worker_drop(job->worker);
    }
    atomic_fetch_add(&n_ran, 1); /* from here on the job may be gone */
}

static inline void put(usm_worker *worker, job *job)
{
    job->work.run = run_job;
    job->worker = worker;
    usm_worker_put(worker, &job->work);
}

static inline void submit(usm_worker *worker, job *job)
{
    announce(worker);
    put(worker, job);
}

static inline void await_ran(int wanted)
{
    while (n_ran < wanted) { /* the watchdog ends it */
        sleep_ms(1);
    }
}

/* As run_another_task, of another worker. Counts in n_ran. */
static inline void run_another_job(void)
{
    job other = {.order = 0};
    usm_worker *worker = new_worker(1, NULL);
    int ran = n_ran;
    submit(worker, &other);
    await_ran(ran + 1);
    usm_worker_drop(worker);
}

/* Each test drops its workers: their threads end at once. */
#define RUN_ALONE(test)                   \
    do {                                  \
        n_begun = n_ran = 0;              \
        RUN(test);                        \
        expect_threads("usmpy-queue", 0); \
    } while (0)

#endif
