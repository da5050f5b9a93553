/* Zeros on one side of a diagonal. */
#ifndef USM_CORE_TRIANGLE_H
#define USM_CORE_TRIANGLE_H

#include "scratch.h"

/*
 * Sets elements above diagonal k of each matrix to 0 (`upper`: below it). The array has elements and at
 * least two axes, and is row-major, or one column-major matrix.
 */
usm_status usm_triangle_submit(usm_queue *queue, const usm_view *array, int64_t k, bool upper,
                               usm_error *error);

#endif
