/*
 * Scans along the middle axis of (outer, n, inner), in one type a build (compute.h): usm_totals gives one
 * element for each group, usm_scan the results of each group, from what comes before it. kernels/abi/scan.h
 * says in which order.
 */
#include "compute.h"
#include "kernels/abi/accumulate.h"
#include "kernels/abi/scan.h"
#include "range.h"

#include "groups.h"

/* Dimension 0 of the range shares out the inner axis, dimension 1 the groups, dimension 2 the outer axis. */
#define USM_GROUPS_WALK(r, call)                                                                             \
    for (long o = USM_FROM((r).outer, 2), o_end = USM_TO((r).outer, 2); o < o_end; o += USM_STEP(2)) {       \
        for (long g = USM_FROM((r).groups, 1), g_end = USM_TO((r).groups, 1); g < g_end; g += USM_STEP(1)) { \
            long n = USM_LESSER(USM_GROUP, (r).n - g * USM_GROUP);                                           \
            for (long i = USM_FROM((r).inner, 0), i_end = USM_TO((r).inner, 0); i < i_end;                   \
                 i += USM_STEP(0)) {                                                                         \
                call;                                                                                        \
            }                                                                                                \
        }                                                                                                    \
    }

kernel void S(totals)(global T *dst, global const T *src, usm_scan r){
    USM_GROUPS_WALK(r, dst[(o * r.groups + g) * r.inner + i] =
                           S(total)(src + (o * r.n + g * USM_GROUP) * r.inner + i, n, r.inner, r.op))}

/* before[o][g][i]: of all groups before; with one group, it is not read. */
kernel void S(scan)(global T *dst, global const T *src, global const T *before, usm_scan r)
{
    T none = r.op == USM_SUM ? USM_ZERO : USM_UNIT;
    USM_GROUPS_WALK(r, S(scan_group)(dst + (o * (r.first + r.n) + r.first + g * USM_GROUP) * r.inner + i,
                                     src + (o * r.n + g * USM_GROUP) * r.inner + i,
                                     r.groups > 1 ? before[(o * r.groups + g) * r.inner + i] : none, n,
                                     r.inner, r.op, r.exclusive))
}

#define USM_TILE_ITEMS USM_TILE((int)sizeof(T))
#ifdef __CUDACC_RTC__ /* groups that a processor of the GPU runs at once */
#define USM_TILE_ROOM __launch_bounds__(USM_TILE_ITEMS, sizeof(T) <= 4 ? 10 : 1)
#else
#define USM_TILE_ROOM
#endif

/* AT(0) to AT(count - 1) become their scan, behind `earlier`. Several are read before the first is written. */
#define USM_SCAN_IN_PLACE(AT, count, leaves_out)                                                 \
    sum = none;                                                                                  \
    for (int k = 0; k < (count); k += 8) {                                                       \
        T run[8];                                                                                \
        USM_UNROLLED for (int j = 0; j < 8; j++)                                                 \
        {                                                                                        \
            run[j] = k + j < (count) ? AT(k + j) : none;                                         \
        }                                                                                        \
        USM_UNROLLED for (int j = 0; j < 8; j++)                                                 \
        {                                                                                        \
            T next = S(join)(sum, run[j], r.op);                                                 \
            run[j] = S(join)(earlier, leaves_out ? sum : next, r.op);                            \
            sum = next;                                                                          \
        }                                                                                        \
        USM_UNROLLED for (int j = 0; j < 8; j++)                                                 \
        {                                                                                        \
            if (k + j < (count)) {                                                               \
                AT(k + j) = run[j];                                                              \
            }                                                                                    \
        }                                                                                        \
    }
#define USM_OF_SUMS(k) sums[item + (k)]
#define USM_OF_TILE(k) tile[USM_BANKED(at + (k))]

/* With inner == 1, USM_TILE_ITEMS groups at a time: as r.mode says (kernels/abi/scan.h). */
kernel void USM_TILE_ROOM S(tiles)(global T *dst, global const T *src, global const T *before, usm_scan r)
{
    local T tile[USM_BANKED(USM_TILE_ITEMS * USM_GROUP)], sums[USM_TILE_ITEMS], above[USM_TILE_ITEMS / USM_GROUP];
    T none = r.op == USM_SUM ? USM_ZERO : USM_UNIT;
    int item = (int)get_local_id(0), unit = item / USM_GROUP, first_of_unit = (item & (USM_GROUP - 1)) == 0;
    long width = r.mode == USM_TILE_SHORT ? r.n : USM_GROUP; /* of a group */
    long in_row = r.mode == USM_TILE_SHORT ? 1 : (r.groups + USM_TILE_ITEMS - 1) / USM_TILE_ITEMS; /* tiles */
    long units = (r.groups + USM_GROUP - 1) / USM_GROUP;
    long tiles = r.mode == USM_TILE_SHORT ? (r.outer + USM_TILE_ITEMS - 1) / USM_TILE_ITEMS : r.outer * in_row;
    for (long t = (long)get_group_id(0); t < tiles; t += (long)get_num_groups(0)) {
        long o = in_row == 1 ? t : t / in_row, g = (t - o * in_row) * USM_TILE_ITEMS;
        long from = r.mode == USM_TILE_SHORT ? t * USM_TILE_ITEMS * r.n : o * r.n + g * USM_GROUP;
        long end = r.mode == USM_TILE_SHORT ? r.outer * r.n : (o + 1) * r.n;
        int count = (int)USM_LESSER(USM_TILE_ITEMS * width, end - from), at = item * (int)width;
        int n = USM_LESSER((int)width, count - at); /* below 1: no group */
        T sum = none;
        USM_UNROLLED_BY(8) for (int k = item; k < count; k += USM_TILE_ITEMS)
        {
            tile[USM_BANKED(k)] = src[from + k];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (r.mode != USM_TILE_SHORT) {
            USM_UNROLLED_BY(8) for (int k = 0; k < n; k++)
            {
                sum = S(join)(sum, tile[USM_BANKED(at + k)], r.op);
            }
            sums[item] = sum;
            barrier(CLK_LOCAL_MEM_FENCE);
            int last = (int)USM_LESSER(item + USM_GROUP, r.groups - g);
            if (first_of_unit && n > 0) {
                USM_UNROLLED_BY(8) for (int k = item + 1; k < last; k++)
                {
                    sum = S(join)(sum, sums[k], r.op);
                }
                above[unit] = sum;
                if (r.mode == USM_TILE_TOTALS) {
                    dst[o * units + g / USM_GROUP + unit] = sum;
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            if (r.mode == USM_TILE_TOTALS) {
                continue;
            }
            if (first_of_unit && n > 0) {
                T earlier = none;
                if (in_row > 1) {
                    earlier = before[o * units + g / USM_GROUP + unit];
                } else {
                    for (int k = 0; k < unit; k++) {
                        earlier = S(join)(earlier, above[k], r.op);
                    }
                }
                USM_SCAN_IN_PLACE(USM_OF_SUMS, last - item, 1)
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        T earlier = r.groups == 1 ? none : sums[item];
        USM_SCAN_IN_PLACE(USM_OF_TILE, n, r.exclusive)
        barrier(CLK_LOCAL_MEM_FENCE);
        USM_UNROLLED_BY(4) for (int k = item; k < count; k += USM_TILE_ITEMS)
        {
            long ahead = r.first == 0 ? 0 : r.mode == USM_TILE_SHORT ? (from + k) / r.n + 1 : o + 1;
            dst[from + k + ahead * r.first] = tile[USM_BANKED(k)];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
