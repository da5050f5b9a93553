/*
 * Scans along the middle axis of (outer, n, inner), in one type a build (compute.h): usm_totals gives one element
 * for each group, usm_scan the results of each group, from what comes before it. kernels/abi/scan.h says in
 * which order.
 */
#include "compute.h"
#include "kernels/abi/accumulate.h"
#include "kernels/abi/scan.h"
#include "range.h"

#include "groups.h"

/* Dimension 0 of the range shares out the inner axis, dimension 1 the groups, dimension 2 the outer axis. */
#define USM_GROUPS_WALK(r, call)                                                                               \
    for (long o = USM_FROM((r).outer, 2), o_end = USM_TO((r).outer, 2); o < o_end; o += USM_STEP(2)) {         \
        for (long g = USM_FROM((r).groups, 1), g_end = USM_TO((r).groups, 1); g < g_end; g += USM_STEP(1)) {   \
            long n = USM_LESSER(USM_GROUP, (r).n - g * USM_GROUP);                                             \
            for (long i = USM_FROM((r).inner, 0), i_end = USM_TO((r).inner, 0); i < i_end; i += USM_STEP(0)) { \
                call;                                                                                          \
            }                                                                                                  \
        }                                                                                                      \
    }

kernel void S(totals)(global T *dst, global const T *src, usm_scan r)
{
    USM_GROUPS_WALK(r, dst[(o * r.groups + g) * r.inner + i] = S(total)(
                           src + (o * r.n + g * USM_GROUP) * r.inner + i, n, r.inner, r.op))
}

/* before[o][g][i]: of all groups before; with one group, it is not read. */
kernel void S(scan)(global T *dst, global const T *src, global const T *before, usm_scan r)
{
    T none = r.op == USM_SUM ? USM_ZERO : USM_UNIT;
    USM_GROUPS_WALK(
        r, S(scan_group)(dst + (o * (r.first + r.n) + r.first + g * USM_GROUP) * r.inner + i,
                         src + (o * r.n + g * USM_GROUP) * r.inner + i,
                         r.groups > 1 ? before[(o * r.groups + g) * r.inner + i] : none, n, r.inner, r.op, r.exclusive))
}
