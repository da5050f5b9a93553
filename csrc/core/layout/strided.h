/*
 * The algebra of axes: several strided layouts of one shape, whose axes are sorted, merged and turned around,
 * so that loops and kernels walk over as few as there can be. Pure functions.
 */
#ifndef USM_CORE_STRIDED_H
#define USM_CORE_STRIDED_H

#include "view.h"

#define USM_AXIS_OPERANDS 4

/* One axis of several operands; strides in bytes. */
typedef struct usm_axis {
    int64_t length, strides[USM_AXIS_OPERANDS];
} usm_axis;

/*
 * Sorts the axes from the slowest to the fastest, by the strides' magnitude in the first operand, then by
 * that in the next ones, and merges neighbours wherever all `n_operands` allow it. No length is 1. Returns
 * how many axes remain.
 */
int usm_axes_merge(usm_axis *axes, int n, int n_operands);

/*
 * Axes from the slowest to the fastest in dst, merged and with dst strides above 0 (usm_strided_plan brings
 * any pair of layouts into this form). Byte strides. src strides may be 0 or negative.
 */
typedef struct usm_strided {
    char *dst;
    const char *src;
    usm_dtype dst_dtype, src_dtype;
    int ndim;
    int64_t *shape, *dst_strides, *src_strides; /* one block of 3 * ndim, behind this struct */
} usm_strided;

/* Room for the largest plan, on the stack. */
typedef struct usm_plan {
    usm_strided strided;
    int64_t numbers[3 * USM_MAX_NDIM];
} usm_plan;

/*
 * Brings two layouts of one shape into the form that usm_strided asks for: no axis of length 1, axes by
 * falling dst stride, dst strides positive where the length is above 1, neighbours merged wherever both sides
 * allow it. At least one axis remains. The shape has no 0. Pure.
 */
void usm_copy_plan(usm_plan *plan, const usm_view *dst, const usm_view *src);
/* The same for axes in any order, in byte strides. */
void usm_strided_plan(usm_plan *plan, const usm_strided *whole);
/* Of a plan: elements side by side on both sides, of one type. */
bool usm_strided_is_block(const usm_strided *strided);
/* Memory that both sides touch, unless each element only meets itself. */
bool usm_views_overlap(const usm_view *dst, const usm_view *src);

/* A heap copy of a plan that outlives the call; free() releases it. NULL: no memory. */
usm_strided *usm_strided_clone(const usm_strided *plan);

#endif
