/*
 * How far tasks have come: the driver says how far a timeline has come, and the tasks up to there have ended
 * (core/tasks/watch.h).
 */
#include "cuda_backend.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * How long a thread polls the driver before it sleeps, in nanoseconds: waking it costs some tens
 * of microseconds.
 */
#define JOIN_NS 2000000

/*
 * CUDA reports a lost context, but not which kernel was at fault. As a rule it is the oldest that had
 * not ended, so its name is kept for the messages of this queue, once. Queue lock held; no text where
 * memory ran out.
 */
static void record_suspect_kernel(const usm_cuda_event *first)
{
    enum { SIZE = 480 };
    usm_queue *queue = first->event.queue;
    usm_cuda_queue *native = usm_cuda_queue_of(queue);
    CUresult code = (CUresult)first->lost;
    const char *names[2] = {NULL, NULL};
    int n = 0;
    if (native->suspect_kernel != NULL || (native->suspect_kernel = malloc(SIZE)) == NULL) {
        return;
    }
    for (const usm_event *at = &first->event; at != NULL && n < 2; at = at->following) {
        const usm_cuda_event *event = (const usm_cuda_event *)at;
        if (event->kernel != NULL && event->timeline == first->timeline) {
            names[n++] = event->kernel->name;
        }
    }
    if (n == 0) {
        snprintf(native->suspect_kernel, SIZE,
                 "work of another queue, or of another library, ended with %s (%d) on %s",
                 usm_cuda_name(code), (int)code, queue->device->info.name);
    } else {
        snprintf(native->suspect_kernel, SIZE,
                 "%s (%d) on %s: the kernel %.100s%s%.100s was running or about to", usm_cuda_name(code),
                 (int)code, queue->device->info.name, names[0], n > 1 ? ", or behind it " : "",
                 n > 1 ? names[1] : "");
    }
}

/*
 * Whether the driver has ended the task. It is asked only about the oldest task of a timeline of which that
 * was not seen: the others follow from what it says. A timeline without a pending fence gets one, so that a
 * queue that never becomes empty still shows how far it has come.
 */
static bool has_ended(usm_cuda_event *event)
{
    usm_cuda_timeline *timeline = event->timeline;
    uint64_t number = usm_cuda_number_of(&event->event);
    if (usm_cuda_timeline_ended(timeline, number)) {
        return true;
    }
    if (!usm_cuda_timeline_ended(timeline, number - 1)) {
        return false;
    }
    usm_cuda_timeline_settle(timeline);
    if (usm_cuda_timeline_ended(timeline, number)) {
        return true;
    }
    if (!atomic_load_explicit(&timeline->eager, memory_order_relaxed) &&
        atomic_load_explicit(&timeline->fenced, memory_order_acquire) <=
            atomic_load_explicit(&timeline->completed, memory_order_acquire)) {
        usm_cuda_note(event->event.queue->device,
                      usm_cuda_timeline_fence(
                          timeline, atomic_load_explicit(&timeline->submitted, memory_order_acquire)));
    }
    return false;
}

/*
 * Tasks of a timeline run one after another: this one has begun if the one before has ended. A task of a lost
 * context fails whatever the driver says. Data of a small copy to pageable memory is moved to its destination
 * here, once the task can no longer fail.
 */
usm_progress usm_cuda_event_poll(usm_event *base, usm_error *error)
{
    usm_cuda_event *event = (usm_cuda_event *)base;
    if (!has_ended(event)) {
        return usm_cuda_timeline_ended(event->timeline, usm_cuda_number_of(base) - 1) ? USM_PROGRESS_RUNNING
                                                                                      : USM_PROGRESS_PENDING;
    }
    if (event->timeline->latest == event) {
        event->timeline->latest = NULL;
    }
    event->lost = atomic_load_explicit(&usm_cuda_device_of(base->queue->device)->lost, memory_order_acquire);
    if (base->profiled) {
        if (event->lost == 0 && event->end != NULL) {
            usm_cuda_read_times(event);
        } else {
            base->start_ns = base->end_ns = usm_clock_ns();
        }
    }
    if (USM_UNLIKELY(event->lost != 0)) {
        record_suspect_kernel(event);
        const char *text = usm_cuda_queue_of(base->queue)->suspect_kernel;
        (void)usm_error_driver(
            error, USM_DRIVER, "cuda", event->lost, usm_cuda_name((CUresult)event->lost),
            "%s; the context is lost, and nothing can be done there until this process is started anew",
            text != NULL ? text : usm_cuda_name((CUresult)event->lost));
        return USM_PROGRESS_FAILED;
    }
    if (event->landing != NULL && !event->landed) {
        memcpy(base->command.as.copy.dst, event->landing->data, base->command.as.copy.nbytes);
    }
    return USM_PROGRESS_COMPLETE;
}

/*
 * Records the task's fence if it has none, and polls that. The loop yields, and reads the clock only after
 * the first look, which is enough for most tasks.
 */
void usm_cuda_event_wait(usm_event *base)
{
    usm_cuda_event *event = (usm_cuda_event *)base;
    uint64_t number = usm_cuda_number_of(base);
    if (number == 0) {
        return;
    }
    (void)usm_cuda_timeline_fence(event->timeline, number);
    int64_t until = 0;
    for (;;) {
        usm_cuda_timeline_poll(event->timeline);
        if (usm_cuda_timeline_ended(event->timeline, number)) {
            return;
        }
        int64_t now = usm_clock_ns();
        until = until != 0 ? until : now + JOIN_NS;
        if (now >= until) {
            return;
        }
        sched_yield();
    }
}

void usm_cuda_event_destroy(usm_event *base)
{
    usm_cuda_event *event = (usm_cuda_event *)base;
    usm_device *device = base->queue->device;
    usm_cuda_scope scope;
    if (event->kernel != NULL) {
        usm_kernel_release(event->kernel);
    }
    if (event->landing != NULL) {
        usm_cuda_pinned_put(event->landing);
    }
    if ((event->block == 0 && event->start == NULL && event->end == NULL) ||
        !usm_cuda_enter_to_give_back(device, &scope)) {
        return;
    }
    if (event->block != 0) {
        USM_CUDA_GIVE_BACK(device, cuMemFree, event->block);
    }
    if (event->start != NULL) {
        USM_CUDA_GIVE_BACK(device, cuEventDestroy, event->start);
    }
    if (event->end != NULL) {
        USM_CUDA_GIVE_BACK(device, cuEventDestroy, event->end);
    }
    usm_cuda_leave(&scope);
}
