/* Indexing of a few elements of the host, by the calling thread (core/ops/few.h). */
#ifndef USMPY_FEW_H
#define USMPY_FEW_H

#include "array.h"

/*
 * array[key], for a key that is one array. NULL without an exception where this function does not apply: many
 * elements, another layout, pending work, an index out of range.
 */
usmpy_array *usmpy_few_select(usmpy_array *array, usmpy_array *key);
/* array[key] = value. 1 when it is done, 0 where this function does not apply, -1 with an exception. */
int usmpy_few_assign(usmpy_array *array, usmpy_array *key, PyObject *value);
/* usmpy_mask_indices of the array in memory of its kind. 1, 0 and -1 as usmpy_few_assign. */
int usmpy_few_nonzero(usmpy_array *array, usmpy_array **axes);

#endif
