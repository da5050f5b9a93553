#include "queue.h"

#include "core/base/detach.h"
#include "core/base/heap.h"
#include "core/base/live.h"
#include "core/device/registry.h"
#include "core/device/rule.h"

#include <stddef.h>

usm_queue *usm_all_queues;

/* Destroys what the backend and the worker have of a queue without pending work. */
static void destroy_parts(usm_queue *queue)
{
    usm_watch_remove(&queue->watched);
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
    usm_status status = backend->event_poll != NULL ? usm_watch_start(error) : USM_OK;
    if (status == USM_OK && backend->queue_create != NULL) {
        void *held = backend->has_driver ? usm_detach() : NULL;
        status = USM_UNLESS_FORKED(backend, error,
                                   USM_CALL_IF(backend->has_driver, backend, queue_create)(queue, error));
        usm_attach(held);
    }
    if (status == USM_OK && queue->worker == NULL) {
        /* Several threads, so that one stuck task does not stop the others of an out-of-order queue. */
        queue->worker = usm_worker_new(queue->in_order ? 1 : 4);
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
    queue->watched.refs = &queue->refs;
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
    queue->next = usm_all_queues;
    if (usm_all_queues != NULL) {
        usm_all_queues->previous = queue;
    }
    usm_all_queues = queue;
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
        for (usm_queue *q = usm_all_queues; q != NULL; q = q->next) { /* the newest comes first */
            bool is_it = q->backend == backend && !usm_refcount_is(&q->refs, 0) &&
                         USM_CALL(backend->native, handle)(USM_NATIVE_QUEUE, q) == handle;
            found = is_it ? q : found;
        }
    } while (found != NULL && !usm_refcount_up_unless_zero(&found->refs));
    usm_registry_unlock();
    return found;
}

usm_status usm_queue_adopt(const usm_backend *backend, void *handle, usm_keep *keeps, usm_queue **out,
                           usm_error *error)
{
    usm_native_facts facts = {.devices = NULL};
    usm_device *device;
    usm_context *context = NULL;
    usm_place *place;
    usm_status status = USM_UNLESS_FORKED(
        backend, error, USM_CALL(backend->native, inspect)(USM_NATIVE_QUEUE, handle, &facts, error));
    if (status == USM_OK) {
        status = usm_device_adopt(backend, facts.device, &device, error);
    }
    if (status == USM_OK) {
        status = usm_context_adopt(backend, facts.context, &context, error);
    }
    if (status == USM_OK) {
        status = usm_context_place(context, device, &place, error);
    }
    if (status == USM_OK) {
        facts.options.foreign = handle;
        facts.options.keeps = keeps;
        status = usm_queue_create(place, &facts.options, out, error);
    }
    if (context != NULL) {
        usm_context_release(context); /* the queue has a count of its own */
    }
    return status;
}

/* No lock is held while the driver is asked, so another thread may adopt it too: the older one stays. */
usm_status usm_queue_adopt_once(const usm_backend *backend, void *handle, usm_keep *keeps, usm_queue **out,
                                usm_error *error)
{
    usm_queue *known = usm_queue_of_native(backend, handle), *own;
    if (known != NULL) {
        usm_keep_drop(keeps);
        *out = known;
        return USM_OK;
    }
    usm_status status = usm_queue_adopt(backend, handle, keeps, &own, error);
    if (status == USM_OK) {
        *out = usm_queue_of_native(backend, handle);
        usm_queue_release(own);
    }
    return status;
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

/* Takes the queue off the list of all queues. Registry lock held. */
static void unlist(usm_queue *queue)
{
    *(queue->previous != NULL ? &queue->previous->next : &usm_all_queues) = queue->next;
    if (queue->next != NULL) {
        queue->next->previous = queue->previous;
    }
}

/* The queue is on no list any more. Waits for the driver as queue_destroy does. */
static void destroy(usm_queue *queue)
{
    destroy_parts(queue);
    for (void *event; (event = usm_shared_freelist_pop(&queue->spare)) != NULL;) {
        free(event);
    }
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

void usm_queue_prune(usm_queue *queue)
{
    usm_lock_take(&queue->lock);
    usm_unretrieved_prune(&queue->unretrieved);
    usm_lock_give(&queue->lock);
}

void usm_queues_report(const usm_deferred_list *home)
{
    usm_registry_lock();
    for (usm_queue *queue = usm_all_queues; queue != NULL; queue = queue->next) {
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

usm_queue *usm_queues_next(usm_queue *queue)
{
    usm_registry_lock();
    usm_queue *next = queue == NULL ? usm_all_queues : queue->next;
    while (next != NULL && !usm_refcount_up_unless_zero(&next->refs)) {
        next = next->next;
    }
    usm_registry_unlock();
    if (queue != NULL) {
        usm_queue_release(queue);
    }
    return next;
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

const usm_place_part usm_queue_part = {.unlist = unlist_cached};
