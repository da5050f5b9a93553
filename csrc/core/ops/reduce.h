/* Reductions of the truth values of elements along some axes: any, all, count. */
#ifndef USM_CORE_REDUCE_H
#define USM_CORE_REDUCE_H

#include "scratch.h"

typedef enum usm_reduce_kind { USM_ANY, USM_ALL, USM_COUNT } usm_reduce_kind;

/*
 * dst[...] = whether any or all of the elements along the axes in `reduced_axes` (bit i: axis i) are not 0,
 * or how many are. dst is compact, row-major, with elements of bool (USM_COUNT: int64), one for each index of
 * the other axes in their order.
 */
usm_status usm_reduce_submit(usm_queue *queue, usm_reduce_kind what, const usm_view *dst, const usm_view *src,
                             uint64_t reduced_axes, usm_error *error);

#endif
