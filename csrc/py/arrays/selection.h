/* Indexing with arrays: masks and integer arrays, alone or beside integers, slices, Ellipsis and None. */
#ifndef USMPY_SELECTION_H
#define USMPY_SELECTION_H

#include "array.h"

/*
 * key.c: whether a key is, or has in it, an array that is no integer of 0 dimensions. 1: *own is the key (new
 * reference), in which USMArrays stand for lists, truth values and arrays of the host, on the array's queue;
 * 0: it is a basic key; -1 with an exception.
 */
int usmpy_key_with_arrays(usmpy_state *state, usmpy_array *array, PyObject *key, PyObject **own);
/*
 * One array of indices from a USMArray, an array of another library (what the host has is copied to the
 * queue), a sequence or a bool. New reference; NULL without an exception for anything else.
 */
usmpy_array *usmpy_index_array(usmpy_state *state, PyObject *object, PyObject *queue);

/* x[key], in new memory. NULL with an exception. */
PyObject *usmpy_select(usmpy_state *state, usmpy_array *array, PyObject *key);
/* x[key] = value. 0; or -1 with an exception, and x as it was. */
int usmpy_assign(usmpy_state *state, usmpy_array *array, PyObject *key, PyObject *value);

/*
 * take.c: *result = x[indices] along the first axis, or NULL where that is not for this function: indices
 * that the host cannot read, or one that is out of range. May wait for the indices. 0, or -1 with an
 * exception.
 */
int usmpy_take_rows(usmpy_state *state, usmpy_array *x, usmpy_array *indices, PyObject **result);

/* The view that basic indices give, with whole axes for those that are arrays (usmarray_index.c). */
usmpy_array *usmpy_array_basic_view(usmpy_state *state, usmpy_array *array, PyObject *key);

/*
 * A right-hand side as what may be put into an array of this type: a USMArray on dst's queue (new reference),
 * copied there where it is elsewhere; or NULL with *element filled from a number (1 element of dst's type).
 * NULL and PyErr_Occurred() on errors.
 */
usmpy_array *usmpy_assigned_value(usmpy_state *state, usmpy_array *dst, PyObject *value, void *element);

#endif
