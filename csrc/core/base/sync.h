/*
 * Locks of the core, their order, and what fork() does to them.
 *
 * Order, outermost first:
 *   1. the GIL or a critical section (csrc/py); no lock below is ever held while Python may run
 *   2. the registry lock: backends, contexts, cached queues, the list of all queues
 *   3. one queue's lock
 *   4. hazard stripes, several at once, always in ascending index order
 *   5. one leaf stripe: an event's waiters; or one brief stripe: a pool's free lists; or one worker's lock;
 *      nothing is locked under it
 *
 * Hazards and waiters share fixed arrays of locks, chosen by address or thread, instead of a lock in each
 * object: objects stay small, taking the locks of many allocations needs a bit mask instead of a sort, and
 * fork() can hold all of them, so that the child never meets a lock whose owner does not exist there.
 */
#ifndef USM_CORE_SYNC_H
#define USM_CORE_SYNC_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define USM_STRIPES 64

static inline uint8_t usm_stripe(const void *address)
{
    uintptr_t bits = (uintptr_t)address >> 6; /* objects are spaced by at least a cache line */
    return (uint8_t)((bits ^ (bits >> 6) ^ (bits >> 12)) & (USM_STRIPES - 1));
}

/*
 * The stripe of the hazards of what this thread makes: a task on memory of one thread takes one lock, however
 * many blocks it touches. Where they are held for longer than it takes to look (host), `usm_stripe` spreads
 * them, so that threads on memory that another has made do not meet.
 */
extern _Thread_local uint8_t usm_own_stripe
    __attribute__((tls_model("initial-exec"))); /* plus 1; 0: none yet */
uint8_t usm_choose_stripe(void);

static inline uint8_t usm_stripe_of_thread(void)
{
    return __builtin_expect(usm_own_stripe != 0, 1) ? (uint8_t)(usm_own_stripe - 1) : usm_choose_stripe();
}

/*
 * A lock that is held for less time than it takes to sleep and be woken: who finds it taken looks again a
 * hundred times first, where the system has such locks.
 */
void usm_mutex_init(pthread_mutex_t *mutex);

typedef struct usm_leaf {
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* on CLOCK_MONOTONIC; broadcast only, several objects share it */
} usm_leaf;

usm_leaf *usm_leaf_of(const void *address);

/* Between two looks at what another thread is to write. */
static inline void usm_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/*
 * A queue's lock: taken and given back with one locked instruction each, in line, for it is half of what many
 * a submission does. Who finds it taken looks again a hundred times, then sleeps. All zeros is free.
 */
typedef struct usm_lock {
    _Atomic uint32_t state; /* 0 free, 1 taken, 2 taken and somebody may sleep */
} usm_lock;

void usm_lock_wait(usm_lock *lock);
void usm_lock_wake(usm_lock *lock);

static inline bool usm_lock_try(usm_lock *lock)
{
    uint32_t is_free = 0;
    return atomic_compare_exchange_strong_explicit(&lock->state, &is_free, 1, memory_order_acquire,
                                                   memory_order_relaxed);
}

static inline void usm_lock_take(usm_lock *lock)
{
    if (__builtin_expect(!usm_lock_try(lock), 0)) {
        usm_lock_wait(lock);
    }
}

static inline void usm_lock_give(usm_lock *lock)
{
    if (__builtin_expect(atomic_exchange_explicit(&lock->state, 0, memory_order_release) == 2, 0)) {
        usm_lock_wake(lock);
    }
}

/*
 * Instead of a leaf's mutex, for a few instructions that happen in every function of arrays: one exchange,
 * where a mutex takes two. Who finds it taken spins, and sleeps if that takes long.
 */
typedef struct usm_brief {
    _Atomic bool taken;
} usm_brief;

/* Each on a line of its own: threads with different locks do not take lines from each other. */
typedef struct usm_brief_stripe {
    _Alignas(64) usm_brief lock;
} usm_brief_stripe;

extern usm_brief_stripe usm_briefs[USM_STRIPES], usm_hazard_stripes[USM_STRIPES];
void usm_brief_wait(usm_brief *brief);

static inline void usm_brief_take(usm_brief *brief)
{
    if (__builtin_expect(atomic_exchange_explicit(&brief->taken, true, memory_order_acquire), 0)) {
        usm_brief_wait(brief);
    }
}

static inline usm_brief *usm_brief_lock(const void *address)
{
    usm_brief *brief = &usm_briefs[usm_stripe(address)].lock;
    usm_brief_take(brief);
    return brief;
}

static inline void usm_brief_unlock(usm_brief *brief)
{
    atomic_store_explicit(&brief->taken, false, memory_order_release);
}

/*
 * Locks or unlocks each hazard stripe whose bit is set: brief ones, since every task takes one for each of
 * its allocations, and holds them for its bookkeeping or for work of a few microseconds.
 */
static inline void usm_hazard_lock(uint64_t mask)
{
    for (; mask != 0; mask &= mask - 1) {
        usm_brief_take(&usm_hazard_stripes[__builtin_ctzll(mask)].lock);
    }
}

static inline void usm_hazard_unlock(uint64_t mask)
{
    for (; mask != 0; mask &= mask - 1) {
        usm_brief_unlock(&usm_hazard_stripes[__builtin_ctzll(mask)].lock);
    }
}

/* May be taken again by its holder: a driver that is being started may fork, to run a helper program. */
void usm_registry_lock(void);
void usm_registry_unlock(void);

/* CLOCK_MONOTONIC, nanoseconds: the clock of every time that host tasks report. */
int64_t usm_clock_ns(void);

/*
 * Condition variables on CLOCK_MONOTONIC. usm_cond_wait_until returns false when the deadline (nanoseconds of
 * usm_clock_ns; INT64_MAX waits for ever) passed.
 */
void usm_cond_init(pthread_cond_t *cond);
bool usm_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t deadline_ns);

typedef enum usm_fork_phase { USM_FORK_PREPARE, USM_FORK_PARENT, USM_FORK_CHILD } usm_fork_phase;

/* Must run before anything else of the core; may be called again. */
void usm_sync_start(void);
/* For core/tasks/fork.c only. */
void usm_sync_lock_all(void);
void usm_sync_unlock_all(void);
void usm_sync_renew(void);

#endif
