#include "usage.h"

bool usm_usage_take(usm_place *place, size_t nbytes)
{
    size_t held = atomic_fetch_add_explicit(&place->held, nbytes, memory_order_relaxed) + nbytes;
    if (held > atomic_load_explicit(&place->limit, memory_order_relaxed)) {
        usm_usage_give(place, nbytes);
        return false;
    }
    size_t peak = atomic_load_explicit(&place->peak, memory_order_relaxed);
    while (held > peak && !atomic_compare_exchange_weak_explicit(
                              &place->peak, &peak, held, memory_order_relaxed, memory_order_relaxed)) {
    }
    return true;
}

void usm_usage_give(usm_place *place, size_t nbytes)
{
    atomic_fetch_sub_explicit(&place->held, nbytes, memory_order_relaxed);
}
