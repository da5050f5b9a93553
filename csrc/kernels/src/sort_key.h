/* The keys that elements are sorted by (usm_sort_order in kernels/abi/sort.h), from elements of each size. */
#ifndef USM_KERNELS_SORT_KEY_H
#define USM_KERNELS_SORT_KEY_H

#include "kernels/abi/sort.h"

/* Without branches: signs are as good as random. USM_SORT_ALL(c): all bits, if c is true. */
#define USM_SORT_ALL(type, c) ((type)(0 - (type)(c)))
#define USM_SORT_KEY(size, type)                                                                     \
    static inline type usm_sort_key_##size(type x, const usm_sort_order *order)                      \
    {                                                                                                \
        type magnitude = (type)(x << 1) >> 1;                                                        \
        type one = x & USM_SORT_ALL(type, x != (type)order->zero);                                   \
        type sign = USM_SORT_ALL(type, one >> (8 * size - 1));                                       \
        type key = one ^ (type)order->positive ^ (sign & (type)(order->negative ^ order->positive)); \
        return key | USM_SORT_ALL(type, magnitude > (type)order->infinity);                          \
    }

USM_SORT_KEY(1, uchar)
USM_SORT_KEY(2, ushort)
USM_SORT_KEY(4, uint)
USM_SORT_KEY(8, ulong)

#endif
