/* The last argument of usm_totals_* and usm_scan_* (scan.cl). */
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
    long outer, n, inner, groups, first, exclusive, op;
} usm_scan;

USM_ABI_SIZE(usm_scan, 56);

#endif
