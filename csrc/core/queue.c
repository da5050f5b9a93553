#include "queue.h"

#include "backend.h"
#include "hazard.h"
#include "heap.h"
#include "live.h"
#include "trace.h"

#include <string.h>

/* All queues of the process, newest first (registry lock). */
static usm_queue *all_queues;

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
    atomic_init(&queue->shared, options->foreign != NULL);
    pthread_mutex_init(&queue->lock, NULL);
    usm_status status = queue->backend->queue_create(queue, error);
    if (status != USM_OK) {
        pthread_mutex_destroy(&queue->lock);
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
    usm_queue *found = NULL;
    usm_registry_lock();
    for (usm_queue *q = all_queues; q != NULL; q = q->next) { /* the newest comes first */
        found = q->backend == backend && backend->native_handle(USM_NATIVE_QUEUE, q) == handle ? q : found;
    }
    found = found != NULL && usm_refcount_up_unless_zero(&found->refs) ? found : NULL;
    usm_registry_unlock();
    return found;
}

void *usm_queue_handle(usm_queue *queue)
{
    if (queue->backend->native_handle == NULL) {
        return NULL;
    }
    /* Said before the backend is asked, which prepares a queue that is shared for it. */
    bool before = atomic_exchange_explicit(&queue->shared, true, memory_order_acq_rel);
    void *handle = queue->backend->native_handle(USM_NATIVE_QUEUE, queue);
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

void usm_queue_bury(usm_queue *queue)
{
    *(queue->previous != NULL ? &queue->previous->next : &all_queues) = queue->next;
    if (queue->next != NULL) {
        queue->next->previous = queue->previous;
    }
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
    usm_queue_bury(queue);
    usm_registry_unlock();
    queue->backend->queue_destroy(queue);
    usm_trace_leave(queue);
    usm_failure_release(queue->failure);
    usm_events_free(queue);
    pthread_mutex_destroy(&queue->lock);
    usm_keep_drop(queue->keeps);
    usm_context *context = queue->context;
    free(queue);
    usm_live_add(USM_LIVE_QUEUE, -1);
    usm_context_release(context);
}

static void append(usm_queue *queue, usm_event *event)
{
    event->previous = queue->last;
    event->following = NULL;
    *(queue->last != NULL ? &queue->last->following : &queue->first) = event;
    queue->last = event;
}

void usm_queue_remember(usm_queue *queue, usm_failure *failure)
{
    pthread_mutex_lock(&queue->lock);
    if (queue->failure == NULL && !atomic_load_explicit(&failure->delivered, memory_order_acquire)) {
        queue->failure = usm_failure_retain(failure);
    }
    pthread_mutex_unlock(&queue->lock);
}

void usm_queue_forget(usm_queue *queue, usm_event *event)
{
    pthread_mutex_lock(&queue->lock);
    for (; event != NULL; event = event->next_ended) {
        if (event->previous != NULL || queue->first == event) {
            *(event->previous != NULL ? &event->previous->following : &queue->first) = event->following;
            *(event->following != NULL ? &event->following->previous : &queue->last) = event->previous;
            event->previous = event->following = NULL;
        }
        if (queue->barrier == event) {
            queue->barrier = NULL;
        }
    }
    pthread_mutex_unlock(&queue->lock);
}

static bool add_unended(usm_wait_list *waits, usm_event *event)
{
    return event == NULL || usm_event_ended(event) || usm_wait_list_add(waits, event, false);
}

/* Order within the queue. Events in the list are alive: finishing takes them out before it lets
 * go of them. */
static bool wait_for_earlier(usm_queue *queue, usm_command_kind kind, size_t n_explicit, usm_wait_list *waits)
{
    if (queue->in_order) {
        return add_unended(waits, queue->last);
    }
    if (!add_unended(waits, queue->barrier)) {
        return false;
    }
    /* SYCL's barrier: behind all earlier work, or, with a list, behind the listed events alone. */
    bool behind_all = (kind == USM_COMMAND_BARRIER || kind == USM_COMMAND_MARKER) && n_explicit == 0;
    for (usm_event *event = queue->first; behind_all && event != NULL; event = event->following) {
        if (!add_unended(waits, event)) {
            return false;
        }
    }
    return true;
}

static bool wait_for_explicit(const usm_submission *submission, usm_wait_list *waits, usm_failure **cause)
{
    for (size_t i = 0; i < submission->n_waits; i++) {
        usm_event *event = submission->waits[i].event;
        bool data = submission->waits[i].data;
        switch (usm_event_get_state(event)) {
            case USM_EVENT_COMPLETE:
                break;
            case USM_EVENT_ERROR:
                if (data && *cause == NULL) {
                    *cause = event->failure;
                }
                break;
            default:
                if (!usm_wait_list_add(waits, event, data)) {
                    return false;
                }
        }
    }
    return true;
}

/* Everything that can fail for want of memory happens before anything is recorded. */
static usm_status prepare(usm_event *event, const usm_submission *submission, usm_wait_list *waits,
                          usm_error *error)
{
    if (submission->n_accesses > USM_INLINE_ACCESSES) {
        usm_access *accesses = usm_malloc(submission->n_accesses * sizeof *accesses);
        if (accesses == NULL) {
            return usm_error_memory(error, submission->n_accesses * sizeof *accesses, "a task's arguments");
        }
        event->accesses = accesses;
    }
    if (waits->n > USM_INLINE_LINKS) {
        usm_link *links = usm_malloc(waits->n * sizeof *links);
        if (links == NULL) {
            return usm_error_memory(error, waits->n * sizeof *links, "a task's dependencies");
        }
        event->links = links;
    }
    for (size_t i = 0; i < submission->n_accesses; i++) {
        const usm_access *access = &submission->accesses[i];
        if (!usm_hazard_reserve(access->alloc, access->mode)) {
            return usm_error_memory(error, 64, "an allocation's list of readers");
        }
    }
    return USM_OK;
}

static void link_waits(usm_event *event, usm_wait_list *waits)
{
    for (size_t i = 0; i < waits->n; i++) {
        event->links[i].event = waits->items[i].event; /* the count moves along */
        event->links[i].data = waits->items[i].data;
    }
    event->n_links = waits->n;
    waits->n = 0;
}

/* One entry an allocation, so that it is recorded once and forgotten once. */
static void hold_accesses(usm_event *event, const usm_submission *submission)
{
    for (size_t i = 0; i < submission->n_accesses; i++) {
        const usm_access *access = &submission->accesses[i];
        size_t k = 0;
        while (k < event->n_accesses && event->accesses[k].alloc != access->alloc) {
            k++;
        }
        if (k < event->n_accesses) {
            event->accesses[k].mode |= access->mode;
        } else {
            event->accesses[event->n_accesses++] = *access;
            usm_alloc_retain(access->alloc);
        }
    }
}

/* The driver refused a task that others may already wait for: it ends in its turn, without having run. */
static void finish_refused(usm_event *event)
{
    usm_event_finish(event, atomic_exchange_explicit(&event->cause, NULL, memory_order_acq_rel));
}

/* No lock held. Takes the backend's count. The caller is told, so neither queue nor memory will remember. */
static void refuse(usm_event *event, const usm_error *error)
{
    usm_failure *failure = usm_failure_from_error(error);
    failure = failure != NULL ? failure : usm_failure_no_memory();
    usm_failure_deliver(failure);
    event->refused = true;
    usm_failure_release(atomic_exchange_explicit(&event->cause, failure, memory_order_acq_rel));
    if (usm_event_arm(event, finish_refused)) {
        finish_refused(event);
    }
}

/*
 * Short work that waits for nothing is done here and now, under the locks: no other task can slip in between.
 * A write also clears what a failed task left on the memory.
 */
static bool run_now(usm_queue *queue, const usm_submission *submission, int64_t *start_ns, int64_t *end_ns)
{
    if (queue->backend->queue_run_now == NULL ||
        !queue->backend->queue_run_now(queue, submission->command, start_ns, end_ns)) {
        return false;
    }
    for (size_t i = 0; i < submission->n_accesses; i++) {
        usm_alloc *alloc = submission->accesses[i].alloc;
        if ((submission->accesses[i].mode & USM_WRITE) != 0 && !usm_alloc_is_clean(alloc)) {
            usm_hazard_spoil(alloc, NULL);
        }
    }
    return true;
}

/*
 * A dependency had failed before the submission, and there is nothing to wait for: the task ends at once, and
 * spoils what it would have written.
 */
static usm_failure *inherit(const usm_submission *submission, usm_failure *cause)
{
    usm_failure *failure = usm_failure_from_cause(cause);
    failure = failure != NULL ? failure : usm_failure_no_memory();
    for (size_t i = 0; i < submission->n_accesses; i++) {
        if ((submission->accesses[i].mode & USM_WRITE) != 0) {
            usm_hazard_spoil(submission->accesses[i].alloc, failure);
        }
    }
    return failure;
}

static usm_status collect(usm_queue *queue, const usm_submission *submission, usm_wait_list *waits,
                          usm_failure **cause, usm_error *error)
{
    for (size_t i = 0; i < submission->n_accesses; i++) {
        const usm_access *access = &submission->accesses[i];
        usm_status status = usm_hazard_collect(access->alloc, access->mode, waits, cause, error);
        if (status != USM_OK) {
            return status;
        }
    }
    if (!wait_for_explicit(submission, waits, cause) ||
        !wait_for_earlier(queue, submission->command->kind, submission->n_waits, waits)) {
        return usm_error_memory(error, waits->n * 2 * sizeof(usm_wait), "a list of dependencies");
    }
    return USM_OK;
}

/*
 * Puts the event where later work will find it: its allocations and the queue. From here on it must finish.
 * Takes over the counts in waits.
 */
static void record(usm_queue *queue, const usm_submission *submission, usm_event *event, usm_wait_list *waits)
{
    hold_accesses(event, submission);
    link_waits(event, waits);
    usm_hazard_record(event);
    append(queue, event);
    if (submission->command->kind == USM_COMMAND_BARRIER && !queue->in_order) {
        queue->barrier = event;
    }
    event->keeps = submission->keeps;
    /* The backend's count; with the stripes still held, nobody else has one or takes one. */
    atomic_store_explicit(&event->refs.value, 2, memory_order_relaxed);
}

usm_status usm_queue_submit(usm_queue *queue, const usm_submission *submission, usm_event **out,
                            usm_error *error)
{
    enum { REFUSED, DONE, INHERITED, RECORDED } outcome = REFUSED;
    bool traced = usm_trace_is_on();
    int64_t submit_ns = queue->profiling ? usm_clock_ns() : 0, start_ns = 0, end_ns = 0;
    int64_t begun = USM_UNLIKELY(traced) ? usm_ticks() : 0;
    usm_wait_list waits;
    usm_event *event = NULL;
    usm_failure *cause = NULL;
    uint64_t mask = usm_hazard_mask(submission->accesses, submission->n_accesses);
    usm_wait_list_init(&waits);
    for (size_t i = 0; i < submission->n_accesses && !submission->orders; i++) {
        usm_status ordered = usm_alloc_order(submission->accesses[i].alloc, queue, error);
        if (USM_UNLIKELY(ordered != USM_OK)) {
            return ordered;
        }
    }
    if (queue->backend->queue_prepare != NULL) {
        usm_status prepared = queue->backend->queue_prepare(queue, submission->command, error);
        if (prepared != USM_OK) {
            return prepared;
        }
    }

    pthread_mutex_lock(&queue->lock);
    usm_hazard_lock(mask);
    usm_status status = collect(queue, submission, &waits, &cause, error);
    if (USM_UNLIKELY(queue->foreign != NULL) && status == USM_OK && queue->backend->queue_admit != NULL) {
        status = queue->backend->queue_admit(queue, waits.items, waits.n, error);
    }
    bool now = status == USM_OK && waits.n == 0 && cause == NULL;
    if (now && out == NULL && run_now(queue, submission, &start_ns, &end_ns)) {
        outcome = DONE;
    } else if (status == USM_OK) {
        event = usm_event_new(queue);
        if (event == NULL) {
            status = usm_error_memory(error, queue->backend->event_size, "an event");
        } else if (cause != NULL && waits.n == 0) {
            cause = inherit(submission, cause);
            outcome = INHERITED;
        } else if (now && out != NULL && run_now(queue, submission, &start_ns, &end_ns)) {
            outcome = DONE;
        } else if ((status = prepare(event, submission, &waits, error)) == USM_OK) {
            event->order = usm_event_next_order();
            event->submit_ns = submit_ns;
            atomic_store_explicit(&event->held, out != NULL, memory_order_relaxed);
            if (cause != NULL) {
                /* It ends in its turn, without having run: later work waits for it alone. */
                atomic_store_explicit(&event->cause, usm_failure_retain(cause), memory_order_relaxed);
            }
            record(queue, submission, event, &waits);
            outcome = RECORDED;
        }
    }
    if (USM_UNLIKELY(traced) && outcome != REFUSED) {
        const usm_submitted how = {begun, start_ns, end_ns, outcome == DONE};
        uint64_t order = outcome == RECORDED ? event->order : usm_event_next_order();
        usm_trace_task(queue, submission, event, order, &how);
    }
    usm_hazard_unlock(mask);
    if (outcome == RECORDED) {
        status = queue->backend->queue_submit(queue, event, submission->command, error);
        if (status != USM_OK) {
            event->keeps = NULL; /* the caller's again */
        }
    }
    pthread_mutex_unlock(&queue->lock);

    usm_wait_list_clear(&waits);
    if (outcome == DONE) {
        usm_keep_drop(submission->keeps);
        if (event != NULL) {
            event->submit_ns = submit_ns;
            event->start_ns = start_ns;
            event->end_ns = end_ns;
            atomic_store_explicit(&event->state, USM_EVENT_COMPLETE, memory_order_release);
        }
    } else if (outcome == INHERITED) {
        event->submit_ns = event->start_ns = event->end_ns = submit_ns;
        event->keeps = submission->keeps;
        usm_event_finish(usm_event_retain(event), cause);
    } else if (outcome == RECORDED && status != USM_OK) {
        refuse(event, error);
    }
    if (status == USM_OK && out != NULL) {
        *out = event;
    } else if (event != NULL) {
        usm_event_release(event);
    }
    return status;
}

/* An event of ours for what others enqueued. */
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
    size_t n = 0, i = 0;
    pthread_mutex_lock(&queue->lock);
    for (usm_event *event = queue->first; event != NULL; event = event->following) {
        n++;
    }
    usm_event *from = queue->first;
    if (queue->in_order && n > 0 && usm_event_current() == NULL) {
        from = queue->last; /* the last one ends last, but may wait for the task that asks */
        n = 1;
    }
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
    pthread_mutex_unlock(&queue->lock);
    *out = waits;
    *count = n;
    return status;
}

usm_status usm_queue_snapshot(usm_queue *queue, usm_wait **out, size_t *count, usm_error *error)
{
    usm_status status = mark(queue, error);
    return status == USM_OK ? snapshot(queue, out, count, error) : status;
}

/* For what was submitted here. */
static usm_status wait_for_own(usm_queue *queue, int64_t deadline_ns, usm_wait_poll poll, void *argument,
                               usm_error *error)
{
    usm_wait *waits;
    size_t count;
    usm_status status = snapshot(queue, &waits, &count, error);
    for (size_t i = count; i-- > 0;) { /* the last first: behind it most of the others have ended */
        if (status == USM_OK && !usm_event_needs_current(waits[i].event)) {
            status = usm_event_wait_end(waits[i].event, deadline_ns, poll, argument, error);
        }
        usm_event_release(waits[i].event);
    }
    free(waits);
    if (status != USM_OK) {
        return status;
    }
    pthread_mutex_lock(&queue->lock);
    usm_failure *failure = queue->failure;
    queue->failure = NULL;
    pthread_mutex_unlock(&queue->lock);
    if (failure != NULL) {
        usm_failure_deliver(failure);
        status = usm_error_failed(error, failure);
        usm_failure_release(failure);
    }
    return status;
}

usm_status usm_queue_wait(usm_queue *queue, int64_t deadline_ns, usm_wait_poll poll, void *argument,
                          usm_error *error)
{
    usm_status status = mark(queue, error);
    return status == USM_OK ? wait_for_own(queue, deadline_ns, poll, argument, error) : status;
}

/* A queue of the list with a count of its own, so that it can be used without the registry lock. */
static usm_queue *next_alive(usm_queue *queue)
{
    while (queue != NULL && !usm_refcount_up_unless_zero(&queue->refs)) {
        queue = queue->next;
    }
    return queue;
}

usm_status usm_queues_drain(int64_t deadline_ns, usm_wait_poll poll, void *argument, usm_error *error)
{
    usm_status status = USM_OK;
    usm_registry_lock();
    usm_queue *queue = next_alive(all_queues);
    usm_registry_unlock();
    while (queue != NULL) {
        if (status == USM_OK || status == USM_FAILED) {
            usm_error failure;
            status = wait_for_own(queue, deadline_ns, poll, argument, &failure);
            if (status == USM_FAILED) {
                usm_error_clear(&failure);
            } else if (status != USM_OK) {
                *error = failure;
            }
        }
        usm_registry_lock();
        usm_queue *next = next_alive(queue->next);
        usm_registry_unlock();
        usm_queue_release(queue);
        queue = next;
    }
    return status == USM_FAILED ? USM_OK : status;
}

void usm_queues_finish_in_driver(usm_context *context)
{
    enum { SECONDS = 10 };
    bool (*in_driver)(usm_event * event) = context->backend->event_in_driver;
    int64_t deadline_ns = usm_clock_ns() + SECONDS * INT64_C(1000000000);
    if (in_driver == NULL) {
        return;
    }
    usm_registry_lock();
    usm_queue *queue = next_alive(all_queues);
    usm_registry_unlock();
    while (queue != NULL) {
        usm_wait *waits = NULL;
        size_t count = 0;
        if (queue->context == context && snapshot(queue, &waits, &count, NULL) != USM_OK) {
            count = 0;
        }
        for (size_t i = 0; i < count; i++) {
            if (in_driver(waits[i].event)) {
                (void)usm_event_wait_end(waits[i].event, deadline_ns, NULL, NULL, NULL);
            }
            usm_event_release(waits[i].event);
        }
        free(waits);
        usm_registry_lock();
        usm_queue *next = next_alive(queue->next);
        usm_registry_unlock();
        usm_queue_release(queue);
        queue = next;
    }
}

static void never_run(usm_event *event)
{
    (void)event;
}

/* Of all queues, but for the task that forks: it goes on in both processes. Each list is in this order. */
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
        "this work was pending when the process was forked; it ends in the parent, not in the child");
    for (usm_queue *queue = all_queues; queue != NULL; queue = queue->next) {
        for (usm_event *event = queue->first; event != NULL; event = event->following) {
            event->ready = never_run; /* what it waits for ends below: that must not start it */
        }
    }
    if (usm_event_current() != NULL) {
        usm_event_drop_links(usm_event_current());
    }
    for (usm_event *event; (event = oldest_pending()) != NULL;) {
        usm_failure *failure = usm_failure_from_error(&error);
        usm_event_finish(event, failure != NULL ? failure : usm_failure_no_memory());
    }
}

void usm_queues_fork(usm_fork_phase phase)
{
    for (usm_queue *queue = all_queues; queue != NULL; queue = queue->next) {
        if (phase == USM_FORK_PREPARE) {
            pthread_mutex_lock(&queue->lock);
            queue->backend->queue_fork(queue, phase);
        } else {
            queue->backend->queue_fork(queue, phase);
            pthread_mutex_unlock(&queue->lock);
        }
    }
}
