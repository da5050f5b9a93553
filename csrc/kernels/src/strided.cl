/* Strided copy without a cast: elements by their size, bit for bit. Memory is aligned to them. */
#include "axes.h"
#include "pair.h"

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

/* Lines of the caches of a processor, which are written past them: for OpenCL's drivers, which have vectors. */
#ifdef USM_LINES
static ulong8 usm_load_64(global const char *from)
{
    return *(global const ulong8 *)from;
}

static void usm_store_64(global char *to, ulong8 line)
{
#if defined(__clang__)
    __builtin_nontemporal_store(line, (global ulong8 *)to);
#else
    *(global ulong8 *)to = line;
#endif
}

USM_STRIDED_KERNEL(usm_strided_64, 64, 64, usm_load_64, usm_store_64)
#endif
