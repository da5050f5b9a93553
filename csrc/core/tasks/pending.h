/* The pending events of queues: those that have not ended, in the order of submission. */
#ifndef USM_CORE_PENDING_H
#define USM_CORE_PENDING_H

#include "hazard.h"

/* Queue lock held. */
void usm_pending_append(usm_queue *queue, usm_event *event);
/* Takes the event, and all that follow it by next_ended, out of the queue. No lock. */
void usm_pending_forget(usm_queue *queue, usm_event *event);

/*
 * A new list of events that stand for all work submitted so far, the latest first. Inside a task those that
 * may wait for it, too. No lock.
 */
usm_status usm_pending_list(usm_queue *queue, USM_GIVES usm_wait_list *list, usm_error *error);
/*
 * How many tasks of all queues have not ended. *oldest is the device of the one that was submitted first,
 * NULL if there is none. Any thread, no lock.
 */
size_t usm_queues_pending(usm_device **oldest);

/* Whether a place's device has tasks. */
extern const usm_place_part usm_pending_part;

#endif
