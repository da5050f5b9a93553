/*
 * Times of tasks. CUDA has no clock that can be read: it measures the time between two events
 * (cuEventElapsedTime). So each profiling queue has one event, `base`, of which the host knows a time that it
 * was not before, and each task has one at its start and one at its end.
 */
#include "cuda_backend.h"

static CUresult make_timer(CUevent *out)
{
    return usm_cuda.cuEventCreate(out, CU_EVENT_DEFAULT);
}

/*
 * Records `base` in the new stream, which is idle, and notes when that was on the host's clock. Three tries,
 * of which a short one is used: the thread may lose its processor in between.
 */
CUresult usm_cuda_start_clock(usm_cuda_queue *native)
{
    enum { TRIES = 3, PATIENCE_NS = 50000000 };
    int64_t shortest = INT64_MAX;
    CUresult code = make_timer(&native->base);
    for (int i = 0; i < TRIES && code == CUDA_SUCCESS; i++) {
        int64_t before = usm_clock_ns(), after = before;
        code = usm_cuda.cuEventRecord(native->base, native->timelines[0].stream);
        CUresult answer = CUDA_ERROR_NOT_READY;
        while (code == CUDA_SUCCESS && answer == CUDA_ERROR_NOT_READY && after - before < PATIENCE_NS) {
            answer = usm_cuda.cuEventQuery(native->base);
            after = usm_clock_ns();
        }
        shortest = after - before < shortest ? after - before : shortest;
        native->base_ns = before; /* of the last record, which is what counts: it was not earlier */
        if (i > 0 && after - before <= shortest) {
            break;
        }
    }
    return code;
}

/*
 * In a queue with several timelines, events of different streams are compared, which CUDA allows
 * within one device.
 */
CUresult usm_cuda_record_timer(CUevent *timer, const usm_cuda_timeline *timeline)
{
    CUresult code = *timer == NULL ? make_timer(timer) : CUDA_SUCCESS;
    return code == CUDA_SUCCESS ? usm_cuda.cuEventRecord(*timer, timeline->stream) : code;
}

/*
 * Elapsed times are floats in milliseconds, so they are exact to about a microsecond only for short
 * distances: after NEAR_MS the base is replaced by the start of a task. Queue lock held.
 */
void usm_cuda_read_times(usm_cuda_event *event)
{
    enum { NEAR_MS = 500 };
    usm_event *base = &event->event;
    usm_cuda_queue *native = usm_cuda_queue_of(base->queue);
    const int64_t enqueued_ns = base->start_ns;
    usm_cuda_scope scope;
    float until_start = 0, length = 0;
    bool entered = usm_cuda_enter(base->queue->device, &scope, NULL) == USM_OK;
    bool known = entered && native->base != NULL && usm_cuda.elapsed_time != NULL &&
                 usm_cuda.elapsed_time(&until_start, native->base, event->start) == CUDA_SUCCESS &&
                 usm_cuda.elapsed_time(&length, event->start, event->end) == CUDA_SUCCESS;
    base->start_ns = known ? native->base_ns + (int64_t)((double)until_start * 1e6) : usm_clock_ns();
    if (base->start_ns < enqueued_ns) {
        /*
         * Nothing begins before it was enqueued: the base was taken for earlier than it was. It is set right
         * for the tasks behind this one too, so that their times keep their order. As it is never taken for
         * later, times also keep their order with those of tasks that the host ran in between.
         */
        native->base_ns += enqueued_ns - base->start_ns;
        base->start_ns = enqueued_ns;
    }
    base->end_ns = base->start_ns + (known ? (int64_t)((double)length * 1e6) : 0);
    if (known && until_start > NEAR_MS) {
        CUevent old = native->base;
        int64_t latest_ns = usm_clock_ns() - (base->end_ns - base->start_ns); /* the clocks drift apart */
        native->base_ns = base->start_ns < latest_ns ? base->start_ns : latest_ns;
        native->base = event->start;
        event->start = old;
    }
    if (entered) {
        usm_cuda_leave(&scope);
    }
}
