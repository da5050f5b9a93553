/* Sums of products along axes that two arrays share: matmul, tensordot and vecdot. */
#ifndef USM_CORE_MATMUL_H
#define USM_CORE_MATMUL_H

#include "kernels/abi/matmul.h"
#include "scratch.h"

/*
 * How many axes of each kind the arrays have, in this order: x1 has those of the batch, rows and inner ones,
 * x2 those of the batch, inner ones and columns, the result those of the batch, rows and columns.
 */
typedef struct usm_contraction {
    int batch, rows, columns, inner;
    bool conjugates; /* x1, which matters where it is complex */
} usm_contraction;

/* How a product is carried out. */
typedef struct usm_matmul_plan {
    usm_dtype computed;  /* float32 for float16 and bfloat16; of complex numbers the type of their parts */
    bool parts;          /* complex: four products of real and imaginary parts; the rest tells of each */
    bool dots;           /* no rows and no columns: products element by element, and sums of them */
    const char *library; /* the file of the library that computes it; NULL: usmpy's own kernel */
    const char *why;     /* why there is no BLAS library where one would compute it; else NULL */
    bool copies[2];      /* x1 and x2 go through compact memory of the computed type */
    usm_matmul r;        /* strides hold where nothing is copied */
} usm_matmul_plan;

/* The plan for a result of `dtype`. May open a library, which blocks for milliseconds (usm_detach). */
void usm_matmul_plan_make(const usm_queue *queue, usm_dtype dtype, const usm_view *x1, const usm_view *x2,
                          const usm_contraction *axes, usm_matmul_plan *plan);

/*
 * Enqueues dst = the products of x1 and x2, summed up along the inner axes. dst is compact, row-major and new
 * memory; its type, which both arguments promote to, is no bool. Lengths agree, and the batch
 * axes of the arguments have the lengths of the result (stride 0 where they repeat). Nothing to sum up gives
 * zeros. By usmpy's own kernel the sums are in the order of the inner axes, and have the same bits on every
 * device.
 */
usm_status usm_matmul_submit(usm_queue *queue, const usm_view *dst, const usm_view *x1, const usm_view *x2,
                             const usm_contraction *axes, usm_error *error);

#endif
