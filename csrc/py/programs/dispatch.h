/* Kernels written in Python: a kernel in C is built for each set of argument types, and found by them. */
#ifndef USMPY_DISPATCH_H
#define USMPY_DISPATCH_H

#include "launch.h"

/* What one argument of a built kernel is made of. */
typedef enum usmpy_slot_kind {
    USMPY_SLOT_ITSELF, /* an array's pointer, a number, LocalMemory */
    USMPY_SLOT_EXTENT, /* the length of an array's axis, in elements */
    USMPY_SLOT_STRIDE,
    USMPY_SLOT_COUNT, /* the elements of LocalMemory */
} usmpy_slot_kind;

typedef struct usmpy_slot {
    uint8_t kind, argument, axis;
} usmpy_slot;

/* The Dispatch of a kernel, or itself: new reference. NULL without an exception for other objects. */
PyObject *usmpy_dispatch_of(usmpy_state *state, PyObject *kernel);

/* The kernel's name; borrowed. */
const char *usmpy_dispatch_name(PyObject *dispatch);

/*
 * A launch with Python arguments; the values of `kwnames` (NULL: none) follow the n objects. queue: NULL for
 * that of the arrays. Builds the kernel if these types are new. The new Event, or NULL with an exception.
 */
PyObject *usmpy_dispatch_launch(usmpy_state *state, PyObject *dispatch, const usm_range *range,
                                PyObject *queue, PyObject *const *objects, Py_ssize_t n, PyObject *kwnames,
                                PyObject *depends);

#endif
