/* The loops of csrc/cpu: blocks and fills at odd ends, work in parallel, and launches, without a queue. */
#include "check.h"
#include "support.h"

#include "cpu/cpu.h"
#include "cpu/parallel.h"

#include <sched.h>
#include <stdlib.h>

/* From here on copies and fills are cut into pieces for several threads (csrc/cpu/block.c). */
#define LARGE ((size_t)4 << 20)
#define GUARD 64

static void check_guards(const char *buffer, size_t offset, size_t nbytes)
{
    for (size_t i = 0; i < offset; i++) {
        CHECK_EQ(buffer[i], '#');
    }
    for (size_t i = offset + nbytes; i < offset + nbytes + GUARD; i++) {
        CHECK_EQ(buffer[i], '#');
    }
}

/* Sizes and addresses that leave odd ends in the last piece. */
static void large_copies(void)
{
    size_t most = LARGE + 5000 + 2 * GUARD;
    char *src = malloc(most), *dst = malloc(most);
    for (size_t i = 0; i < most; i++) {
        src[i] = (char)(i * 31 + (i >> 12));
    }
    static const size_t extra[] = {0, 1, 3, 15, 16, 17, 63, 64, 65, 4097};
    for (size_t k = 0; k < sizeof extra / sizeof *extra; k++) {
        for (size_t offset = 0; offset < 17; offset += 1 + offset / 3) {
            size_t nbytes = LARGE + extra[k], from = (offset * 7) % 19;
            memset(dst, '#', offset);
            memset(dst + offset, 0, nbytes);
            memset(dst + offset + nbytes, '#', GUARD);
            usm_cpu_copy(dst + offset, src + from, nbytes, 1 + k % 4);
            CHECK_SAME(dst + offset, src + from, nbytes);
            check_guards(dst, offset, nbytes);
        }
    }
    free(src);
    free(dst);
}

static void large_copies_that_overlap(void)
{
    size_t most = LARGE + 5000;
    char *buffer = malloc(most), *wanted = malloc(most);
    for (int shift = -4097; shift <= 4097; shift += 1366) {
        size_t from = shift < 0 ? (size_t)-shift : 0, to = shift < 0 ? 0 : (size_t)shift;
        for (size_t i = 0; i < most; i++) {
            buffer[i] = (char)(i * 31 + (i >> 12));
        }
        memcpy(wanted, buffer, most);
        memmove(wanted + to, wanted + from, LARGE);
        usm_cpu_copy(buffer + to, buffer + from, LARGE, 4);
        CHECK_SAME(buffer, wanted, most);
    }
    free(buffer);
    free(wanted);
}

static void large_fills(void)
{
    static const char pattern[16] = "0123456789abcdef";
    char *dst = malloc(LARGE + 5000 + 2 * GUARD);
    for (size_t size = 1; size <= 16; size *= 2) {
        static const size_t extra[] = {0, 1, 5, 300};
        for (size_t k = 0; k < 4; k++) {
            for (size_t large = 0; large < 2; large++) {
                size_t nbytes = (large ? LARGE : 0) + extra[k] * size, offset = k * 3;
                memset(dst, '#', offset + nbytes + GUARD);
                usm_cpu_fill(dst + offset, pattern, size, nbytes, (unsigned)(1 + k));
                for (size_t i = 0; i < nbytes; i++) {
                    CHECK_EQ(dst[offset + i], pattern[i % size]);
                }
                check_guards(dst, offset, nbytes);
            }
        }
    }
    free(dst);
}

/* Allocations without bytes have no pointer, which memcpy and its like may not be given. */
static void no_bytes(void)
{
    usm_cpu_copy(NULL, NULL, 0, 1);
    usm_cpu_fill(NULL, "x", 1, 0, 1);
    usm_cpu_fill(NULL, "wxyz", 4, 0, 1);
}

typedef struct parts {
    _Atomic int runs[1000];
} parts;

static void run_part(void *context, unsigned i)
{
    atomic_fetch_add(&((parts *)context)->runs[i], 1);
}

static void *join_parts(void *stop)
{
    while (!atomic_load((_Atomic bool *)stop)) {
        usm_cpu_parallel_join();
    }
    return NULL;
}

static void every_part_runs_once(void)
{
    pthread_t joiner;
    _Atomic bool stop = false;
    CHECK_EQ(pthread_create(&joiner, NULL, join_parts, &stop), 0);
    for (unsigned width = 1; width <= 8; width++) {
        for (unsigned n = 0; n <= 1000; n += 1 + n / 2) {
            parts parts[2];
            memset(parts, 0, sizeof parts);
            usm_cpu_parallel(width, n, n, run_part, &parts[0]);
            usm_cpu_parallel_if_long(width, n, 0, run_part, &parts[1]);
            for (unsigned i = 0; i < 1000; i++) {
                CHECK_EQ(parts[0].runs[i], i < n);
                CHECK_EQ(parts[1].runs[i], i < n);
            }
        }
    }
    atomic_store(&stop, true);
    CHECK_EQ(pthread_join(joiner, NULL), 0);
}

typedef struct crowd {
    unsigned width;
    _Atomic unsigned at_work, most;
    _Atomic bool stop;
} crowd;

static void run_among_others(void *context, unsigned i)
{
    crowd *crowd = context;
    unsigned now = atomic_fetch_add(&crowd->at_work, 1) + 1, most = atomic_load(&crowd->most);
    (void)i;
    while (now > most && !atomic_compare_exchange_weak(&crowd->most, &most, now)) {
    }
    while (atomic_load(&crowd->most) < crowd->width) { /* the watchdog ends it */
        sched_yield();
    }
    sleep_ms(1); /* in which one too many may come */
    atomic_fetch_sub(&crowd->at_work, 1);
}

static void *join_crowd(void *context)
{
    return join_parts(&((crowd *)context)->stop);
}

/* Threads that wait take the place of helpers: more than there are processors would only take turns. */
static void no_more_work_than_asked_for(void)
{
    enum { JOINERS = 3, PARTS = 40 };
    crowd crowd = {0};
    pthread_t joiners[JOINERS];
    for (int i = 0; i < JOINERS; i++) {
        CHECK_EQ(pthread_create(&joiners[i], NULL, join_crowd, &crowd), 0);
    }
    for (unsigned width = 1; width <= 4; width++) {
        atomic_store(&crowd.most, 0);
        crowd.width = width;
        usm_cpu_parallel(width, PARTS, PARTS, run_among_others, &crowd);
        CHECK_EQ(crowd.most, width);
    }
    atomic_store(&crowd.stop, true);
    for (int i = 0; i < JOINERS; i++) {
        CHECK_EQ(pthread_join(joiners[i], NULL), 0);
    }
}

/* A waiting thread must return soon, and must not run a user's code of another queue. */
static void *join_once(void *joined)
{
    *(bool *)joined = usm_cpu_parallel_join();
    return NULL;
}

static void try_to_join(void *context, unsigned i)
{
    pthread_t other;
    CHECK_EQ(pthread_create(&other, NULL, join_once, &((bool *)context)[i]), 0);
    CHECK_EQ(pthread_join(other, NULL), 0);
}

static void no_thread_joins_long_parts_or_those_of_users(void)
{
    bool joined[4] = {true, true, true, true};
    CHECK(!usm_cpu_parallel_join());
    usm_cpu_parallel(2, 2, (size_t)1 << 40, try_to_join, joined);
    usm_cpu_parallel_if_long(2, 2, 0, try_to_join, joined + 2);
    for (int i = 0; i < 4; i++) {
        CHECK(!joined[i]);
    }
}

enum { SLOW_FROM = 16, SLOW = 32 };

typedef struct slow {
    gate gate;
    pthread_t threads[SLOW];
} slow;

/* The first few take no time, the others wait for each other: two threads at least must be in them. */
static void run_slow_part(void *context, unsigned i)
{
    slow *slow = context;
    slow->threads[i] = pthread_self();
    if (i == SLOW_FROM / 2) {
        sleep_ms(5);
    } else if (i == SLOW_FROM || i == SLOW_FROM + 1) {
        gate_pass(&slow->gate);
    }
}

static void *open_behind_two(void *context)
{
    gate_await(context, 2);
    gate_open(context);
    return NULL;
}

static void help_comes_where_it_takes_long(void)
{
    slow slow = {.gate = GATE_CLOSED};
    pthread_t opener;
    CHECK_EQ(pthread_create(&opener, NULL, open_behind_two, &slow.gate), 0);
    usm_cpu_parallel_if_long(2, SLOW, 0, run_slow_part, &slow);
    CHECK_EQ(pthread_join(opener, NULL), 0);
    CHECK(pthread_equal(slow.threads[0], pthread_self()));
    CHECK(!pthread_equal(slow.threads[SLOW_FROM], slow.threads[SLOW_FROM + 1]));
}

/* Counts how often each work-item of a range was run, as a kernel that is a function. */
static void count_items(const void *function, size_t begin, size_t end, const void *const *values)
{
    _Atomic int *runs = *(void *const *)values[0];
    const size_t *shift = values[1];
    CHECK(function == count_items);
    for (size_t i = begin; i < end; i++) {
        atomic_fetch_add(&runs[i + *shift], 1);
    }
}

static void every_item_of_a_function_runs_once(void)
{
    enum { ITEMS = 5000, ARGUMENTS = 20 };
    static _Atomic int runs[ITEMS + 1];
    for (size_t n_arguments = 2; n_arguments <= ARGUMENTS; n_arguments += ARGUMENTS - 2) {
        for (unsigned width = 1; width <= 4; width++) {
            for (size_t n = 1; n <= ITEMS; n = n * 3 + 1) {
                usm_argument arguments[ARGUMENTS] = {
                    {.kind = USM_PARAMETER_POINTER, .as.pointer = (void *)runs},
                    {.kind = USM_PARAMETER_VALUE, .size = sizeof(size_t), .as.value = {1}},
                };
                const usm_range range = {.ndim = 1, .global = {n, 1, 1}, .local = {1, 1, 1}};
                const usm_cpu_launch launch = {.call = count_items,
                                               .function = count_items,
                                               .range = &range,
                                               .arguments = arguments,
                                               .n_arguments = n_arguments};
                memset((void *)runs, 0, sizeof runs);
                CHECK(usm_cpu_run(&launch, width));
                for (size_t i = 0; i < ITEMS; i++) {
                    CHECK_EQ(runs[i + 1], i < n);
                }
            }
        }
    }
}

static size_t boxes_of(const size_t *lo, const size_t *hi)
{
    return (hi[0] - lo[0]) * (hi[1] - lo[1]) * (hi[2] - lo[2]);
}

/* A kernel of whole work-groups, which lo and hi count. The last box says that memory ran out. */
static int run_groups(const void *const *arguments, const size_t *global, const size_t *local,
                      const size_t *lo, const size_t *hi)
{
    _Atomic size_t *groups = *(void *const *)arguments[0];
    const size_t *local_bytes = arguments[1];
    bool fails = *(const int *)arguments[2] != 0;
    CHECK_EQ(*local_bytes, 48);
    atomic_fetch_add(groups, boxes_of(lo, hi));
    return fails && hi[0] == global[0] / local[0] && hi[1] == global[1] && hi[2] == global[2];
}

static void groups_run_whole_and_tell_of_failures(void)
{
    static const struct usmpy_kernel_entry entry = {
        .name = "groups", .run = run_groups, .flags = USMPY_KERNEL_GROUPS};
    const usm_range range = {.ndim = 3, .has_local = true, .global = {60, 7, 3}, .local = {4, 1, 1}};
    for (int fails = 0; fails < 2; fails++) {
        for (unsigned width = 1; width <= 4; width++) {
            _Atomic size_t groups = 0;
            usm_argument arguments[] = {
                {.kind = USM_PARAMETER_POINTER, .as.pointer = (void *)&groups},
                {.kind = USM_PARAMETER_LOCAL, .size = 48},
                {.kind = USM_PARAMETER_VALUE, .size = sizeof fails, .as.value = {(unsigned char)fails}},
            };
            const usm_cpu_launch launch = {
                .kernel = &entry, .range = &range, .arguments = arguments, .n_arguments = 3};
            CHECK_EQ(usm_cpu_run(&launch, width), !fails);
            CHECK_EQ(groups, 15 * 7 * 3);
        }
    }
}

static void built_in_kernels_have_names(void)
{
    CHECK(usm_cpu_kernel_named("usm_compare_float32") != NULL); /* there for wide vectors too */
    CHECK(usm_cpu_kernel_named("usm_where_16") != NULL);
    CHECK(usm_cpu_kernel_named("usm_where_3") == NULL);
    CHECK(usm_cpu_kernel_named("") == NULL);
}

int main(void)
{
    watchdog(600);
    RUN(large_copies);
    RUN(large_copies_that_overlap);
    RUN(large_fills);
    RUN(no_bytes);
    RUN(every_part_runs_once);
    RUN(no_more_work_than_asked_for);
    RUN(no_thread_joins_long_parts_or_those_of_users);
    RUN(help_comes_where_it_takes_long);
    RUN(every_item_of_a_function_runs_once);
    RUN(groups_run_whole_and_tell_of_failures);
    RUN(built_in_kernels_have_names);
    return 0;
}
