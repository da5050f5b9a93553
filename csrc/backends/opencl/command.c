/* What each command is for the driver; and those that are done without it. */
#include "opencl.h"

#include "cpu/cpu.h"

/* Copies and fills that cost about what handing them to the driver does: a few microseconds. */
#define RUN_NOW_BYTES ((size_t)128 << 10)
/* From here on the host's loops are worth it: they go past the caches, on all processors. */
#define LARGE_BYTES ((size_t)4 << 20)

/* Drivers copy and fill with ordinary stores, some of them with one thread. */
static bool is_large_here(const usm_queue *queue, size_t nbytes)
{
    return queue->device->info.is_host && nbytes >= LARGE_BYTES;
}

/* Twice what is written, since it is slower than plain bytes. */
static bool is_short(const usm_strided *strided)
{
    size_t cost = 2 * (size_t)usm_dtype_table[strided->dst_dtype].itemsize;
    for (int i = 0; i < strided->ndim && cost <= RUN_NOW_BYTES; i++) {
        cost *= (size_t)strided->shape[i];
    }
    return cost <= RUN_NOW_BYTES;
}

/*
 * Nothing has to be waited for: a point in the order has been reached. The memory of a processor is the
 * host's, so that short copies, fills and built-in kernels need no driver.
 */
bool usm_opencl_queue_run_now(usm_queue *queue, const usm_command *command, int64_t *start_ns,
                              int64_t *end_ns)
{
    bool here = queue->device->type == USM_CPU && queue->device->info.host_reads_device;
    bool point = command->kind == USM_COMMAND_BARRIER || command->kind == USM_COMMAND_MARKER;
    bool copy = command->kind == USM_COMMAND_COPY && here && command->as.copy.nbytes <= RUN_NOW_BYTES;
    bool fill = command->kind == USM_COMMAND_FILL && here && command->as.fill.nbytes <= RUN_NOW_BYTES;
    bool strided =
        command->kind == USM_COMMAND_STRIDED && queue->device->info.is_host && is_short(command->as.strided);
    bool builtin = command->kind == USM_COMMAND_LAUNCH &&
                   usm_opencl_is_builtin_here(queue, command->as.launch) &&
                   command->as.launch->cost <= RUN_NOW_BYTES;
    if (!(point || copy || fill || strided || builtin) || usm_opencl_forked() || usm_queue_is_shared(queue)) {
        return false;
    }
    *start_ns = queue->profiling ? usm_clock_ns() : 0;
    if (copy || fill) {
        usm_cpu_block(command, 1);
    } else if (strided) {
        usm_cpu_strided(command->as.strided, 1);
    } else if (builtin) {
        usm_opencl_builtin_now(command->as.launch, 1);
    }
    *end_ns = queue->profiling ? usm_clock_ns() : 0;
    return true;
}

bool usm_opencl_overlaps(const usm_command *command)
{
    uintptr_t dst = (uintptr_t)command->as.copy.dst, src = (uintptr_t)command->as.copy.src;
    return command->kind == USM_COMMAND_COPY && dst < src + command->as.copy.nbytes &&
           src < dst + command->as.copy.nbytes;
}

/* Regions that overlap, in memory that the host does not reach: through a block that the driver frees. */
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

static cl_int enqueue_copy(const usm_opencl_turn *turn, const usm_command *command, cl_event *id)
{
    const usm_queue *queue = turn->queue;
    const usm_opencl_platform *platform = usm_opencl_platform_of(queue);
    if (usm_opencl_context_of(queue->context)->memory == USM_OPENCL_INTEL_USM) {
        return platform->enqueue_memcpy(turn->id, CL_FALSE, command->as.copy.dst, command->as.copy.src,
                                        command->as.copy.nbytes, turn->n_waits, turn->waits, id);
    }
    if (usm_opencl_overlaps(command)) {
        return copy_through(turn, command, id);
    }
    return platform->api->clEnqueueSVMMemcpy(turn->id, CL_FALSE, command->as.copy.dst, command->as.copy.src,
                                             command->as.copy.nbytes, turn->n_waits, turn->waits, id);
}

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
 * A point in the order. Where others enqueue too, theirs counts: in an out-of-order queue OpenCL's points
 * with a list wait for the list alone, so one without a list goes into it; and a barrier holds up what they
 * enqueue later.
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

/* A hint: memory that the driver cannot move, such as somebody else's, is left where it is. */
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

usm_status usm_opencl_enqueue(usm_opencl_event *event, const usm_command *command, cl_uint n_waits,
                              const cl_event *waits, usm_error *error)
{
    const usm_queue *queue = event->event.queue;
    const usm_opencl_turn turn = {queue, usm_opencl_queue_of(queue)->id, n_waits, n_waits > 0 ? waits : NULL};
    const char *function;
    cl_event id = NULL;
    cl_int code;
    switch (command->kind) {
        case USM_COMMAND_COPY:
            if (is_large_here(queue, command->as.copy.nbytes)) {
                function = "clEnqueueNativeKernel";
                code = usm_opencl_block_here(&turn, command, &id);
                break;
            }
            function = "copying";
            code = enqueue_copy(&turn, command, &id);
            break;
        case USM_COMMAND_FILL:
            if (is_large_here(queue, command->as.fill.nbytes)) {
                function = "clEnqueueNativeKernel";
                code = usm_opencl_block_here(&turn, command, &id);
                break;
            }
            function = "filling";
            code = enqueue_fill(&turn, command, &id);
            break;
        case USM_COMMAND_PREFETCH:
            function = "prefetching";
            code = enqueue_prefetch(&turn, command, &id);
            break;
        case USM_COMMAND_STRIDED:
            function = "clEnqueueNativeKernel";
            code = usm_opencl_strided_here(&turn, command->as.strided, &id);
            break;
        case USM_COMMAND_LAUNCH: {
            if (usm_opencl_is_builtin_here(queue, command->as.launch)) {
                function = "clEnqueueNativeKernel";
                code = usm_opencl_builtin_here(&turn, command->as.launch, &id);
                break;
            }
            usm_status status = usm_opencl_launch_kernel(&turn, command->as.launch, &id, error);
            if (status != USM_OK) {
                return status;
            }
            code = CL_SUCCESS;
            break;
        }
        default:
            function = "a point in the queue's order";
            code = enqueue_point(&turn, command, &id);
    }
    if (code != CL_SUCCESS) {
        return usm_opencl_failed(error, code, function);
    }
    atomic_store_explicit(&event->id, id, memory_order_release);
    return USM_OK;
}
