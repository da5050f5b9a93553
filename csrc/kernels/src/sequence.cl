/*
 * arange and linspace: out[i] = start + i * step for 0 <= i < n, computed from i rather than by adding up, so
 * that the error does not grow. Integers wrap. The last element of a linspace is given: the formula may miss it
 * by a rounding.
 */
#include "range.h"

/* The sum is rounded after the product, on every device. */
#ifdef __OPENCL_C_VERSION__
#pragma OPENCL FP_CONTRACT OFF
#endif

#define USM_INTEGER_SEQUENCE(name, type)                                                \
    kernel void usm_sequence_##name(global type *out, ulong start, ulong step, ulong n) \
    {                                                                                   \
        USM_FOR_EACH (i, (long)n) {                                                     \
            out[i] = (type)(start + (ulong)i * step);                                   \
        }                                                                               \
    }

USM_INTEGER_SEQUENCE(uint8, uchar)
USM_INTEGER_SEQUENCE(uint16, ushort)
USM_INTEGER_SEQUENCE(uint32, uint)
USM_INTEGER_SEQUENCE(uint64, ulong)

#define USM_REAL_SEQUENCE(name, type, wide)                                                      \
    kernel void usm_sequence_##name(global type *out, wide start, wide step, wide last, ulong n) \
    {                                                                                            \
        USM_FOR_EACH (i, (long)n) {                                                              \
            out[i] = (type)(i + 1 == (long)n ? last : start + (wide)i * step);                   \
        }                                                                                        \
    }

#ifdef USM_HAS_FP64
USM_REAL_SEQUENCE(float32, float, double)
USM_REAL_SEQUENCE(float64, double, double)
#else
USM_REAL_SEQUENCE(float32, float, float)
#endif
