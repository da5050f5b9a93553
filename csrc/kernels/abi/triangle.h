/* The last argument of usm_triangle_* (triangle.cl). */
#ifndef USM_ABI_TRIANGLE_H
#define USM_ABI_TRIANGLE_H

#include "size.h"

/* n = {columns, rows, matrices}; `unit` units of the kernel's type an element; `from` in elements. */
typedef struct usm_triangle {
    long n[3];
    long from, unit, upper;
} usm_triangle;

USM_ABI_SIZE(usm_triangle, 48);

#endif
