/* Elementwise operations of the table csrc/kernels/operations.py: the operators of USMArray. */
#ifndef USMPY_OPERATION_H
#define USMPY_OPERATION_H

#include "py/arrays/array.h"

/* Rows that are operators of one argument, and of two, which also have a form in place. */
#define USMPY_OPERATORS_1(EACH) EACH(abs) EACH(bitwise_invert) EACH(negative) EACH(positive)
#define USMPY_OPERATORS_2(EACH) \
    EACH(add)                   \
    EACH(bitwise_and)           \
    EACH(bitwise_left_shift)    \
    EACH(bitwise_or)            \
    EACH(bitwise_right_shift)   \
    EACH(bitwise_xor) EACH(divide) EACH(floor_divide) EACH(multiply) EACH(remainder) EACH(subtract)

/*
 * Slots of PyNumberMethods. Operands are arrays and numbers. For other objects the result is NotImplemented
 * where they may have the operator themselves, and otherwise a TypeError. In place, the array that was given
 * changes, or the operator raises.
 */
#define USMPY_OPERATOR_1(name) PyObject *usmpy_array_##name(PyObject *self);
#define USMPY_OPERATOR_2(name)                              \
    PyObject *usmpy_array_##name(PyObject *a, PyObject *b); \
    PyObject *usmpy_array_inplace_##name(PyObject *a, PyObject *b);
USMPY_OPERATORS_1(USMPY_OPERATOR_1)
USMPY_OPERATORS_2(USMPY_OPERATOR_2)
USMPY_OPERATOR_2(matmul) /* matmul.c */
#undef USMPY_OPERATOR_1
#undef USMPY_OPERATOR_2
PyObject *usmpy_array_power(PyObject *a, PyObject *b, PyObject *modulus);
PyObject *usmpy_array_inplace_power(PyObject *a, PyObject *b, PyObject *modulus);
PyObject *usmpy_array_divmod(PyObject *a, PyObject *b);

/* matmul.c: explain_matmul(x1, x2). */
PyObject *usmpy_explain_matmul(usmpy_state *state, PyObject *const *arguments);

#endif
