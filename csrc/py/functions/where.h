/* Choices between elements, for assignments through masks. */
#ifndef USMPY_WHERE_H
#define USMPY_WHERE_H

#include "py/arrays/array.h"

/* dst[...] = condition ? a : b, which broadcast to dst; a and b have its type. dst may be a or b. 0 or -1. */
int usmpy_choose(usmpy_array *dst, usmpy_array *condition, usmpy_array *a, usmpy_array *b);

#endif
