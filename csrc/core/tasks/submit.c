/* usm_queue_submit: collects what a task waits for, and records the task where later ones find it. */
#include "submit.h"

#include "completion.h"
#include "core/base/heap.h"
#include "core/device/rule.h"
#include "deferral.h"
#include "hazard.h"
#include "link.h"
#include "observer.h"
#include "pending.h"

_Atomic bool usm_trace_on;
const usm_observer *usm_task_observer;

static bool add_unended(usm_wait_list *waits, usm_event *event)
{
    return event == NULL || usm_event_ended(event) || usm_wait_list_add(waits, event, false);
}

/*
 * SYCL's barrier is ordered after all earlier work or, with a list, after the listed events alone. A marker
 * that names memory is ordered after the work on that memory, and after what others enqueued in a shared
 * queue.
 */
static bool is_after_all(const usm_queue *queue, const usm_submission *submission)
{
    usm_command_kind kind = submission->command->kind;
    bool marks = kind == USM_COMMAND_MARKER && (submission->n_accesses == 0 || usm_queue_is_shared(queue));
    return submission->n_waits == 0 && (kind == USM_COMMAND_BARRIER || marks);
}

/*
 * Order within the queue. Events in the list are alive: an event is taken out before its count is released.
 */
static bool wait_for_earlier(usm_queue *queue, const usm_submission *submission, usm_wait_list *waits)
{
    if (queue->in_order) {
        return add_unended(waits, atomic_load_explicit(&queue->last, memory_order_relaxed));
    }
    if (!add_unended(waits, queue->barrier)) {
        return false;
    }
    bool after_all = is_after_all(queue, submission);
    for (usm_event *event = queue->first; after_all && event != NULL; event = event->following) {
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

/* Others may already wait for the refused task: it ends in its turn, without having run. */
static void finish_refused(usm_event *event)
{
    usm_event_finish(event, atomic_exchange_explicit(&event->cause, NULL, memory_order_acq_rel));
}

/*
 * Ends a task that the backend refused. No lock held. Takes the backend's count. The caller gets the error,
 * so neither queue nor memory keeps it.
 */
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
 * The host's own queues: the submitting thread runs their short work, and no trace or profile needs its
 * times.
 */
bool usm_queue_may_begin_now(usm_queue *queue)
{
    return queue->context->runs_on_submitting_thread && !queue->profiling && USM_LIKELY(!usm_trace_is_on()) &&
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

/* The most frequent submission: short work on the host, nothing pending, no event wanted. */
static bool done_now(usm_queue *queue, const usm_submission *submission)
{
    uint64_t held;
    int64_t start_ns, end_ns;
    size_t fresh = submission->fresh ? 1 : 0;
    if (submission->n_waits != 0 || (fresh != 0 && !usm_alloc_is_untouched(submission->accesses[0].alloc)) ||
        !usm_queue_begin_now(queue, submission->accesses + fresh, submission->n_accesses - fresh, &held)) {
        return false;
    }
    bool done = USM_CALL(queue->backend, queue_run_now)(queue, submission->command, &start_ns, &end_ns);
    usm_queue_end_now(held);
    if (done) {
        usm_keep_drop(submission->keeps);
    }
    return done;
}

/* A submission on its way to one of the outcomes below. */
typedef struct attempt {
    usm_queue *queue;
    const usm_submission *submission;
    bool wanted; /* the caller asks for the event */
    bool traced;
    enum { REFUSED, DONE, INHERITED, RECORDED } outcome;
    int64_t submit_ns, start_ns, end_ns;
    usm_wait_list waits; /* what has not ended, one count each */
    usm_failure *cause;  /* of a dependency that has failed; no count */
    usm_event *event;    /* one count; NULL where nobody needs one */
} attempt;

/* Brings imported memory into order with the streams of others. May block, so no lock is held. */
static usm_status order_memory(usm_queue *queue, const usm_submission *submission, usm_error *error)
{
    for (size_t i = 0; i < submission->n_accesses && !submission->orders; i++) {
        usm_status status = usm_alloc_order(submission->accesses[i].alloc, queue, error);
        if (USM_UNLIKELY(status != USM_OK)) {
            return status;
        }
    }
    return USM_OK;
}

/* What the task has to wait for. From here to usm_queue_submit: with the locks of queue and hazards. */
static usm_status collect(attempt *attempt, usm_error *error)
{
    usm_queue *queue = attempt->queue;
    const usm_submission *submission = attempt->submission;
    usm_wait_list *waits = &attempt->waits;
    for (size_t i = 0; i < submission->n_accesses; i++) {
        const usm_access *access = &submission->accesses[i];
        usm_status status = usm_hazard_collect(access->alloc, access->mode, waits, &attempt->cause, error);
        if (status != USM_OK) {
            return status;
        }
    }
    if (!wait_for_explicit(submission, waits, &attempt->cause) ||
        !wait_for_earlier(queue, submission, waits)) {
        return usm_error_memory(error, waits->n * 2 * sizeof(usm_wait), "a list of dependencies");
    }
    if (USM_UNLIKELY(queue->foreign != NULL) && queue->backend->native->admit != NULL) {
        return USM_CALL(queue->backend->native, admit)(queue, waits->items, waits->n, error);
    }
    return USM_OK;
}

/* The task's place in the order of submission. */
static uint64_t observe(const attempt *attempt)
{
    const usm_submitted how = {
        .submit_ns = attempt->submit_ns,
        .start_ns = attempt->start_ns,
        .end_ns = attempt->end_ns,
        .done = attempt->outcome == DONE,
        .waits = attempt->waits.items,
        .n_waits = attempt->waits.n,
    };
    return usm_task_observer->submitted(attempt->queue, attempt->submission, attempt->event, &how);
}

/*
 * DONE: short work that waits for nothing is done here and now, under the locks: no other task can slip in
 * between. A write also clears what a failed task left on the memory. False: it is not such work.
 */
static bool run_now(attempt *attempt)
{
    usm_queue *queue = attempt->queue;
    const usm_submission *submission = attempt->submission;
    if (attempt->waits.n != 0 || attempt->cause != NULL || queue->backend->queue_run_now == NULL ||
        usm_is_forked(queue->backend) ||
        !USM_CALL(queue->backend, queue_run_now)(queue, submission->command, &attempt->start_ns,
                                                 &attempt->end_ns)) {
        return false;
    }
    for (size_t i = 0; i < submission->n_accesses; i++) {
        usm_alloc *alloc = submission->accesses[i].alloc;
        if ((submission->accesses[i].mode & USM_WRITE) != 0 && !usm_alloc_is_clean(alloc)) {
            usm_hazard_spoil(alloc, NULL);
        }
    }
    attempt->outcome = DONE;
    if (USM_UNLIKELY(attempt->traced)) {
        uint64_t order = observe(attempt);
        if (attempt->event != NULL) {
            attempt->event->order = order;
        }
    }
    return true;
}

/*
 * INHERITED: a dependency had failed before the submission, and there is nothing to wait for: the task ends
 * without having run, and spoils what it would have written. attempt->cause becomes its failure, one count.
 */
static void inherit(attempt *attempt)
{
    const usm_submission *submission = attempt->submission;
    usm_failure *failure = usm_failure_from_cause(attempt->cause);
    failure = failure != NULL ? failure : usm_failure_no_memory();
    for (size_t i = 0; i < submission->n_accesses; i++) {
        if ((submission->accesses[i].mode & USM_WRITE) != 0) {
            usm_hazard_spoil(submission->accesses[i].alloc, failure);
        }
    }
    attempt->cause = failure;
    attempt->outcome = INHERITED;
    if (USM_UNLIKELY(attempt->traced)) {
        attempt->event->order = observe(attempt);
    }
}

/*
 * RECORDED: the event stands where later work will find it, with its allocations and in the queue. From here
 * on it must finish. Takes over the counts in waits.
 */
static void record(attempt *attempt)
{
    usm_queue *queue = attempt->queue;
    const usm_submission *submission = attempt->submission;
    usm_event *event = attempt->event;
    attempt->outcome = RECORDED;
    usm_event_enter(event, USM_TASK_RECORDED);
    event->order = USM_UNLIKELY(attempt->traced) ? observe(attempt) : usm_event_next_order();
    event->submit_ns = attempt->submit_ns;
    atomic_store_explicit(&event->has_python_object, attempt->wanted, memory_order_relaxed);
    if (attempt->cause != NULL) {
        /* It ends in its turn, without having run: later work waits for it alone. */
        atomic_store_explicit(&event->cause, usm_failure_retain(attempt->cause), memory_order_relaxed);
    }
    list_accesses(event, submission);
    link_waits(event, &attempt->waits);
    usm_hazard_record(event);
    usm_pending_append(queue, event);
    if (submission->command->kind == USM_COMMAND_BARRIER && !queue->in_order) {
        queue->barrier = event;
    }
    event->keeps = submission->keeps;
    usm_deferred_count_task(usm_keep_home(event->keeps), 1);
    /* The backend's count; with the stripes still held, nobody else has one or takes one. */
    atomic_store_explicit(&event->refs.value, 2, memory_order_relaxed);
}

/* Chooses the outcome. An event is made only where somebody needs one. */
static usm_status begin(attempt *attempt, usm_error *error)
{
    usm_status status = collect(attempt, error);
    if (status != USM_OK || (!attempt->wanted && run_now(attempt))) {
        return status;
    }
    attempt->event = usm_event_new(attempt->queue);
    if (attempt->event == NULL) {
        return usm_error_memory(error, attempt->queue->backend->event_size, "an event");
    }
    attempt->event->internal = attempt->submission->internal;
    if (attempt->cause != NULL && attempt->waits.n == 0) {
        inherit(attempt);
    } else if (!attempt->wanted || !run_now(attempt)) {
        status = prepare(attempt->event, attempt->submission, &attempt->waits, error);
        if (status == USM_OK) {
            record(attempt);
        }
    }
    return status;
}

/* With no lock held. `status` is the backend's, of a task that was recorded. */
static void end(attempt *attempt, usm_status status, const usm_error *error)
{
    usm_event *event = attempt->event;
    if (attempt->outcome == DONE) {
        usm_keep_drop(attempt->submission->keeps);
        if (event != NULL) {
            event->submit_ns = attempt->submit_ns;
            event->start_ns = attempt->start_ns;
            event->end_ns = attempt->end_ns;
            usm_event_enter(event, USM_TASK_COMPLETE);
        }
    } else if (attempt->outcome == INHERITED) {
        event->submit_ns = event->start_ns = event->end_ns = attempt->submit_ns;
        event->keeps = attempt->submission->keeps;
        usm_deferred_count_task(usm_keep_home(event->keeps), 1);
        usm_event_finish(usm_event_retain(event), attempt->cause);
    } else if (attempt->outcome == RECORDED && status != USM_OK) {
        refuse(event, error);
    }
}

usm_status usm_queue_submit(usm_queue *queue, const usm_submission *submission, usm_event **out,
                            usm_error *error)
{
    if (out == NULL && done_now(queue, submission)) {
        return USM_OK;
    }
    attempt attempt;
    attempt.queue = queue;
    attempt.submission = submission;
    attempt.wanted = out != NULL;
    attempt.traced = usm_trace_is_on();
    attempt.outcome = REFUSED;
    attempt.submit_ns = queue->profiling || attempt.traced ? usm_clock_ns() : 0;
    attempt.start_ns = attempt.end_ns = 0;
    attempt.cause = NULL;
    attempt.event = NULL;
    usm_wait_list_init(&attempt.waits);
    uint64_t mask = usm_hazard_mask(submission->accesses, submission->n_accesses);
    usm_status status = order_memory(queue, submission, error);
    if (status != USM_OK) {
        return status;
    }

    usm_lock_take(&queue->lock);
    usm_hazard_lock(mask);
    status = begin(&attempt, error);
    usm_hazard_unlock(mask);
    if (attempt.outcome == RECORDED) {
        status = usm_deferral_submit(attempt.event, submission->command, error);
        if (status != USM_OK) {
            attempt.event->keeps = NULL; /* the caller's again */
            usm_deferred_count_task(usm_keep_home(submission->keeps), -1);
        }
    }
    usm_lock_give(&queue->lock);

    usm_wait_list_clear(&attempt.waits);
    if (USM_UNLIKELY(usm_completion_is_due(queue))) {
        usm_completion_reap(queue);
    }
    end(&attempt, status, error);
    if (status == USM_OK && out != NULL) {
        *out = attempt.event;
    } else if (attempt.event != NULL) {
        usm_event_release(attempt.event);
    }
    return status;
}
