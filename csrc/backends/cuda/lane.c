/*
 * Lanes: streams of the driver with numbered tasks, and the fences (events) that tell how far it has come.
 * Fences are recorded when somebody needs one: most tasks never have their own.
 */
#include "cuda_backend.h"

#include "core/base/heap.h"

#include <stdlib.h>

/*
 * Events without times are kept, by the lane and, when it goes, by its device: making one costs more than
 * recording it. The lane's lock held, the context current.
 */
static CUresult take_fence(usm_cuda_lane *lane, usm_cuda_fence **out)
{
    usm_cuda_device *native = usm_cuda_device_of(lane->device);
    usm_cuda_fence *fence = usm_freelist_pop(&lane->spare);
    if (fence == NULL) {
        pthread_mutex_lock(&native->lock);
        fence = usm_freelist_pop(&native->fences);
        pthread_mutex_unlock(&native->lock);
    }
    *out = fence;
    if (fence != NULL) {
        return CUDA_SUCCESS;
    }
    fence = usm_calloc(1, sizeof *fence);
    if (fence == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult code = usm_cuda.cuEventCreate(&fence->id, CU_EVENT_DISABLE_TIMING);
    if (code != CUDA_SUCCESS) {
        free(fence);
        return code;
    }
    *out = fence;
    return CUDA_SUCCESS;
}

/* All fences of a lane that goes. */
static void give_to_device(usm_cuda_lane *lane)
{
    usm_cuda_device *native = usm_cuda_device_of(lane->device);
    for (usm_cuda_fence *fence = lane->first, *next; fence != NULL; fence = next) {
        next = fence->next;
        usm_freelist_push(&lane->spare, fence);
    }
    pthread_mutex_lock(&native->lock);
    usm_freelist_move(&native->fences, &lane->spare);
    pthread_mutex_unlock(&native->lock);
}

CUresult usm_cuda_timer(CUevent *out)
{
    return usm_cuda.cuEventCreate(out, CU_EVENT_DEFAULT);
}

usm_status usm_cuda_lane_open(usm_queue *queue, usm_cuda_lane *lane, CUstream foreign, usm_error *error)
{
    int least = 0, greatest = 0;
    CUresult code = CUDA_SUCCESS;
    lane->device = queue->device;
    lane->stream = foreign;
    lane->foreign = lane->eager = foreign != NULL;
    if (foreign == NULL) {
        (void)usm_cuda.cuCtxGetStreamPriorityRange(&least, &greatest);
        int priority = queue->priority == USM_PRIORITY_HIGH  ? greatest
                       : queue->priority == USM_PRIORITY_LOW ? least
                                                             : 0;
        code = usm_cuda.cuStreamCreateWithPriority(&lane->stream, CU_STREAM_NON_BLOCKING, priority);
    }
    if (code == CUDA_SUCCESS && foreign == NULL) {
        usm_cuda_stream_learn(lane->stream);
    }
    if (code != CUDA_SUCCESS) {
        lane->stream = NULL;
        return usm_cuda_failed_on(queue->device, error, code, "cuStreamCreateWithPriority");
    }
    return USM_OK;
}

/* It has no work, and nobody else knows it any more. */
void usm_cuda_lane_close(usm_cuda_lane *lane)
{
    usm_cuda_scope scope;
    bool foreign = lane->foreign;
    if (!usm_cuda_forked()) {
        give_to_device(lane);
    }
    if (!foreign && !usm_cuda_forked() && !usm_cuda_is_lost(lane->device) &&
        usm_cuda_enter(lane->device, &scope, NULL) == USM_OK) {
        usm_cuda_relax(&scope);
        (void)usm_cuda.cuStreamDestroy(lane->stream);
        usm_cuda_leave(&scope);
    }
}

/* The lane's lock held, the context current. */
static CUresult record(usm_cuda_lane *lane)
{
    usm_cuda_fence *fence;
    uint64_t number = atomic_load_explicit(&lane->submitted, memory_order_acquire);
    CUresult code = take_fence(lane, &fence);
    if (code != CUDA_SUCCESS) {
        return code;
    }
    code = lane->stream == (CUstream)USM_STREAM_ALL
               ? usm_cuda.cuCtxRecordEvent(
                     atomic_load_explicit(&usm_cuda_device_of(lane->device)->context, memory_order_acquire),
                     fence->id)
               : usm_cuda.cuEventRecord(fence->id, lane->stream);
    if (code != CUDA_SUCCESS) {
        usm_freelist_push(&lane->spare, fence);
        usm_cuda_note(lane->device, code);
        return code;
    }
    fence->number = number;
    fence->next = NULL;
    *(lane->last != NULL ? &lane->last->next : &lane->first) = fence;
    lane->last = fence;
    atomic_store_explicit(&lane->fenced, number, memory_order_release);
    return CUDA_SUCCESS;
}

static bool needs_fence(const usm_cuda_lane *lane, uint64_t number)
{
    return atomic_load_explicit(&((usm_cuda_lane *)lane)->fenced, memory_order_acquire) < number &&
           !usm_cuda_lane_ended(lane, number);
}

CUresult usm_cuda_lane_fence(usm_cuda_lane *lane, uint64_t number)
{
    usm_cuda_scope scope;
    if (!needs_fence(lane, number)) {
        return CUDA_SUCCESS;
    }
    if (usm_cuda_enter(lane->device, &scope, NULL) != USM_OK) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    CUresult code = usm_cuda_lane_fence_here(lane, number);
    usm_cuda_leave(&scope);
    return code;
}

CUresult usm_cuda_lane_fence_here(usm_cuda_lane *lane, uint64_t number)
{
    CUresult code = CUDA_SUCCESS;
    usm_lock_take(&lane->lock);
    if (needs_fence(lane, number)) {
        code = record(lane);
    }
    usm_lock_give(&lane->lock);
    return code;
}

void usm_cuda_lane_share(usm_cuda_lane *lane)
{
    /* Before the look at what is pending: who submits later sees the flag, or is seen. */
    atomic_store(&lane->eager, true);
    (void)usm_cuda_lane_fence(lane, atomic_load(&lane->submitted));
}

CUresult usm_cuda_lane_follow(CUstream stream, usm_cuda_lane *lane, uint64_t number)
{
    CUresult code = CUDA_SUCCESS;
    usm_lock_take(&lane->lock);
    if (!usm_cuda_lane_ended(lane, number)) {
        usm_cuda_scope scope;
        if (atomic_load_explicit(&lane->fenced, memory_order_relaxed) < number) {
            code = CUDA_ERROR_INVALID_CONTEXT;
            if (usm_cuda_enter(lane->device, &scope, NULL) == USM_OK) { /* the stream's may be another GPU */
                code = record(lane);
                usm_cuda_leave(&scope);
            }
        }
        usm_cuda_fence *fence = lane->first;
        while (fence != NULL && fence->number < number) {
            fence = fence->next;
        }
        /* The driver keeps what the event stands for now, so it may be recorded anew later. */
        if (code == CUDA_SUCCESS && fence != NULL) {
            code = usm_cuda.cuStreamWaitEvent(stream, fence->id, CU_EVENT_WAIT_DEFAULT);
        }
    }
    usm_lock_give(&lane->lock);
    return code;
}

/* No task of a lost context ever ends by itself. */
static void all_ended(usm_cuda_lane *lane)
{
    atomic_store_explicit(&lane->completed, UINT64_MAX, memory_order_release);
}

/* Codes that say nothing of the work: somebody captures, and the answer comes later. */
static bool is_no_answer(CUresult code)
{
    return code == CUDA_ERROR_NOT_READY ||
           (code >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && code <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
}

static void advance(usm_cuda_lane *lane, uint64_t number)
{
    if (atomic_load_explicit(&lane->completed, memory_order_relaxed) < number) {
        atomic_store_explicit(&lane->completed, number, memory_order_release);
    }
}

/* What an event or stream said of the tasks up to the number. An error is the end of all of them. */
static void take_answer(usm_cuda_lane *lane, CUresult code, uint64_t number)
{
    if (code != CUDA_SUCCESS) {
        usm_cuda_lose(lane->device, code);
        all_ended(lane);
    }
    advance(lane, number);
}

/* The lane's lock held. */
static void poll_fences(usm_cuda_lane *lane)
{
    while (lane->first != NULL) {
        usm_cuda_fence *fence = lane->first;
        CUresult code = usm_cuda.cuEventQuery(fence->id);
        if (is_no_answer(code)) {
            return;
        }
        lane->first = fence->next;
        if (lane->first == NULL) {
            lane->last = NULL;
        }
        take_answer(lane, code, fence->number);
        usm_freelist_push(&lane->spare, fence);
    }
}

static bool is_idle(const usm_cuda_lane *lane)
{
    return usm_cuda_lane_ended(
        lane, atomic_load_explicit(&((usm_cuda_lane *)lane)->submitted, memory_order_acquire));
}

/* Somebody else's capture stands these questions in the relaxed mode alone. */
static bool look(usm_cuda_lane *lane, usm_cuda_scope *scope)
{
    if (is_idle(lane)) {
        return false;
    }
    if (usm_cuda_is_lost(lane->device) || usm_cuda_enter(lane->device, scope, NULL) != USM_OK) {
        if (usm_cuda_is_lost(lane->device)) { /* also where entering was the call that told */
            all_ended(lane);
        }
        return false;
    }
    usm_cuda_relax(scope);
    usm_lock_take(&lane->lock);
    poll_fences(lane);
    return true;
}

static void look_away(usm_cuda_lane *lane, usm_cuda_scope *scope)
{
    usm_lock_give(&lane->lock);
    usm_cuda_leave(scope);
}

void usm_cuda_lane_poll(usm_cuda_lane *lane)
{
    usm_cuda_scope scope;
    if (look(lane, &scope)) {
        look_away(lane, &scope);
    }
}

void usm_cuda_lane_settle(usm_cuda_lane *lane)
{
    usm_cuda_scope scope;
    if (!look(lane, &scope)) {
        return;
    }
    uint64_t number = atomic_load_explicit(&lane->submitted, memory_order_acquire);
    bool open = !usm_cuda_lane_ended(lane, number) &&
                atomic_load_explicit(&lane->fenced, memory_order_relaxed) < number;
    if (open && atomic_load(&lane->eager)) {
        /* The fence that it should have was refused, since somebody captured. */
        if (lane->stream != CU_STREAM_PER_THREAD && !usm_cuda_is_capturing(lane->stream)) {
            (void)record(lane);
        }
    } else if (open) {
        CUresult code = usm_cuda.cuStreamQuery(lane->stream);
        if (!is_no_answer(code)) {
            take_answer(lane, code, number);
        }
    }
    look_away(lane, &scope);
}
