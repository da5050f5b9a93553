/* Cumulative sums and products along one axis. */
#ifndef USM_CORE_SCAN_H
#define USM_CORE_SCAN_H

#include "kernels/abi/accumulate.h"
#include "scratch.h"

/*
 * dst[...][k][...] = the elements 0 to k of src along `axis`, added up (op: USM_SUM) or multiplied
 * (USM_PROD). dst is compact and row-major; src, of any type with numbers, is converted to its type first,
 * or to float32, where that is float16 or bfloat16. With `initial`, dst is one longer and begins with
 * 0 or 1.
 */
usm_status usm_scan_submit(usm_queue *queue, int op, const usm_view *dst, const usm_view *src, int axis,
                           bool initial, usm_error *error);

#endif
