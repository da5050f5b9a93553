/* Elements by offset: what index arrays name, and sub-arrays that are moved from or to there. */
#ifndef USM_CORE_ROWS_H
#define USM_CORE_ROWS_H

#include "scratch.h"

/* Sub-arrays of one shape in an array. */
typedef struct usm_rows {
    usm_view offsets; /* a compact vector of int64: from the array's first element to each row's, in bytes */
    int ndim;         /* of a row */
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM];
} usm_rows;

/*
 * other[row r] = array[offsets[r]], or the other way round where `put`. row_stride is that of the rows in
 * `other`, other_strides are those of a row's axes there, in elements. Both have one type, and there are
 * rows.
 */
usm_status usm_rows_move(usm_queue *queue, const usm_view *array, const usm_rows *rows, const usm_view *other,
                         int64_t row_stride, const int64_t *other_strides, bool put, usm_error *error);

/*
 * offsets[r] = (`first`) or += index[r] * step, for one axis of `length`; negative indices count from its
 * end. offsets is a compact vector of int64, and the index, of any integer type, broadcasts to this shape of
 * as many elements. Where an element is out of range, bad[0], which was 0, becomes its number plus 1.
 */
usm_status usm_locate_submit(usm_queue *queue, const usm_view *offsets, const usm_view *index, int ndim,
                             const int64_t *shape, const usm_view *bad, int64_t length, int64_t step,
                             bool first, usm_error *error);

/* dst[r] = flat[r] / step % length: one axis of row-major numbers. Compact vectors of int64. */
usm_status usm_unravel_submit(usm_queue *queue, const usm_view *dst, const usm_view *flat, int64_t step,
                              int64_t length, usm_error *error);

#endif
