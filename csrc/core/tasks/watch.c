#include "watch.h"

#include "core/base/sync.h"
#include "core/base/thread.h"

#include <pthread.h>

/* Nanoseconds from one poll of the queues to the next. */
#define TICK_NS 1000000
/*
 * The same, at first, while a thread sleeps until a task ends; and the pause above which the watching thread
 * is woken early.
 */
#define CLOSE_NS 20000
#define LATE_NS 100000
/* Items in one poll. */
#define BATCH 32
/* Nanoseconds that the end of the process waits for the thread. */
#define STOP_NS 1000000000

static _Atomic int64_t pause_ns = TICK_NS; /* between two polls */

static struct {
    pthread_mutex_t lock; /* a leaf */
    pthread_cond_t changed;
    bool ready;        /* `changed` was made in this process */
    _Atomic bool runs; /* read without the lock, too */
    bool stop;
    bool called;        /* poll now */
    bool asleep;        /* until it is signalled: nothing is on the list */
    usm_watched *first; /* without counts */
    usm_work *work, *last_work;
} thread = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool (*poll)(usm_watched *watched);

void usm_watch_set_poll(bool (*function)(usm_watched *watched))
{
    poll = function;
}

static bool start_locked(void);

/* The thread's lock held. Where the system refuses a thread, what waits for it waits for the next call. */
static void signal_thread(void)
{
    (void)start_locked(); /* it may have ended with an interpreter before this one */
    if (!thread.called) {
        thread.called = true;
        pthread_cond_signal(&thread.changed);
    }
}

void usm_watch_run(usm_work *work)
{
    usm_mutex_lock(&thread.lock);
    work->next = NULL;
    *(thread.work != NULL ? &thread.last_work->next : &thread.work) = work;
    thread.last_work = work;
    signal_thread();
    usm_mutex_unlock(&thread.lock);
}

void usm_watch_add(usm_watched *watched)
{
    if (watched->listed && USM_LIKELY(atomic_load_explicit(&thread.runs, memory_order_relaxed))) {
        return;
    }
    usm_mutex_lock(&thread.lock);
    if (!watched->listed) {
        watched->listed = true;
        watched->idle_ticks = 0;
        watched->next = thread.first;
        thread.first = watched;
    }
    if (thread.asleep) {
        pthread_cond_signal(&thread.changed);
    }
    (void)start_locked();
    usm_mutex_unlock(&thread.lock);
}

void usm_watch_closely(usm_watched *watched)
{
    bool known = atomic_exchange(&watched->has_sleeper, true);
    if (!known || atomic_load_explicit(&pause_ns, memory_order_relaxed) > LATE_NS) {
        usm_mutex_lock(&thread.lock);
        signal_thread();
        usm_mutex_unlock(&thread.lock);
    }
}

void usm_watch_remove(usm_watched *watched)
{
    if (!watched->listed) {
        return;
    }
    usm_mutex_lock(&thread.lock);
    usm_watched **at = &thread.first;
    while (*at != NULL && *at != watched) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        *at = watched->next;
    }
    watched->listed = false;
    usm_mutex_unlock(&thread.lock);
}

/*
 * The thread's lock held. Takes up to BATCH items, each with a count, so that none is destroyed while it is
 * polled. If the list is longer, they move to its end.
 */
static int take_items(usm_watched **out)
{
    int n = 0;
    usm_watched **at = &thread.first, *first = thread.first;
    for (; *at != NULL && n < BATCH; at = &(*at)->next) {
        if (usm_refcount_up_unless_zero((*at)->refs)) {
            out[n++] = *at;
        }
    }
    if (*at != NULL) {
        usm_watched **end = at;
        while (*end != NULL) {
            end = &(*end)->next;
        }
        thread.first = *at;
        *at = NULL;
        *end = first;
    }
    return n;
}

/* The thread's lock held. Sleeps until the next poll is due. Whether the thread was called for it. */
static bool sleep_until_needed(int64_t pause)
{
    while (thread.first == NULL && !thread.called && !thread.stop) {
        thread.asleep = true;
        usm_cond_wait_until(&thread.changed, &thread.lock, INT64_MAX);
    }
    thread.asleep = false;
    if (!thread.called && !thread.stop) {
        usm_cond_wait_until(&thread.changed, &thread.lock, usm_clock_ns() + pause);
    }
    bool called = thread.called;
    thread.called = false;
    return called;
}

/* The next pause. While a thread waits, a task is noticed late by about a sixtieth of its duration. */
static int64_t next_pause(int64_t pause, bool closely, bool called)
{
    if (!closely) {
        return TICK_NS;
    }
    return called ? CLOSE_NS : pause + pause / 64 < TICK_NS ? pause + pause / 64 : TICK_NS;
}

/* The watching thread. */
static void *watch(void *unused)
{
    usm_watched *items[BATCH];
    int64_t pause = TICK_NS;
    (void)unused;
    pthread_setname_np(pthread_self(), "usmpy-watch");
    usm_mutex_lock(&thread.lock);
    for (;;) {
        bool called = sleep_until_needed(pause), closely = false;
        if (thread.stop && thread.work == NULL) {
            break;
        }
        usm_work *work = thread.work;
        thread.work = NULL;
        int n = take_items(items);
        usm_mutex_unlock(&thread.lock);
        for (usm_work *next; work != NULL; work = next) {
            next = work->next;
            work->run(work);
        }
        for (int i = 0; i < n; i++) {
            closely |= poll(items[i]);
        }
        pause = next_pause(pause, closely, called);
        atomic_store_explicit(&pause_ns, pause, memory_order_relaxed);
        usm_mutex_lock(&thread.lock);
    }
    thread.runs = false;
    pthread_cond_broadcast(&thread.changed);
    usm_mutex_unlock(&thread.lock);
    return NULL;
}

/* The thread's lock held. */
static bool start_locked(void)
{
    if (!thread.ready) {
        usm_cond_init(&thread.changed);
        thread.ready = true;
    }
    if (!thread.runs) {
        thread.stop = false;
        thread.runs = usm_thread_start(watch, NULL);
    }
    return thread.runs;
}

usm_status usm_watch_start(usm_error *error)
{
    usm_mutex_lock(&thread.lock);
    bool runs = start_locked();
    usm_mutex_unlock(&thread.lock);
    return runs
               ? USM_OK
               : usm_error_set(error, USM_DRIVER, "the system refused a thread; see ulimit -u and ulimit -v");
}

bool usm_watch_stop(void)
{
    int64_t until = usm_clock_ns() + STOP_NS;
    usm_mutex_lock(&thread.lock);
    thread.stop = true;
    if (thread.ready) {
        pthread_cond_broadcast(&thread.changed);
    }
    while (thread.runs && thread.stop && usm_clock_ns() < until) {
        usm_cond_wait_until(&thread.changed, &thread.lock, until);
    }
    bool ended = !thread.runs;
    usm_mutex_unlock(&thread.lock);
    return ended;
}

/* In the child there is no such thread, and no driver whose queues it would look after. */
void usm_watch_fork(usm_fork_phase phase)
{
    if (phase == USM_FORK_PREPARE) {
        usm_mutex_lock(&thread.lock);
        return;
    }
    if (phase == USM_FORK_CHILD) {
        thread.ready = false;
        thread.runs = false;
        thread.called = false;
        thread.asleep = false;
        thread.first = NULL;
        thread.work = NULL;
    }
    usm_mutex_unlock(&thread.lock);
}
