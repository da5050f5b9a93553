/* Arrays from Python numbers and nested sequences, for the functions that take them beside arrays. */
#ifndef USMPY_CREATION_H
#define USMPY_CREATION_H

#include "array.h"

/*
 * A number or nested sequences of numbers, as an array on `queue`. USM_NO_DTYPE: bool, int64, the default
 * float or complex type of the device, the highest kind that occurs. NULL with TypeError, ValueError (ragged)
 * or OverflowError.
 */
PyObject *usmpy_array_from_python(usmpy_state *state, PyObject *object, usm_dtype dtype, PyObject *queue,
                                  usm_kind kind);

/* What every creation function says about its memory. */
typedef struct usmpy_target {
    PyObject *queue; /* new reference */
    usm_kind kind;
    usm_dtype dtype; /* USM_NO_DTYPE where none was given */
} usmpy_target;

/*
 * options: dtype, device, queue, usm_type, each NULL where it was left out. `like`: an array whose queue and
 * kind of memory hold where they were, or NULL. 0 or -1.
 */
int usmpy_parse_target(usmpy_state *state, PyObject *const *options, usmpy_array *like, usmpy_target *target);

#endif
