/* The keys that elements are sorted by (usm_sort_order in kernels/abi/sort.h), from elements of each size. */
#ifndef USM_KERNELS_SORT_KEY_H
#define USM_KERNELS_SORT_KEY_H

#include "kernels/abi/sort.h"

#define USM_SORT_KEY(size, type)                                                             \
    static inline type usm_sort_key_##size(type x, const usm_sort_order *order)              \
    {                                                                                        \
        type top = (type)((type)1 << (8 * size - 1)), one = x == (type)order->zero ? 0 : x;  \
        type key = one ^ ((one & top) != 0 ? (type)order->negative : (type)order->positive); \
        return (type)(x & (type)~top) > (type)order->infinity ? (type) ~(type)0 : key;       \
    }

USM_SORT_KEY(1, uchar)
USM_SORT_KEY(2, ushort)
USM_SORT_KEY(4, uint)
USM_SORT_KEY(8, ulong)

#endif
