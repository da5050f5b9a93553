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

typedef struct object {
    usm_refcount refs;
} object;

static object *new_object(int32_t counts)
{
    static object one;
    usm_refcount_init(&one.refs, counts);
    return &one;
}

static void release_after_the_last(void)
{
    object *thing = new_object(1);
    CHECK(usm_refcount_down(&thing->refs));
    usm_refcount_down(&thing->refs);
}

static void release_after_the_only_one(void)
{
    object *thing = new_object(1);
    CHECK(usm_refcount_down_alone(&thing->refs));
    CHECK(!usm_refcount_down_alone(&thing->refs));
    usm_refcount_down(&thing->refs);
}

static void retain_after_the_last(void)
{
    object *thing = new_object(1);
    CHECK(usm_refcount_down(&thing->refs));
    usm_refcount_up(&thing->refs);
}

static void release_all_of_several(void)
{
    object *thing = new_object(2);
    usm_refcount_down_by(&thing->refs, 2);
}

/* Neither a count nor immortal: what stands where an object was. */
static void retain_other_memory(void)
{
    object *thing = new_object(-5);
    usm_refcount_up(&thing->refs);
}

static void release_other_memory(void)
{
    object *thing = new_object(0x12345678);
    usm_refcount_down(&thing->refs);
}

static void release_an_allocation_twice(void)
{
    usm_alloc *alloc = new_alloc(64); /* its record stays, in the pool */
    usm_alloc_release(alloc);
    usm_alloc_release(alloc);
}

static void misused_counts_end_the_process(void)
{
    static const char released[] = "usmpy: thing released more often than it was retained",
                      retained[] = "usmpy: thing retained after its last release";
    expect_abort(release_after_the_last, released);
    expect_abort(release_after_the_only_one, released);
    expect_abort(retain_after_the_last, retained);
    expect_abort(release_all_of_several, released);
    expect_abort(retain_other_memory, retained);
    expect_abort(release_other_memory, released);
    expect_abort(release_an_allocation_twice, "usmpy: alloc released more often than it was retained");
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
    for (int i = 0; i < OBJECTS; i++) {
        usm_refcount_init(&objects[i], THREADS);
    }
    in_threads(THREADS, drop, NULL, 0);
    for (int i = 0; i < OBJECTS; i++) {
        CHECK_EQ(ends[i], 1);
    }
}

int main(void)
{
    watchdog(600);
    RUN(up_and_down);
    RUN(immortal);
    RUN(one_thread_sees_the_end);
    RUN(misused_counts_end_the_process);
    return 0;
}
