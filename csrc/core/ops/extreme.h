/* Where the largest and smallest elements along axes are. */
#ifndef USM_CORE_EXTREME_H
#define USM_CORE_EXTREME_H

#include "kernels/abi/accumulate.h"
#include "scratch.h"

/*
 * dst[...] = the number, in row-major order, of the first largest (op: USM_MAX) or smallest (USM_MIN) element
 * of src along the axes in `reduced_axes` (bit i: axis i), which have elements. NaN is beyond all numbers.
 * dst is compact, row-major int64, with one element for each index of the other axes in their order.
 */
usm_status usm_extreme_submit(usm_queue *queue, int op, const usm_view *dst, const usm_view *src,
                              uint64_t reduced_axes, usm_error *error);

#endif
