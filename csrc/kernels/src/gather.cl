/*
 * Rows that lie at offsets: usm_gather_SIZE copies src + offsets[r] to row r of dst, usm_scatter_SIZE row r
 * of src to dst + offsets[r]. Axis 0 of the elements is the rows, whose stride counts on the side without
 * offsets alone. -D USM_ONLY=SIZE builds the two of one size.
 */
#include "elements.h"
#include "pair.h"

/* Offsets of row r's element i, i counted through all axes but the rows. */
static long usm_inner(const usm_elements *e, int operand, long i)
{
    long at = 0;
    for (int axis = 1; i != 0; axis++) {
        long next = i / e->shape[axis];
        at += (i - next * e->shape[axis]) * e->strides[operand][axis];
        i = next;
    }
    return at;
}

#define USM_INNER_SIZE(n)                         \
    long n = 1;                                   \
    for (int i = 1; i < USM_ELEMENTS_AXES; i++) { \
        n *= e.shape[i];                          \
    }

/* Dimension 1 of the range shares out the rows, dimension 0 what is in each. */
#define USM_FOR_EACH_ROW(r) \
    for (long r = USM_FROM(e.shape[0], 1), r##_end = USM_TO(e.shape[0], 1); r < r##_end; r += USM_STEP(1))
#define USM_FOR_EACH_INNER(i, n) \
    for (long i = USM_FROM(n, 0), i##_end = USM_TO(n, 0); i < i##_end; i += USM_STEP(0))

/* Row r, from src + FROM to dst + TO, both in terms of r. Rows of one axis have a loop without divisions. */
#define USM_MOVE_ROWS(name, type, TO, FROM)                                                                \
    kernel void name(global char *dst, global const char *src, global const long *offsets, usm_elements e) \
    {                                                                                                      \
        USM_INNER_SIZE(inner)                                                                              \
        if (e.shape[1] == inner) {                                                                         \
            long ds = e.strides[0][1], ss = e.strides[1][1];                                               \
            USM_FOR_EACH_ROW(r)                                                                            \
            {                                                                                              \
                global char *to = dst + TO;                                                                \
                global const char *from = src + FROM;                                                      \
                USM_FOR_EACH_INNER(i, inner)                                                               \
                {                                                                                          \
                    *(global type *)(to + i * ds) = *(global const type *)(from + i * ss);                 \
                }                                                                                          \
            }                                                                                              \
            return;                                                                                        \
        }                                                                                                  \
        USM_FOR_EACH_ROW(r)                                                                                \
        {                                                                                                  \
            USM_FOR_EACH_INNER(i, inner)                                                                   \
            {                                                                                              \
                *(global type *)(dst + TO + usm_inner(&e, 0, i)) =                                         \
                    *(global const type *)(src + FROM + usm_inner(&e, 1, i));                              \
            }                                                                                              \
        }                                                                                                  \
    }
#define USM_GATHER(size, type)                                              \
    USM_MOVE_ROWS(usm_gather_##size, type, r *e.strides[0][0], offsets[r]) \
    USM_MOVE_ROWS(usm_scatter_##size, type, offsets[r], r *e.strides[1][0])

#ifndef USM_ONLY
#define USM_ONLY 0
#endif
#define USM_WANTS(size) (USM_ONLY == 0 || USM_ONLY == size)

#if USM_WANTS(1)
USM_GATHER(1, uchar)
#endif
#if USM_WANTS(2)
USM_GATHER(2, ushort)
#endif
#if USM_WANTS(4)
USM_GATHER(4, uint)
#endif
#if USM_WANTS(8)
USM_GATHER(8, ulong)
#endif
#if USM_WANTS(16)
USM_GATHER(16, usm_pair)
#endif
#undef USM_ONLY
#undef USM_WANTS
