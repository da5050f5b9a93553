/* Functions of truth values, classes of floating-point numbers, and choices between elements. */
#ifndef USM_CORE_LOGIC_H
#define USM_CORE_LOGIC_H

#include "kernels/abi/compare.h"
#include "scratch.h"

/* dst[...] = table(a, b), such as USM_AND, USM_OR, USM_XOR (NOT: USM_NOR of a and a): elements of bool; a and
 * b broadcast to dst, which may also be an operand. */
usm_status usm_logic_submit(usm_queue *queue, unsigned table, const usm_view *dst, const usm_view *a,
                            const usm_view *b, bool fresh, usm_error *error);

typedef enum usm_float_class {
    USM_IS_NAN = USM_NAN,
    USM_IS_INFINITE = USM_INFINITE,
    USM_IS_FINITE = USM_FINITE
} usm_float_class;

/* dst[...] = src[...] is of the class, where any part of a complex number is. Integers are finite. */
usm_status usm_classify_submit(usm_queue *queue, usm_float_class what, const usm_view *dst,
                               const usm_view *src, bool fresh, usm_error *error);

/*
 * dst[...] = condition ? a : b, of the operands dst, condition, a and b. The others broadcast to dst; a and b
 * have its type, and dst may be a or b.
 */
usm_status usm_where_submit(usm_queue *queue, const usm_view operands[4], bool fresh, usm_error *error);

#endif
