#include "repeat.h"

#include "core/device/backend.h"
#include "hazard.h"

/*
 * What would be recorded is there already. Nobody else has touched the memory since (readers would stand in
 * its list, writers have taken places), no earlier failure is to be inherited, and no borrow has ended. A
 * task that writes without reading does not inherit what the event may inherit.
 */
static bool is_recorded(const usm_event *event, const usm_access *accesses, size_t n)
{
    if (event->n_accesses != n ||
        atomic_load_explicit(&((usm_event *)event)->places, memory_order_relaxed) != n) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        usm_alloc *alloc = accesses[i].alloc;
        const usm_hazards *hazards = &alloc->hazards;
        bool writes = (accesses[i].mode & USM_WRITE) != 0;
        if (event->accesses[i].alloc != alloc || event->accesses[i].mode != accesses[i].mode ||
            (accesses[i].mode & USM_READ) == 0 || (writes && hazards->n_readers != 0) ||
            atomic_load_explicit(&alloc->hazards.failure, memory_order_relaxed) != NULL ||
            (atomic_load_explicit(&alloc->flags, memory_order_relaxed) & USM_ALLOC_ENDED) != 0) {
            return false;
        }
    }
    return true;
}

/* With the queue's and the stripes' locks held, the backend's count is the only one, and stays so. */
static bool nobody_has(usm_event *event)
{
    return atomic_load_explicit(&event->refs.value, memory_order_acquire) == 1;
}

usm_event *usm_repeat_begin(usm_queue *queue, const usm_submission *submission)
{
    bool (*may)(usm_event *, const usm_command *) = queue->backend->event_may_repeat;
    usm_event *last = atomic_load_explicit(&queue->last, memory_order_relaxed);
    if (may == NULL || last == NULL || !queue->in_order || queue->profiling || submission->n_waits != 0 ||
        submission->keeps != NULL || !nobody_has(last) || usm_event_ended(last) || last->traced ||
        atomic_load_explicit(&last->cause, memory_order_relaxed) != NULL ||
        !is_recorded(last, submission->accesses, submission->n_accesses)) {
        return NULL;
    }
    return may(last, submission->command) ? last : NULL;
}

usm_status usm_repeat_submit(usm_event *event, const usm_submission *submission, usm_error *error)
{
    return event->queue->backend->event_repeat(event, submission->command, error);
}
