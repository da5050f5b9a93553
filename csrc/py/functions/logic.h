/* Comparisons and choices, for the slots of USMArray and for assignments through masks. */
#ifndef USMPY_LOGIC_H
#define USMPY_LOGIC_H

#include "py/arrays/array.h"

/* tp_richcompare of USMArray. */
PyObject *usmpy_array_richcompare(PyObject *self, PyObject *other, int op);

/* dst[...] = condition ? a : b, which broadcast to dst; a and b have its type. dst may be a or b. 0 or -1. */
int usmpy_choose(usmpy_array *dst, usmpy_array *condition, usmpy_array *a, usmpy_array *b);

#endif
