#include "pending.h"

#include "core/device/rule.h"

void usm_pending_append(usm_queue *queue, usm_event *event)
{
    usm_event *last = atomic_load_explicit(&queue->last, memory_order_relaxed);
    event->previous = last;
    event->following = NULL;
    *(last != NULL ? &last->following : &queue->first) = event;
    atomic_store_explicit(&queue->last, event, memory_order_relaxed);
}

void usm_pending_forget(usm_queue *queue, usm_event *event)
{
    usm_lock_take(&queue->lock);
    for (; event != NULL; event = event->next_ended) {
        if (event->previous != NULL || queue->first == event) {
            *(event->previous != NULL ? &event->previous->following : &queue->first) = event->following;
            if (event->following != NULL) {
                event->following->previous = event->previous;
            } else { /* release: a thread that finds the queue idle without the lock sees what the task wrote
                      */
                atomic_store_explicit(&queue->last, event->previous, memory_order_release);
            }
            event->previous = event->following = NULL;
        }
        if (queue->barrier == event) {
            queue->barrier = NULL;
        }
    }
    usm_lock_give(&queue->lock);
}

/* How many events of the queue have not ended. Queue lock held. */
static size_t count_pending(const usm_queue *queue)
{
    size_t n = 0;
    for (const usm_event *event = queue->first; event != NULL; event = event->following) {
        n++;
    }
    return n;
}

usm_status usm_pending_list(usm_queue *queue, usm_wait_list *list, usm_error *error)
{
    bool enough = true;
    usm_wait_list_init(list);
    usm_lock_take(&queue->lock);
    usm_event *event = atomic_load_explicit(&queue->last, memory_order_relaxed);
    while (event != NULL && enough) {
        enough = usm_wait_list_add(list, event, false);
        /* The last one ends last. Inside a task it may wait for that task, and the others are needed too. */
        event = queue->in_order && usm_event_current() == NULL ? NULL : event->previous;
    }
    usm_lock_give(&queue->lock);
    return enough ? USM_OK : usm_error_memory(error, list->n * 2 * sizeof(usm_wait), "a list of events");
}

size_t usm_queues_pending(usm_device **oldest)
{
    size_t n = 0;
    uint64_t order = UINT64_MAX;
    *oldest = NULL;
    usm_registry_lock();
    for (usm_queue *queue = usm_all_queues; queue != NULL; queue = queue->next) {
        usm_lock_take(&queue->lock);
        if (queue->first != NULL && queue->first->order < order) {
            order = queue->first->order;
            *oldest = queue->device;
        }
        n += count_pending(queue);
        usm_lock_give(&queue->lock);
    }
    usm_registry_unlock();
    return n;
}

/* Of usmpy, on the device or a part of it. */
static bool has_tasks_in_driver(usm_device *device)
{
    bool found = false;
    usm_registry_lock();
    for (usm_queue *queue = usm_all_queues; queue != NULL && !found; queue = queue->next) {
        if (usm_device_root(queue->device) != usm_device_root(device)) {
            continue;
        }
        usm_lock_take(&queue->lock);
        for (const usm_event *event = queue->first; event != NULL && !found; event = event->following) {
            found = usm_event_in_driver(event);
        }
        usm_lock_give(&queue->lock);
    }
    usm_registry_unlock();
    return found;
}

/*
 * As far as can be told without disturbing captures of others: tasks of ours, and what the streams have that
 * the default stream waits for.
 */
static bool is_at_work(usm_place *place)
{
    usm_stream_facts facts;
    usm_device *device = place->device;
    return has_tasks_in_driver(device) ||
           (usm_backend_has_streams(device->backend) && !usm_is_forked(device->backend) &&
            USM_CALL(device->backend->native, stream_inspect)(device, USM_STREAM_LEGACY, &facts, NULL) ==
                USM_OK &&
            !facts.idle);
}

const usm_place_part usm_pending_part = {.is_at_work = is_at_work};
