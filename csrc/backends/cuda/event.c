/*
 * The end of tasks. The driver says of a lane how far it has come; the tasks up to there are claimed by
 * whoever asked, and ended in their order (core/tasks/completion.h).
 */
#include "cuda_backend.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long a thread asks the driver itself before it sleeps: being woken costs some tens of microseconds. */
#define JOIN_NS 2000000
/* Below it the caller holds the GIL: it must not yield, and asking without a pause holds up the driver. */
#define YIELD_NS 10000

static usm_cuda_event *event_of(usm_event *base)
{
    return (usm_cuda_event *)base;
}

static uint64_t number_of(const usm_cuda_event *event)
{
    return atomic_load_explicit(&((usm_cuda_event *)event)->number, memory_order_acquire);
}

/*
 * CUDA does not say which kernel was at fault: the oldest that had not ended is the one as a rule. Once a
 * queue, with its lock held; no text where memory ran out.
 */
static void blame(const usm_cuda_event *first)
{
    enum { SIZE = 480 };
    usm_queue *queue = first->event.queue;
    usm_cuda_queue *native = usm_cuda_queue_of(queue);
    CUresult code = (CUresult)first->lost;
    const char *names[2] = {NULL, NULL};
    int n = 0;
    if (native->blame != NULL || (native->blame = malloc(SIZE)) == NULL) {
        return;
    }
    for (const usm_event *at = &first->event; at != NULL && n < 2; at = at->following) {
        const usm_cuda_event *event = (const usm_cuda_event *)at;
        if (event->kernel != NULL && event->lane == first->lane) {
            names[n++] = event->kernel->name;
        }
    }
    if (n == 0) {
        snprintf(native->blame, SIZE,
                 "work of another queue, or of another library, ended with %s (%d) on %s",
                 usm_cuda_name(code), (int)code, queue->device->info.name);
    } else {
        snprintf(native->blame, SIZE, "%s (%d) on %s: the kernel %.100s%s%.100s was running or about to",
                 usm_cuda_name(code), (int)code, queue->device->info.name, names[0],
                 n > 1 ? ", or behind it " : "", n > 1 ? names[1] : "");
    }
}

/* As its lane was seen last. Queue lock held. */
static bool has_ended(usm_event *base)
{
    usm_cuda_event *event = event_of(base);
    if (!usm_cuda_lane_ended(event->lane, number_of(event))) {
        return false;
    }
    if (event->lane->latest == event) {
        event->lane->latest = NULL;
    }
    event->lost = atomic_load_explicit(&usm_cuda_device_of(base->queue->device)->lost, memory_order_acquire);
    if (USM_UNLIKELY(event->lost != 0)) {
        blame(event);
    }
    return true;
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

usm_status usm_cuda_event_result(usm_event *base, usm_error *error)
{
    usm_cuda_event *event = event_of(base);
    bool inherits = atomic_load_explicit(&base->cause, memory_order_acquire) != NULL;
    if (base->profiled) {
        if (event->lost == 0 && event->end != NULL) {
            read_times(event);
        } else {
            base->start_ns = base->end_ns = usm_clock_ns();
        }
    }
    if (inherits) {
        return USM_OK;
    }
    if (USM_UNLIKELY(event->lost != 0)) {
        const char *text = usm_cuda_queue_of(base->queue)->blame;
        return usm_error_driver(
            error, USM_DRIVER, "cuda", event->lost, usm_cuda_name((CUresult)event->lost),
            "%s; the context is lost, and nothing can be done there until this process is started anew",
            text != NULL ? text : usm_cuda_name((CUresult)event->lost));
    }
    if (event->landing != NULL && !event->landed) {
        const usm_command *command = &event->later.command;
        memcpy(command->as.copy.dst, event->landing->data, command->as.copy.nbytes);
    }
    return USM_OK;
}

/* What has no fence gets one, so that a queue that is never empty comes to an end of something. */
static void fence_lanes(const usm_queue *queue, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        usm_cuda_lane *lane = &usm_cuda_queue_of(queue)->lanes[i];
        if (!atomic_load_explicit(&lane->eager, memory_order_relaxed) && !usm_cuda_lane_is_fenced(lane)) {
            usm_cuda_note(
                queue->device,
                usm_cuda_lane_fence(lane, atomic_load_explicit(&lane->submitted, memory_order_acquire)));
        }
    }
}

bool usm_cuda_queue_poll(usm_queue *queue)
{
    usm_cuda_queue *native = usm_cuda_queue_of(queue);
    if (usm_cuda_forked()) {
        return false;
    }
    unsigned n = atomic_load_explicit(&native->n_lanes, memory_order_acquire);
    for (unsigned i = 0; i < n; i++) {
        usm_cuda_lane_settle(&native->lanes[i]);
    }
    bool more = usm_completion_end(queue, NULL, has_ended).more;
    if (more) {
        fence_lanes(queue, n);
    }
    return more;
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

void usm_cuda_event_wait(usm_event *base, int64_t budget_ns)
{
    usm_cuda_event *event = event_of(base);
    uint64_t number = number_of(event);
    if (number == 0 || usm_cuda_forked() || budget_ns < YIELD_NS) {
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
        until = until != 0 ? until : now + (budget_ns < JOIN_NS ? budget_ns : JOIN_NS);
        if (now >= until) {
            return;
        }
        sched_yield();
    }
    (void)usm_completion_end(base->queue, NULL, has_ended);
}

void usm_cuda_event_watch(usm_event *base)
{
    usm_cuda_event *event = event_of(base);
    if (!usm_cuda_forked()) {
        (void)usm_cuda_lane_fence(event->lane, number_of(event));
    }
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
    if (event->kernel != NULL) {
        usm_kernel_release(event->kernel);
    }
    if (event->landing != NULL && !usm_cuda_forked()) {
        usm_cuda_pinned_put(event->landing);
    }
    free_native(event);
}
