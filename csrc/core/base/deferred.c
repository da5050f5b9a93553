#include "deferred.h"

#include <stddef.h>

usm_deferred_list usm_deferred_main;
_Atomic int usm_deferred_lists;
_Atomic bool usm_deferred_many;
static _Atomic(void (*)(void)) notifier;
static _Atomic(usm_deferred_list *(*)(bool)) here_hook; /* both set before usm_deferred_many, and kept */
static _Atomic(usm_deferred_fate (*)(usm_deferred_list *)) fate_hook;
static usm_deferred closed; /* the head of a closed list */

void usm_deferred_push(usm_deferred *node)
{
    usm_deferred_list *list = node->home != NULL ? node->home : &usm_deferred_main;
    usm_deferred *head = atomic_load_explicit(&list->head, memory_order_relaxed);
    do {
        if (USM_UNLIKELY(head == &closed)) {
            list = &usm_deferred_main;
            head = atomic_load_explicit(&list->head, memory_order_relaxed);
        }
        node->next = head;
    } while (!atomic_compare_exchange_weak_explicit(&list->head, &head, node, memory_order_release,
                                                    memory_order_relaxed));
    if (head != NULL) {
        return;
    }
    atomic_fetch_add_explicit(&usm_deferred_lists, 1, memory_order_relaxed);
    void (*notify)(void) =
        list == &usm_deferred_main ? atomic_load_explicit(&notifier, memory_order_acquire) : NULL;
    if (notify != NULL) {
        notify();
    }
}

/* `list`: what was taken from a list, newest first. */
static void run_all(usm_deferred *list)
{
    usm_deferred *oldest_first = NULL;
    atomic_fetch_sub_explicit(&usm_deferred_lists, 1, memory_order_relaxed);
    while (list != NULL) {
        usm_deferred *next = list->next;
        list->next = oldest_first;
        oldest_first = list;
        list = next;
    }
    while (oldest_first != NULL) {
        usm_deferred *node = oldest_first;
        oldest_first = node->next; /* run() frees the node */
        node->run(node);
    }
}

void usm_deferred_drain(usm_deferred_list *list)
{
    usm_deferred *head = atomic_load_explicit(&list->head, memory_order_relaxed);
    do {
        if (head == NULL || head == &closed) {
            return;
        }
    } while (!atomic_compare_exchange_weak_explicit(&list->head, &head, NULL, memory_order_acquire,
                                                    memory_order_relaxed));
    run_all(head);
}

void usm_deferred_close(usm_deferred_list *list)
{
    usm_deferred *head = atomic_exchange_explicit(&list->head, &closed, memory_order_acq_rel);
    if (head != NULL && head != &closed) {
        run_all(head);
    }
}

bool usm_deferred_is_closed(usm_deferred_list *list)
{
    return atomic_load_explicit(&list->head, memory_order_acquire) == &closed;
}

void usm_deferred_set_notifier(void (*notify)(void))
{
    atomic_store_explicit(&notifier, notify, memory_order_release);
}

void usm_deferred_set_interpreters(usm_deferred_list *(*here)(bool attached),
                                   usm_deferred_fate (*fate)(usm_deferred_list *list))
{
    atomic_store(&here_hook, here);
    atomic_store(&fate_hook, fate);
    atomic_store(&usm_deferred_many, true);
}

usm_deferred_list *usm_deferred_ask_here(bool attached)
{
    return atomic_load_explicit(&here_hook, memory_order_acquire)(attached);
}

usm_deferred_fate usm_deferred_ask_fate(usm_deferred_list *list)
{
    return atomic_load_explicit(&fate_hook, memory_order_acquire)(list != NULL ? list : &usm_deferred_main);
}
