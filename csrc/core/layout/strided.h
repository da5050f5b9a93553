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
 * The size of the units in which a kernel moves elements of `size` bytes, 1 to 16, bit for bit between the
 * first two operands. Units are wider than elements where rows of elements lie side by side, and narrower
 * where memory is not aligned to 8 bytes or the size. Changes the axes to count units. The axes go from the
 * fastest to the slowest, with room for one more. `addresses`: the bits of the addresses, and of every step
 * that is not a stride. Other operands must not move along a row of units.
 */
int usm_axes_choose_unit(usm_axis *axes, int *n, int n_operands, uint64_t addresses, int size);

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

/* Elements that it moves. */
static inline size_t usm_strided_count(const usm_strided *strided)
{
    size_t count = 1;
    for (int i = 0; i < strided->ndim; i++) {
        count *= (size_t)strided->shape[i];
    }
    return count;
}

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
