/* Elementwise operations of the table csrc/kernels/operations.py: the operators of USMArray. */
#ifndef USMPY_OPERATION_H
#define USMPY_OPERATION_H

#include "py/arrays/array.h"

/* Slots of PyNumberMethods. */
#define USMPY_OPERATOR_2(name) PyObject *usmpy_array_##name(PyObject *a, PyObject *b);
#define USMPY_OPERATOR_1(name) PyObject *usmpy_array_##name(PyObject *self);
USMPY_OPERATOR_2(add)
USMPY_OPERATOR_2(subtract)
USMPY_OPERATOR_2(multiply)
USMPY_OPERATOR_2(divide)
USMPY_OPERATOR_2(floor_divide)
USMPY_OPERATOR_2(remainder)
USMPY_OPERATOR_1(negative)
USMPY_OPERATOR_1(positive)
USMPY_OPERATOR_1(abs)
USMPY_OPERATOR_2(matmul) /* matmul.c */
USMPY_OPERATOR_2(inplace_matmul)
#undef USMPY_OPERATOR_1
#undef USMPY_OPERATOR_2

#endif
