/*
 * Queues that are out of order, and tasks in them that come behind each other all the same, as they do in
 * most programs: an event that a driver has to look after for each of them costs it as much as the launch. So
 * such tasks go into a second queue of the driver's, which is in order, and name those that are in it in no
 * wait list. A task goes there where it waits for the last one in it, or where that one has ended: nothing
 * comes behind what it does not wait for. Once others have the driver's queue, everything goes into that one.
 */
#include "opencl.h"

/* So many tasks that waited for others, and the second queue is worth it. */
#define WORTH_IT 4

static void create(usm_queue *queue)
{
    usm_opencl_queue *native = usm_opencl_queue_of(queue);
    cl_int code;
    native->chain.id = usm_opencl_driver_queue(queue, native->context, true, &code);
    if (native->chain.id == NULL) {
        native->chain.wanted = 0; /* the next time that it is worth it */
    }
}

bool usm_opencl_chain_takes(usm_queue *queue, bool follows)
{
    usm_opencl_chain *chain = &usm_opencl_queue_of(queue)->chain;
    if (chain->id != NULL) {
        return follows || atomic_load_explicit(&chain->tasks, memory_order_acquire) == 0;
    }
    if (++chain->wanted < WORTH_IT) {
        return false;
    }
    create(queue);
    return chain->id != NULL;
}

bool usm_opencl_chain_ends_with(const usm_queue *queue, const usm_opencl_event *event)
{
    return event->chained && event->event.queue == queue &&
           event->event.order == usm_opencl_queue_of(queue)->chain.last;
}

void usm_opencl_chain_add(usm_opencl_event *event)
{
    usm_opencl_chain *chain = &usm_opencl_queue_of(event->event.queue)->chain;
    event->chained = true;
    chain->last = event->event.order;
    atomic_fetch_add_explicit(&chain->tasks, 1, memory_order_relaxed);
}

void usm_opencl_chain_drop(usm_opencl_event *event)
{
    if (event->chained) {
        usm_opencl_chain *chain = &usm_opencl_queue_of(event->event.queue)->chain;
        atomic_fetch_sub_explicit(&chain->tasks, 1, memory_order_release);
    }
}

void usm_opencl_chain_close(usm_queue *queue)
{
    const usm_opencl_api *api = usm_opencl_platform_of(queue)->api;
    usm_opencl_queue *native = usm_opencl_queue_of(queue);
    cl_event end = NULL;
    if (queue->in_order || usm_opencl_forked()) {
        return;
    }
    usm_lock_take(&queue->lock); /* a submission that has not seen that the queue is shared is through */
    if (atomic_load_explicit(&native->chain.tasks, memory_order_acquire) > 0 &&
        api->clEnqueueMarkerWithWaitList(native->chain.id, 0, NULL, &end) == CL_SUCCESS) {
        api->clFlush(native->chain.id);
        api->clEnqueueBarrierWithWaitList(native->id, 1, &end, NULL);
        api->clFlush(native->id);
        api->clReleaseEvent(end);
    }
    usm_lock_give(&queue->lock);
}
