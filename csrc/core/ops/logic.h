/* Functions of truth values, classes of floating-point numbers, and choices between elements. */
#ifndef USM_CORE_LOGIC_H
#define USM_CORE_LOGIC_H

#include "kernels/abi/compare.h"
#include "scratch.h"

/*
 * Functions element by element. views[0] is the result, to which the operands behind it broadcast; it may
 * also be an operand. n is the number of views, and `fresh` as in usm_elementwise_submit.
 */

/*
 * table(a, b), such as USM_AND, USM_OR or USM_XOR; of one operand table(a, a), such as USM_NOR for NOT. All
 * elements are bool.
 */
usm_status usm_logic_submit(usm_queue *queue, unsigned table, const usm_view *views, int n, bool fresh,
                            usm_error *error);

typedef enum usm_float_class {
    USM_IS_NAN = USM_NAN,
    USM_IS_INFINITE = USM_INFINITE,
    USM_IS_FINITE = USM_FINITE
} usm_float_class;

/*
 * Whether the operand is of a usm_float_class, as bool. A complex number is NaN or infinite if one of its
 * parts is, and finite if both are. Integers are finite.
 */
usm_status usm_classify_submit(usm_queue *queue, unsigned what, const usm_view *views, int n, bool fresh,
                               usm_error *error);

/* condition ? a : b. The condition is bool; a and b have the result's type. `what` is not used. */
usm_status usm_where_submit(usm_queue *queue, unsigned what, const usm_view *views, int n, bool fresh,
                            usm_error *error);

#endif
