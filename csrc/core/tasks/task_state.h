/*
 * The states of a task and the only list of its transitions. usm_event.task_state is changed by
 * usm_event_enter alone, and by the task's end; builds for tests check every change against this list. The
 * diagram in csrc/README.md is drawn from it.
 */
#ifndef USM_CORE_TASK_STATE_H
#define USM_CORE_TASK_STATE_H

/*
 * From SENT_AHEAD to ENDING the driver has the task. COMPLETE and ERROR are final. The child of a fork has
 * one thread, which takes over the tasks of all others in ON_HOST (fork.c).
 */
#define USM_TASK_STATES(X)                                                                  \
    X(NEW, "made; its submitter alone knows it")                                            \
    X(RECORDED, "in its queue and in the hazards of its memory, on the way to the backend") \
    X(DEFERRED, "kept by the core until its links have ended, or the driver has them")      \
    X(UNBLOCKED, "all links have ended: on the way to the backend once more")               \
    X(ON_HOST, "of a thread of the queue, which runs it once all links have ended")         \
    X(RUNNING, "runs on that thread")                                                       \
    X(SENT_AHEAD, "in the driver; it was deferred, so that its links notify it")            \
    X(IN_DRIVER, "in the driver")                                                           \
    X(DRIVER_ENDED, "sent ahead, and ended by the driver before its links ended here")      \
    X(ENDING, "ended by the driver; its links may have to end here first")                  \
    X(COMPLETE, "succeeded")                                                                \
    X(ERROR, "failed, was refused, or was skipped since a dependency failed")

/*
 * From, to, the function that makes the transition, what makes it safe, and when it is made. What makes it
 * safe:
 *   ALONE        no other thread may change the state: the submitter of a new task, the thread that runs it,
 *                the one that found its end
 *   QUEUE_LOCK   usm_queue.lock
 *   WORKER_LOCK  usm_worker.lock, under which one thread takes the task off the list
 *   BLOCKERS     usm_event.blockers: the thread whose decrement of this atomic count was the last
 */
#define USM_TASK_TRANSITIONS(X)                                                                            \
    X(NEW, COMPLETE, usm_queue_submit, ALONE, "done at once")                                              \
    X(NEW, ERROR, usm_queue_submit, ALONE, "inherits a failure, and has nothing to wait for")              \
    X(NEW, RECORDED, usm_queue_submit, QUEUE_LOCK, "later work finds it")                                  \
    X(RECORDED, IN_DRIVER, usm_deferral_submit, QUEUE_LOCK, "enqueued")                                    \
    X(RECORDED, ON_HOST, usm_deferral_submit, QUEUE_LOCK, "left to a thread of the queue")                 \
    X(RECORDED, DEFERRED, usm_deferral_submit, QUEUE_LOCK, "the driver cannot wait for a link")            \
    X(RECORDED, ERROR, usm_event_finish, BLOCKERS, "refused by the backend")                               \
    X(DEFERRED, SENT_AHEAD, usm_deferral_submit, QUEUE_LOCK, "the driver has all links, and now the task") \
    X(DEFERRED, UNBLOCKED, links_ended, QUEUE_LOCK, "all links have ended")                                \
    X(DEFERRED, ERROR, usm_event_finish, BLOCKERS, "all links have ended, one of them with a failure")     \
    X(UNBLOCKED, IN_DRIVER, usm_deferral_submit, QUEUE_LOCK, "enqueued")                                   \
    X(UNBLOCKED, ON_HOST, usm_deferral_submit, QUEUE_LOCK,                                                 \
      "skipped by a thread of the queue: a link failed")                                                   \
    X(UNBLOCKED, ERROR, usm_event_finish, BLOCKERS, "refused by the backend")                              \
    X(ON_HOST, RUNNING, usm_deferral_run, WORKER_LOCK, "begins")                                           \
    X(ON_HOST, ERROR, usm_event_finish, WORKER_LOCK, "skipped, or left behind by a fork")                  \
    X(RUNNING, COMPLETE, usm_event_finish, ALONE, "succeeded")                                             \
    X(RUNNING, ERROR, usm_event_finish, ALONE, "failed")                                                   \
    X(SENT_AHEAD, IN_DRIVER, links_ended, QUEUE_LOCK, "all links have ended")                              \
    X(SENT_AHEAD, DRIVER_ENDED, usm_completion_poll, QUEUE_LOCK, "the driver has ended it")                \
    X(IN_DRIVER, ENDING, usm_completion_poll, QUEUE_LOCK, "the driver has ended it")                       \
    X(DRIVER_ENDED, ENDING, links_ended, QUEUE_LOCK, "all links have ended")                               \
    X(ENDING, UNBLOCKED, usm_deferral_end, QUEUE_LOCK, "skipped by the driver, without a cause")           \
    X(ENDING, COMPLETE, usm_event_finish, BLOCKERS, "succeeded")                                           \
    X(ENDING, ERROR, usm_event_finish, BLOCKERS, "failed")

#define USM_TASK_STATE(name, meaning) USM_TASK_##name,
typedef enum usm_task_state { USM_TASK_STATES(USM_TASK_STATE) USM_N_TASK_STATES } usm_task_state;
#undef USM_TASK_STATE

#ifdef USM_TESTING
/* Ends the process, and says what was attempted, unless the transition is one of the list. */
void usm_task_state_check(usm_task_state from, usm_task_state to);
#endif

#endif
