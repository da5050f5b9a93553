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
    USM_ROLLED for (long o = USM_FROM(r.outer, 2), o_end = USM_TO(r.outer, 2); o < o_end; o += USM_STEP(2)) {
        USM_ROLLED for (long b = USM_FROM(r.blocks, 1), b_end = USM_TO(r.blocks, 1); b < b_end; b += USM_STEP(1)) {
            long first = b * r.block, rows = USM_LESSER(r.block, r.reduced - first);
            global const char *from = src + (o * r.reduced + first) * r.inner * size;
            USM_ROLLED for (long i = USM_FROM(r.inner, 0), i_end = USM_TO(r.inner, 0); i < i_end; i += USM_STEP(0)) {
                T lanes[USM_LANES];
                USM_ROLLED for (int l = 0; l < USM_LANES; l++) {
                    lanes[l] =
                        l < rows ? usm_load(from + (l * r.inner + i) * size, (int)r.type) : S(identity)(op);
                }
                USM_ROLLED for (long k = USM_LANES; k < rows; k += USM_LANES) {
                    USM_ROLLED for (int l = 0; l < USM_LANES && k + l < rows; l++) {
                        T next = usm_load(from + ((k + l) * r.inner + i) * size, (int)r.type);
                        lanes[l] = S(combine)(op, lanes[l], next);
                    }
                }
                USM_ROLLED for (int step = USM_LANES / 2; step > 0; step /= 2) {
                    USM_ROLLED for (int l = 0; l < step; l++) {
                        lanes[l] = S(combine)(op, lanes[l], lanes[l + step]);
                    }
                }
                dst[(o * r.blocks + b) * r.inner + i] = lanes[0];
            }
        }
    }
}

/* EACH(join) with what joins two numbers: the loops in it do not choose for each element. */
#if USM_KIND != USM_COMPLEX_KIND
#define USM_BY_ORDER(EACH)          \
    case USM_MAX:                   \
        EACH(USM_LARGER_OF) break;  \
    case USM_MIN:                   \
        EACH(USM_SMALLER_OF) break;
#else
#define USM_BY_ORDER(EACH)
#endif
#define USM_BY_OP(op, EACH)         \
    switch (op) {                   \
        case USM_SUM:               \
            EACH(USM_SUM_OF) break; \
        case USM_PROD:              \
            EACH(USM_PRODUCT_OF) break; \
            USM_BY_ORDER(EACH)      \
    }

/* JOIN of the elements k, k + step, ... below n: several reads are under way at once. */
#define USM_LANE(JOIN)                                       \
    {                                                        \
        T lane = x[k];                                       \
        USM_UNROLLED_BY(8) for (k += step; k < n; k += step) \
        {                                                    \
            lane = JOIN(lane, x[k]);                         \
        }                                                    \
        return lane;                                         \
    }

/* A lane: the elements k, k + step, ... below n, one after another; the identity where there is none. */
static T S(lane)(global const char *from, long type, long op, long k, long step, long n)
{
    long size = USM_SIZE_OF(type);
    global const T *x = (global const T *)from;
    if (k >= n) {
        return S(identity)(op);
    }
    if (type == USM_COMPUTE) {
        USM_BY_OP(op, USM_LANE)
    }
    T lane = usm_load(from + k * size, (int)type);
    USM_ROLLED for (k += step; k < n; k += step) {
        lane = S(combine)(op, lane, usm_load(from + k * size, (int)type));
    }
    return lane;
}

/*
 * A group takes r.columns neighbours of the inner axis. As many work-items as there is room for share the lanes of a
 * block, one or several each; they join them in local memory. Where there is room left, the group takes several blocks.
 */
kernel void S(groups)(global T *dst, global const char *src, usm_accumulation r)
{
    local T lanes[USM_GROUPS_ITEMS];
    int item = (int)get_local_id(0), columns = (int)r.columns;
    int sharers = USM_LESSER(USM_LANES, USM_GROUPS_ITEMS / columns), rank = item / columns, own = rank & (sharers - 1);
    long together = USM_GROUPS_ITEMS / columns / sharers, strips = (r.inner + columns - 1) / columns;
    long count = r.outer * r.blocks * strips;
    for (long first = (long)get_group_id(0) * together; first < count; first += (long)get_num_groups(0) * together) {
        long number = first + rank / sharers;
        long block = strips == 1 ? number : number / strips, i = (number - block * strips) * columns + (item & (columns - 1));
        long o = r.blocks == 1 ? block : block / r.blocks, at = (block - o * r.blocks) * r.block;
        bool is_one = number < count && i < r.inner;
        T part[USM_LANES * 32 / USM_GROUPS_ITEMS];
        if (is_one) {
            global const char *from = src + ((o * r.reduced + at) * r.inner + i) * USM_SIZE_OF(r.type);
            long end = USM_LESSER(r.block, r.reduced - at) * r.inner;
            USM_ROLLED for (int l = 0; l < (int)(sizeof part / sizeof *part); l++) { /* few registers */
                part[l] = l * sharers < USM_LANES ? S(lane)(from, r.type, r.op, (own + l * sharers) * r.inner,
                                                            USM_LANES * r.inner, end)
                                                  : S(identity)(r.op);
            }
            if (sharers * 4 == USM_LANES) {
                part[0] = S(combine)(r.op, part[0], part[2]);
                part[1] = S(combine)(r.op, part[1], part[3]);
            }
            if (sharers < USM_LANES) {
                part[0] = S(combine)(r.op, part[0], part[1]);
            }
            lanes[item] = part[0];
        }
        for (int step = sharers / 2; step > 0; step /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (is_one && own < step) {
                part[0] = S(combine)(r.op, part[0], lanes[item + step * columns]);
                lanes[item] = part[0];
            }
        }
        if (is_one && own == 0) {
            dst[block * r.inner + i] = part[0];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/*
 * The same where inner is 1 and elements, which have the computed type, are aligned to packs: a work-item reads as many
 * lanes as are in a pack, so that r.columns of them have a block.
 */

static usm_pack S(join_packs)(long op, usm_pack x, usm_pack y)
{
    for (int w = 0; w < USM_IN_PACK; w++) {
        x.at[w] = S(combine)(op, x.at[w], y.at[w]);
    }
    return x;
}

/* Elements at `at` and behind it, below n. */
static usm_pack S(pack)(global const T *x, long op, long at, long n)
{
    usm_pack pack;
    if (at + USM_IN_PACK <= n) {
        return *(global const usm_pack *)(x + at);
    }
    for (int w = 0; w < USM_IN_PACK; w++) {
        pack.at[w] = at + w < n ? x[at + w] : S(identity)(op);
    }
    return pack;
}

enum { USM_AT_ONCE = 16 / USM_IN_PACK }; /* packs that are read before the first is joined */
#define USM_WHOLE_BLOCK(JOIN)                                                      \
    USM_UNROLLED_BY(USM_AT_ONCE) for (int k = 1; k < USM_BLOCK / USM_LANES; k++)            \
    {                                                                              \
        usm_pack next = ((global const usm_pack *)x)[k * (USM_LANES / USM_IN_PACK) + own];       \
        for (int w = 0; w < USM_IN_PACK; w++) {                                    \
            lanes.at[w] = JOIN(lanes.at[w], next.at[w]);                           \
        }                                                                          \
    }
kernel void S(packs)(global T *dst, global const T *src, usm_accumulation r)
{
    local usm_pack packs[USM_GROUPS_ITEMS];
    int item = (int)get_local_id(0), sharers = (int)r.columns, own = item & (sharers - 1);
    long together = USM_GROUPS_ITEMS / sharers, count = r.outer * r.blocks;
    for (long first = (long)get_group_id(0) * together; first < count; first += (long)get_num_groups(0) * together) {
        long number = first + item / sharers, o = r.outer == 1 ? 0 : r.blocks == 1 ? number : number / r.blocks;
        long at = (number - o * r.blocks) * r.block, n = USM_LESSER(r.block, r.reduced - at);
        usm_pack lanes;
        if (number < count) {
            global const T *x = src + o * r.reduced + at;
            lanes = S(pack)(x, r.op, own * USM_IN_PACK, n);
            if (n == USM_BLOCK) {
                USM_BY_OP(r.op, USM_WHOLE_BLOCK)
            } else {
                for (long k = own * USM_IN_PACK + USM_LANES; k < n; k += USM_LANES) {
                    lanes = S(join_packs)(r.op, lanes, S(pack)(x, r.op, k, n));
                }
            }
            packs[item] = lanes;
        }
        for (int step = sharers / 2; step > 0; step /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (number < count && own < step) {
                lanes = S(join_packs)(r.op, lanes, packs[item + step]);
                packs[item] = lanes;
            }
        }
        if (number < count && own == 0) {
            for (int step = USM_IN_PACK / 2; step > 0; step /= 2) {
                for (int w = 0; w < step; w++) {
                    lanes.at[w] = S(combine)(r.op, lanes.at[w], lanes.at[w + step]);
                }
            }
            dst[number] = lanes.at[0];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/*
 * The same where inner is a multiple of packs: a group takes r.columns packs of the inner axis together, and a work-item
 * one lane of one pack. The group has all lanes of a block: USM_GROUPS_ITEMS / r.columns is USM_LANES, or, for blocks of
 * fewer rows, at least their number.
 */
#define USM_PACKS_BELOW(JOIN)                                             \
    USM_UNROLLED_BY(4) for (long k = USM_LANES; k < rows; k += USM_LANES) \
    {                                                                     \
        usm_pack next = *(global const usm_pack *)(x + k * r.inner);      \
        for (int w = 0; w < USM_IN_PACK; w++) {                           \
            lanes.at[w] = JOIN(lanes.at[w], next.at[w]);                  \
        }                                                                 \
    }
#ifdef __CUDACC_RTC__ /* groups that a processor of the GPU runs at once */
#define USM_COLUMNS_ROOM __launch_bounds__(USM_GROUPS_ITEMS, 4)
#else
#define USM_COLUMNS_ROOM
#endif
kernel void USM_COLUMNS_ROOM S(columns)(global T *dst, global const T *src, usm_accumulation r)
{
    local usm_pack packs[USM_GROUPS_ITEMS];
    int item = (int)get_local_id(0), columns = (int)r.columns, own = item / columns;
    long across = r.inner / USM_IN_PACK, strips = (across + columns - 1) / columns, count = r.outer * r.blocks * strips;
    for (long number = (long)get_group_id(0); number < count; number += (long)get_num_groups(0)) {
        long block = number / strips, i = (number - block * strips) * columns + (item & (columns - 1));
        long o = block / r.blocks, at = (block - o * r.blocks) * r.block;
        long n = USM_LESSER(r.block, r.reduced - at), rows = n - own;
        usm_pack lanes;
        if (rows > 0 && i < across) {
            global const T *x = src + (o * r.reduced + at + own) * r.inner + i * USM_IN_PACK;
            lanes = *(global const usm_pack *)x;
            USM_BY_OP(r.op, USM_PACKS_BELOW)
            packs[item] = lanes;
        }
        for (int apart = USM_GROUPS_ITEMS / columns / 2; apart > 0; apart /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (own < apart && rows > apart && i < across) { /* the other lane has elements */
                lanes = S(join_packs)(r.op, lanes, packs[item + apart * columns]);
                packs[item] = lanes;
            }
        }
        if (own == 0 && i < across) {
            for (int w = 0; w < USM_IN_PACK; w++) {
                dst[block * r.inner + i * USM_IN_PACK + w] = lanes.at[w];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

#define USM_TREE(JOIN)                                                                                     \
    for (int step = USM_LANES / 2; step > 0; step /= 2) {                                                  \
        for (int l = 0; l < step && l + step < width; l++) {                                               \
            tile[USM_BANKED(at + l)] = JOIN(tile[USM_BANKED(at + l)], tile[USM_BANKED(at + l + step)]);    \
        }                                                                                                  \
    }

/* Where inner is 1 and rows have USM_LANES elements at most: a work-item has a row, which the group reads together. */
#ifdef __CUDACC_RTC__ /* groups that a processor of the GPU runs at once */
#define USM_ROWS_ROOM __launch_bounds__(USM_ROWS_ITEMS(sizeof(T)), sizeof(T) <= 4 ? 12 : 1)
#else
#define USM_ROWS_ROOM
#endif
kernel void USM_ROWS_ROOM S(rows)(global T *dst, global const char *src, usm_accumulation r)
{
    local T tile[(USM_LANES + 1) * USM_ROWS_ITEMS(sizeof(T))];
    int item = (int)get_local_id(0), items = USM_ROWS_ITEMS((int)sizeof(T)), width = (int)r.reduced;
    for (long first = (long)get_group_id(0) * items; first < r.outer; first += (long)get_num_groups(0) * items) {
        int rows = (int)USM_LESSER(items, r.outer - first);
        global const char *from = src + first * width * USM_SIZE_OF(r.type);
        if (r.type == USM_COMPUTE) {
            USM_UNROLLED_BY(8) for (int k = item; k < rows * width; k += items)
            {
                tile[USM_BANKED(k)] = ((global const T *)from)[k];
            }
        } else {
            for (int k = item; k < rows * width; k += items) {
                tile[USM_BANKED(k)] = usm_load(from + k * USM_SIZE_OF(r.type), (int)r.type);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < rows) {
            int at = item * width;
            USM_BY_OP(r.op, USM_TREE)
            dst[first + item] = tile[USM_BANKED(at)];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
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
