/* Indexing of a few elements of the host, by the calling thread (core/ops/few.h). */
#ifndef USMPY_FEW_H
#define USMPY_FEW_H

#include "array.h"

/*
 * array[key], for a key that is one array. NULL without an exception where the general way is due: many
 * elements, another layout, pending work, an index out of range.
 */
usmpy_array *usmpy_few_select(usmpy_state *state, usmpy_array *array, usmpy_array *key);
/* array[key] = value. 1 when it is done, 0 where the general way is due, -1 with an exception. */
int usmpy_few_assign(usmpy_state *state, usmpy_array *array, usmpy_array *key, PyObject *value);
/* nonzero(array), as above. */
PyObject *usmpy_few_nonzero(usmpy_state *state, usmpy_array *array);

#endif
