/* Which elements of a mask are true: their number, and where they are. */
#ifndef USMPY_MASK_H
#define USMPY_MASK_H

#include "array.h"

/*
 * Offsets of the true elements, in row-major order, as a vector of int64 on the mask's queue: the sum over
 * the axes of index times steps[axis], in memory of this kind. Waits on the host once, for their number. NULL
 * with an exception.
 */
usmpy_array *usmpy_mask_offsets(usmpy_state *state, usmpy_array *mask, const int64_t *steps, usm_kind kind);

/*
 * How many bytes of each row are true: dst is compact int64, one for each row of `bytes`, which is compact.
 * Does not wait. 0 or -1 with an exception.
 */
int usmpy_count_rows(usmpy_state *state, usmpy_array *dst, usmpy_array *bytes);

/* The indices of the elements that are not 0, as nonzero() gives them. Waits on the host once. */
PyObject *usmpy_nonzero(usmpy_state *state, PyObject *x, const char *function);

#endif
