#include "event.h"

#include "core/base/heap.h"
#include "core/base/live.h"
#include "core/base/sync.h"
#include "core/device/rule.h"
#include "core/layout/strided.h"

#include <string.h>

static _Thread_local usm_event *current;

_Atomic uint64_t usm_event_next = 1;

void usm_event_set_current(usm_event *event)
{
    current = event;
    usm_alloc_inside = event == NULL ? 0 : event->order;
}

usm_event *usm_event_current(void)
{
    return current;
}

/*
 * Events are often made by one thread and released by another, which is slow for malloc: the queue keeps some
 * of their memory. Sanitizers find more when every event is a block of its own.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(USM_TESTING)
#define MOST_SPARE 0
#else
#define MOST_SPARE 640
#endif

static int room_for_spare(usm_queue *queue)
{
    return MOST_SPARE - usm_shared_freelist_returned(&queue->spare);
}

/*
 * Skips the inline arrays, since each line of the cache costs a few nanoseconds. Builds for tests fill them
 * with a pattern, so that reads of unwritten members fail. The size is hidden from the compiler: its code
 * for a known size takes longer than the whole function.
 */
static void zero(const usm_backend *backend, usm_event *event)
{
    size_t head = offsetof(usm_event, inline_accesses);
    __asm__("" : "+r"(head));
#ifdef USM_TESTING
    memset(event, 0xA5, backend->event_size);
#endif
    memset(event, 0, head);
    memset(event + 1, 0, backend->event_size - sizeof *event);
}

usm_event *usm_event_new(usm_queue *queue)
{
    usm_event *event = usm_shared_freelist_pop(&queue->spare);
    if (event == NULL) {
        event = usm_malloc(queue->backend->event_size);
    }
    if (event == NULL) {
        return NULL;
    }
    zero(queue->backend, event);
    usm_refcount_init(&event->refs, 1);
    event->queue = usm_queue_retain(queue);
    event->profiled = queue->profiling;
    event->accesses = event->inline_accesses;
    event->links = event->inline_links;
    usm_live_add(USM_LIVE_EVENT, 1);
    return event;
}

/* The event has no count. Its memory and its count of the queue remain the caller's. */
static void clear(usm_event *event)
{
    if (event->queue->backend->event_destroy != NULL && !usm_is_forked(event->queue->backend)) {
        USM_CALL(event->queue->backend, event_destroy)(event);
    }
    usm_failure_release(event->failure);
    free(event->strided);
    usm_launch_free_from(event->launch, event->launch_room);
    if (event->accesses != event->inline_accesses) {
        free(event->accesses);
    }
    if (event->links != event->inline_links) {
        free(event->links);
    }
    usm_live_add(USM_LIVE_EVENT, -1);
}

void usm_event_release(usm_event *event)
{
    if (!usm_refcount_down(&event->refs)) {
        return;
    }
    usm_queue *queue = event->queue;
    clear(event);
    if (room_for_spare(queue) > 0) {
        usm_freelist one = {NULL, 0};
        usm_freelist_push(&one, event);
        usm_shared_freelist_return(&queue->spare, &one, event);
    } else {
        free(event);
    }
    usm_queue_release(queue);
}

void usm_events_release(usm_queue *queue, usm_event *event)
{
    usm_event *last = NULL;
    usm_freelist kept = {NULL, 0};
    int room = room_for_spare(queue), gone = 0;
    for (usm_event *next; event != NULL; event = next) {
        next = event->next_ended;
        if (!usm_refcount_down(&event->refs)) {
            continue;
        }
        clear(event);
        gone++;
        if (kept.n < room) {
            usm_freelist_push(&kept, event);
            last = last != NULL ? last : event;
        } else {
            free(event);
        }
    }
    if (kept.n > 0) {
        usm_shared_freelist_return(&queue->spare, &kept, last);
    }
    for (; gone > 0; gone--) {
        usm_queue_release(queue); /* the last count may end the queue, unless it is immortal */
    }
}

usm_status usm_event_keep_command(usm_event *event, const usm_command *command, usm_error *error)
{
    if (command == &event->command) {
        return USM_OK;
    }
    event->command = *command;
    if (command->kind == USM_COMMAND_STRIDED) {
        event->strided = usm_strided_clone(command->as.strided);
        event->command.as.strided = event->strided;
        if (event->strided == NULL) {
            return usm_error_memory(error, sizeof(usm_strided), "a copy's plan");
        }
    } else if (command->kind == USM_COMMAND_LAUNCH) {
        event->launch =
            usm_launch_clone_in(command->as.launch, event->launch_room, sizeof event->launch_room);
        event->command.as.launch = event->launch;
        if (event->launch == NULL) {
            return usm_error_memory(error, sizeof(usm_launch), "a launch");
        }
    }
    return USM_OK;
}

bool usm_event_watch(usm_event *event)
{
    atomic_store(&event->watched, true);
    return atomic_load(&event->task_state) < USM_TASK_COMPLETE;
}

bool usm_event_notify(usm_event *event, usm_waiter *waiter)
{
    if (usm_event_ended(event)) {
        return false;
    }
    usm_leaf *leaf = usm_leaf_of(event);
    usm_mutex_lock(&leaf->mutex);
    bool taken = usm_event_watch(event);
    if (taken) {
        waiter->next = event->waiters;
        event->waiters = waiter;
    }
    usm_mutex_unlock(&leaf->mutex);
    if (taken) {
        usm_event_watch_closely(event);
    }
    return taken;
}

void usm_event_watch_closely(usm_event *event)
{
    if (usm_event_in_driver(event)) {
        usm_watch_closely(&event->queue->watched);
    } /* else the thread that runs it ends it, and deferral.c wakes the watching thread once the driver has it
       */
}

/* Of an event that has just ended: wakes sleeping threads; the caller notifies the waiters. */
static usm_waiter *take_waiters(usm_event *event)
{
    usm_leaf *leaf = usm_leaf_of(event);
    usm_waiter *waiters = NULL; /* reversed: waiters are notified in the order of their registration */
    usm_mutex_lock(&leaf->mutex);
    while (event->waiters != NULL) {
        usm_waiter *next = event->waiters->next;
        event->waiters->next = waiters;
        waiters = event->waiters;
        event->waiters = next;
    }
    if (event->sleepers != 0) {
        pthread_cond_broadcast(&leaf->changed);
    }
    usm_mutex_unlock(&leaf->mutex);
    return waiters;
}

usm_waiter *usm_event_enter_end(usm_event *event, usm_task_state to)
{
#ifdef USM_TESTING
    usm_task_state_check(usm_event_task_state(event), to);
#endif
    atomic_exchange(&event->task_state, (uint8_t)to);
    return atomic_load(&event->watched) ? take_waiters(event) : NULL;
}
