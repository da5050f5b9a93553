/* Turns statuses of the core into exceptions: the only place that does. */
#ifndef USMPY_ERRORS_H
#define USMPY_ERRORS_H

#include "module.h"

#include "core/base/error.h"

/*
 * Sets the exception of a status and releases what `error` owns. Returns NULL, for `return usmpy_raise(...)`.
 * An exception that is set already (USM_INTERRUPTED, by a signal handler) stays.
 */
void *usmpy_raise(usmpy_state *state, usm_status status, usm_error *error);

/* 0, or -1 with the exception, for `return usmpy_check(state, usm_x(..., &error), &error)`. */
static inline int usmpy_check(usmpy_state *state, usm_status status, usm_error *error)
{
    if (USM_UNLIKELY(status != USM_OK)) {
        usmpy_raise(state, status, error);
        return -1;
    }
    return 0;
}

/*
 * The exception of a failed task: new reference to the host task's own exception, or to a new one. NULL with
 * an exception.
 */
PyObject *usmpy_failure_exception(usmpy_state *state, usm_failure *failure);

/* Once a process: reports failures that were never retrieved to sys.unraisablehook. */
void usmpy_errors_start(void);

/*
 * The pending exception with its traceback, which is no longer set, and sets it again. NULL: there is none.
 * What is between them may run Python code.
 */
USM_GIVES PyObject *usmpy_take_exception(void);
void usmpy_restore_exception(USM_TAKES PyObject *exception);
/* Releases a reference (NULL: none) while the pending exception stays. */
void usmpy_release_quietly(USM_TAKES PyObject *object);

/*
 * Raises class(object), or the object itself if `class` is NULL. For no object an exception is set already.
 * Returns NULL, for its caller to return.
 */
void *usmpy_raise_object(PyObject *class, USM_TAKES PyObject *object);
/* Gives the pending exception this cause, as `raise ... from` does. */
void usmpy_set_cause(USM_TAKES PyObject *cause);
/* Puts this text and a colon before the message of the pending exception, which becomes one of `class`. */
void usmpy_prefix_message(PyObject *class, const char *format, ...);
/* Says in a TypeError or BufferError about an object which argument it is. */
void usmpy_name_argument(const char *name);

/*
 * The pending exception is of another library's code: makes it a BufferError of one sentence, "WHAT of TYPE
 * failed: ...", whose cause it is. What is no Exception stays, as does a MemoryError.
 */
void usmpy_chain_foreign(const char *what, PyObject *x);

/* Turns the pending exception into the failure of a task: USM_FAILED, or USM_MEMORY. GIL held. */
usm_status usmpy_capture_exception(usm_error *error);

#endif
