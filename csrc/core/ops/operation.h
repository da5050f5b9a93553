/* Elementwise operations on numbers: the table of csrc/kernels/operations.py, and how each is carried out. */
#ifndef USM_CORE_OPERATION_H
#define USM_CORE_OPERATION_H

#include "operations.h"
#include "scratch.h"

typedef enum usm_operation_result {
    USM_RESULT_SAME, /* the type of the arguments */
    USM_RESULT_BOOL,
    USM_RESULT_REAL, /* of complex numbers the type of their parts */
} usm_operation_result;

/* The types of an operation on arguments of one type. */
typedef struct usm_operation_types {
    usm_dtype computed; /* the type of the kernel; USM_NO_DTYPE: the operation has no such arguments */
    usm_dtype argument; /* the type that arguments stand for: integers may stand for floating-point numbers */
    usm_dtype result;
} usm_operation_types;

/* USM_OP_* by name, as "add"; -1: there is none. */
int usm_operation_named(const char *name);
const char *usm_operation_name(int operation);
int usm_operation_inputs(int operation);

/* `common`: what the arguments promote to. `has_fp64`: of the device, or of an argument. */
usm_operation_types usm_operation_types_of(int operation, usm_dtype common, bool has_fp64);

/*
 * Enqueues result[...] = operation(arguments[...]): operands[0] is the result, in the type that
 * usm_operation_types_of gives; arguments have any types that promote to the common one, and broadcast to the
 * result, which may also be an argument. `fresh`: see usm_elementwise_submit.
 */
usm_status usm_operation_submit(usm_queue *queue, int operation, const usm_operation_types *types,
                                const usm_view *operands, bool fresh, usm_error *error);

/* How an operation is carried out; nothing is enqueued. */
typedef struct usm_operation_plan {
    bool copies;              /* the elements themselves: by a copy, which follows a plan of its own */
    const char *module;       /* of built-in kernels */
    const char *instructions; /* of the host's loops, which stand for the kernels; NULL: a driver runs them */
    const char *library;      /* the file of the library whose functions those loops call; NULL: none */
    bool scalar;              /* they call the C library's functions, number by number */
} usm_operation_plan;

/* Sets `instructions` for other computations in a type, where loops of the host carry them out. */
void usm_operation_loops(const usm_queue *queue, usm_dtype computed, usm_operation_plan *plan);
/* May open a library, which blocks for a millisecond. */
void usm_operation_plan_make(const usm_queue *queue, int operation, const usm_operation_types *types,
                             usm_operation_plan *plan);

#endif
