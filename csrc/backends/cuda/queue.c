/*
 * Queues. A task whose dependencies the driver knows is enqueued in its submission, and its stream waits
 * for theirs. One that depends on something else (the host, another driver, a task not yet enqueued) is
 * enqueued when that has ended: USM_LATER. A queue in order is one stream; one out of order spreads its
 * tasks over a few.
 */
#include "cuda_backend.h"

#include "core/base/heap.h"
#include "cpu/cpu.h"

#include <stdlib.h>

/* Notes the priority of a foreign stream, and, of the per-thread default stream, the thread. */
static void adopt(usm_queue *queue, usm_cuda_queue *native)
{
    int priority = 0, least = 0, greatest = 0;
    native->per_thread = queue->foreign == USM_STREAM_PER_THREAD;
    native->thread = pthread_self();
    if (queue->foreign != USM_STREAM_PER_THREAD && queue->foreign != USM_STREAM_LEGACY &&
        usm_cuda.cuStreamGetPriority(queue->foreign, &priority) == CUDA_SUCCESS &&
        usm_cuda.cuCtxGetStreamPriorityRange(&least, &greatest) == CUDA_SUCCESS && priority < 0 &&
        greatest < 0) {
        queue->priority = USM_PRIORITY_HIGH;
    }
}

/* Relaxed capture mode: making a stream is not allowed to a thread during a capture in the global mode. */
usm_status usm_cuda_queue_create(usm_queue *queue, usm_error *error)
{
    usm_cuda_scope scope;
    if (usm_cuda_is_lost(queue->device)) {
        return usm_cuda_lost(queue->device, error);
    }
    usm_cuda_queue *native = usm_calloc(1, sizeof *native);
    if (native == NULL) {
        return usm_error_memory(error, sizeof *native, "a queue");
    }
    usm_status status = usm_cuda_enter(queue->device, &scope, error);
    if (status != USM_OK) {
        free(native);
        return status;
    }
    usm_cuda_relax(&scope);
    if (queue->foreign != NULL) {
        adopt(queue, native);
    }
    queue->native = native;
    status = usm_cuda_timeline_open(queue, &native->timelines[0], queue->foreign, error);
    atomic_store(&native->n_timelines, status == USM_OK);
    if (status == USM_OK && queue->profiling) {
        CUresult code = usm_cuda_start_clock(native);
        status =
            code == CUDA_SUCCESS ? USM_OK : usm_cuda_failed_on(queue->device, error, code, "cuEventRecord");
    }
    usm_cuda_leave(&scope);
    if (status != USM_OK) {
        usm_cuda_queue_destroy(queue);
        queue->native = NULL;
    }
    return status;
}

void usm_cuda_queue_destroy(usm_queue *queue)
{
    usm_cuda_queue *native = usm_cuda_queue_of(queue);
    usm_cuda_captures_free(native);
    for (unsigned i = 0; i < atomic_load(&native->n_timelines); i++) {
        usm_cuda_timeline_close(&native->timelines[i]);
    }
    usm_cuda_scope scope;
    if (native->base != NULL && usm_cuda_enter_to_give_back(queue->device, &scope)) {
        USM_CUDA_GIVE_BACK(queue->device, cuEventDestroy, native->base);
        usm_cuda_leave(&scope);
    }
    free(native->suspect_kernel);
    free(native);
}

/*
 * A small copy to pageable memory, whose data is moved there by the host once the task is seen to have ended.
 */
static bool lands(const usm_event *event)
{
    const usm_cuda_event *task = (const usm_cuda_event *)event;
    return task->landing != NULL && !task->landed;
}

/*
 * Can a stream be made to wait for all links? `host`: the command touches pageable memory, to which small
 * copies are moved at their end. `reads_now`: its source is read before the driver has the command.
 */
static bool is_known(const usm_event *event, bool host, bool reads_now)
{
    for (size_t i = 0; i < event->n_links; i++) {
        const usm_link *link = &event->links[i];
        usm_link_state state = usm_link_look(event, link);
        if (state == USM_LINK_ELSEWHERE ||
            (state == USM_LINK_IN_DRIVER && ((reads_now && link->data) || (host && lands(link->event))))) {
            return false;
        }
    }
    return true;
}

/*
 * Links in the same timeline are in order already. cuStreamWaitEvent lets the device wait, not this thread.
 */
static CUresult follow_links(const usm_event *event, const usm_cuda_timeline *timeline)
{
    CUresult code = CUDA_SUCCESS;
    for (size_t i = 0; i < event->n_links && code == CUDA_SUCCESS; i++) {
        const usm_cuda_event *other = (usm_cuda_event *)event->links[i].event;
        if (event->links[i].event->queue->backend != event->queue->backend) {
            continue; /* it has ended */
        }
        uint64_t number = usm_cuda_number_of(&other->event);
        if (number != 0 && other->timeline != timeline && !usm_event_ended(&other->event)) {
            code = usm_cuda_timeline_follow(timeline->stream, other->timeline, number);
        }
    }
    return code;
}

/*
 * Chooses the stream of a task of an out-of-order queue: that of the task that it waits for, else one without
 * work, a new one, or the next. Points in the order of a shared queue go to the stream that others know.
 * Queue lock held.
 */
static usm_status choose_timeline(usm_cuda_event *event, const usm_command *command, usm_cuda_timeline **out,
                                  usm_error *error)
{
    usm_queue *queue = event->event.queue;
    usm_cuda_queue *native = usm_cuda_queue_of(queue);
    unsigned n = atomic_load_explicit(&native->n_timelines, memory_order_relaxed);
    *out = &native->timelines[0];
    if (queue->in_order || (usm_command_is_point(command) && usm_queue_is_shared(queue)) ||
        queue->foreign != NULL) {
        return USM_OK;
    }
    for (size_t i = 0; i < event->event.n_links; i++) {
        const usm_event *other = event->event.links[i].event;
        if (other->queue == queue && usm_cuda_number_of(other) != 0 &&
            atomic_load_explicit(&((usm_cuda_event *)other)->timeline->submitted, memory_order_relaxed) ==
                usm_cuda_number_of(other)) {
            *out = ((usm_cuda_event *)other)->timeline;
            return USM_OK;
        }
    }
    for (unsigned i = 0; i < n; i++) {
        if (usm_cuda_timeline_is_idle(&native->timelines[i])) {
            *out = &native->timelines[i];
            return USM_OK;
        }
    }
    if (n < USM_CUDA_TIMELINES) {
        usm_status status = usm_cuda_timeline_open(queue, &native->timelines[n], NULL, error);
        if (status == USM_OK) {
            *out = &native->timelines[n];
            atomic_store_explicit(&native->n_timelines, n + 1, memory_order_release);
        }
        return status;
    }
    *out = &native->timelines[native->next_timeline++ % n];
    return USM_OK;
}

/*
 * Where the Event of the timeline's last task is held, someone may ask when it ends: it gets a fence of its
 * own before the next task is enqueued. Queue lock held.
 */
static CUresult close_latest(usm_cuda_timeline *timeline)
{
    const usm_cuda_event *latest = timeline->latest;
    if (latest == NULL ||
        !atomic_load_explicit(&((usm_cuda_event *)latest)->event.has_python_object, memory_order_relaxed)) {
        return CUDA_SUCCESS;
    }
    return usm_cuda_timeline_fence(timeline, usm_cuda_number_of(&latest->event));
}

/* All links are known to the driver, or have ended. Queue lock held, the context current. */
static usm_status enqueue_now(usm_cuda_event *event, const usm_command *command, bool staged,
                              usm_error *error)
{
    usm_event *base = &event->event;
    usm_cuda_timeline *timeline;
    usm_status status = choose_timeline(event, command, &timeline, error);
    if (status != USM_OK) {
        return status;
    }
    CUresult code = close_latest(timeline);
    if (code == CUDA_SUCCESS && base->n_links > 0) {
        code = follow_links(base, timeline);
    }
    if (code == CUDA_SUCCESS && base->profiled) {
        base->start_ns = usm_clock_ns(); /* until it has ended: it begins no earlier */
        code = usm_cuda_record_timer(&event->start, timeline);
    }
    if (code != CUDA_SUCCESS) {
        return usm_cuda_failed_on(base->queue->device, error, code, "cuEventRecord");
    }
    status = staged ? usm_cuda_copy_small(event, timeline, command, error)
                    : usm_cuda_enqueue(event, timeline->stream, command, error);
    if (status != USM_OK) {
        return status;
    }
    if (base->profiled) {
        (void)usm_cuda_record_timer(&event->end, timeline);
    }
    uint64_t number = atomic_load_explicit(&timeline->submitted, memory_order_relaxed) + 1;
    event->timeline = timeline;
    timeline->latest = event;
    /* In this order: a thread that reads the task's number finds it submitted. */
    atomic_store_explicit(&timeline->submitted, number, memory_order_release);
    atomic_store_explicit(&event->number, number, memory_order_release);
    atomic_store_explicit(&usm_cuda_queue_of(base->queue)->waits, false, memory_order_relaxed);
    if (USM_UNLIKELY(atomic_load_explicit(&timeline->eager, memory_order_relaxed))) {
        usm_cuda_note(base->queue->device, usm_cuda_timeline_fence(timeline, number));
    }
    return USM_OK;
}

/* What `admit` refuses; also a deferred task, which another thread would have to enqueue. */
static usm_status waits_for_host(usm_error *error)
{
    return usm_error_set(
        error, USM_VALUE,
        "the work waits for the host, and the per-thread default stream takes work from its own thread "
        "alone: wait for it first, or use another queue");
}

/*
 * Direct, or staged through pinned memory: in the stream where it is small, all it depends on is in the
 * driver, and a piece of pinned memory is spare; else on a thread of the queue, which may wait for new ones.
 */
static usm_status submit(usm_cuda_event *event, const usm_command *command, usm_error *error)
{
    usm_event *base = &event->event;
    if (command->kind == USM_COMMAND_HOST) {
        return USM_ON_HOST;
    }
    usm_cuda_staging staging = usm_cuda_staging_of(base, command);
    bool staged = staging != USM_CUDA_DIRECT, reads_now = staging == USM_CUDA_FROM_HOST;
    bool known = base->n_links == 0 ||
                 is_known(base, staged || usm_cuda_device_of(base->queue->device)->has_pageable, reads_now);
    if (staged && staging != USM_CUDA_BETWEEN_HOST && known && usm_cuda_is_small(command)) {
        event->landing = usm_cuda_pinned_spare(false); /* given back with the event */
    }
    if (staged && event->landing == NULL) {
        return USM_ON_HOST;
    }
    if (known) {
        return enqueue_now(event, command, staged, error);
    }
    return usm_cuda_queue_of(base->queue)->per_thread ? waits_for_host(error) : USM_LATER;
}

usm_status usm_cuda_queue_run(usm_event *event, const usm_command *command, usm_error *error)
{
    if (command->kind == USM_COMMAND_FILL) {
        usm_cpu_block(command, 1);
        return USM_OK;
    }
    return usm_cuda_copy_on_host(event, command, error);
}

/* Work can be enqueued in the per-thread default stream by its own thread alone, now or later. */
usm_status usm_cuda_native_admit(usm_queue *queue, const usm_wait *waits, size_t n_waits, usm_error *error)
{
    const usm_cuda_queue *native = usm_cuda_queue_of(queue);
    if (!native->per_thread) {
        return USM_OK;
    }
    if (!pthread_equal(native->thread, pthread_self())) {
        return usm_error_set(
            error, USM_VALUE,
            "this queue is the default stream of another thread, which alone can enqueue there");
    }
    for (size_t i = 0; i < n_waits; i++) {
        const usm_event *event = waits[i].event;
        bool known = event->queue->backend == queue->backend && usm_cuda_number_of(event) != 0;
        if (!known && !usm_event_ended(event)) {
            return waits_for_host(error);
        }
    }
    return USM_OK;
}

/* Other libraries know the stream: they may be capturing it. */
static usm_status submit_shared(usm_cuda_event *event, const usm_command *command, usm_error *error)
{
    usm_cuda_queue *native = usm_cuda_queue_of(event->event.queue);
    if (usm_event_task_state(&event->event) == USM_TASK_DEFERRED) {
        return USM_LATER; /* it would become part of a capture that begins meanwhile */
    }
    if (!usm_cuda_is_capturing(native->timelines[0].stream)) {
        return submit(event, command, error);
    }
    if (usm_event_task_state(&event->event) == USM_TASK_RECORDED) {
        return usm_cuda_capture(event, &native->timelines[0], command, error);
    }
    return usm_error_set(
        error, USM_BUFFER,
        "this work waited for the host, and the queue's stream was being captured into a graph "
        "when it could begin");
}

/* A host task needs no context. A shared queue is one whose first timeline is eager. */
usm_status usm_cuda_queue_submit(usm_event *base, const usm_command *command, usm_error *error)
{
    usm_cuda_event *event = (usm_cuda_event *)base;
    const usm_queue *queue = base->queue;
    bool eager = atomic_load_explicit(&usm_cuda_queue_of(queue)->timelines[0].eager, memory_order_relaxed);
    usm_cuda_scope scope;
    if (usm_cuda_is_lost(queue->device)) {
        return usm_cuda_lost(queue->device, error);
    }
    if (command->kind == USM_COMMAND_HOST && !eager) {
        return USM_ON_HOST;
    }
    usm_status status = usm_cuda_enter(queue->device, &scope, error);
    if (status != USM_OK) {
        return status;
    }
    status = USM_UNLIKELY(eager) ? submit_shared(event, command, error) : submit(event, command, error);
    usm_cuda_leave(&scope);
    return status;
}

/*
 * Only points in the order, which have been reached, since nothing has to be waited for but by the driver for
 * another process (usm_cuda_share_wait). Memory of the device is not the host's.
 */
bool usm_cuda_queue_run_now(usm_queue *queue, const usm_command *command, int64_t *start_ns, int64_t *end_ns)
{
    if (!usm_command_is_point(command) || usm_cuda_is_lost(queue->device) || usm_queue_is_shared(queue) ||
        atomic_load(&usm_cuda_queue_of(queue)->waits)) {
        return false;
    }
    *start_ns = *end_ns = queue->profiling ? usm_clock_ns() : 0;
    return true;
}
