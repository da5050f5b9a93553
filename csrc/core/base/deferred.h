/*
 * Work that a worker or a driver's callback thread may not do itself: dropping a Python reference, running a
 * foreign deleter. It is pushed here without a lock and without an allocation, and done by the next thread
 * that holds the GIL (csrc/py/deferred.c).
 */
#ifndef USM_CORE_DEFERRED_H
#define USM_CORE_DEFERRED_H

#include "status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Embedded in the object that is to be released; its memory belongs to `run` once pushed. */
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

/*
 * An object that must live until a task has ended, and that csrc/py releases: embedded in the holder's own
 * struct. `deferred.run` frees it, on a thread that holds the GIL.
 */
typedef struct usm_keep {
    usm_deferred deferred;
    struct usm_keep *next;
} usm_keep;

/* Hands each to a thread that holds the GIL. Any thread, any lock. */
static inline void usm_keep_drop(USM_TAKES usm_keep *keep)
{
    for (usm_keep *next; keep != NULL; keep = next) {
        next = keep->next;
        usm_deferred_push(&keep->deferred);
    }
}

#endif
