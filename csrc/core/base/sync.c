#include "sync.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static usm_leaf leaves[USM_STRIPES];
usm_spinlock_stripe usm_spinlock_stripes[USM_STRIPES], usm_hazard_stripes[USM_STRIPES];
static pthread_mutex_t registry;
static pthread_once_t once = PTHREAD_ONCE_INIT;

#ifdef USM_TESTING
void usm_expect_held(bool held)
{
    if (!held) {
        (void)fputs("usmpy: a lock is not held\n", stderr);
        abort();
    }
}

static _Thread_local int held[USM_LOCK_KINDS];

void usm_count_lock(usm_lock_kind kind, int n)
{
    held[kind] += n;
}

static bool is_in(const usm_spinlock *lock, const usm_spinlock_stripe *stripes)
{
    return (uintptr_t)lock - (uintptr_t)stripes < USM_STRIPES * sizeof *stripes;
}

/* Not those of a backend. */
void usm_count_stripe(const usm_spinlock *lock, int n)
{
    held[USM_LOCK_HAZARD] += is_in(lock, usm_hazard_stripes) ? n : 0;
    held[USM_LOCK_SPINLOCK] += is_in(lock, usm_spinlock_stripes) ? n : 0;
}

unsigned usm_locks_held(void)
{
    unsigned mask = 0;
    for (int kind = 0; kind < USM_LOCK_KINDS; kind++) {
        mask |= held[kind] != 0 ? 1u << kind : 0;
    }
    return mask;
}

void usm_expect_no_stripe(void)
{
    if (held[USM_LOCK_SPINLOCK] != 0) {
        (void)fputs("usmpy: memory is asked for under a spinlock\n", stderr);
        abort();
    }
}
#endif

void usm_mutex_init(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
#if defined(__GLIBC__)
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
#endif
    pthread_mutex_init(mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

static void start(void)
{
    usm_mutex_init(&registry);
    for (int i = 0; i < USM_STRIPES; i++) {
        usm_mutex_init(&leaves[i].mutex);
        usm_cond_init(&leaves[i].changed);
    }
}

void usm_sync_start(void)
{
    pthread_once(&once, start);
}

usm_leaf *usm_leaf_of(const void *address)
{
    return &leaves[usm_stripe(address)];
}

void usm_lock_wait(usm_lock *lock)
{
    for (int i = 0; i < 100; i++) {
        usm_pause();
        if (atomic_load_explicit(&lock->state, memory_order_relaxed) == 0 && usm_lock_try(lock)) {
            return;
        }
    }
    /* From here on it is taken as one that somebody may sleep for: so it is given back with a call. */
    while (atomic_exchange_explicit(&lock->state, 2, memory_order_acquire) != 0) {
        (void)syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
    }
    USM_COUNT_LOCK(USM_LOCK_QUEUE, 1);
}

void usm_lock_wake(usm_lock *lock)
{
    (void)syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void usm_spinlock_wait(usm_spinlock *lock)
{
    const struct timespec pause = {.tv_nsec = 20000}; /* the holder may have lost its processor */
    for (unsigned n = 1; atomic_load_explicit(&lock->taken, memory_order_relaxed) ||
                         atomic_exchange_explicit(&lock->taken, true, memory_order_acquire);
         n++) {
        if (n % 128 == 0) {
            nanosleep(&pause, NULL);
        }
    }
}

/*
 * Not a recursive mutex: its owner is a thread of the parent, so that the child of a fork could not unlock
 * it.
 */
static _Thread_local unsigned registry_depth;

void usm_registry_lock(void)
{
    if (registry_depth++ == 0) {
        pthread_mutex_lock(&registry);
        USM_COUNT_LOCK(USM_LOCK_REGISTRY, 1);
    }
}

void usm_registry_unlock(void)
{
    USM_EXPECT_HELD(registry_depth > 0);
    if (--registry_depth == 0) {
        USM_COUNT_LOCK(USM_LOCK_REGISTRY, -1);
        pthread_mutex_unlock(&registry);
    }
}

int64_t usm_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void usm_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

bool usm_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t deadline_ns)
{
    if (deadline_ns == INT64_MAX) {
        pthread_cond_wait(cond, mutex);
        return true;
    }
    struct timespec until = {.tv_sec = deadline_ns / 1000000000, .tv_nsec = deadline_ns % 1000000000};
    return pthread_cond_timedwait(cond, mutex, &until) != ETIMEDOUT;
}

void usm_sync_lock_all(void)
{
    usm_hazard_lock(UINT64_MAX);
    for (int i = 0; i < USM_STRIPES; i++) {
        usm_mutex_lock(&leaves[i].mutex);
    }
    for (int i = 0; i < USM_STRIPES; i++) {
        usm_spinlock_take(&usm_spinlock_stripes[i].lock);
    }
}

void usm_sync_unlock_all(void)
{
    for (int i = 0; i < USM_STRIPES; i++) {
        usm_spinlock_give(&usm_spinlock_stripes[i].lock);
    }
    for (int i = USM_STRIPES - 1; i >= 0; i--) {
        usm_mutex_unlock(&leaves[i].mutex);
    }
    usm_hazard_unlock(UINT64_MAX);
}

/* In a forked child: the waiters that the condition variables remember do not exist here. */
void usm_sync_renew(void)
{
    for (int i = 0; i < USM_STRIPES; i++) {
        usm_cond_init(&leaves[i].changed);
    }
}
