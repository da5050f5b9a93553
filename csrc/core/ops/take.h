/* Elements by index along one axis. */
#ifndef USM_CORE_TAKE_H
#define USM_CORE_TAKE_H

#include "scratch.h"

/*
 * dst[...] = src[..., index, ...]. All have dst's shape, without a 0; src's strides are 0 along the axes that
 * come from the index, which has `length` > 0 elements of src, `step` elements apart; the strides of index
 * are 0 along the axes that do not. dst is compact (row-major), src of its type, index int32 or int64.
 * Negative indices count from the end; those out of range are taken for the nearest.
 */
usm_status usm_take_submit(usm_queue *queue, const usm_view *dst, const usm_view *src, const usm_view *index,
                           int64_t length, int64_t step, usm_error *error);

/*
 * out[begins[i]..begins[i + 1]) = i for 0 <= i < n, n > 0; both int64 and compact, begins of n + 1 elements
 * that do not fall. `total` is the length of out.
 */
usm_status usm_expand_submit(usm_queue *queue, const usm_view *out, const usm_view *begins, int64_t n,
                             int64_t total, usm_error *error);

#endif
