/*
 * Streams that others capture into graphs. What is enqueued there does not run now: the task ends at once,
 * and what it uses is held by the graph.
 */
#include "cuda_backend.h"

#include "core/base/heap.h"

#include <stdlib.h>

/* What a node of a graph uses. */
struct usm_cuda_captured {
    usm_cuda_captured *next;
    usm_work work;      /* the driver calls back where no call of it is allowed: it goes on another thread */
    usm_kernel *kernel; /* one count, or NULL */
    usm_keep *keeps;
    size_t n;
    usm_alloc *allocs[]; /* one count each */
};

/* Captured tasks are behind this one's only task, which has ended. */
static usm_cuda_lane ended = {.submitted = 1, .completed = 1, .fenced = 1};

bool usm_cuda_is_capturing(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (stream == (CUstream)USM_STREAM_ALL) {
        return false;
    }
    CUresult code = usm_cuda.cuStreamIsCapturing(stream, &status);
    return code == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static void let_go(usm_cuda_captured *list)
{
    for (usm_cuda_captured *next; list != NULL; list = next) {
        next = list->next;
        for (size_t i = 0; i < list->n; i++) {
            usm_alloc_release_deferred(list->allocs[i]);
        }
        if (list->kernel != NULL) {
            usm_kernel_release(list->kernel);
        }
        usm_keep_drop(list->keeps);
        free(list);
    }
}

void usm_cuda_captures_free(usm_cuda_queue *native)
{
    let_go(native->captured);
    native->captured = NULL;
}

static void drop(usm_work *work)
{
    let_go((usm_cuda_captured *)((char *)work - offsetof(usm_cuda_captured, work)));
}

static void CUDA_CB on_drop(void *argument)
{
    usm_cuda_captured *capture = argument;
    capture->work.run = drop;
    usm_completion_run(&capture->work);
}

static usm_cuda_captured *hold(usm_cuda_event *event)
{
    usm_event *base = &event->event;
    usm_cuda_captured *capture = usm_calloc(1, sizeof *capture + base->n_accesses * sizeof(usm_alloc *));
    if (capture != NULL) {
        for (size_t i = 0; i < base->n_accesses; i++) {
            capture->allocs[i] = usm_alloc_retain(base->accesses[i].alloc);
        }
        capture->n = base->n_accesses;
    }
    return capture;
}

/* The graph's, where the driver can; else the queue's. */
static void hand_over(usm_cuda_queue *native, CUstream stream, usm_cuda_captured *capture)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id;
    CUgraph graph = NULL;
    CUuserObject object;
    if (usm_cuda.capture_info != NULL && usm_cuda.cuUserObjectCreate != NULL &&
        usm_cuda.cuGraphRetainUserObject != NULL && usm_cuda.cuUserObjectRelease != NULL &&
        usm_cuda.capture_info(stream, &status, &id, &graph, NULL, NULL) == CUDA_SUCCESS && graph != NULL &&
        usm_cuda.cuUserObjectCreate(&object, capture, on_drop, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) ==
            CUDA_SUCCESS) {
        if (usm_cuda.cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE) != CUDA_SUCCESS) {
            (void)usm_cuda.cuUserObjectRelease(object,
                                               1); /* on_drop: the task is not held, as it should be */
        }
        return;
    }
    capture->next = native->captured;
    native->captured = capture;
}

static usm_status refuse(usm_error *error, const char *what)
{
    return usm_error_set(error, USM_BUFFER, "the queue's stream is being captured into a graph: %s", what);
}

/*
 * What the task waits for must have ended, or be in the stream itself: a graph waits for nothing
 * outside of it.
 */
static bool is_free(const usm_event *event, const usm_cuda_lane *lane)
{
    for (size_t i = 0; i < event->n_links; i++) {
        usm_event *other = event->links[i].event;
        if (usm_event_ended(other)) {
            continue;
        }
        usm_cuda_event *task = (usm_cuda_event *)other;
        if (other->queue->backend != event->queue->backend || !usm_cuda_event_in_driver(other)) {
            return false;
        }
        if (task->lane == lane) {
            continue;
        }
        usm_cuda_lane_settle(task->lane);
        if (!usm_cuda_lane_ended(task->lane, atomic_load_explicit(&task->number, memory_order_acquire))) {
            return false;
        }
    }
    return true;
}

usm_status usm_cuda_capture(usm_cuda_event *event, usm_cuda_lane *lane, const usm_command *command,
                            usm_error *error)
{
    usm_event *base = &event->event;
    usm_cuda_queue *native = usm_cuda_queue_of(base->queue);
    usm_cuda_scope scope = {.pushed = false};
    if (command->kind == USM_COMMAND_HOST) {
        return refuse(error, "a host task cannot be a part of it");
    }
    if (command->kind == USM_COMMAND_MARKER) {
        return refuse(
            error,
            "nothing in it has run, so that there is no work to wait for until the graph is launched; "
            "order others behind that launch");
    }
    if (usm_cuda_staging_of(base, command) != USM_CUDA_DIRECT) {
        return refuse(
            error, "a copy from or to pageable memory cannot be a part of it; use memory of usm_type 'host'");
    }
    usm_cuda_relax(&scope);
    bool is_ready = is_free(base, lane);
    usm_cuda_leave(&scope);
    if (!is_ready) {
        return refuse(
            error,
            "this task waits for work outside of it that is pending; wait for that before the capture "
            "begins");
    }
    usm_cuda_captured *capture = hold(event);
    if (capture == NULL) {
        return usm_error_memory(error, sizeof *capture, "a node of a graph");
    }
    usm_status status = usm_cuda_enqueue(event, lane->stream, command, error);
    if (status != USM_OK) {
        let_go(capture);
        return status;
    }
    capture->kernel = event->kernel;
    event->kernel = NULL;
    capture->keeps = base->keeps;
    base->keeps = NULL;
    hand_over(native, lane->stream, capture);
    event->lane = &ended;
    atomic_store_explicit(&event->number, 1, memory_order_release);
    usm_completion_watch(base); /* which ends it, if nobody else does */
    return USM_OK;
}
