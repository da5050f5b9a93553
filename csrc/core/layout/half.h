/* float16 and bfloat16 as bits, to and from float and double: the functions that the kernels use, for C. */
#ifndef USM_CORE_HALF_H
#define USM_CORE_HALF_H

#include <stdint.h>
#include <string.h>

/* Names of OpenCL C, in which kernels/abi/half.h is written. */
typedef uint16_t ushort;
typedef uint32_t uint;

static inline uint32_t as_uint(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float as_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#define USM_HAS_FP64 1
#include "kernels/abi/half.h"

/* Rounding to odd one step earlier, for integers that a double does not hold. */
static inline double usm_uint64_to_odd_double(uint64_t x)
{
    return x >> 53 == 0 ? (double)x : (double)(x >> 11 | ((x & 0x7ff) != 0)) * 2048.0;
}

static inline double usm_int64_to_odd_double(int64_t x)
{
    return x < 0 ? -usm_uint64_to_odd_double(-(uint64_t)x) : usm_uint64_to_odd_double((uint64_t)x);
}

#endif
