/*
 * The portable kernel dialect as plain C, for the built-in kernels: a kernel becomes an inline function, and
 * one work-item does all of its range.
 */
#ifndef USM_CPU_PORTABLE_H
#define USM_CPU_PORTABLE_H

#include <stdint.h>

typedef uint8_t uchar;
typedef uint16_t ushort;
typedef uint32_t uint;
typedef uint64_t ulong;

#define kernel static inline
#define global
#define USM_HAS_FP64 1

#define USM_SERIAL 1
#define get_global_id(dimension) 0
#define get_global_size(dimension) 1

#endif
