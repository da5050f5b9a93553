/* usm_queue_submit: what a task waits for, and where later ones find it. */
#include "completion.h"

#include "core/base/heap.h"
#include "core/device/backend.h"
#include "core/trace/trace.h"
#include "hazard.h"

static void append(usm_queue *queue, usm_event *event)
{
    usm_event *last = atomic_load_explicit(&queue->last, memory_order_relaxed);
    event->previous = last;
    event->following = NULL;
    *(last != NULL ? &last->following : &queue->first) = event;
    atomic_store_explicit(&queue->last, event, memory_order_relaxed);
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
        return add_unended(waits, atomic_load_explicit(&queue->last, memory_order_relaxed));
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

/* One entry an allocation, so that it is recorded once, with one count, and forgotten once. */
static void list_accesses(usm_event *event, const usm_submission *submission)
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
    usm_failure *failure = usm_failure_from_error(error); /* the caller still needs the error */
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
    list_accesses(event, submission);
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

/* The host's own queues, whose short work the submitting thread does; nobody wants to know of it. */
bool usm_queue_may_begin_now(usm_queue *queue)
{
    return queue->context->works_here && !queue->profiling && USM_LIKELY(!usm_trace_is_on()) &&
           atomic_load_explicit(&queue->last, memory_order_acquire) == NULL;
}

/*
 * The queue is idle, so the hazard locks alone order this task: the queue's own lock is not needed.
 */
bool usm_queue_begin_now(usm_queue *queue, const usm_access *accesses, size_t n, uint64_t *held)
{
    if (!usm_queue_may_begin_now(queue)) {
        return false;
    }
    uint64_t mask = usm_hazard_mask(accesses, n);
    usm_hazard_lock(mask);
    for (size_t i = 0; i < n; i++) {
        if (!usm_alloc_is_untouched(accesses[i].alloc)) {
            usm_hazard_unlock(mask);
            return false;
        }
    }
    *held = mask;
    return true;
}

/* The commonest submission: short work on the host, with nothing pending, whose event nobody wants. */
static bool done_now(usm_queue *queue, const usm_submission *submission)
{
    uint64_t held;
    int64_t start_ns, end_ns;
    size_t fresh = submission->fresh ? 1 : 0;
    if (submission->n_waits != 0 || (fresh != 0 && !usm_alloc_is_untouched(submission->accesses[0].alloc)) ||
        !usm_queue_begin_now(queue, submission->accesses + fresh, submission->n_accesses - fresh, &held)) {
        return false;
    }
    bool done = queue->backend->queue_run_now(queue, submission->command, &start_ns, &end_ns);
    usm_queue_end_now(held);
    if (done) {
        usm_keep_drop(submission->keeps);
    }
    return done;
}

usm_status usm_queue_submit(usm_queue *queue, const usm_submission *submission, usm_event **out,
                            usm_error *error)
{
    enum { REFUSED, DONE, INHERITED, RECORDED } outcome = REFUSED;
    if (out == NULL && done_now(queue, submission)) {
        return USM_OK;
    }
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

    usm_lock_take(&queue->lock);
    usm_hazard_lock(mask);
    usm_status status = collect(queue, submission, &waits, &cause, error);
    if (USM_UNLIKELY(queue->foreign != NULL) && status == USM_OK && queue->backend->native->admit != NULL) {
        status = queue->backend->native->admit(queue, waits.items, waits.n, error);
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
        status = usm_later_submit(queue, event, submission->command, error);
        if (status != USM_OK) {
            event->keeps = NULL; /* the caller's again */
        }
    }
    usm_lock_give(&queue->lock);

    usm_wait_list_clear(&waits);
    if (USM_UNLIKELY(usm_completion_is_due(queue))) {
        usm_completion_reap(queue);
    }
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
