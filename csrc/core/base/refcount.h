/* The atomic count that every shared core object begins with. */
#ifndef USM_CORE_REFCOUNT_H
#define USM_CORE_REFCOUNT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct usm_refcount {
    _Atomic int32_t value;
} usm_refcount;

/*
 * Objects that live as long as the process (root devices, their default contexts, cached queues) carry a
 * negative count that never changes: taking part in an exchange then costs a load instead of two locked
 * instructions, and threads do not share a cache line that is written.
 */
#define USM_IMMORTAL (INT32_MIN / 2)

static inline void usm_refcount_init(usm_refcount *refs, int32_t value)
{
    atomic_init(&refs->value, value);
}

static inline void usm_refcount_up(usm_refcount *refs)
{
    if (atomic_load_explicit(&refs->value, memory_order_relaxed) >= 0) {
        atomic_fetch_add_explicit(&refs->value, 1, memory_order_relaxed);
    }
}

/* False where the last count is gone already: for caches that hold no count of their own. */
static inline bool usm_refcount_up_unless_zero(usm_refcount *refs)
{
    int32_t value = atomic_load_explicit(&refs->value, memory_order_relaxed);
    while (value > 0) {
        if (atomic_compare_exchange_weak_explicit(&refs->value, &value, value + 1, memory_order_acquire,
                                                  memory_order_relaxed)) {
            return true;
        }
    }
    return value < 0;
}

/* Some of several counts that the caller has, not all of them. */
static inline void usm_refcount_down_by(usm_refcount *refs, int32_t n)
{
    if (atomic_load_explicit(&refs->value, memory_order_relaxed) >= 0) {
        atomic_fetch_sub_explicit(&refs->value, n, memory_order_release);
    }
}

/* True for the caller that gave the last count back: it, and nobody else, destroys the object. */
static inline bool usm_refcount_down(usm_refcount *refs)
{
    if (atomic_load_explicit(&refs->value, memory_order_relaxed) < 0) {
        return false;
    }
    return atomic_fetch_sub_explicit(&refs->value, 1, memory_order_acq_rel) == 1;
}

#endif
