/*
 * What each command is for the driver: which function enqueues it, by unified shared memory or by SVM.
 * Commands that csrc/cpu does are in native_kernel.c.
 */
#include "opencl.h"

/*
 * Regions that overlap, in memory that the host does not reach: through a block that the driver frees behind
 * the second copy (clEnqueueSVMFree; OpenCL API 3.0, 5.6.1). clEnqueueSVMMemcpy returns CL_MEM_COPY_OVERLAP
 * for such regions.
 */
static cl_int copy_through(const usm_opencl_turn *turn, const usm_command *command, cl_event *id)
{
    const usm_queue *queue = turn->queue;
    const usm_opencl_api *api = usm_opencl_platform_of(queue)->api;
    size_t nbytes = command->as.copy.nbytes;
    cl_event first = NULL;
    void *block = api->clEnqueueSVMFree == NULL
                      ? NULL
                      : api->clSVMAlloc(usm_opencl_queue_of(queue)->context, CL_MEM_READ_WRITE, nbytes, 0);
    if (block == NULL) {
        return CL_MEM_OBJECT_ALLOCATION_FAILURE;
    }
    cl_int code = api->clEnqueueSVMMemcpy(turn->id, CL_FALSE, block, command->as.copy.src, nbytes,
                                          turn->n_waits, turn->waits, &first);
    if (code == CL_SUCCESS) {
        code =
            api->clEnqueueSVMMemcpy(turn->id, CL_FALSE, command->as.copy.dst, block, nbytes, 1, &first, id);
        api->clEnqueueSVMFree(turn->id, 1, &block, NULL, NULL, 1, code == CL_SUCCESS ? id : &first, NULL);
        api->clReleaseEvent(first);
    } else {
        api->clSVMFree(usm_opencl_queue_of(queue)->context, block);
    }
    return code;
}

/*
 * clEnqueueMemcpyINTEL takes pointers of any memory, also of the host. clEnqueueSVMMemcpy does so too, but
 * not regions that overlap (OpenCL API 3.0, 5.6.1).
 */
static cl_int enqueue_copy(const usm_opencl_turn *turn, const usm_command *command, cl_event *id)
{
    const usm_queue *queue = turn->queue;
    const usm_opencl_platform *platform = usm_opencl_platform_of(queue);
    if (usm_opencl_context_of(queue->context)->memory == USM_OPENCL_INTEL_USM) {
        return platform->enqueue_memcpy(turn->id, CL_FALSE, command->as.copy.dst, command->as.copy.src,
                                        command->as.copy.nbytes, turn->n_waits, turn->waits, id);
    }
    if (usm_command_overlaps(command)) {
        return copy_through(turn, command, id);
    }
    return platform->api->clEnqueueSVMMemcpy(turn->id, CL_FALSE, command->as.copy.dst, command->as.copy.src,
                                             command->as.copy.nbytes, turn->n_waits, turn->waits, id);
}

/*
 * Both functions take patterns of 1 to 128 bytes that are powers of 2, and addresses that are multiples of
 * the pattern's size (command.h). Fills at other addresses do not come here (queue.c).
 */
static cl_int enqueue_fill(const usm_opencl_turn *turn, const usm_command *command, cl_event *id)
{
    const usm_queue *queue = turn->queue;
    const usm_opencl_platform *platform = usm_opencl_platform_of(queue);
    if (usm_opencl_context_of(queue->context)->memory == USM_OPENCL_INTEL_USM) {
        return platform->enqueue_fill(turn->id, command->as.fill.dst, command->as.fill.pattern,
                                      command->as.fill.pattern_size, command->as.fill.nbytes, turn->n_waits,
                                      turn->waits, id);
    }
    return platform->api->clEnqueueSVMMemFill(turn->id, command->as.fill.dst, command->as.fill.pattern,
                                              command->as.fill.pattern_size, command->as.fill.nbytes,
                                              turn->n_waits, turn->waits, id);
}

/*
 * A point in the order (OpenCL API 3.0, 5.12). In a queue that other libraries use too, their commands count
 * as well: in an out-of-order queue OpenCL's points with a wait list wait for the list alone, so a barrier
 * takes the list, and the point goes behind it without one. A barrier also holds up what they enqueue later.
 */
static cl_int enqueue_point(const usm_opencl_turn *turn, const usm_command *command, cl_event *id)
{
    const usm_queue *queue = turn->queue;
    const usm_opencl_api *api = usm_opencl_platform_of(queue)->api;
    cl_uint n_waits = turn->n_waits;
    const cl_event *waits = turn->waits;
    if (!usm_queue_is_shared(queue)) {
        return api->clEnqueueMarkerWithWaitList(turn->id, n_waits, waits, id);
    }
    if (!queue->in_order && n_waits > 0) {
        cl_int code = api->clEnqueueBarrierWithWaitList(turn->id, n_waits, waits, NULL);
        n_waits = 0;
        waits = NULL;
        if (code != CL_SUCCESS) {
            return code;
        }
    }
    return command->kind == USM_COMMAND_BARRIER
               ? api->clEnqueueBarrierWithWaitList(turn->id, n_waits, waits, id)
               : api->clEnqueueMarkerWithWaitList(turn->id, n_waits, waits, id);
}

/*
 * A hint (clEnqueueMigrateMemINTEL, clEnqueueSVMMigrateMem of OpenCL 2.1): memory that the driver cannot
 * move, such as memory of another library, stays where it is, and the command becomes a point in the order.
 */
static cl_int enqueue_prefetch(const usm_opencl_turn *turn, const usm_command *command, cl_event *id)
{
    const usm_queue *queue = turn->queue;
    const usm_opencl_platform *platform = usm_opencl_platform_of(queue);
    const void *pointer = command->as.prefetch.pointer;
    size_t nbytes = command->as.prefetch.nbytes;
    cl_int code = CL_INVALID_OPERATION;
    if (usm_opencl_context_of(queue->context)->memory != USM_OPENCL_INTEL_USM) {
        if (platform->api->clEnqueueSVMMigrateMem != NULL) {
            code = platform->api->clEnqueueSVMMigrateMem(turn->id, 1, &pointer, &nbytes, 0, turn->n_waits,
                                                         turn->waits, id);
        }
    } else if (platform->enqueue_migrate != NULL) {
        code = platform->enqueue_migrate(turn->id, pointer, nbytes, 0, turn->n_waits, turn->waits, id);
    }
    return code == CL_SUCCESS ? code : enqueue_point(turn, command, id);
}

/*
 * Queue lock held. Nothing waits: the driver returns as soon as the command is in its queue, and clFlush in
 * the caller makes it begin (OpenCL API 3.0, 5.15).
 */
usm_status usm_opencl_enqueue(usm_opencl_event *event, const usm_command *command, cl_uint n_waits,
                              const cl_event *waits, usm_error *error)
{
    const usm_queue *queue = event->event.queue;
    const usm_opencl_turn turn = {queue, usm_opencl_queue_of(queue)->id, n_waits, n_waits > 0 ? waits : NULL};
    usm_status status = USM_OK;
    const char *function;
    cl_event id = NULL;
    cl_int code = CL_SUCCESS;
    switch (usm_opencl_is_native_kernel(queue, command) ? USM_COMMAND_STRIDED : command->kind) {
        case USM_COMMAND_STRIDED:
            function = "clEnqueueNativeKernel";
            code = usm_opencl_enqueue_native(&turn, command, &id);
            break;
        case USM_COMMAND_COPY:
            function = "copying";
            code = enqueue_copy(&turn, command, &id);
            break;
        case USM_COMMAND_FILL:
            function = "filling";
            code = enqueue_fill(&turn, command, &id);
            break;
        case USM_COMMAND_PREFETCH:
            function = "prefetching";
            code = enqueue_prefetch(&turn, command, &id);
            break;
        case USM_COMMAND_LAUNCH:
            function = "clEnqueueNDRangeKernel";
            status = usm_opencl_launch_kernel(&turn, command->as.launch, &id, error);
            break;
        default:
            function = "a point in the queue's order";
            code = enqueue_point(&turn, command, &id);
    }
    if (code != CL_SUCCESS) {
        status = usm_opencl_failed(error, code, function);
    }
    atomic_store_explicit(&event->id, id, memory_order_release);
    return status;
}
