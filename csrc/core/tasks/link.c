#include "link.h"

#include "core/base/sync.h"

static void set_cause(usm_event *event, usm_failure *failure)
{
    usm_failure *none = NULL;
    if (failure != NULL && atomic_compare_exchange_strong_explicit(
                               &event->cause, &none, failure, memory_order_acq_rel, memory_order_relaxed)) {
        usm_failure_retain(failure);
    }
}

/* The failure of what an ended event left to `event`. A refused one left what was there before it. */
static void inherit(usm_event *event, usm_event *from)
{
    if (from->refused) {
        atomic_store_explicit(&event->after_refused, true, memory_order_relaxed);
    } else {
        set_cause(event, from->failure);
    }
}

/*
 * All links have ended, and so have all writes of what the event reads: later ones wait for the event. After
 * a write that did not take place, the failure of an earlier one may still stand there.
 */
static void inherit_from_memory(usm_event *event)
{
    if (USM_LIKELY(!atomic_load_explicit(&event->after_refused, memory_order_relaxed))) {
        return;
    }
    for (size_t i = 0; i < event->n_accesses; i++) {
        usm_alloc *alloc = event->accesses[i].alloc;
        if ((event->accesses[i].mode & USM_READ) == 0) {
            continue;
        }
        uint64_t stripe = usm_alloc_stripe(alloc);
        usm_hazard_lock(stripe);
        usm_failure *failure = atomic_load_explicit(&alloc->hazards.failure, memory_order_relaxed);
        if (failure != NULL && !atomic_load_explicit(&failure->delivered, memory_order_acquire)) {
            set_cause(event, failure);
        }
        usm_hazard_unlock(stripe);
    }
}

/* One link has ended, or usm_event_arm has placed all hooks: true for the last. */
static bool unblock(usm_event *event)
{
    if (atomic_fetch_sub_explicit(&event->blockers, 1, memory_order_acq_rel) != 1) {
        return false;
    }
    inherit_from_memory(event);
    return true;
}

static void link_done(usm_waiter *waiter, usm_event *ended)
{
    usm_link *link = (usm_link *)waiter;
    usm_event *event = link->owner;
    if (link->data) {
        inherit(event, ended);
    }
    if (unblock(event)) {
        event->ready(event);
    }
}

/*
 * Whether all links have ended, so that no hook is needed: true for most tasks that a driver has put in
 * order.
 */
static bool links_have_ended(usm_event *event)
{
    for (size_t i = 0; i < event->n_links; i++) {
        if (!usm_event_ended(event->links[i].event)) {
            return false;
        }
    }
    for (size_t i = 0; i < event->n_links; i++) {
        usm_event *ended = event->links[i].event;
        if (event->links[i].data && usm_event_get_state(ended) == USM_EVENT_ERROR) {
            inherit(event, ended);
        }
    }
    inherit_from_memory(event);
    return true;
}

bool usm_event_arm(usm_event *event, void (*ready)(usm_event *self))
{
    if (links_have_ended(event)) {
        return true;
    }
    event->ready = ready;
    /* One more than the links: nothing becomes ready while the hooks are still being placed. */
    atomic_store_explicit(&event->blockers, (uint32_t)event->n_links + 1, memory_order_relaxed);
    for (size_t i = 0; i < event->n_links; i++) {
        usm_link *link = &event->links[i];
        link->waiter.done = link_done;
        link->owner = event;
        if (!usm_event_notify(link->event, &link->waiter)) {
            if (link->data) {
                inherit(event, link->event);
            }
            unblock(event); /* never the last: the extra one is still there */
        }
    }
    return unblock(event);
}

void usm_event_drop_links(usm_event *event)
{
    usm_leaf *leaf = usm_leaf_of(event);
    usm_mutex_lock(&leaf->mutex);
    for (usm_waiter **at = &event->waiters; *at != NULL;) {
        if ((*at)->done == link_done) {
            *at = (*at)->next;
        } else {
            at = &(*at)->next;
        }
    }
    usm_mutex_unlock(&leaf->mutex);
}

usm_link_state usm_link_look(const usm_event *event, const usm_link *link)
{
    if (usm_event_ended(link->event)) {
        bool inherits = link->data && usm_event_get_state(link->event) == USM_EVENT_ERROR;
        return inherits && usm_event_task_state(event) != USM_TASK_UNBLOCKED ? USM_LINK_ELSEWHERE
                                                                             : USM_LINK_ENDED;
    }
    return link->event->queue->backend == event->queue->backend && usm_event_in_driver(link->event)
               ? USM_LINK_IN_DRIVER
               : USM_LINK_ELSEWHERE;
}
