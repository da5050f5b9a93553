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

#endif
