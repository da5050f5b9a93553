/*
 * The end of tasks. The driver says of a lane how far it has come; the tasks up to there are claimed by
 * whoever asked, and ended in their order, with no lock held: by the watcher, or by a thread that waits.
 */
#include "cuda_backend.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long a thread asks the driver itself before it sleeps: being woken costs some tens of microseconds. */
#define JOIN_NS 2000000

static usm_cuda_event *event_of(usm_event *base)
{
    return (usm_cuda_event *)base;
}

static uint64_t number_of(const usm_cuda_event *event)
{
    return atomic_load_explicit(&((usm_cuda_event *)event)->number, memory_order_acquire);
}

/*
 * CUDA does not say which kernel was at fault: the oldest that had not ended is the one as a rule. Queue
 * lock held; NULL when memory ran out.
 */
static char *blame(const usm_cuda_event *first)
{
    enum { SIZE = 480 };
    char *text = malloc(SIZE);
    usm_queue *queue = first->event.queue;
    CUresult code = (CUresult)first->lost;
    const char *names[2] = {NULL, NULL};
    int n = 0;
    for (const usm_event *at = &first->event; at != NULL && n < 2; at = at->following) {
        const usm_cuda_event *event = (const usm_cuda_event *)at;
        if (event->kernel != NULL && event->lane == first->lane) {
            names[n++] = event->kernel->name;
        }
    }
    if (text == NULL) {
        return NULL;
    }
    if (n == 0) {
        snprintf(text, SIZE, "work of another queue, or of another library, ended with %s (%d) on %s",
                 usm_cuda_name(code), (int)code, queue->device->info.name);
    } else {
        snprintf(text, SIZE, "%s (%d) on %s: the kernel %.100s%s%.100s was running or about to",
                 usm_cuda_name(code), (int)code, queue->device->info.name, names[0],
                 n > 1 ? ", or behind it " : "", n > 1 ? names[1] : "");
    }
    return text;
}

/* The tasks that the driver has ended, oldest first, linked by next_claimed. Queue lock held. */
static usm_cuda_event *claim(usm_queue *queue, bool *pending)
{
    usm_cuda_event *first = NULL, **last = &first;
    char *text = NULL;
    *pending = false;
    for (usm_event *base = queue->first; base != NULL; base = base->following) {
        usm_cuda_event *event = event_of(base);
        uint64_t number = number_of(event);
        if (number == 0 || event->claimed) {
            continue;
        }
        if (!usm_cuda_lane_ended(event->lane, number)) {
            *pending = true;
            if (queue->in_order) {
                break;
            }
            continue;
        }
        event->claimed = true;
        if (event->lane->latest == event) {
            event->lane->latest = NULL;
        }
        event->lost = atomic_load_explicit(&usm_cuda_device_of(queue->device)->lost, memory_order_acquire);
        if (event->lost != 0) {
            text = text == NULL ? blame(event) : text;
            event->text = text == NULL ? NULL : strdup(text);
        }
        *last = event;
        last = &event->next_claimed;
    }
    *last = NULL;
    if (!*pending) { /* usm_cuda_reap need not come for what a wait has ended */
        usm_cuda_queue *native = usm_cuda_queue_of(queue);
        atomic_store_explicit(&native->reaped,
                              atomic_load_explicit(&native->lanes[0].submitted, memory_order_relaxed),
                              memory_order_relaxed);
    }
    free(text);
    return first;
}

/*
 * Times of the driver are distances between two events, in single precision: the event that they are counted
 * from is replaced while the distances are short.
 */
static void read_times(usm_cuda_event *event)
{
    enum { NEAR_MS = 500 };
    usm_event *base = &event->event;
    usm_cuda_queue *native = usm_cuda_queue_of(base->queue);
    usm_cuda_scope scope;
    float until_start = 0, length = 0;
    bool entered = usm_cuda_enter(base->queue->device, &scope, NULL) == USM_OK;
    usm_lock_take(&base->queue->lock);
    bool told = entered && native->base != NULL && usm_cuda.elapsed_time != NULL &&
                usm_cuda.elapsed_time(&until_start, native->base, event->start) == CUDA_SUCCESS &&
                usm_cuda.elapsed_time(&length, event->start, event->end) == CUDA_SUCCESS;
    base->start_ns = told ? native->base_ns + (int64_t)((double)until_start * 1e6) : usm_clock_ns();
    if (base->start_ns < base->submit_ns) {
        /*
         * Nothing begins before it was submitted: the base was taken for earlier than it was. It is set right
         * for the tasks behind this one too, so that their times keep their order.
         */
        native->base_ns += base->submit_ns - base->start_ns;
        base->start_ns = base->submit_ns;
    }
    base->end_ns = base->start_ns + (told ? (int64_t)((double)length * 1e6) : 0);
    if (told && until_start > NEAR_MS) {
        CUevent old = native->base;
        native->base_ns += (int64_t)((double)until_start * 1e6);
        native->base = event->start;
        event->start = old;
    }
    usm_lock_give(&base->queue->lock);
    if (entered) {
        usm_cuda_leave(&scope);
    }
}

/* All links have ended, and the driver has. `ended` may be NULL: usm_event_finish_among. */
static void finish(usm_event *base, usm_ended *ended)
{
    usm_cuda_event *event = event_of(base);
    usm_error error;
    if (base->profiled) {
        if (event->lost == 0 && event->end != NULL) {
            read_times(event);
        } else {
            base->start_ns = base->end_ns = usm_clock_ns();
        }
    }
    bool inherits = atomic_load_explicit(&base->cause, memory_order_acquire) != NULL;
    if (event->landing != NULL && !event->landed && event->lost == 0 && !inherits) {
        memcpy(event->command.as.copy.dst, event->landing->data, event->command.as.copy.nbytes);
    }
    if (event->lost != 0 && !inherits) {
        usm_error_driver(
            &error, USM_DRIVER, "cuda", event->lost, usm_cuda_name((CUresult)event->lost),
            "%s; the context is lost, and nothing can be done there until this process is started anew",
            event->text != NULL ? event->text : usm_cuda_name((CUresult)event->lost));
        usm_failure *failure = usm_failure_from_error(&error);
        usm_event_finish_among(base, failure != NULL ? failure : usm_failure_no_memory(), ended);
    } else {
        usm_event_finish_among(base, NULL, ended);
    }
}

static void finish_alone(usm_event *base)
{
    finish(base, NULL);
}

void usm_cuda_end_early(usm_cuda_event *event)
{
    if (atomic_fetch_add_explicit(&event->ends, 1, memory_order_acq_rel) == 1) {
        finish_alone(&event->event);
    }
}

static bool end_claimed(usm_queue *queue)
{
    bool pending;
    usm_ended ended = {NULL, NULL};
    usm_lock_take(&queue->lock);
    usm_cuda_event *event = claim(queue, &pending);
    usm_lock_give(&queue->lock);
    while (event != NULL) {
        usm_cuda_event *next = event->next_claimed;
        /* Other queues' tasks that it waited for have ended too, but may not have been seen to. */
        if (event->early) {
            usm_cuda_end_early(event);
        } else if (usm_event_arm(&event->event, finish_alone)) {
            finish(&event->event, &ended);
        }
        event = next;
    }
    usm_events_forget(&ended);
    return pending;
}

bool usm_cuda_end_ended(usm_queue *queue, bool settle)
{
    usm_cuda_queue *native = usm_cuda_queue_of(queue);
    for (unsigned i = 0; i < atomic_load_explicit(&native->n_lanes, memory_order_acquire); i++) {
        if (settle) {
            usm_cuda_lane_settle(&native->lanes[i]);
        } else {
            usm_cuda_lane_poll(&native->lanes[i]);
        }
    }
    return end_claimed(queue);
}

void usm_cuda_reap(usm_queue *queue)
{
    enum { MANY = 512 };
    usm_cuda_queue *native = usm_cuda_queue_of(queue);
    usm_cuda_lane *lane = &native->lanes[0];
    uint64_t submitted = atomic_load_explicit(&lane->submitted, memory_order_relaxed);
    uint64_t reaped = atomic_load_explicit(&native->reaped, memory_order_relaxed);
    if (USM_LIKELY((int64_t)(submitted - reaped) < MANY) ||
        !atomic_compare_exchange_strong(&native->reaped, &reaped, submitted) || usm_cuda_forked() ||
        usm_cuda_is_lost(queue->device)) {
        return;
    }
    /* This fence is for the next time. */
    usm_cuda_end_ended(queue, true);
    usm_cuda_note(queue->device, usm_cuda_lane_fence(lane, submitted));
}

void usm_cuda_queue_settle(usm_queue *queue)
{
    if (!usm_cuda_forked()) {
        usm_cuda_end_ended(queue, true);
    }
}

bool usm_cuda_event_in_driver(usm_event *base)
{
    return number_of(event_of(base)) != 0;
}

bool usm_cuda_event_is_running(usm_event *base)
{
    const usm_cuda_event *event = event_of(base);
    uint64_t number = number_of(event);
    if (number == 0 || usm_cuda_forked()) {
        return false;
    }
    return usm_cuda_lane_ended(event->lane, number - 1);
}

void usm_cuda_event_join(usm_event *base)
{
    usm_cuda_event *event = event_of(base);
    uint64_t number = number_of(event);
    if (number == 0 || usm_cuda_forked()) {
        return;
    }
    (void)usm_cuda_lane_fence(event->lane, number);
    int64_t until = 0;
    for (;;) {
        usm_cuda_lane_poll(event->lane);
        if (usm_cuda_lane_ended(event->lane, number)) {
            break;
        }
        int64_t now = usm_clock_ns();
        until = until != 0 ? until : now + JOIN_NS;
        if (now >= until) {
            break;
        }
        sched_yield();
    }
    if (usm_cuda_lane_ended(event->lane, number)) {
        end_claimed(base->queue);
    }
}

void usm_cuda_event_hurry(usm_event *base)
{
    usm_cuda_event *event = event_of(base);
    uint64_t number = number_of(event);
    if (number == 0 || usm_cuda_forked()) {
        return;
    }
    (void)usm_cuda_lane_fence(event->lane, number);
    usm_cuda_watch_closely(usm_cuda_queue_of(base->queue));
}

static void free_native(usm_cuda_event *event)
{
    usm_device *device = event->event.queue->device;
    usm_cuda_scope scope;
    if ((event->block == 0 && event->start == NULL && event->end == NULL) || usm_cuda_forked() ||
        usm_cuda_is_lost(device) || usm_cuda_enter(device, &scope, NULL) != USM_OK) {
        return;
    }
    if (event->block != 0) {
        (void)usm_cuda.cuMemFree(event->block);
    }
    if (event->start != NULL) {
        (void)usm_cuda.cuEventDestroy(event->start);
    }
    if (event->end != NULL) {
        (void)usm_cuda.cuEventDestroy(event->end);
    }
    usm_cuda_leave(&scope);
}

void usm_cuda_event_destroy(usm_event *base)
{
    usm_cuda_event *event = event_of(base);
    free(event->strided);
    usm_launch_free(event->launch);
    free(event->text);
    if (event->kernel != NULL) {
        usm_kernel_release(event->kernel);
    }
    if (event->landing != NULL && !usm_cuda_forked()) {
        usm_cuda_pinned_put(event->landing);
    }
    free_native(event);
}
