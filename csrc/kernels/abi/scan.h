/* The last argument of usm_totals_*, usm_scan_* and usm_tiles_* (scan.cl). */
#ifndef USM_ABI_SCAN_H
#define USM_ABI_SCAN_H

#include "size.h"

/*
 * The order of a scan depends on the length of the axis alone: groups of USM_GROUP elements are added up one
 * after another; the totals of groups are scanned in the same way, and what comes before a group is added to
 * each of its results.
 */
#define USM_GROUP 32

/*
 * Elements (outer, n, inner), row-major. The result has `first` rows more along the middle axis, in front of
 * the others. `exclusive`: each result leaves its own element out. `op` is USM_SUM or USM_PROD
 * (accumulate.h).
 */
typedef struct usm_scan {
    long outer, n, inner, groups, first, exclusive, op, mode;
} usm_scan;

USM_ABI_SIZE(usm_scan, 64);

/*
 * What usm_tiles_* makes, where inner is 1. One behind another, rows of one group each; the totals of every
 * USM_GROUP groups of longer rows; their results, from what comes before every USM_GROUP groups, which is not
 * read where a tile is a whole row.
 */
#define USM_TILE_SHORT 0
#define USM_TILE_TOTALS 1
#define USM_TILE_RESULTS 2

/* A work-item has a group of the tile, which is in local memory. For elements of this size in bytes: */
#define USM_TILE(size) ((size) <= 4 ? 128 : (size) == 8 ? 64 : 32)

#endif
