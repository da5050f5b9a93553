/* One event for a loop of launches, or of points in the order: see core/tasks/repeat.h. */
#include "cuda_backend.h"

/*
 * In a stream that is ours alone, a launch of the kernel that the event is of; in one that others know, a
 * point in the order behind another.
 */
static bool is_alike(usm_cuda_event *event, const usm_command *command)
{
    const usm_cuda_queue *native = usm_cuda_queue_of(event->event.queue);
    usm_cuda_lane *lane = event->lane;
    usm_cuda_scope scope;
    if (USM_LIKELY(!atomic_load_explicit(&lane->eager, memory_order_relaxed))) {
        return command->kind == USM_COMMAND_LAUNCH && event->kernel == command->as.launch->kernel;
    }
    if (!event->point || !usm_cuda_is_point(command) || native->per_thread ||
        usm_cuda_enter(lane->device, &scope, NULL) != USM_OK) {
        return false;
    }
    bool captures = usm_cuda_is_capturing(lane->stream);
    usm_cuda_leave(&scope);
    return !captures;
}

bool usm_cuda_event_may_repeat(usm_event *base, const usm_command *command)
{
    usm_cuda_event *event = (usm_cuda_event *)base;
    if (event->claimed || event->early || atomic_load_explicit(&event->number, memory_order_relaxed) == 0 ||
        event->lane->latest != event || usm_cuda_forked() || usm_cuda_is_lost(base->queue->device) ||
        !is_alike(event, command)) {
        return false;
    }
    atomic_store_explicit(&event->number, 0, memory_order_release);
    return true;
}

usm_status usm_cuda_event_repeat(usm_event *base, const usm_command *command, usm_error *error)
{
    usm_cuda_event *event = (usm_cuda_event *)base;
    usm_queue *queue = base->queue;
    usm_cuda_lane *lane = event->lane;
    uint64_t number = atomic_load_explicit(&lane->submitted, memory_order_relaxed);
    usm_cuda_scope scope;
    usm_status status = usm_cuda_enter(queue->device, &scope, error);
    if (USM_UNLIKELY(status != USM_OK)) {
        atomic_store_explicit(&event->number, number, memory_order_release);
        return status;
    }
    if (command->kind == USM_COMMAND_LAUNCH) {
        status = usm_cuda_launch(queue, lane->stream, command->as.launch, error);
    }
    if (USM_LIKELY(status == USM_OK)) {
        number++;
        atomic_store_explicit(&lane->submitted, number, memory_order_release);
    }
    atomic_store_explicit(&event->number, number, memory_order_release);
    if (USM_UNLIKELY(atomic_load_explicit(&lane->eager, memory_order_relaxed))) {
        usm_cuda_note(queue->device, event->point ? usm_cuda_lane_fence_again(lane, number)
                                                  : usm_cuda_lane_fence_here(lane, number));
    }
    usm_cuda_leave(&scope);
    return status;
}
