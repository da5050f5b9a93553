/*
 * The thread that looks for ends of tasks that nobody waits for, about once a millisecond, and more often
 * while somebody waits to hear of one.
 */
#include "level_zero.h"

#include <pthread.h>

static _Atomic bool started; /* in this process */

/* A look at all queues with work that nobody waits for. */
#define TICK_NS 1000000
/* While somebody waits: looks, and the first of them in the driver, which is quicker than being woken. */
#define HURRY_NS 100000
#define HURRY_IN_DRIVER_NS 5000000
/* How long the end of a process waits for the thread, which waits for nothing longer than HURRY_NS. */
#define STOP_NS 1000000000

static struct {
    pthread_mutex_t lock; /* a leaf */
    pthread_cond_t changed;
    bool runs, stop;
    bool hurry;
    usm_level_zero_queue *first, *last; /* queues with work in the driver, without counts */
    usm_level_zero_event *ended;        /* on the way to their end, which could not come under a lock */
} thread = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Any lock but a leaf. */
static void tick_soon(usm_level_zero_queue *native)
{
    if (atomic_exchange(&native->ticking, true)) {
        return;
    }
    pthread_mutex_lock(&thread.lock);
    native->next_ticking = NULL;
    *(thread.first == NULL ? &thread.first : &thread.last->next_ticking) = native;
    if (thread.first == native) {
        pthread_cond_signal(&thread.changed);
    }
    thread.last = native;
    pthread_mutex_unlock(&thread.lock);
}

void usm_level_zero_wake(void)
{
    pthread_mutex_lock(&thread.lock);
    if (!thread.hurry) {
        thread.hurry = true;
        pthread_cond_signal(&thread.changed);
    }
    pthread_mutex_unlock(&thread.lock);
}

void usm_level_zero_watch(usm_level_zero_event *event)
{
    usm_level_zero_queue *native = usm_level_zero_queue_of(event->event.queue);
    tick_soon(native);
    if (atomic_load(&event->hurried)) {
        atomic_store(&native->hurried, true);
        usm_level_zero_wake();
    }
}

void usm_level_zero_end_soon(usm_level_zero_event *event)
{
    pthread_mutex_lock(&thread.lock);
    event->next_ended = thread.ended;
    thread.ended = event;
    thread.hurry = true;
    pthread_cond_signal(&thread.changed);
    pthread_mutex_unlock(&thread.lock);
}

void usm_level_zero_forget_queue(usm_level_zero_queue *native)
{
    if (usm_level_zero_forked()) {
        return;
    }
    pthread_mutex_lock(&thread.lock);
    usm_level_zero_queue *before = NULL;
    for (usm_level_zero_queue *at = thread.first; at != NULL; before = at, at = at->next_ticking) {
        if (at == native) {
            *(before == NULL ? &thread.first : &before->next_ticking) = at->next_ticking;
            thread.last = thread.last == at ? before : thread.last;
            break;
        }
    }
    pthread_mutex_unlock(&thread.lock);
}

enum { MOST_AT_ONCE = 16 };

/* Thread lock held. Queues, each with a count; those that end just now are left out. */
static int take_queues(usm_queue **out)
{
    int n = 0;
    while (n < MOST_AT_ONCE && thread.first != NULL) {
        usm_level_zero_queue *native = thread.first;
        thread.first = native->next_ticking;
        thread.last = thread.first == NULL ? NULL : thread.last;
        if (usm_refcount_up_unless_zero(&native->owner->refs)) {
            out[n++] = native->owner;
        }
    }
    return n;
}

/* An event that somebody waits for, with a count, or NULL. */
static usm_level_zero_event *tick(usm_queue *queue)
{
    usm_level_zero_queue *native = usm_level_zero_queue_of(queue);
    usm_level_zero_look seen;
    atomic_store(&native->ticking, false); /* before the look: what comes behind it asks for the next one */
    usm_lock_take(&queue->lock);
    usm_level_zero_look_at(queue, NULL, &seen);
    usm_lock_give(&queue->lock);
    if (seen.unended) {
        tick_soon(native);
    }
    usm_level_zero_end_all(seen.ended);
    usm_queue_release(queue);
    return seen.hurried;
}

/* The next look is soon; at first in the driver, which hears of the end at once. */
static void wait_hurried(usm_level_zero_event *event, int64_t since_ns)
{
    if (usm_clock_ns() - since_ns < HURRY_IN_DRIVER_NS) {
        usm_level_zero_slot *slot = atomic_load(&event->slot);
        (void)usm_level_zero.zeEventHostSynchronize(slot->id, HURRY_NS);
    } else {
        pthread_mutex_lock(&thread.lock);
        usm_cond_wait_until(&thread.changed, &thread.lock, usm_clock_ns() + HURRY_NS);
        pthread_mutex_unlock(&thread.lock);
    }
    usm_event_release(&event->event);
}

/* Thread lock held: until it is time for the next look. */
static void sleep_until_needed(bool at_once)
{
    while (thread.first == NULL && thread.ended == NULL && !thread.stop) {
        usm_cond_wait_until(&thread.changed, &thread.lock, INT64_MAX);
    }
    int64_t until = usm_clock_ns() + TICK_NS;
    while (!at_once && !thread.hurry && !thread.stop && usm_clock_ns() < until) {
        usm_cond_wait_until(&thread.changed, &thread.lock, until);
    }
    thread.hurry = false;
}

static void *watch(void *unused)
{
    usm_queue *queues[MOST_AT_ONCE];
    bool at_once = false;
    int64_t hurried_ns = 0;
    (void)unused;
    pthread_setname_np(pthread_self(), "usmpy-ze");
    for (;;) {
        usm_level_zero_event *hurried = NULL;
        pthread_mutex_lock(&thread.lock);
        sleep_until_needed(at_once);
        if (thread.stop) {
            break;
        }
        usm_level_zero_event *ended = thread.ended;
        thread.ended = NULL;
        int n = take_queues(queues);
        pthread_mutex_unlock(&thread.lock);
        usm_level_zero_end_all(ended);
        for (int i = 0; i < n; i++) {
            usm_level_zero_event *other = tick(queues[i]);
            if (other != NULL && hurried != NULL) {
                usm_event_release(&other->event);
            } else if (other != NULL) {
                hurried = other;
            }
        }
        at_once = hurried != NULL;
        if (at_once) {
            hurried_ns = hurried_ns != 0 ? hurried_ns : usm_clock_ns();
            wait_hurried(hurried, hurried_ns);
        } else {
            hurried_ns = 0;
        }
    }
    thread.runs = false;
    pthread_cond_broadcast(&thread.changed);
    pthread_mutex_unlock(&thread.lock);
    return NULL;
}

bool usm_level_zero_watcher_started(void)
{
    return atomic_load_explicit(&started, memory_order_acquire);
}

bool usm_level_zero_watcher_start(void)
{
    pthread_mutex_lock(&thread.lock);
    if (!atomic_load_explicit(&started, memory_order_relaxed)) {
        usm_cond_init(&thread.changed);
    }
    if (!thread.runs) {
        thread.stop = false;
        thread.runs = usm_thread_start(watch, NULL);
    }
    bool runs = thread.runs;
    pthread_mutex_unlock(&thread.lock);
    if (runs) {
        atomic_store_explicit(&started, true, memory_order_release);
    }
    return runs;
}

bool usm_level_zero_watcher_stop(void)
{
    int64_t until = usm_clock_ns() + STOP_NS;
    pthread_mutex_lock(&thread.lock);
    thread.stop = true;
    pthread_cond_broadcast(&thread.changed);
    while (thread.runs && usm_clock_ns() < until) {
        usm_cond_wait_until(&thread.changed, &thread.lock, until);
    }
    bool ended = !thread.runs;
    pthread_mutex_unlock(&thread.lock);
    return ended;
}
