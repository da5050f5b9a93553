/* Lets threads that the core or a driver started run Python code. */
#ifndef USMPY_THREAD_H
#define USMPY_THREAD_H

#include "interpreter.h"

/* Once a process, at import: installs what usmpy_thread_attach needs around fork(). */
void usmpy_thread_start(void);

/*
 * A thread state of the interpreter for the calling thread, which has none, and the GIL. NULL without an
 * exception if memory is exhausted, or if the sub-interpreter has ended: its end waits for tasks that keep
 * objects of it, so the caller is one. Does not return while the main interpreter finalizes.
 */
PyThreadState *usmpy_thread_attach(usmpy_interpreter *interpreter);
/* Releases both. No exception is set. */
void usmpy_thread_detach(PyThreadState *thread);

/*
 * Gives a sub-interpreter a thread state of no thread, before others of usmpy come and go. CPython deletes
 * the last thread state in two steps, and a thread that makes a new one in between ends the process. Before
 * version 3.13 the first thread state stays until the end. One that was closed gets none, since nothing would
 * delete it. 0, or -1 with MemoryError. GIL held.
 */
int usmpy_thread_reserve(usmpy_interpreter *interpreter);
/* Deletes it, and lets no thread of usmpy in any more: the interpreter ends. GIL held. */
void usmpy_thread_close(usmpy_interpreter *interpreter);

#endif
