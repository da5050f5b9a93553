/* Elements by offset: what index arrays name, and sub-arrays that are moved from or to there. */
#ifndef USM_CORE_ROWS_H
#define USM_CORE_ROWS_H

#include "scratch.h"

/* Sub-arrays of one shape in an array. */
typedef struct usm_rows {
    usm_view offsets; /* a compact vector of int64: from the array's first element to each row's, in bytes */
    int ndim;         /* of a row */
    int place;        /* in an array of all rows, how many of a row's axes come before the axis of the rows */
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM]; /* of a row */
} usm_rows;

/*
 * `other` = the rows at the offsets in `array`, or the other way round where `put`. `other` is compact and
 * row-major: the first `place` axes of a row, the number of the row in any number of axes, the rest of the
 * row. Both have one type, and `other` has elements.
 */
usm_status usm_rows_move(usm_queue *queue, const usm_view *array, const usm_rows *rows, const usm_view *other,
                         bool put, usm_error *error);

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
