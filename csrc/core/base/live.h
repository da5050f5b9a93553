/* Live counts of core objects: every test ends where it began. */
#ifndef USM_CORE_LIVE_H
#define USM_CORE_LIVE_H

#include <stdatomic.h>
#include <stdint.h>

typedef enum usm_live_kind {
    USM_LIVE_CONTEXT,
    USM_LIVE_QUEUE,
    USM_LIVE_EVENT,
    USM_LIVE_ALLOC,  /* allocations in use: owned or imported, not the pool's spare blocks */
    USM_LIVE_EXPORT, /* DLPack tensors and levels of Arrow arrays that a consumer has not given back */
    USM_LIVE_FAILURE,
    USM_LIVE_PROGRAM,
    USM_LIVE_KERNEL,
    USM_LIVE_KINDS
} usm_live_kind;

extern _Atomic int64_t usm_live_counts[USM_LIVE_KINDS];

/* Counted in builds for tests alone: a locked addition is a tenth of what an exchange may cost. */
static inline void usm_live_add(usm_live_kind kind, int64_t by)
{
#ifdef USM_TESTING
    atomic_fetch_add_explicit(&usm_live_counts[kind], by, memory_order_relaxed);
#else
    (void)kind;
    (void)by;
#endif
}

static inline int64_t usm_live_count(usm_live_kind kind)
{
    return atomic_load_explicit(&usm_live_counts[kind], memory_order_relaxed);
}

const char *usm_live_name(usm_live_kind kind);

#endif
