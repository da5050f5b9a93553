/* Events: points in streams, with the time when they were reached. */
#include "sim.h"

CUresult cuEventCreate(CUevent *out, unsigned flags)
{
    SIM_ENTER_CURRENT(cuEventCreate, context);
    unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    bool timed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
    if (out == NULL || (flags & ~known) != 0 || ((flags & CU_EVENT_INTERPROCESS) != 0 && timed)) {
        return sim_unlock(CUDA_ERROR_INVALID_VALUE);
    }
    sim_event *event = sim_new(SIM_EVENT, sizeof *event);
    event->context = context;
    event->flags = flags;
    if ((flags & CU_EVENT_INTERPROCESS) != 0 && (event->shared = sim_shared_new()) == NULL) {
        event->base.alive = false;
        return sim_unlock(CUDA_ERROR_OUT_OF_MEMORY);
    }
    *out = (CUevent)event;
    return sim_unlock(CUDA_SUCCESS);
}

CUresult cuEventDestroy(CUevent handle)
{
    SIM_ENTER(cuEventDestroy);
    sim_lock();
    sim_event *event = sim_find(SIM_EVENT, handle);
    if (event == NULL) {
        return sim_unlock(CUDA_ERROR_INVALID_HANDLE);
    }
    event->base.alive = false;
    if (event->shared != NULL) {
        sim_shared_destroy(event->shared);
        event->shared = NULL;
    }
    return sim_unlock((CUresult)event->context->sticky);
}

CUresult cuEventRecord(CUevent handle, CUstream stream_handle)
{
    SIM_ENTER_CURRENT(cuEventRecord, context);
    sim_stream *stream;
    bool done = false;
    sim_event *event = sim_find(SIM_EVENT, handle);
    CUresult code =
        event == NULL ? CUDA_ERROR_INVALID_HANDLE : sim_stream_of(stream_handle, context, &stream);
    if (code == CUDA_SUCCESS && event->context != stream->context) {
        code = CUDA_ERROR_INVALID_HANDLE;
    }
    if (code == CUDA_SUCCESS) {
        code = sim_capture_record(stream, event, &done);
    }
    if (code == CUDA_SUCCESS && !done) {
        sim_op op = {.kind = OP_RECORD, .u.record = {event, event->generation + 1, 0}};
        sim_point point;
        op.u.record.shared = event->shared != NULL ? sim_shared_record(event->shared) : 0;
        code = sim_submit(stream, &op, &point);
        if (code == CUDA_SUCCESS) {
            event->generation++;
            event->recorded = true;
            event->capture = 0;
            event->point = point;
        }
    }
    return sim_unlock(code);
}

static sim_point point_of(const sim_event *event)
{
    return event->shared != NULL ? sim_shared_point(event->shared) : event->point;
}

/* May the host ask about the event now? */
static CUresult may_ask(sim_event *event)
{
    if (event == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (event->capture != 0) {
        sim_capture_invalidate_id(event->capture);
        return CUDA_ERROR_CAPTURED_EVENT;
    }
    CUresult code = sim_capture_unsafe();
    return code != CUDA_SUCCESS ? code : (CUresult)event->context->sticky;
}

CUresult cuEventQuery(CUevent handle)
{
    SIM_ENTER_CURRENT(cuEventQuery, context);
    sim_event *event = sim_find(SIM_EVENT, handle);
    CUresult code = may_ask(event);
    if (code == CUDA_SUCCESS) {
        sim_point point = point_of(event);
        code = sim_reached(&point) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    }
    return sim_unlock(code);
}

CUresult cuEventSynchronize(CUevent handle)
{
    SIM_ENTER_CURRENT(cuEventSynchronize, context);
    sim_event *event = sim_find(SIM_EVENT, handle);
    CUresult code = may_ask(event);
    if (code == CUDA_SUCCESS) {
        sim_point point = point_of(event);
        code = sim_wait(&point);
        sim_pools_trim();
    }
    return sim_unlock(code);
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent start_handle, CUevent end_handle)
{
    SIM_ENTER_CURRENT(cuEventElapsedTime, context);
    sim_event *start = sim_find(SIM_EVENT, start_handle), *end = sim_find(SIM_EVENT, end_handle);
    CUresult code = CUDA_SUCCESS;
    if (start == NULL || end == NULL || !start->recorded || !end->recorded ||
        start->context != end->context || ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) != 0) {
        code = CUDA_ERROR_INVALID_HANDLE;
    } else if (start->capture != 0 || end->capture != 0) {
        code = CUDA_ERROR_CAPTURED_EVENT;
    } else if (!sim_reached(&start->point) || !sim_reached(&end->point)) {
        code = CUDA_ERROR_NOT_READY;
    } else {
        *milliseconds = (float)((double)(end->ns - start->ns) * 1e-6);
        code = (CUresult)start->context->sticky;
    }
    return sim_unlock(code);
}
