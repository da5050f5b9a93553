/* The last argument of strided copies and casts (strided.cl, cast.cl). */
#ifndef USM_ABI_STRIDED_H
#define USM_ABI_STRIDED_H

#include "size.h"

#define USM_KERNEL_AXES 8

/* Axes from the fastest in dst to the slowest, strides in bytes. Axes that are not used are 1, 0, 0. */
typedef struct usm_kernel_axes {
    long shape[USM_KERNEL_AXES], dst[USM_KERNEL_AXES], src[USM_KERNEL_AXES];
} usm_kernel_axes;

USM_ABI_SIZE(usm_kernel_axes, 192);

#endif
