/* Rows at offsets: how elements are picked and put by index. */
#ifndef USMPY_GATHER_H
#define USMPY_GATHER_H

#include "array.h"

/* A view of the elements of which offsets tell, in an array: the rows. */
typedef struct usmpy_rows {
    usmpy_array *offsets; /* int64, a vector: of the first element of each row, in bytes from data */
    int ndim;             /* of a row */
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM];
} usmpy_rows;

/*
 * The one element of an int64 array, after a wait. -1 with an exception, which elements must not be then
 * (they count or index).
 */
int64_t usmpy_read_int64(usmpy_array *array);

/*
 * other[row r] = array[offsets[r]], or the other way round where `put`. other_strides: of the rows (first)
 * and of their axes, in elements. Both have one type. 0 or -1.
 */
int usmpy_move_rows(usmpy_state *state, usmpy_array *array, const usmpy_rows *rows, usmpy_array *other,
                    int64_t row_stride, const int64_t *other_strides, bool put);

/*
 * offsets[...] (+)= index * step, for one axis of `length`; `index` is a vector of int64 or uint64 of as
 * many. What is out of range leaves its number plus 1 in bad[0], which was 0. 0 or -1.
 */
int usmpy_locate(usmpy_state *state, usmpy_array *offsets, usmpy_array *index, usmpy_array *bad,
                 int64_t length, int64_t step, bool first);

/* flat / step % length, of each. */
usmpy_array *usmpy_unravel_axis(usmpy_state *state, usmpy_array *flat, int64_t step, int64_t length,
                                usm_kind kind);

#endif
