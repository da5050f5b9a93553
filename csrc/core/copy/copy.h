/* Copies between any two layouts and places, planned over the few commands that every backend has. */
#ifndef USM_CORE_COPY_H
#define USM_CORE_COPY_H

#include "core/layout/strided.h"
#include "core/tasks/submit.h"

/*
 * dst[...] = src[...] in the queue, with a cast where the types differ (usm_dtype_can_cast is the caller's).
 * The shapes agree already; src strides may be 0. Overlap gives what a copy through a third place would give.
 * Fails without a trace; with USM_DEADLOCK where a side is loaned, so that the caller waits, and
 * usm_copy_check_wait fails.
 */
usm_status usm_copy_submit(usm_queue *queue, const usm_view *dst, const usm_view *src,
                           USM_GIVES usm_event **out, usm_error *error);
/* usm_queue_check_wait of such a copy. */
usm_status usm_copy_check_wait(usm_queue *queue, const usm_view *dst, const usm_view *src, usm_error *error);

/*
 * dst[...] = value, where value is one element of dst's type in memory (copied at once). Not for packed
 * types.
 */
usm_status usm_fill_submit(usm_queue *queue, const usm_view *dst, const void *value,
                           USM_GIVES usm_event **out, usm_error *error);

#endif
