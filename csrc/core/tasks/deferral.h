/*
 * The way of a recorded task to whoever runs it: to the driver, now or once the driver can wait for what the
 * task depends on, or to a thread of its queue.
 */
#ifndef USM_CORE_DEFERRAL_H
#define USM_CORE_DEFERRAL_H

#include "event.h"
#include "worker.h"

/* Calls queue_submit, and does what its answer asks for. Queue lock held. */
usm_status usm_deferral_submit(usm_event *event, const usm_command *command, usm_error *error);
/*
 * The driver ended the task without having run it, since another that it only had to come after had failed.
 * It gets the kept command once more. False: the task has to end now, with the failure in event->failure.
 * State ENDING, no lock.
 */
bool usm_deferral_submit_again(usm_event *event);

/*
 * For queue_submit: copies the command, with the plan or launch that it points to, into event->command, so
 * that it outlives the submission. Does nothing for a command that was kept before. Queue lock held.
 */
usm_status usm_event_keep_command(usm_event *event, const usm_command *command, usm_error *error);

/* A dependency of the task, as queue_submit finds it. */
typedef enum usm_link_state {
    USM_LINK_ENDED,     /* nothing to wait for */
    USM_LINK_IN_DRIVER, /* of the same backend, and the driver has it, or has ended it meanwhile */
    USM_LINK_ELSEWHERE, /* queue_submit answers USM_LATER: the driver cannot wait for it, or it has failed */
} usm_link_state;
/* Queue lock held. */
usm_link_state usm_link_look(const usm_event *event, const usm_link *link);

/* Runs a task of usm_event.work, which usm_worker_take returned, on the calling thread. No lock held. */
void usm_deferral_run(usm_work *work);
/*
 * Tasks that a thread has run leave their queue several at a time, since the submitting thread holds its lock
 * most of the time: the thread calls this before it sleeps or does something that may take long. May drop the
 * queue; `worker` is not used. No lock held.
 */
void usm_deferral_forget_ended(usm_worker *worker);

#endif
