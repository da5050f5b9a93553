/* The last argument of kernels over several layouts of one shape: compare.cl, where.cl and their like. */
#ifndef USM_ABI_ELEMENTS_H
#define USM_ABI_ELEMENTS_H

#include "size.h"

#define USM_ELEMENTS_AXES 8
#define USM_ELEMENTS_OPERANDS 4

/*
 * Axes from the fastest in the result to the slowest, strides in bytes, the result's first. Axes that are not
 * used are 1, 0, ...; `op` and `extra` are the kernel's own.
 */
typedef struct usm_elements {
    long shape[USM_ELEMENTS_AXES], strides[USM_ELEMENTS_OPERANDS][USM_ELEMENTS_AXES];
    long op, extra;
} usm_elements;

USM_ABI_SIZE(usm_elements, 336);

#endif
