/* Operands and methods that USMArray does not take or have: errors that say what to use instead. */
#ifndef USMPY_HINTS_H
#define USMPY_HINTS_H

#include "py/module.h"

/* Objects that may be meant as an array, unlike None, a str or another object without elements. */
bool usmpy_has_elements(PyObject *object);
/* Whether it has a protocol of arrays that may have 0 dimensions, other than the buffer protocol. */
bool usmpy_has_protocol(PyObject *object);

/*
 * TypeError for an argument that is no USMArray: its name, what it is, what is `allowed` ("a USMArray is"),
 * and the call that makes one. NULL.
 */
void *usmpy_refuse_operand(const char *function, const char *name, PyObject *object, const char *allowed);
/*
 * What an operator does with an operand that is neither an array nor a number: NotImplemented, where it is on
 * the right and may have the operator itself; else TypeError.
 */
PyObject *usmpy_hint_operand(const char *function, PyObject *other, bool on_the_right);

/*
 * The getter of a method that does not exist. `texts`: its name and, after the NUL, what to use instead.
 * AttributeError, so that hasattr() is False.
 */
PyObject *usmpy_hint_method(PyObject *self, void *texts);

#endif
