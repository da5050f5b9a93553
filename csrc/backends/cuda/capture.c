/*
 * Streams that other libraries capture into graphs (CUDA driver API, Graph Management). What is enqueued
 * there becomes a node of the graph and does not run now: the task ends at once, and the graph keeps alive
 * what it uses.
 */
#include "cuda_backend.h"

#include "core/tasks/watch.h"

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

/* A timeline whose one task has ended: captured tasks get its number, so that they have ended too. */
static usm_cuda_timeline ended = {.submitted = 1, .completed = 1, .fenced = 1};

/*
 * cuStreamIsCapturing may be called during a capture, unlike most functions about a stream. The legacy stream
 * answers CUDA_ERROR_STREAM_CAPTURE_IMPLICIT while another stream of the context is being captured.
 */
bool usm_cuda_is_capturing(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult code = usm_cuda.cuStreamIsCapturing(stream, &status);
    return code == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static void release_all(usm_cuda_captured *list)
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
    release_all(native->captured);
    native->captured = NULL;
}

static void release_work(usm_work *work)
{
    release_all((usm_cuda_captured *)((char *)work - offsetof(usm_cuda_captured, work)));
}

/*
 * On a thread of the driver, which must not call the driver; releasing memory does, so another
 * thread does it.
 */
static void CUDA_CB on_destroy(void *argument)
{
    usm_cuda_captured *capture = argument;
    capture->work.run = release_work;
    usm_watch_run(&capture->work);
}

/* NULL: memory ran out. */
static usm_cuda_captured *record_uses(usm_cuda_event *event)
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

/*
 * Gives the record to the graph as a user object, which is released with the graph (cuGraphRetainUserObject,
 * CUDA 11.3). With older drivers, and where the driver refuses, the queue keeps it. An object that no graph
 * took is not released: that would call on_destroy, while the graph uses what the record holds.
 */
static void give_to_graph(usm_cuda_queue *native, CUstream stream, usm_cuda_captured *capture)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id;
    CUgraph graph = NULL;
    CUuserObject object;
    if (usm_cuda.capture_info != NULL && usm_cuda.cuUserObjectCreate != NULL &&
        usm_cuda.cuGraphRetainUserObject != NULL &&
        usm_cuda.capture_info(stream, &status, &id, &graph, NULL, NULL) == CUDA_SUCCESS && graph != NULL &&
        usm_cuda.cuUserObjectCreate(&object, capture, on_destroy, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) ==
            CUDA_SUCCESS &&
        usm_cuda.cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE) == CUDA_SUCCESS) {
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
 * A graph cannot wait for work outside of it: what the task depends on must have ended, or be in the
 * stream itself.
 */
static bool is_ready_now(const usm_event *event, const usm_cuda_timeline *timeline)
{
    for (size_t i = 0; i < event->n_links; i++) {
        usm_event *other = event->links[i].event;
        if (usm_event_ended(other)) {
            continue;
        }
        usm_cuda_event *task = (usm_cuda_event *)other;
        if (other->queue->backend != event->queue->backend || !usm_event_in_driver(other)) {
            return false;
        }
        if (task->timeline == timeline) {
            continue;
        }
        usm_cuda_timeline_settle(task->timeline);
        if (!usm_cuda_timeline_ended(task->timeline, usm_cuda_number_of(other))) {
            return false;
        }
    }
    return true;
}

/*
 * Refuses what a graph cannot hold, each with the reason; else enqueues the command, moves what the task
 * keeps alive into the record, and ends the task.
 */
usm_status usm_cuda_capture(usm_cuda_event *event, usm_cuda_timeline *timeline, const usm_command *command,
                            usm_error *error)
{
    usm_event *base = &event->event;
    usm_cuda_queue *native = usm_cuda_queue_of(base->queue);
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
    if (!is_ready_now(base, timeline)) {
        return refuse(
            error,
            "this task waits for work outside of it that is pending; wait for that before the capture "
            "begins");
    }
    usm_cuda_captured *capture = record_uses(event);
    if (capture == NULL) {
        return usm_error_memory(error, sizeof *capture, "a node of a graph");
    }
    usm_status status = usm_cuda_enqueue(event, timeline->stream, command, error);
    if (status != USM_OK) {
        release_all(capture);
        return status;
    }
    capture->kernel = event->kernel;
    event->kernel = NULL;
    capture->keeps = base->keeps;
    base->keeps = NULL;
    usm_deferred_count_task(usm_keep_home(capture->keeps), -1); /* they live with the graph from now on */
    give_to_graph(native, timeline->stream, capture);
    event->timeline = &ended;
    atomic_store_explicit(&event->number, 1, memory_order_release);
    return USM_OK;
}
