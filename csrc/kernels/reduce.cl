/*
 * all and any over the middle axis of bytes, row-major (outer, reduced, inner): dst[o][c][i] for the chunks c
 * of `chunk` along it, the last of which may be shorter. More than one chunk is the first of two launches:
 * the second reduces the chunks. `all` says which of the two; a byte is true unless it is 0.
 */
#include "range.h"

typedef struct usm_reduction {
    long outer, reduced, inner, chunk, chunks, all;
} usm_reduction;

/* After so many bytes a processor looks whether they decide. */
#define USM_REDUCE_BLOCK 2048

/* Bytes side by side; what decides the result ends the work. */
static uchar usm_reduce_run(global const uchar *src, long n, long all)
{
    long i = 0;
#ifdef USM_SERIAL
    for (; i + USM_REDUCE_BLOCK <= n; i += USM_REDUCE_BLOCK) {
        uchar found = 0;
        if (all) {
            for (int k = 0; k < USM_REDUCE_BLOCK; k++) {
                found |= src[i + k] == 0;
            }
        } else {
            for (int k = 0; k < USM_REDUCE_BLOCK; k++) {
                found |= src[i + k];
            }
        }
        if (found) {
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

/* Elements from `from` to `end` of the inner axis. */
static void usm_reduce_rows(global uchar *dst, global const uchar *src, long rows, long inner, long from,
                            long end, long all)
{
    for (long i = from; i < end; i += USM_STEP(0)) {
        dst[i] = all ? 1 : 0;
    }
    for (long r = 0; r < rows; r++) {
        global const uchar *row = src + r * inner;
        if (all) {
            for (long i = from; i < end; i += USM_STEP(0)) {
                dst[i] &= row[i] != 0;
            }
        } else {
            for (long i = from; i < end; i += USM_STEP(0)) {
                dst[i] |= row[i] != 0;
            }
        }
    }
}

/* Dimension 0 of the range shares out the inner axis, dimension 1 the chunks, dimension 2 the outer axis. */
kernel void usm_reduce(global uchar *dst, global const uchar *src, usm_reduction r)
{
    for (long o = USM_FROM(r.outer, 2), o_end = USM_TO(r.outer, 2); o < o_end; o += USM_STEP(2)) {
        for (long c = USM_FROM(r.chunks, 1), c_end = USM_TO(r.chunks, 1); c < c_end; c += USM_STEP(1)) {
            long first = c * r.chunk, rows = USM_LESSER(r.chunk, r.reduced - first);
            global const uchar *from = src + (o * r.reduced + first) * r.inner;
            global uchar *to = dst + (o * r.chunks + c) * r.inner;
            if (r.inner == 1) {
                for (long i = USM_FROM(1, 0), end = USM_TO(1, 0); i < end; i += USM_STEP(0)) {
                    to[i] = usm_reduce_run(from, rows, r.all);
                }
            } else {
                usm_reduce_rows(to, from, rows, r.inner, USM_FROM(r.inner, 0), USM_TO(r.inner, 0), r.all);
            }
        }
    }
}
