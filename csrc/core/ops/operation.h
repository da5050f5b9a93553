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

#endif
