#include "usage.h"

#include "core/base/sync.h"

bool usm_usage_take(usm_place *place, size_t nbytes)
{
    size_t held = atomic_fetch_add_explicit(&place->held, nbytes, memory_order_relaxed) + nbytes;
    if (held > atomic_load_explicit(&place->limit, memory_order_relaxed)) {
        usm_usage_give(place, nbytes);
        return false;
    }
    usm_raise(&place->peak, held);
    return true;
}

void usm_usage_give(usm_place *place, size_t nbytes)
{
    atomic_fetch_sub_explicit(&place->held, nbytes, memory_order_relaxed);
}
