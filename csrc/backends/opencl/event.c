/*
 * The end of a driver's event. The driver calls back on a thread of its own, or inside any call of ours;
 * there the event is only put on a list. A thread of the backend takes it from there, or one that waits in
 * the driver for the event: it asks for times, runs usm_event_finish and what hangs on that.
 */
#include "opencl.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

static _Atomic(usm_opencl_event *) done; /* newest first */
static _Atomic bool started, forked;
static _Atomic unsigned joiners; /* threads in usm_opencl_event_join: each looks at the list before it goes */

/* How long a joined event's callback is looked for, after the driver's wait for it has ended. */
#define SPIN_NS 20000

/*
 * A callback costs a tenth of a launch, and often a change of threads. So tasks that are over in a moment
 * have none: they are "quiet", and ended by whoever waits for one of them or, if nobody does, by the thread,
 * which looks after them about once a millisecond. What it then finds unended in a queue that is in order
 * gets a callback, and the rest of the queue is looked at when that has come. In other queues tasks end in
 * any order: the thread goes on looking, and gives callbacks to those that it has found unended a few times.
 */
#define TICK_NS 1000000
#define PATIENCE 4
/* So many that have not ended, and a look goes no further: most end in about the order of submission. */
#define MOST_UNENDED 64

static struct {
    pthread_mutex_t lock; /* a leaf, but that a queue's lock may be tried under it */
    pthread_cond_t changed;
    bool woken;
    usm_opencl_queue *ticking; /* queues with quiet events, without counts */
} thread = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool usm_opencl_forked(void)
{
    return atomic_load_explicit(&forked, memory_order_acquire);
}

usm_status usm_opencl_after_fork(usm_error *error)
{
    return usm_error_set(
        error, USM_FORKED,
        "OpenCL was used before this process was forked, and drivers do not survive that; start "
        "processes with multiprocessing's method 'spawn'");
}

static void fail(usm_opencl_event *event, const usm_error *error, usm_ended *ended)
{
    usm_failure *failure = usm_failure_from_error(error);
    usm_event_finish_among(&event->event, failure != NULL ? failure : usm_failure_no_memory(), ended);
}

/*
 * The driver ended this task because another one failed that it only had to come after: OpenCL's wait lists
 * know no such difference. It goes again, alone. True where it is on its way.
 */
static bool go_again(usm_opencl_event *event, usm_error *error)
{
    event->refused = atomic_exchange_explicit(&event->id, NULL, memory_order_acq_rel);
    event->late = true;
    atomic_store(&event->claimed, false);
    return usm_opencl_enqueue(event, &event->command, 0, NULL, error) == USM_OK &&
           usm_opencl_watch(event, error) == USM_OK;
}

/* All links have ended, and the driver has. `ended` may be NULL: usm_event_finish_among. */
static void finish(usm_event *base, usm_ended *ended)
{
    usm_opencl_event *event = (usm_opencl_event *)base;
    usm_error error;
    bool inherits = atomic_load_explicit(&base->cause, memory_order_acquire) != NULL;
    if (event->status == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST && !inherits && !event->late &&
        !event->final) {
        if (!go_again(event, &error)) {
            fail(event, &error, ended);
        }
        return;
    }
    if (base->profiled) {
        usm_opencl_read_times(event);
    }
    if (event->status < 0 && !inherits) {
        usm_error_driver(&error, USM_DRIVER, "opencl", event->status, usm_opencl_name(event->status),
                         "the task ended with %s (%d) on %s", usm_opencl_name(event->status), event->status,
                         base->queue->device->info.name);
        fail(event, &error, ended);
    } else {
        usm_event_finish_among(base, NULL, ended);
    }
}

static void finish_alone(usm_event *base)
{
    finish(base, NULL);
}

static void end(usm_opencl_event *event, usm_ended *ended)
{
    if (event->late || usm_event_arm(&event->event, finish_alone)) {
        finish(&event->event, ended);
    }
}

/* True for who is to end it. */
static bool claim(usm_opencl_event *event)
{
    if (atomic_exchange(&event->claimed, true)) {
        return false;
    }
    if (atomic_load(&event->quiet)) {
        atomic_fetch_sub_explicit(&usm_opencl_queue_of(event->event.queue)->n_quiet, 1, memory_order_relaxed);
    }
    usm_opencl_chain_drop(event);
    return true;
}

/* What a look at the quiet events of a queue found. */
typedef struct look {
    usm_opencl_event *ended; /* by the driver, and claimed; oldest first, linked by next_seen */
    usm_opencl_event *late;  /* to be given a callback, linked by next_late; one count each */
    bool more;               /* there are others that have not ended */
} look;

/*
 * Looks at quiet events, oldest first, until it has met `most` that have not ended; in a queue in order at
 * the first. `complete` (may be NULL) is known to have succeeded; behind it, one ends the look. Queue lock
 * held.
 */
static look look_at(const usm_queue *queue, usm_opencl_event *complete, unsigned most, bool ticking)
{
    look found = {NULL, NULL, false};
    usm_opencl_event **last = &found.ended, **last_late = &found.late;
    unsigned unended = 0;
    for (usm_event *base = queue->first; base != NULL && unended < most; base = base->following) {
        usm_opencl_event *event = (usm_opencl_event *)base;
        bool waits = !queue->in_order && event != complete && atomic_load(&event->loud);
        if (!atomic_load(&event->quiet) || atomic_load(&event->claimed) || waits) {
            continue;
        }
        cl_int status = event == complete ? CL_COMPLETE : usm_opencl_ask_status(event);
        if (event == complete) { /* what it waited for lies before it */
            most = unended + 1;
        }
        if (status <= CL_COMPLETE) {
            if (claim(event)) {
                event->status = status;
                *last = event;
                last = &event->next_seen;
            }
            continue;
        }
        unended = queue->in_order ? most : unended + 1;
        found.more = true;
        if (ticking && (atomic_fetch_add(&event->ticks, 1) + 1 >= PATIENCE || queue->in_order)) {
            usm_event_retain(base);
            *last_late = event;
            last_late = &event->next_late;
        }
    }
    *last = *last_late = NULL;
    return found;
}

/* No lock. */
static void end_all(usm_opencl_event *event)
{
    usm_ended ended = {NULL, NULL};
    while (event != NULL) {
        usm_opencl_event *next = event->next_seen;
        end(event, &ended);
        event = next;
    }
    usm_events_forget(&ended);
}

/* Queue lock held. */
static void tick_soon(usm_opencl_queue *native)
{
    if (native->ticking || native->awaited) {
        return;
    }
    native->ticking = true;
    pthread_mutex_lock(&thread.lock);
    native->next_ticking = thread.ticking;
    thread.ticking = native;
    if (native->next_ticking == NULL) {
        pthread_cond_signal(&thread.changed);
    }
    pthread_mutex_unlock(&thread.lock);
}

/* Callbacks for what is late. In a queue in order this is one event, which the others are left to. */
static void hurry_late(usm_opencl_event *event)
{
    while (event != NULL) {
        usm_opencl_event *next = event->next_late;
        usm_opencl_queue *native = usm_opencl_queue_of(event->event.queue);
        usm_opencl_event_hurry(&event->event);
        if (native->owner->in_order && !atomic_load(&event->loud)) { /* the driver refused */
            usm_lock_take(&native->owner->lock);
            native->awaited = false;
            tick_soon(native);
            usm_lock_give(&native->owner->lock);
        }
        usm_event_release(&event->event);
        event = next;
    }
}

/* The callback that the queue's later events were left to has come. No lock; a count of the queue is held. */
static void look_again(usm_queue *queue)
{
    usm_lock_take(&queue->lock);
    look found = look_at(queue, NULL, 1, true);
    usm_opencl_queue_of(queue)->awaited = found.late != NULL;
    usm_lock_give(&queue->lock);
    end_all(found.ended);
    hurry_late(found.late);
}

/* All whose callback has come, oldest first. Any thread, no lock. */
static void drain(void)
{
    usm_opencl_event *event = atomic_exchange(&done, NULL), *oldest = NULL;
    while (event != NULL) {
        usm_opencl_event *next = event->next_done;
        event->next_done = oldest;
        oldest = event;
        event = next;
    }
    while (oldest != NULL) {
        usm_opencl_event *next = oldest->next_done;
        bool left_to = atomic_load(&oldest->loud) && oldest->event.queue->in_order;
        usm_queue *queue = left_to ? usm_queue_retain(oldest->event.queue) : NULL;
        usm_opencl_learn(oldest);
        if (claim(oldest)) {
            end(oldest, NULL);
        }
        usm_event_release(&oldest->event); /* the callback's */
        if (queue != NULL) {
            look_again(queue);
            usm_queue_release(queue);
        }
        oldest = next;
    }
}

/* Under the lock of the list, a queue's lock is only tried: submissions take them the other way round. */
static void tick(void)
{
    look found[16];
    int n = 0;
    pthread_mutex_lock(&thread.lock);
    for (usm_opencl_queue **at = &thread.ticking; *at != NULL && n < 16;) {
        usm_opencl_queue *native = *at;
        if (!usm_lock_try(&native->owner->lock)) {
            at = &native->next_ticking;
            continue;
        }
        found[n] = look_at(native->owner, NULL, MOST_UNENDED, true);
        native->awaited = native->owner->in_order && found[n].late != NULL;
        native->ticking = found[n].more && !native->awaited;
        if (native->ticking) {
            at = &native->next_ticking;
        } else {
            *at = native->next_ticking;
        }
        n++;
        usm_lock_give(&native->owner->lock);
    }
    pthread_mutex_unlock(&thread.lock);
    for (int i = 0; i < n; i++) {
        end_all(found[i].ended);
        hurry_late(found[i].late);
    }
}

static void *watch(void *unused)
{
    int64_t next_tick = INT64_MAX;
    (void)unused;
    pthread_setname_np(pthread_self(), "usmpy-opencl");
    for (;;) {
        pthread_mutex_lock(&thread.lock);
        while (!thread.woken && (next_tick == INT64_MAX || usm_clock_ns() < next_tick)) {
            if (next_tick == INT64_MAX && thread.ticking != NULL) {
                next_tick = usm_clock_ns() + TICK_NS;
            }
            usm_cond_wait_until(&thread.changed, &thread.lock, next_tick);
        }
        thread.woken = false;
        next_tick = thread.ticking == NULL   ? INT64_MAX
                    : next_tick == INT64_MAX ? usm_clock_ns() + TICK_NS
                                             : next_tick;
        pthread_mutex_unlock(&thread.lock);
        drain();
        if (usm_clock_ns() >= next_tick) {
            tick();
            next_tick = INT64_MAX;
        }
    }
    return NULL;
}

static void wake(void)
{
    pthread_mutex_lock(&thread.lock);
    if (!thread.woken) {
        thread.woken = true;
        pthread_cond_signal(&thread.changed);
    }
    pthread_mutex_unlock(&thread.lock);
}

void usm_opencl_watch_quietly(usm_opencl_event *event)
{
    usm_opencl_queue *native = usm_opencl_queue_of(event->event.queue);
    atomic_fetch_add_explicit(&native->n_quiet, 1, memory_order_relaxed);
    atomic_store(&event->quiet, true);
    tick_soon(native);
}

void usm_opencl_forget_queue(usm_opencl_queue *native)
{
    if (usm_opencl_forked()) {
        return;
    }
    pthread_mutex_lock(&thread.lock);
    for (usm_opencl_queue **at = &thread.ticking; *at != NULL; at = &(*at)->next_ticking) {
        if (*at == native) {
            *at = native->next_ticking;
            break;
        }
    }
    pthread_mutex_unlock(&thread.lock);
}

bool usm_opencl_watcher_start(void)
{
    usm_cond_init(&thread.changed);
    return usm_thread_start(watch, NULL) &&
           (atomic_store_explicit(&started, true, memory_order_release), true);
}

static void CL_CALLBACK on_end(cl_event id, cl_int status, void *argument)
{
    usm_opencl_event *event = argument;
    (void)id;
    event->status = status;
    event->ended_ns = event->kernel != NULL ? usm_clock_ns() : 0;
    bool joined = atomic_load(&event->joined);
    usm_opencl_event *head = atomic_load(&done);
    do {
        event->next_done = head;
    } while (!atomic_compare_exchange_weak(&done, &head, event));
    /* From here on the event may be gone. */
    if (!(joined && atomic_load(&joiners) > 0)) {
        wake();
    }
}

/* True where there was something to end. `complete`: as in look_at; it is ended in any case. */
static bool end_quiet(usm_queue *queue, usm_opencl_event *complete, unsigned most)
{
    usm_lock_take(&queue->lock);
    look found = look_at(queue, complete, most, false);
    usm_lock_give(&queue->lock);
    end_all(found.ended);
    if (complete != NULL && claim(complete)) { /* behind many that have not ended */
        complete->status = CL_COMPLETE;
        end(complete, NULL);
    }
    return found.ended != NULL;
}

/*
 * The driver's wait, where this thread may run the task itself; then the event is mostly on the list, put
 * there by this very thread. A callback that comes after the last look at the list wakes the other thread.
 */
void usm_opencl_event_join(usm_event *base)
{
    usm_opencl_event *event = (usm_opencl_event *)base;
    cl_event id = atomic_load_explicit(&event->id, memory_order_acquire);
    if (id == NULL || !event->quick || usm_opencl_forked()) {
        return;
    }
    bool complete = false;
    if (atomic_load(&event->quiet)) {
        /* The driver is at work on the last ones: meanwhile the first ones are ended here. */
        const usm_opencl_queue *native = usm_opencl_queue_of(base->queue);
        while (atomic_load_explicit(&native->n_quiet, memory_order_relaxed) > 1 &&
               end_quiet(base->queue, NULL, 1) && !usm_event_ended(base)) {
        }
        if (!usm_event_ended(base) && usm_opencl_wait(event, id, &complete)) {
            end_quiet(base->queue, complete ? event : NULL, MOST_UNENDED);
        }
        if (usm_event_ended(base)) {
            return;
        }
    }
    atomic_fetch_add(&joiners, 1);
    atomic_store(&event->joined, true);
    bool waited = usm_opencl_wait(event, id, &complete);
    drain();
    for (int64_t until = 0; waited && !usm_event_ended(base);) {
        int64_t now = usm_clock_ns();
        until = until != 0 ? until : now + SPIN_NS;
        if (now >= until) {
            break;
        }
        if (atomic_load_explicit(&done, memory_order_relaxed) != NULL) {
            drain();
        }
    }
    atomic_store(&event->joined, false);
    atomic_fetch_sub(&joiners, 1);
    drain();
}

bool usm_opencl_event_in_driver(usm_event *base)
{
    return atomic_load_explicit(&((usm_opencl_event *)base)->id, memory_order_acquire) != NULL;
}

bool usm_opencl_event_is_running(usm_event *base)
{
    cl_event id = atomic_load_explicit(&((usm_opencl_event *)base)->id, memory_order_acquire);
    cl_int status = CL_QUEUED;
    if (id == NULL || usm_opencl_forked()) {
        return false;
    }
    const usm_opencl_api *api = usm_opencl_context_of(base->queue->context)->platform->api;
    return api->clGetEventInfo(id, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL) ==
               CL_SUCCESS &&
           status <= CL_RUNNING; /* or just ended, and not seen yet */
}

usm_status usm_opencl_watch(usm_opencl_event *event, usm_error *error)
{
    const usm_opencl_api *api = usm_opencl_context_of(event->event.queue->context)->platform->api;
    cl_event id = atomic_load_explicit(&event->id, memory_order_relaxed);
    if (event->enqueued_ns == 0 && event->kernel != NULL) {
        /* How long it has been quiet is not known exactly, and matters for those that take long. */
        unsigned ticks = atomic_load(&event->ticks);
        event->enqueued_ns = usm_clock_ns() - (ticks > 1 ? ticks - 1 : 0) * (int64_t)TICK_NS;
    }
    usm_event_retain(&event->event); /* the callback's: others may end the event before it comes */
    cl_int code = api->clSetEventCallback(id, CL_COMPLETE, on_end, event);
    if (code != CL_SUCCESS) {
        usm_event_release(&event->event);
        return usm_opencl_failed(error, code, "clSetEventCallback");
    }
    return USM_OK;
}

void usm_opencl_event_hurry(usm_event *base)
{
    usm_opencl_event *event = (usm_opencl_event *)base;
    usm_error error;
    if (!atomic_load(&event->quiet) || usm_opencl_forked() || atomic_exchange(&event->loud, true)) {
        return;
    }
    if (usm_opencl_watch(event, &error) != USM_OK) {
        usm_error_clear(&error);
        atomic_store(&event->loud, false);
    }
}

void usm_opencl_event_destroy(usm_event *base)
{
    usm_opencl_event *event = (usm_opencl_event *)base;
    free(event->strided);
    usm_launch_free(event->launch);
    const cl_event ids[] = {atomic_load_explicit(&event->id, memory_order_relaxed), event->refused};
    for (int i = 0; i < 2; i++) {
        if (ids[i] != NULL && !usm_opencl_forked()) {
            usm_opencl_context_of(base->queue->context)->platform->api->clReleaseEvent(ids[i]);
        }
    }
}

void usm_opencl_fork(usm_fork_phase phase)
{
    usm_opencl_spares_fork(phase);
    if (phase == USM_FORK_CHILD && atomic_load_explicit(&started, memory_order_acquire)) {
        atomic_store_explicit(&forked, true, memory_order_release);
    }
}
