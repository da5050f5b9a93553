/*
 * Zeros on one side of a diagonal, in row-major matrices that lie one behind another: columns [0, row + from)
 * where `upper`, else [row + from, columns), in units of the kernel's type. n = {columns, rows, matrices}.
 */
#include "kernels/abi/triangle.h"
#include "range.h"

#define USM_TRIANGLE_KERNEL(size, type)                                                              \
    kernel void usm_triangle_##size(global type *dst, usm_triangle t)                                \
    {                                                                                                \
        long columns = t.n[0] * t.unit, rows = t.n[1];                                               \
        for (long m = USM_FROM(t.n[2], 2), to_m = USM_TO(t.n[2], 2); m < to_m; m += USM_STEP(2)) {   \
            for (long r = USM_FROM(rows, 1), to_r = USM_TO(rows, 1); r < to_r; r += USM_STEP(1)) {   \
                global type *row = dst + (m * rows + r) * columns;                                   \
                long edge = (r + t.from) * t.unit;                                                   \
                edge = edge < 0 ? 0 : edge > columns ? columns : edge;                               \
                long low = t.upper ? 0 : edge, high = t.upper ? edge : columns;                      \
                long from = USM_FROM(columns, 0), to = USM_LESSER(USM_TO(columns, 0), high);         \
                from += from < low ? (low - from + USM_STEP(0) - 1) / USM_STEP(0) * USM_STEP(0) : 0; \
                for (long c = from; c < to; c += USM_STEP(0)) {                                      \
                    row[c] = 0;                                                                      \
                }                                                                                    \
            }                                                                                        \
        }                                                                                            \
    }

USM_TRIANGLE_KERNEL(1, uchar)
USM_TRIANGLE_KERNEL(2, ushort)
USM_TRIANGLE_KERNEL(4, uint)
USM_TRIANGLE_KERNEL(8, ulong)
