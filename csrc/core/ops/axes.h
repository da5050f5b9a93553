/* Arrays as (outer, reduced, inner), for algorithms along some of their axes. */
#ifndef USM_CORE_AXES_H
#define USM_CORE_AXES_H

#include "scratch.h"

/* How the elements are to lie for a kernel: row-major, as (outer, reduced, inner). */
typedef struct usm_axes_plan {
    int64_t outer, reduced, inner;
    bool together;  /* the axes that go stand side by side: no axis has to move */
    bool any_order; /* nothing stays: any order of the elements will do */
} usm_axes_plan;

/* `reduced_axes`: bit i says that axis i goes. `rows`: nothing may be in `inner`. */
void usm_axes_plan_make(const usm_view *src, uint64_t reduced_axes, bool rows, usm_axes_plan *plan);

/*
 * New memory in which elements of `dtype` lie as the plan asks for: *view is that memory along src's axes,
 * for the caller to write; `room` holds its strides. The scratch may be released whether this succeeds or
 * not.
 */
usm_status usm_axes_scratch(usm_queue *queue, const usm_view *src, uint64_t reduced_axes,
                            const usm_axes_plan *plan, usm_dtype dtype, usm_scratch *out, usm_view *view,
                            int64_t *room, usm_error *error);

/*
 * The elements of src as `dtype`, of USM_BOOL their truth values, as the plan asks for them: *out is src
 * itself, where they are of this type, aligned, and lie so; else the scratch `copy`, which may be released
 * whether this succeeds or not.
 */
usm_status usm_axes_operand(usm_queue *queue, const usm_view *src, uint64_t reduced_axes,
                            const usm_axes_plan *plan, usm_dtype dtype, usm_scratch *copy, usm_view *out,
                            usm_error *error);

#endif
