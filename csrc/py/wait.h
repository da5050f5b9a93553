/* Waits for tasks without the GIL, during which signal handlers run. */
#ifndef USMPY_WAIT_H
#define USMPY_WAIT_H

#include "module.h"

/* Once a process: the core then releases the GIL around driver calls that may block. */
void usmpy_wait_start(void);

/*
 * A usm_wait_poll, called without the GIL: runs signal handlers; true if one raised, with its exception set.
 * `thread` points to the PyThreadState * that PyEval_SaveThread returned, which it replaces.
 */
bool usmpy_wait_poll(void *thread);
#define USMPY_PATIENCE(deadline_ns, thread) (&(const usm_patience){deadline_ns, usmpy_wait_poll, thread})

/* Whether a signal, such as Ctrl-C, has ended a wait of this process. */
bool usmpy_wait_was_interrupted(void);

/*
 * Converts `timeout`, in seconds or None, to a deadline of usm_clock_ns. 0, or -1 with TypeError or
 * ValueError.
 */
int usmpy_deadline(PyObject *timeout, int64_t *deadline_ns);

/*
 * Each returns at once if nothing is pending. 0, or -1 with the exception of the failure, of a signal
 * handler, or TimeoutError.
 */
int usmpy_wait_event(usmpy_state *state, usm_event *event, int64_t deadline_ns);
/* The same without raising the event's own failure. */
int usmpy_wait_event_end(usmpy_state *state, usm_event *event, int64_t deadline_ns);
int usmpy_wait_queue(usmpy_state *state, usm_queue *queue, int64_t deadline_ns);
/* The driver's queue with all work submitted so far in it (usm_queue_enter); NULL: there is none. */
int usmpy_wait_native_queue(usmpy_state *state, usm_queue *queue, void **handle);
int usmpy_wait_alloc(usmpy_state *state, usm_alloc *alloc, usm_access_mode mode, int64_t deadline_ns);
/* For properties and display: a failure that this raises still counts as not retrieved. */
int usmpy_peek_alloc(usmpy_state *state, usm_alloc *alloc, usm_access_mode mode);
/*
 * The same for the buffer protocol, whose consumers may drop the exception: that of a signal handler is then
 * raised again, by the next wait for memory or by the interpreter.
 */
int usmpy_wait_buffer(usmpy_state *state, usm_alloc *alloc, usm_access_mode mode);

/* Whether the interpreter finalizes, so that no task that needs it may be submitted. */
bool usmpy_has_ended(void);

#endif
