/* Sums, products, and the largest and smallest elements along axes. */
#ifndef USM_CORE_ACCUMULATE_H
#define USM_CORE_ACCUMULATE_H

#include "kernels/abi/accumulate.h"
#include "scratch.h"

typedef enum usm_accumulate_kind {
    USM_ACCUMULATE_SUM = USM_SUM,
    USM_ACCUMULATE_PROD = USM_PROD,
    USM_ACCUMULATE_MAX = USM_MAX,
    USM_ACCUMULATE_MIN = USM_MIN,
} usm_accumulate_kind;

/*
 * dst[...] = the elements of src along the axes in `reduced_axes` (bit i: axis i) as one. dst is compact,
 * row-major, with one element for each index of the other axes in their order; the elements are converted to
 * its type before they are joined, or to float32, where it is float16 or bfloat16. The order depends on the
 * lengths alone (kernels/abi/accumulate.h). No elements give 0 or 1; there is no largest of none, which the
 * caller refuses.
 */
usm_status usm_accumulate_submit(usm_queue *queue, usm_accumulate_kind kind, const usm_view *dst,
                                 const usm_view *src, uint64_t reduced_axes, usm_error *error);
/* dst[...] = what no elements give: 0 for USM_SUM, 1 for USM_PROD. */
usm_status usm_identity_submit(usm_queue *queue, int op, const usm_view *dst, usm_error *error);

#endif
