/* The last argument of usm_locate and usm_unravel (index.cl). */
#ifndef USM_ABI_INDEX_H
#define USM_ABI_INDEX_H

#include "size.h"

/* n indices of one axis: `length` of it, bytes of one step. `first`: what is there before does not count. */
typedef struct usm_indices {
    long n, length, step, first, is_unsigned;
} usm_indices;

USM_ABI_SIZE(usm_indices, 40);

#endif
