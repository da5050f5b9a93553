/* Operators and methods that USMArray does not have: errors that say what to use instead. */
#ifndef USMPY_HINTS_H
#define USMPY_HINTS_H

#include "py/module.h"

/* Slots of operators: TypeError, or NotImplemented if the other operand may implement the operator. */
PyObject *usmpy_hint_add(PyObject *a, PyObject *b);
PyObject *usmpy_hint_subtract(PyObject *a, PyObject *b);
PyObject *usmpy_hint_multiply(PyObject *a, PyObject *b);
PyObject *usmpy_hint_true_divide(PyObject *a, PyObject *b);
PyObject *usmpy_hint_floor_divide(PyObject *a, PyObject *b);
PyObject *usmpy_hint_remainder(PyObject *a, PyObject *b);
PyObject *usmpy_hint_power(PyObject *a, PyObject *b, PyObject *modulus);
PyObject *usmpy_hint_lshift(PyObject *a, PyObject *b);
PyObject *usmpy_hint_rshift(PyObject *a, PyObject *b);
PyObject *usmpy_hint_negative(PyObject *self);
PyObject *usmpy_hint_positive(PyObject *self);
PyObject *usmpy_hint_absolute(PyObject *self);
/* & | ^ ~ of integers. */
PyObject *usmpy_hint_bits(PyObject *a, PyObject *b, const char *sign);

/* __array_ufunc__: NumPy calls it instead of converting the array. TypeError. */
PyObject *usmpy_hint_ufunc(PyObject *self, PyObject *args, PyObject *kwargs);

/* The getter of a method that does not exist, named `name`. AttributeError, so that hasattr() is False. */
PyObject *usmpy_hint_method(PyObject *self, void *name);

#endif
