/* Python references that are dropped by threads without the GIL: let go of later, by one that holds it. */
#ifndef USMPY_DEFERRED_H
#define USMPY_DEFERRED_H

#include "module.h"

#include "core/base/deferred.h"

/* From now on pushes schedule a drain in the main thread (one pending call at a time); 0 or -1
 * with an exception. */
int usmpy_deferred_start(PyObject *module);

/* A holder that owns one reference of the object; NULL, without an exception, when memory ran
 * out. GIL held. */
void *usmpy_deferred_hold(USM_TAKES PyObject *object);
/* The object, borrowed. */
PyObject *usmpy_deferred_object(void *holder);
/* Any thread, GIL or not, any lock. */
void usmpy_deferred_release(void *holder);

/* Cheap where nothing waits: at the entry of functions that submit, wait or allocate. GIL held, no lock. */
static inline void usmpy_deferred_poll(void)
{
    if (usm_deferred_waiting()) {
        usm_deferred_drain();
    }
}

/* The same for destructors, which may run while an exception is on its way. */
void usmpy_deferred_poll_quietly(void);

#endif
