/*
 * Queues. A task whose dependencies the driver knows is appended to one of the queue's lists (list.c) in its
 * submission, behind their events; one that waits for something else (the host, another context, a task not
 * yet appended) is appended when that has ended.
 */
#include "level_zero.h"

#include "core/base/heap.h"
#include "core/copy/copy.h"

#include <stdlib.h>

usm_status usm_level_zero_queue_create(usm_queue *queue, usm_error *error)
{
    if (usm_level_zero_forked()) {
        return usm_level_zero_after_fork(error);
    }
    usm_level_zero_queue *native = usm_calloc(1, sizeof *native);
    if (native == NULL) {
        return usm_error_memory(error, sizeof *native, "a queue");
    }
    native->owner = queue;
    native->lists[USM_LEVEL_ZERO_COMPUTE].id = queue->foreign;
    queue->native = native;
    atomic_fetch_add(&usm_level_zero_context_of(queue->context)->users, 1);
    if (usm_level_zero_list_make(queue, USM_LEVEL_ZERO_COMPUTE, error) != USM_OK) {
        atomic_fetch_sub(&usm_level_zero_context_of(queue->context)->users, 1);
        queue->native = NULL;
        free(native);
        return error->status;
    }
    /* Several, so that one stuck task does not stop the others of an out-of-order queue. */
    usm_worker_init(&native->worker, queue->in_order ? 1 : 4, NULL, NULL);
    return USM_OK;
}

void usm_level_zero_queue_destroy(usm_queue *queue)
{
    usm_level_zero_queue *native = usm_level_zero_queue_of(queue);
    usm_level_zero_forget_queue(native);
    if (!usm_level_zero_forked()) {
        usm_level_zero_lists_free(queue);
        atomic_fetch_sub(&usm_level_zero_context_of(queue->context)->users, 1);
    }
    usm_worker_drop(&native->worker);
}

/* The driver's event of a link, where the driver can wait for it: already appended, in the same context. */
static usm_level_zero_slot *driver_event(const usm_queue *queue, const usm_link *link)
{
    const usm_queue *other = link->event->queue;
    if (other->backend != queue->backend || other->context != queue->context) {
        return NULL;
    }
    return atomic_load_explicit(&((usm_level_zero_event *)link->event)->slot, memory_order_acquire);
}

/*
 * What the driver is to wait for: false where a link is beyond it. A list in order keeps its own order; tasks
 * of other lists, and those of lists without an order, name each other.
 */
static bool collect(const usm_level_zero_event *event, ze_event_handle_t *waits, uint32_t *n)
{
    const usm_event *base = &event->event;
    const usm_level_zero_list *list = &usm_level_zero_queue_of(base->queue)->lists[event->list];
    *n = 0;
    for (size_t i = 0; i < base->n_links; i++) {
        const usm_link *link = &base->links[i];
        if (usm_event_ended(link->event)) {
            if (usm_event_get_state(link->event) == USM_EVENT_ERROR && link->data) {
                return false; /* arming it inherits the failure */
            }
            continue;
        }
        usm_level_zero_slot *slot = driver_event(base->queue, link);
        if (slot == NULL) {
            return false;
        }
        bool same_list =
            link->event->queue == base->queue && ((usm_level_zero_event *)link->event)->list == event->list;
        if (!(same_list && list->in_order)) {
            waits[(*n)++] = slot->id;
        }
    }
    return true;
}

static void fail(usm_event *event, const usm_error *error)
{
    usm_failure *failure = usm_failure_from_error(error);
    usm_event_finish(event, failure != NULL ? failure : usm_failure_no_memory());
}

/* All links have ended; no lock is held. */
static void append_late(usm_event *base)
{
    usm_level_zero_event *event = (usm_level_zero_event *)base;
    usm_error error;
    event->late = true;
    if (atomic_load_explicit(&base->cause, memory_order_acquire) != NULL) {
        usm_event_finish(base, NULL);
        return;
    }
    usm_event_retain(base); /* another thread may see the end before this one goes on */
    usm_lock_take(&base->queue->lock);
    usm_status status = usm_level_zero_append(event, &event->command, 0, NULL, &error);
    usm_lock_give(&base->queue->lock);
    if (status == USM_OK) {
        usm_level_zero_watch(event);
    } else {
        fail(base, &error);
    }
    usm_event_release(base);
}

static void run_host(usm_work *work)
{
    usm_level_zero_event *event =
        (usm_level_zero_event *)((char *)work - offsetof(usm_level_zero_event, work));
    usm_event *base = &event->event;
    usm_error error;
    usm_status status = USM_OK;
    error.failure = NULL;
    base->start_ns = base->profiled || base->traced ? usm_clock_ns() : 0;
    if (atomic_load_explicit(&base->cause, memory_order_acquire) == NULL) {
        atomic_store_explicit(&base->state, USM_EVENT_RUNNING, memory_order_release);
        usm_event_set_current(base);
        status = event->command.as.host.run(event->command.as.host.argument, &error);
        usm_event_set_current(NULL);
    }
    base->end_ns = base->profiled || base->traced ? usm_clock_ns() : 0;
    if (status == USM_OK) {
        usm_event_finish(base, NULL);
        return;
    }
    usm_failure *failure = usm_failure_from_error(&error);
    usm_error_clear(&error);
    usm_event_finish(base, failure != NULL ? failure : usm_failure_no_memory());
}

static void host_ready(usm_event *base)
{
    usm_worker_put(&usm_level_zero_queue_of(base->queue)->worker, &((usm_level_zero_event *)base)->work);
}

/* For an append that comes later. False when memory ran out. */
static bool keep_command(usm_level_zero_event *event, const usm_command *command, bool at_once)
{
    event->command = *command;
    if (command->kind == USM_COMMAND_STRIDED && !at_once) {
        event->strided = usm_strided_clone(command->as.strided);
        event->command.as.strided = event->strided;
        return event->strided != NULL;
    }
    if (command->kind == USM_COMMAND_LAUNCH && !at_once) {
        event->launch = usm_launch_clone(command->as.launch);
        event->command.as.launch = event->launch;
        return event->launch != NULL;
    }
    return true;
}

/* Something that the driver cannot wait for. The queue's lock is held, so that no event may end in here. */
static usm_status submit_late(usm_level_zero_event *event, usm_error *error)
{
    usm_event *base = &event->event;
    if (!usm_event_arm(base, append_late)) {
        return USM_OK;
    }
    event->late = true; /* all of it has ended meanwhile */
    if (atomic_load_explicit(&base->cause, memory_order_acquire) != NULL) {
        usm_level_zero_end_soon(event);
        return USM_OK;
    }
    usm_status status = usm_level_zero_append(event, &event->command, 0, NULL, error);
    if (status == USM_OK) {
        usm_level_zero_watch(event);
    }
    return status;
}

static usm_status submit(usm_level_zero_event *event, const usm_command *command, ze_event_handle_t *waits,
                         usm_error *error)
{
    usm_event *base = &event->event;
    usm_status status = USM_OK;
    uint32_t n = 0;
    bool known = command->kind != USM_COMMAND_HOST && collect(event, waits, &n);
    if (!keep_command(event, command, known)) {
        return usm_error_memory(error, sizeof(usm_strided), "a copy's plan");
    }
    if (command->kind == USM_COMMAND_HOST) {
        status = usm_worker_announce(&usm_level_zero_queue_of(base->queue)->worker, "level_zero", error);
        if (status == USM_OK && usm_event_arm(base, host_ready)) {
            host_ready(base);
        }
    } else if (!known) {
        status = submit_late(event, error);
    } else {
        status = usm_level_zero_append(event, command, n, waits, error);
        if (status == USM_OK) {
            usm_level_zero_watch(event);
        }
    }
    return status;
}

usm_status usm_level_zero_queue_submit(usm_queue *queue, usm_event *base, const usm_command *command,
                                       usm_error *error)
{
    usm_level_zero_event *event = (usm_level_zero_event *)base;
    ze_event_handle_t few[USM_INLINE_LINKS], *waits = few;
    if (usm_level_zero_forked()) {
        return usm_level_zero_after_fork(error);
    }
    if (base->n_links > USM_INLINE_LINKS) {
        waits = usm_malloc(base->n_links * sizeof *waits);
        if (waits == NULL) {
            return usm_error_memory(error, base->n_links * sizeof *waits, "a list of events");
        }
    }
    event->work.run = run_host;
    event->list = usm_level_zero_list_for(queue, command);
    usm_status status = submit(event, command, waits, error);
    if (waits != few) {
        free(waits);
    }
    return status;
}

void usm_level_zero_queue_fork(usm_queue *queue, usm_fork_phase phase)
{
    usm_worker_fork(&usm_level_zero_queue_of(queue)->worker, phase);
}
