/* Checks of the C tests: the first that fails says where and what, and ends the program. */
#ifndef USM_TESTS_CHECK_H
#define USM_TESTS_CHECK_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

/*
 * Of this thread: the step of a random program, and the state of random_next before it (0: none), which a
 * check that fails prints. RUN forgets them.
 */
extern _Thread_local long check_step;
extern _Thread_local uint64_t check_seed;
#define CHECK_STEP(step, seed) ((void)(check_step = (step), check_seed = (seed)))

/* _exit: other threads may still be at work, and a forked child must not run its parent's exit handlers. */
#define CHECK_FAIL(...)                                 \
    do {                                                \
        fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); \
        fprintf(stderr, __VA_ARGS__);                   \
        check_print_step();                             \
        _exit(1);                                       \
    } while (0)

/* Ends the line. */
void check_print_step(void);
/* The first byte that differs; n where none does. */
size_t check_difference(const void *got, const void *wanted, size_t n);

#define CHECK(expression)                      \
    do {                                       \
        if (!(expression)) {                   \
            CHECK_FAIL("not %s", #expression); \
        }                                      \
    } while (0)

/* Integers and pointers cast to one: both values are shown. */
#define CHECK_EQ(got, wanted)                                                                                \
    do {                                                                                                     \
        intmax_t check_got = (intmax_t)(got), check_wanted = (intmax_t)(wanted);                             \
        if (check_got != check_wanted) {                                                                     \
            CHECK_FAIL("%s is %" PRIdMAX ", not %s (%" PRIdMAX ")", #got, check_got, #wanted, check_wanted); \
        }                                                                                                    \
    } while (0)

/* The same bytes: the first that differs is shown. */
#define CHECK_SAME(got, wanted, n)                                                                          \
    do {                                                                                                    \
        const unsigned char *check_got = (const unsigned char *)(got);                                      \
        const unsigned char *check_wanted = (const unsigned char *)(wanted);                                \
        size_t check_n = (n), check_i = check_difference(check_got, check_wanted, check_n);                 \
        if (check_i != check_n) {                                                                           \
            CHECK_FAIL("byte %zu of %zu of %s is %#x, not %#x", check_i, check_n, #got, check_got[check_i], \
                       check_wanted[check_i]);                                                              \
        }                                                                                                   \
    } while (0)

/* A call that fills a usm_error named `error` where it fails. */
#define CHECK_OK(call)                                                              \
    do {                                                                            \
        usm_status check_status = (call);                                           \
        if (check_status != USM_OK) {                                               \
            CHECK_FAIL("%s returned %d: %s", #call, (int)check_status, error.text); \
        }                                                                           \
    } while (0)

/* Prints the name first, so that the output of a test that hangs ends with what hung. */
#define RUN(test)                       \
    do {                                \
        fprintf(stderr, "%s\n", #test); \
        CHECK_STEP(0, 0);               \
        test();                         \
    } while (0)

#endif
