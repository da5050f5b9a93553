/* Comparisons and truth values, for the slots of USMArray and for functions that need them. */
#ifndef USMPY_COMPARE_H
#define USMPY_COMPARE_H

#include "py/arrays/array.h"

/* tp_richcompare of USMArray. */
PyObject *usmpy_array_richcompare(PyObject *self, PyObject *other, int op);

/*
 * dst[...] = whether the array's elements are not 0. Both have one shape, dst is of bool, and the array's
 * type is one that functions compute with. 0 or -1.
 */
int usmpy_truth(usmpy_array *dst, usmpy_array *array);

/*
 * An argument as truth values (truth.c): a number as a bool, an array as one of bool, anything else as it is.
 * New reference; NULL with TypeError for types that are only stored.
 */
PyObject *usmpy_truth_of(usmpy_state *state, PyObject *argument, const char *function);

#endif
