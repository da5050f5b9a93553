#include "wait.h"

#include "core/base/sync.h"
#include "core/device/rule.h"
#include "hazard.h"
#include "pending.h"

/* How often a blocked thread checks for signals. */
#define POLL_NS 20000000

/*
 * Puts what the event waits for on the stack, once for each walk, unless it was submitted before the current
 * task.
 */
static void visit(usm_event *event, uint64_t walk, usm_wait_list *stack)
{
    usm_leaf *leaf = usm_leaf_of(event);
    usm_mutex_lock(&leaf->mutex);
    if (event->visited != walk && usm_event_watch(event)) {
        event->visited = walk;
        for (size_t i = 0; i < event->n_links; i++) {
            usm_event *needed = event->links[i].event;
            if (needed->order >= usm_event_current()->order) {
                /* Out of memory ends the walk early: the wait is then taken for a harmless one. */
                usm_wait_list_add(stack, needed, false);
            }
        }
    }
    usm_mutex_unlock(&leaf->mutex);
}

bool usm_event_needs_current(usm_event *event)
{
    static _Atomic uint64_t walks;
    if (usm_event_current() == NULL || event->order < usm_event_current()->order) {
        return false;
    }
    uint64_t walk = atomic_fetch_add_explicit(&walks, 1, memory_order_relaxed) + 1;
    bool found = false;
    usm_wait_list stack; /* each entry has a count, since it may end during the walk */
    usm_wait_list_init(&stack);
    usm_wait_list_add(&stack, event, false);
    while (stack.n != 0 && !found) {
        usm_event *top = stack.items[--stack.n].event;
        found = top == usm_event_current();
        visit(top, walk, &stack);
        usm_event_release(top);
    }
    usm_wait_list_clear(&stack);
    return found;
}

usm_status usm_event_check_wait(usm_event *event, usm_error *error)
{
    return !usm_event_needs_current(event)
               ? USM_OK
               : usm_error_set(error, USM_DEADLOCK,
                               "this task cannot wait for an event that itself waits for this task");
}

/*
 * What a waiting thread does before it sleeps: waits in the backend as long as that pays, and polls.
 * True once the event has ended. No lock.
 */
static bool wait_in_backend(usm_event *event)
{
    const usm_backend *backend = event->queue->backend;
    bool in_driver = usm_event_in_driver(event);
    if ((in_driver || backend->event_poll == NULL) && backend->event_wait != NULL &&
        !usm_is_forked(backend)) {
        USM_CALL(backend, event_wait)(event);
        if (in_driver && !usm_event_ended(event)) {
            (void)usm_completion_poll(event->queue);
        }
    }
    return usm_event_ended(event);
}

usm_status usm_event_wait_end(usm_event *event, const usm_patience *patience, usm_error *error)
{
    const usm_patience forever = {INT64_MAX, NULL, NULL};
    patience = patience != NULL ? patience : &forever;
    int64_t deadline_ns = patience->deadline_ns;
    if (usm_event_ended(event)) {
        return USM_OK;
    }
    usm_status status = usm_event_check_wait(event, error);
    if (status != USM_OK) {
        return status;
    }
    /* Not restarted by a wake-up: other events wake this thread too, and must not keep it from polling. */
    int64_t next_poll = patience->poll != NULL ? usm_clock_ns() + POLL_NS : INT64_MAX;
    if (deadline_ns == INT64_MAX && wait_in_backend(event)) {
        return USM_OK;
    }
    usm_worker_block(true);
    usm_leaf *leaf = usm_leaf_of(event);
    usm_mutex_lock(&leaf->mutex);
    usm_event_watch(event);
    event->sleepers++;
    usm_mutex_unlock(&leaf->mutex);
    usm_event_watch_closely(event);
    usm_mutex_lock(&leaf->mutex);
    while (!usm_event_ended(event)) {
        int64_t now = patience->poll != NULL || deadline_ns != INT64_MAX ? usm_clock_ns() : 0;
        if (now >= deadline_ns) {
            status =
                usm_error_set(error, USM_TIMEOUT, "the work did not complete before the timeout expired");
            break;
        }
        if (now < next_poll) {
            usm_cond_wait_until(&leaf->changed, &leaf->mutex,
                                next_poll < deadline_ns ? next_poll : deadline_ns);
            continue;
        }
        usm_mutex_unlock(&leaf->mutex);
        bool stop = patience->poll(patience->argument);
        usm_mutex_lock(&leaf->mutex);
        if (stop) {
            status = usm_error_set(error, USM_INTERRUPTED, "interrupted");
            break;
        }
        next_poll = usm_clock_ns() + POLL_NS;
    }
    event->sleepers--;
    usm_mutex_unlock(&leaf->mutex);
    usm_worker_block(false);
    return status;
}

usm_status usm_event_wait(usm_event *event, const usm_patience *patience, usm_error *error)
{
    usm_status status = usm_event_wait_end(event, patience, error);
    if (status == USM_OK && usm_event_get_state(event) == USM_EVENT_ERROR) {
        usm_failure_deliver(event->failure);
        usm_queue_prune(event->queue);
        status = usm_error_failed(error, event->failure);
    }
    return status;
}

/* The task of the queue after which the next one is ordered, one count; NULL: there is none. No lock. */
static usm_event *earlier_task(usm_queue *queue)
{
    usm_lock_take(&queue->lock);
    usm_event *event =
        queue->in_order ? atomic_load_explicit(&queue->last, memory_order_relaxed) : queue->barrier;
    if (event != NULL) {
        usm_event_retain(event);
    }
    usm_lock_give(&queue->lock);
    return event;
}

usm_status usm_queue_check_wait(usm_queue *queue, const usm_submission *submission, usm_error *error)
{
    usm_status status = USM_OK;
    if (USM_LIKELY(usm_event_current() == NULL)) {
        return status;
    }
    for (size_t i = 0; i < submission->n_waits && status == USM_OK; i++) {
        status = usm_event_check_wait(submission->waits[i].event, error);
    }
    for (size_t i = 0; i < submission->n_accesses && status == USM_OK; i++) {
        usm_wait_list waits;
        status = usm_hazard_look(submission->accesses[i].alloc, submission->accesses[i].mode, &waits, error);
        for (size_t k = 0; k < waits.n && status == USM_OK; k++) {
            status = usm_event_check_wait(waits.items[k].event, error);
        }
        usm_wait_list_clear(&waits);
    }
    usm_event *earlier = status == USM_OK ? earlier_task(queue) : NULL;
    if (earlier != NULL) {
        status = usm_event_check_wait(earlier, error);
        usm_event_release(earlier);
    }
    return status;
}

/* Submits a marker, whose event stands for what other libraries have enqueued in a shared queue. */
static usm_status mark(usm_queue *queue, usm_error *error)
{
    if (!usm_queue_is_shared(queue)) {
        return USM_OK;
    }
    const usm_submission submission = {.command = USM_MARKER};
    return usm_queue_submit(queue, &submission, NULL, error);
}

usm_status usm_queue_snapshot(usm_queue *queue, usm_wait_list *list, usm_error *error)
{
    usm_wait_list_init(list);
    usm_status status = mark(queue, error);
    return status == USM_OK ? usm_pending_list(queue, list, error) : status;
}

/* Waits for those of the events that are needed, however they end, unless the status is an error already. */
static usm_status wait_for(usm_wait_list *list, bool (*is_needed)(const usm_event *),
                           const usm_patience *patience, usm_status status, usm_error *error)
{
    for (size_t i = 0; i < list->n && status == USM_OK; i++) {
        if (is_needed(list->items[i].event)) {
            status = usm_event_wait_end(list->items[i].event, patience, error);
        }
    }
    usm_wait_list_clear(list);
    return status;
}

/* It does not wait for the task that this thread runs. */
static bool may_end(const usm_event *event)
{
    return !usm_event_needs_current((usm_event *)event);
}

static bool is_outside(const usm_event *event)
{
    return !usm_event_in_driver(event) && may_end(event);
}

/* Waits for what was submitted through usmpy, however it ends. */
static usm_status wait_for_own(usm_queue *queue, const usm_patience *patience, usm_error *error)
{
    usm_wait_list list;
    usm_status status = usm_pending_list(queue, &list, error);
    return wait_for(&list, may_end, patience, status, error);
}

usm_status usm_queue_enter(usm_queue *queue, void **handle, const usm_patience *patience, usm_error *error)
{
    usm_wait_list list;
    *handle = usm_queue_handle(queue);
    if (*handle == NULL || atomic_load_explicit(&queue->last, memory_order_acquire) == NULL) {
        return USM_OK;
    }
    usm_status status = usm_pending_list(queue, &list, error);
    return wait_for(&list, is_outside, patience, status, error);
}

usm_status usm_queue_wait(usm_queue *queue, const usm_patience *patience, usm_error *error)
{
    usm_status status = mark(queue, error);
    if (status == USM_OK) {
        status = wait_for_own(queue, patience, error);
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

usm_status usm_queues_drain(const usm_patience *patience, usm_error *error)
{
    usm_status status = USM_OK;
    for (usm_queue *queue = usm_queues_next(NULL); queue != NULL; queue = usm_queues_next(queue)) {
        if (status == USM_OK) {
            status = wait_for_own(queue, patience, error);
        }
    }
    return status;
}

static usm_status wait_in_driver(usm_context *context, const usm_patience *patience, usm_error *error)
{
    enum { SECONDS = 10 };
    usm_patience some = patience != NULL ? *patience : (usm_patience){.poll = NULL};
    some.deadline_ns = usm_clock_ns() + SECONDS * INT64_C(1000000000);
    usm_status status = USM_OK;
    if (context->backend->event_poll == NULL) {
        return USM_OK;
    }
    for (usm_queue *queue = usm_queues_next(NULL); queue != NULL; queue = usm_queues_next(queue)) {
        usm_wait_list list;
        if (queue->context == context && status != USM_INTERRUPTED) {
            status = usm_pending_list(queue, &list, NULL);
            status = wait_for(&list, usm_event_in_driver, &some, status, NULL);
        }
    }
    return status == USM_INTERRUPTED ? usm_error_set(error, status, "interrupted") : USM_OK;
}

const usm_place_part usm_wait_part = {.finish_work = wait_in_driver};

void usm_alloc_set_loaned(usm_alloc *alloc, bool loaned)
{
    if (USM_LIKELY(usm_event_current() == NULL)) {
        return;
    }
    if (loaned) {
        atomic_fetch_or_explicit(&alloc->flags, USM_ALLOC_LOANED, memory_order_relaxed);
    } else {
        atomic_fetch_and_explicit(&alloc->flags, (uint8_t)~USM_ALLOC_LOANED, memory_order_relaxed);
    }
}

/*
 * Whether this is a task of a borrow whose end is recorded but ordered after the task: it was submitted in
 * time, and may still use the memory.
 */
static bool is_before_the_end(usm_alloc *alloc)
{
    uint64_t stripe = usm_alloc_stripe(alloc);
    usm_hazard_lock(stripe);
    usm_event *end = alloc->hazards.writer;
    if (end != NULL) {
        usm_event_retain(end);
    }
    usm_hazard_unlock(stripe);
    if (end == NULL) {
        return false;
    }
    bool before = usm_event_needs_current(end);
    usm_event_release(end);
    return before;
}

usm_status usm_alloc_wait(usm_alloc *alloc, usm_access_mode mode, bool delivers, const usm_patience *patience,
                          usm_error *error)
{
    uint64_t stripe = usm_alloc_stripe(alloc);
    usm_wait_list waits;
    if (USM_UNLIKELY(usm_alloc_has(alloc, USM_ALLOC_ENDED)) && is_before_the_end(alloc)) {
        return USM_OK;
    }
    usm_status status = usm_alloc_order(alloc, NULL, error);
    if (status != USM_OK) {
        return status;
    }
    status = usm_hazard_look(alloc, mode, &waits, error);
    bool loaned = usm_alloc_is_loaned(alloc);
    bool is_of_this_task = alloc->inside != 0 && alloc->inside == usm_alloc_inside;
    for (size_t i = 0; i < waits.n && status == USM_OK; i++) {
        usm_event *event = waits.items[i].event;
        /* Memory that is older than this task has a content now; what the task made itself has none yet. */
        if (loaned || is_of_this_task || !usm_event_needs_current(event)) {
            status = usm_event_wait_end(event, patience, error);
        }
    }
    usm_wait_list_clear(&waits);
    if (status != USM_OK || (mode & USM_READ) == 0) {
        return status;
    }
    usm_hazard_lock(stripe);
    usm_failure *cause = usm_hazard_failure(alloc);
    if (cause != NULL) {
        status = usm_error_failed(error, cause);
        if (delivers) {
            usm_failure_deliver(cause);
        }
    }
    if (alloc->hazards.writer == NULL && (cause == NULL || delivers)) {
        usm_hazard_spoil(alloc, NULL); /* the failure was delivered, now or before */
    }
    usm_hazard_unlock(stripe);
    return status;
}

bool usm_alloc_has_failed(usm_alloc *alloc)
{
    if (atomic_load_explicit(&alloc->hazards.failure, memory_order_relaxed) == NULL) {
        return false;
    }
    uint64_t stripe = usm_alloc_stripe(alloc);
    usm_hazard_lock(stripe);
    bool failed = usm_hazard_failure(alloc) != NULL;
    usm_hazard_unlock(stripe);
    return failed;
}
