/*
 * Comparisons: dst[i] = a[i] ? b[i], one byte of 0 or 1 each. `op` says which relations of a to b are true:
 * the sum of USM_LESS, USM_EQUAL, USM_GREATER and USM_UNORDERED. Devices compare floating-point numbers by
 * their bits, so that none needs half or double precision, and none takes a subnormal for 0. Memory is
 * aligned to the elements.
 *
 * -D USM_ONLY=NUMBER builds the kernel of one type alone, by its number in usm_dtype: compilers take their
 * time.
 */
#include "elements.h"
#include "kernels/abi/compare.h"

#define USM_EQ_integer(x, y) ((x) == (y))
#define USM_LT_integer(x, y) ((x) < (y))
#define USM_LE_integer(x, y) ((x) <= (y))

/* The order of sign and magnitude as that of integers; +0 and -0 are the same. */
#define USM_KEY16(x) ((x)&0x8000 ? -(int)((x)&0x7fff) : (int)(x))
#define USM_BY_KEY16(x, y, infinity, relation) \
    ((((x)&0x7fff) <= (infinity)) & (((y)&0x7fff) <= (infinity)) & (USM_KEY16(x) relation USM_KEY16(y)))
#define USM_EQ_float16(x, y) USM_BY_KEY16(x, y, 0x7c00, ==)
#define USM_LT_float16(x, y) USM_BY_KEY16(x, y, 0x7c00, <)
#define USM_LE_float16(x, y) USM_BY_KEY16(x, y, 0x7c00, <=)
#define USM_EQ_bfloat16(x, y) USM_BY_KEY16(x, y, 0x7f80, ==)
#define USM_LT_bfloat16(x, y) USM_BY_KEY16(x, y, 0x7f80, <)
#define USM_LE_bfloat16(x, y) USM_BY_KEY16(x, y, 0x7f80, <=)

#ifdef USM_HOST
typedef float usm_single;
typedef double usm_twofold;
#define USM_BY_KEY32(x, y, relation) ((x)relation(y))
#define USM_BY_KEY64(x, y, relation) ((x)relation(y))
#else
typedef uint usm_single;
typedef ulong usm_twofold;
#define USM_SIZE32(x) ((x)&0x7fffffff)
#define USM_SIZE64(x) ((x)&0x7fffffffffffffffUL)
#define USM_KEY32(x) ((x) >> 31 ? -(int)USM_SIZE32(x) : (int)(x))
#define USM_KEY64(x) ((x) >> 63 ? -(long)USM_SIZE64(x) : (long)(x))
#define USM_BY_KEY32(x, y, relation) \
    ((USM_SIZE32(x) <= 0x7f800000) & (USM_SIZE32(y) <= 0x7f800000) & (USM_KEY32(x) relation USM_KEY32(y)))
#define USM_BY_KEY64(x, y, relation)                                                     \
    ((USM_SIZE64(x) <= 0x7ff0000000000000UL) & (USM_SIZE64(y) <= 0x7ff0000000000000UL) & \
     (USM_KEY64(x) relation USM_KEY64(y)))
#endif
#define USM_EQ_float32(x, y) USM_BY_KEY32(x, y, ==)
#define USM_LT_float32(x, y) USM_BY_KEY32(x, y, <)
#define USM_LE_float32(x, y) USM_BY_KEY32(x, y, <=)
#define USM_EQ_float64(x, y) USM_BY_KEY64(x, y, ==)
#define USM_LT_float64(x, y) USM_BY_KEY64(x, y, <)
#define USM_LE_float64(x, y) USM_BY_KEY64(x, y, <=)

/* Complex numbers have no order: nobody asks for one. */
typedef struct usm_complex64 {
    usm_single re, im;
} usm_complex64;
typedef struct usm_complex128 {
    usm_twofold re, im;
} usm_complex128;
#define USM_EQ_complex64(x, y) (USM_EQ_float32((x).re, (y).re) & USM_EQ_float32((x).im, (y).im))
#define USM_LT_complex64(x, y) ((void)(x), (void)(y), 0)
#define USM_LE_complex64(x, y) ((void)(x), (void)(y), 0)
#define USM_EQ_complex128(x, y) (USM_EQ_float64((x).re, (y).re) & USM_EQ_float64((x).im, (y).im))
#define USM_LT_complex128(x, y) ((void)(x), (void)(y), 0)
#define USM_LE_complex128(x, y) ((void)(x), (void)(y), 0)

#ifdef USM_HOST
/* A loop for each operation, for the commonest layouts too: compilers vectorise them. */
#define USM_LOOP(type, to, left, right, expression) \
    for (long i = from; i < end; i++) {             \
        type x = left, y = right;                   \
        to = (uchar)(expression);                   \
    }
#define USM_LOOPS(type, kind, to, left, right)                    \
    switch (e->op) {                                              \
        case USM_EQUAL:                                           \
            USM_LOOP(type, to, left, right, USM_EQ_##kind(x, y))  \
            break;                                                \
        case USM_LESS | USM_GREATER | USM_UNORDERED:              \
            USM_LOOP(type, to, left, right, !USM_EQ_##kind(x, y)) \
            break;                                                \
        case USM_LESS:                                            \
            USM_LOOP(type, to, left, right, USM_LT_##kind(x, y))  \
            break;                                                \
        case USM_LESS | USM_EQUAL:                                \
            USM_LOOP(type, to, left, right, USM_LE_##kind(x, y))  \
            break;                                                \
        case USM_GREATER:                                         \
            USM_LOOP(type, to, left, right, USM_LT_##kind(y, x))  \
            break;                                                \
        default:                                                  \
            USM_LOOP(type, to, left, right, USM_LE_##kind(y, x))  \
            break;                                                \
    }
#define USM_ROW(type, kind)                                                         \
    if (ds == 1 && as == (long)sizeof(type) && (bs == as || bs == 0)) {             \
        global const type *p = (global const type *)a, *q = (global const type *)b; \
        if (bs != 0) {                                                              \
            USM_LOOPS(type, kind, dst[i], p[i], q[i])                               \
        } else {                                                                    \
            type one = *q;                                                          \
            USM_LOOPS(type, kind, dst[i], p[i], one)                                \
        }                                                                           \
        return;                                                                     \
    }                                                                               \
    USM_LOOPS(type, kind, dst[i * ds], *(global const type *)(a + i * as), *(global const type *)(b + i * bs))
#else
#define USM_ROW(type, kind)                                                                  \
    for (long i = from; i < end; i += USM_STEP(0)) {                                         \
        type x = *(global const type *)(a + i * as), y = *(global const type *)(b + i * bs); \
        long relation = USM_EQ_##kind(x, y)   ? USM_EQUAL                                    \
                        : USM_LT_##kind(x, y) ? USM_LESS                                     \
                        : USM_LT_##kind(y, x) ? USM_GREATER                                  \
                                              : USM_UNORDERED;                               \
        dst[i * ds] = (uchar)((e->op & relation) != 0);                                      \
    }
#endif

#define USM_COMPARE(name, type, kind)                                                                       \
    static void usm_row_##name(global uchar *dst, global const char *a, global const char *b, long from,    \
                               long end, const usm_elements *e)                                             \
    {                                                                                                       \
        long ds = e->strides[0][0], as = e->strides[1][0], bs = e->strides[2][0];                           \
        USM_ROW(type, kind)                                                                                 \
    }                                                                                                       \
    kernel void usm_compare_##name(global uchar *dst, global const char *a, global const char *b,           \
                                   usm_elements e)                                                          \
    {                                                                                                       \
        USM_ELEMENTS_WALK(e, usm_row_##name(dst + usm_offset(&e, 0, i1, i2), a + usm_offset(&e, 1, i1, i2), \
                                            b + usm_offset(&e, 2, i1, i2), from0, to0, &e))                 \
    }

#ifndef USM_ONLY
#define USM_ONLY 0
#endif
#define USM_WANTS(number) (USM_ONLY == 0 || USM_ONLY == number)

#if USM_WANTS(1)
USM_COMPARE(int8, signed char, integer)
#endif
#if USM_WANTS(2)
USM_COMPARE(int16, short, integer)
#endif
#if USM_WANTS(3)
USM_COMPARE(int32, int, integer)
#endif
#if USM_WANTS(4)
USM_COMPARE(int64, long, integer)
#endif
#if USM_WANTS(5)
USM_COMPARE(uint8, uchar, integer)
#endif
#if USM_WANTS(6)
USM_COMPARE(uint16, ushort, integer)
#endif
#if USM_WANTS(7)
USM_COMPARE(uint32, uint, integer)
#endif
#if USM_WANTS(8)
USM_COMPARE(uint64, ulong, integer)
#endif
#if USM_WANTS(9)
USM_COMPARE(float16, ushort, float16)
#endif
#if USM_WANTS(14)
USM_COMPARE(bfloat16, ushort, bfloat16)
#endif
#if USM_WANTS(10)
USM_COMPARE(float32, usm_single, float32)
#endif
#if USM_WANTS(11)
USM_COMPARE(float64, usm_twofold, float64)
#endif
#if USM_WANTS(12)
USM_COMPARE(complex64, usm_complex64, complex64)
#endif
#if USM_WANTS(13)
USM_COMPARE(complex128, usm_complex128, complex128)
#endif
#undef USM_ONLY
#undef USM_WANTS
