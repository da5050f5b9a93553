/* Indexing with arrays: masks and integer arrays, alone or beside integers, slices, Ellipsis and None. */
#ifndef USMPY_SELECTION_H
#define USMPY_SELECTION_H

#include "array.h"

/*
 * Whether a key is, or contains, an array other than an integer of 0 dimensions. 1: *own is the key (new
 * reference), in which USMArrays on the array's queue replace lists, truth values and arrays of the host; 0:
 * it is a basic key; -1 with an exception.
 */
int usmpy_key_with_arrays(usmpy_array *array, PyObject *key, PyObject **own);
/*
 * One array of indices from a USMArray, an array of another library (the host's is copied to the queue), a
 * sequence or a bool. New reference; NULL without an exception for anything else.
 */
usmpy_array *usmpy_index_array(usmpy_state *state, PyObject *object, PyObject *queue);

/* The arrays of a key. */
typedef struct usmpy_array_keys {
    int n;
    usmpy_array *arrays[USM_MAX_NDIM]; /* one reference each */
    int axes[USM_MAX_NDIM];            /* the first axis of the view that each of them indexes */
    bool adjacent;                     /* they are side by side in the key, with ints between them at most */
} usmpy_array_keys;

/*
 * The view that a key gives. Its arrays are added to *keys, and the axes that they index are whole in the
 * view; keys == NULL: the key has none. NULL with an exception.
 */
usmpy_array *usmpy_array_key_view(usmpy_array *array, PyObject *key, usmpy_array_keys *keys);

/* x[key], in new memory. NULL with an exception. */
PyObject *usmpy_select(usmpy_array *array, PyObject *key);
/* x[key] = value. 0; or -1 with an exception, and x as it was. */
int usmpy_assign(usmpy_array *array, PyObject *key, PyObject *value);

/*
 * take.c: *result = x[indices] along the first axis. NULL where this function does not apply: the host cannot
 * read the indices, or one of them is out of range. May wait for the indices. 0, or -1 with an exception.
 */
int usmpy_take_rows(usmpy_array *x, usmpy_array *indices, PyObject **result);

/*
 * A right-hand side: 1 with *src an array that casts to dst's type (new reference), 0 with *element set to a
 * number, as one element of dst's type; -1 with an exception.
 */
int usmpy_assigned_value(usmpy_array *dst, PyObject *value, usmpy_array **src, void *element);

#endif
