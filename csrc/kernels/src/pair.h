/* 16 bytes that are aligned to 8, as complex128 is. */
#ifndef USM_KERNELS_PAIR_H
#define USM_KERNELS_PAIR_H

typedef struct usm_pair {
    ulong first, second;
} usm_pair;

#endif
