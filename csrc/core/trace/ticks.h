/*
 * The clock of records: the processor's own where it runs at one rate on all cores, since asking the system
 * for the time would cost more than all the rest of a record.
 */
#ifndef USM_CORE_TICKS_H
#define USM_CORE_TICKS_H

#include "core/base/status.h"
#include "core/base/sync.h"

#include <stdatomic.h>

extern _Atomic bool usm_ticks_are_cycles;

static inline int64_t usm_ticks(void)
{
#if defined(__x86_64__)
    if (USM_LIKELY(atomic_load_explicit(&usm_ticks_are_cycles, memory_order_relaxed))) {
        return (int64_t)__builtin_ia32_rdtsc();
    }
#endif
    return usm_clock_ns();
}

/* The same moment on both clocks. */
typedef struct usm_moment {
    int64_t ticks, ns;
} usm_moment;

/* Before anything is timed; the first call decides. It reads a file: no lock that a signal needs. */
void usm_ticks_start(void);
usm_moment usm_moment_now(void);
/* Of usm_clock_ns; `now` is one moment for all times that are compared. */
int64_t usm_ticks_to_ns(int64_t ticks, const usm_moment *now);

#endif
