/* Strided copy without a cast: elements by their size, bit for bit. Memory is aligned to them. */
#include "axes.h"

/* 16 bytes that are aligned to 8, as complex128 is. */
typedef struct usm_pair {
    ulong first, second;
} usm_pair;

#define USM_STRIDED_MOVE(size, type)                            \
    static type usm_load_##size(global const char *from)        \
    {                                                           \
        return *(global const type *)from;                      \
    }                                                           \
    static void usm_store_##size(global char *to, type element) \
    {                                                           \
        *(global type *)to = element;                           \
    }                                                           \
    USM_STRIDED_KERNEL(usm_strided_##size, size, size, usm_load_##size, usm_store_##size)

USM_STRIDED_MOVE(1, uchar)
USM_STRIDED_MOVE(2, ushort)
USM_STRIDED_MOVE(4, uint)
USM_STRIDED_MOVE(8, ulong)
USM_STRIDED_MOVE(16, usm_pair)
