/*
 * Which kernels were short in a queue: whether the next launch, of as many work-items, is expected to be
 * short. All zeros: nothing is known. Any thread. Concurrent updates may be lost; a wrong answer costs one
 * slow wait.
 */
#ifndef USM_CORE_RUNTIME_HISTORY_H
#define USM_CORE_RUNTIME_HISTORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* After this many short runs with as many work-items a kernel is expected to be short. */
#define USM_SHORT_RUNS 2
/* Kernels of one queue that are remembered, by a hash of their address. */
#define USM_KERNELS_REMEMBERED 8

typedef struct usm_runtime_history {
    struct {
        _Atomic(const void *) kernel; /* compared, never dereferenced */
        _Atomic size_t items;
        _Atomic unsigned short_runs;
    } of[USM_KERNELS_REMEMBERED];
} usm_runtime_history;

/* Kernels share a slot where their addresses agree in these bits: the last one to be short has it. */
static inline unsigned usm_runtime_slot(const void *kernel)
{
    uintptr_t bits = (uintptr_t)kernel >> 4;
    return (unsigned)((bits ^ (bits >> 7)) % USM_KERNELS_REMEMBERED);
}

static inline bool usm_runtime_is_short(const usm_runtime_history *history, const void *kernel, size_t items)
{
    unsigned i = usm_runtime_slot(kernel);
    return atomic_load_explicit(&history->of[i].kernel, memory_order_relaxed) == kernel &&
           items <= atomic_load_explicit(&history->of[i].items, memory_order_relaxed) &&
           atomic_load_explicit(&history->of[i].short_runs, memory_order_relaxed) >= USM_SHORT_RUNS;
}

/* Records a run. A kernel that was not short leaves a slot of another kernel alone. */
static inline void usm_runtime_learn(usm_runtime_history *history, const void *kernel, size_t items,
                                     bool was_short)
{
    unsigned i = usm_runtime_slot(kernel);
    bool same = atomic_load_explicit(&history->of[i].kernel, memory_order_relaxed) == kernel &&
                atomic_load_explicit(&history->of[i].items, memory_order_relaxed) == items;
    unsigned runs = atomic_load_explicit(&history->of[i].short_runs, memory_order_relaxed);
    if (same && (!was_short || runs < USM_SHORT_RUNS)) {
        atomic_store_explicit(&history->of[i].short_runs, was_short ? runs + 1 : 0, memory_order_relaxed);
    } else if (!same && was_short) {
        atomic_store_explicit(&history->of[i].short_runs, 1, memory_order_relaxed);
        atomic_store_explicit(&history->of[i].items, items, memory_order_relaxed);
        atomic_store_explicit(&history->of[i].kernel, kernel, memory_order_relaxed);
    }
}

#endif
