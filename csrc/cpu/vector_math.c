/*
 * Which functions libmvec has. Their largest error is 4 ulp, and special values are those of the scalar
 * functions (tests/cts/test_function_errors.py). log10 is left out: powers of ten would not be exact.
 */
#include "vector_math.h"

#include "core/base/heap.h"
#include "core/base/library.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct function {
    const char *name;
    int inputs;
} function;

/* Of operations that are not costly there is none. */
#define ROW(name, inputs, kinds, copies, modular, truth, promotes, result, costly) \
    [USM_OP_##name] = {costly ? #name : NULL, inputs},
static const function functions[USM_OPERATIONS] = {USM_OPERATION_TABLE(ROW)};

/* The vector ABI of x86-64: b, d and e are SSE, AVX2 and AVX-512. */
static void open_library(usm_vector_math *math, unsigned bytes)
{
    const char *own = getenv("USMPY_MATH_LIBRARY");
    const char *const names[] = {own != NULL && own[0] != '\0' ? own : "libmvec.so.1", NULL};
    if (strcmp(names[0], "none") == 0) {
        return;
    }
    char text[2][USM_OPERATIONS][32];
    usm_symbol symbols[2 * USM_OPERATIONS];
    usm_error error;
    size_t n = 0;
    for (int wide = 0; wide < 2; wide++) {
        for (int i = 0; i < USM_OPERATIONS; i++) {
            if (functions[i].name == NULL || i == USM_OP_log10) {
                continue;
            }
            char *name = text[wide][i];
            snprintf(name, sizeof text[0][0], "_ZGV%cN%u%s_%s%s",
                     bytes == 64   ? 'e'
                     : bytes == 32 ? 'd'
                                   : 'b',
                     bytes / (wide ? 8 : 4), functions[i].inputs == 2 ? "vv" : "v", functions[i].name,
                     wide ? "" : "f");
            symbols[n++] =
                (usm_symbol){name, (size_t)((char *)&math->functions[wide][i] - (char *)math), false};
        }
    }
    if (usm_library_open(names, NULL, symbols, n, math, math->path, &error) != USM_OK) {
        usm_error_clear(&error);
    }
}

const usm_vector_math *usm_cpu_vector_math(unsigned bytes)
{
    static _Atomic(usm_vector_math *) known;
    usm_vector_math *math = atomic_load_explicit(&known, memory_order_acquire), *other = NULL;
    if (math != NULL) {
        return math;
    }
    math = usm_malloc(sizeof *math);
    if (math == NULL) {
        return NULL;
    }
    memset(math, 0, sizeof *math);
    open_library(math, bytes);
    if (!atomic_compare_exchange_strong_explicit(&known, &other, math, memory_order_acq_rel,
                                                 memory_order_acquire)) {
        free(math); /* another thread was first, and found the same */
        return other;
    }
    return math;
}
