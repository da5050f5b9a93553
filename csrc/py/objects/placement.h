/* Compute follows data: the queue of a function of several arrays, and the error if there is none. */
#ifndef USMPY_PLACEMENT_H
#define USMPY_PLACEMENT_H

#include "py/arrays/array.h"

/*
 * The message of an ExecutionPlacementError for arrays that do not share one queue: a line for each array,
 * and last the to_device call that would fix it. Arguments that are no arrays are left out. `names` are
 * the expressions by which the caller knows the arguments; those without one (NULL) are items of `list`. New
 * str, or NULL with MemoryError.
 */
PyObject *usmpy_placement_text(usmpy_state *state, const char *function, const char *list,
                               PyObject *const *arguments, const char *const *names, Py_ssize_t n);
/* Raises it. All arguments have names. */
void usmpy_raise_placement(usmpy_state *state, const char *function, PyObject *const *arguments,
                           const char *const *names, Py_ssize_t n);

/*
 * The one Queue object of n > 0 arrays, borrowed; NULL with ExecutionPlacementError. *kind becomes the widest
 * of theirs (device < shared < host). `list` is the name that the function's argument list has.
 */
PyObject *usmpy_common_queue(usmpy_state *state, const char *function, const char *list,
                             usmpy_array *const *arrays, Py_ssize_t n, usm_kind *kind);

/*
 * A value that joins arrays on `queue`: a USMArray as it is; Python numbers and sequences are made into an
 * array on `queue`; objects with an exchange protocol are imported where they are. New reference.
 */
PyObject *usmpy_operand(usmpy_state *state, PyObject *value, PyObject *queue);

/*
 * A Python number, or a host value of 0 dimensions from another library, as a Python number: 1 with *scalar a
 * new reference; 0 for anything else; -1 with an exception.
 */
int usmpy_host_scalar(usmpy_state *state, PyObject *value, PyObject **scalar);
/*
 * The same for operands, with the dtype of another library's value; USM_NO_DTYPE for Python's numbers. Also
 * reads an object whose `ndim` does not say what it is.
 */
int usmpy_host_value(usmpy_state *state, PyObject *value, PyObject **scalar, usm_dtype *dtype);
/* Whether it is a buffer of 0 dimensions: numbers of ctypes, which have no ndim, and of NumPy. */
bool usmpy_is_number_in_memory(PyObject *value);

#endif
