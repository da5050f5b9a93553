/*
 * Locks of the core, their order, and what fork() does to them.
 *
 * Order, outermost first:
 *   1. the GIL or a critical section (csrc/py); no lock below is ever held while Python may run
 *   2. one backend's start (registry.c), which is waited for without the GIL
 *   3. the registry lock: contexts, cached queues, the list of all queues
 *   4. one queue's lock
 *   5. hazard stripes, several at once, always in ascending index order
 *   6. one leaf stripe: an event's waiters; or one spinlock stripe: a pool's free lists, the buffers of
 * traces; or one worker's lock; nothing is locked under it
 *
 * Hazards and waiters share fixed arrays of locks, chosen by address, instead of a lock in each
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
 * For locks that are held for less time than a thread takes to sleep and be woken: a waiting thread spins
 * first, where the C library has such mutexes.
 */
void usm_mutex_init(pthread_mutex_t *mutex);

typedef struct usm_leaf {
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* on CLOCK_MONOTONIC; broadcast only, several objects share it */
} usm_leaf;

usm_leaf *usm_leaf_of(const void *address);

/* Builds for tests end the process where a lock is given back, or what it guards is written, without it. */
#ifdef USM_TESTING
void usm_expect_held(bool held);
#define USM_EXPECT_HELD(held) usm_expect_held(held)
#else
#define USM_EXPECT_HELD(held) ((void)0)
#endif

/*
 * They count the locks of the core that a thread holds, and end the process where the core asks for memory
 * under a spinlock stripe (other threads would spin for as long as the system takes to find it), or calls
 * what may block under any of them (core/device/rule.h).
 */
#ifdef USM_TESTING
typedef enum usm_lock_kind {
    USM_LOCK_REGISTRY,
    USM_LOCK_QUEUE,
    USM_LOCK_HAZARD,
    USM_LOCK_LEAF,
    USM_LOCK_SPINLOCK,
    USM_LOCK_KINDS
} usm_lock_kind;
struct usm_spinlock;
void usm_count_lock(usm_lock_kind kind, int n);
void usm_count_stripe(const struct usm_spinlock *lock, int n);
void usm_expect_no_stripe(void); /* for heap.h only */
unsigned usm_locks_held(void);   /* 1u << usm_lock_kind each, of the calling thread */
#define USM_COUNT_LOCK(kind, n) usm_count_lock(kind, n)
#define USM_COUNT_STRIPE(lock, n) usm_count_stripe(lock, n)
#else
#define USM_COUNT_LOCK(kind, n) ((void)0)
#define USM_COUNT_STRIPE(lock, n) ((void)0)
#endif

/* The core's leaf mutexes: stripes, and those of threads and their lists. */
static inline void usm_mutex_lock(pthread_mutex_t *mutex)
{
    pthread_mutex_lock(mutex);
    USM_COUNT_LOCK(USM_LOCK_LEAF, 1);
}

static inline void usm_mutex_unlock(pthread_mutex_t *mutex)
{
    USM_COUNT_LOCK(USM_LOCK_LEAF, -1);
    pthread_mutex_unlock(mutex);
}

/* The number becomes at least this one; it never falls, whatever other threads raise it to at the time. */
static inline void usm_raise(_Atomic uint64_t *number, uint64_t least)
{
    uint64_t seen = atomic_load_explicit(number, memory_order_relaxed);
    while (seen < least && !atomic_compare_exchange_weak_explicit(number, &seen, least, memory_order_release,
                                                                  memory_order_relaxed)) {
    }
}

/* Between two reads of a variable that another thread will write. */
static inline void usm_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/*
 * A queue's lock: taken and given back with one locked instruction each, in line, since that is half the cost
 * of a short submission. A waiting thread spins a hundred times, then sleeps. All zeros is free.
 */
typedef struct usm_lock {
    _Atomic uint32_t state; /* 0 free, 1 taken, 2 taken and a thread may sleep */
} usm_lock;

void usm_lock_wait(usm_lock *lock);
void usm_lock_wake(usm_lock *lock);

static inline bool usm_lock_try(usm_lock *lock)
{
    uint32_t is_free = 0;
    bool taken = atomic_compare_exchange_strong_explicit(&lock->state, &is_free, 1, memory_order_acquire,
                                                         memory_order_relaxed);
    USM_COUNT_LOCK(USM_LOCK_QUEUE, taken);
    return taken;
}

static inline void usm_lock_take(usm_lock *lock)
{
    if (__builtin_expect(!usm_lock_try(lock), 0)) {
        usm_lock_wait(lock);
    }
}

static inline void usm_lock_give(usm_lock *lock)
{
    uint32_t state = atomic_exchange_explicit(&lock->state, 0, memory_order_release);
    USM_EXPECT_HELD(state != 0);
    USM_COUNT_LOCK(USM_LOCK_QUEUE, -1);
    if (__builtin_expect(state == 2, 0)) {
        usm_lock_wake(lock);
    }
}

/*
 * A spinlock, in place of a leaf's mutex for critical sections of a few instructions that many functions
 * enter: it is taken with one exchange, where a mutex needs two. A waiting thread spins, and sleeps in
 * between if that takes long.
 */
typedef struct usm_spinlock {
    _Atomic bool taken;
} usm_spinlock;

/* Each on its own cache line: threads with different locks share none. */
typedef struct usm_spinlock_stripe {
    _Alignas(64) usm_spinlock lock;
} usm_spinlock_stripe;

extern usm_spinlock_stripe usm_spinlock_stripes[USM_STRIPES], usm_hazard_stripes[USM_STRIPES];
void usm_spinlock_wait(usm_spinlock *lock);

static inline void usm_spinlock_take(usm_spinlock *lock)
{
    if (__builtin_expect(atomic_exchange_explicit(&lock->taken, true, memory_order_acquire), 0)) {
        usm_spinlock_wait(lock);
    }
    USM_COUNT_STRIPE(lock, 1);
}

static inline usm_spinlock *usm_spinlock_take_stripe(const void *address)
{
    usm_spinlock *lock = &usm_spinlock_stripes[usm_stripe(address)].lock;
    usm_spinlock_take(lock);
    return lock;
}

static inline void usm_spinlock_give(usm_spinlock *lock)
{
    USM_EXPECT_HELD(atomic_load_explicit(&lock->taken, memory_order_relaxed));
    USM_COUNT_STRIPE(lock, -1);
    atomic_store_explicit(&lock->taken, false, memory_order_release);
}

/*
 * Locks or unlocks each hazard stripe whose bit is set. They are spinlocks, since every task takes one for
 * each of its allocations, and holds them for its bookkeeping or for work of a few microseconds.
 */
static inline void usm_hazard_lock(uint64_t mask)
{
    for (; mask != 0; mask &= mask - 1) {
        usm_spinlock_take(&usm_hazard_stripes[__builtin_ctzll(mask)].lock);
    }
}

static inline void usm_hazard_unlock(uint64_t mask)
{
    for (; mask != 0; mask &= mask - 1) {
        usm_spinlock_give(&usm_hazard_stripes[__builtin_ctzll(mask)].lock);
    }
}

/* Recursive: usm_place_queue needs that, and a driver that makes parts of a device under it may fork. */
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
/* For core/tasks/fork.c only: all stripes, and condition variables without waiters in a forked child. */
void usm_sync_lock_all(void);
void usm_sync_unlock_all(void);
void usm_sync_renew(void);

#endif
