/*
 * The portable kernel dialect as plain C, for the built-in kernels: a kernel becomes an inline function of
 * one work-item, and USM_FOR_EACH_ITEM runs it over a range.
 */
#ifndef USM_HOST_PORTABLE_H
#define USM_HOST_PORTABLE_H

#include <stddef.h>
#include <stdint.h>

typedef uint8_t uchar;
typedef uint16_t ushort;
typedef uint32_t uint;
typedef uint64_t ulong;

#define kernel static inline
#define global
#define USM_HAS_FP64 1

static _Thread_local size_t usm_host_item;
#define get_global_id(axis) usm_host_item

#define USM_FOR_EACH_ITEM(n, call)                                          \
    for (usm_host_item = 0; usm_host_item < (size_t)(n); usm_host_item++) { \
        call;                                                               \
    }

#endif
