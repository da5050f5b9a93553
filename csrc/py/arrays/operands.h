/* The arrays and numbers that a function joins element by element: one queue, one type, one shape. */
#ifndef USMPY_OPERANDS_H
#define USMPY_OPERANDS_H

#include "array.h"

#define USMPY_OPERANDS 3

typedef struct usmpy_operands {
    const char *function;
    const char *owner; /* name of the first argument that is an array */
    int first;         /* its number */
    int n;
    usmpy_array *arrays[USMPY_OPERANDS]; /* one reference each; numbers have 0 dimensions */
    PyObject *queue;                     /* borrowed from them */
    usm_kind kind;                       /* the widest */
    usm_dtype dtype;                     /* of all but the first n_free */
    bool wide;                           /* double precision: the device has it, or an argument */
    int ndim;
    int64_t shape[USM_MAX_NDIM]; /* that all broadcast to */
} usmpy_operands;

/*
 * Arguments are arrays of one queue and Python numbers (or 0-dimensional host values), at least one array;
 * the first n_free must be arrays and keep their own types. Types are promoted (usm_promotion_add), and
 * numbers follow the arrays (usm_dtype_with_number). 0; or -1 with TypeError, OverflowError, ValueError or
 * ExecutionPlacementError, and nothing to drop.
 */
int usmpy_operands_take(usmpy_state *state, const char *function, const char *const *names,
                        PyObject *const *arguments, int n, int n_free, usmpy_operands *out);
/* The same, but arrays keep their types: the computation converts them. `dtype` is the common one. */
int usmpy_operands_take_uncast(usmpy_state *state, const char *function, const char *const *names,
                               PyObject *const *arguments, int n, usmpy_operands *out);
void usmpy_operands_drop(usmpy_operands *operands);

/* Where a result goes: out= and order= of a function. */
typedef struct usmpy_destination {
    usmpy_array *out; /* borrowed; NULL: new memory */
    char order;       /* of new memory: 'C', 'F', 'A' or 'K' */
    bool apart;       /* elements are read after others were written: `out` cannot be an operand itself */
} usmpy_destination;

/* options: out, order, each NULL where it was left out. 0, or -1 with TypeError or ValueError. */
int usmpy_destination_parse(usmpy_state *state, PyObject *const *options, const char *function,
                            usmpy_destination *to);
/*
 * The array to compute into, in the operands' shape: `out` itself, where that is safe; new memory in their
 * queue and kind where it overlaps an operand, and where there is no `out`. New reference. NULL with
 * ValueError, TypeError or ExecutionPlacementError for an `out` that does not fit.
 */
usmpy_array *usmpy_operands_result(usmpy_state *state, const usmpy_operands *operands, usm_dtype dtype,
                                   const usmpy_destination *to);
/*
 * What the function returns: `result`, whose reference it takes (NULL: an exception is set), in `out` if
 * there is one. status < 0: the computation failed.
 */
PyObject *usmpy_operands_deliver(usmpy_state *state, const usmpy_destination *to, usmpy_array *result,
                                 int status);

/* An array of 0 dimensions with this number, on the queue. NULL with TypeError or OverflowError. */
usmpy_array *usmpy_number_array(usmpy_state *state, PyObject *number, usm_dtype dtype, PyObject *queue);

/*
 * The shape that two shapes broadcast to: its dimensions in *ndim and shape, which hold the first on entry.
 */
bool usmpy_broadcast_shape(int *ndim, int64_t *shape, int other_ndim, const int64_t *other);

/* 0, or -1 with TypeError, for functions that look at values: types that are only stored have none. */
int usmpy_check_computed(usmpy_array *array, const char *function);

#endif
