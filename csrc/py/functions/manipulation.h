/* What the files of manipulation functions share. */
#ifndef USMPY_MANIPULATION_H
#define USMPY_MANIPULATION_H

#include "py/arrays/array.h"

/* The argument x as an array of elements of whole bytes, borrowed; NULL with TypeError. */
usmpy_array *usmpy_check_argument(usmpy_state *state, PyObject *x, const char *function);

/* Arrays of one call: a tuple (new reference) of USMArrays of whole bytes, and the queue that they share. */
typedef struct usmpy_joined {
    PyObject *items;
    usmpy_array **arrays; /* in items */
    Py_ssize_t n;
    PyObject *queue; /* borrowed; NULL where n is 0 */
    usm_kind kind;   /* the widest of theirs */
} usmpy_joined;

/* `argument` is any iterable, `list` what the function calls it. 0, or -1 with an exception. */
int usmpy_parse_joined(usmpy_state *state, PyObject *argument, const char *function, const char *list,
                       usmpy_joined *joined);
/*
 * A type that all of them promote to; USM_NO_DTYPE with TypeError where there is none. There is one array at
 * least.
 */
usm_dtype usmpy_promote_joined(const usmpy_joined *joined, const char *function, const char *list);

/* The result (or any array) from `offset` elements along `axis` on, as far as a piece of this shape goes. */
usm_view usmpy_piece(usmpy_array *array, int ndim, const int64_t *shape, int axis, int64_t offset);

/*
 * 0 where every index is in [-length, length), or where the host cannot read them: kernels then take the
 * nearest element. -1 with IndexError, after a wait for what writes them.
 */
int usmpy_check_indices(usmpy_state *state, usmpy_array *indices, int64_t length, const char *function);
/* The same indices as int32 or int64, compact unless they can stay as they are; new reference. */
usmpy_array *usmpy_usable_indices(usmpy_state *state, usmpy_array *indices);
/* dst[...] = src[index along axis], as csrc/core/ops/take.h says; length > 0, dst has elements. 0 or -1. */
int usmpy_take(usmpy_state *state, usmpy_array *dst, const usm_view *src, const usm_view *index,
               int64_t length, int64_t step);

/* Functions of manipulation.c's table that live in files of their own. */
PyObject *usmpy_concat(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *usmpy_stack(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *usmpy_copyto(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *usmpy_explain_copy(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

#endif
