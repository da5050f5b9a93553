/*
 * The thread that ends tasks where nobody waits for them. About once a millisecond it looks after the queues
 * that have work in the driver; while somebody sleeps until a task ends, as often as threads can be woken.
 * It calls the driver for work that is pending, and not otherwise.
 */
#include "cuda_backend.h"

#include <pthread.h>

#define TICK_NS 1000000
#define CLOSE_NS 20000
#define LATE_NS 100000
/* A queue that had no work for so many ticks is taken off the list: putting it there costs a lock. */
#define IDLE_TICKS 20
#define BATCH 32
/*
 * A queue that work is being submitted to, and that nobody waits for, is left alone for so many looks: what
 * another core ends has to travel back to the one that submits, which costs that one more than all the rest.
 */
#define BUSY_TICKS 8

static _Atomic bool started, forked;
static _Atomic int64_t pause_ns = TICK_NS; /* between two looks */

static struct {
    pthread_mutex_t lock; /* a leaf */
    pthread_cond_t changed;
    bool closely; /* look now */
    bool asleep;  /* until it is signalled: there was nothing to look after */
    usm_cuda_queue *first;
} thread = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool usm_cuda_forked(void)
{
    return atomic_load_explicit(&forked, memory_order_acquire);
}

usm_status usm_cuda_after_fork(usm_error *error)
{
    return usm_error_set(
        error, USM_FORKED,
        "CUDA was used before this process was forked, and its driver does not survive that; start "
        "processes with multiprocessing's method 'spawn'");
}

void usm_cuda_watch(usm_cuda_queue *native)
{
    if (native->watched) {
        return;
    }
    native->watched = true;
    native->idle_ticks = 0;
    pthread_mutex_lock(&thread.lock);
    native->next_watched = thread.first;
    thread.first = native;
    if (thread.asleep) {
        pthread_cond_signal(&thread.changed);
    }
    pthread_mutex_unlock(&thread.lock);
}

void usm_cuda_watch_closely(usm_cuda_queue *native)
{
    bool known = atomic_exchange(&native->hurried, true);
    if (!known || atomic_load_explicit(&pause_ns, memory_order_relaxed) > LATE_NS) {
        usm_cuda_watcher_wake();
    }
}

void usm_cuda_watcher_wake(void)
{
    pthread_mutex_lock(&thread.lock);
    if (!thread.closely) {
        thread.closely = true;
        pthread_cond_signal(&thread.changed);
    }
    pthread_mutex_unlock(&thread.lock);
}

/* The thread's lock held. */
static void take_off(usm_cuda_queue *native)
{
    for (usm_cuda_queue **at = &thread.first; *at != NULL; at = &(*at)->next_watched) {
        if (*at == native) {
            *at = native->next_watched;
            break;
        }
    }
}

void usm_cuda_unwatch(usm_cuda_queue *native)
{
    if (!usm_cuda_forked()) {
        pthread_mutex_lock(&thread.lock);
        take_off(native);
        pthread_mutex_unlock(&thread.lock);
    }
}

static bool is_being_filled(usm_cuda_queue *native)
{
    uint64_t submitted = 0;
    for (unsigned i = 0; i < atomic_load_explicit(&native->n_lanes, memory_order_acquire); i++) {
        submitted += atomic_load_explicit(&native->lanes[i].submitted, memory_order_relaxed);
    }
    bool filled = submitted != native->seen && ++native->busy_ticks < BUSY_TICKS;
    native->seen = submitted;
    if (!filled) {
        native->busy_ticks = 0;
    }
    return filled;
}

/* True where somebody sleeps until a task of the queue ends. */
static bool look_after(usm_queue *queue)
{
    usm_cuda_queue *native = usm_cuda_queue_of(queue);
    if (!atomic_load(&native->hurried) && is_being_filled(native)) {
        native->idle_ticks = 0;
        return false;
    }
    bool pending = usm_cuda_end_ended(queue, true);
    if (pending) {
        /* What has no fence gets one, so that a queue that is never empty comes to an end of something. */
        for (unsigned i = 0; i < atomic_load_explicit(&native->n_lanes, memory_order_acquire); i++) {
            usm_cuda_lane *lane = &native->lanes[i];
            if (!atomic_load_explicit(&lane->eager, memory_order_relaxed) && !usm_cuda_lane_is_fenced(lane)) {
                (void)usm_cuda_lane_fence(lane, atomic_load_explicit(&lane->submitted, memory_order_acquire));
            }
        }
        native->idle_ticks = 0;
        return atomic_load(&native->hurried);
    }
    atomic_store(&native->hurried, false);
    if (++native->idle_ticks > IDLE_TICKS) {
        usm_lock_take(&queue->lock);
        if (queue->first == NULL) {
            pthread_mutex_lock(&thread.lock);
            take_off(native);
            pthread_mutex_unlock(&thread.lock);
            native->watched = false;
        }
        usm_lock_give(&queue->lock);
    }
    return false;
}

/* Queues with counts, so that none goes while it is looked after. */
static bool look_after_all(void)
{
    bool closely = false;
    usm_queue *queues[BATCH];
    int n = 0;
    pthread_mutex_lock(&thread.lock);
    for (usm_cuda_queue **at = &thread.first; *at != NULL && n < BATCH; at = &(*at)->next_watched) {
        if (usm_refcount_up_unless_zero(&(*at)->owner->refs)) {
            queues[n++] = (*at)->owner;
        }
    }
    if (n == BATCH) { /* the others are next */
        usm_cuda_queue *first = thread.first, *last = first;
        while (last->next_watched != NULL) {
            last = last->next_watched;
        }
        for (int i = 0; i < BATCH && first->next_watched != NULL; i++) {
            last->next_watched = first;
            last = first;
            thread.first = first = first->next_watched;
            last->next_watched = NULL;
        }
    }
    pthread_mutex_unlock(&thread.lock);
    for (int i = 0; i < n; i++) {
        closely |= look_after(queues[i]);
        usm_queue_release(queues[i]);
    }
    usm_cuda_captures_drain();
    return closely;
}

static void *watch(void *unused)
{
    int64_t pause = TICK_NS;
    (void)unused;
    pthread_setname_np(pthread_self(), "usmpy-cuda");
    for (;;) {
        pthread_mutex_lock(&thread.lock);
        while (thread.first == NULL && !thread.closely) {
            thread.asleep = true;
            usm_cond_wait_until(&thread.changed, &thread.lock, INT64_MAX);
        }
        thread.asleep = false;
        if (!thread.closely) {
            usm_cond_wait_until(&thread.changed, &thread.lock, usm_clock_ns() + pause);
        }
        bool called = thread.closely;
        thread.closely = false;
        pthread_mutex_unlock(&thread.lock);
        if (!look_after_all()) {
            pause = TICK_NS;
        } else if (called) {
            pause = CLOSE_NS;
        } else {
            /* Late by about a sixtieth of what was waited for. */
            pause = pause + pause / 64 < TICK_NS ? pause + pause / 64 : TICK_NS;
        }
        atomic_store_explicit(&pause_ns, pause, memory_order_relaxed);
    }
    return NULL;
}

bool usm_cuda_watcher_start(void)
{
    usm_cond_init(&thread.changed);
    return usm_thread_start(watch, NULL) &&
           (atomic_store_explicit(&started, true, memory_order_release), true);
}

void usm_cuda_fork(usm_fork_phase phase)
{
    if (phase == USM_FORK_CHILD && atomic_load_explicit(&started, memory_order_acquire)) {
        atomic_store_explicit(&forked, true, memory_order_release);
    }
}
