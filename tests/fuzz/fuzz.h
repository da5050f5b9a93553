/*
 * What the fuzz targets share: an input that is used up number by number, and checks. A target is one C file
 * with LLVMFuzzerTestOneInput; tests/fuzz/run.py builds and runs it.
 */
#ifndef USM_TESTS_FUZZ_H
#define USM_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* The first property that does not hold ends the process; libFuzzer then writes the input to a file. */
#define HOLDS(property)                                                        \
    do {                                                                       \
        if (!(property)) {                                                     \
            fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #property); \
            abort();                                                           \
        }                                                                      \
    } while (0)

typedef struct input {
    const uint8_t *at;
    size_t left;
} input;

/* The next bytes as a number, little-endian; zeros behind the end. */
static inline uint64_t take(input *input, unsigned bytes)
{
    uint64_t value = 0;
    size_t n = bytes < input->left ? bytes : input->left;
    memcpy(&value, input->at, n);
    input->at += n;
    input->left -= n;
    return value;
}

static inline unsigned take_below(input *input, unsigned n)
{
    return (unsigned)take(input, 1) % n;
}

/* A number of any magnitude: small ones, powers of two, their neighbours, and any bits. */
static inline int64_t take_hostile(input *input)
{
    unsigned form = take_below(input, 8);
    if (form < 4) {
        return (int8_t)take(input, 1);
    }
    if (form < 7) {
        uint64_t power = UINT64_C(1) << take_below(input, 64);
        return (int64_t)(form == 4   ? power + (uint64_t)(int8_t)take(input, 1)
                         : form == 5 ? 0 - power
                                     : power);
    }
    return (int64_t)take(input, 8);
}

#endif
