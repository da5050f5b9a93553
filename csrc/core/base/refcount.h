/* The atomic count that every shared core object begins with. */
#ifndef USM_CORE_REFCOUNT_H
#define USM_CORE_REFCOUNT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct usm_refcount {
    _Atomic int32_t value;
} usm_refcount;

/*
 * Objects that live as long as the process (root devices, their default contexts, cached queues) carry a
 * negative count that never changes: taking part in an exchange then costs a load instead of two locked
 * instructions, and threads do not share a cache line that is written.
 */
#define USM_IMMORTAL (INT32_MIN / 2)

static inline void usm_refcount_init(usm_refcount *refs, int32_t value)
{
    atomic_init(&refs->value, value);
}

/*
 * Builds for tests end the process, with the name of the object, where a count is released that does not
 * exist, and where an object is retained after its last release.
 */
#ifdef USM_TESTING
void usm_expect_count(bool exists, int32_t count, const char *refs, const char *what);
/* `count` is the one before the call. More than the most: something else lies in the object's memory. */
#define USM_MOST_COUNTS (1 << 24)
#define USM_EXPECT_COUNT(count, least, refs, what)                                                        \
    usm_expect_count((count) == USM_IMMORTAL || ((count) >= (least) && (count) < USM_MOST_COUNTS), count, \
                     refs, what)
#else
#define USM_EXPECT_COUNT(count, least, refs, what) ((void)(refs))
#endif

#define usm_refcount_up(refs) usm_refcount_up_of(refs, #refs)
#define usm_refcount_down(refs) usm_refcount_down_of(refs, #refs)
#define usm_refcount_down_by(refs, n) usm_refcount_down_by_of(refs, n, #refs)

static inline void usm_refcount_up_of(usm_refcount *refs, const char *name)
{
    int32_t value = atomic_load_explicit(&refs->value, memory_order_relaxed);
    USM_EXPECT_COUNT(value, 1, name, "retained after its last release");
    if (value >= 0) {
        atomic_fetch_add_explicit(&refs->value, 1, memory_order_relaxed);
    }
}

/* The function that adds a count to an object and returns it: usm_queue_retain of USM_RETAIN(usm_queue). */
#define USM_RETAIN(object)                                        \
    static inline object *object##_retain(object *counted)        \
    {                                                             \
        usm_refcount_up_of(&counted->refs, "&" #object "->refs"); \
        return counted;                                           \
    }

/* False where the last count is gone already: for caches that hold no count of their own. */
static inline bool usm_refcount_up_unless_zero(usm_refcount *refs)
{
    int32_t value = atomic_load_explicit(&refs->value, memory_order_relaxed);
    while (value > 0) {
        if (atomic_compare_exchange_weak_explicit(&refs->value, &value, value + 1, memory_order_acquire,
                                                  memory_order_relaxed)) {
            return true;
        }
    }
    return value < 0;
}

/* Whether the count has this value at the moment. */
static inline bool usm_refcount_is(const usm_refcount *refs, int32_t n)
{
    return atomic_load_explicit(&((usm_refcount *)refs)->value, memory_order_acquire) == n;
}

/* Some of several counts that the caller has, not all of them. */
static inline void usm_refcount_down_by_of(usm_refcount *refs, int32_t n, const char *name)
{
    int32_t value = atomic_load_explicit(&refs->value, memory_order_relaxed);
    if (value >= 0) {
        value = atomic_fetch_sub_explicit(&refs->value, n, memory_order_release);
    }
    USM_EXPECT_COUNT(value, n + 1, name, "released more often than it was retained");
}

/* True for the caller that gave the last count back: it, and nobody else, destroys the object. */
static inline bool usm_refcount_down_of(usm_refcount *refs, const char *name)
{
    int32_t value = atomic_load_explicit(&refs->value, memory_order_relaxed);
    if (value >= 0) {
        value = atomic_fetch_sub_explicit(&refs->value, 1, memory_order_acq_rel);
    }
    USM_EXPECT_COUNT(value, 1, name, "released more often than it was retained");
    return value == 1;
}

/*
 * The same without a locked instruction, where nobody else can make a count of an object that has one. False:
 * there are others, or none.
 */
static inline bool usm_refcount_down_alone(usm_refcount *refs)
{
    if (atomic_load_explicit(&refs->value, memory_order_acquire) != 1) {
        return false;
    }
    atomic_store_explicit(&refs->value, 0, memory_order_relaxed);
    return true;
}

#endif
