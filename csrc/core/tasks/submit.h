/* Submission of tasks to queues. */
#ifndef USM_CORE_SUBMIT_H
#define USM_CORE_SUBMIT_H

#include "event.h"

/* A task to submit. Everything is borrowed for the call unless a member says otherwise. */
typedef struct usm_submission {
    const usm_command *command;
    const usm_access *accesses; /* at most one entry an allocation is needed; repeats are allowed */
    size_t n_accesses;
    const usm_wait *waits; /* explicit dependencies */
    size_t n_waits;
    /* Taken over when the submission succeeds; stays the caller's when it fails. */
    usm_keep *keeps;
    /* The task itself is what brings imported memory into order (usm_alloc_order). */
    bool orders;
    bool fresh; /* accesses[0] writes to memory that nobody else has: it is locked only where others will */
    /*
     * A step, in this queue, of an operation that the caller submitted to another one. If the step is skipped
     * because a dependency failed, a wait for this queue does not raise that failure.
     */
    bool internal;
    const usm_command
        *original_command; /* what the command, a launch, is there for, which traces tell of; or NULL */
    const char *name;      /* for traces, where the command has none; borrowed for the call; NULL: none */
} usm_submission;

/*
 * Hands work to the queue and returns at once, but for short work on an idle queue, which is done when this
 * returns. *out (may be NULL) is the task's event. Fails without a trace; a dependency that has failed
 * already is not a failure of the call but ends the event in ERROR. No lock held; does not run Python.
 */
usm_status usm_queue_submit(usm_queue *queue, const usm_submission *submission, USM_GIVES usm_event **out,
                            usm_error *error);
/*
 * For short work on the host that is not a command. True if no work is pending on the queue and the memory,
 * and the calling thread would run the work itself: no other task touches the memory until
 * usm_queue_end_now, which must follow soon. False: submit the work. One entry for each allocation is
 * enough. No lock held, and none may be taken in between.
 */
bool usm_queue_begin_now(usm_queue *queue, const usm_access *accesses, size_t n, uint64_t *held);
static inline void usm_queue_end_now(uint64_t held)
{
    usm_hazard_unlock(held);
}
/*
 * Whether usm_queue_begin_now would succeed if the memory allows it: a check without a lock, to be repeated.
 */
bool usm_queue_may_begin_now(usm_queue *queue);

#endif
