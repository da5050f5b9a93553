/* Lets threads that the core or a driver started run Python code. */
#ifndef USMPY_THREAD_H
#define USMPY_THREAD_H

#include <Python.h>

/* Once a process, at import: installs what usmpy_thread_attach needs around fork(). */
void usmpy_thread_start(void);

/*
 * A thread state for the calling thread, which has none, and the GIL. NULL without an exception if memory is
 * exhausted. Does not return while the interpreter finalizes.
 */
PyThreadState *usmpy_thread_attach(void);
/* Releases both. No exception is set. */
void usmpy_thread_detach(PyThreadState *thread);

#endif
