/* Elements more than once, or elsewhere along an axis: strided copies with other axes. */
#ifndef USM_CORE_TILE_H
#define USM_CORE_TILE_H

#include "scratch.h"

/*
 * Every element `count` > 0 times in a row along the axis. dst has src's type and shape but for the axis,
 * which is `count` times as long, and has elements. USM_VALUE where no axis is left for the repetitions.
 */
usm_status usm_repeat_elements_submit(usm_queue *queue, const usm_view *dst, const usm_view *src, int axis,
                                      int64_t count, usm_error *error);

/*
 * src again and again: dst has as many axes or more, of src's lengths times a number each (counted from the
 * last axis), its type, and elements. USM_VALUE where axes and repetitions together are too many.
 */
usm_status usm_tile_submit(usm_queue *queue, const usm_view *dst, const usm_view *src, usm_error *error);

/*
 * dst[...] = src[...] with each of n distinct axes moved on by 0 < shift < its length, where the elements
 * that leave at the end come in at the start. dst is compact, row-major, of src's type and shape, and other
 * memory.
 */
usm_status usm_roll_submit(usm_queue *queue, const usm_view *dst, const usm_view *src, int n, const int *axes,
                           const int64_t *shifts, usm_error *error);

#endif
