/* The arrays and numbers that a function joins element by element: one queue, one type, one shape. */
#ifndef USMPY_OPERANDS_H
#define USMPY_OPERANDS_H

#include "array.h"

#define USMPY_OPERANDS 3

typedef struct usmpy_operands {
    int n;
    usmpy_array *arrays[USMPY_OPERANDS]; /* one reference each; numbers have 0 dimensions */
    PyObject *queue;                     /* borrowed from them */
    usm_kind kind;                       /* the widest */
    usm_dtype dtype;                     /* of all but the first n_free */
    int ndim;
    int64_t shape[USM_MAX_NDIM]; /* that all broadcast to */
} usmpy_operands;

/*
 * Arguments are arrays of one queue and Python numbers (or 0-dimensional host values), one array at least
 * among those that are promoted; the first n_free must be arrays and keep their own types. Promotion is the
 * standard's: numbers follow the arrays. 0; or -1 with TypeError, OverflowError, ValueError or
 * ExecutionPlacementError, and nothing to drop.
 */
int usmpy_operands_take(usmpy_state *state, const char *function, const char *const *names,
                        PyObject *const *arguments, int n, int n_free, usmpy_operands *out);
void usmpy_operands_drop(usmpy_operands *operands);

/* New memory for a result in the operands' shape, queue and kind. */
usmpy_array *usmpy_operands_result(usmpy_state *state, const usmpy_operands *operands, usm_dtype dtype);

/*
 * Runs a kernel over the elements of dst and of n sources that broadcast to it. dst may be one of the
 * sources; other overlap is the caller's to avoid. 0 or -1.
 */
typedef struct usmpy_elements_kernel {
    const char *module, *function, *options; /* of usm_builtin */
} usmpy_elements_kernel;

int usmpy_elements_submit(usmpy_state *state, const usmpy_elements_kernel *kernel, usmpy_array *dst,
                          usmpy_array *const *sources, int n, int64_t op, int64_t extra);

/* An array of 0 dimensions with this number, on the queue. NULL with TypeError or OverflowError. */
usmpy_array *usmpy_number_array(usmpy_state *state, PyObject *number, usm_dtype dtype, PyObject *queue);

/*
 * The shape that two shapes broadcast to: its dimensions in *ndim and shape, which hold the first on entry.
 */
bool usmpy_broadcast_shape(int *ndim, int64_t *shape, int other_ndim, const int64_t *other);

/* 0, or -1 with TypeError, for functions that look at values: types that are only stored have none. */
int usmpy_check_computed(usmpy_array *array, const char *function);

#endif
