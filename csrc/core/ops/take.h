/* Elements by index along one axis: planned here, for the kernels of csrc/kernels/src/take.cl. */
#ifndef USM_CORE_TAKE_H
#define USM_CORE_TAKE_H

#include "core/copy/copy.h"
#include "kernels/abi/take.h"

/* A launch of one of them. */
typedef struct usm_take_plan {
    int size;        /* of what is moved: an element, several, or a part of one */
    int64_t n[3];    /* what there is along each dimension */
    usm_dtype index; /* int32 or int64 */
    usm_take take;
} usm_take_plan;

/*
 * dst[...] = src[..., index, ...]. All have dst's shape, without a 0; src's strides are 0 along the axes that
 * come from the index, which has `length` > 0 elements of src, `step` elements apart; the strides of index
 * are 0 along the axes that do not. dst is compact (row-major), src of its type, index int32 or int64.
 * Negative indices count from the end; those out of range are taken for the nearest.
 *
 * False where there are too many axes, or where index is not aligned: compact copies of src and index are
 * fit. Pure.
 */
bool usm_take_plan_make(usm_take_plan *plan, const usm_view *dst, const usm_view *src, const usm_view *index,
                        int64_t length, int64_t step);

/* The plan of these three, in a queue that reaches them. */
usm_status usm_take_submit(usm_queue *queue, const usm_take_plan *plan, const usm_view *dst,
                           const usm_view *src, const usm_view *index, usm_error *error);

/*
 * out[begins[i]..begins[i + 1]) = i for 0 <= i < n, n > 0; both int64 and compact, begins of n + 1 elements
 * that do not fall. `total` is the length of out.
 */
usm_status usm_expand_submit(usm_queue *queue, const usm_view *out, const usm_view *begins, int64_t n,
                             int64_t total, usm_error *error);

#endif
