/* Rows of elements, moved or converted: what a strided copy does along its innermost axis. */
#ifndef USM_CPU_ROW_H
#define USM_CPU_ROW_H

#include "core/layout/dtype.h"

#include <stdint.h>

/*
 * cast.c: n elements from src to dst, byte strides ds and ss, any alignment; in place where the sizes agree.
 * Types that are the same are moved bit for bit. Floating point to integer rounds towards zero, saturates,
 * and makes 0 of NaN; complex to real keeps the real part.
 */
typedef void (*usm_cpu_row)(char *dst, const char *src, int64_t n, int64_t ds, int64_t ss);
usm_cpu_row usm_cpu_cast_row(usm_dtype dst, usm_dtype src);
usm_cpu_row usm_cpu_move_row(int itemsize);

/*
 * cast_lines.c: whole lines of converted elements, past the caches; dst begins a line, n elements that lie
 * side by side fill whole ones. usm_cpu_stream_end() comes before anybody else looks. NULL: there is none
 * for this pair of types or this processor.
 */
typedef void (*usm_cpu_lines)(char *dst, const char *src, int64_t n);
usm_cpu_lines usm_cpu_cast_lines(usm_dtype dst, usm_dtype src);

#endif
