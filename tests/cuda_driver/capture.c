/* Captures of streams into graphs, and what they forbid. */
#include "graph.h"

static sim_capture *captures; /* the active ones */
static __thread CUstreamCaptureMode mode_of_thread = CU_STREAM_CAPTURE_MODE_GLOBAL;

static void merge(sim_past *past, const sim_past *other)
{
    if (past->n < other->n) {
        past->has = realloc(past->has, other->n);
        memset(past->has + past->n, 0, other->n - past->n);
        past->n = other->n;
    }
    for (size_t i = 0; i < other->n; i++) {
        past->has[i] |= other->has[i];
    }
}

static void clear(sim_past *past)
{
    free(past->has);
    *past = (sim_past){0};
}

static sim_capture *capture_of(unsigned long long id)
{
    sim_capture *capture = captures;
    while (capture != NULL && capture->id != id) {
        capture = capture->next;
    }
    return capture;
}

void sim_capture_invalidate(sim_stream *stream)
{
    if (stream->capture != NULL) {
        stream->capture->invalid = true;
    }
}

void sim_capture_invalidate_id(unsigned long long id)
{
    sim_capture *capture = capture_of(id);
    if (capture != NULL) {
        capture->invalid = true;
    }
}

CUresult sim_capture_unsafe(void)
{
    CUresult code = CUDA_SUCCESS;
    if (mode_of_thread == CU_STREAM_CAPTURE_MODE_RELAXED) {
        return code;
    }
    for (sim_capture *capture = captures; capture != NULL; capture = capture->next) {
        bool own = pthread_equal(capture->thread, pthread_self());
        bool minds = own ? capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED
                         : capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                               mode_of_thread == CU_STREAM_CAPTURE_MODE_GLOBAL;
        if (minds) {
            capture->invalid = true;
            code = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    }
    return code;
}

CUresult sim_capture_implicit(sim_context *context)
{
    CUresult code = CUDA_SUCCESS;
    for (sim_stream *stream = context->streams; captures != NULL && stream != NULL;
         stream = stream->sibling) {
        if (stream->capture != NULL && (stream->flags & CU_STREAM_NON_BLOCKING) == 0) {
            stream->capture->invalid = true;
            code = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        }
    }
    return code;
}

CUresult sim_capture_add(sim_stream *stream, const sim_op *op)
{
    sim_capture *capture = stream->capture;
    if (capture->invalid) {
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    if (op->kind == OP_FREE) {
        capture->invalid = true;
        return CUDA_ERROR_INVALID_VALUE; /* no memory of a graph's own is here */
    }
    size_t index = capture->graph->n;
    sim_past node = {calloc(1, index + 1), index + 1};
    node.has[index] = 1;
    sim_graph_add(capture->graph, op);
    merge(stream->past, &node);
    clear(&node);
    return CUDA_SUCCESS;
}

CUresult sim_capture_record(sim_stream *stream, sim_event *event, bool *done)
{
    if (stream->capture == NULL) {
        return CUDA_SUCCESS;
    }
    if (stream->capture->invalid) {
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    if (event->past == NULL) {
        event->past = calloc(1, sizeof *event->past);
    }
    clear(event->past);
    merge(event->past, stream->past);
    event->capture = stream->capture->id;
    event->recorded = true;
    event->point = (sim_point){0};
    *done = true;
    return CUDA_SUCCESS;
}

static void join(sim_stream *stream, sim_capture *capture)
{
    stream->capture = capture;
    if (stream->past == NULL) {
        stream->past = calloc(1, sizeof *stream->past);
    }
    clear(stream->past);
}

CUresult sim_capture_wait(sim_stream *stream, sim_event *event, bool *done)
{
    sim_capture *capture = event->capture != 0 ? capture_of(event->capture) : NULL;
    if (stream->capture == NULL && event->capture == 0) {
        return CUDA_SUCCESS;
    }
    *done = true;
    if (stream->capture != NULL && stream->capture->invalid) {
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    if (event->capture == 0) {
        if (!event->recorded) {
            return CUDA_SUCCESS;
        }
        stream->capture->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    if (capture == NULL) {
        sim_capture_invalidate(stream);
        return CUDA_ERROR_CAPTURED_EVENT;
    }
    if (stream->capture != NULL && stream->capture != capture) {
        stream->capture->invalid = capture->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (stream->legacy) {
        capture->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    if (stream->capture == NULL) {
        join(stream, capture);
    }
    merge(stream->past, event->past);
    return CUDA_SUCCESS;
}

/* The stream of a call about captures: no current context is asked for. */
static sim_stream *stream_of(CUstream handle)
{
    sim_context *context = sim_top();
    sim_stream *stream = NULL;
    if (handle == NULL || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) {
        return context != NULL && sim_stream_of(handle, context, &stream) == CUDA_SUCCESS ? stream : NULL;
    }
    return sim_find(SIM_STREAM, handle);
}

CUresult cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode mode)
{
    SIM_ENTER_CURRENT(cuStreamBeginCapture, context);
    sim_stream *stream = stream_of(handle);
    if (stream == NULL || stream->legacy) {
        return sim_unlock(stream == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    if (stream->capture != NULL) {
        return sim_unlock(CUDA_ERROR_ILLEGAL_STATE);
    }
    sim_capture *capture = calloc(1, sizeof *capture);
    capture->id = sim_next_id();
    capture->mode = mode;
    capture->thread = pthread_self();
    capture->graph = sim_new(SIM_GRAPH, sizeof *capture->graph);
    capture->origin = stream;
    capture->next = captures;
    captures = capture;
    join(stream, capture);
    return sim_unlock(CUDA_SUCCESS);
}

/* All streams of the capture are free again. False where one has work that the origin does not follow. */
static bool leave(sim_object *object, sim_capture *capture, const sim_past *end)
{
    sim_stream *stream = (sim_stream *)object;
    bool joined = true;
    if (stream->capture == capture) {
        for (size_t i = 0; i < stream->past->n; i++) {
            joined &= !stream->past->has[i] || (i < end->n && end->has[i]);
        }
        stream->capture = NULL;
    }
    return joined;
}

typedef struct leaving {
    sim_capture *capture;
    sim_past end;
    bool joined;
} leaving;

static void leave_one(sim_object *object, void *data)
{
    leaving *all = data;
    all->joined &= leave(object, all->capture, &all->end);
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *out)
{
    SIM_ENTER_CURRENT(cuStreamEndCapture, context);
    sim_stream *stream = stream_of(handle);
    sim_capture *capture = stream == NULL ? NULL : stream->capture;
    *out = NULL;
    if (capture == NULL) {
        return sim_unlock(stream == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_ILLEGAL_STATE);
    }
    if (capture->origin != stream) {
        capture->invalid = true;
        return sim_unlock(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    }
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && !pthread_equal(capture->thread, pthread_self())) {
        return sim_unlock(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    }
    leaving all = {capture, {0}, true};
    merge(&all.end, stream->past);
    sim_each(SIM_STREAM, leave_one, &all);
    clear(&all.end);
    for (sim_capture **link = &captures; *link != NULL; link = &(*link)->next) {
        if (*link == capture) {
            *link = capture->next;
            break;
        }
    }
    CUresult code = capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                    : all.joined     ? CUDA_SUCCESS
                                     : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    if (code == CUDA_SUCCESS) {
        *out = (CUgraph)capture->graph;
    } else {
        capture->graph->base.alive = false;
        sim_graph_release(capture->graph);
    }
    free(capture);
    return sim_unlock(code);
}

static CUstreamCaptureStatus status_of(const sim_stream *stream)
{
    return stream->capture == NULL    ? CU_STREAM_CAPTURE_STATUS_NONE
           : stream->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                      : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status)
{
    SIM_ENTER_CURRENT(cuStreamIsCapturing, context);
    sim_stream *stream = stream_of(handle);
    if (stream == NULL) {
        return sim_unlock(CUDA_ERROR_INVALID_HANDLE);
    }
    *status = status_of(stream);
    return sim_unlock(stream->legacy ? sim_capture_implicit(context) : CUDA_SUCCESS);
}

CUresult cuStreamGetCaptureInfo(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id,
                                CUgraph *graph, const CUgraphNode **dependencies,
#if CUDA_VERSION >= 13000
                                const CUgraphEdgeData **edges,
#endif
                                size_t *n)
{
    SIM_ENTER_CURRENT(cuStreamGetCaptureInfo, context);
    sim_stream *stream = stream_of(handle);
    if (stream == NULL) {
        return sim_unlock(CUDA_ERROR_INVALID_HANDLE);
    }
#if CUDA_VERSION >= 13000
    if (edges != NULL) {
        *edges = NULL;
    }
#endif
    *status = status_of(stream);
    if (*status == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
        if (id != NULL) {
            *id = stream->capture->id;
        }
        if (graph != NULL) {
            *graph = (CUgraph)stream->capture->graph;
        }
        if (dependencies != NULL) {
            *dependencies =
                (CUgraphNode *)stream->capture->graph->nodes; /* more than the last, never fewer */
        }
        if (n != NULL) {
            *n = stream->capture->graph->n;
        }
    }
    return sim_unlock(stream->legacy ? sim_capture_implicit(context) : CUDA_SUCCESS);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    SIM_ENTER(cuThreadExchangeStreamCaptureMode);
    CUstreamCaptureMode before = mode_of_thread;
    if ((unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    mode_of_thread = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}
