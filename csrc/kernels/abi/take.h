/* The last argument of usm_take_* (take.cl). */
#ifndef USM_ABI_TAKE_H
#define USM_ABI_TAKE_H

#include "size.h"

#define USM_TAKE_AXES 6

/*
 * Axes from the fastest in dst to the slowest, strides in bytes, then 1, 0, 0, 0. src has the stride 0 where
 * index has another. `length` elements of the axis that is indexed, `step` bytes from one to the next.
 */
typedef struct usm_take {
    long shape[USM_TAKE_AXES], dst[USM_TAKE_AXES], src[USM_TAKE_AXES], index[USM_TAKE_AXES];
    long length, step;
} usm_take;

USM_ABI_SIZE(usm_take, 208);

#endif
