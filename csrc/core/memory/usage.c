#include "usage.h"

#include "core/device/backend.h"
#include "pool.h"

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

size_t usm_usage_trim(usm_place *place)
{
    size_t freed = 0;
    for (usm_kind kind = 0; kind < USM_KINDS; kind++) {
        freed += usm_pool_trim(place->pools[kind], place, kind);
    }
    if (place->context->backend->memory_trim != NULL) {
        place->context->backend->memory_trim(place->device);
    }
    return freed;
}

void usm_usage_limit(usm_place *place, size_t nbytes)
{
    atomic_store_explicit(&place->limit, nbytes, memory_order_relaxed);
    if (atomic_load_explicit(&place->held, memory_order_relaxed) > nbytes) {
        usm_usage_trim(place);
    }
}
