/*
 * The way of a recorded task to whoever runs it, and its end: to the driver, now or once the driver can wait
 * for what the task depends on, or to a thread of its queue.
 */
#ifndef USM_CORE_DEFERRAL_H
#define USM_CORE_DEFERRAL_H

#include "finish.h"

/* Calls queue_submit, and does what its answer asks for. Queue lock held. */
usm_status usm_deferral_submit(usm_event *event, const usm_command *command, usm_error *error);
/* Ends a task that the driver and all links have ended; `ended` as for usm_event_finish_among. No lock. */
void usm_deferral_end(usm_event *event, usm_ended *ended);

/* Runs a task of usm_event.work, which usm_worker_take returned, on the calling thread. No lock held. */
void usm_deferral_run(usm_work *work);
/*
 * Tasks that a thread has run leave their queue several at a time, since the submitting thread holds its lock
 * most of the time: the thread calls this before it sleeps or does something that may take long. May drop the
 * queue. No lock held.
 */
void usm_deferral_forget_ended(void);

#endif
