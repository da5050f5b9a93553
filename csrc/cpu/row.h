/* Rows of elements, moved or converted: what a strided copy does along its innermost axis. */
#ifndef USM_CPU_ROW_H
#define USM_CPU_ROW_H

#include "core/layout/dtype.h"

#include <stdint.h>

/*
 * cast.c: n elements from src to dst, byte strides ds and ss, any alignment; in place where the sizes agree.
 * Equal types are moved bit for bit. Floating point to integer rounds towards zero, saturates, and turns NaN
 * into 0; complex to real keeps the real part.
 */
typedef void (*usm_cpu_row)(char *dst, const char *src, int64_t n, int64_t ds, int64_t ss);
/* The conversion between two different types, both below USM_COMPUTED_DTYPES. */
usm_cpu_row usm_cpu_cast_row(usm_dtype dst, usm_dtype src);
/* The move of elements of 1, 2, 4, 8 or 16 bytes. */
usm_cpu_row usm_cpu_move_row(int itemsize);

#endif
