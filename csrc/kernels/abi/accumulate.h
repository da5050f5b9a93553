/* The last argument of the kernels in accumulate.cl. */
#ifndef USM_ABI_ACCUMULATE_H
#define USM_ABI_ACCUMULATE_H

#include "size.h"

/* What is done with two numbers. */
#define USM_SUM 0
#define USM_PROD 1
#define USM_MAX 2
#define USM_MIN 3

/*
 * The order of a reduction depends on the length of the axis alone, so that every device gives the same bits.
 * Blocks of USM_BLOCK elements are reduced, then blocks of their results, until one is left. Within a block,
 * lane l takes the elements l, l + USM_LANES, ... one after another; then lane l takes lane l + 16, for each
 * l below 16, then lane l + 8, + 4, + 2, + 1.
 */
#define USM_BLOCK 1024
#define USM_LANES 32

/*
 * Elements (outer, reduced, inner), row-major, of usm_dtype `type`; `blocks` of `block` along the middle
 * axis. A group of usm_groups_* takes `columns`, a power of 2 and 32 at most, of the inner axis together;
 * `columns` work-items of usm_packs_*, a power of 2, share a block; a group of usm_columns_* takes
 * `columns` packs of the inner axis.
 */
typedef struct usm_accumulation {
    long outer, reduced, inner, block, blocks, op, type, columns;
} usm_accumulation;

/* Work-items of a group of usm_groups_*, usm_packs_* and usm_columns_*, and of usm_rows_*, by the size in
 * bytes of what is computed. */
#define USM_GROUPS_ITEMS 256
#define USM_ROWS_ITEMS(size) ((size) <= 4 ? 128 : (size) == 8 ? 64 : 32)

USM_ABI_SIZE(usm_accumulation, 64);

/*
 * Where the largest or smallest elements along the middle axis are. `count` candidates along it become
 * `blocks`: all elements where count == reduced, else those whose numbers are listed. The first extreme wins,
 * so any order gives the same result.
 */
typedef struct usm_extremes {
    long outer, reduced, inner, count, blocks, op;
} usm_extremes;

/* Most candidates of processors' second pass. */
#define USM_EXTREMES 1024

USM_ABI_SIZE(usm_extremes, 48);

#endif
