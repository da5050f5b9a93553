/*
 * Queues. A task whose dependencies the driver knows is enqueued in its submission, behind their events; one
 * that waits for something else (the host, another context, a task not yet enqueued) is enqueued when that
 * has ended.
 */
#include "opencl.h"

#include "../../core/copy.h"
#include "../../core/heap.h"

#include <stdlib.h>
#include <string.h>

static const usm_opencl_platform *platform_of(const usm_queue *queue)
{
    return usm_opencl_context_of(queue->context)->platform;
}

/*
 * The device's clock beside ours, as near as calls can be: the first one in a process may take long. False
 * where the driver does not tell.
 */
static bool compare_clocks(const usm_opencl_platform *platform, cl_device_id device, int64_t *clock_ns)
{
    int64_t shortest = INT64_MAX;
    for (int i = 0; i < 3; i++) {
        cl_ulong there = 0, host = 0;
        int64_t before = usm_clock_ns();
        if (platform->version < 201 || platform->api->clGetDeviceAndHostTimer == NULL ||
            platform->api->clGetDeviceAndHostTimer(device, &there, &host) != CL_SUCCESS) {
            return false;
        }
        int64_t after = usm_clock_ns();
        if (after - before < shortest) {
            shortest = after - before;
            *clock_ns = before + (after - before) / 2 - (int64_t)there;
        }
    }
    return true;
}

usm_status usm_opencl_queue_create(usm_queue *queue, usm_error *error)
{
    const usm_opencl_platform *platform = platform_of(queue);
    const usm_opencl_device *device = usm_opencl_device_of(queue->device);
    cl_command_queue_properties bits = (queue->in_order ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) |
                                       (queue->profiling ? CL_QUEUE_PROFILING_ENABLE : 0);
    const cl_queue_properties priority = queue->priority == USM_PRIORITY_HIGH  ? CL_QUEUE_PRIORITY_HIGH_KHR
                                         : queue->priority == USM_PRIORITY_LOW ? CL_QUEUE_PRIORITY_LOW_KHR
                                                                               : CL_QUEUE_PRIORITY_MED_KHR;
    const cl_queue_properties properties[] = {
        CL_QUEUE_PROPERTIES, bits, device->has_priorities ? CL_QUEUE_PRIORITY_KHR : 0, priority, 0};
    cl_int code = CL_INVALID_OPERATION;
    if (usm_opencl_forked()) {
        return usm_error_set(
            error, USM_FORKED,
            "OpenCL was used before this process was forked, and drivers do not survive that; start "
            "processes with multiprocessing's method 'spawn'");
    }
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
    native->has_timer = queue->profiling && compare_clocks(platform, device->id, &native->clock_ns);
    const char *function = "clCreateCommandQueueWithProperties";
    if (queue->foreign != NULL) {
        function = "clRetainCommandQueue";
        code = platform->api->clRetainCommandQueue(queue->foreign);
        native->id = code == CL_SUCCESS ? queue->foreign : NULL;
    } else {
        native->id = usm_opencl_spare_take(queue, native->context);
    }
    if (native->id == NULL && queue->foreign == NULL) {
        native->id =
            platform->api->clCreateCommandQueueWithProperties(native->context, device->id, properties, &code);
    }
    if (native->id == NULL) {
        free(native);
        return usm_opencl_failed(error, code, function);
    }
    /* Several, so that one stuck task does not stop the others of an out-of-order queue. */
    usm_worker_init(&native->worker, queue->in_order ? 1 : 4, NULL);
    native->owner = queue;
    queue->native = native;
    return USM_OK;
}

void usm_opencl_queue_destroy(usm_queue *queue)
{
    usm_opencl_queue *native = usm_opencl_queue_of(queue);
    usm_opencl_forget_queue(native);
    if (!usm_opencl_forked() && !usm_opencl_spare_put(queue)) {
        platform_of(queue)->api->clReleaseCommandQueue(native->id);
    }
    usm_worker_drop(&native->worker);
}

/* Copies and fills that cost less than handing them to the driver. */
#define RUN_NOW_BYTES ((size_t)32 << 10)

static void fill_now(const usm_command *command)
{
    char *dst = command->as.fill.dst;
    size_t size = command->as.fill.pattern_size, nbytes = command->as.fill.nbytes;
    if (size == 1) {
        memset(dst, command->as.fill.pattern[0], nbytes);
        return;
    }
    memcpy(dst, command->as.fill.pattern, size);
    for (size_t done = size; done < nbytes;) { /* by doubling */
        size_t more = done < nbytes - done ? done : nbytes - done;
        memcpy(dst + done, dst, more);
        done += more;
    }
}

/*
 * Nothing has to be waited for: a point in the order has been reached. The memory of a processor is the
 * host's, so that short copies and fills need no driver.
 */
bool usm_opencl_queue_run_now(usm_queue *queue, const usm_command *command, int64_t *start_ns,
                              int64_t *end_ns)
{
    bool here = queue->device->type == USM_CPU && queue->device->info.host_reads_device;
    bool point = command->kind == USM_COMMAND_BARRIER || command->kind == USM_COMMAND_MARKER;
    bool copy = command->kind == USM_COMMAND_COPY && here && command->as.copy.nbytes <= RUN_NOW_BYTES;
    bool fill = command->kind == USM_COMMAND_FILL && here && command->as.fill.nbytes <= RUN_NOW_BYTES;
    if (!(point || copy || fill) || usm_opencl_forked() || usm_queue_is_shared(queue)) {
        return false;
    }
    *start_ns = queue->profiling ? usm_clock_ns() : 0;
    if (copy) {
        memmove(command->as.copy.dst, command->as.copy.src, command->as.copy.nbytes);
    } else if (fill) {
        fill_now(command);
    }
    *end_ns = queue->profiling ? usm_clock_ns() : 0;
    return true;
}

static bool overlaps(const usm_command *command)
{
    uintptr_t dst = (uintptr_t)command->as.copy.dst, src = (uintptr_t)command->as.copy.src;
    return command->kind == USM_COMMAND_COPY && dst < src + command->as.copy.nbytes &&
           src < dst + command->as.copy.nbytes;
}

/* Regions that overlap, in memory that the host does not reach: through a block that the driver frees. */
static cl_int copy_through(const usm_queue *queue, const usm_command *command, cl_uint n_waits,
                           const cl_event *waits, cl_event *id)
{
    const usm_opencl_api *api = platform_of(queue)->api;
    cl_command_queue native = usm_opencl_queue_of(queue)->id;
    size_t nbytes = command->as.copy.nbytes;
    cl_event first = NULL;
    void *block = api->clEnqueueSVMFree == NULL
                      ? NULL
                      : api->clSVMAlloc(usm_opencl_queue_of(queue)->context, CL_MEM_READ_WRITE, nbytes, 0);
    if (block == NULL) {
        return CL_MEM_OBJECT_ALLOCATION_FAILURE;
    }
    cl_int code = api->clEnqueueSVMMemcpy(native, CL_FALSE, block, command->as.copy.src, nbytes, n_waits,
                                          waits, &first);
    if (code == CL_SUCCESS) {
        code = api->clEnqueueSVMMemcpy(native, CL_FALSE, command->as.copy.dst, block, nbytes, 1, &first, id);
        api->clEnqueueSVMFree(native, 1, &block, NULL, NULL, 1, code == CL_SUCCESS ? id : &first, NULL);
        api->clReleaseEvent(first);
    } else {
        api->clSVMFree(usm_opencl_queue_of(queue)->context, block);
    }
    return code;
}

static cl_int enqueue_copy(const usm_queue *queue, const usm_command *command, cl_uint n_waits,
                           const cl_event *waits, cl_event *id)
{
    const usm_opencl_platform *platform = platform_of(queue);
    cl_command_queue native = usm_opencl_queue_of(queue)->id;
    if (usm_opencl_context_of(queue->context)->memory == USM_OPENCL_INTEL_USM) {
        return platform->enqueue_memcpy(native, CL_FALSE, command->as.copy.dst, command->as.copy.src,
                                        command->as.copy.nbytes, n_waits, waits, id);
    }
    if (overlaps(command)) {
        return copy_through(queue, command, n_waits, waits, id);
    }
    return platform->api->clEnqueueSVMMemcpy(native, CL_FALSE, command->as.copy.dst, command->as.copy.src,
                                             command->as.copy.nbytes, n_waits, waits, id);
}

static cl_int enqueue_fill(const usm_queue *queue, const usm_command *command, cl_uint n_waits,
                           const cl_event *waits, cl_event *id)
{
    const usm_opencl_platform *platform = platform_of(queue);
    cl_command_queue native = usm_opencl_queue_of(queue)->id;
    if (usm_opencl_context_of(queue->context)->memory == USM_OPENCL_INTEL_USM) {
        return platform->enqueue_fill(native, command->as.fill.dst, command->as.fill.pattern,
                                      command->as.fill.pattern_size, command->as.fill.nbytes, n_waits, waits,
                                      id);
    }
    return platform->api->clEnqueueSVMMemFill(native, command->as.fill.dst, command->as.fill.pattern,
                                              command->as.fill.pattern_size, command->as.fill.nbytes, n_waits,
                                              waits, id);
}

/*
 * A point in the order. Where others enqueue too, theirs counts: in an out-of-order queue OpenCL's points
 * with a list wait for the list alone, so one without a list goes into it; and a barrier holds up what they
 * enqueue later.
 */
static cl_int enqueue_point(const usm_queue *queue, const usm_command *command, cl_uint n_waits,
                            const cl_event *waits, cl_event *id)
{
    const usm_opencl_api *api = platform_of(queue)->api;
    cl_command_queue native = usm_opencl_queue_of(queue)->id;
    if (!usm_queue_is_shared(queue)) {
        return api->clEnqueueMarkerWithWaitList(native, n_waits, waits, id);
    }
    if (!queue->in_order && n_waits > 0) {
        cl_int code = api->clEnqueueBarrierWithWaitList(native, n_waits, waits, NULL);
        n_waits = 0;
        waits = NULL;
        if (code != CL_SUCCESS) {
            return code;
        }
    }
    return command->kind == USM_COMMAND_BARRIER
               ? api->clEnqueueBarrierWithWaitList(native, n_waits, waits, id)
               : api->clEnqueueMarkerWithWaitList(native, n_waits, waits, id);
}

/* A hint: memory that the driver cannot move, such as somebody else's, is left where it is. */
static cl_int enqueue_prefetch(const usm_queue *queue, const usm_command *command, cl_uint n_waits,
                               const cl_event *waits, cl_event *id)
{
    const usm_opencl_platform *platform = platform_of(queue);
    cl_command_queue native = usm_opencl_queue_of(queue)->id;
    const void *pointer = command->as.prefetch.pointer;
    size_t nbytes = command->as.prefetch.nbytes;
    cl_int code = CL_INVALID_OPERATION;
    if (usm_opencl_context_of(queue->context)->memory != USM_OPENCL_INTEL_USM) {
        if (platform->api->clEnqueueSVMMigrateMem != NULL) {
            code = platform->api->clEnqueueSVMMigrateMem(native, 1, &pointer, &nbytes, 0, n_waits, waits, id);
        }
    } else if (platform->enqueue_migrate != NULL) {
        code = platform->enqueue_migrate(native, pointer, nbytes, 0, n_waits, waits, id);
    }
    return code == CL_SUCCESS ? code : enqueue_point(queue, command, n_waits, waits, id);
}

usm_status usm_opencl_enqueue(usm_opencl_event *event, const usm_command *command, cl_uint n_waits,
                              const cl_event *waits, usm_error *error)
{
    const usm_queue *queue = event->event.queue;
    const char *function;
    cl_event id = NULL;
    cl_int code;
    waits = n_waits > 0 ? waits : NULL;
    if (event->event.profiled) {
        event->enqueued_ns = usm_clock_ns();
    }
    switch (command->kind) {
        case USM_COMMAND_COPY:
            function = "copying";
            code = enqueue_copy(queue, command, n_waits, waits, &id);
            break;
        case USM_COMMAND_FILL:
            function = "filling";
            code = enqueue_fill(queue, command, n_waits, waits, &id);
            break;
        case USM_COMMAND_PREFETCH:
            function = "prefetching";
            code = enqueue_prefetch(queue, command, n_waits, waits, &id);
            break;
        case USM_COMMAND_STRIDED:
        case USM_COMMAND_SEQUENCE: {
            usm_status status = usm_opencl_launch(queue, command, n_waits, waits, &id, error);
            if (status != USM_OK) {
                return status;
            }
            code = CL_SUCCESS;
            break;
        }
        case USM_COMMAND_LAUNCH: {
            usm_status status =
                usm_opencl_launch_kernel(queue, command->as.launch, n_waits, waits, &id, error);
            if (status != USM_OK) {
                return status;
            }
            code = CL_SUCCESS;
            break;
        }
        default:
            function = "a point in the queue's order";
            code = enqueue_point(queue, command, n_waits, waits, &id);
    }
    if (code != CL_SUCCESS) {
        return usm_opencl_failed(error, code, function);
    }
    atomic_store_explicit(&event->id, id, memory_order_release);
    return USM_OK;
}

/* The driver's event of a link, where the driver can wait for it: already enqueued, in the same context. */
static cl_event driver_event(const usm_queue *queue, const usm_link *link)
{
    const usm_queue *other = link->event->queue;
    if (other->backend != queue->backend ||
        usm_opencl_queue_of(other)->context != usm_opencl_queue_of(queue)->context) {
        return NULL;
    }
    return atomic_load_explicit(&((usm_opencl_event *)link->event)->id, memory_order_acquire);
}

/*
 * What the driver is to wait for: false where a link is beyond it. The order of an in-order queue is the
 * driver's own, so that its tasks name each other in no wait list, which costs time in every one of them: a
 * task behind one that the driver could not end may run on what that one left, and fails with it (finish).
 */
static bool collect(usm_event *event, cl_event *waits, cl_uint *n, bool *quick)
{
    *n = 0;
    *quick = true;
    for (size_t i = 0; i < event->n_links; i++) {
        const usm_link *link = &event->links[i];
        if (usm_event_ended(link->event)) {
            if (usm_event_get_state(link->event) == USM_EVENT_ERROR && link->data) {
                return false; /* arming it inherits the failure */
            }
            continue;
        }
        cl_event id = driver_event(event->queue, link);
        if (id == NULL) {
            return false;
        }
        *quick = *quick && ((usm_opencl_event *)link->event)->quick;
        if (event->queue->in_order && link->event->queue == event->queue) {
            continue;
        }
        waits[(*n)++] = id;
    }
    return true;
}

static void fail(usm_event *event, const usm_error *error)
{
    usm_failure *failure = usm_failure_from_error(error);
    usm_event_finish(event, failure != NULL ? failure : usm_failure_no_memory());
}

/* All links have ended. */
static void enqueue_late(usm_event *base)
{
    usm_opencl_event *event = (usm_opencl_event *)base;
    usm_error error;
    event->late = true;
    if (atomic_load_explicit(&base->cause, memory_order_acquire) != NULL) {
        usm_event_finish(base, NULL);
    } else if (usm_opencl_enqueue(event, &event->command, 0, NULL, &error) != USM_OK) {
        fail(base, &error);
    } else {
        platform_of(base->queue)->api->clFlush(usm_opencl_queue_of(base->queue)->id);
        if (usm_opencl_watch(event, &error) !=
            USM_OK) { /* from a successful watch on, the event may be gone */
            fail(base, &error);
        }
    }
}

static void run_host(usm_work *work)
{
    usm_opencl_event *event = (usm_opencl_event *)((char *)work - offsetof(usm_opencl_event, work));
    usm_event *base = &event->event;
    usm_error error;
    usm_status status = USM_OK;
    error.failure = NULL;
    base->start_ns = base->profiled ? usm_clock_ns() : 0;
    if (atomic_load_explicit(&base->cause, memory_order_acquire) == NULL) {
        atomic_store_explicit(&base->state, USM_EVENT_RUNNING, memory_order_release);
        usm_event_set_current(base);
        status = event->command.as.host.run(event->command.as.host.argument, &error);
        usm_event_set_current(NULL);
    }
    base->end_ns = base->profiled ? usm_clock_ns() : 0;
    if (status == USM_OK) {
        usm_event_finish(base, NULL);
        return;
    }
    usm_failure *failure = usm_failure_from_error(&error);
    usm_error_clear(&error);
    usm_event_finish(base, failure != NULL ? failure : usm_failure_no_memory());
}

static void host_ready(usm_event *base)
{
    usm_worker_put(&usm_opencl_queue_of(base->queue)->worker, &((usm_opencl_event *)base)->work);
}

/* clEnqueue*Memcpy refuses regions that overlap; on a processor the host's memmove is the driver's copy. */
static usm_status move(void *argument, usm_error *error)
{
    const usm_command *command = argument;
    (void)error;
    memmove(command->as.copy.dst, command->as.copy.src, command->as.copy.nbytes);
    return USM_OK;
}

/* For an enqueue that comes later, or again. False when memory ran out. */
static bool keep_command(usm_opencl_event *event, const usm_command *command, bool once)
{
    event->command = *command;
    if (command->kind == USM_COMMAND_STRIDED && !once) {
        event->strided = usm_strided_clone(command->as.strided);
        event->command.as.strided = event->strided;
        return event->strided != NULL;
    }
    if (command->kind == USM_COMMAND_LAUNCH && !once) {
        event->launch = usm_launch_clone(command->as.launch);
        event->command.as.launch = event->launch;
        return event->launch != NULL;
    }
    if (overlaps(command) && event->event.queue->device->info.host_reads_device) {
        event->copy = *command;
        event->command.kind = USM_COMMAND_HOST;
        event->command.as.host.run = move;
        event->command.as.host.argument = &event->copy;
    }
    return true;
}

/* Behind what the driver knows, or, where `known` is false, when everything has ended. */
static usm_status enqueue(usm_opencl_event *event, const cl_event *waits, cl_uint n, bool known,
                          usm_error *error)
{
    usm_event *base = &event->event;
    usm_status status = USM_OK;
    if (event->command.kind == USM_COMMAND_HOST) {
        status = usm_worker_announce(&usm_opencl_queue_of(base->queue)->worker, "opencl", error);
        if (status == USM_OK && usm_event_arm(base, host_ready)) {
            host_ready(base);
        }
    } else if (!known) {
        if (usm_event_arm(base, enqueue_late)) {
            enqueue_late(base);
        }
    } else {
        status = usm_opencl_enqueue(event, &event->command, n, waits, error);
        if (status == USM_OK) {
            platform_of(base->queue)->api->clFlush(usm_opencl_queue_of(base->queue)->id);
            if (event->quick && n == 0 && base->queue->in_order && !base->profiled) {
                usm_opencl_watch_quietly(event);
            } else {
                status = usm_opencl_watch(event, error);
            }
        }
    }
    return status;
}

usm_status usm_opencl_queue_submit(usm_queue *queue, usm_event *base, const usm_command *command,
                                   usm_error *error)
{
    usm_opencl_event *event = (usm_opencl_event *)base;
    cl_event few[USM_INLINE_LINKS], *waits = few;
    cl_uint n = 0;
    if (usm_opencl_forked()) {
        return usm_error_set(
            error, USM_FORKED,
            "OpenCL was used before this process was forked, and drivers do not survive that; start "
            "processes with multiprocessing's method 'spawn'");
    }
    if (base->n_links > USM_INLINE_LINKS) {
        waits = usm_malloc(base->n_links * sizeof *waits);
        if (waits == NULL) {
            return usm_error_memory(error, base->n_links * sizeof *waits, "a list of events");
        }
    }
    (void)queue;
    event->work.run = run_host;
    bool quick, known = collect(base, waits, &n, &quick);
    event->quick = usm_opencl_is_quick(event, command) && known && quick && !usm_queue_is_shared(base->queue);
    usm_status status = keep_command(event, command, known && n == 0)
                            ? enqueue(event, waits, n, known, error)
                            : usm_error_memory(error, sizeof(usm_strided), "a copy's plan");
    if (waits != few) {
        free(waits);
    }
    return status;
}

void usm_opencl_queue_fork(usm_queue *queue, usm_fork_phase phase)
{
    usm_worker_fork(&usm_opencl_queue_of(queue)->worker, phase);
}
