/* DType objects, one for each data type, and conversions between Python numbers and elements. */
#ifndef USMPY_DTYPE_H
#define USMPY_DTYPE_H

#include "py/module.h"

typedef struct usmpy_dtype {
    PyObject_HEAD
    usm_dtype id;
} usmpy_dtype;

/*
 * The dtype argument of a function: a DType, its name or NumPy's code, a Python, NumPy or ctypes scalar type,
 * a numpy.dtype of native byte order. 0, or -1 with a TypeError.
 */
int usmpy_dtype_convert(usmpy_state *state, PyObject *object, usm_dtype *dtype);

/* Borrowed. */
static inline PyObject *usmpy_dtype_object(usmpy_state *state, usm_dtype dtype)
{
    return state->dtypes[dtype];
}

/* By a format of the struct module in native byte order, as buffers have it; USM_NO_DTYPE for any other. */
usm_dtype usmpy_dtype_of_format(const char *format, Py_ssize_t itemsize);

/* The kind of a Python number, which is a bool, an int, a float or a complex. */
usm_dtype_kind usmpy_kind_of_number(PyObject *number);

/* The default of floating-point creation functions on a device: float64, or float32 where it lacks that. */
usm_dtype usmpy_default_float(const usm_device *device);

/*
 * One element from a Python number, as the array API standard mixes scalars and arrays: bool into anything,
 * int into integers that hold it and all above, float into floating-point and above, complex into complex. 0,
 * or -1 with TypeError or OverflowError.
 */
int usmpy_scalar_to_element(PyObject *scalar, usm_dtype dtype, void *element);
/* The Python number of one element; NULL with TypeError for types without one (packed and float8). */
PyObject *usmpy_element_to_scalar(usm_dtype dtype, const void *element);

#endif
