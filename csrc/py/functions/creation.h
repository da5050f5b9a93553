/* Shared by creation functions: memory of results, and arrays from Python numbers and nested sequences. */
#ifndef USMPY_CREATION_H
#define USMPY_CREATION_H

#include "py/arrays/array.h"

/* The memory of a new array. */
typedef struct usmpy_target {
    PyObject *queue; /* new reference */
    usm_kind kind;
    usm_dtype dtype; /* USM_NO_DTYPE where none was given */
} usmpy_target;

/*
 * options: dtype, device, queue, usm_type, each NULL where it was left out. `like`, unless NULL, is an array
 * whose queue and kind of memory are then used. 0, or -1 with an exception.
 */
int usmpy_parse_target(usmpy_state *state, PyObject *const *options, usmpy_array *like, usmpy_target *target);

/* The dtype that was given, or the default floating-point type of the device. */
usm_dtype usmpy_target_float(const usmpy_target *target);

/* New memory from the arguments shape, options and order. want_zeros as in usmpy_array_empty. */
usmpy_array *usmpy_make_shaped(usmpy_state *state, PyObject *shape_argument, PyObject *const *options,
                               PyObject *order_argument, bool want_zeros);
/*
 * The functions for arrays like another: their array and its target from arguments[0], the options, which
 * begin at arguments[first], and the order after them. New memory in the array's shape, of its type where no
 * dtype was given. New reference, or NULL with an exception.
 */
usmpy_array *usmpy_make_like(usmpy_state *state, const char *function, PyObject *const *arguments, int first);

/* A number, or an array, of nested sequences. */
typedef struct usmpy_leaf {
    PyObject *value;  /* one reference: a Python number or a USMArray */
    PyObject *source; /* one reference: the other library's array that value was imported from, else NULL */
} usmpy_leaf;

/* The numbers and arrays in nested sequences, in row-major order. */
typedef struct usmpy_nested {
    int ndim;
    int64_t shape[USM_MAX_NDIM];
    usmpy_leaf *leaves;
    Py_ssize_t n, room;
    usm_promotion promotion; /* of the arrays and NumPy's scalars */
    usm_dtype dtype;         /* theirs together; USM_NO_DTYPE: there are none */
    usm_dtype_kind highest;  /* of the Python numbers */
    usmpy_array *near;       /* borrowed: the first array that decides where the result is, or NULL */
    usmpy_array *far;        /* borrowed: an array on another queue than that one, or NULL */
    char near_path[64], far_path[64];
    usm_kind kind; /* the widest of those arrays */
    bool has_arrays;
} usmpy_nested;

/*
 * Reads a number, an array or nested sequences of them. 0; or -1 with TypeError, ValueError (ragged) and what
 * imports and conversions raise. usmpy_nested_drop in either case.
 */
int usmpy_nested_read(usmpy_state *state, PyObject *object, usmpy_nested *nested);
void usmpy_nested_drop(usmpy_nested *nested);
/* The type of its elements on a device: promoted, or the default of the Python numbers' kind. */
usm_dtype usmpy_nested_dtype(const usmpy_nested *nested, const usm_device *device);
/* The elements in a new row-major array. NULL with TypeError or OverflowError if the type cannot hold one. */
usmpy_array *usmpy_nested_array(usmpy_state *state, const usmpy_nested *nested, usm_dtype dtype,
                                PyObject *queue, usm_kind kind);

/*
 * usmpy_nested_read, _array and _drop, for functions that take Python values beside arrays. USM_NO_DTYPE
 * stands for usmpy_nested_dtype. NULL with an exception.
 */
PyObject *usmpy_array_from_python(usmpy_state *state, PyObject *object, usm_dtype dtype, PyObject *queue,
                                  usm_kind kind);

#endif
