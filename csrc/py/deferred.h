/* Python references whose last holder may have no GIL: they are released later, by a thread that has it. */
#ifndef USMPY_DEFERRED_H
#define USMPY_DEFERRED_H

#include "module.h"

#include "core/base/deferred.h"

/*
 * Registers the functions that run at exit. From now on a push for the main interpreter schedules a drain
 * in the main thread, one pending call at a time; a sub-interpreter drains when it next calls usmpy. 0, or -1
 * with an exception.
 */
int usmpy_deferred_start(PyObject *module);

/*
 * A holder that owns a reference to an exception; NULL without an exception if memory is exhausted. GIL held.
 */
void *usmpy_deferred_hold(USM_TAKES PyObject *object);
/* The exception of a holder, borrowed; NULL for one of another interpreter. GIL held. */
PyObject *usmpy_deferred_object(void *holder);
/* Schedules the release of the holder and its reference. Any thread, with or without the GIL, any lock. */
void usmpy_deferred_release(void *holder);

/* Releases what was pushed for the calling thread's interpreter. */
void usmpy_deferred_drain(void);

/*
 * Releases what was pushed; cheap if nothing was. For the entry of functions that submit, wait or allocate.
 * GIL held, no lock, no exception set.
 */
static inline void usmpy_deferred_poll(void)
{
    if (usm_deferred_waiting()) {
        usmpy_deferred_drain();
    }
}

/* The same for destructors: a pending exception stays. */
void usmpy_deferred_poll_quietly(void);

#endif
