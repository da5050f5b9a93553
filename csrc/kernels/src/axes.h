/*
 * The walk over two strided layouts that strided.cl and cast.cl share. Dimension 0 of the range shares out
 * axis 0, dimension 1 axis 1, and dimension 2 all the other axes together.
 */
#ifndef USM_KERNELS_AXES_H
#define USM_KERNELS_AXES_H

#include "kernels/abi/strided.h"
#include "range.h"

/* Loop heads over axes 1 and 0. */
#ifdef USM_SERIAL
/* A copy that transposes goes in squares, so that reads and writes both stay in the first-level cache. */
#define USM_SIDE 32
#define USM_MAGNITUDE(x) ((x) < 0 ? -(x) : (x))
#define USM_TRANSPOSES (axes.src[1] != 0 && USM_MAGNITUDE(axes.src[0]) > USM_MAGNITUDE(axes.src[1]))
#define USM_SQUARES                                            \
    long side = USM_TRANSPOSES ? USM_SIDE : n0 < n1 ? n1 : n0; \
    for (long low1 = from1; low1 < to1; low1 += side)          \
        for (long low0 = from0, high1 = USM_LESSER(low1 + side, to1); low0 < to0; low0 += side)
/* Stores past the caches are visible before the kernel's end is reported. */
#define USM_END mem_fence(CLK_GLOBAL_MEM_FENCE);
#define USM_FOR_ROWS(i) for (long i = low1; i < high1; i++)
#define USM_FOR_ROW(i) for (long i = low0, high0 = USM_LESSER(low0 + side, to0); i < high0; i++)
#else
#define USM_END
#define USM_SQUARES
#define USM_FOR_ROWS(i) for (long i = from1; i < to1; i += USM_STEP(1))
#define USM_FOR_ROW(i) for (long i = from0; i < to0; i += USM_STEP(0))
#endif

/* LOAD(pointer) gives an element of the source, STORE(pointer, element) converts it. */
#define USM_STRIDED_KERNEL(name, dst_size, src_size, LOAD, STORE)                                        \
    kernel void name(global char *dst, global const char *src, usm_kernel_axes axes)                     \
    {                                                                                                    \
        long n0 = axes.shape[0], n1 = axes.shape[1], n2 = axes.shape[2];                                 \
        for (int i = 3; i < USM_KERNEL_AXES; i++) {                                                      \
            n2 *= axes.shape[i];                                                                         \
        }                                                                                                \
        long dst_step = axes.dst[0], src_step = axes.src[0];                                             \
        long from0 = USM_FROM(n0, 0), to0 = USM_TO(n0, 0), from1 = USM_FROM(n1, 1), to1 = USM_TO(n1, 1); \
        for (long i2 = USM_FROM(n2, 2), to2 = USM_TO(n2, 2); i2 < to2; i2 += USM_STEP(2)) {              \
            long rest = i2, dst_at = 0, src_at = 0;                                                      \
            for (int i = 2; rest != 0; i++) {                                                            \
                long length = axes.shape[i];                                                             \
                /* Divisions of 64 bits are slow, and rarely needed. */                                  \
                long next = (rest | length) >> 32 ? rest / length : (long)((uint)rest / (uint)length);   \
                dst_at += (rest - next * length) * axes.dst[i];                                          \
                src_at += (rest - next * length) * axes.src[i];                                          \
                rest = next;                                                                             \
            }                                                                                            \
            USM_SQUARES                                                                                  \
            USM_FOR_ROWS (i1) {                                                                          \
                global char *to = dst + dst_at + i1 * axes.dst[1];                                       \
                global const char *from = src + src_at + i1 * axes.src[1];                               \
                if (dst_step == (long)dst_size && src_step == (long)src_size) {                          \
                    USM_FOR_ROW (i0) {                                                                   \
                        STORE(to + i0 * (long)dst_size, LOAD(from + i0 * (long)src_size));               \
                    }                                                                                    \
                } else {                                                                                 \
                    USM_FOR_ROW (i0) {                                                                   \
                        STORE(to + i0 * dst_step, LOAD(from + i0 * src_step));                           \
                    }                                                                                    \
                }                                                                                        \
            }                                                                                            \
        }                                                                                                \
        USM_END                                                                                          \
    }

#endif
