/* From the core's status to an exception: the only place that does it. */
#ifndef USMPY_ERRORS_H
#define USMPY_ERRORS_H

#include "module.h"

#include "core/base/error.h"

/*
 * Sets the exception that the status stands for and gives back what error owns. Returns NULL, for
 * `return usmpy_raise(...)`. An exception that is set already (USM_INTERRUPTED by a signal handler) stays.
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

/* The exception of a failed task: the host task's own, or a new one. New reference; NULL with
 * an exception set. */
PyObject *usmpy_failure_exception(usmpy_state *state, usm_failure *failure);

/* Once a process: failures that nobody retrieved go to sys.unraisablehook. */
void usmpy_errors_start(void);

/* Takes the pending exception as the failure of a task (status USM_FAILED, or USM_MEMORY). The
 * GIL is held. */
usm_status usmpy_capture_exception(usm_error *error);

#endif
