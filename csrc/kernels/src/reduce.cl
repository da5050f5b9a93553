/*
 * all and any over the middle axis of bytes, row-major (outer, reduced, inner): dst[o][c][i] for the chunks c
 * of `chunk` along it, the last of which may be shorter. More than one chunk is the first of two launches:
 * the second reduces the chunks. `all` says which of the two; a byte is true unless it is 0.
 */
#include "kernels/abi/reduce.h"
#include "range.h"

/* Bytes after which a processor checks whether they decide the result: of a run, and of its rest. */
#define USM_REDUCE_BLOCK 2048
#define USM_REDUCE_REST 64

/* Elements of the inner axis that one work-item takes. */
#ifdef USM_SERIAL
#define USM_REDUCE_WIDTH USM_REDUCE_WIDTH_OF_PROCESSOR
#else
#define USM_REDUCE_WIDTH 1
#endif

#ifdef USM_SERIAL
/* Is there a byte that decides? With a constant n, a loop over whole vectors. */
static inline uchar usm_reduce_block(global const uchar *src, int n, long all)
{
    uchar found = 0;
    if (all) {
        for (int k = 0; k < n; k++) {
            found |= src[k] == 0;
        }
    } else {
        for (int k = 0; k < n; k++) {
            found |= src[k];
        }
    }
    return found;
}
#endif

/* Bytes side by side; what decides the result ends the work. */
static uchar usm_reduce_run(global const uchar *src, long n, long all)
{
    long i = 0;
#ifdef USM_SERIAL
    for (; i + USM_REDUCE_BLOCK <= n; i += USM_REDUCE_BLOCK) {
        if (usm_reduce_block(src + i, USM_REDUCE_BLOCK, all)) {
            return all ? 0 : 1;
        }
    }
    for (; i + USM_REDUCE_REST <= n; i += USM_REDUCE_REST) {
        if (usm_reduce_block(src + i, USM_REDUCE_REST, all)) {
            return all ? 0 : 1;
        }
    }
#endif
    for (; i < n; i++) {
        if ((src[i] != 0) != (all != 0)) {
            return all ? 0 : 1;
        }
    }
    return all ? 1 : 0;
}

#ifdef USM_SERIAL
/* Four rows at a time of `n` elements: dst has what decides, until the last pass makes truth values of it. */
static void usm_reduce_rows(global uchar *dst, global const uchar *src, long rows, long inner, long n,
                            long all)
{
    long r = 0;
    for (long i = 0; i < n; i++) {
        dst[i] = 0;
    }
    for (; r + 4 <= rows; r += 4) {
        global const uchar *a = src + r * inner, *b = a + inner, *c = b + inner, *d = c + inner;
        if (all) {
            for (long i = 0; i < n; i++) {
                dst[i] |= (a[i] == 0) | (b[i] == 0) | (c[i] == 0) | (d[i] == 0);
            }
        } else {
            for (long i = 0; i < n; i++) {
                dst[i] |= a[i] | b[i] | c[i] | d[i];
            }
        }
    }
    for (; r < rows; r++) {
        global const uchar *row = src + r * inner;
        for (long i = 0; i < n; i++) {
            dst[i] |= all ? row[i] == 0 : row[i];
        }
    }
    for (long i = 0; i < n; i++) {
        dst[i] = (dst[i] != 0) != (all != 0);
    }
}
#else
/* One column. */
static void usm_reduce_rows(global uchar *dst, global const uchar *src, long rows, long inner, long n,
                            long all)
{
    uchar found = 0;
    for (long r = 0; r < rows * n; r++) {
        uchar value = src[r * inner];
        found |= all ? value == 0 : value;
    }
    dst[0] = (found != 0) != (all != 0);
}
#endif

/* Dimension 0 of the range shares out the inner axis, dimension 1 the chunks, dimension 2 the outer axis. */
kernel void usm_reduce(global uchar *dst, global const uchar *src, usm_reduction r)
{
    long parts = (r.inner + USM_REDUCE_WIDTH - 1) / USM_REDUCE_WIDTH;
    for (long o = USM_FROM(r.outer, 2), o_end = USM_TO(r.outer, 2); o < o_end; o += USM_STEP(2)) {
        for (long c = USM_FROM(r.chunks, 1), c_end = USM_TO(r.chunks, 1); c < c_end; c += USM_STEP(1)) {
            long first = c * r.chunk, rows = USM_LESSER(r.chunk, r.reduced - first);
            global const uchar *from = src + (o * r.reduced + first) * r.inner;
            global uchar *to = dst + (o * r.chunks + c) * r.inner;
            for (long p = USM_FROM(parts, 0), p_end = USM_TO(parts, 0); p < p_end; p += USM_STEP(0)) {
                long i = p * USM_REDUCE_WIDTH, n = USM_LESSER(USM_REDUCE_WIDTH, r.inner - i);
                if (r.inner == 1) {
                    to[0] = usm_reduce_run(from, rows, r.all);
                } else {
                    usm_reduce_rows(to + i, from + i, rows, r.inner, n, r.all);
                }
            }
        }
    }
}
