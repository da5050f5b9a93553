/*
 * Timelines: streams of the driver with numbered tasks, and the fences that tell how far each has come. A
 * fence is an event without times, recorded behind the tasks up to its number. Fences are recorded when
 * someone needs one: most tasks never have their own.
 */
#include "cuda_backend.h"

#include "core/base/heap.h"

#include <stdlib.h>

/*
 * A fence from the timeline's own list, from the list that its device keeps of closed timelines, or a new
 * one: making an event costs more than recording it. The timeline's lock held, the context current.
 */
static CUresult take_fence(usm_cuda_timeline *timeline, usm_cuda_fence **out)
{
    usm_cuda_device *native = usm_cuda_device_of(timeline->device);
    usm_cuda_fence *fence = usm_freelist_pop(&timeline->spare);
    if (fence == NULL) {
        pthread_mutex_lock(&native->lock);
        fence = usm_freelist_pop(&native->fences);
        pthread_mutex_unlock(&native->lock);
    }
    if (fence == NULL) {
        fence = usm_calloc(1, sizeof *fence);
        CUresult code = fence == NULL ? CUDA_ERROR_OUT_OF_MEMORY
                                      : usm_cuda.cuEventCreate(&fence->id, CU_EVENT_DISABLE_TIMING);
        if (code != CUDA_SUCCESS) {
            free(fence);
            return code;
        }
    }
    *out = fence;
    return CUDA_SUCCESS;
}

/* Gives the fences of a timeline that is closed to its device. */
static void give_to_device(usm_cuda_timeline *timeline)
{
    usm_cuda_device *native = usm_cuda_device_of(timeline->device);
    for (usm_cuda_fence *fence = timeline->first, *next; fence != NULL; fence = next) {
        next = fence->next;
        usm_freelist_push(&timeline->spare, fence);
    }
    pthread_mutex_lock(&native->lock);
    usm_freelist_move(&native->fences, &timeline->spare);
    pthread_mutex_unlock(&native->lock);
}

/*
 * CU_STREAM_NON_BLOCKING: the stream does not synchronize with the legacy default stream. Priorities are a
 * range of integers in which lower numbers run first.
 */
usm_status usm_cuda_timeline_open(usm_queue *queue, usm_cuda_timeline *timeline, CUstream foreign,
                                  usm_error *error)
{
    int least = 0, greatest = 0;
    CUresult code = CUDA_SUCCESS;
    timeline->device = queue->device;
    timeline->stream = foreign;
    timeline->foreign = foreign != NULL;
    timeline->eager = foreign != NULL;
    if (foreign == NULL) {
        (void)usm_cuda.cuCtxGetStreamPriorityRange(&least, &greatest);
        int priority = queue->priority == USM_PRIORITY_HIGH  ? greatest
                       : queue->priority == USM_PRIORITY_LOW ? least
                                                             : 0;
        code = usm_cuda.cuStreamCreateWithPriority(&timeline->stream, CU_STREAM_NON_BLOCKING, priority);
    }
    if (code != CUDA_SUCCESS) {
        timeline->stream = NULL;
        return usm_cuda_failed_on(queue->device, error, code, "cuStreamCreateWithPriority");
    }
    return USM_OK;
}

/* Closes a timeline that has no work. No other thread uses it any more. */
void usm_cuda_timeline_close(usm_cuda_timeline *timeline)
{
    usm_cuda_scope scope;
    bool foreign = timeline->foreign;
    give_to_device(timeline);
    if (!foreign && usm_cuda_enter_to_give_back(timeline->device, &scope)) {
        USM_CUDA_GIVE_BACK(timeline->device, cuStreamDestroy, timeline->stream);
        usm_cuda_leave(&scope);
    }
}

/*
 * Records a fence behind all that is submitted now, in the device's context: what is current may be another
 * GPU's. The code of a lost context marks the device. The timeline's lock held.
 */
static CUresult record(usm_cuda_timeline *timeline)
{
    usm_cuda_fence *fence;
    usm_cuda_scope scope;
    uint64_t number = atomic_load_explicit(&timeline->submitted, memory_order_acquire);
    if (usm_cuda_enter(timeline->device, &scope, NULL) != USM_OK) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    CUresult code = take_fence(timeline, &fence);
    if (code == CUDA_SUCCESS) {
        code = usm_cuda.cuEventRecord(fence->id, timeline->stream);
        if (code != CUDA_SUCCESS) {
            usm_freelist_push(&timeline->spare, fence);
            usm_cuda_note(timeline->device, code);
        }
    }
    usm_cuda_leave(&scope);
    if (code != CUDA_SUCCESS) {
        return code;
    }
    fence->number = number;
    fence->next = NULL;
    *(timeline->last != NULL ? &timeline->last->next : &timeline->first) = fence;
    timeline->last = fence;
    atomic_store_explicit(&timeline->fenced, number, memory_order_release);
    return CUDA_SUCCESS;
}

/* No fence that is recorded covers the task, and it has not ended. */
static bool needs_fence(const usm_cuda_timeline *timeline, uint64_t number)
{
    return atomic_load_explicit(&((usm_cuda_timeline *)timeline)->fenced, memory_order_acquire) < number &&
           !usm_cuda_timeline_ended(timeline, number);
}

CUresult usm_cuda_timeline_fence(usm_cuda_timeline *timeline, uint64_t number)
{
    CUresult code = CUDA_SUCCESS;
    if (!needs_fence(timeline, number)) {
        return CUDA_SUCCESS;
    }
    usm_lock_take(&timeline->lock);
    if (needs_fence(timeline, number)) {
        code = record(timeline);
    }
    usm_lock_give(&timeline->lock);
    return code;
}

void usm_cuda_timeline_share(usm_cuda_timeline *timeline)
{
    /* Set before `submitted` is read: a submission either sees the flag, or is covered by this fence. */
    atomic_store(&timeline->eager, true);
    (void)usm_cuda_timeline_fence(timeline, atomic_load(&timeline->submitted));
}

/*
 * The lock is held from the search to the wait, so that no other thread takes the fence off the
 * list in between.
 */
CUresult usm_cuda_timeline_follow(CUstream stream, usm_cuda_timeline *timeline, uint64_t number)
{
    CUresult code = CUDA_SUCCESS;
    usm_lock_take(&timeline->lock);
    if (!usm_cuda_timeline_ended(timeline, number)) {
        if (atomic_load_explicit(&timeline->fenced, memory_order_relaxed) < number) {
            code = record(timeline);
        }
        usm_cuda_fence *fence = timeline->first;
        while (fence != NULL && fence->number < number) {
            fence = fence->next;
        }
        /*
         * The driver keeps the state of the event at this call, so it may be recorded again
         * later (cuStreamWaitEvent).
         */
        if (code == CUDA_SUCCESS && fence != NULL) {
            code = usm_cuda.cuStreamWaitEvent(stream, fence->id, CU_EVENT_WAIT_DEFAULT);
        }
    }
    usm_lock_give(&timeline->lock);
    return code;
}

/*
 * No task of a lost context ends by itself: all of them count as ended, and fail. Any thread, also while
 * another one polls: what it found raises the number no further.
 */
static void all_ended(usm_cuda_timeline *timeline)
{
    usm_raise(&timeline->completed, UINT64_MAX);
}

/*
 * Codes that say nothing about the work: it has not ended, or a capture is under way, and a later poll
 * gets the answer.
 */
static bool is_no_answer(CUresult code)
{
    return code == CUDA_ERROR_NOT_READY ||
           (code >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && code <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
}

/*
 * An answer about the tasks up to the number. An error is the end of all tasks: it means that the
 * context is lost.
 */
static void take_answer(usm_cuda_timeline *timeline, CUresult code, uint64_t number)
{
    if (code != CUDA_SUCCESS) {
        usm_cuda_lose(timeline->device, code);
        all_ended(timeline);
    }
    usm_raise(&timeline->completed, number);
}

/* Fences end in their order, so the first that is pending ends the search. The timeline's lock held. */
static void poll_fences(usm_cuda_timeline *timeline)
{
    while (timeline->first != NULL) {
        usm_cuda_fence *fence = timeline->first;
        CUresult code = usm_cuda.cuEventQuery(fence->id);
        if (is_no_answer(code)) {
            return;
        }
        timeline->first = fence->next;
        if (timeline->first == NULL) {
            timeline->last = NULL;
        }
        take_answer(timeline, code, fence->number);
        usm_freelist_push(&timeline->spare, fence);
    }
}

/*
 * Begins a poll of the driver: enters the context, takes the timeline's lock and polls the fences.
 * False: there is nothing to poll, or no context. Captures of other libraries allow these queries in the
 * relaxed mode alone.
 */
static bool begin_poll(usm_cuda_timeline *timeline, usm_cuda_scope *scope)
{
    if (usm_cuda_timeline_is_idle(timeline)) {
        return false;
    }
    if (usm_cuda_is_lost(timeline->device) || usm_cuda_enter(timeline->device, scope, NULL) != USM_OK) {
        if (usm_cuda_is_lost(timeline->device)) { /* also where entering showed it */
            all_ended(timeline);
        }
        return false;
    }
    usm_cuda_relax(scope);
    usm_lock_take(&timeline->lock);
    poll_fences(timeline);
    return true;
}

static void end_poll(usm_cuda_timeline *timeline, usm_cuda_scope *scope)
{
    usm_lock_give(&timeline->lock);
    usm_cuda_leave(scope);
}

void usm_cuda_timeline_poll(usm_cuda_timeline *timeline)
{
    usm_cuda_scope scope;
    if (begin_poll(timeline, &scope)) {
        end_poll(timeline, &scope);
    }
}

/*
 * Work without a fence: cuStreamQuery says whether all of the stream has ended. Streams that others may
 * capture are not queried so, since that would invalidate the capture.
 */
void usm_cuda_timeline_settle(usm_cuda_timeline *timeline)
{
    usm_cuda_scope scope;
    if (!begin_poll(timeline, &scope)) {
        return;
    }
    uint64_t number = atomic_load_explicit(&timeline->submitted, memory_order_acquire);
    bool open = !usm_cuda_timeline_ended(timeline, number) &&
                atomic_load_explicit(&timeline->fenced, memory_order_relaxed) < number;
    if (open && atomic_load(&timeline->eager)) {
        /* The fence that it should have was refused during a capture. */
        if (timeline->stream != CU_STREAM_PER_THREAD && !usm_cuda_is_capturing(timeline->stream)) {
            (void)record(timeline);
        }
    } else if (open) {
        CUresult code = usm_cuda.cuStreamQuery(timeline->stream);
        if (!is_no_answer(code)) {
            take_answer(timeline, code, number);
        }
    }
    end_poll(timeline, &scope);
}
