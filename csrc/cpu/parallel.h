/* Threads that share large work: one set of helpers for the process, which start when they are needed. */
#ifndef USM_CPU_PARALLEL_H
#define USM_CPU_PARALLEL_H

#include "core/base/sync.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Runs part(context, i) once for 0 <= i < parts, on up to `width` threads, the caller among them; all of it
 * moves `nbytes`, and calls nobody else's code. Returns when every part has ended; the caller then sees what
 * they wrote. Where the helpers are at other work, the caller does all of it.
 */
void usm_cpu_parallel(unsigned width, unsigned parts, size_t nbytes, void (*part)(void *context, unsigned i),
                      void *context);
/*
 * The same for work of which nobody knows whether it takes long: the caller does it alone, part by part,
 * until what is left is worth the help of others. 0 bytes: it calls foreign code, and may take for ever.
 */
void usm_cpu_parallel_if_long(unsigned width, unsigned parts, size_t nbytes,
                              void (*part)(void *context, unsigned i), void *context);
/*
 * For a thread that waits: takes part in such work, where some is left that is ours and short, for a few
 * milliseconds at most. False: there was none. No lock held.
 */
bool usm_cpu_parallel_join(void);
/* Locks before fork() and unlocks after; the child has no helpers. The host backend's hook calls it. */
void usm_cpu_parallel_fork(usm_fork_phase phase);

#endif
