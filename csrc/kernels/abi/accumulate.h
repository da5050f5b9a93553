/* The last argument of usm_accumulate_*, usm_lanes_*, usm_rows_* and usm_extreme_* (accumulate.cl). */
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
 * axis. Of usm_rows_*, where inner is 1: `width` work-items, a power of 2, share a block; groups have
 * USM_ROWS_GROUP.
 */
typedef struct usm_accumulation {
    long outer, reduced, inner, block, blocks, op, type, width;
} usm_accumulation;

#define USM_ROWS_GROUP 256

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
