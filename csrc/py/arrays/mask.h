/* The true elements of a mask: offsets and indices. */
#ifndef USMPY_MASK_H
#define USMPY_MASK_H

#include "array.h"

/*
 * Offsets of the true elements, in row-major order, as a vector of int64 on the array's queue: the sum over
 * the axes of index times steps[axis], in memory of this kind. Waits on the host once, for their number. NULL
 * with an exception.
 */
usmpy_array *usmpy_mask_offsets(usmpy_array *array, const int64_t *steps, usm_kind kind);

/*
 * The indices of the true elements along each axis of the array, which has one at least: axes[i] becomes a
 * vector of int64 in memory of this kind (new references). Waits on the host once. 0, or -1 with an
 * exception.
 */
int usmpy_mask_indices(usmpy_array *array, usm_kind kind, usmpy_array **axes);

/* nonzero() of an argument: a tuple of such indices; NULL with an exception. */
PyObject *usmpy_nonzero(usmpy_state *state, PyObject *x, const char *function);

#endif
