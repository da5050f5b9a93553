/*
 * The elementwise operations of csrc/kernels/operations.py on the host: loops over rows of one type, compiled
 * for several sets of instructions, and the kernels over usm_elements that call them.
 */
#ifndef USM_CPU_OPERATE_H
#define USM_CPU_OPERATE_H

#include "core/layout/dtype.h"
#include "kernels/abi/accumulate.h"
#include "kernels/abi/elements.h"
#include "kernels/abi/scan.h"
#include "matmul.h"
#include "operations.h"

/* n elements side by side; `to` may be an argument itself. Operations of one argument leave b alone. */
typedef void (*usm_cpu_loop)(void *to, const void *a, const void *b, int64_t n);

/* Each of `rows` blocks of n elements, 1 to USM_BLOCK of them, as one. kernels/abi/accumulate.h
 * says in which order. */
typedef void (*usm_cpu_fold)(void *to, const void *x, int64_t n, int64_t rows);

/* usm_totals_* and usm_scan_* of kernels/src/scan.cl, for a part of the range. */
typedef void (*usm_cpu_totals)(void *to, const void *from, const usm_scan *r, const size_t *lo,
                               const size_t *hi);
typedef void (*usm_cpu_scan)(void *to, const void *from, const void *before, const usm_scan *r,
                             const size_t *lo, const size_t *hi);

/* usm_extreme_* of kernels/src/accumulate.cl, for a part of the range; blocks are of neighbours here. */
typedef void (*usm_cpu_extreme)(int64_t *to, const void *from, const int64_t *candidates,
                                const usm_extremes *r, const size_t *lo, const size_t *hi);

typedef struct usm_cpu_type_loops {
    const usm_cpu_loop *operations; /* by USM_OP_*; NULL: there is none, or the baseline's */
    const usm_cpu_fold *folds;      /* by USM_SUM and the like */
    usm_cpu_totals totals;          /* this and the following: NULL for signed integers (but extreme) */
    usm_cpu_scan scan;
    usm_cpu_matmul matmul;
    usm_cpu_extreme extreme;
    usm_cpu_loop product; /* of complex numbers, in reductions; NULL: that of USM_OP_multiply */
} usm_cpu_type_loops;

/* By the type that is computed in; zeros where there is none. */
typedef usm_cpu_type_loops usm_cpu_loops[USM_COMPUTED_DTYPES];
extern const usm_cpu_loops usm_cpu_loops_baseline; /* operate_loops.c */
extern const usm_cpu_loops usm_cpu_loops_avx2;     /* operate_avx2.c; all NULL on other processors */
extern const usm_cpu_loops usm_cpu_loops_avx512;   /* operate_avx512.c */

/*
 * The elements [lo, hi) of each dimension of the range (elements.h in csrc/kernels/src): operands are the
 * result and its arguments, whose types e->extra names (kernels/abi/operate.h). Any thread.
 */
void usm_cpu_operate(char *const *operands, int n, const usm_elements *e, const size_t *lo, const size_t *hi);

/* Blocks of a reduction (kernels/src/accumulate.cl): dst has the type that is computed in. Any thread. */
void usm_cpu_accumulate(char *dst, const char *src, int computed, const usm_accumulation *r, const size_t *lo,
                        const size_t *hi);

/* operate.c: what this processor runs fastest. */
usm_cpu_loop usm_cpu_loop_of(int computed, int64_t operation);
const usm_cpu_type_loops *usm_cpu_loops_of(int computed);

#endif
