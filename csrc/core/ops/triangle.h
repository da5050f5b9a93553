/* Zeros on one side of a diagonal. */
#ifndef USM_CORE_TRIANGLE_H
#define USM_CORE_TRIANGLE_H

#include "scratch.h"

/*
 * Clears what is above diagonal k of each matrix (`upper`: what is below it). The array is row-major, or one
 * column-major matrix, has two axes at least, and elements.
 */
usm_status usm_triangle_submit(usm_queue *queue, const usm_view *array, int64_t k, bool upper,
                               usm_error *error);

#endif
