/*
 * Elements by index: dst[...] = src[..., index, ...] along one axis of src. Indices count from the end where
 * they are negative, and one beyond either end is the nearest that there is: nothing outside src is ever
 * read. Memory is aligned to the elements.
 */
#include "kernels/abi/take.h"
#include "pair.h"
#include "range.h"

static long usm_nearest(long index, long length)
{
    index += index < 0 ? length : 0;
    return index < 0 ? 0 : index >= length ? length - 1 : index;
}

#define USM_TAKE_KERNEL(name, type, itype)                                                               \
    kernel void name(global char *dst, global const char *src, global const char *index, usm_take g)     \
    {                                                                                                    \
        long n0 = g.shape[0], n1 = g.shape[1], n2 = g.shape[2];                                          \
        for (int i = 3; i < USM_TAKE_AXES; i++) {                                                        \
            n2 *= g.shape[i];                                                                            \
        }                                                                                                \
        long dst_step = g.dst[0], src_step = g.src[0], index_step = g.index[0], length = g.length;       \
        long from0 = USM_FROM(n0, 0), to0 = USM_TO(n0, 0), from1 = USM_FROM(n1, 1), to1 = USM_TO(n1, 1); \
        for (long i2 = USM_FROM(n2, 2), to2 = USM_TO(n2, 2); i2 < to2; i2 += USM_STEP(2)) {              \
            long rest = i2, dst_at = 0, src_at = 0, index_at = 0;                                        \
            for (int i = 2; rest != 0; i++) {                                                            \
                long extent = g.shape[i];                                                                \
                /* Divisions of 64 bits are slow, and rarely needed. */                                  \
                long next = (rest | extent) >> 32 ? rest / extent : (long)((uint)rest / (uint)extent);   \
                long at = rest - next * extent;                                                          \
                dst_at += at * g.dst[i];                                                                 \
                src_at += at * g.src[i];                                                                 \
                index_at += at * g.index[i];                                                             \
                rest = next;                                                                             \
            }                                                                                            \
            for (long i1 = from1; i1 < to1; i1 += USM_STEP(1)) {                                         \
                global char *to = dst + dst_at + i1 * g.dst[1];                                          \
                global const char *from = src + src_at + i1 * g.src[1];                                  \
                global const char *at = index + index_at + i1 * g.index[1];                              \
                if (index_step == 0) { /* one index for all of the row */                                \
                    from += usm_nearest(*(global const itype *)at, length) * g.step;                     \
                    if (dst_step == (long)sizeof(type) && src_step == (long)sizeof(type)) {              \
                        for (long i0 = from0; i0 < to0; i0 += USM_STEP(0)) {                             \
                            ((global type *)to)[i0] = ((global const type *)from)[i0];                   \
                        }                                                                                \
                    } else {                                                                             \
                        for (long i0 = from0; i0 < to0; i0 += USM_STEP(0)) {                             \
                            *(global type *)(to + i0 * dst_step) =                                       \
                                *(global const type *)(from + i0 * src_step);                            \
                        }                                                                                \
                    }                                                                                    \
                } else {                                                                                 \
                    for (long i0 = from0; i0 < to0; i0 += USM_STEP(0)) {                                 \
                        long k = usm_nearest(*(global const itype *)(at + i0 * index_step), length);     \
                        *(global type *)(to + i0 * dst_step) =                                           \
                            *(global const type *)(from + i0 * src_step + k * g.step);                   \
                    }                                                                                    \
                }                                                                                        \
            }                                                                                            \
        }                                                                                                \
    }

USM_TAKE_KERNEL(usm_take_1, uchar, long)
USM_TAKE_KERNEL(usm_take_2, ushort, long)
USM_TAKE_KERNEL(usm_take_4, uint, long)
USM_TAKE_KERNEL(usm_take_8, ulong, long)
USM_TAKE_KERNEL(usm_take_16, usm_pair, long)
USM_TAKE_KERNEL(usm_take_1_int32, uchar, int)
USM_TAKE_KERNEL(usm_take_2_int32, ushort, int)
USM_TAKE_KERNEL(usm_take_4_int32, uint, int)
USM_TAKE_KERNEL(usm_take_8_int32, ulong, int)
USM_TAKE_KERNEL(usm_take_16_int32, usm_pair, int)

/* out[begins[i]..begins[i+1]) = i: where element i of something goes that is repeated. */
kernel void usm_expand(global long *out, global const long *begins, ulong n)
{
    USM_FOR_EACH (i, (long)n) {
        for (long k = begins[i]; k < begins[i + 1]; k++) {
            out[k] = i;
        }
    }
}
