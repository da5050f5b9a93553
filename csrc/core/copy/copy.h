/* Copies between any two layouts: planned here, over the few commands that every backend has. */
#ifndef USM_CORE_COPY_H
#define USM_CORE_COPY_H

#include "core/layout/view.h"
#include "core/tasks/queue.h"

/*
 * dst[...] = src[...] in the queue, with a cast where the types differ (usm_dtype_can_cast is the caller's).
 * The shapes agree already; src strides may be 0. Overlap gives what a copy through a third place would give.
 * Fails without a trace.
 */
usm_status usm_copy_submit(usm_queue *queue, const usm_view *dst, const usm_view *src,
                           USM_GIVES usm_event **out, usm_error *error);

/*
 * dst[...] = value, where value is one element of dst's type in memory (copied at once). Not for packed
 * types.
 */
usm_status usm_fill_submit(usm_queue *queue, const usm_view *dst, const void *value,
                           USM_GIVES usm_event **out, usm_error *error);

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
