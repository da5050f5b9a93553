/* Locks have one holder, also where others sleep for it; what they forbid; numbers that only grow. */
#include "check.h"
#include "support.h"

#include "core/base/sync.h"
#include "core/start.h"

#include <time.h>

#define THREADS 4
#define TURNS 20000

static usm_lock lock;
static long counted; /* under the lock */

static void *count(void *unused)
{
    const struct timespec moment = {.tv_nsec = 200000};
    (void)unused;
    for (int i = 0; i < TURNS; i++) {
        usm_lock_take(&lock);
        long before = counted;
        if (i % 2000 == 0) {
            nanosleep(&moment, NULL); /* longer than anybody looks: the others sleep */
        }
        counted = before + 1;
        usm_lock_give(&lock);
        if (i % 3 == 0 && usm_lock_try(&lock)) {
            counted++;
            counted--;
            usm_lock_give(&lock);
        }
    }
    return NULL;
}

static void one_holder(void)
{
    in_threads(THREADS, count, NULL, 0);
    CHECK_EQ(counted, (long)THREADS * TURNS);
    CHECK_EQ(lock.state, 0);
}

static void tried(void)
{
    CHECK(usm_lock_try(&lock));
    CHECK(!usm_lock_try(&lock));
    usm_lock_give(&lock);
    CHECK(usm_lock_try(&lock));
    usm_lock_give(&lock);
}

static void give_a_free_lock(void)
{
    usm_lock_take(&lock);
    usm_lock_give(&lock);
    usm_lock_give(&lock);
}

static void unlock_a_free_stripe(void)
{
    usm_hazard_lock(1);
    usm_hazard_unlock(3);
}

static void unlock_the_registry_twice(void)
{
    usm_registry_lock();
    usm_registry_unlock();
    usm_registry_unlock();
}

static void locks_that_are_not_held_end_the_process(void)
{
    expect_abort(give_a_free_lock, "usmpy: a lock is not held");
    expect_abort(unlock_a_free_stripe, "usmpy: a lock is not held");
    expect_abort(unlock_the_registry_twice, "usmpy: a lock is not held");
}

static void ask_for_memory_under_a_spinlock(void)
{
    (void)usm_spinlock_take_stripe(&lock);
    free(usm_malloc(1));
}

static void memory_under_a_spinlock_ends_the_process(void)
{
    expect_abort(ask_for_memory_under_a_spinlock, "usmpy: memory is asked for under a spinlock");
    usm_spinlock_give(usm_spinlock_take_stripe(&lock));
    free(usm_malloc(1));
}

/* Every sleeping thread is woken, one by one, although no later call would wake it. */
static void *pass(void *unused)
{
    (void)unused;
    usm_lock_take(&lock);
    counted++;
    usm_lock_give(&lock);
    return NULL;
}

static void sleepers_are_woken(void)
{
    pthread_t threads[THREADS];
    counted = 0;
    usm_lock_take(&lock);
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, pass, NULL), 0);
    }
    await_rest();
    usm_lock_give(&lock);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK_EQ(counted, THREADS);
    CHECK_EQ(lock.state, 0);
}

static _Atomic uint64_t raised;

/* All threads raise it from where it is, each by another step, so that they meet at every number. */
static void *raise_often(void *step)
{
    uint64_t own = 0;
    for (long left = scaled(4000000); left > 0; left--) {
        uint64_t now = atomic_load(&raised);
        CHECK(now >= own);
        own = now + *(const uint64_t *)step;
        usm_raise(&raised, own);
    }
    return NULL;
}

static void a_raised_number_never_falls(void)
{
    uint64_t steps[THREADS];
    for (int i = 0; i < THREADS; i++) {
        steps[i] = (uint64_t)i + 1;
    }
    in_threads(THREADS, raise_often, steps, sizeof steps[0]);
    usm_raise(&raised, UINT64_MAX);
    usm_raise(&raised, 1);
    CHECK(atomic_load(&raised) == UINT64_MAX);
}

/* The deadline is a time of the monotonic clock. */
static void a_wait_lasts_until_its_deadline(void)
{
    usm_leaf *leaf = usm_leaf_of(&lock);
    int64_t deadline = usm_clock_ns() + 1000000;
    usm_mutex_lock(&leaf->mutex);
    while (usm_cond_wait_until(&leaf->changed, &leaf->mutex, deadline)) {
    }
    usm_mutex_unlock(&leaf->mutex);
    CHECK(usm_clock_ns() >= deadline);
}

int main(void)
{
    watchdog(600);
    RUN(tried);
    RUN(one_holder);
    RUN(sleepers_are_woken);
    RUN(a_raised_number_never_falls);
    RUN(locks_that_are_not_held_end_the_process);
    RUN(memory_under_a_spinlock_ends_the_process);
    usm_core_start(); /* from here on fork() takes more locks than ThreadSanitizer counts */
    RUN(a_wait_lasts_until_its_deadline);
    return 0;
}
