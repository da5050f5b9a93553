/* Python references whose last holder may have no GIL: they are released later, by a thread that has it. */
#ifndef USMPY_DEFERRED_H
#define USMPY_DEFERRED_H

#include "module.h"

#include "core/base/deferred.h"
#include "core/tasks/event.h"

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

/*
 * A Python object's part in an exception that a failure holds for it, where the failure of its event was
 * inherited; of a host task's own failure the cell for its result has a reference. The garbage collector sees
 * these references, so that it frees an exception that leads back to its events.
 */
typedef struct usmpy_inherited {
    PyObject *exception; /* a reference */
    const usm_event *event;
    struct usmpy_inherited *previous, *next; /* of the same exception */
} usmpy_inherited;

/* NULL, without an exception: the event has not inherited one of this interpreter, or there is no memory. */
usmpy_inherited *usmpy_inherited_new(const usm_event *event);
void usmpy_inherited_free(USM_TAKES usmpy_inherited *claim);
/* For the tp_traverse of an Event; `cell` and `claim` may be NULL. */
int usmpy_inherited_traverse(const usm_event *event, PyObject *cell, const usmpy_inherited *claim,
                             visitproc visit, void *arg);

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
