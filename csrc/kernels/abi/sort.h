/* The last argument of usm_sort_* and usm_search_* (sort.cl). */
#ifndef USM_ABI_SORT_H
#define USM_ABI_SORT_H

#include "size.h"

/* How a digit divides the elements: one of 256 buckets a pass. */
#define USM_SORT_BITS 8
#define USM_SORT_BUCKETS 256

/*
 * How elements are ordered, by their bits: as unsigned numbers, once `zero` (-0 of floating-point types)
 * became 0 and each was xored with `negative` or `positive`, as its highest bit says. Those whose other bits
 * are above `infinity` are NaN, and come last.
 */
typedef struct usm_sort_order {
    unsigned long negative, positive, zero, infinity;
} usm_sort_order;

/*
 * `rows` of n elements, each row for itself, in `chunks` of `chunk` elements. A pass reads the digit from bit
 * `shift` on; `buckets` is USM_SORT_BUCKETS, as a number that compilers do not unroll loops for. Which arrays
 * a kernel uses: `values` are written; `indices` are written, of 8 bytes in the `last` pass, else of 4, and
 * are read but in the `first` pass. `rounds`: of usm_sort_move_*, half a digit each.
 */
typedef struct usm_sort {
    usm_sort_order order;
    long rows, n, chunk, chunks, shift, buckets;
    long values, indices, first, last, rounds;
} usm_sort;

USM_ABI_SIZE(usm_sort, 120);

/* Work-items that sort a tile in local memory, and how many elements each has. */
#define USM_SORT_ITEMS 256
#define USM_SORT_EACH 8
#define USM_SORT_TILE (USM_SORT_ITEMS * USM_SORT_EACH)

/*
 * Where n values belong in a sorted row of `length` elements: before those that are equal, or behind
 * (`right`). `sorted`: the row is in order itself; else an array of indices says how.
 */
typedef struct usm_search {
    usm_sort_order order;
    long n, length, right, sorted;
} usm_search;

USM_ABI_SIZE(usm_search, 64);

#endif
