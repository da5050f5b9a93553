/* The last argument of usm_matmul_* (matmul.cl) and of the host's usm_blas_* (csrc/cpu/matmul.c). */
#ifndef USM_ABI_MATMUL_H
#define USM_ABI_MATMUL_H

#include "size.h"

#define USM_MATMUL_BATCH 3

/*
 * c[...][i][j] = the sum over p of a[...][i][p] * b[...][p][j], p ascending, for each index of the batch
 * axes. Strides are in elements. c has m * n elements for each index of the batch, row-major; a and b have
 * any strides, 0 where an axis of the batch repeats them.
 */
typedef struct usm_matmul {
    long m, n, k;
    long batch[USM_MATMUL_BATCH], a_batch[USM_MATMUL_BATCH], b_batch[USM_MATMUL_BATCH];
    long a_row, a_column, b_row, b_column;
    long c_row, c_column;
} usm_matmul;

USM_ABI_SIZE(usm_matmul, 144);

#endif
