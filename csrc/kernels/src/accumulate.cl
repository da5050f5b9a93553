/*
 * Reductions along the middle axis of (outer, reduced, inner): sum, prod, max and min, in one type a build
 * (compute.h). dst[o][b][i] is the result of block b; kernels/abi/accumulate.h says in which order. On GPUs
 * usm_lanes does the first part, a work-item a lane, and usm_accumulate joins the lanes as blocks of
 * USM_LANES elements; where inner is 1, usm_rows does both in local memory.
 */
#include "compute.h"
#include "kernels/abi/accumulate.h"
#include "range.h"

static T S(combine)(long op, T x, T y)
{
    switch (op) {
        case USM_SUM:
            return USM_SUM_OF(x, y);
        case USM_PROD:
            return USM_PRODUCT_OF(x, y);
#if USM_KIND != USM_COMPLEX_KIND
        case USM_MAX:
            return USM_LARGER_OF(x, y);
        case USM_MIN:
            return USM_SMALLER_OF(x, y);
#endif
        default:
            return x;
    }
}

/* x op identity == x for every x, -0.0 among them. */
static T S(identity)(long op)
{
    switch (op) {
        case USM_SUM:
            return USM_ZERO;
#if USM_KIND != USM_COMPLEX_KIND
        case USM_MAX:
            return USM_LEAST;
        case USM_MIN:
            return USM_GREATEST;
#endif
        default:
            return USM_UNIT;
    }
}

/* Dimension 0 of the range shares out the inner axis, dimension 1 the blocks, dimension 2 the outer axis. */
kernel void S(accumulate)(global T *dst, global const char *src, usm_accumulation r)
{
    long size = USM_SIZE_OF(r.type), op = r.op;
    for (long o = USM_FROM(r.outer, 2), o_end = USM_TO(r.outer, 2); o < o_end; o += USM_STEP(2)) {
        for (long b = USM_FROM(r.blocks, 1), b_end = USM_TO(r.blocks, 1); b < b_end; b += USM_STEP(1)) {
            long first = b * r.block, rows = USM_LESSER(r.block, r.reduced - first);
            global const char *from = src + (o * r.reduced + first) * r.inner * size;
            for (long i = USM_FROM(r.inner, 0), i_end = USM_TO(r.inner, 0); i < i_end; i += USM_STEP(0)) {
                T lanes[USM_LANES];
                for (int l = 0; l < USM_LANES; l++) {
                    lanes[l] =
                        l < rows ? usm_load(from + (l * r.inner + i) * size, (int)r.type) : S(identity)(op);
                }
                for (long k = USM_LANES; k < rows; k += USM_LANES) {
                    for (int l = 0; l < USM_LANES && k + l < rows; l++) {
                        T next = usm_load(from + ((k + l) * r.inner + i) * size, (int)r.type);
                        lanes[l] = S(combine)(op, lanes[l], next);
                    }
                }
                for (int step = USM_LANES / 2; step > 0; step /= 2) {
                    for (int l = 0; l < step; l++) {
                        lanes[l] = S(combine)(op, lanes[l], lanes[l + step]);
                    }
                }
                dst[(o * r.blocks + b) * r.inner + i] = lanes[0];
            }
        }
    }
}

/* JOIN of the elements k, k + step, ... below n: several reads are under way at once. */
#define USM_LANE(JOIN)                                        \
    {                                                         \
        T lane = x[k];                                        \
        _Pragma("unroll 8") for (k += step; k < n; k += step) \
        {                                                     \
            lane = JOIN(lane, x[k]);                          \
        }                                                     \
        return lane;                                          \
    }

/* A lane: the elements k, k + step, ... below n, one after another; the identity where there is none. */
static T S(lane)(global const char *from, long type, long op, long k, long step, long n)
{
    long size = USM_SIZE_OF(type);
    global const T *x = (global const T *)from;
    if (k >= n) {
        return S(identity)(op);
    }
    if (type == USM_COMPUTE && op == USM_SUM) {
        USM_LANE(USM_SUM_OF)
    }
#if USM_KIND != USM_COMPLEX_KIND
    if (type == USM_COMPUTE && op == USM_MAX) {
        USM_LANE(USM_LARGER_OF)
    }
    if (type == USM_COMPUTE && op == USM_MIN) {
        USM_LANE(USM_SMALLER_OF)
    }
#endif
    T lane = usm_load(from + k * size, (int)type);
    for (k += step; k < n; k += step) {
        lane = S(combine)(op, lane, usm_load(from + k * size, (int)type));
    }
    return lane;
}

/* dst[o][b], with inner == 1. r.width neighbours have a block: each a lane, which they join in local memory.
 */
kernel void S(rows)(global T *dst, global const char *src, usm_accumulation r)
{
    local T lanes[USM_ROWS_GROUP];
    int item = (int)get_local_id(0), width = (int)r.width, own = item & (width - 1);
    long together = USM_ROWS_GROUP / width, count = r.outer * r.blocks;
    for (long first = (long)get_group_id(0) * together; first < count;
         first += (long)get_num_groups(0) * together) {
        long number = first + item / width, o = number / r.blocks, at = (number - o * r.blocks) * r.block;
        T lane = S(identity)(r.op);
        if (number < count) {
            lane = S(lane)(src + (o * r.reduced + at) * USM_SIZE_OF(r.type), r.type, r.op, own, USM_LANES,
                           USM_LESSER(r.block, r.reduced - at));
        }
        lanes[item] = lane;
        for (int step = width / 2; step > 0; step /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (own < step) {
                lane = S(combine)(r.op, lane, lanes[item + step]);
                lanes[item] = lane;
            }
        }
        if (own == 0 && number < count) {
            dst[number] = lane;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* dst[o][b][l][i]: the lanes of each block. Dimension 0 shares out lanes and inner axis together. */
kernel void S(lanes)(global T *dst, global const char *src, usm_accumulation r)
{
    long size = USM_SIZE_OF(r.type), width = USM_LANES * r.inner;
    for (long o = USM_FROM(r.outer, 2), o_end = USM_TO(r.outer, 2); o < o_end; o += USM_STEP(2)) {
        for (long b = USM_FROM(r.blocks, 1), b_end = USM_TO(r.blocks, 1); b < b_end; b += USM_STEP(1)) {
            long first = b * r.block * r.inner, n = USM_LESSER(r.block, r.reduced - b * r.block) * r.inner;
            global const char *from = src + (o * r.reduced * r.inner + first) * size;
            for (long j = USM_FROM(width, 0), j_end = USM_TO(width, 0); j < j_end; j += USM_STEP(0)) {
                dst[(o * r.blocks + b) * width + j] = S(lane)(from, r.type, r.op, j, width, n);
            }
        }
    }
}

#if USM_KIND != USM_COMPLEX_KIND /* complex numbers have no order */
/* Is x, at i, the result rather than y, at j? NaN comes before all numbers, and of equals the first. */
static int S(precedes)(long op, T x, long i, T y, long j)
{
#if USM_KIND == USM_REAL_KIND
    if (USM_IS_NAN(x) || USM_IS_NAN(y)) {
        return USM_IS_NAN(x) && (!USM_IS_NAN(y) || i < j);
    }
#endif
    return x == y ? i < j : (x > y) == (op == USM_MAX);
}

/* dst[o][b][i]: the extreme of the candidates b, b + blocks, ... Dimension 0 shares out blocks and inner
 * axis. */
kernel void S(extreme)(global long *dst, global const T *src, global const long *candidates, usm_extremes r)
{
    long width = r.blocks * r.inner, n = r.count * r.inner;
    for (long o = USM_FROM(r.outer, 2), o_end = USM_TO(r.outer, 2); o < o_end; o += USM_STEP(2)) {
        global const T *from = src + o * r.reduced * r.inner;
        for (long j = USM_FROM(width, 0), j_end = USM_TO(width, 0); j < j_end; j += USM_STEP(0)) {
            long row = j / r.inner, i = j - row * r.inner, at = 0;
            T best = 0;
            for (long k = j; k < n; k += width, row += r.blocks) {
                long number = r.count < r.reduced ? candidates[o * n + k] : row;
                T x = from[number * r.inner + i];
                if (k == j || S(precedes)(r.op, x, number, best, at)) {
                    best = x;
                    at = number;
                }
            }
            dst[o * width + j] = at;
        }
    }
}
#endif
