/*
 * Threads that help with large copies and fills and with kernels, one set for the process. One job at a time:
 * a second one runs on its own thread, since the processors are busy anyway.
 */
#include "parallel.h"

#include "core/base/thread.h"

#include <pthread.h>

/* A helper without work ends after this time. */
#define IDLE_NS INT64_C(5000000000)
#define MAX_HELPERS 255
/* Waking a helper, and waiting for it to finish, each take some microseconds. */
#define HELP_NS 20000
/* Where there are many parts, the clock is read once for this many of them. */
#define FEW 8
/* A part of at most this many bytes is short: a thread that waits for another task may take it. */
#define SHORT_BYTES ((size_t)4 << 20)
/* How long a thread that waits for another task takes part in a job. */
#define JOIN_NS 2000000

/* One call of usm_cpu_parallel, on the stack of the thread that made it. */
typedef struct job {
    void (*part)(void *context, unsigned i);
    void *context;
    unsigned parts, next; /* lock */
    unsigned helpers;     /* lock: threads that are in it, besides the one that brought it */
    unsigned most;        /* of them at a time: more than there are processors would only alternate */
} job;

static struct {
    pthread_once_t once;
    pthread_mutex_t lock;
    pthread_cond_t wanted, left;
    job *job;
    unsigned threads, idle;
    /* Short parts of the job are left. A hint, which waiting threads read without the lock. */
    _Atomic bool open;
} pool = {.once = PTHREAD_ONCE_INIT};

static void start(void)
{
    pthread_mutex_init(&pool.lock, NULL);
    usm_cond_init(&pool.wanted);
    usm_cond_init(&pool.left);
}

/* Lock held. */
static bool wants_help(const job *job)
{
    return job != NULL && job->next < job->parts && job->helpers < job->most;
}

/* Lock held at entry and exit. */
static void run_parts(job *job, int64_t until)
{
    while (job->next < job->parts) {
        unsigned i = job->next++;
        if (job->next == job->parts) {
            atomic_store_explicit(&pool.open, false, memory_order_relaxed);
        }
        pthread_mutex_unlock(&pool.lock);
        job->part(job->context, i);
        pthread_mutex_lock(&pool.lock);
        if (until != INT64_MAX && usm_clock_ns() > until) {
            return;
        }
    }
}

/* Lock held. */
static void take_part(job *job, int64_t until)
{
    job->helpers++;
    run_parts(job, until);
    if (--job->helpers == 0) {
        pthread_cond_signal(&pool.left);
    }
    if (wants_help(job)) { /* a thread that only joined has left, and another continues */
        pthread_cond_signal(&pool.wanted);
    }
}

/* A helper thread. */
static void *help(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "usmpy-helper");
    pthread_mutex_lock(&pool.lock);
    int64_t deadline = usm_clock_ns() + IDLE_NS;
    for (;;) {
        if (wants_help(pool.job)) {
            take_part(pool.job, INT64_MAX);
            deadline = usm_clock_ns() + IDLE_NS;
            continue;
        }
        pool.idle++;
        bool in_time = usm_cond_wait_until(&pool.wanted, &pool.lock, deadline);
        pool.idle--;
        if (!in_time && !wants_help(pool.job)) {
            break;
        }
    }
    pool.threads--;
    pthread_mutex_unlock(&pool.lock);
    return NULL;
}

/* Lock held. Fewer helpers than wanted only cost time. */
static void add_helpers(unsigned wanted)
{
    while (pool.idle < wanted && pool.threads < MAX_HELPERS && wanted-- > 0) {
        if (!usm_thread_start(help, NULL)) {
            break;
        }
        pool.threads++;
    }
}

/* Runs the parts from `from` on, with helpers unless they work on another job. */
static void share(unsigned width, unsigned from, unsigned parts, bool is_short,
                  void (*part)(void *context, unsigned i), void *context)
{
    unsigned rest = parts - from;
    unsigned wanted = (width < rest ? width : rest) - 1;
    job job = {.part = part, .context = context, .parts = parts, .next = from, .most = wanted};
    bool alone = width <= 1 || rest <= 1;
    if (!alone) {
        pthread_once(&pool.once, start);
        pthread_mutex_lock(&pool.lock);
        alone = pool.job != NULL;
        if (alone) {
            pthread_mutex_unlock(&pool.lock);
        }
    }
    if (alone) {
        for (unsigned i = from; i < parts; i++) {
            part(context, i);
        }
        return;
    }
    pool.job = &job;
    atomic_store_explicit(&pool.open, is_short, memory_order_release);
    if (pool.idle < wanted) {
        add_helpers(wanted);
    }
    pthread_cond_broadcast(&pool.wanted);
    run_parts(&job, INT64_MAX);
    while (job.helpers > 0) {
        usm_cond_wait_until(&pool.left, &pool.lock, INT64_MAX);
    }
    pool.job = NULL;
    pthread_mutex_unlock(&pool.lock);
}

/* 0 bytes are foreign code, whose caller does not ask. */
static bool are_short(size_t nbytes, unsigned parts)
{
    return nbytes / (parts > 0 ? parts : 1) <= SHORT_BYTES;
}

void usm_cpu_parallel(unsigned width, unsigned parts, size_t nbytes, void (*part)(void *context, unsigned i),
                      void *context)
{
    share(width, 0, parts, are_short(nbytes, parts), part, context);
}

bool usm_cpu_parallel_join(void)
{
    if (!atomic_load_explicit(&pool.open, memory_order_acquire)) {
        return false;
    }
    pthread_mutex_lock(&pool.lock);
    bool joins = atomic_load_explicit(&pool.open, memory_order_relaxed) && wants_help(pool.job);
    if (joins) {
        take_part(pool.job, usm_clock_ns() + JOIN_NS);
    }
    pthread_mutex_unlock(&pool.lock);
    return joins;
}

void usm_cpu_parallel_if_long(unsigned width, unsigned parts, size_t nbytes,
                              void (*part)(void *context, unsigned i), void *context)
{
    bool is_short = nbytes != 0 && are_short(nbytes, parts);
    if (width <= 1 || parts <= 1) {
        share(width, 0, parts, is_short, part, context);
        return;
    }
    unsigned step = parts < 2 * FEW ? 1 : FEW; /* the clock may take longer than a part */
    int64_t begun = usm_clock_ns();
    for (unsigned done = 1; done <= parts; done++) {
        part(context, done - 1);
        if (done > 1 && done % step != 0) {
            continue;
        }
        /* The rest is expected to take as long for each part as the parts so far. */
        if ((usm_clock_ns() - begun) * (parts - done) > HELP_NS * done) {
            share(width, done, parts, is_short, part, context);
            return;
        }
    }
}

void usm_cpu_parallel_fork(usm_fork_phase phase)
{
    pthread_once(&pool.once, start);
    if (phase == USM_FORK_PREPARE) {
        pthread_mutex_lock(&pool.lock);
        return;
    }
    if (phase == USM_FORK_CHILD) {
        pool.job = NULL;
        atomic_store_explicit(&pool.open, false, memory_order_relaxed);
        pool.threads = pool.idle = 0;
        usm_cond_init(&pool.wanted);
        usm_cond_init(&pool.left);
    }
    pthread_mutex_unlock(&pool.lock);
}
