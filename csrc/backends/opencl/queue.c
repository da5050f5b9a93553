/*
 * Queues. A task whose dependencies the driver knows is enqueued in its submission, with their events as its
 * wait list. One that depends on something else (the host, another context, a task not yet enqueued) is
 * enqueued when that has ended: USM_LATER.
 */
#include "opencl.h"

#include "cpu/cpu.h"

#include "core/base/heap.h"

#include <stdlib.h>

/* What a thread does in less time than it takes to hand the command to the driver: a few microseconds. */
#define RUN_NOW_BYTES ((size_t)128 << 10)

/*
 * clCreateCommandQueueWithProperties (OpenCL API 3.0, 5.1); priorities are of cl_khr_priority_hints. The list
 * of properties ends at the first 0, also where that is the key of the priority.
 */
static cl_command_queue make_queue(const usm_queue *queue, cl_context context, cl_int *code)
{
    const usm_opencl_device *device = usm_opencl_device_of(queue->device);
    cl_command_queue_properties bits = (queue->in_order ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) |
                                       (queue->profiling ? CL_QUEUE_PROFILING_ENABLE : 0);
    const cl_queue_properties priority = queue->priority == USM_PRIORITY_HIGH  ? CL_QUEUE_PRIORITY_HIGH_KHR
                                         : queue->priority == USM_PRIORITY_LOW ? CL_QUEUE_PRIORITY_LOW_KHR
                                                                               : CL_QUEUE_PRIORITY_MED_KHR;
    const cl_queue_properties properties[] = {
        CL_QUEUE_PROPERTIES, bits, device->has_priorities ? CL_QUEUE_PRIORITY_KHR : 0, priority, 0};
    return usm_opencl_platform_of(queue)->api->clCreateCommandQueueWithProperties(context, device->id,
                                                                                  properties, code);
}

/*
 * A queue of another library is retained for the life of this one. A profiling queue compares the clocks
 * once, here (profiling.c).
 */
usm_status usm_opencl_queue_create(usm_queue *queue, usm_error *error)
{
    const usm_opencl_platform *platform = usm_opencl_platform_of(queue);
    cl_int code = CL_INVALID_OPERATION;
    if (queue->foreign == NULL && platform->api->clCreateCommandQueueWithProperties == NULL) {
        return usm_error_set(error, USM_VALUE, "%s is older than OpenCL 2.0", platform->name);
    }
    usm_opencl_queue *native = usm_calloc(1, sizeof *native);
    if (native == NULL) {
        return usm_error_memory(error, sizeof *native, "a queue");
    }
    usm_status status = usm_opencl_native_context(queue->context, queue->device, &native->context, error);
    if (status != USM_OK) {
        free(native);
        return status;
    }
    if (queue->profiling) {
        usm_opencl_compare_clocks(platform, usm_opencl_device_of(queue->device)->id, native);
    }
    const char *function = "clCreateCommandQueueWithProperties";
    if (queue->foreign != NULL) {
        function = "clRetainCommandQueue";
        code = platform->api->clRetainCommandQueue(queue->foreign);
        native->id = code == CL_SUCCESS ? queue->foreign : NULL;
    } else if ((native->id = usm_opencl_queue_cache_take(queue, native->context)) == NULL) {
        native->id = make_queue(queue, native->context, &code);
    }
    if (native->id == NULL) {
        free(native);
        return usm_opencl_failed(error, code, function);
    }
    queue->native = native;
    return USM_OK;
}

/* Queues out of order are kept instead of released; queue_cache.c says why. */
void usm_opencl_queue_destroy(usm_queue *queue)
{
    usm_opencl_queue *native = usm_opencl_queue_of(queue);
    if (!usm_opencl_queue_cache_put(queue)) {
        usm_opencl_platform_of(queue)->api->clReleaseCommandQueue(native->id);
    }
    free(native);
}

/*
 * Fills in the wait list. False: the driver cannot wait for one of the links. Sets event->state, and
 * *before_us to expected_us of the links. Tasks of an in-order queue are not in each other's lists, as the
 * driver keeps their order and a list costs time in every one of them: a task behind one that the driver
 * could not end may run on what that one left, and fails with it (usm_event_arm).
 */
static bool collect(usm_opencl_event *event, cl_event *waits, cl_uint *n, int32_t *before_us)
{
    usm_event *base = &event->event;
    bool final = true;
    *n = 0;
    *before_us = 0;
    for (size_t i = 0; i < base->n_links; i++) {
        const usm_link *link = &base->links[i];
        usm_link_state state = usm_link_look(base, link);
        if (state == USM_LINK_ENDED) {
            continue;
        }
        if (state == USM_LINK_ELSEWHERE ||
            usm_opencl_queue_of(link->event->queue)->context != usm_opencl_queue_of(base->queue)->context) {
            return false;
        }
        usm_opencl_event *earlier = (usm_opencl_event *)link->event;
        if (earlier->expected_us < 0 || *before_us < 0) {
            *before_us = -1;
        } else if (earlier->expected_us > *before_us) {
            *before_us = earlier->expected_us;
        }
        if (link->event->queue == base->queue && earlier->state == USM_OPENCL_FINAL &&
            base->queue->in_order) {
            continue; /* a task that may be enqueued again would then come after this one */
        }
        final = final && link->data && earlier->state == USM_OPENCL_FINAL;
        waits[(*n)++] = atomic_load_explicit(&earlier->id, memory_order_acquire);
    }
    event->state = final ? USM_OPENCL_FINAL : USM_OPENCL_BEHIND;
    return true;
}

/* A copy or a fill of memory that the host accesses. */
usm_status usm_opencl_queue_run(usm_event *event, const usm_command *command, usm_error *error)
{
    (void)event, (void)error;
    usm_cpu_block(command, 1);
    return USM_OK;
}

/* Whether the driver knows the memory that the task writes to: that of the queue's context, or all memory. */
static bool is_known(const usm_event *event)
{
    const usm_queue *queue = event->queue;
    const usm_alloc *alloc = event->n_accesses > 0 ? event->accesses[0].alloc : NULL; /* NULL: a buffer */
    return queue->device->info.has_usm_system ||
           (alloc != NULL && alloc->context->backend == queue->backend &&
            usm_opencl_find_context(alloc->context, usm_opencl_device_of(alloc->place->device)->id) ==
                usm_opencl_queue_of(queue)->context);
}

/*
 * Drivers take other memory as a side of copies alone (clEnqueueMemFillINTEL; clEnqueueSVMMemFill, OpenCL API
 * 3.0, 5.6.1): PoCL 6 ends the process. Fills at such addresses are of the host's memory, too, since the core
 * launches kernels for those of the device's.
 */
static bool is_fill_of_host(const usm_event *event, const usm_command *command)
{
    return command->kind == USM_COMMAND_FILL && !usm_opencl_is_native_kernel(event->queue, command) &&
           (!is_known(event) || (uintptr_t)command->as.fill.dst % command->as.fill.pattern_size != 0);
}

/*
 * `waits` has room for all links. A command is kept where it may have to be enqueued again, and where the
 * driver calls csrc/cpu with it later.
 */
static usm_status submit(usm_opencl_event *event, const usm_command *command, cl_event *waits,
                         usm_error *error)
{
    int32_t before_us;
    cl_uint n;
    usm_status status = USM_OK;
    if (!collect(event, waits, &n, &before_us)) {
        return USM_LATER;
    }
    /* Of a task that the driver skipped: others may still wait for the event. */
    cl_event refused = atomic_load_explicit(&event->id, memory_order_relaxed);
    if (USM_UNLIKELY(refused != NULL)) {
        event->refused = refused;
        atomic_store_explicit(&event->id, NULL, memory_order_release);
    }
    atomic_store_explicit(&event->status, CL_QUEUED, memory_order_relaxed);
    usm_opencl_expect(event, command, before_us);
    if (event->state == USM_OPENCL_BEHIND || usm_opencl_is_native_kernel(event->event.queue, command)) {
        status = usm_event_keep_command(&event->event, command, error);
        command = &event->event.command;
    }
    if (status == USM_OK) {
        status = usm_opencl_enqueue(event, command, n, waits, error);
    }
    if (status == USM_OK) {
        const usm_queue *queue = event->event.queue;
        usm_opencl_platform_of(queue)->api->clFlush(usm_opencl_queue_of(queue)->id);
    }
    return status;
}

/*
 * The wait list is on the stack for the usual number of links. Nothing is kept of it: the driver retains the
 * events (OpenCL API 3.0, 5.11).
 */
usm_status usm_opencl_queue_submit(usm_event *base, const usm_command *command, usm_error *error)
{
    usm_opencl_event *event = (usm_opencl_event *)base;
    cl_event few[USM_INLINE_LINKS], *waits = few;
    if (command->kind == USM_COMMAND_HOST ||
        (usm_command_overlaps(command) && base->queue->device->info.host_reads_device) ||
        is_fill_of_host(base, command)) {
        return USM_ON_HOST;
    }
    if (base->n_links > USM_INLINE_LINKS) {
        waits = usm_malloc(base->n_links * sizeof *waits);
        if (waits == NULL) {
            return usm_error_memory(error, base->n_links * sizeof *waits, "a list of events");
        }
    }
    usm_status status = submit(event, command, waits, error);
    if (waits != few) {
        free(waits);
    }
    return status;
}

/*
 * Commands that take less time than enqueuing them. The memory of a processor is the host's, so they
 * need no driver.
 */
static bool is_short(const usm_queue *queue, const usm_command *command)
{
    const usm_device_info *info = &queue->device->info;
    switch (command->kind) {
        case USM_COMMAND_COPY:
            return info->host_reads_device && command->as.copy.nbytes <= RUN_NOW_BYTES;
        case USM_COMMAND_FILL:
            return info->host_reads_device && command->as.fill.nbytes <= RUN_NOW_BYTES;
        case USM_COMMAND_STRIDED: /* twice what is written: slower than plain bytes */
            return info->is_host && 2 * usm_dtype_table[command->as.strided->dst_dtype].itemsize *
                                            usm_strided_count(command->as.strided) <=
                                        RUN_NOW_BYTES;
        case USM_COMMAND_LAUNCH:
            return usm_opencl_is_cpu_kernel(queue, command->as.launch) &&
                   command->as.launch->cost <= RUN_NOW_BYTES;
        default:
            return false;
    }
}

bool usm_opencl_queue_run_now(usm_queue *queue, const usm_command *command, int64_t *start_ns,
                              int64_t *end_ns)
{
    bool is_point = usm_command_is_point(command); /* reached, since nothing has to be waited for */
    if (!(is_point || is_short(queue, command)) || usm_queue_is_shared(queue)) {
        return false;
    }
    *start_ns = queue->profiling ? usm_clock_ns() : 0;
    if (!is_point) {
        usm_opencl_run_on_cpu(command, 1);
    }
    *end_ns = queue->profiling ? usm_clock_ns() : 0;
    return true;
}
