/* Python on threads of ours. */
#ifndef USMPY_THREAD_H
#define USMPY_THREAD_H

#include <Python.h>

/* Once a process, at import. */
void usmpy_thread_start(void);

/*
 * A thread state for the calling thread, which has none, and the GIL. NULL, without an exception, when memory
 * ran out. While the interpreter ends, this does not return.
 */
PyThreadState *usmpy_thread_attach(void);
/* Gives both back. No exception is set. */
void usmpy_thread_detach(PyThreadState *thread);

#endif
