/* Threads of ours: how they are started, and on which processors. */
#ifndef USM_CORE_THREAD_H
#define USM_CORE_THREAD_H

#include <sched.h>
#include <stdbool.h>

/*
 * A detached thread without signals (they are for the interpreter's own threads), on the processors where the
 * calling thread was before it was pinned. False when the system has no thread for us.
 */
bool usm_thread_start(void *(*run)(void *argument), void *argument);
/* Keeps the calling thread on these processors, but not the threads that it starts; once a thread. */
void usm_thread_pin(const cpu_set_t *processors);
/* The calling thread is a driver's, which may have pinned it: threads that it starts run where others may. */
void usm_thread_is_foreign(void);

#endif
