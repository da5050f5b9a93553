/* The reclaimer: what is put is given back once, by its thread or by one that drains, once it agrees. */
#include "check.h"
#include "core/base/reclaimer.h"
#include "support.h"

#include <pthread.h>
#include <sys/wait.h>

typedef struct thing {
    usm_reclaimable base;
    _Atomic bool busy;  /* the driver would wait */
    _Atomic bool fails; /* the driver fails, whether it may wait or not */
    gate *gate;         /* held in give_back; NULL: not */
    _Atomic int asked, given;
    bool waits; /* of the last call */
} thing;

static bool give_back(usm_reclaimable *self, bool waits)
{
    thing *thing = (struct thing *)self;
    thing->waits = waits;
    atomic_fetch_add(&thing->asked, 1);
    if (atomic_load(&thing->fails) || (!waits && atomic_load(&thing->busy))) {
        return false;
    }
    if (thing->gate != NULL) {
        gate_pass(thing->gate);
    }
    atomic_fetch_add(&thing->given, 1);
    return true;
}

static thing make(bool busy, size_t nbytes)
{
    return (thing){.base = {.nbytes = nbytes, .give_back = give_back}, .busy = busy};
}

static void await(_Atomic int *count, int at_least)
{
    while (atomic_load(count) < at_least) {
        sleep_ms(1);
    }
}

static void the_thread_asks_until_the_driver_is_idle(void)
{
    thing busy = make(true, 1), idle = make(false, 1);
    usm_reclaimer_put(&busy.base);
    usm_reclaimer_put(&idle.base);
    await(&idle.given, 1);
    await(&busy.asked, 3);
    CHECK_EQ(busy.given, 0);
    atomic_store(&busy.busy, false);
    await(&busy.given, 1);
    CHECK(!busy.waits && !idle.waits);
    CHECK_EQ(usm_reclaimer_drain(), 0);
    CHECK_EQ(busy.given + idle.given, 2);
}

static void a_drain_waits_for_the_driver(void)
{
    thing things[8];
    for (int i = 0; i < 8; i++) {
        things[i] = make(true, 10);
        usm_reclaimer_put(&things[i].base);
    }
    CHECK_EQ(usm_reclaimer_drain(), 80);
    for (int i = 0; i < 8; i++) {
        CHECK_EQ(things[i].given, 1);
        CHECK(things[i].waits);
    }
}

static void *drain(void *drained)
{
    usm_reclaimer_drain();
    atomic_store((_Atomic int *)drained, 1);
    return NULL;
}

static void a_drain_waits_for_what_the_thread_is_giving_back(void)
{
    gate held = GATE_CLOSED;
    _Atomic int drained = 0;
    pthread_t thread;
    thing thing = make(false, 1);
    thing.gate = &held;
    usm_reclaimer_put(&thing.base);
    gate_await(&held, 1);
    CHECK_EQ(pthread_create(&thread, NULL, drain, &drained), 0);
    await_rest();
    CHECK_EQ(drained, 0);
    gate_open(&held);
    pthread_join(thread, NULL);
    CHECK_EQ(thing.given, 1);
}

static bool has_size(const usm_reclaimable *item, const void *nbytes)
{
    return item->nbytes == *(const size_t *)nbytes;
}

static void one_that_fits_is_taken_out(void)
{
    thing things[5];
    for (size_t i = 0; i < 5; i++) {
        things[i] = make(true, i + 1);
        usm_reclaimer_put(&things[i].base);
    }
    size_t wanted[] = {3, 5, 1, 9};
    for (int i = 0; i < 4; i++) {
        usm_reclaimable *taken = NULL;
        for (int tries = 0; taken == NULL && tries < (wanted[i] <= 5 ? 1000000 : 10); tries++) {
            taken = usm_reclaimer_take(has_size, &wanted[i]); /* not while the thread asks it */
        }
        CHECK(taken == (wanted[i] <= 5 ? &things[wanted[i] - 1].base : NULL));
    }
    CHECK_EQ(usm_reclaimer_drain(), 2 + 4);
    CHECK_EQ(things[0].given + things[2].given + things[4].given, 0);
    CHECK_EQ(things[1].given + things[3].given, 2);
}

static void beyond_a_gibibyte_the_driver_waits(void)
{
    thing large[3];
    for (int i = 0; i < 3; i++) {
        large[i] = make(true, (size_t)1 << 29);
        usm_reclaimer_put(&large[i].base);
    }
    while (large[0].given + large[1].given + large[2].given == 0) {
        sleep_ms(1);
    }
    thing *left = large[0].given == 0 ? &large[0] : &large[1];
    await(&left->asked, left->asked + 2);
    CHECK_EQ(large[0].given + large[1].given + large[2].given, 1);
    usm_reclaimer_drain();
}

/* Neither a drain nor the end of the process waits for it; the thread and the next drain try again. */
static void what_the_driver_fails_to_take_back_is_kept(void)
{
    thing broken = make(true, 1), busy = make(true, 10), later = make(false, 100);
    broken.fails = true;
    usm_reclaimer_put(&broken.base);
    usm_reclaimer_put(&busy.base);
    CHECK_EQ(usm_reclaimer_drain(), 10);
    CHECK_EQ(usm_reclaimer_drain(), 0);
    usm_reclaimer_stop();
    CHECK_EQ(broken.given, 0);
    usm_reclaimer_put(&later.base); /* the thread runs again */
    await(&later.given, 1);
    await(&broken.asked, broken.asked + 2);
    CHECK_EQ(broken.given, 0);
    atomic_store(&broken.fails, false);
    CHECK_EQ(usm_reclaimer_drain(), 1);
    CHECK_EQ(broken.given + busy.given + later.given, 3);
}

static void at_the_end_of_the_process_all_is_given_back(void)
{
    thing busy = make(true, 1), later = make(true, 1);
    usm_reclaimer_put(&busy.base);
    usm_reclaimer_stop();
    CHECK_EQ(busy.given, 1);
    usm_reclaimer_put(&later.base); /* another interpreter begins */
    await(&later.asked, 2);
    CHECK_EQ(later.given, 0);
    usm_reclaimer_drain();
}

static void the_end_of_the_process_does_not_wait_for_ever(void)
{
    gate held = GATE_CLOSED;
    thing stuck = make(false, 1);
    stuck.gate = &held;
    usm_reclaimer_put(&stuck.base);
    gate_await(&held, 1);
    usm_reclaimer_stop();
    CHECK_EQ(stuck.given, 0);
    gate_open(&held);
    await(&stuck.given, 1);
    usm_reclaimer_drain();
}

#ifndef __SANITIZE_THREAD__ /* which does not support threads that start in such a child */
/* What the thread was giving back stays with the parent; the rest is given back in both. */
static void the_list_goes_on_in_the_child_of_a_fork(void)
{
    gate held = GATE_CLOSED;
    thing stuck = make(false, 1), waits = make(false, 1), after = make(false, 1);
    stuck.gate = &held;
    usm_reclaimer_put(&stuck.base);
    gate_await(&held, 1);
    usm_reclaimer_put(&waits.base);
    usm_reclaimer_fork(USM_FORK_PREPARE);
    pid_t child = fork();
    CHECK(child >= 0);
    usm_reclaimer_fork(child == 0 ? USM_FORK_CHILD : USM_FORK_PARENT);
    if (child == 0) {
        watchdog(600);
        usm_reclaimer_put(&after.base);
        await(&after.given, 1);
        await(&waits.given, 1);
        usm_reclaimer_drain();
        CHECK_EQ(stuck.given, 0);
        _exit(0);
    }
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    gate_open(&held);
    await(&waits.given, 1);
    usm_reclaimer_drain();
    CHECK_EQ(stuck.given + waits.given, 2);
}
#endif

enum { THREADS = 4, THINGS = 300 };
static thing many[THREADS][THINGS];

static void *put_many(void *row)
{
    thing *things = row;
    for (size_t i = 0; i < THINGS; i++) {
        things[i] = make(i % 7 == 0, i % 5 + 1);
        usm_reclaimer_put(&things[i].base);
        if (i % 50 == 49) {
            usm_reclaimer_drain();
        }
    }
    return NULL;
}

static void every_thing_goes_once(void)
{
    in_threads(THREADS, put_many, many, sizeof many[0]);
    usm_reclaimer_drain();
    for (int i = 0; i < THREADS * THINGS; i++) {
        CHECK_EQ(many[i / THINGS][i % THINGS].given, 1);
    }
}

int main(void)
{
    watchdog(600);
    RUN(the_thread_asks_until_the_driver_is_idle);
    RUN(a_drain_waits_for_the_driver);
    RUN(a_drain_waits_for_what_the_thread_is_giving_back);
    RUN(one_that_fits_is_taken_out);
    RUN(beyond_a_gibibyte_the_driver_waits);
    RUN(what_the_driver_fails_to_take_back_is_kept);
    RUN(at_the_end_of_the_process_all_is_given_back);
    RUN(the_end_of_the_process_does_not_wait_for_ever);
#ifndef __SANITIZE_THREAD__
    RUN(the_list_goes_on_in_the_child_of_a_fork);
#endif
    RUN(every_thing_goes_once);
    return 0;
}
