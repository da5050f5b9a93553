#include "wait.h"

#include "hazard.h"

void usm_alloc_set_loaned(usm_alloc *alloc, bool loaned)
{
    if (USM_LIKELY(usm_event_current() == NULL)) {
        return;
    }
    if (loaned) {
        atomic_fetch_or_explicit(&alloc->flags, USM_ALLOC_LOANED, memory_order_relaxed);
    } else {
        atomic_fetch_and_explicit(&alloc->flags, (uint8_t)~USM_ALLOC_LOANED, memory_order_relaxed);
    }
}

/*
 * Whether this is a task of a borrow whose end is recorded but ordered after the task: it was submitted in
 * time, and may still use the memory.
 */
static bool is_before_the_end(usm_alloc *alloc)
{
    uint64_t stripe = usm_alloc_stripe(alloc);
    usm_hazard_lock(stripe);
    usm_event *end = alloc->hazards.writer;
    if (end != NULL) {
        usm_event_retain(end);
    }
    usm_hazard_unlock(stripe);
    if (end == NULL) {
        return false;
    }
    bool before = usm_event_needs_current(end);
    usm_event_release(end);
    return before;
}

usm_status usm_alloc_wait(usm_alloc *alloc, usm_access_mode mode, bool delivers, int64_t deadline_ns,
                          usm_wait_poll poll, void *argument, usm_error *error)
{
    uint64_t stripe = usm_alloc_stripe(alloc);
    usm_wait_list waits;
    if (USM_UNLIKELY((atomic_load_explicit(&alloc->flags, memory_order_relaxed) & USM_ALLOC_ENDED) != 0) &&
        is_before_the_end(alloc)) {
        return USM_OK;
    }
    usm_status status = usm_alloc_order(alloc, NULL, error);
    if (status != USM_OK) {
        return status;
    }
    status = usm_hazard_look(alloc, mode, &waits, error);
    bool loaned = usm_alloc_is_loaned(alloc);
    bool is_of_this_task = alloc->inside != 0 && alloc->inside == usm_alloc_inside;
    for (size_t i = 0; i < waits.n && status == USM_OK; i++) {
        usm_event *event = waits.items[i].event;
        /* Memory that is older than this task has a content now; what the task made itself has none yet. */
        if (loaned || is_of_this_task || !usm_event_needs_current(event)) {
            status = usm_event_wait_end(event, deadline_ns, poll, argument, error);
        }
    }
    usm_wait_list_clear(&waits);
    if (status != USM_OK || (mode & USM_READ) == 0) {
        return status;
    }
    usm_hazard_lock(stripe);
    usm_failure *cause = usm_hazard_failure(alloc);
    if (cause != NULL) {
        status = usm_error_failed(error, cause);
        if (delivers) {
            usm_failure_deliver(cause);
        }
    }
    if (alloc->hazards.writer == NULL && (cause == NULL || delivers)) {
        usm_hazard_spoil(alloc, NULL); /* the failure was delivered, now or before */
    }
    usm_hazard_unlock(stripe);
    return status;
}

bool usm_alloc_has_failed(usm_alloc *alloc)
{
    if (atomic_load_explicit(&alloc->hazards.failure, memory_order_relaxed) == NULL) {
        return false;
    }
    uint64_t stripe = usm_alloc_stripe(alloc);
    usm_hazard_lock(stripe);
    bool failed = usm_hazard_failure(alloc) != NULL;
    usm_hazard_unlock(stripe);
    return failed;
}
