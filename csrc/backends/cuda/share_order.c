/*
 * The order between processes that have a block: events for several processes (CUDA driver API,
 * cuIpcGetEventHandle), recorded when a handle is made, for which streams of other processes wait.
 *
 * What an opened event does once the exporter has destroyed its own is undefined, and a process cannot tell
 * when others have closed it. So exported events are never destroyed: closed blocks hand them on to later
 * ones, and the opener of an older handle then waits for more work of the exporter than it has to.
 */
#include "share.h"

#include "core/base/heap.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(CUipcEventHandle) == USM_SHARE_ORDER, "the handle of an event is the order of a block");

/*
 * An event that others can open. NULL: the driver makes none here (a sandbox, or too many of them), and the
 * core waits instead. The context is current.
 */
static usm_cuda_exported *take_event(usm_device *device)
{
    usm_cuda_device *native = usm_cuda_device_of(device);
    if (usm_cuda.cuIpcGetEventHandle == NULL) {
        return NULL;
    }
    pthread_mutex_lock(&native->lock);
    usm_cuda_exported *event = usm_freelist_pop(&native->exported);
    pthread_mutex_unlock(&native->lock);
    if (event != NULL || (event = usm_calloc(1, sizeof *event)) == NULL) {
        return event;
    }
    CUresult code = usm_cuda.cuEventCreate(&event->id, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
    if (code == CUDA_SUCCESS) {
        code = usm_cuda.cuIpcGetEventHandle(&event->handle, event->id);
        if (code != CUDA_SUCCESS) {
            (void)usm_cuda.cuEventDestroy(event->id);
        }
    }
    if (code != CUDA_SUCCESS) {
        usm_cuda_note(device, code);
        free(event);
        return NULL;
    }
    return event;
}

/* Records the block's event behind all that the stream has. The context is current. */
static usm_status record(usm_cuda_mapping *mapping, CUstream stream, uint8_t *order, usm_error *error)
{
    CUresult code = CUDA_SUCCESS;
    pthread_mutex_lock(&mapping->lock);
    if (mapping->exported == NULL) {
        mapping->exported = take_event(mapping->device);
    }
    if (mapping->exported != NULL) {
        code = usm_cuda.cuEventRecord(mapping->exported->id, stream);
        memcpy(order, &mapping->exported->handle, sizeof(CUipcEventHandle));
    }
    bool none = mapping->exported == NULL;
    pthread_mutex_unlock(&mapping->lock);
    if (code != CUDA_SUCCESS) {
        return usm_cuda_failed_on(mapping->device, error, code, "cuEventRecord");
    }
    return none ? USM_LATER : USM_OK;
}

/* Work that has ended needs no event: opening one in another process takes longer than to ask here. */
usm_status usm_cuda_share_signal(usm_queue *queue, const usm_shared_memory *memory,
                                 uint8_t order[USM_SHARE_ORDER], usm_error *error)
{
    usm_cuda_timeline *timeline = &usm_cuda_queue_of(queue)->timelines[0];
    usm_cuda_scope scope;
    usm_cuda_timeline_settle(timeline);
    if (usm_cuda_timeline_is_idle(timeline)) {
        return USM_OK;
    }
    usm_status status = usm_cuda_enter(queue->device, &scope, error);
    if (status != USM_OK) {
        return status;
    }
    usm_cuda_relax(&scope);
    status = usm_cuda_is_capturing(timeline->stream)
                 ? usm_error_set(error, USM_BUFFER,
                                 "work on this array is being captured into a graph, which other processes "
                                 "cannot wait for: make the handle before or after the capture")
                 : record(memory->native, timeline->stream, order, error);
    usm_cuda_leave(&scope);
    return status;
}

/* The event of another process, opened once a block. The mapping's lock is held, the context current. */
static CUresult open_event(usm_cuda_mapping *mapping, const uint8_t *order, CUevent *out)
{
    CUipcEventHandle handle;
    memcpy(&handle, order, sizeof handle);
    for (usm_cuda_imported *known = mapping->imported; known != NULL; known = known->next) {
        if (memcmp(&known->handle, &handle, sizeof handle) == 0) {
            *out = known->id;
            return CUDA_SUCCESS;
        }
    }
    usm_cuda_imported *event = usm_calloc(1, sizeof *event);
    CUresult code =
        event == NULL ? CUDA_ERROR_OUT_OF_MEMORY : usm_cuda.cuIpcOpenEventHandle(&event->id, handle);
    if (code != CUDA_SUCCESS) {
        free(event);
        return code;
    }
    event->handle = handle;
    event->next = mapping->imported;
    mapping->imported = event;
    *out = event->id;
    return CUDA_SUCCESS;
}

static usm_status not_opened(usm_device *device, CUresult code, usm_error *error)
{
    usm_cuda_note(device, code);
    return usm_error_driver(
        error, code == CUDA_ERROR_OUT_OF_MEMORY ? USM_MEMORY : USM_BUFFER, "cuda", (int)code,
        usm_cuda_name(code),
        "cannot wait for the exporter's pending work (cuIpcOpenEventHandle failed with %s, %d): both "
        "processes must be in one PID and IPC namespace (containers: --pid=host --ipc=host), or the "
        "exporter calls x.wait() before it makes the handle",
        usm_cuda_name(code), (int)code);
}

usm_status usm_cuda_share_wait(usm_queue *queue, const usm_shared_memory *memory,
                               const uint8_t order[USM_SHARE_ORDER], usm_error *error)
{
    usm_cuda_queue *native = usm_cuda_queue_of(queue);
    usm_cuda_mapping *mapping = memory->native;
    usm_cuda_scope scope;
    CUevent event;
    if (usm_cuda.cuIpcOpenEventHandle == NULL) {
        return not_opened(queue->device, CUDA_ERROR_NOT_SUPPORTED, error);
    }
    usm_status status = usm_cuda_enter(queue->device, &scope, error);
    if (status != USM_OK) {
        return status;
    }
    usm_cuda_relax(&scope);
    pthread_mutex_lock(&mapping->lock);
    CUresult code = open_event(mapping, order, &event);
    if (code != CUDA_SUCCESS) {
        status = not_opened(queue->device, code, error);
    } else if (usm_cuda.cuEventQuery(event) != CUDA_SUCCESS) {
        code = usm_cuda.cuStreamWaitEvent(native->timelines[0].stream, event, CU_EVENT_WAIT_DEFAULT);
        if (code != CUDA_SUCCESS) {
            status = usm_cuda_failed_on(queue->device, error, code, "cuStreamWaitEvent");
        } else { /* in this order: a task that clears it is behind the wait in the stream */
            atomic_store(&native->waits, true);
        }
    }
    pthread_mutex_unlock(&mapping->lock);
    usm_cuda_leave(&scope);
    return status;
}

void usm_cuda_share_end_order(usm_cuda_mapping *mapping, bool entered)
{
    usm_cuda_device *native = usm_cuda_device_of(mapping->device);
    if (mapping->exported != NULL) {
        pthread_mutex_lock(&native->lock);
        usm_freelist_push(&native->exported, mapping->exported);
        pthread_mutex_unlock(&native->lock);
    }
    for (usm_cuda_imported *event = mapping->imported, *next; event != NULL; event = next) {
        next = event->next;
        if (entered) {
            USM_CUDA_GIVE_BACK(mapping->device, cuEventDestroy, event->id);
        }
        free(event);
    }
}
