/* Kernels that were over in a moment, as far as a queue has seen: what to expect of the next launch. */
#ifndef USM_CORE_HABIT_H
#define USM_CORE_HABIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A kernel is trusted after so many quick runs of as many work-items. */
#define USM_HABIT_RUNS 2
#define USM_HABITS 8

/* All zero: nothing is known. */
typedef struct usm_habits {
    struct {
        _Atomic(const void *) kernel; /* for comparing alone */
        _Atomic size_t items;
        _Atomic unsigned runs; /* quick ones, of so many work-items */
    } of[USM_HABITS];
} usm_habits;

static inline unsigned usm_habit_place(const void *kernel)
{
    uintptr_t bits = (uintptr_t)kernel >> 4;
    return (unsigned)((bits ^ (bits >> 7)) % USM_HABITS);
}

/* Any thread. What is wrong about it is wrong once. */
static inline bool usm_habit_is_quick(const usm_habits *habits, const void *kernel, size_t items)
{
    unsigned i = usm_habit_place(kernel);
    return atomic_load_explicit(&habits->of[i].kernel, memory_order_relaxed) == kernel &&
           items <= atomic_load_explicit(&habits->of[i].items, memory_order_relaxed) &&
           atomic_load_explicit(&habits->of[i].runs, memory_order_relaxed) >= USM_HABIT_RUNS;
}

/* Any thread. Kernels are compared by address alone, and threads may write here at once. */
static inline void usm_habit_learn(usm_habits *habits, const void *kernel, size_t items, bool quick)
{
    unsigned i = usm_habit_place(kernel);
    bool same = atomic_load_explicit(&habits->of[i].kernel, memory_order_relaxed) == kernel &&
                atomic_load_explicit(&habits->of[i].items, memory_order_relaxed) == items;
    unsigned runs = atomic_load_explicit(&habits->of[i].runs, memory_order_relaxed);
    if (same && (!quick || runs < USM_HABIT_RUNS)) {
        atomic_store_explicit(&habits->of[i].runs, quick ? runs + 1 : 0, memory_order_relaxed);
    } else if (!same && quick) {
        atomic_store_explicit(&habits->of[i].runs, 1, memory_order_relaxed);
        atomic_store_explicit(&habits->of[i].items, items, memory_order_relaxed);
        atomic_store_explicit(&habits->of[i].kernel, kernel, memory_order_relaxed);
    }
}

#endif
