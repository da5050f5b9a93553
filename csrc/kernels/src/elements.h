/*
 * The walk over several strided layouts of one shape that compare.cl and where.cl share. Dimension 0 of the
 * range shares out axis 0, dimension 1 axis 1, and dimension 2 all the other axes together. The kernel
 * defines USM_ROW.
 */
#ifndef USM_KERNELS_ELEMENTS_H
#define USM_KERNELS_ELEMENTS_H

#include "kernels/abi/elements.h"
#include "range.h"

/* Offsets of the operands at row i1 of the axes behind the first two, which are counted through by i2. */
static long usm_offset(const usm_elements *e, int operand, long i1, long i2)
{
    long at = i1 * e->strides[operand][1];
    for (int i = 2; i2 != 0; i++) {
        long length = e->shape[i];
        /* Divisions of 64 bits are slow, and rarely needed. */
        long next = (i2 | length) >> 32 ? i2 / length : (long)((uint)i2 / (uint)length);
        at += (i2 - next * length) * e->strides[operand][i];
        i2 = next;
    }
    return at;
}

/*
 * The body of a kernel: `call` for each row that this work-item has a share of, in terms of i1, i2 (for
 * usm_offset) and of from0, to0, the part of the row.
 */
#define USM_ELEMENTS_WALK(e, call)                                                          \
    long n0 = (e).shape[0], n1 = (e).shape[1], n2 = (e).shape[2];                           \
    for (int i = 3; i < USM_ELEMENTS_AXES; i++) {                                           \
        n2 *= (e).shape[i];                                                                 \
    }                                                                                       \
    long from0 = USM_FROM(n0, 0), to0 = USM_TO(n0, 0);                                      \
    for (long i2 = USM_FROM(n2, 2), to2 = USM_TO(n2, 2); i2 < to2; i2 += USM_STEP(2)) {     \
        for (long i1 = USM_FROM(n1, 1), to1 = USM_TO(n1, 1); i1 < to1; i1 += USM_STEP(1)) { \
            call;                                                                           \
        }                                                                                   \
    }

#endif
