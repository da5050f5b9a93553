/*
 * Free lists: memory of objects that wait for their next use, last in first out. The first word of a free
 * object is the link to the next one; whatever stood there is lost, the rest stays.
 */
#ifndef USM_CORE_FREELIST_H
#define USM_CORE_FREELIST_H

#include <stdatomic.h>
#include <stddef.h>

/* Of one thread, or under a lock that its owner names. All zeros is empty. */
typedef struct usm_freelist {
    void *first;
    int n;
} usm_freelist;

static inline void usm_freelist_push(usm_freelist *list, void *object)
{
    *(void **)object = list->first;
    list->first = object;
    list->n++;
}

/* NULL: it is empty. */
static inline void *usm_freelist_pop(usm_freelist *list)
{
    void *object = list->first;
    if (object != NULL) {
        list->first = *(void **)object;
        list->n--;
    }
    return object;
}

/* Moves all of `from`, which becomes empty. */
static inline void usm_freelist_move(usm_freelist *list, usm_freelist *from)
{
    for (void *object; (object = usm_freelist_pop(from)) != NULL;) {
        usm_freelist_push(list, object);
    }
}

/* One owner takes, under a lock that it names; any thread gives back, without a lock. All zeros is empty. */
typedef struct usm_shared_freelist {
    void *first; /* the owner's */
    _Atomic(void *) returned;
    _Atomic int n_returned; /* approximate: concurrent updates may be lost; locked additions are not free */
} usm_shared_freelist;

static inline int usm_shared_freelist_returned(usm_shared_freelist *list)
{
    return atomic_load_explicit(&list->n_returned, memory_order_relaxed);
}

/* Objects of `from`, which is not empty; `last` is the one that was pushed first. */
static inline void usm_shared_freelist_return(usm_shared_freelist *list, usm_freelist *from, void *last)
{
    void *head = atomic_load_explicit(&list->returned, memory_order_relaxed);
    atomic_store_explicit(&list->n_returned, usm_shared_freelist_returned(list) + from->n,
                          memory_order_relaxed);
    do {
        *(void **)last = head;
    } while (!atomic_compare_exchange_weak_explicit(&list->returned, &head, from->first, memory_order_release,
                                                    memory_order_relaxed));
}

static inline void *usm_shared_freelist_pop(usm_shared_freelist *list)
{
    if (list->first == NULL) {
        list->first = atomic_exchange_explicit(&list->returned, NULL, memory_order_acquire);
        atomic_store_explicit(&list->n_returned, 0, memory_order_relaxed);
    }
    void *object = list->first;
    if (object != NULL) {
        list->first = *(void **)object;
    }
    return object;
}

#endif
