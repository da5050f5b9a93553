#include "event.h"

#include "completion.h"
#include "core/base/heap.h"
#include "core/base/live.h"
#include "core/base/sync.h"
#include "core/device/rule.h"
#include "core/program/launch.h"
#include "hazard.h"
#include "observer.h"
#include "queue.h"
#include "worker.h"

#include <string.h>

/* How often a blocked thread checks for signals. */
#define POLL_NS 20000000

static _Thread_local usm_event *current;

_Atomic uint64_t usm_event_next = 1;

_Atomic bool usm_trace_on;
const usm_observer *usm_task_observer;

void usm_event_set_current(usm_event *event)
{
    current = event;
    usm_alloc_inside = event == NULL ? 0 : event->order;
}

usm_event *usm_event_current(void)
{
    return current;
}

/*
 * Events are often made by one thread and released by another, which is slow for malloc: the queue keeps some
 * of their memory. Sanitizers find more when every event is a block of its own.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(USM_TESTING)
#define MOST_SPARE 0
#else
#define MOST_SPARE 640
#endif

static int room_for_spare(usm_queue *queue)
{
    return MOST_SPARE - usm_shared_freelist_returned(&queue->spare);
}

/*
 * Skips the inline arrays, since each line of the cache costs a few nanoseconds. Builds for tests fill them
 * with a pattern, so that reads of unwritten members fail. The size is hidden from the compiler: its code
 * for a known size takes longer than the whole function.
 */
static void zero(const usm_backend *backend, usm_event *event)
{
    size_t head = offsetof(usm_event, inline_accesses);
    __asm__("" : "+r"(head));
#ifdef USM_TESTING
    memset(event, 0xA5, backend->event_size);
#endif
    memset(event, 0, head);
    memset(event + 1, 0, backend->event_size - sizeof *event);
}

void usm_events_free(usm_queue *queue)
{
    for (usm_event *event; (event = usm_shared_freelist_pop(&queue->spare)) != NULL;) {
        free(event);
    }
}

usm_event *usm_event_new(usm_queue *queue)
{
    usm_event *event = usm_shared_freelist_pop(&queue->spare);
    if (event == NULL) {
        event = usm_malloc(queue->backend->event_size);
    }
    if (event == NULL) {
        return NULL;
    }
    zero(queue->backend, event);
    usm_refcount_init(&event->refs, 1);
    event->queue = usm_queue_retain(queue);
    event->profiled = queue->profiling;
    event->accesses = event->inline_accesses;
    event->links = event->inline_links;
    usm_live_add(USM_LIVE_EVENT, 1);
    return event;
}

/* The event has no count. Its memory and its count of the queue remain the caller's. */
static void clear(usm_event *event)
{
    if (event->queue->backend->event_destroy != NULL && !usm_is_forked(event->queue->backend)) {
        USM_CALL(event->queue->backend, event_destroy)(event);
    }
    usm_failure_release(event->failure);
    free(event->strided);
    usm_launch_free_from(event->launch, event->launch_room);
    if (event->accesses != event->inline_accesses) {
        free(event->accesses);
    }
    if (event->links != event->inline_links) {
        free(event->links);
    }
    usm_live_add(USM_LIVE_EVENT, -1);
}

void usm_event_release(usm_event *event)
{
    if (!usm_refcount_down(&event->refs)) {
        return;
    }
    usm_queue *queue = event->queue;
    clear(event);
    if (room_for_spare(queue) > 0) {
        usm_freelist one = {NULL, 0};
        usm_freelist_push(&one, event);
        usm_shared_freelist_return(&queue->spare, &one, event);
    } else {
        free(event);
    }
    usm_queue_release(queue);
}

bool usm_event_has_ended(usm_event *event)
{
    if (usm_event_in_driver(event)) {
        (void)usm_completion_poll(event->queue);
    }
    return usm_event_ended(event);
}

usm_event_state usm_event_ask_state(usm_event *event)
{
    return !usm_event_has_ended(event) && usm_completion_is_running(event) ? USM_EVENT_RUNNING
                                                                           : usm_event_get_state(event);
}

static void set_cause(usm_event *event, usm_failure *failure)
{
    usm_failure *none = NULL;
    if (failure != NULL && atomic_compare_exchange_strong_explicit(
                               &event->cause, &none, failure, memory_order_acq_rel, memory_order_relaxed)) {
        usm_failure_retain(failure);
    }
}

/* The failure of what an ended event left to `event`. A refused one left what was there before it. */
static void inherit(usm_event *event, usm_event *from)
{
    if (from->refused) {
        atomic_store_explicit(&event->after_refused, true, memory_order_relaxed);
    } else {
        set_cause(event, from->failure);
    }
}

/*
 * All links have ended, and so have all writes of what the event reads: later ones wait for the event. After
 * a write that did not take place, the failure of an earlier one may still stand there.
 */
static void inherit_from_memory(usm_event *event)
{
    if (USM_LIKELY(!atomic_load_explicit(&event->after_refused, memory_order_relaxed))) {
        return;
    }
    for (size_t i = 0; i < event->n_accesses; i++) {
        usm_alloc *alloc = event->accesses[i].alloc;
        if ((event->accesses[i].mode & USM_READ) == 0) {
            continue;
        }
        uint64_t stripe = usm_alloc_stripe(alloc);
        usm_hazard_lock(stripe);
        usm_failure *failure = atomic_load_explicit(&alloc->hazards.failure, memory_order_relaxed);
        if (failure != NULL && !atomic_load_explicit(&failure->delivered, memory_order_acquire)) {
            set_cause(event, failure);
        }
        usm_hazard_unlock(stripe);
    }
}

/* One link has ended, or usm_event_arm has placed all hooks: true for the last. */
static bool unblock(usm_event *event)
{
    if (atomic_fetch_sub_explicit(&event->blockers, 1, memory_order_acq_rel) != 1) {
        return false;
    }
    inherit_from_memory(event);
    return true;
}

static void link_done(usm_waiter *waiter, usm_event *ended)
{
    usm_link *link = (usm_link *)waiter;
    usm_event *event = link->owner;
    if (link->data) {
        inherit(event, ended);
    }
    if (unblock(event)) {
        event->ready(event);
    }
}

/*
 * Whether all links have ended, so that no hook is needed: true for most tasks that a driver has put in
 * order.
 */
static bool links_have_ended(usm_event *event)
{
    for (size_t i = 0; i < event->n_links; i++) {
        if (!usm_event_ended(event->links[i].event)) {
            return false;
        }
    }
    for (size_t i = 0; i < event->n_links; i++) {
        usm_event *ended = event->links[i].event;
        if (event->links[i].data && usm_event_get_state(ended) == USM_EVENT_ERROR) {
            inherit(event, ended);
        }
    }
    inherit_from_memory(event);
    return true;
}

bool usm_event_arm(usm_event *event, void (*ready)(usm_event *self))
{
    if (links_have_ended(event)) {
        return true;
    }
    event->ready = ready;
    /* One more than the links: nothing becomes ready while the hooks are still being placed. */
    atomic_store_explicit(&event->blockers, (uint32_t)event->n_links + 1, memory_order_relaxed);
    for (size_t i = 0; i < event->n_links; i++) {
        usm_link *link = &event->links[i];
        link->waiter.done = link_done;
        link->owner = event;
        if (!usm_event_notify(link->event, &link->waiter)) {
            if (link->data) {
                inherit(event, link->event);
            }
            unblock(event); /* never the last: the extra one is still there */
        }
    }
    return unblock(event);
}

void usm_event_drop_links(usm_event *event)
{
    usm_leaf *leaf = usm_leaf_of(event);
    usm_mutex_lock(&leaf->mutex);
    for (usm_waiter **at = &event->waiters; *at != NULL;) {
        if ((*at)->done == link_done) {
            *at = (*at)->next;
        } else {
            at = &(*at)->next;
        }
    }
    usm_mutex_unlock(&leaf->mutex);
}

/* Leaf stripe held. False: the event has ended, and will not notify anyone. */
static bool watch(usm_event *event)
{
    atomic_store(&event->watched, true);
    return atomic_load(&event->task_state) < USM_TASK_COMPLETE;
}

bool usm_event_notify(usm_event *event, usm_waiter *waiter)
{
    if (usm_event_ended(event)) {
        return false;
    }
    usm_leaf *leaf = usm_leaf_of(event);
    usm_mutex_lock(&leaf->mutex);
    bool taken = watch(event);
    if (taken) {
        waiter->next = event->waiters;
        event->waiters = waiter;
    }
    usm_mutex_unlock(&leaf->mutex);
    if (taken) {
        usm_completion_poll_often(event);
    }
    return taken;
}

/*
 * Releases what the task held before any thread sees its end, so that a waiting thread finds the memory
 * free. Counts of allocations that later tasks took over belong to them (hazard.h). Each other access is
 * removed from the list after the allocation has dropped the task and before its count is released: a fork
 * in between leaks memory in the child at worst.
 */
static void release_held(usm_event *event, usm_failure *failure)
{
    if (failure != NULL) { /* first: a thread that waits for the memory may ask the queue next */
        usm_queue_remember(event, failure);
    }
    if (usm_hazard_is_forgotten(event, failure)) {
        event->n_accesses = 0;
    }
    while (event->n_accesses > 0) {
        const usm_access *access = &event->accesses[event->n_accesses - 1];
        uint64_t stripe = usm_alloc_stripe(access->alloc);
        usm_hazard_lock(stripe);
        bool counted = usm_hazard_forget(access->alloc, access->mode, event, failure);
        usm_hazard_unlock(stripe);
        event->n_accesses--;
        if (counted) {
            usm_alloc_release_deferred(access->alloc);
        }
    }
    usm_deferred_list *home = usm_keep_home(event->keeps);
    usm_keep_drop(event->keeps);
    event->keeps = NULL;
    usm_deferred_count_task(home, -1);
}

void usm_events_forget(usm_ended *ended)
{
    usm_event *event = ended->first, *last = NULL;
    usm_freelist kept = {NULL, 0};
    if (event == NULL) {
        return;
    }
    usm_queue *queue = event->queue;
    int room = room_for_spare(queue), gone = 0;
    ended->first = ended->last = NULL;
    usm_queue_forget(queue, event);
    for (usm_event *next; event != NULL; event = next) {
        next = event->next_ended;
        if (!usm_refcount_down(&event->refs)) {
            continue;
        }
        clear(event);
        gone++;
        if (kept.n < room) {
            usm_freelist_push(&kept, event);
            last = last != NULL ? last : event;
        } else {
            free(event);
        }
    }
    if (kept.n > 0) {
        usm_shared_freelist_return(&queue->spare, &kept, last);
    }
    for (; gone > 0; gone--) {
        usm_queue_release(queue); /* the last count may end the queue, unless it is immortal */
    }
}

void usm_event_finish(usm_event *event, usm_failure *failure)
{
    usm_event_finish_among(event, failure, NULL);
}

/* Of an event that has just ended: wakes sleeping threads; the caller notifies the waiters. */
static usm_waiter *take_waiters(usm_event *event)
{
    usm_leaf *leaf = usm_leaf_of(event);
    usm_waiter *waiters = NULL; /* reversed: waiters are notified in the order of their registration */
    usm_mutex_lock(&leaf->mutex);
    while (event->waiters != NULL) {
        usm_waiter *next = event->waiters->next;
        event->waiters->next = waiters;
        waiters = event->waiters;
        event->waiters = next;
    }
    if (event->sleepers != 0) {
        pthread_cond_broadcast(&leaf->changed);
    }
    usm_mutex_unlock(&leaf->mutex);
    return waiters;
}

/* Sequentially consistent, as the check of `watched` behind it is. */
static void enter_end(usm_event *event, usm_task_state to)
{
#ifdef USM_TESTING
    usm_task_state_check(usm_event_task_state(event), to);
#endif
    atomic_exchange(&event->task_state, (uint8_t)to);
}

void usm_event_finish_among(usm_event *event, usm_failure *failure, usm_ended *ended)
{
    if (usm_event_ended(event)) {
        event->next_ended = NULL;
        usm_queue_forget(event->queue, event);
        usm_failure_release(failure);
        usm_event_release(event);
        return;
    }
    /* All links have ended: no thread writes it any more. */
    usm_failure *cause = atomic_load_explicit(&event->cause, memory_order_acquire);
    if (USM_UNLIKELY(cause != NULL)) {
        atomic_store_explicit(&event->cause, NULL, memory_order_relaxed);
        if (failure == NULL) {
            failure = usm_failure_from_cause(cause);
            failure = failure != NULL ? failure : usm_failure_no_memory();
        }
        usm_failure_release(cause);
    }
    event->failure = failure;
    if (USM_UNLIKELY(event->traced)) {
        usm_task_observer->ended(event, failure != NULL);
    }
    release_held(event, failure);

    enter_end(event, failure != NULL ? USM_TASK_ERROR : USM_TASK_COMPLETE);
    usm_waiter *waiters = atomic_load(&event->watched) ? take_waiters(event) : NULL;
    size_t n_links = event->n_links;
    event->n_links = 0;
    if (ended == NULL) {
        usm_queue_forget(event->queue, event);
    }

    while (waiters != NULL) {
        usm_waiter *next = waiters->next; /* the waiter's memory may go with its call */
        waiters->done(waiters, event);
        waiters = next;
    }
    for (size_t i = 0; i < n_links; i++) {
        usm_event_release(event->links[i].event);
    }
    if (ended == NULL) {
        usm_event_release(event);
        return;
    }
    *(ended->last != NULL ? &ended->last->next_ended : &ended->first) = event;
    ended->last = event;
}

/*
 * Puts what the event waits for on the stack, once for each walk, unless it was submitted before the current
 * task.
 */
static void visit(usm_event *event, uint64_t walk, usm_wait_list *stack)
{
    usm_leaf *leaf = usm_leaf_of(event);
    usm_mutex_lock(&leaf->mutex);
    if (event->visited != walk && watch(event)) {
        event->visited = walk;
        for (size_t i = 0; i < event->n_links; i++) {
            usm_event *needed = event->links[i].event;
            if (needed->order >= current->order) {
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
    if (current == NULL || event->order < current->order) {
        return false;
    }
    uint64_t walk = atomic_fetch_add_explicit(&walks, 1, memory_order_relaxed) + 1;
    bool found = false;
    usm_wait_list stack; /* each entry has a count, since it may end during the walk */
    usm_wait_list_init(&stack);
    usm_wait_list_add(&stack, event, false);
    while (stack.n != 0 && !found) {
        usm_event *top = stack.items[--stack.n].event;
        found = top == current;
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

usm_status usm_event_wait_end(usm_event *event, int64_t deadline_ns, usm_wait_poll poll, void *argument,
                              usm_error *error)
{
    if (usm_event_ended(event)) {
        return USM_OK;
    }
    usm_status status = usm_event_check_wait(event, error);
    if (status != USM_OK) {
        return status;
    }
    /* Not restarted by a wake-up: other events wake this thread too, and must not keep it from polling. */
    int64_t next_poll = poll != NULL ? usm_clock_ns() + POLL_NS : INT64_MAX;
    if (deadline_ns == INT64_MAX && usm_completion_wait(event)) {
        return USM_OK;
    }
    usm_worker_block(true);
    usm_leaf *leaf = usm_leaf_of(event);
    usm_mutex_lock(&leaf->mutex);
    watch(event);
    event->sleepers++;
    usm_mutex_unlock(&leaf->mutex);
    usm_completion_poll_often(event);
    usm_mutex_lock(&leaf->mutex);
    while (!usm_event_ended(event)) {
        int64_t now = poll != NULL || deadline_ns != INT64_MAX ? usm_clock_ns() : 0;
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
        bool stop = poll(argument);
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

usm_status usm_event_wait(usm_event *event, int64_t deadline_ns, usm_wait_poll poll, void *argument,
                          usm_error *error)
{
    usm_status status = usm_event_wait_end(event, deadline_ns, poll, argument, error);
    if (status == USM_OK && usm_event_get_state(event) == USM_EVENT_ERROR) {
        usm_failure_deliver(event->failure);
        usm_queue_prune(event->queue);
        status = usm_error_failed(error, event->failure);
    }
    return status;
}
