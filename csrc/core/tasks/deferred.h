/*
 * Work that a worker or a driver's callback thread may not do itself: dropping a Python reference, running a
 * foreign deleter. It is pushed here without a lock and without an allocation, and done by the next thread
 * that holds the GIL (csrc/py/deferred.c).
 */
#ifndef USM_CORE_DEFERRED_H
#define USM_CORE_DEFERRED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Embedded in the object that is to be let go; its memory belongs to `run` once pushed. */
typedef struct usm_deferred {
    struct usm_deferred *next;
    void (*run)(struct usm_deferred *self);
} usm_deferred;

extern _Atomic(usm_deferred *) usm_deferred_head;

/* Any thread, any lock. Calls the notifier when the list was empty. */
void usm_deferred_push(usm_deferred *node);

/* Runs everything pushed so far, oldest first. The caller holds the GIL and no lock. */
void usm_deferred_drain(void);

static inline bool usm_deferred_waiting(void)
{
    return atomic_load_explicit(&usm_deferred_head, memory_order_relaxed) != NULL;
}

/*
 * Called after a push to an empty list, on the pushing thread: it may schedule, and nothing else. NULL: none,
 * the list waits for the next drain.
 */
void usm_deferred_set_notifier(void (*notify)(void));

#endif
