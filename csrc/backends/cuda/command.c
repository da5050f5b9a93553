/* What each command is for the driver (CUDA driver API, Memory Management and Execution Control). */
#include "cuda_backend.h"

#include <string.h>

/*
 * The result of cuMemcpyAsync is undefined where both sides overlap: the bytes go through a block that is
 * allocated and freed in stream order, or, without pools, with the event.
 */
static CUresult copy_through(usm_cuda_event *event, CUstream stream, const usm_command *command)
{
    usm_cuda_device *native = usm_cuda_device_of(event->event.queue->device);
    size_t nbytes = command->as.copy.nbytes;
    CUdeviceptr block = 0;
    CUresult code;
    if (!native->has_pools) {
        code = usm_cuda.cuMemAlloc(&block, nbytes);
        event->block = code == CUDA_SUCCESS ? block : 0;
    } else if ((code = usm_cuda_get_pool(native)) == CUDA_SUCCESS) {
        code = usm_cuda.cuMemAllocFromPoolAsync(&block, nbytes, native->pool, stream);
    }
    if (code != CUDA_SUCCESS) {
        return code;
    }
    code = usm_cuda.cuMemcpyAsync(block, usm_cuda_address(command->as.copy.src), nbytes, stream);
    if (code == CUDA_SUCCESS) {
        code = usm_cuda.cuMemcpyAsync(usm_cuda_address(command->as.copy.dst), block, nbytes, stream);
    }
    if (native->has_pools) {
        (void)usm_cuda.cuMemFreeAsync(block, stream);
    } else if (code != CUDA_SUCCESS) { /* the same task may be tried again; cuMemFree waits for the device */
        (void)usm_cuda.cuMemFree(block);
        event->block = 0;
    }
    return code;
}

/*
 * cuMemcpyAsync finds the direction by unified addressing. Copies of pageable memory do not come
 * here (staging.c).
 */
static CUresult enqueue_copy(usm_cuda_event *event, CUstream stream, const usm_command *command)
{
    if (command->as.copy.dst == command->as.copy.src) {
        return CUDA_SUCCESS;
    }
    return usm_command_overlaps(command) ? copy_through(event, stream, command)
                                         : usm_cuda.cuMemcpyAsync(usm_cuda_address(command->as.copy.dst),
                                                                  usm_cuda_address(command->as.copy.src),
                                                                  command->as.copy.nbytes, stream);
}

/* cuMemsetD8Async, D16 and D32 take patterns of 1, 2 and 4 bytes, aligned to their size. */
bool usm_cuda_fills(const usm_command *command)
{
    size_t size = command->as.fill.pattern_size;
    return size <= 4 && (uintptr_t)command->as.fill.dst % size == 0;
}

static CUresult enqueue_fill(CUstream stream, const usm_command *command)
{
    size_t size = command->as.fill.pattern_size, n = command->as.fill.nbytes / size;
    CUdeviceptr dst = usm_cuda_address(command->as.fill.dst);
    unsigned short two;
    unsigned four;
    switch (size) {
        case 1:
            return usm_cuda.cuMemsetD8Async(dst, command->as.fill.pattern[0], n, stream);
        case 2:
            memcpy(&two, command->as.fill.pattern, sizeof two);
            return usm_cuda.cuMemsetD16Async(dst, two, n, stream);
        default:
            memcpy(&four, command->as.fill.pattern, sizeof four);
            return usm_cuda.cuMemsetD32Async(dst, four, n, stream);
    }
}

/* A hint for managed memory; other memory cannot move and stays where it is. A failure does not matter. */
static void enqueue_prefetch(const usm_event *event, CUstream stream, const usm_command *command)
{
    bool moves = false;
    for (size_t i = 0; i < event->n_accesses; i++) {
        const usm_alloc *alloc = event->accesses[i].alloc;
        moves |= alloc->kind == USM_SHARED && alloc->context->backend == event->queue->backend;
    }
    if (moves && usm_cuda.prefetch != NULL) {
        usm_cuda_note(
            event->queue->device,
            usm_cuda.prefetch(usm_cuda_address(command->as.prefetch.pointer), command->as.prefetch.nbytes,
                              usm_cuda_device_of(event->queue->device)->id, stream));
    }
}

/* The reference to the kernel keeps its module loaded until the launch has ended. */
usm_status usm_cuda_enqueue(usm_cuda_event *event, CUstream stream, const usm_command *command,
                            usm_error *error)
{
    const usm_queue *queue = event->event.queue;
    const char *function;
    CUresult code;
    switch (command->kind) {
        case USM_COMMAND_LAUNCH:
            if (event->kernel == NULL) {
                event->kernel = usm_kernel_retain(command->as.launch->kernel);
            }
            return usm_cuda_launch(stream, command->as.launch, error);
        case USM_COMMAND_COPY:
            function = "cuMemcpyAsync";
            code = enqueue_copy(event, stream, command);
            break;
        case USM_COMMAND_FILL:
            function = "cuMemsetD8Async";
            code = enqueue_fill(stream, command);
            break;
        case USM_COMMAND_PREFETCH:
            enqueue_prefetch(&event->event, stream, command);
            return USM_OK;
        default: /* a point in the order: what it waits for of ours is enqueued already */
            function = "cuStreamWaitEvent";
            code = command->event == NULL
                       ? CUDA_SUCCESS
                       : usm_cuda.cuStreamWaitEvent(stream, command->event, CU_EVENT_WAIT_DEFAULT);
    }
    return code == CUDA_SUCCESS ? USM_OK : usm_cuda_failed_on(queue->device, error, code, function);
}
