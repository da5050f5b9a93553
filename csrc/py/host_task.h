/* Python functions as tasks of a queue. */
#ifndef USMPY_HOST_TASK_H
#define USMPY_HOST_TASK_H

#include "module.h"

#include "../core/command.h"

/*
 * A command that calls args[0](*args[1:nargs]), and the keep that owns function and arguments (added to
 * *keeps). 0, or -1 with MemoryError, or RuntimeError when the interpreter is about to go.
 */
int usmpy_host_task_command(PyObject *const *args, Py_ssize_t nargs, usm_command *command, usm_keep **keeps);
/* The number of the function's name in traces. */
uint32_t usmpy_host_task_name(const usm_command *command);

#endif
