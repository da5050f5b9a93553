/* Arguments of a launch, as they are converted from Python objects. */
#ifndef USMPY_ARGUMENT_H
#define USMPY_ARGUMENT_H

#include "launch.h"
#include "py/arrays/array.h"

/* Room for as many of each as there are objects; the caller owns all of it and releases the views. */
typedef struct usmpy_arguments {
    PyObject *const *objects;
    usm_argument *arguments;
    usmpy_array **arrays; /* those of the objects that are USMArrays, borrowed */
    usm_access *accesses; /* of these arrays */
    Py_ssize_t n_arrays;
    Py_buffer *views; /* views that large values are borrowed from until the submission */
    Py_ssize_t n_views;
    bool has_local;
    bool any_layout; /* the kernel was built for the arrays: any strides, and no check of dtypes */
} usmpy_arguments;

/*
 * Fills *out, and appends to the lists of `taken`. 0, or -1 with an exception:
 * TypeError, ValueError, OverflowError or BufferError that speaks of the argument alone, or what a method of
 * the object raised.
 */
int usmpy_take_argument(usmpy_state *state, const usm_parameter *parameter, PyObject *object,
                        usm_argument *out, usmpy_arguments *taken);

/*
 * Raises `problem` (NULL: an exception is set) with advice: pass the result of the array's `method`. That is
 * a temporary array t, and the kernel may write to it: `back`, in which %s is the array's name, is the
 * statement that copies the results back. -1
 */
int usmpy_refuse_array(PyObject *exception, const usm_parameter *parameter, bool writes,
                       USM_TAKES PyObject *problem, const char *method, const char *back);

#endif
