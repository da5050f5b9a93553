/*
 * Devices, contexts and streams that other libraries made with the same driver, and ours for them. CUDA
 * counts references of primary contexts alone, so there is no `count` entry.
 */
#include "cuda_backend.h"

#include "core/device/registry.h"

#include <stdlib.h>

/*
 * The event that a profiled task has behind it, or one that is recorded now, behind the task and what follows
 * it in its stream so far. It is destroyed with the usm_event.
 */
static CUevent record_event(usm_cuda_event *event)
{
    usm_cuda_scope scope;
    usm_device *device = event->event.queue->device;
    if (event->end != NULL || usm_cuda_number_of(&event->event) == 0 || usm_cuda_is_lost(device) ||
        usm_cuda_enter(device, &scope, NULL) != USM_OK) {
        return event->end;
    }
    usm_cuda_relax(&scope);
    CUevent id = NULL;
    CUresult code = usm_cuda.cuEventCreate(&id, CU_EVENT_DISABLE_TIMING);
    if (code == CUDA_SUCCESS &&
        (code = usm_cuda.cuEventRecord(id, event->timeline->stream)) != CUDA_SUCCESS) {
        (void)usm_cuda.cuEventDestroy(id);
    }
    usm_cuda_note(device, code);
    usm_cuda_leave(&scope);
    event->end = code == CUDA_SUCCESS ? id : NULL;
    return event->end;
}

/*
 * The stream that a queue shows is its first timeline. From then on others may enqueue or capture there, so
 * every task gets its own fence.
 */
void *usm_cuda_native_handle(usm_native what, const void *object)
{
    switch (what) {
        case USM_NATIVE_DEVICE: /* the ordinal, of which 0 is one */
            return (void *)(uintptr_t)usm_cuda_device_of(object)->id;
        case USM_NATIVE_CONTEXT:
            return ((const usm_context *)object)->native;
        case USM_NATIVE_EVENT:
            return record_event((usm_cuda_event *)object);
        default: {
            const usm_queue *queue = object;
            usm_cuda_timeline *timeline = &usm_cuda_queue_of(queue)->timelines[0];
            if (usm_queue_is_shared(queue) && !atomic_load_explicit(&timeline->eager, memory_order_relaxed)) {
                usm_cuda_timeline_share(timeline);
            }
            return timeline->stream;
        }
    }
}

/*
 * Only primary contexts are accepted: pointers and streams of others would belong to no usm_device. The
 * default context of the device is made, which is then found under the driver's.
 */
static usm_status inspect_context(CUcontext context, usm_native_facts *facts, usm_error *error)
{
    usm_device *device = NULL;
    const usm_backend_report *report = usm_backend_start(usm_backend_index("cuda", 4));
    usm_status status = USM_OK;
    for (size_t i = 0; i < report->n_devices && device == NULL; i++) {
        status = usm_cuda_retain_primary(report->devices[i], error); /* to know their addresses */
        if (status != USM_OK) {
            return status;
        }
        device = usm_cuda_device_of_context(context);
    }
    if (device == NULL) {
        return usm_error_set(
            error, USM_VALUE,
            "the context %p is the primary context of no device: usmpy works in primary contexts, as "
            "CUDA's runtime and the libraries over it do (cuDevicePrimaryCtxRetain)",
            (void *)context);
    }
    facts->devices = malloc(sizeof *facts->devices);
    if (facts->devices == NULL) {
        return usm_error_memory(error, sizeof *facts->devices, "a list of devices");
    }
    facts->devices[0] = (void *)(uintptr_t)usm_cuda_device_of(device)->id;
    facts->n_devices = 1;
    usm_context *made;
    return usm_context_default(device, &made, error);
}

/*
 * Streams report neither order, which they always have, nor whether they measure times, which is a
 * property of events.
 */
static usm_status inspect_queue(void *handle, usm_native_facts *facts, usm_error *error)
{
    usm_device *device = NULL;
    usm_status status = USM_OK;
    if (handle == USM_STREAM_LEGACY || handle == USM_STREAM_PER_THREAD) { /* of the current context */
        CUcontext current = NULL;
        (void)usm_cuda.cuCtxGetCurrent(&current);
        device = current != NULL ? usm_cuda_device_of_context(current) : NULL;
        if (device == NULL) {
            CUdevice id = 0;
            if (current != NULL) {
                (void)usm_cuda.cuCtxGetDevice(&id);
            }
            device = usm_cuda_device_at(id);
        }
        status = usm_cuda_retain_primary(device, error);
    } else { /* asked in some context: there may be none on this thread */
        usm_cuda_scope scope = {.pushed = false};
        CUcontext current = NULL;
        if (usm_cuda.cuCtxGetCurrent(&current) != CUDA_SUCCESS || current == NULL) {
            status = usm_cuda_enter(usm_cuda_device_at(0), &scope, error);
        }
        if (status == USM_OK) {
            status = usm_cuda_stream_device(handle, &device, error);
            usm_cuda_leave(&scope);
        }
    }
    if (status == USM_OK) {
        facts->device = (void *)(uintptr_t)usm_cuda_device_of(device)->id;
        facts->context = atomic_load_explicit(&usm_cuda_device_of(device)->context, memory_order_acquire);
        facts->options = (usm_queue_options){.in_order = true, .priority = USM_PRIORITY_NORMAL};
    }
    return status;
}

usm_status usm_cuda_native_inspect(usm_native what, void *handle, usm_native_facts *facts, usm_error *error)
{
    return what == USM_NATIVE_CONTEXT ? inspect_context(handle, facts, error)
                                      : inspect_queue(handle, facts, error);
}
