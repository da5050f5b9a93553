/* Compute follows data: which queue a function of several arrays runs in, and what to say when
 * there is none. */
#ifndef USMPY_PLACEMENT_H
#define USMPY_PLACEMENT_H

#include "py/arrays/array.h"

/*
 * Sets ExecutionPlacementError for arguments (arrays, queues or None) that share no queue: a line for each,
 * and last the to_device call that would fix it. `names` are the expressions by which the caller knows them;
 * NULL: numbered.
 */
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

#endif
