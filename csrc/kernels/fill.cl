/* dst[0..n) = value. A pattern of 16 bytes is a struct of two, aligned to 8. */
#include "range.h"

typedef struct usm_pair {
    ulong first, second;
} usm_pair;

#define USM_FILL_KERNEL(size, type)                                    \
    kernel void usm_fill_##size(global type *dst, type value, ulong n) \
    {                                                                  \
        USM_FOR_EACH (i, (long)n) {                                    \
            dst[i] = value;                                            \
        }                                                              \
    }

USM_FILL_KERNEL(1, uchar)
USM_FILL_KERNEL(2, ushort)
USM_FILL_KERNEL(4, uint)
USM_FILL_KERNEL(8, ulong)
USM_FILL_KERNEL(16, usm_pair)
