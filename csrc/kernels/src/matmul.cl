/*
 * Products of matrices in one type a build (compute.h), for GPUs: kernels/abi/matmul.h. A work-item computes a tile of
 * USM_TILE_ROWS x USM_TILE_COLUMNS elements in registers; neighbours along dimension 0 have tiles side by side. Every
 * element is summed up by one work-item, in the order of the inner axis, so that every device gives the same bits.
 */
#include "compute.h"
#include "kernels/abi/matmul.h"
#include "range.h"

#define USM_TILE_ROWS 8
#define USM_TILE_COLUMNS 4

static void S(tile)(global T *c, global const T *a, global const T *b, usm_matmul r, long i0, long j0)
{
    T sums[USM_TILE_ROWS][USM_TILE_COLUMNS];
    global const T *rows[USM_TILE_ROWS], *columns[USM_TILE_COLUMNS];
    /* Beyond the edges the last row and column are computed again, and not stored. */
#pragma unroll
    for (int i = 0; i < USM_TILE_ROWS; i++) {
        rows[i] = a + USM_LESSER(i0 + i, r.m - 1) * r.a_row;
#pragma unroll
        for (int j = 0; j < USM_TILE_COLUMNS; j++) {
            sums[i][j] = (T)0;
        }
    }
#pragma unroll
    for (int j = 0; j < USM_TILE_COLUMNS; j++) {
        columns[j] = b + USM_LESSER(j0 + j, r.n - 1) * r.b_column;
    }
    for (long p = 0; p < r.k; p++) {
        T y[USM_TILE_COLUMNS];
#pragma unroll
        for (int j = 0; j < USM_TILE_COLUMNS; j++) {
            y[j] = columns[j][p * r.b_row];
        }
#pragma unroll
        for (int i = 0; i < USM_TILE_ROWS; i++) {
            T x = rows[i][p * r.a_column];
#pragma unroll
            for (int j = 0; j < USM_TILE_COLUMNS; j++) {
                sums[i][j] = USM_SUM_OF(sums[i][j], USM_PRODUCT_OF(x, y[j]));
            }
        }
    }
#pragma unroll
    for (int i = 0; i < USM_TILE_ROWS; i++) {
#pragma unroll
        for (int j = 0; j < USM_TILE_COLUMNS; j++) {
            if (i0 + i < r.m && j0 + j < r.n) {
                c[(i0 + i) * r.c_row + (j0 + j) * r.c_column] = sums[i][j];
            }
        }
    }
}

/* Tiles of columns along dimension 0 of the range, of rows along 1, the batch along 2. */
kernel void S(matmul)(global T *c, global const T *a, global const T *b, usm_matmul r)
{
    long tiles = (r.n + USM_TILE_COLUMNS - 1) / USM_TILE_COLUMNS, strips = (r.m + USM_TILE_ROWS - 1) / USM_TILE_ROWS;
    long batch = r.batch[0] * r.batch[1] * r.batch[2];
    for (long o = USM_FROM(batch, 2), o_end = USM_TO(batch, 2); o < o_end; o += USM_STEP(2)) {
        long rest = o / r.batch[2], o2 = o - rest * r.batch[2], o0 = rest / r.batch[1], o1 = rest - o0 * r.batch[1];
        global const T *x = a + o0 * r.a_batch[0] + o1 * r.a_batch[1] + o2 * r.a_batch[2];
        global const T *y = b + o0 * r.b_batch[0] + o1 * r.b_batch[1] + o2 * r.b_batch[2];
        for (long s = USM_FROM(strips, 1), s_end = USM_TO(strips, 1); s < s_end; s += USM_STEP(1)) {
            for (long t = USM_FROM(tiles, 0), t_end = USM_TO(tiles, 0); t < t_end; t += USM_STEP(0)) {
                S(tile)(c + o * r.m * r.n, x, y, r, s * USM_TILE_ROWS, t * USM_TILE_COLUMNS);
            }
        }
    }
}
