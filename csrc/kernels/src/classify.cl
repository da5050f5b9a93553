/*
 * What floating-point numbers are, by their bits: one byte of 0 or 1 each. The magnitude is above infinity
 * (`extra`), equal, or below; `op` chooses. Of complex numbers either part counts, or both. Memory is aligned
 * to the elements. -D USM_ONLY=SIZE: of one size, 44 and 88 for the complex ones.
 */
#include "elements.h"
#include "kernels/abi/compare.h"

#define USM_JUDGE(m) (op == USM_NAN ? (m) > infinity : op == USM_INFINITE ? (m) == infinity : (m) < infinity)

#ifdef USM_SERIAL
#define USM_CLASSIFY_ROW(type, parts, mask)                  \
    if (parts == 1 && ds == 1 && as == (long)sizeof(type)) { \
        global const type *p = (global const type *)a;       \
        if (op == USM_NAN) {                                 \
            for (long i = from; i < end; i++) {              \
                dst[i] = (p[i] & mask) > infinity;           \
            }                                                \
        } else if (op == USM_INFINITE) {                     \
            for (long i = from; i < end; i++) {              \
                dst[i] = (p[i] & mask) == infinity;          \
            }                                                \
        } else {                                             \
            for (long i = from; i < end; i++) {              \
                dst[i] = (p[i] & mask) < infinity;           \
            }                                                \
        }                                                    \
        return;                                              \
    }
#else
#define USM_CLASSIFY_ROW(type, parts, mask)
#endif

#define USM_CLASSIFY(name, type, parts, mask)                                                                \
    static void usm_row_##name(global uchar *dst, global const char *a, long from, long end,                 \
                               const usm_elements *e)                                                        \
    {                                                                                                        \
        long ds = e->strides[0][0], as = e->strides[1][0], op = e->op;                                       \
        type infinity = (type)e->extra;                                                                      \
        USM_CLASSIFY_ROW(type, parts, mask)                                                                  \
        for (long i = from; i < end; i += USM_STEP(0)) {                                                     \
            global const type *p = (global const type *)(a + i * as);                                        \
            type re = (type)(p[0] & mask), im = (type)(p[parts - 1] & mask);                                 \
            dst[i * ds] =                                                                                    \
                (uchar)(op == USM_FINITE ? USM_JUDGE(re) && USM_JUDGE(im) : USM_JUDGE(re) || USM_JUDGE(im)); \
        }                                                                                                    \
    }                                                                                                        \
    kernel void usm_##name(global uchar *dst, global const char *a, usm_elements e)                          \
    {                                                                                                        \
        USM_ELEMENTS_WALK(e, usm_row_##name(dst + usm_offset(&e, 0, i1, i2), a + usm_offset(&e, 1, i1, i2),  \
                                            from0, to0, &e))                                                 \
    }

#ifndef USM_ONLY
#define USM_ONLY 0
#endif
#define USM_WANTS(size) (USM_ONLY == 0 || USM_ONLY == size)

#if USM_WANTS(2)
USM_CLASSIFY(classify_2, ushort, 1, 0x7fff)
#endif
#if USM_WANTS(4)
USM_CLASSIFY(classify_4, uint, 1, 0x7fffffffu)
#endif
#if USM_WANTS(8)
USM_CLASSIFY(classify_8, ulong, 1, 0x7fffffffffffffffUL)
#endif
#if USM_WANTS(44)
USM_CLASSIFY(classify_4_4, uint, 2, 0x7fffffffu)
#endif
#if USM_WANTS(88)
USM_CLASSIFY(classify_8_8, ulong, 2, 0x7fffffffffffffffUL)
#endif
#undef USM_ONLY
#undef USM_WANTS
