/*
 * The type that a kernel computes in, -D USM_COMPUTE=NUMBER by its number in usm_dtype: T, U, S(name), USM_KIND and
 * USM_ROWS as csrc/kernels/operations.py says, and conversions from and to the types in memory.
 */
#ifndef USM_KERNELS_COMPUTE_H
#define USM_KERNELS_COMPUTE_H

#include "kernels/abi/half.h"
#include "kernels/abi/operate.h"
#include "operations.h"

#if USM_COMPUTE == 1
#define T char
#define U uint
#define USM_TYPE int8
#define USM_KIND 1
#elif USM_COMPUTE == 2
#define T short
#define U uint
#define USM_TYPE int16
#define USM_KIND 1
#elif USM_COMPUTE == 3
#define T int
#define U uint
#define USM_TYPE int32
#define USM_KIND 1
#elif USM_COMPUTE == 4
#define T long
#define U ulong
#define USM_TYPE int64
#define USM_KIND 1
#elif USM_COMPUTE == 5
#define T uchar
#define U uint
#define USM_TYPE uint8
#define USM_KIND 2
#elif USM_COMPUTE == 6
#define T ushort
#define U uint
#define USM_TYPE uint16
#define USM_KIND 2
#elif USM_COMPUTE == 7
#define T uint
#define U uint
#define USM_TYPE uint32
#define USM_KIND 2
#elif USM_COMPUTE == 8
#define T ulong
#define U ulong
#define USM_TYPE uint64
#define USM_KIND 2
#elif USM_COMPUTE == 10
#define T float
#define USM_TYPE float32
#define USM_KIND 3
#define USM_CONSTANT(x) x##f
#else
#define T double
#define USM_TYPE float64
#define USM_KIND 3
#define USM_CONSTANT(x) x
#endif

#define USM_PASTE_TEXT(a, b, c) a##b##_##c
#define USM_PASTE(a, b, c) USM_PASTE_TEXT(a, b, c)
#define S(name) USM_PASTE(usm_, name, USM_TYPE)
#if USM_KIND == 1
#define USM_ROWS(inputs) USM_OPERATIONS_signed_##inputs
#elif USM_KIND == 2
#define USM_ROWS(inputs) USM_OPERATIONS_unsigned_##inputs
#else
#define USM_ROWS(inputs) USM_OPERATIONS_real_##inputs
#endif

#include "functions.h"

#define USM_AS(type) (T)(*(global const type *)from)
static T usm_load(global const char *from, int type)
{
    switch (type) {
        case 0:
            return (T)(*(global const uchar *)from != 0);
        case 1:
            return USM_AS(signed char);
        case 2:
            return USM_AS(short);
        case 3:
            return USM_AS(int);
        case 4:
            return USM_AS(long);
        case 5:
            return USM_AS(uchar);
        case 6:
            return USM_AS(ushort);
        case 7:
            return USM_AS(uint);
        case 8:
            return USM_AS(ulong);
#if USM_KIND == 3
        case 9:
            return (T)usm_half_to_float(*(global const ushort *)from);
        case 14:
            return (T)usm_bfloat_to_float(*(global const ushort *)from);
        case 10:
            return USM_AS(float);
#endif
        default:
            return *(global const T *)from;
    }
}

static void usm_store(global char *to, int type, T value)
{
    switch (type) {
        case 0:
            *(global uchar *)to = value != 0;
            return;
#if USM_COMPUTE == 10
        case 9:
            *(global ushort *)to = usm_float_to_half(value);
            return;
        case 14:
            *(global ushort *)to = usm_float_to_bfloat(value);
            return;
#endif
        default:
            *(global T *)to = value;
    }
}

/* Bytes of an element in memory. */
#define USM_SIZE_OF(type)                                                                                     \
    ((type) == 0 || (type) == 1 || (type) == 5                                       ? 1                       \
     : (type) == 2 || (type) == 6 || (type) == 9 || (type) == 14                     ? 2                       \
     : (type) == 3 || (type) == 7 || (type) == 10                                    ? 4                       \
                                                                                     : (type) == 13 ? 16 : 8)

#endif
