/* What the functions that reduce axes share. */
#ifndef USMPY_REDUCE_H
#define USMPY_REDUCE_H

#include "py/arrays/array.h"

/*
 * axis= and keepdims=: the axes that are reduced in *reduced_axes (bit i: axis i), and the result's shape.
 * Its number of dimensions, or -1 with an exception.
 */
int usmpy_reduced_axes(usmpy_array *x, PyObject *axis, bool keepdims, uint64_t *reduced_axes, int64_t *shape);

#endif
