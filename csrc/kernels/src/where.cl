/* dst[i] = c[i] ? a[i] : b[i], elements by their size, bit for bit. Memory is aligned to them. -D
 * USM_ONLY=SIZE: of one size. */
#include "elements.h"
#include "pair.h"

#ifdef USM_SERIAL
#define USM_SIDE_BY_SIDE(type)                                                      \
    if (ds == (long)sizeof(type) && cs == 1 && as == ds && bs == ds) {              \
        global type *to = (global type *)dst;                                       \
        global const type *p = (global const type *)a, *q = (global const type *)b; \
        for (long i = from; i < end; i++) {                                         \
            type x = p[i], y = q[i];                                                \
            to[i] = c[i] != 0 ? x : y;                                              \
        }                                                                           \
        return;                                                                     \
    }
#else
#define USM_SIDE_BY_SIDE(type)
#endif

#define USM_WHERE(size, type)                                                                            \
    static void usm_where_row_##size(global char *dst, global const char *c, global const char *a,       \
                                     global const char *b, long from, long end, const usm_elements *e)   \
    {                                                                                                    \
        long ds = e->strides[0][0], cs = e->strides[1][0], as = e->strides[2][0], bs = e->strides[3][0]; \
        USM_SIDE_BY_SIDE(type)                                                                           \
        for (long i = from; i < end; i += USM_STEP(0)) {                                                 \
            type x = *(global const type *)(a + i * as), y = *(global const type *)(b + i * bs);         \
            *(global type *)(dst + i * ds) = c[i * cs] != 0 ? x : y;                                     \
        }                                                                                                \
    }                                                                                                    \
    kernel void usm_where_##size(global char *dst, global const char *c, global const char *a,           \
                                 global const char *b, usm_elements e)                                   \
    {                                                                                                    \
        USM_ELEMENTS_WALK(                                                                               \
            e, usm_where_row_##size(dst + usm_offset(&e, 0, i1, i2), c + usm_offset(&e, 1, i1, i2),      \
                                    a + usm_offset(&e, 2, i1, i2), b + usm_offset(&e, 3, i1, i2), from0, \
                                    to0, &e))                                                            \
    }

#ifndef USM_ONLY
#define USM_ONLY 0
#endif
#define USM_WANTS(size) (USM_ONLY == 0 || USM_ONLY == size)

#if USM_WANTS(1)
USM_WHERE(1, uchar)
#endif
#if USM_WANTS(2)
USM_WHERE(2, ushort)
#endif
#if USM_WANTS(4)
USM_WHERE(4, uint)
#endif
#if USM_WANTS(8)
USM_WHERE(8, ulong)
#endif
#if USM_WANTS(16)
USM_WHERE(16, usm_pair)
#endif
#undef USM_ONLY
#undef USM_WANTS
