/* The links of a task: what it waits for, and the failure that it inherits from there. */
#ifndef USM_CORE_LINK_H
#define USM_CORE_LINK_H

#include "event.h"

/*
 * Waits for the event's links without a thread. True when all have ended already: the caller goes on by
 * itself. False: `ready` will be called once, with no lock held, on the thread that ended the last of them.
 * In both cases event->cause then holds the failure that the task inherits, if any: it must not run.
 */
bool usm_event_arm(usm_event *event, void (*ready)(usm_event *self));

/* For the child of a fork: removes the hooks of tasks that wait for this one, since they end before it. */
void usm_event_drop_links(usm_event *event);

/* A dependency of the task, as queue_submit finds it. */
typedef enum usm_link_state {
    USM_LINK_ENDED,     /* nothing to wait for */
    USM_LINK_IN_DRIVER, /* of the same backend, and the driver has it, or has ended it meanwhile */
    USM_LINK_ELSEWHERE, /* queue_submit answers USM_LATER: the driver cannot wait for it, or it has failed */
} usm_link_state;
/* Queue lock held. */
usm_link_state usm_link_look(const usm_event *event, const usm_link *link);

#endif
