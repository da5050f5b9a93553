/*
 * The type that a kernel computes in, -D USM_COMPUTE=NUMBER by its number in usm_dtype: T, U, S(name),
 * USM_KIND and USM_ROWS as csrc/kernels/operations.py says, and conversions from and to the types in memory.
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
#elif USM_COMPUTE == 11
#define T double
#define USM_TYPE float64
#define USM_KIND 3
#elif USM_COMPUTE == 12
#define T usm_complex64
#define USM_TYPE complex64
#define USM_KIND 4
#else
#define T usm_complex128
#define USM_TYPE complex128
#define USM_KIND 4
#endif

#if USM_COMPUTE == 10 || USM_COMPUTE == 12
#define R float
#define USM_CONSTANT(x) x##f
#define USM_PICK(single, twofold) single
#elif USM_COMPUTE >= 11
#define R double
#define USM_CONSTANT(x) x
#define USM_PICK(single, twofold) twofold
#endif
#if USM_KIND == 4
typedef struct T {
    R re, im;
} T;
#endif

/* Products and sums are rounded one after the other, on every device. */
#ifdef __OPENCL_C_VERSION__
#pragma OPENCL FP_CONTRACT OFF
#endif

#define USM_PASTE_TEXT(a, b, c) a##b##_##c
#define USM_PASTE(a, b, c) USM_PASTE_TEXT(a, b, c)
#define S(name) USM_PASTE(usm_, name, USM_TYPE)
#if USM_KIND == 1
#define USM_ROWS(inputs) USM_OPERATIONS_signed_##inputs
#elif USM_KIND == 2
#define USM_ROWS(inputs) USM_OPERATIONS_unsigned_##inputs
#elif USM_KIND == 3
#define USM_ROWS(inputs) USM_OPERATIONS_real_##inputs
#else
#define USM_ROWS(inputs) USM_OPERATIONS_complex_##inputs
#endif

#include "functions.h"

#if USM_KIND == 4
#define USM_FROM_NUMBER(x) S(of)((R)(x), 0)
#define USM_IS_TRUE(x) ((x).re != 0 || (x).im != 0)
#else
#define USM_FROM_NUMBER(x) ((T)(x))
#define USM_IS_TRUE(x) ((x) != 0)
#endif
#define USM_AS(type) USM_FROM_NUMBER(*(global const type *)from)
static T usm_load(global const char *from, int type)
{
    switch (type) {
        case 0:
            return USM_FROM_NUMBER(*(global const uchar *)from != 0);
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
#if USM_KIND >= 3
        case 9:
            return USM_FROM_NUMBER(usm_half_to_float(*(global const ushort *)from));
        case 14:
            return USM_FROM_NUMBER(usm_bfloat_to_float(*(global const ushort *)from));
        case 10:
            return USM_AS(float);
#endif
#if USM_COMPUTE == 13
        case 11:
            return USM_AS(double);
        case 12:
            return S(of)(((global const float *)from)[0], ((global const float *)from)[1]);
#endif
        default:
            return *(global const T *)from;
    }
}

/* Results of complex numbers may be real ones. */
static void usm_store(global char *to, int type, T value)
{
    switch (type) {
        case 0:
            *(global uchar *)to = USM_IS_TRUE(value);
            return;
#if USM_COMPUTE == 10
        case 9:
            *(global ushort *)to = usm_float_to_half(value);
            return;
        case 14:
            *(global ushort *)to = usm_float_to_bfloat(value);
            return;
#endif
#if USM_COMPUTE == 3 || USM_COMPUTE == 7 /* small integers of each kind */
        case 1:
        case 5:
            *(global uchar *)to = (uchar)value;
            return;
        case 2:
        case 6:
            *(global ushort *)to = (ushort)value;
            return;
#endif
#if USM_KIND == 4
        case USM_COMPUTE - 2:
            *(global R *)to = value.re;
            return;
#endif
        default:
            *(global T *)to = value;
    }
}

/* Bytes of an element in memory. */
#define USM_SIZE_OF(type)                                             \
    ((type) == 0 || (type) == 1 || (type) == 5                   ? 1  \
     : (type) == 2 || (type) == 6 || (type) == 9 || (type) == 14 ? 2  \
     : (type) == 3 || (type) == 7 || (type) == 10                ? 4  \
     : (type) == 13                                              ? 16 \
                                                                 : 8)

/* Neighbours in memory that a work-item reads at once. */
#define USM_IN_PACK USM_PACK((int)sizeof(T))
typedef struct usm_pack {
    T at[USM_IN_PACK];
} __attribute__((aligned(USM_IN_PACK * sizeof(T)))) usm_pack;

#ifdef __CUDACC_RTC__
#define USM_NOINLINE __noinline__
#else
#define USM_NOINLINE __attribute__((noinline))
#endif

#endif
