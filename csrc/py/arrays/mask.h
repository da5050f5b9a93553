/* Which elements of a mask are true: their number, and where they are. */
#ifndef USMPY_MASK_H
#define USMPY_MASK_H

#include "array.h"

/*
 * Offsets of the true elements, in row-major order, as a vector of int64 on the array's queue: the sum over
 * the axes of index times steps[axis], in memory of this kind. Waits on the host once, for their number. NULL
 * with an exception.
 */
usmpy_array *usmpy_mask_offsets(usmpy_state *state, usmpy_array *array, const int64_t *steps, usm_kind kind);

/* Of row-major numbers, a vector of int64, their indices along an axis: each / step % length. */
usmpy_array *usmpy_unravel_axis(usmpy_state *state, usmpy_array *flat, int64_t step, int64_t length,
                                usm_kind kind);

/* The indices of the elements that are not 0, as nonzero() gives them. Waits on the host once. */
PyObject *usmpy_nonzero(usmpy_state *state, PyObject *x, const char *function);

#endif
