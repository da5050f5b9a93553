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

/*
 * The same with inner == 1, a tile of USM_TILE_ITEMS groups at a time: groups of all rows one behind another,
 * or those of one row (USM_TILE_ROWS).
 */
kernel void S(tiles)(global T *dst, global const T *src, global const T *before, usm_scan r)
{
    local T tile[USM_BANKED(USM_TILE_ITEMS * USM_GROUP)], sums[USM_TILE_ITEMS], above[USM_TILE_ITEMS / USM_GROUP];
    T none = r.op == USM_SUM ? USM_ZERO : USM_UNIT;
    int item = (int)get_local_id(0);
    long all = r.outer * r.groups, step = r.mode == USM_TILE_ROWS ? r.groups : USM_TILE_ITEMS;
    for (long q = (long)get_group_id(0) * step; q < all; q += (long)get_num_groups(0) * step) {
        long q_end = USM_LESSER(q + step, all), o = q / r.groups, o_end = q_end / r.groups, own = q + item;
        long from = o * r.n + (q - o * r.groups) * USM_GROUP, own_o = own / r.groups;
        int count = (int)(o_end * r.n + (q_end - o_end * r.groups) * USM_GROUP - from);
        long own_g = own - own_o * r.groups;
        int at = (int)(own_o * r.n + own_g * USM_GROUP - from);
        int n = own < q_end ? (int)USM_LESSER(USM_GROUP, r.n - own_g * USM_GROUP) : 0;
        T sum = none;
        _Pragma("unroll 8") for (int k = item; k < count; k += USM_TILE_ITEMS)
        {
            tile[USM_BANKED(k)] = src[from + k];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (r.mode != USM_TILE_RESULTS) {
            for (int k = 0; k < n; k++) { 
                sum = S(join)(sum, tile[USM_BANKED(at + k)], r.op);
            }
        }
        if (r.mode == USM_TILE_TOTALS && n > 0) {
            dst[own] = sum;
        }
        if (r.mode == USM_TILE_ROWS) {
            sums[item] = sum;
            barrier(CLK_LOCAL_MEM_FENCE);
            if (item % USM_GROUP == 0 && n > 0) {
                for (int k = 1; k < USM_GROUP && own_g + k < r.groups; k++) {
                    sum = S(join)(sum, sums[item + k], r.op);
                }
                above[item / USM_GROUP] = sum;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            if (item % USM_GROUP == 0 && n > 0) {
                T earlier = none;
                for (int k = 0; k < item / USM_GROUP; k++) {
                    earlier = S(join)(earlier, above[k], r.op);
                }
                sum = none;
                for (int k = 0; k < USM_GROUP && own_g + k < r.groups; k++) {
                    T next = S(join)(sum, sums[item + k], r.op);
                    sums[item + k] = S(join)(earlier, sum, r.op);
                    sum = next;
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (r.mode != USM_TILE_TOTALS) {
            T earlier = r.groups == 1 || n == 0 ? none : r.mode == USM_TILE_ROWS ? sums[item] : before[own];
            sum = none;
            for (int k = 0; k < n; k++) {
                T next = S(join)(sum, tile[USM_BANKED(at + k)], r.op);
                tile[USM_BANKED(at + k)] = S(join)(earlier, r.exclusive ? sum : next, r.op);
                sum = next;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int k = item; k < count; k += USM_TILE_ITEMS) {
                long ahead = r.first != 0 ? ((from + k) / r.n + 1) * r.first : 0;
                dst[from + k + ahead] = tile[USM_BANKED(k)];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
