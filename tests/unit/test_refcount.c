/* Counts: the last one is seen by exactly one thread, and immortal objects are never written. */
#include "check.h"
#include "support.h"

#include "core/base/refcount.h"

#define THREADS 4
#define OBJECTS 2000

static void up_and_down(void)
{
    usm_refcount refs;
    usm_refcount_init(&refs, 1);
    usm_refcount_up(&refs);
    CHECK(!usm_refcount_down(&refs));
    CHECK(usm_refcount_up_unless_zero(&refs));
    CHECK(!usm_refcount_down(&refs));
    CHECK(usm_refcount_down(&refs));
    CHECK(!usm_refcount_up_unless_zero(&refs));
    CHECK_EQ(refs.value, 0);
}

static void immortal(void)
{
    usm_refcount refs;
    usm_refcount_init(&refs, USM_IMMORTAL);
    for (int i = 0; i < 3; i++) {
        CHECK(!usm_refcount_down(&refs));
    }
    for (int i = 0; i < 5; i++) {
        usm_refcount_up(&refs);
        CHECK(usm_refcount_up_unless_zero(&refs));
    }
    CHECK_EQ(refs.value, USM_IMMORTAL);
}

static usm_refcount objects[OBJECTS];
static _Atomic int ends[OBJECTS];

/* Each thread owns one count of each object, and takes and gives more on the way. */
static void *drop(void *unused)
{
    (void)unused;
    for (int i = 0; i < OBJECTS; i++) {
        usm_refcount_up(&objects[i]);
        CHECK(usm_refcount_up_unless_zero(&objects[i]));
        for (int k = 0; k < 3; k++) {
            if (usm_refcount_down(&objects[i])) {
                CHECK_EQ(k, 2);
                atomic_fetch_add(&ends[i], 1);
            }
        }
        if (usm_refcount_up_unless_zero(&objects[(i + OBJECTS / 2) % OBJECTS]) &&
            usm_refcount_down(&objects[(i + OBJECTS / 2) % OBJECTS])) {
            atomic_fetch_add(&ends[(i + OBJECTS / 2) % OBJECTS], 1);
        }
    }
    return NULL;
}

static void one_thread_sees_the_end(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < OBJECTS; i++) {
        usm_refcount_init(&objects[i], THREADS);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, drop, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < OBJECTS; i++) {
        CHECK_EQ(ends[i], 1);
    }
}

int main(void)
{
    watchdog(60);
    RUN(up_and_down);
    RUN(immortal);
    RUN(one_thread_sees_the_end);
    return 0;
}
