/* Checks of the C tests: the first that fails says where and what, and ends the program. */
#ifndef USM_TESTS_CHECK_H
#define USM_TESTS_CHECK_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

/* _exit: other threads may still be at work, and a forked child must not run its parent's exit handlers. */
#define CHECK_FAIL(...)                                 \
    do {                                                \
        fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); \
        fprintf(stderr, __VA_ARGS__);                   \
        fprintf(stderr, "\n");                          \
        _exit(1);                                       \
    } while (0)

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
        test();                         \
    } while (0)

#endif
