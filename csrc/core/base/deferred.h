/*
 * Work that a worker or a driver's callback thread may not do itself: dropping a Python reference, running a
 * foreign deleter. It is pushed here without a lock and without an allocation, and done by the next thread
 * that holds the GIL (csrc/py/deferred.c). Each Python interpreter of the process has a list of its own,
 * since an object may be released under its own interpreter only.
 */
#ifndef USM_CORE_DEFERRED_H
#define USM_CORE_DEFERRED_H

#include "status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct usm_deferred_list;

/* Embedded in the object that is to be released; its memory belongs to `run` once pushed. */
typedef struct usm_deferred {
    struct usm_deferred *next;
    void (*run)(struct usm_deferred *self);
    struct usm_deferred_list *home; /* the list that it is pushed to; NULL: usm_deferred_main */
} usm_deferred;

/* What waits for one interpreter. Lists are never freed, so that a node may outlive its interpreter. */
typedef struct usm_deferred_list {
    _Atomic(usm_deferred *) head;
    _Atomic int64_t tasks; /* tasks that keep objects of the interpreter; not counted for the main one */
} usm_deferred_list;

extern usm_deferred_list usm_deferred_main; /* of the main interpreter */
extern _Atomic int usm_deferred_lists;      /* how many lists are not empty */
extern _Atomic bool usm_deferred_many;      /* there has been another interpreter than the main one */

/*
 * Any thread, any lock. Calls the notifier when the list of the main interpreter was empty. Instead of a
 * closed list, that of the main interpreter gets the node: `run` must then release no object of the other.
 */
void usm_deferred_push(usm_deferred *node);

/* Runs everything pushed so far, oldest first. The caller holds the GIL of that interpreter and no lock. */
void usm_deferred_drain(usm_deferred_list *list);

/* The same for the last time: the interpreter ends. */
void usm_deferred_close(usm_deferred_list *list);

bool usm_deferred_is_closed(usm_deferred_list *list);

/* Whether something waits in any list. */
static inline bool usm_deferred_waiting(void)
{
    return atomic_load_explicit(&usm_deferred_lists, memory_order_relaxed) != 0;
}

/* What the calling thread may do with an object of an interpreter. */
typedef enum usm_deferred_fate {
    USM_RELEASE_NOW,   /* the thread runs in it, or is a thread of no interpreter and this is the main one */
    USM_RELEASE_LATER, /* push it */
    USM_RELEASE_NEVER, /* the interpreter has ended: the object stays, what is around it may be freed */
} usm_deferred_fate;

/* Sets what answers the two questions below, and usm_deferred_many. */
void usm_deferred_set_interpreters(usm_deferred_list *(*here)(bool attached),
                                   usm_deferred_fate (*fate)(usm_deferred_list *list));
usm_deferred_list *usm_deferred_ask_here(bool attached);
usm_deferred_fate usm_deferred_ask_fate(usm_deferred_list *list);

static inline bool usm_deferred_has_many(void)
{
    return atomic_load_explicit(&usm_deferred_many, memory_order_relaxed);
}

/* The list of the interpreter that the calling thread, which has a GIL, runs in. */
static inline usm_deferred_list *usm_deferred_here(void)
{
    return USM_LIKELY(!usm_deferred_has_many()) ? &usm_deferred_main : usm_deferred_ask_here(true);
}

static inline usm_deferred_fate usm_deferred_fate_of(usm_deferred_list *list)
{
    return USM_LIKELY(!usm_deferred_has_many()) ? USM_RELEASE_NOW : usm_deferred_ask_fate(list);
}

/*
 * Called after a push to the empty list of the main interpreter, on the pushing thread: it may schedule, and
 * nothing else. NULL: none, the list waits for the next drain.
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

/* The interpreter of the objects that a task keeps (one of them tells); NULL: it keeps none. */
static inline usm_deferred_list *usm_keep_home(const usm_keep *keep)
{
    return keep != NULL ? keep->deferred.home : NULL;
}

/* A task that keeps objects begins (1) or is over (-1): the end of their interpreter waits for it. */
static inline void usm_deferred_count_task(usm_deferred_list *home, int change)
{
    if (USM_UNLIKELY(home != NULL && home != &usm_deferred_main)) {
        atomic_fetch_add_explicit(&home->tasks, change, memory_order_acq_rel);
    }
}

/* Hands each to a thread that holds the GIL. Any thread, any lock. */
static inline void usm_keep_drop(USM_TAKES usm_keep *keep)
{
    for (usm_keep *next; keep != NULL; keep = next) {
        next = keep->next;
        usm_deferred_push(&keep->deferred);
    }
}

#endif
