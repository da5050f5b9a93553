/* Products of matrices on the host: by loops of usmpy's own, or by a library. */
#ifndef USM_CPU_MATMUL_H
#define USM_CPU_MATMUL_H

#include "kernels/abi/matmul.h"

#include <stddef.h>

/*
 * The loops compute c in blocks of this many rows, each of this many bytes. Dimension 1 of the range counts
 * the blocks, row by row; dimension 2 counts the batch; dimension 0 is 1.
 */
#define USM_MATMUL_BLOCK_ROWS 48
#define USM_MATMUL_BLOCK_BYTES 512

/* Blocks of the range, in one type (matmul_type.h), and no more memory than a thread's stack has. */
typedef void (*usm_cpu_matmul)(void *c, const void *a, const void *b, const usm_matmul *r, const size_t *lo,
                               const size_t *hi);

/*
 * All of it by core/base/blas.h, for USM_FLOAT32 and USM_FLOAT64. r->c is row-major. In a and in b the
 * elements of rows, or of columns, are side by side, and the other stride is at least that of compact memory.
 * The library's own threads share the work, as many as it chooses.
 */
void usm_cpu_blas(int computed, void *c, const void *a, const void *b, const usm_matmul *r);

#endif
