#include "deferred.h"

#include <stddef.h>

_Atomic(usm_deferred *) usm_deferred_head;
static _Atomic(void (*)(void)) notifier;

void usm_deferred_push(usm_deferred *node)
{
    usm_deferred *head = atomic_load_explicit(&usm_deferred_head, memory_order_relaxed);
    do {
        node->next = head;
    } while (!atomic_compare_exchange_weak_explicit(&usm_deferred_head, &head, node, memory_order_release,
                                                    memory_order_relaxed));
    if (head == NULL) {
        void (*notify)(void) = atomic_load_explicit(&notifier, memory_order_acquire);
        if (notify != NULL) {
            notify();
        }
    }
}

void usm_deferred_drain(void)
{
    usm_deferred *list = atomic_exchange_explicit(&usm_deferred_head, NULL, memory_order_acquire);
    usm_deferred *oldest_first = NULL;
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

void usm_deferred_set_notifier(void (*notify)(void))
{
    atomic_store_explicit(&notifier, notify, memory_order_release);
}
