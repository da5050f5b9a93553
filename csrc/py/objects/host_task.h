/* Python functions as tasks of a queue, and as callbacks of events. */
#ifndef USMPY_HOST_TASK_H
#define USMPY_HOST_TASK_H

#include "py/module.h"

#include "core/tasks/command.h"

/*
 * A command that calls args[0](*args[1:nargs]), and the keep that owns function and arguments (added to
 * *keeps). *result becomes a cell, which gets what the function returns. 0, or -1 with MemoryError, or
 * RuntimeError when the interpreter shuts down.
 */
int usmpy_host_task_command(PyObject *const *args, Py_ssize_t nargs, usm_command *command, usm_keep **keeps,
                            USM_GIVES PyObject **result);
/*
 * The function's name in traces, which lives as long as *owner, a new reference. *owner is NULL for the name
 * of the function's type, which is static.
 */
const char *usmpy_host_task_name(const usm_command *command, USM_GIVES PyObject **owner);

/*
 * Submits fn(event_object) as a host task that is ordered after the event and after the callback that was
 * added before (`earlier`, may be NULL), also if they fail. *out is the task's event. 0, or -1 with
 * an exception.
 */
int usmpy_callback_submit(usmpy_state *state, PyObject *fn, PyObject *event_object, usm_event *event,
                          usm_event *earlier, USM_GIVES usm_event **out);

#endif
