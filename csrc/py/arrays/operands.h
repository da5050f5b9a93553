/*
 * Functions element by element: how arguments become arrays of one queue, type and shape, and where the
 * result goes. Such a function is a usmpy_elementwise and the entry point of USMPY_FUNCTION_OF.
 */
#ifndef USMPY_OPERANDS_H
#define USMPY_OPERANDS_H

#include "array.h"

#define USMPY_OPERANDS 3

typedef struct usmpy_operands {
    const char *function;
    const char *owner;                   /* name of the first argument that is an array */
    int first;                           /* its index */
    int n;                               /* number of arguments */
    usmpy_array *arrays[USMPY_OPERANDS]; /* one reference each; numbers have 0 dimensions */
    PyObject *queue;                     /* borrowed from the arrays */
    usm_kind kind;                       /* the widest of theirs */
    usm_dtype dtype;                     /* of all but the first n_free */
    bool wide;                           /* double precision: the device has it, or an argument */
    int ndim;
    int64_t shape[USM_MAX_NDIM]; /* that all broadcast to */
} usmpy_operands;

typedef enum usmpy_taking {
    USMPY_TAKE_CAST,
    USMPY_TAKE_UNCAST, /* arrays keep their types: the computation converts them. `dtype` is the common one */
    USMPY_TAKE_ARRAYS, /* the same, of arrays alone, whose shapes are not compared: the function has own rules
                        */
} usmpy_taking;

/*
 * Arguments are arrays of one queue and Python numbers (or 0-dimensional host values), at least one array;
 * the first n_free must be arrays and keep their own types. Types are promoted (usm_promotion_add), and
 * numbers follow the arrays (usm_dtype_with_number). In messages one argument is x, two are x1 and x2, three
 * are condition, x1 and x2. 0; or -1 with TypeError, OverflowError, ValueError or ExecutionPlacementError,
 * and nothing to drop.
 */
int usmpy_operands_take(usmpy_state *state, const char *function, PyObject *const *arguments, int n,
                        int n_free, usmpy_taking how, usmpy_operands *out);
void usmpy_operands_drop(usmpy_operands *operands);

/* Where a result goes: out= and order= of a function, or the array of an operator in place. */
typedef struct usmpy_destination {
    usmpy_array *out; /* borrowed; NULL: new memory */
    char order;       /* of new memory: 'C', 'F', 'A' or 'K' */
    bool in_place;    /* `out` is x1; it may have another type that the result is cast to, of the same kind */
    bool apart;       /* elements are read after others were written: `out` cannot be an operand itself */
} usmpy_destination;

/* `out` and `order` are NULL where they were left out. 0, or -1 with TypeError or ValueError. */
int usmpy_destination_parse(usmpy_state *state, PyObject *out, PyObject *order, const char *function,
                            usmpy_destination *to);
/*
 * The array to compute into, in the operands' shape: `out` itself where that is safe; new memory in their
 * queue and kind where `out` overlaps an operand or has another type, and where there is no `out`. New
 * reference. NULL with ValueError, TypeError or ExecutionPlacementError for an `out` that does not fit.
 */
usmpy_array *usmpy_operands_result(const usmpy_operands *operands, usm_dtype dtype,
                                   const usmpy_destination *to);
/*
 * What the function returns: `result`, whose reference it takes (NULL: an exception is set), in `out` if
 * there is one. status < 0: the computation failed.
 */
PyObject *usmpy_operands_deliver(const usmpy_destination *to, usmpy_array *result, int status);

/* Enqueues the computation: views[0] is the result, n - 1 operands follow (core/ops/logic.h). */
typedef usm_status (*usmpy_compute)(usm_queue *queue, unsigned what, const usm_view *views, int n, bool fresh,
                                    usm_error *error);

/* What a function element by element does with its operands. */
typedef struct usmpy_elementwise {
    uint8_t n, n_free; /* arguments, as in usmpy_operands_take */
    bool ordered;      /* complex numbers have no such function */
    usm_dtype dtype;   /* of the result; USM_NO_DTYPE: that of the operands */
    usmpy_compute compute;
    unsigned what; /* for `compute` */
} usmpy_elementwise;

/* The function of these arguments; the result or NULL with an exception. */
PyObject *usmpy_elementwise_call(usmpy_state *state, const char *function, PyObject *const *arguments,
                                 const usmpy_elementwise *row, const usmpy_destination *to);
/* A family of USMPY_FUNCTION_OF: the arguments of a call, then out and order. */
PyObject *usmpy_elementwise_function(usmpy_state *state, const char *function, PyObject *const *arguments,
                                     const usmpy_elementwise *row);

/*
 * The shape that two shapes broadcast to: its dimensions in *ndim and shape, which hold the first on entry.
 * False, with both as they were, where the shapes do not broadcast.
 */
bool usmpy_broadcast_shape(int *ndim, int64_t *shape, int other_ndim, const int64_t *other);

/* 0, or -1 with TypeError, for functions that look at values: types that are only stored have none. */
int usmpy_check_computed(usmpy_array *array, const char *function);

#endif
