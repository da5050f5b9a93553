/*
 * The elementwise operations of csrc/kernels/operations.py on the host: loops over rows of one type, compiled for
 * several sets of instructions, and the kernels over usm_elements that call them.
 */
#ifndef USM_CPU_OPERATE_H
#define USM_CPU_OPERATE_H

#include "core/layout/dtype.h"
#include "kernels/abi/elements.h"
#include "operations.h"

/* n elements side by side; `to` may be an argument itself. Operations of one argument leave b alone. */
typedef void (*usm_cpu_loop)(void *to, const void *a, const void *b, int64_t n);

/* loops[type that is computed in][operation]; NULL: there is none. */
typedef const usm_cpu_loop *usm_cpu_loops[USM_COMPUTED_DTYPES];
extern const usm_cpu_loops usm_cpu_loops_baseline; /* operate_loops.c */
extern const usm_cpu_loops usm_cpu_loops_avx2;     /* operate_avx2.c; all NULL on other processors */
extern const usm_cpu_loops usm_cpu_loops_avx512;   /* operate_avx512.c */

/*
 * The elements [lo, hi) of each dimension of the range (elements.h in csrc/kernels/src): operands are the
 * result and its arguments, whose types e->extra names (kernels/abi/operate.h). Any thread.
 */
void usm_cpu_operate(char *const *operands, int n, const usm_elements *e, const size_t *lo, const size_t *hi);

#endif
