/*
 * Queues. A task whose dependencies the driver knows is enqueued in its submission, behind them; one that
 * waits for something else (the host, another driver, a task not yet enqueued) is enqueued when that has
 * ended. A queue in order is one stream; one out of order spreads its tasks over a few.
 */
#include "cuda_backend.h"

#include "core/base/heap.h"
#include "core/copy/copy.h"

#include <stdlib.h>

/* An event of a new stream, and when it was by our clock: as near as calls can be. */
static CUresult start_clock(usm_cuda_queue *native)
{
    enum { TRIES = 3, PATIENCE_NS = 50000000 };
    int64_t shortest = INT64_MAX;
    CUresult code = usm_cuda_timer(&native->base);
    for (int i = 0; i < TRIES && code == CUDA_SUCCESS; i++) {
        int64_t before = usm_clock_ns(), after = before;
        code = usm_cuda.cuEventRecord(native->base, native->lanes[0].stream);
        CUresult answer = CUDA_ERROR_NOT_READY;
        while (code == CUDA_SUCCESS && answer == CUDA_ERROR_NOT_READY && after - before < PATIENCE_NS) {
            answer = usm_cuda.cuEventQuery(native->base);
            after = usm_clock_ns();
        }
        shortest = after - before < shortest ? after - before : shortest;
        native->base_ns = before + (after - before) / 2; /* of the last record, which is what counts */
        if (i > 0 && after - before <= shortest) {
            break;
        }
    }
    return code;
}

/* What a stream of another library is like. */
static void adopt(usm_queue *queue, usm_cuda_queue *native)
{
    int priority = 0, least = 0, greatest = 0;
    native->per_thread = queue->foreign == USM_STREAM_PER_THREAD;
    native->thread = pthread_self();
    if (queue->foreign != USM_STREAM_PER_THREAD && queue->foreign != USM_STREAM_LEGACY &&
        queue->foreign != USM_STREAM_ALL &&
        usm_cuda.cuStreamGetPriority(queue->foreign, &priority) == CUDA_SUCCESS &&
        usm_cuda.cuCtxGetStreamPriorityRange(&least, &greatest) == CUDA_SUCCESS && priority < 0 &&
        greatest < 0) {
        queue->priority = USM_PRIORITY_HIGH;
    }
}

usm_status usm_cuda_queue_create(usm_queue *queue, usm_error *error)
{
    usm_cuda_scope scope;
    if (usm_cuda_forked()) {
        return usm_cuda_after_fork(error);
    }
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
    status = usm_cuda_lane_open(queue, &native->lanes[0], queue->foreign, error);
    if (status == USM_OK) {
        atomic_store(&native->n_lanes, 1);
        CUresult code = queue->profiling ? start_clock(native) : CUDA_SUCCESS;
        if (code != CUDA_SUCCESS) {
            status = usm_cuda_failed_on(queue->device, error, code, "cuEventRecord");
            usm_cuda_lane_close(&native->lanes[0]);
            if (native->base != NULL) {
                (void)usm_cuda.cuEventDestroy(native->base);
            }
        }
    }
    usm_cuda_leave(&scope);
    if (status != USM_OK) {
        free(native);
        return status;
    }
    /* Several, so that one stuck task does not stop the others of an out-of-order queue. */
    usm_worker_init(&native->worker, queue->in_order ? 1 : USM_CUDA_LANES, NULL, NULL);
    native->owner = queue;
    queue->native = native;
    return USM_OK;
}

void usm_cuda_queue_destroy(usm_queue *queue)
{
    usm_cuda_queue *native = usm_cuda_queue_of(queue);
    usm_cuda_unwatch(native);
    usm_cuda_captures_free(native);
    for (unsigned i = 0; i < atomic_load(&native->n_lanes); i++) {
        usm_cuda_lane_close(&native->lanes[i]);
    }
    usm_cuda_scope scope;
    if (native->base != NULL && !usm_cuda_forked() && !usm_cuda_is_lost(queue->device) &&
        usm_cuda_enter(queue->device, &scope, NULL) == USM_OK) {
        (void)usm_cuda.cuEventDestroy(native->base);
        usm_cuda_leave(&scope);
    }
    usm_worker_drop(&native->worker);
}

static uint64_t number_of(const usm_event *event)
{
    return atomic_load_explicit(&((usm_cuda_event *)event)->number, memory_order_acquire);
}

/* A task that moves what the driver brought, once it is seen to have ended. */
static bool lands(const usm_event *event)
{
    const usm_cuda_event *task = (const usm_cuda_event *)event;
    return task->landing != NULL && !task->landed;
}

/*
 * Can a stream be made to wait for all links? `host`: the command touches memory that small copies to the
 * host write. `reads_now`: its source is read before the driver has it.
 */
static bool is_known(const usm_event *event, bool host, bool reads_now)
{
    for (size_t i = 0; i < event->n_links; i++) {
        const usm_link *link = &event->links[i];
        if (usm_event_ended(link->event)) {
            if (usm_event_get_state(link->event) == USM_EVENT_ERROR && link->data) {
                return false; /* arming it inherits the failure */
            }
            continue;
        }
        if (link->event->queue->backend != event->queue->backend || number_of(link->event) == 0 ||
            (reads_now && link->data) || (host && lands(link->event))) {
            return false;
        }
    }
    return true;
}

static CUresult follow_links(const usm_event *event, const usm_cuda_lane *lane)
{
    CUresult code = CUDA_SUCCESS;
    if (lane->stream == (CUstream)USM_STREAM_ALL) {
        return code; /* they are among what is looked at, or end it later (usm_event_arm) */
    }
    for (size_t i = 0; i < event->n_links && code == CUDA_SUCCESS; i++) {
        const usm_cuda_event *other = (usm_cuda_event *)event->links[i].event;
        if (event->links[i].event->queue->backend != event->queue->backend) {
            continue; /* it has ended */
        }
        uint64_t number = number_of(&other->event);
        if (number != 0 && other->lane != lane && !usm_event_ended(&other->event)) {
            code = usm_cuda_lane_follow(lane->stream, other->lane, number);
        }
    }
    return code;
}

static bool lane_is_idle(const usm_cuda_lane *lane)
{
    return usm_cuda_lane_ended(
        lane, atomic_load_explicit(&((usm_cuda_lane *)lane)->submitted, memory_order_relaxed));
}

/*
 * Out of order: behind the task that it waits for, else a lane without work, a new one, or the next. Points
 * in the order of a shared queue are in the stream that others know. Queue lock held.
 */
static usm_status choose_lane(usm_cuda_event *event, const usm_command *command, usm_cuda_lane **out,
                              usm_error *error)
{
    usm_queue *queue = event->event.queue;
    usm_cuda_queue *native = usm_cuda_queue_of(queue);
    unsigned n = atomic_load_explicit(&native->n_lanes, memory_order_relaxed);
    *out = &native->lanes[0];
    if (queue->in_order || (usm_cuda_is_point(command) && usm_queue_is_shared(queue)) ||
        queue->foreign != NULL) {
        return USM_OK;
    }
    for (size_t i = 0; i < event->event.n_links; i++) {
        const usm_event *other = event->event.links[i].event;
        if (other->queue == queue && number_of(other) != 0 &&
            atomic_load_explicit(&((usm_cuda_event *)other)->lane->submitted, memory_order_relaxed) ==
                number_of(other)) {
            *out = ((usm_cuda_event *)other)->lane;
            return USM_OK;
        }
    }
    for (unsigned i = 0; i < n; i++) {
        if (lane_is_idle(&native->lanes[i])) {
            *out = &native->lanes[i];
            return USM_OK;
        }
    }
    if (n < USM_CUDA_LANES) {
        usm_status status = usm_cuda_lane_open(queue, &native->lanes[n], NULL, error);
        if (status == USM_OK) {
            *out = &native->lanes[n];
            atomic_store_explicit(&native->n_lanes, n + 1, memory_order_release);
        }
        return status;
    }
    *out = &native->lanes[native->next_lane++ % n];
    return USM_OK;
}

static CUresult record_timer(CUevent *timer, const usm_cuda_lane *lane)
{
    CUresult code = *timer == NULL ? usm_cuda_timer(timer) : CUDA_SUCCESS;
    return code == CUDA_SUCCESS ? usm_cuda.cuEventRecord(*timer, lane->stream) : code;
}

/*
 * The end of the lane's last task is wanted for itself where somebody holds its Event: then it must not be
 * mixed with what comes now. Queue lock held.
 */
static CUresult close_latest(usm_cuda_lane *lane)
{
    const usm_cuda_event *latest = lane->latest;
    if (latest == NULL ||
        !atomic_load_explicit(&((usm_cuda_event *)latest)->event.held, memory_order_relaxed)) {
        return CUDA_SUCCESS;
    }
    uint64_t number = number_of(&latest->event);
    return atomic_load_explicit(&lane->fenced, memory_order_relaxed) >= number
               ? CUDA_SUCCESS
               : usm_cuda_lane_fence_here(lane, number);
}

/* All links are known to the driver, or have ended. Queue lock held, the context current. */
static usm_status enqueue_now(usm_cuda_event *event, const usm_command *command, bool staged,
                              usm_error *error)
{
    usm_event *base = &event->event;
    usm_cuda_lane *lane;
    usm_status status = choose_lane(event, command, &lane, error);
    if (status != USM_OK) {
        return status;
    }
    CUresult code = close_latest(lane);
    if (code == CUDA_SUCCESS && base->n_links > 0) {
        code = follow_links(base, lane);
    }
    if (code == CUDA_SUCCESS && base->profiled) {
        code = record_timer(&event->start, lane);
    }
    if (code != CUDA_SUCCESS) {
        return usm_cuda_failed_on(base->queue->device, error, code, "cuEventRecord");
    }
    status = staged ? usm_cuda_copy_small(event, lane, command, error)
                    : usm_cuda_enqueue(event, lane->stream, command, error);
    if (status != USM_OK) {
        return status;
    }
    if (base->profiled) {
        (void)record_timer(&event->end, lane);
    }
    uint64_t number = atomic_load_explicit(&lane->submitted, memory_order_relaxed) + 1;
    event->lane = lane;
    event->point = usm_cuda_is_point(command);
    lane->latest = event;
    /* In this order: who knows the task's number finds it submitted. */
    atomic_store_explicit(&lane->submitted, number, memory_order_release);
    atomic_store_explicit(&event->number, number, memory_order_release);
    if (USM_UNLIKELY(atomic_load_explicit(&lane->eager, memory_order_relaxed))) {
        usm_cuda_note(base->queue->device, usm_cuda_lane_fence_here(lane, number));
    }
    usm_cuda_watch(usm_cuda_queue_of(base->queue));
    return USM_OK;
}

static void fail(usm_event *event, usm_error *error)
{
    usm_failure *failure = usm_failure_from_error(error);
    usm_error_clear(error);
    usm_event_finish(event, failure != NULL ? failure : usm_failure_no_memory());
}

/*
 * The task is in the driver: those behind it that wait for nothing else outside of it need not wait for its
 * end. Queue lock held.
 */
static void enqueue_followers(usm_cuda_event *event)
{
    usm_error error;
    bool pageable = usm_cuda_device_of(event->event.queue->device)->has_pageable;
    for (usm_event *base = event->event.following; base != NULL; base = base->following) {
        usm_cuda_event *next = (usm_cuda_event *)base;
        if (!next->late) {
            continue;
        }
        if (is_known(base, pageable, false)) {
            next->late = false;
            next->early = true;
            if (enqueue_now(next, &next->command, false, &error) == USM_OK) {
                continue;
            }
            usm_error_clear(&error);
            next->late = true; /* it is tried again when its links have ended */
            next->early = false;
        }
        if (event->event.queue->in_order) {
            return;
        }
    }
}

/* Queue lock held. */
static usm_status enqueue_late_now(usm_cuda_event *event, usm_error *error)
{
    usm_queue *queue = event->event.queue;
    usm_cuda_scope scope;
    if (usm_cuda_is_lost(queue->device)) {
        return usm_cuda_lost(queue->device, error);
    }
    usm_status status = usm_cuda_enter(queue->device, &scope, error);
    if (status != USM_OK) {
        return status;
    }
    const usm_cuda_lane *lane = &usm_cuda_queue_of(queue)->lanes[0];
    bool eager = atomic_load_explicit(&lane->eager, memory_order_relaxed);
    if (eager && usm_cuda_is_capturing(lane->stream)) {
        status = usm_error_set(
            error, USM_BUFFER,
            "this work waited for the host, and the queue's stream was being captured into a graph "
            "when it could begin");
    } else {
        event->late = false;
        status = enqueue_now(event, &event->command, false, error);
        if (status == USM_OK && !eager) {
            enqueue_followers(event);
        }
    }
    usm_cuda_leave(&scope);
    return status;
}

/* All links have ended. No lock held. */
static void enqueue_late(usm_event *base)
{
    usm_cuda_event *event = (usm_cuda_event *)base;
    usm_queue *queue =
        usm_queue_retain(base->queue); /* from a successful enqueue on, the event may be gone */
    usm_status status = USM_OK;
    usm_error error;
    error.failure = NULL;
    usm_lock_take(&queue->lock);
    bool early = event->early;
    bool runs = !early && atomic_load_explicit(&base->cause, memory_order_acquire) == NULL;
    if (runs) {
        status = enqueue_late_now(event, &error);
    }
    usm_lock_give(&queue->lock);
    if (early) {
        usm_cuda_end_early(event);
    } else if (!runs) {
        usm_event_finish(base, NULL);
    } else if (status != USM_OK) {
        fail(base, &error);
    }
    usm_queue_release(queue);
}

static void run_on_host(usm_work *work)
{
    usm_cuda_event *event = (usm_cuda_event *)((char *)work - offsetof(usm_cuda_event, work));
    usm_event *base = &event->event;
    usm_error error;
    usm_status status = USM_OK;
    error.failure = NULL;
    base->start_ns = base->profiled || base->traced ? usm_clock_ns() : 0;
    if (atomic_load_explicit(&base->cause, memory_order_acquire) == NULL) {
        atomic_store_explicit(&base->state, USM_EVENT_RUNNING, memory_order_release);
        if (event->command.kind != USM_COMMAND_HOST) {
            status = usm_cuda_run_on_host(event, &error);
        } else {
            usm_event_set_current(base);
            status = event->command.as.host.run(event->command.as.host.argument, &error);
            usm_event_set_current(NULL);
        }
    }
    base->end_ns = base->profiled || base->traced ? usm_clock_ns() : 0;
    if (status == USM_OK) {
        usm_event_finish(base, NULL);
    } else {
        fail(base, &error);
    }
}

static void host_ready(usm_event *base)
{
    usm_worker_put(&usm_cuda_queue_of(base->queue)->worker, &((usm_cuda_event *)base)->work);
}

static usm_status submit_to_host(usm_cuda_event *event, const usm_command *command, usm_error *error)
{
    event->command = *command;
    event->work.run = run_on_host;
    usm_status status = usm_worker_announce(&usm_cuda_queue_of(event->event.queue)->worker, "cuda", error);
    if (status == USM_OK && usm_event_arm(&event->event, host_ready)) {
        host_ready(&event->event);
    }
    return status;
}

static usm_status waits_for_host(usm_error *error)
{
    return usm_error_set(
        error, USM_VALUE,
        "the work waits for the host, and the per-thread default stream takes work from its own thread "
        "alone: wait for it first, or use another queue");
}

/* For an enqueue that comes later. */
static usm_status submit_late(usm_cuda_event *event, const usm_command *command, usm_error *error)
{
    bool enough = true;
    event->command = *command;
    if (usm_cuda_queue_of(event->event.queue)->per_thread) {
        return waits_for_host(error);
    }
    if (command->kind == USM_COMMAND_STRIDED) {
        event->strided = usm_strided_clone(command->as.strided);
        event->command.as.strided = event->strided;
        enough = event->strided != NULL;
    } else if (command->kind == USM_COMMAND_LAUNCH) {
        event->launch = usm_launch_clone(command->as.launch);
        event->command.as.launch = event->launch;
        enough = event->launch != NULL;
    }
    if (!enough) {
        return usm_error_memory(error, sizeof(usm_strided), "a task that is enqueued later");
    }
    event->late = true;
    if (usm_event_arm(&event->event, enqueue_late)) {
        event->late = false;
        /* Everything has ended meanwhile; the queue's lock, which enqueue_late takes, is held here. */
        if (atomic_load_explicit(&event->event.cause, memory_order_acquire) == NULL) {
            return enqueue_now(event, &event->command, false, error);
        }
        event->work.run = run_on_host; /* it ends without having run, where no lock is held */
        event->command.kind = USM_COMMAND_HOST;
        usm_status status =
            usm_worker_announce(&usm_cuda_queue_of(event->event.queue)->worker, "cuda", error);
        if (status == USM_OK) {
            host_ready(&event->event);
        }
        return status;
    }
    return USM_OK;
}

static usm_status submit(usm_cuda_event *event, const usm_command *command, usm_error *error)
{
    usm_event *base = &event->event;
    usm_cuda_staging staging = usm_cuda_staging_of(base, command);
    bool staged = staging != USM_CUDA_DIRECT, reads_now = staging == USM_CUDA_FROM_HOST;
    bool known = base->n_links == 0 ||
                 is_known(base, staged || usm_cuda_device_of(base->queue->device)->has_pageable, reads_now);
    bool in_driver = staging != USM_CUDA_BETWEEN_HOST && known && usm_cuda_is_small(command);
    if (staged && !in_driver) {
        return submit_to_host(event, command, error);
    }
    return known ? enqueue_now(event, command, staged, error) : submit_late(event, command, error);
}

/* The default stream of a thread is that thread's own: nobody else can enqueue there, now or later. */
usm_status usm_cuda_queue_admit(usm_queue *queue, const usm_wait *waits, size_t n_waits, usm_error *error)
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
        bool known = event->queue->backend == queue->backend && number_of(event) != 0;
        if (!known && !usm_event_ended(event)) {
            return waits_for_host(error);
        }
    }
    return USM_OK;
}

/* The stream is known to others: it may be captured. */
static usm_status submit_shared(usm_cuda_event *event, const usm_command *command, usm_error *error)
{
    usm_cuda_queue *native = usm_cuda_queue_of(event->event.queue);
    return usm_cuda_is_capturing(native->lanes[0].stream)
               ? usm_cuda_capture(event, &native->lanes[0], command, error)
               : submit(event, command, error);
}

usm_status usm_cuda_queue_submit(usm_queue *queue, usm_event *base, const usm_command *command,
                                 usm_error *error)
{
    usm_cuda_event *event = (usm_cuda_event *)base;
    bool eager = atomic_load_explicit(&usm_cuda_queue_of(queue)->lanes[0].eager, memory_order_relaxed);
    usm_cuda_scope scope;
    if (usm_cuda_forked()) {
        return usm_cuda_after_fork(error);
    }
    if (usm_cuda_is_lost(queue->device)) {
        return usm_cuda_lost(queue->device, error);
    }
    if (command->kind == USM_COMMAND_HOST && !eager) {
        return submit_to_host(event, command, error);
    }
    usm_status status = usm_cuda_enter(queue->device, &scope, error);
    if (status != USM_OK) {
        return status;
    }
    status = USM_UNLIKELY(eager) ? submit_shared(event, command, error) : submit(event, command, error);
    usm_cuda_leave(&scope);
    return status;
}

/* Nothing has to be waited for: a point in the order has been reached. */
bool usm_cuda_queue_run_now(usm_queue *queue, const usm_command *command, int64_t *start_ns, int64_t *end_ns)
{
    if (!usm_cuda_is_point(command) || usm_cuda_forked() || usm_cuda_is_lost(queue->device) ||
        usm_queue_is_shared(queue)) {
        return false;
    }
    *start_ns = *end_ns = queue->profiling ? usm_clock_ns() : 0;
    return true;
}

void usm_cuda_queue_fork(usm_queue *queue, usm_fork_phase phase)
{
    usm_worker_fork(&usm_cuda_queue_of(queue)->worker, phase);
}
