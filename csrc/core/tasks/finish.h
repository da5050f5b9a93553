/* The end of a task. */
#ifndef USM_CORE_FINISH_H
#define USM_CORE_FINISH_H

#include "event.h"

/* Events of one queue that have ended together; all zeros at first. */
typedef struct usm_ended {
    struct usm_event *first, *last;
} usm_ended;

/*
 * Ends the task: with success if failure is NULL and no link failed. Wakes waiters, starts tasks that depend
 * on it, releases what the task held (what needs Python is deferred) and the backend's count. All links have
 * ended. Any thread, no lock held. A task that has ended already (in the child of a fork) is only released.
 */
void usm_event_finish(USM_TAKES usm_event *event, USM_TAKES struct usm_failure *failure);
/*
 * The same for one of several events of a queue, whose lock usm_events_forget takes once for all of them;
 * until then the list has the backend's count. If ended is NULL, for this event alone.
 */
void usm_event_finish_among(USM_TAKES usm_event *event, USM_TAKES struct usm_failure *failure,
                            usm_ended *ended);
/* Removes the events from their queue and releases them. The list is empty afterwards. No lock held. */
void usm_events_forget(usm_ended *ended);

#endif
