/* Threads that share large work: one set of helpers for the process, which start when they are needed. */
#ifndef USM_CPU_PARALLEL_H
#define USM_CPU_PARALLEL_H

#include "core/base/sync.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Runs part(context, i) once for 0 <= i < parts, on up to `width` threads, the caller among them. All parts
 * together move `nbytes` and call no foreign code. Returns when every part has ended; the caller then sees
 * what they wrote. If the helpers work on another job, the caller runs all parts.
 */
void usm_cpu_parallel(unsigned width, unsigned parts, size_t nbytes, void (*part)(void *context, unsigned i),
                      void *context);
/*
 * The same for work whose duration is unknown: the caller runs part by part alone, until the rest is
 * expected to take longer than helpers need to start. 0 bytes: the work calls foreign code, which may run
 * without end.
 */
void usm_cpu_parallel_if_long(unsigned width, unsigned parts, size_t nbytes,
                              void (*part)(void *context, unsigned i), void *context);
/*
 * For a thread that waits for a task: takes part in a job whose parts are short and ours, for a few
 * milliseconds at most. False: there was none. No lock held.
 */
bool usm_cpu_parallel_join(void);
/* Locks before fork() and unlocks after; the child has no helpers. The host backend's hook calls it. */
void usm_cpu_parallel_fork(usm_fork_phase phase);

#endif
