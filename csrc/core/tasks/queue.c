#include "queue.h"

#include "completion.h"
#include "core/base/detach.h"
#include "core/base/heap.h"
#include "core/base/live.h"
#include "core/device/rule.h"
#include "deferral.h"
#include "hazard.h"
#include "worker.h"

#include <stddef.h>

/* All queues of the process, newest first (registry lock). */
static usm_queue *all_queues;

/* Destroys what the backend and the worker have of a queue without pending work. */
static void destroy_parts(usm_queue *queue)
{
    usm_queue_unwatch(queue);
    if (queue->backend->queue_destroy != NULL && !usm_is_forked(queue->backend)) {
        USM_CALL_IF(queue->backend->has_driver, queue->backend, queue_destroy)(queue);
    }
    if (queue->worker != NULL) {
        usm_worker_drop(queue->worker);
    }
}

static usm_status create_parts(usm_queue *queue, usm_error *error)
{
    const usm_backend *backend = queue->backend;
    usm_status status = backend->event_poll != NULL ? usm_completion_start(error) : USM_OK;
    if (status == USM_OK && backend->queue_create != NULL) {
        void *held = backend->has_driver ? usm_detach() : NULL;
        status = USM_UNLESS_FORKED(backend, error,
                                   USM_CALL_IF(backend->has_driver, backend, queue_create)(queue, error));
        usm_attach(held);
    }
    if (status == USM_OK && queue->worker == NULL) {
        /* Several threads, so that one stuck task does not stop the others of an out-of-order queue. */
        queue->worker = usm_worker_new(queue->in_order ? 1 : 4, usm_deferral_forget_ended);
        if (queue->worker == NULL) {
            destroy_parts(queue);
            status = usm_error_memory(error, sizeof *queue->worker, "a queue's threads");
        }
    }
    return status;
}

usm_status usm_queue_create(usm_place *place, const usm_queue_options *options, usm_queue **out,
                            usm_error *error)
{
    usm_queue *queue = usm_calloc(1, sizeof *queue);
    if (queue == NULL) {
        return usm_error_memory(error, sizeof *queue, "a queue");
    }
    usm_refcount_init(&queue->refs, 1);
    queue->context = usm_context_retain(place->context);
    queue->backend = place->context->backend;
    queue->device = place->device;
    queue->place = place;
    queue->in_order = options->in_order;
    queue->profiling = options->profiling;
    queue->priority = options->priority;
    queue->foreign = options->foreign;
    queue->keeps = options->keeps;
    atomic_init(&queue->shared, options->foreign != NULL);
    usm_status status = create_parts(queue, error);
    if (status != USM_OK) {
        usm_context_release(queue->context);
        free(queue);
        return status;
    }
    usm_live_add(USM_LIVE_QUEUE, 1);
    usm_registry_lock();
    queue->next = all_queues;
    if (all_queues != NULL) {
        all_queues->previous = queue;
    }
    all_queues = queue;
    usm_registry_unlock();
    *out = queue;
    return USM_OK;
}

usm_queue *usm_queue_of_native(const usm_backend *backend, const void *handle)
{
    usm_queue *found;
    usm_registry_lock();
    do {
        found = NULL;
        for (usm_queue *q = all_queues; q != NULL; q = q->next) { /* the newest comes first */
            bool is_it = q->backend == backend && !usm_refcount_is(&q->refs, 0) &&
                         USM_CALL(backend->native, handle)(USM_NATIVE_QUEUE, q) == handle;
            found = is_it ? q : found;
        }
    } while (found != NULL && !usm_refcount_up_unless_zero(&found->refs));
    usm_registry_unlock();
    return found;
}

void *usm_queue_handle(usm_queue *queue)
{
    if (queue->backend->native == NULL) {
        return NULL;
    }
    if (usm_is_forked(queue->backend)) { /* nobody enqueues there: the queue is not prepared for it */
        return USM_CALL(queue->backend->native, handle)(USM_NATIVE_QUEUE, queue);
    }
    /* Said before the backend is asked, which prepares a queue that is shared for it. */
    bool before = atomic_exchange_explicit(&queue->shared, true, memory_order_acq_rel);
    void *handle = USM_CALL(queue->backend->native, handle)(USM_NATIVE_QUEUE, queue);
    if (handle == NULL) {
        atomic_store_explicit(&queue->shared, before, memory_order_release);
    }
    return handle;
}

usm_queue *usm_queue_retain(usm_queue *queue)
{
    usm_refcount_up(&queue->refs);
    return queue;
}

/* Takes the queue off the list of all queues. Registry lock held. */
static void unlist(usm_queue *queue)
{
    *(queue->previous != NULL ? &queue->previous->next : &all_queues) = queue->next;
    if (queue->next != NULL) {
        queue->next->previous = queue->previous;
    }
}

/* How many events of the queue have not ended. Queue lock held. */
static size_t count_pending(const usm_queue *queue)
{
    size_t n = 0;
    for (const usm_event *event = queue->first; event != NULL; event = event->following) {
        n++;
    }
    return n;
}

size_t usm_queues_pending(usm_device **oldest)
{
    size_t n = 0;
    uint64_t order = UINT64_MAX;
    *oldest = NULL;
    usm_registry_lock();
    for (usm_queue *queue = all_queues; queue != NULL; queue = queue->next) {
        usm_lock_take(&queue->lock);
        if (queue->first != NULL && queue->first->order < order) {
            order = queue->first->order;
            *oldest = queue->device;
        }
        n += count_pending(queue);
        usm_lock_give(&queue->lock);
    }
    usm_registry_unlock();
    return n;
}

void usm_queues_report(const usm_deferred_list *home)
{
    usm_registry_lock();
    for (usm_queue *queue = all_queues; queue != NULL; queue = queue->next) {
        usm_lock_take(&queue->lock);
        if (home == NULL) {
            usm_unretrieved_report(&queue->unretrieved);
        } else {
            usm_unretrieved_report_of(&queue->unretrieved, home);
        }
        usm_lock_give(&queue->lock);
    }
    usm_registry_unlock();
}

/* The queue is on no list any more. Waits for the driver as queue_destroy does. */
static void destroy(usm_queue *queue)
{
    destroy_parts(queue);
    usm_events_free(queue);
    usm_keep_drop(queue->keeps);
    usm_context *context = queue->context;
    free(queue);
    usm_live_add(USM_LIVE_QUEUE, -1);
    usm_context_release(context);
}

static bool give_back(usm_reclaimable *item, bool waits)
{
    (void)waits;
    destroy((usm_queue *)((char *)item - offsetof(usm_queue, reclaimable)));
    return true;
}

void usm_queue_release(usm_queue *queue)
{
    if (!usm_refcount_down(&queue->refs)) {
        return;
    }
    usm_registry_lock();
    if (queue->cached && queue->place->queue == queue) {
        queue->place->queue = NULL;
    }
    unlist(queue);
    usm_registry_unlock();
    usm_unretrieved_report(&queue->unretrieved);
    usm_failure_release(queue->failure);
    if (queue->backend->has_driver) {
        queue->reclaimable.give_back = give_back;
        usm_reclaimer_put(&queue->reclaimable);
    } else {
        destroy(queue);
    }
}

void usm_queue_remember(const usm_event *event, usm_failure *failure)
{
    usm_queue *queue = event->queue;
    bool inherited = event->internal && failure->cause != NULL;
    usm_lock_take(&queue->lock);
    if (queue->failure == NULL && !inherited &&
        !atomic_load_explicit(&failure->delivered, memory_order_acquire)) {
        queue->failure = usm_failure_retain(failure);
    }
    usm_unretrieved_add(&queue->unretrieved, failure);
    usm_lock_give(&queue->lock);
}

void usm_queue_prune(usm_queue *queue)
{
    usm_lock_take(&queue->lock);
    usm_unretrieved_prune(&queue->unretrieved);
    usm_lock_give(&queue->lock);
}

void usm_queue_forget(usm_queue *queue, usm_event *event)
{
    usm_lock_take(&queue->lock);
    for (; event != NULL; event = event->next_ended) {
        if (event->previous != NULL || queue->first == event) {
            *(event->previous != NULL ? &event->previous->following : &queue->first) = event->following;
            if (event->following != NULL) {
                event->following->previous = event->previous;
            } else { /* release: a thread that finds the queue idle without the lock sees what the task wrote
                      */
                atomic_store_explicit(&queue->last, event->previous, memory_order_release);
            }
            event->previous = event->following = NULL;
        }
        if (queue->barrier == event) {
            queue->barrier = NULL;
        }
    }
    usm_lock_give(&queue->lock);
}

/* Submits a marker, whose event stands for what other libraries have enqueued in a shared queue. */
static usm_status mark(usm_queue *queue, usm_error *error)
{
    if (!usm_queue_is_shared(queue)) {
        return USM_OK;
    }
    const usm_command command = {.kind = USM_COMMAND_MARKER};
    const usm_submission submission = {.command = &command};
    return usm_queue_submit(queue, &submission, NULL, error);
}

static usm_status snapshot(usm_queue *queue, usm_wait **out, size_t *count, usm_error *error)
{
    usm_wait *waits = NULL;
    usm_status status = USM_OK;
    size_t i = 0;
    usm_lock_take(&queue->lock);
    usm_event *from = queue->first;
    if (queue->in_order && from != NULL && usm_event_current() == NULL) {
        /* The last one ends last. Inside a task it may wait for that task, and the others are needed too. */
        from = atomic_load_explicit(&queue->last, memory_order_relaxed);
    }
    size_t n = from == queue->first ? count_pending(queue) : 1;
    if (n > 0) {
        waits = usm_malloc(n * sizeof *waits);
        if (waits == NULL) {
            status = usm_error_memory(error, n * sizeof *waits, "a list of events");
            n = 0;
            from = NULL;
        }
    }
    for (usm_event *event = from; event != NULL; event = event->following) {
        waits[i++] = (usm_wait){usm_event_retain(event), false};
    }
    usm_lock_give(&queue->lock);
    *out = waits;
    *count = n;
    return status;
}

usm_status usm_queue_snapshot(usm_queue *queue, usm_wait **out, size_t *count, usm_error *error)
{
    usm_status status = mark(queue, error);
    return status == USM_OK ? snapshot(queue, out, count, error) : status;
}

/* Waits for what was submitted through usmpy, however it ends. */
static usm_status wait_for_own(usm_queue *queue, int64_t deadline_ns, usm_wait_poll poll, void *argument,
                               usm_error *error)
{
    usm_wait *waits;
    size_t count;
    usm_status status = snapshot(queue, &waits, &count, error);
    for (size_t i = count; i-- > 0;) { /* the last first: when it has ended, most of the others have */
        if (status == USM_OK && !usm_event_needs_current(waits[i].event)) {
            status = usm_event_wait_end(waits[i].event, deadline_ns, poll, argument, error);
        }
        usm_event_release(waits[i].event);
    }
    free(waits);
    return status;
}

usm_status usm_queue_enter(usm_queue *queue, void **handle, usm_wait_poll poll, void *argument,
                           usm_error *error)
{
    usm_wait *waits = NULL;
    size_t count = 0;
    usm_status status = USM_OK;
    *handle = usm_queue_handle(queue);
    if (*handle != NULL && atomic_load_explicit(&queue->last, memory_order_acquire) != NULL) {
        status = snapshot(queue, &waits, &count, error);
    }
    for (size_t i = 0; i < count; i++) {
        usm_event *event = waits[i].event;
        if (status == USM_OK && !usm_event_in_driver(event) && !usm_event_needs_current(event)) {
            status = usm_event_wait_end(event, INT64_MAX, poll, argument, error);
        }
        usm_event_release(event);
    }
    free(waits);
    return status;
}

usm_status usm_queue_wait(usm_queue *queue, int64_t deadline_ns, usm_wait_poll poll, void *argument,
                          usm_error *error)
{
    usm_status status = mark(queue, error);
    if (status == USM_OK) {
        status = wait_for_own(queue, deadline_ns, poll, argument, error);
    }
    if (status != USM_OK) {
        return status;
    }
    usm_lock_take(&queue->lock);
    usm_failure *failure = queue->failure;
    queue->failure = NULL;
    if (failure != NULL) {
        usm_failure_deliver(failure);
    }
    usm_unretrieved_prune(&queue->unretrieved);
    usm_lock_give(&queue->lock);
    if (failure != NULL) {
        status = usm_error_failed(error, failure);
        usm_failure_release(failure);
    }
    return status;
}

/*
 * The queues of the process one by one: the one after `queue` (NULL: the first), with a count of its own, so
 * that it can be used without the registry lock. Gives back the caller's count of `queue`. No lock.
 */
static USM_GIVES usm_queue *next_queue(USM_TAKES usm_queue *queue)
{
    usm_registry_lock();
    usm_queue *next = queue == NULL ? all_queues : queue->next;
    while (next != NULL && !usm_refcount_up_unless_zero(&next->refs)) {
        next = next->next;
    }
    usm_registry_unlock();
    if (queue != NULL) {
        usm_queue_release(queue);
    }
    return next;
}

usm_status usm_queues_drain(int64_t deadline_ns, usm_wait_poll poll, void *argument, usm_error *error)
{
    usm_status status = USM_OK;
    for (usm_queue *queue = next_queue(NULL); queue != NULL; queue = next_queue(queue)) {
        if (status == USM_OK) {
            status = wait_for_own(queue, deadline_ns, poll, argument, error);
        }
    }
    return status;
}

static void never_run(usm_event *event)
{
    (void)event;
}

/*
 * The pending task of any queue that was submitted first, except the task that forks: it continues in both
 * processes. The list of each queue is in this order.
 */
static usm_event *oldest_pending(void)
{
    usm_event *oldest = NULL;
    for (usm_queue *queue = all_queues; queue != NULL; queue = queue->next) {
        usm_event *event = queue->first;
        if (event != NULL && event == usm_event_current()) {
            event = event->following;
        }
        if (event != NULL && (oldest == NULL || event->order < oldest->order)) {
            oldest = event;
        }
    }
    return oldest;
}

/*
 * In the child of a fork: the threads that would have run the pending tasks are in the parent. The tasks end
 * with an error here, oldest first, so that each ends after all it waited for.
 */
void usm_queues_after_fork(void)
{
    usm_error error;
    usm_error_set(
        &error, USM_FORKED,
        "this task was pending when the process was forked; it completes in the parent, not in the child");
    for (usm_queue *queue = all_queues; queue != NULL; queue = queue->next) {
        for (usm_event *event = queue->first; event != NULL; event = event->following) {
            event->ready = never_run; /* what it waits for ends below: that must not start it */
            if (!usm_event_ended(event) && event != usm_event_current()) { /* whoever had it is not here */
                atomic_store_explicit(&event->task_state, USM_TASK_ON_HOST, memory_order_relaxed);
            }
        }
        usm_unretrieved_clear(&queue->unretrieved); /* the parent reports them */
    }
    if (usm_event_current() != NULL) {
        usm_event_drop_links(usm_event_current());
        usm_hazard_hold(usm_event_current());
    }
    for (usm_event *event; (event = oldest_pending()) != NULL;) {
        usm_event_finish(event, usm_failure_take(&error));
    }
}

void usm_queues_fork(usm_fork_phase phase)
{
    for (usm_queue *queue = all_queues; queue != NULL; queue = queue->next) {
        if (phase == USM_FORK_PREPARE) {
            usm_lock_take(&queue->lock);
            usm_worker_fork(queue->worker, phase);
        } else {
            usm_worker_fork(queue->worker, phase);
            usm_lock_give(&queue->lock);
        }
    }
}

/* The place's queue with a count for the caller; NULL where there is none. */
static usm_queue *cached_queue(usm_place *place)
{
    usm_registry_lock();
    usm_queue *queue = place->queue;
    if (queue != NULL && !usm_refcount_up_unless_zero(&queue->refs)) {
        queue = NULL;
    }
    usm_registry_unlock();
    return queue;
}

usm_status usm_place_queue(usm_place *place, usm_queue **out, usm_error *error)
{
    *out = cached_queue(place);
    if (*out != NULL) {
        return USM_OK;
    }
    /* Made without the registry lock, which creation takes itself; the loser of a race gives its own back. */
    const usm_queue_options options = {.in_order = true, .priority = USM_PRIORITY_NORMAL};
    usm_queue *queue;
    usm_status status = usm_queue_create(place, &options, &queue, error);
    if (status != USM_OK) {
        return status;
    }
    usm_registry_lock();
    usm_queue *winner = cached_queue(place); /* the lock is recursive */
    if (winner == NULL) {
        queue->cached = true;
        place->queue = queue;
        if (place->context->is_default) {
            usm_refcount_init(&queue->refs, USM_IMMORTAL);
            usm_live_add(USM_LIVE_QUEUE, -1);
        }
    }
    usm_registry_unlock();
    if (winner != NULL) {
        usm_queue_release(queue);
        queue = winner;
    }
    *out = queue;
    return USM_OK;
}

static void unlist_cached(usm_place *place)
{
    if (place->queue != NULL) {
        unlist(place->queue);
    }
}

/* Of usmpy, on the device or a part of it. */
static bool has_tasks_in_driver(usm_device *device)
{
    bool found = false;
    usm_registry_lock();
    for (usm_queue *queue = all_queues; queue != NULL && !found; queue = queue->next) {
        if (usm_device_root(queue->device) != usm_device_root(device)) {
            continue;
        }
        usm_lock_take(&queue->lock);
        for (const usm_event *event = queue->first; event != NULL && !found; event = event->following) {
            found = usm_event_in_driver(event);
        }
        usm_lock_give(&queue->lock);
    }
    usm_registry_unlock();
    return found;
}

/*
 * As far as can be told without disturbing captures of others: tasks of ours, and what the streams have that
 * the default stream waits for.
 */
static bool is_at_work(usm_place *place)
{
    usm_stream_facts facts;
    usm_device *device = place->device;
    return has_tasks_in_driver(device) ||
           (usm_backend_has_streams(device->backend) && !usm_is_forked(device->backend) &&
            USM_CALL(device->backend->native, stream_inspect)(device, USM_STREAM_LEGACY, &facts, NULL) ==
                USM_OK &&
            !facts.idle);
}

static usm_status wait_in_driver(usm_context *context, usm_wait_poll poll, void *argument, usm_error *error)
{
    enum { SECONDS = 10 };
    int64_t deadline_ns = usm_clock_ns() + SECONDS * INT64_C(1000000000);
    usm_status status = USM_OK;
    if (context->backend->event_poll == NULL) {
        return USM_OK;
    }
    for (usm_queue *queue = next_queue(NULL); queue != NULL; queue = next_queue(queue)) {
        usm_wait *waits = NULL;
        size_t count = 0;
        if (queue->context == context && snapshot(queue, &waits, &count, NULL) != USM_OK) {
            count = 0;
        }
        for (size_t i = 0; i < count; i++) {
            if (status != USM_INTERRUPTED && usm_event_in_driver(waits[i].event)) {
                status = usm_event_wait_end(waits[i].event, deadline_ns, poll, argument, NULL);
            }
            usm_event_release(waits[i].event);
        }
        free(waits);
    }
    return status == USM_INTERRUPTED ? usm_error_set(error, status, "interrupted") : USM_OK;
}

const usm_place_part usm_queue_part = {
    .unlist = unlist_cached, .finish_work = wait_in_driver, .is_at_work = is_at_work};
