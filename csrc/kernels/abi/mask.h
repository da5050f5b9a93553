/* The last argument of usm_mask_* (mask.cl). */
#ifndef USM_ABI_MASK_H
#define USM_ABI_MASK_H

#include "size.h"

#define USM_MASK_AXES 8

/*
 * A mask of n bytes, in `chunks` parts of `chunk` bytes, the last of which may be shorter. Its axes from the
 * fastest to the slowest, and what one step along each adds to an offset; then 1, 0.
 */
typedef struct usm_mask {
    long n, chunk, chunks;
    long ndim, shape[USM_MASK_AXES], steps[USM_MASK_AXES];
} usm_mask;

USM_ABI_SIZE(usm_mask, 160);

#endif
