/* Entries of a backend that may block are called without the GIL and without a lock of the core. */
#include "check.h"
#include "support.h"

#include "core/device/rule.h"

static int calls;

static void trim(const usm_place *place)
{
    (void)place;
    calls++;
}

static usm_progress poll_event(usm_event *event, usm_error *error)
{
    (void)event, (void)error;
    calls++;
    return USM_PROGRESS_PENDING;
}

static const usm_backend table = {.memory_trim = trim, .event_poll = poll_event};
static usm_lock queue_lock;

static bool attached(void)
{
    return true;
}

static void wait_in_the_driver(void)
{
    USM_CALL(&table, memory_trim)(NULL);
}

static void with_the_registry(void)
{
    usm_registry_lock();
    wait_in_the_driver();
}

static void with_a_queue(void)
{
    usm_lock_take(&queue_lock);
    wait_in_the_driver();
}

static void with_a_queue_that_was_free(void)
{
    CHECK(usm_lock_try(&queue_lock));
    wait_in_the_driver();
}

static void with_a_hazard(void)
{
    usm_hazard_lock(3);
    usm_hazard_unlock(1);
    wait_in_the_driver();
}

static void with_a_leaf(void)
{
    usm_mutex_lock(&usm_leaf_of(&table)->mutex);
    wait_in_the_driver();
}

static void with_a_spinlock(void)
{
    (void)usm_spinlock_take_stripe(&table);
    wait_in_the_driver();
}

static void with_the_gil(void)
{
    usm_rule_set(attached);
    wait_in_the_driver();
}

static void with_all_of_them(void)
{
    usm_rule_set(attached);
    usm_lock_take(&queue_lock);
    with_a_hazard();
}

static void what_is_held_is_named(void)
{
#define EXPECT(misuse, held) \
    expect_abort(misuse, "usmpy: memory_trim may block, and is called with " held "\n")
    EXPECT(with_the_registry, "the registry lock");
    EXPECT(with_a_queue, "a queue's lock");
    EXPECT(with_a_queue_that_was_free, "a queue's lock");
    EXPECT(with_a_hazard, "a hazard stripe");
    EXPECT(with_a_leaf, "a leaf lock");
    EXPECT(with_a_spinlock, "a spinlock stripe");
    EXPECT(with_the_gil, "the GIL");
    EXPECT(with_all_of_them, "a queue's lock and a hazard stripe and the GIL");
}

static void *wait_on_a_thread(void *unused)
{
    (void)unused;
    wait_in_the_driver();
    return NULL;
}

/* Another thread has them, or this one has given its own back. */
static void locks_of_others_do_not_count(void)
{
    pthread_t thread;
    usm_lock_take(&queue_lock);
    CHECK_EQ(pthread_create(&thread, NULL, wait_on_a_thread, NULL), 0);
    pthread_join(thread, NULL);
    usm_lock_give(&queue_lock);
    usm_registry_lock();
    usm_registry_lock();
    usm_registry_unlock();
    usm_registry_unlock();
    usm_mutex_lock(&usm_leaf_of(&table)->mutex);
    usm_mutex_unlock(&usm_leaf_of(&table)->mutex);
    usm_spinlock_give(usm_spinlock_take_stripe(&table));
    usm_hazard_lock(5);
    usm_hazard_unlock(5);
    calls = 0;
    wait_in_the_driver();
    CHECK_EQ(calls, 1);
}

/* A thread that slept for the lock holds it, too. */
static void *take_late(void *unused)
{
    (void)unused;
    usm_lock_take(&queue_lock);
    CHECK_EQ(usm_locks_held(), 1u << USM_LOCK_QUEUE);
    usm_lock_give(&queue_lock);
    CHECK_EQ(usm_locks_held(), 0);
    return NULL;
}

static void a_lock_that_was_waited_for_counts(void)
{
    pthread_t thread;
    usm_lock_take(&queue_lock);
    CHECK_EQ(pthread_create(&thread, NULL, take_late, NULL), 0);
    while (atomic_load(&queue_lock.state) != 2) { /* until it sleeps */
        sleep_ms(1);
    }
    usm_lock_give(&queue_lock);
    pthread_join(thread, NULL);
}

static void what_never_blocks_is_called_with_all_of_them(void)
{
    calls = 0;
    usm_rule_set(attached);
    usm_lock_take(&queue_lock);
    (void)USM_CALL(&table, event_poll)(NULL, NULL);
    USM_CALL_IF(calls != 1, &table, memory_trim)(NULL); /* as its caller knows, it does not block here */
    usm_lock_give(&queue_lock);
    usm_rule_set(NULL);
    CHECK_EQ(calls, 2);
}

int main(void)
{
    watchdog(600);
    RUN(what_is_held_is_named);
    RUN(locks_of_others_do_not_count);
    RUN(a_lock_that_was_waited_for_counts);
    RUN(what_never_blocks_is_called_with_all_of_them);
    return 0;
}
