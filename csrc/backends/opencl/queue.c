/*
 * Queues. A task whose dependencies the driver knows is enqueued in its submission, behind their events; one
 * that waits for something else (the host, another context, a task not yet enqueued) is enqueued when that
 * has ended.
 */
#include "opencl.h"

#include "core/base/heap.h"
#include "core/copy/copy.h"

#include <stdlib.h>
#include <string.h>

cl_command_queue usm_opencl_driver_queue(const usm_queue *queue, cl_context context, bool in_order,
                                         cl_int *code)
{
    const usm_opencl_device *device = usm_opencl_device_of(queue->device);
    cl_command_queue_properties bits = (in_order ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) |
                                       (queue->profiling ? CL_QUEUE_PROFILING_ENABLE : 0);
    const cl_queue_properties priority = queue->priority == USM_PRIORITY_HIGH  ? CL_QUEUE_PRIORITY_HIGH_KHR
                                         : queue->priority == USM_PRIORITY_LOW ? CL_QUEUE_PRIORITY_LOW_KHR
                                                                               : CL_QUEUE_PRIORITY_MED_KHR;
    const cl_queue_properties properties[] = {
        CL_QUEUE_PROPERTIES, bits, device->has_priorities ? CL_QUEUE_PRIORITY_KHR : 0, priority, 0};
    return usm_opencl_platform_of(queue)->api->clCreateCommandQueueWithProperties(context, device->id,
                                                                                  properties, code);
}

usm_status usm_opencl_queue_create(usm_queue *queue, usm_error *error)
{
    const usm_opencl_platform *platform = usm_opencl_platform_of(queue);
    cl_int code = CL_INVALID_OPERATION;
    if (usm_opencl_forked()) {
        return usm_opencl_after_fork(error);
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
    if (queue->profiling) {
        usm_opencl_compare_clocks(platform, usm_opencl_device_of(queue->device)->id, native);
    }
    const char *function = "clCreateCommandQueueWithProperties";
    if (queue->foreign != NULL) {
        function = "clRetainCommandQueue";
        code = platform->api->clRetainCommandQueue(queue->foreign);
        native->id = code == CL_SUCCESS ? queue->foreign : NULL;
    } else {
        native->id = usm_opencl_spare_take(queue, native->context);
    }
    if (native->id == NULL && queue->foreign == NULL) {
        native->id = usm_opencl_driver_queue(queue, native->context, queue->in_order, &code);
    }
    if (native->id == NULL) {
        free(native);
        return usm_opencl_failed(error, code, function);
    }
    /* Several, so that one stuck task does not stop the others of an out-of-order queue. */
    usm_worker_init(&native->worker, queue->in_order ? 1 : 4, NULL, NULL);
    native->owner = queue;
    queue->native = native;
    return USM_OK;
}

void usm_opencl_queue_destroy(usm_queue *queue)
{
    usm_opencl_queue *native = usm_opencl_queue_of(queue);
    usm_opencl_forget_queue(native);
    if (!usm_opencl_forked() && native->chain.id != NULL) {
        usm_opencl_platform_of(queue)->api->clReleaseCommandQueue(native->chain.id);
    }
    if (!usm_opencl_forked() && !usm_opencl_spare_put(queue)) {
        usm_opencl_platform_of(queue)->api->clReleaseCommandQueue(native->id);
    }
    usm_worker_drop(&native->worker);
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
 * What the driver is to wait for: false where a link is beyond it. *final: see usm_opencl_event. The order of
 * an in-order queue is the driver's own, so that its tasks name each other in no wait list, which costs time
 * in every one of them: a task behind one that the driver could not end may run on what that one left, and
 * fails with it (finish). So it is in a chain, for a task that is to go there (`chained`).
 */
static bool collect(usm_event *event, bool chained, cl_event *waits, cl_uint *n, bool *quick, bool *final,
                    int32_t *before_us)
{
    *n = 0;
    *quick = *final = true;
    *before_us = 0;
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
        const usm_opencl_event *earlier = (usm_opencl_event *)link->event;
        *quick = *quick && earlier->quick;
        *before_us = earlier->cost_us > *before_us ? earlier->cost_us : *before_us;
        if (link->event->queue == event->queue && earlier->final &&
            (event->queue->in_order || (chained && earlier->chained))) {
            continue; /* one that may go again would do so behind this one */
        }
        *final = *final && link->data && earlier->final;
        waits[(*n)++] = id;
    }
    return true;
}

static void fail(usm_event *event, const usm_error *error)
{
    usm_failure *failure = usm_failure_from_error(error);
    usm_event_finish(event, failure != NULL ? failure : usm_failure_no_memory());
}

/* All links have ended. Queue lock at most; on success, the event may be gone. */
static usm_status enqueue_alone(usm_opencl_event *event, usm_error *error)
{
    const usm_queue *queue = event->event.queue;
    event->late = event->final = true;
    usm_status status = usm_opencl_enqueue(event, &event->command, 0, NULL, error);
    if (status == USM_OK) {
        usm_opencl_platform_of(queue)->api->clFlush(usm_opencl_queue_of_task(event));
        status = usm_opencl_watch(event, error);
    }
    return status;
}

/* All links have ended. No lock held. */
static void enqueue_late(usm_event *base)
{
    usm_error error;
    if (atomic_load_explicit(&base->cause, memory_order_acquire) != NULL) {
        usm_event_finish(base, NULL);
    } else if (enqueue_alone((usm_opencl_event *)base, &error) != USM_OK) {
        fail(base, &error);
    }
}

static void run_host(usm_work *work)
{
    usm_opencl_event *event = (usm_opencl_event *)((char *)work - offsetof(usm_opencl_event, work));
    usm_event *base = &event->event;
    usm_error error;
    usm_status status = USM_OK;
    error.failure = NULL;
    base->start_ns = base->profiled || base->traced ? usm_clock_ns() : 0;
    if (atomic_load_explicit(&base->cause, memory_order_acquire) == NULL) {
        atomic_store_explicit(&base->state, USM_EVENT_RUNNING, memory_order_release);
        usm_event_set_current(base);
        status = event->command.as.host.run(event->command.as.host.argument, &error);
        usm_event_set_current(NULL);
    }
    base->end_ns = base->profiled || base->traced ? usm_clock_ns() : 0;
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
    if (command->kind == USM_COMMAND_LAUNCH && once) { /* of the fields, enqueue() looks at this one */
        event->command.kind = command->kind;
        event->command.as.launch = command->as.launch;
        return true;
    }
    event->command = *command;
    if (command->kind == USM_COMMAND_STRIDED && !once) {
        event->strided = usm_strided_clone(command->as.strided);
        event->command.as.strided = event->strided;
        return event->strided != NULL;
    }
    if (command->kind == USM_COMMAND_LAUNCH) {
        event->launch = usm_launch_clone(command->as.launch);
        event->command.as.launch = event->launch;
        return event->launch != NULL;
    }
    if (usm_opencl_overlaps(command) && event->event.queue->device->info.host_reads_device) {
        event->copy = *command;
        event->command.kind = USM_COMMAND_HOST;
        event->command.as.host.run = move;
        event->command.as.host.argument = &event->copy;
    }
    return true;
}

/* On a thread of the queue's own. */
static usm_status submit_to_host(usm_opencl_event *event, usm_error *error)
{
    usm_status status =
        usm_worker_announce(&usm_opencl_queue_of(event->event.queue)->worker, "opencl", error);
    if (status == USM_OK && usm_event_arm(&event->event, host_ready)) {
        host_ready(&event->event);
    }
    return status;
}

/* Something that the driver cannot wait for. The queue's lock is held, so that no event may end in here. */
static usm_status submit_late(usm_opencl_event *event, usm_error *error)
{
    if (!usm_event_arm(&event->event, enqueue_late)) {
        return USM_OK;
    }
    /* All of it has ended meanwhile. */
    if (atomic_load_explicit(&event->event.cause, memory_order_acquire) == NULL) {
        return enqueue_alone(event, error);
    }
    event->command.kind = USM_COMMAND_HOST; /* it ends without having run, where no lock is held */
    usm_status status =
        usm_worker_announce(&usm_opencl_queue_of(event->event.queue)->worker, "opencl", error);
    if (status == USM_OK) {
        host_ready(&event->event);
    }
    return status;
}

/* Behind what the driver knows, or, where `known` is false, when everything has ended. */
static usm_status enqueue(usm_opencl_event *event, const cl_event *waits, cl_uint n, bool known,
                          usm_error *error)
{
    usm_event *base = &event->event;
    usm_status status = USM_OK;
    if (event->command.kind == USM_COMMAND_HOST) {
        status = submit_to_host(event, error);
    } else if (!known) {
        status = submit_late(event, error);
    } else {
        status = usm_opencl_enqueue(event, &event->command, n, waits, error);
        if (status == USM_OK) {
            usm_opencl_platform_of(base->queue)->api->clFlush(usm_opencl_queue_of_task(event));
            if (event->quick && event->final && !base->profiled) {
                usm_opencl_watch_quietly(event);
            } else {
                status = usm_opencl_watch(event, error);
            }
        }
    }
    return status;
}

/* Does it come behind others of its queue, which is out of order? *follows: behind the end of the chain. */
static bool comes_behind(const usm_event *event, bool *follows)
{
    bool behind = false;
    *follows = false;
    for (size_t i = 0; i < event->n_links; i++) {
        const usm_event *earlier = event->links[i].event;
        if (earlier->queue == event->queue && !usm_event_ended(earlier)) {
            behind = true;
            *follows = *follows || usm_opencl_chain_ends_with(event->queue, (usm_opencl_event *)earlier);
        }
    }
    return behind;
}

/* What the task waits for; then it is known whether it goes into the queue's chain. */
static bool find_place(usm_opencl_event *event, bool may_chain, cl_event *waits, cl_uint *n, bool *quick,
                       int32_t *before_us)
{
    usm_queue *queue = event->event.queue;
    bool final, known, follows = false, chained = false;
    if (may_chain && !queue->in_order && !usm_queue_is_shared(queue) &&
        comes_behind(&event->event, &follows)) {
        chained = usm_opencl_chain_takes(queue, follows);
    }
    known = collect(&event->event, chained, waits, n, quick, &final, before_us);
    if (chained && !(known && final)) { /* one that may go again has to come behind events */
        chained = false;
        known = collect(&event->event, false, waits, n, quick, &final, before_us);
    }
    event->final = known && final;
    if (chained) {
        usm_opencl_chain_add(event);
    }
    return known;
}

usm_status usm_opencl_queue_submit(usm_queue *queue, usm_event *base, const usm_command *command,
                                   usm_error *error)
{
    usm_opencl_event *event = (usm_opencl_event *)base;
    cl_event few[USM_INLINE_LINKS], *waits = few;
    cl_uint n = 0;
    if (usm_opencl_forked()) {
        return usm_opencl_after_fork(error);
    }
    if (base->n_links > USM_INLINE_LINKS) {
        waits = usm_malloc(base->n_links * sizeof *waits);
        if (waits == NULL) {
            return usm_error_memory(error, base->n_links * sizeof *waits, "a list of events");
        }
    }
    (void)queue;
    event->work.run = run_host;
    int32_t before_us;
    bool quick, known = find_place(event, command->kind != USM_COMMAND_HOST, waits, &n, &quick, &before_us);
    event->quick =
        usm_opencl_is_quick(event, command, before_us) && known && quick && !usm_queue_is_shared(base->queue);
    usm_status status = keep_command(event, command, event->final)
                            ? enqueue(event, waits, n, known, error)
                            : usm_error_memory(error, sizeof(usm_strided), "a copy's plan");
    if (status != USM_OK) {
        usm_opencl_chain_drop(event);
    }
    if (waits != few) {
        free(waits);
    }
    return status;
}

void usm_opencl_queue_fork(usm_queue *queue, usm_fork_phase phase)
{
    usm_worker_fork(&usm_opencl_queue_of(queue)->worker, phase);
}
