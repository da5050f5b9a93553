/*
 * The loops of the elementwise operations, one for each operation and type that it is computed in. The file
 * is compiled again for wider vectors: operate_avx2.c, operate_avx512.c.
 */
#include "operate.h"
#include "vector_math.h"

#include "core/layout/half.h"

#include <stdalign.h>
#include <stdint.h>
#include <tgmath.h>

/*
 * Wider vectors do not speed up functions of complex numbers: one of each is enough. USM_CPU_WIDE_TYPES: the
 * loops of real types with 4 and 8 bytes alone.
 */
#ifndef USM_CPU_LOOPS
#define USM_CPU_LOOPS usm_cpu_loops_baseline
#define USM_COMPLEX_ROWS(inputs) USM_OPERATIONS_complex_##inputs
#else
#define USM_COMPLEX_ROWS(inputs) USM_CHEAP_OPERATIONS_complex_##inputs
#endif

#if defined(__GNUC__) && !defined(__clang__)
#define USM_INDEPENDENT _Pragma("GCC ivdep")
#define USM_UNROLLED _Pragma("GCC unroll 6")               /* so that arrays of vectors become registers */
#define USM_PEELED __attribute__((optimize("peel-loops"))) /* so that arrays of lanes do */
#else
#define USM_INDEPENDENT
#define USM_UNROLLED
#define USM_PEELED
#endif

/* Of the widest registers that this file is compiled for. */
#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

#define global
#define PASTE_TEXT(a, b) a##b
#define PASTE(a, b) PASTE_TEXT(a, b)

#define USM_KIND USM_UNSIGNED_KIND
#define USM_ROWS(inputs) USM_OPERATIONS_unsigned_##inputs
#ifndef USM_CPU_WIDE_TYPES
#define T uint8_t
#define U uint32_t
#define USM_TYPE uint8
#include "operate_type.h"
#define T uint16_t
#define U uint32_t
#define USM_TYPE uint16
#include "operate_type.h"
#endif
#define T uint32_t
#define U uint32_t
#define USM_TYPE uint32
#include "operate_type.h"
#define T uint64_t
#define U uint64_t
#define USM_TYPE uint64
#include "operate_type.h"
#undef USM_KIND
#undef USM_ROWS
#define USM_KIND USM_SIGNED_KIND
#define USM_ROWS(inputs) USM_OPERATIONS_signed_##inputs
#ifndef USM_CPU_WIDE_TYPES
#define T int8_t
#define U uint32_t
#define USM_TYPE int8
#include "operate_type.h"
#define T int16_t
#define U uint32_t
#define USM_TYPE int16
#include "operate_type.h"
#endif
#define T int32_t
#define U uint32_t
#define USM_TYPE int32
#include "operate_type.h"
#define T int64_t
#define U uint64_t
#define USM_TYPE int64
#include "operate_type.h"
#undef USM_KIND
#undef USM_ROWS
#define USM_KIND USM_REAL_KIND
#define USM_ROWS(inputs) USM_OPERATIONS_real_##inputs
#define T float
#define R float
#define USM_TYPE float32
#define USM_CONSTANT(x) PASTE(x, f)
#define USM_PICK(single, twofold) single
#include "operate_type.h"
#define T double
#define R double
#define USM_TYPE float64
#define USM_CONSTANT(x) x
#define USM_PICK(single, twofold) twofold
#include "operate_type.h"
#undef USM_KIND
#undef USM_ROWS

#ifndef USM_CPU_WIDE_TYPES
typedef struct complex64 {
    float re, im;
} complex64;
typedef struct complex128 {
    double re, im;
} complex128;
#define USM_KIND USM_COMPLEX_KIND
#define USM_ROWS(inputs) USM_COMPLEX_ROWS(inputs)
#define T complex64
#define R float
#define USM_TYPE complex64
#define USM_CONSTANT(x) PASTE(x, f)
#define USM_PICK(single, twofold) single
#include "operate_type.h"
#define T complex128
#define R double
#define USM_TYPE complex128
#define USM_CONSTANT(x) x
#define USM_PICK(single, twofold) twofold
#include "operate_type.h"
#endif

#define LOOPS_OF(type)                                                                                    \
    {                                                                                                     \
        usm_loops_##type, usm_folds_##type, usm_totals_##type, usm_scan_groups_##type, usm_matmul_##type, \
            usm_extremes_##type, NULL                                                                     \
    }
#define SIGNED_LOOPS_OF(type)                                                           \
    {                                                                                   \
        usm_loops_##type, usm_folds_##type, NULL, NULL, NULL, usm_extremes_##type, NULL \
    }
#define COMPLEX_LOOPS_OF(type)                                                                     \
    {                                                                                              \
        usm_loops_##type, usm_folds_##type, usm_totals_##type, usm_scan_groups_##type, NULL, NULL, \
            usm_product_loop_##type                                                                \
    }
const usm_cpu_loops USM_CPU_LOOPS = {
#ifndef USM_CPU_WIDE_TYPES
    [USM_UINT8] = LOOPS_OF(uint8),
    [USM_UINT16] = LOOPS_OF(uint16),
    [USM_INT8] = SIGNED_LOOPS_OF(int8),
    [USM_INT16] = SIGNED_LOOPS_OF(int16),
    [USM_COMPLEX64] = COMPLEX_LOOPS_OF(complex64),
    [USM_COMPLEX128] = COMPLEX_LOOPS_OF(complex128),
#endif
    [USM_UINT32] = LOOPS_OF(uint32),
    [USM_UINT64] = LOOPS_OF(uint64),
    [USM_INT32] = SIGNED_LOOPS_OF(int32),
    [USM_INT64] = SIGNED_LOOPS_OF(int64),
    [USM_FLOAT32] = LOOPS_OF(float32),
    [USM_FLOAT64] = LOOPS_OF(float64),
};
