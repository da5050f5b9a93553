/* Comparisons and truth values, for the slots of USMArray and for functions that need them. */
#ifndef USMPY_COMPARE_H
#define USMPY_COMPARE_H

#include "array.h"

/* tp_richcompare of USMArray. */
PyObject *usmpy_array_richcompare(PyObject *self, PyObject *other, int op);

/*
 * dst[...] = the elements of array are not 0, both of one shape, dst of bool. The type is one that is
 * computed with. 0 or -1.
 */
int usmpy_truth(usmpy_state *state, usmpy_array *dst, usmpy_array *array);

#endif
