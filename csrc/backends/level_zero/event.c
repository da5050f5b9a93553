/*
 * The end of a driver's event. Level Zero calls nobody back: who waits for an event does so in the driver for
 * a moment, and ends whatever has ended; a thread looks after the others, about once a millisecond, and more
 * often while somebody waits to hear of one.
 */
#include "level_zero.h"

#include <pthread.h>
#include <stdlib.h>

static _Atomic bool started, forked;

/* A look at all queues with work that nobody waits for. */
#define TICK_NS 1000000
/* While somebody waits: looks, and the first of them in the driver, which is quicker than being woken. */
#define HURRY_NS 100000
#define HURRY_IN_DRIVER_NS 5000000
/* A thread that waits is deaf to Ctrl-C in the driver. */
#define JOIN_NS 4000000

static struct {
    pthread_mutex_t lock; /* a leaf */
    pthread_cond_t changed;
    bool hurry;
    usm_level_zero_queue *first, *last; /* queues with work in the driver, without counts */
    usm_level_zero_event *ended;        /* on the way to their end, which could not come under a lock */
} thread = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool usm_level_zero_forked(void)
{
    return atomic_load_explicit(&forked, memory_order_acquire);
}

usm_status usm_level_zero_after_fork(usm_error *error)
{
    return usm_error_set(
        error, USM_FORKED,
        "Level Zero was used before this process was forked, and drivers do not survive that; start "
        "processes with multiprocessing's method 'spawn'");
}

/*
 * When something on the device's clock was, on ours. Clocks are compared anew each time: kernels note few
 * bits of the device's, which come round within minutes, so that the difference to now is all that they tell.
 */
static void read_times(usm_level_zero_event *event)
{
    usm_event *base = &event->event;
    const usm_level_zero_device *device = usm_level_zero_device_of(base->queue->device);
    ze_kernel_timestamp_result_t times;
    uint64_t there = 0, host = 0;
    usm_level_zero_slot *slot = atomic_load_explicit(&event->slot, memory_order_relaxed);
    int64_t before = usm_clock_ns();
    base->start_ns = base->end_ns = before;
    if (usm_level_zero.zeEventQueryKernelTimestamp(slot->id, &times) == ZE_RESULT_SUCCESS &&
        usm_level_zero.zeDeviceGetGlobalTimestamps != NULL &&
        usm_level_zero.zeDeviceGetGlobalTimestamps(device->id, &host, &there) == ZE_RESULT_SUCCESS) {
        int64_t now = before + (usm_clock_ns() - before) / 2;
        uint64_t since = (there - times.global.kernelEnd) & device->kernel_mask;
        uint64_t length = (times.global.kernelEnd - times.global.kernelStart) & device->kernel_mask;
        if (since > device->kernel_mask / 2) { /* clocks agree to about a microsecond */
            since = 0;
        }
        base->end_ns = now - (int64_t)((double)since * device->ns_per_tick);
        base->start_ns = base->end_ns - (int64_t)((double)length * device->ns_per_tick);
    }
    if (base->start_ns < base->submit_ns) {
        base->start_ns = base->submit_ns;
    }
    if (base->end_ns < base->start_ns) {
        base->end_ns = base->start_ns;
    }
}

/* What the driver needed until the end. */
static void let_go(usm_level_zero_event *event)
{
    if (event->kernel != NULL) {
        usm_kernel_release(event->kernel);
        event->kernel = NULL;
    }
    if (event->temporary != NULL) {
        usm_level_zero.zeMemFree(usm_level_zero_context_of(event->event.queue->context)->id,
                                 event->temporary);
        event->temporary = NULL;
    }
}

/* All links have ended, and the driver has. */
static void finish(usm_event *base)
{
    usm_level_zero_event *event = (usm_level_zero_event *)base;
    usm_error error;
    let_go(event);
    bool inherits = atomic_load_explicit(&base->cause, memory_order_acquire) != NULL;
    if (event->result == ZE_RESULT_SUCCESS || inherits) {
        if (base->profiled && event->result == ZE_RESULT_SUCCESS) {
            read_times(event);
        }
        usm_event_finish(base, NULL);
        return;
    }
    usm_error_driver(&error, USM_DRIVER, "level_zero", (int)event->result, usm_level_zero_name(event->result),
                     "the task ended with %s (0x%x) on %s", usm_level_zero_name(event->result),
                     (unsigned)event->result, base->queue->device->info.name);
    usm_failure *failure = usm_failure_from_error(&error);
    usm_event_finish(base, failure != NULL ? failure : usm_failure_no_memory());
}

/* What a look at a queue has shown. */
typedef struct look {
    usm_level_zero_event *ended;   /* claimed, oldest first; linked by next_ended */
    usm_level_zero_event *hurried; /* the oldest that somebody waits for; one count */
    bool unended;
} look;

/*
 * Queue lock held. `known`: an event that has ended; in a queue in order so have all before it. Where the
 * oldest has not ended, no later one of a queue in order has.
 */
static void look_at(usm_queue *queue, const usm_level_zero_event *known, look *out)
{
    usm_level_zero_queue *native = usm_level_zero_queue_of(queue);
    usm_level_zero_event **last = &out->ended;
    bool hurries = atomic_exchange(&native->hurried, false), asks = true;
    known = queue->in_order && known != NULL && !known->claimed ? known : NULL;
    *out = (look){.ended = NULL};
    for (usm_event *base = queue->first; base != NULL && (asks || hurries); base = base->following) {
        usm_level_zero_event *event = (usm_level_zero_event *)base;
        usm_level_zero_slot *slot = atomic_load(&event->slot);
        if (slot == NULL || event->claimed) {
            continue;
        }
        ze_result_t result = known != NULL ? ZE_RESULT_SUCCESS
                             : asks        ? usm_level_zero.zeEventQueryStatus(slot->id)
                                           : ZE_RESULT_NOT_READY;
        known = event == known ? NULL : known;
        if (result == ZE_RESULT_NOT_READY) {
            out->unended = true;
            asks = asks && !queue->in_order;
            if (hurries && out->hurried == NULL && atomic_load(&event->hurried)) {
                out->hurried = event;
                usm_event_retain(base);
                atomic_store(&native->hurried, true);
                hurries = false;
            }
            continue;
        }
        event->claimed = true;
        event->result = result;
        *last = event;
        last = &event->next_ended;
    }
    *last = NULL;
}

/* No lock. */
static void end_all(usm_level_zero_event *event)
{
    while (event != NULL) {
        usm_level_zero_event *next = event->next_ended;
        if (event->late || usm_event_arm(&event->event, finish)) {
            finish(&event->event);
        }
        event = next;
    }
}

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

static void wake(void)
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
        wake();
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
    look seen;
    atomic_store(&native->ticking, false); /* before the look: what comes behind it asks for the next one */
    pthread_mutex_lock(&queue->lock);
    look_at(queue, NULL, &seen);
    pthread_mutex_unlock(&queue->lock);
    if (seen.unended) {
        tick_soon(native);
    }
    end_all(seen.ended);
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
    while (thread.first == NULL && thread.ended == NULL) {
        usm_cond_wait_until(&thread.changed, &thread.lock, INT64_MAX);
    }
    int64_t until = usm_clock_ns() + TICK_NS;
    while (!at_once && !thread.hurry && usm_clock_ns() < until) {
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
        usm_level_zero_event *ended = thread.ended;
        thread.ended = NULL;
        int n = take_queues(queues);
        pthread_mutex_unlock(&thread.lock);
        end_all(ended);
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
    return NULL;
}

bool usm_level_zero_watcher_start(void)
{
    usm_cond_init(&thread.changed);
    return usm_thread_start(watch, NULL) &&
           (atomic_store_explicit(&started, true, memory_order_release), true);
}

void usm_level_zero_event_join(usm_event *base)
{
    usm_level_zero_event *event = (usm_level_zero_event *)base;
    usm_level_zero_slot *slot = atomic_load_explicit(&event->slot, memory_order_acquire);
    look seen;
    if (slot == NULL || usm_level_zero_forked()) {
        return;
    }
    ze_result_t result = usm_level_zero.zeEventHostSynchronize(slot->id, JOIN_NS);
    if (result == ZE_RESULT_NOT_READY) {
        return;
    }
    pthread_mutex_lock(&base->queue->lock);
    look_at(base->queue, result == ZE_RESULT_SUCCESS ? event : NULL, &seen);
    pthread_mutex_unlock(&base->queue->lock);
    if (seen.hurried != NULL) {
        usm_event_release(&seen.hurried->event);
    }
    end_all(seen.ended);
}

void usm_level_zero_event_hurry(usm_event *base)
{
    usm_level_zero_event *event = (usm_level_zero_event *)base;
    if (usm_level_zero_forked() || usm_event_ended(base) || atomic_exchange(&event->hurried, true)) {
        return;
    }
    atomic_store(&usm_level_zero_queue_of(base->queue)->hurried, true);
    if (atomic_load(&event->slot) != NULL) { /* else it is watched for when it gets one */
        wake();
    }
}

void usm_level_zero_event_destroy(usm_event *base)
{
    usm_level_zero_event *event = (usm_level_zero_event *)base;
    usm_level_zero_slot *slot = atomic_load_explicit(&event->slot, memory_order_relaxed);
    free(event->strided);
    usm_launch_free(event->launch);
    if (usm_level_zero_forked()) {
        return;
    }
    let_go(event); /* of a task that was refused half-way */
    if (slot != NULL) {
        usm_level_zero_slot_put(base->queue->context, slot, event->result != ZE_RESULT_SUCCESS);
    }
}

void usm_level_zero_fork(usm_fork_phase phase)
{
    if (phase == USM_FORK_CHILD && atomic_load_explicit(&started, memory_order_acquire)) {
        atomic_store_explicit(&forked, true, memory_order_release);
    }
}
