/*
 * dst[0..n) = value. usm_fill_any is for memory that is not
 * aligned to its pattern: bytes, n of them.
 */
#include "pair.h"
#include "range.h"

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

kernel void usm_fill_any(global uchar *dst, usm_pair value, ulong size, ulong n)
{
    USM_FOR_EACH (i, (long)n) {
        uint at = (uint)i & ((uint)size - 1); /* sizes are powers of two up to 16 */
        ulong word = at < 8 ? value.first : value.second;
        dst[i] = (uchar)(word >> (8 * (at & 7)));
    }
}
