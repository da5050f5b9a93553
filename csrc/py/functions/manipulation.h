/* Shared by functions that rearrange, join and repeat elements: their arguments, and views. */
#ifndef USMPY_MANIPULATION_H
#define USMPY_MANIPULATION_H

#include "py/arrays/array.h"

/* The argument x as an array of elements of whole bytes, borrowed; NULL with TypeError. */
usmpy_array *usmpy_check_argument(usmpy_state *state, PyObject *x, const char *function);

/* Functions whose first argument is such an array: body(x, arguments). */
typedef PyObject *(*usmpy_array_body)(usmpy_array *x, PyObject *const *arguments);
/* A family of USMPY_FUNCTION_OF, which checks x and calls the body. */
PyObject *usmpy_with_array(usmpy_state *state, const char *function, PyObject *const *arguments,
                           usmpy_array_body body);
#define USMPY_ARRAY_FUNCTION(name) USMPY_FUNCTION_OF(name, usmpy_with_array, name)

/* Arrays of one call: USMArrays of whole bytes, and the queue that they share. */
typedef struct usmpy_joined {
    PyObject *items;      /* a tuple: one reference */
    usmpy_array **arrays; /* the tuple's items */
    Py_ssize_t n;
    PyObject *queue; /* borrowed; NULL where n is 0 */
    usm_kind kind;   /* the widest of theirs */
} usmpy_joined;

/*
 * `argument` is any iterable, which messages call `list`. 0; or -1 with an exception, and nothing to drop.
 */
int usmpy_parse_joined(usmpy_state *state, PyObject *argument, const char *function, const char *list,
                       usmpy_joined *joined);
/* The address of the array's element `index` along an axis; of an array without elements NULL. */
static inline char *usmpy_address(usmpy_array *array, int axis, int64_t index)
{
    return array->size == 0 ? NULL : array->data + index * usmpy_byte_stride(array, axis);
}

/* The array's elements in a shape to which it broadcasts; read-only where they repeat. NULL: ValueError. */
usmpy_array *usmpy_broadcast_view(usmpy_array *array, int ndim, const int64_t *shape);
/* The array as a vector of its elements in row-major order: a view, or a copy. New reference, or NULL. */
usmpy_array *usmpy_flat(usmpy_array *array);

/* reshape of arguments that were parsed: x, shape, order, copy. */
PyObject *usmpy_reshape(usmpy_state *state, PyObject *const *arguments);

/* dst[...] = src[index along axis], as csrc/core/ops/take.h says; length > 0, dst has elements. 0 or -1. */
int usmpy_take(usmpy_array *dst, const usm_view *src, const usm_view *index, int64_t length, int64_t step);

#endif
