/* Stable sorts along one axis, and places in a sorted row. */
#ifndef USM_CORE_SORT_H
#define USM_CORE_SORT_H

#include "scratch.h"

/*
 * dst[...] = the elements of src, each row along `axis` in order; with `indices`, where in their row they
 * were before, as int64. Equal elements keep their order, also where it descends; -0 equals 0, and NaN comes
 * last. dst is compact and row-major, in the shape of src, whose type has an order: no complex one. Rows have
 * fewer than 2^32 elements.
 */
usm_status usm_sort_submit(usm_queue *queue, const usm_view *dst, const usm_view *src, int axis, bool indices,
                           bool descending, usm_error *error);

/*
 * dst[...] = before how many elements of `row` each of `values` belongs: in front of those that are equal, or
 * behind them
 * (`right`). The row is in ascending order; with `sorter`, an array of indices that is one element long for
 * each of the row's, row[sorter] is. dst is int64, compact and row-major, in the shape of values, which have
 * the type of the row.
 */
usm_status usm_search_submit(usm_queue *queue, const usm_view *dst, const usm_view *row,
                             const usm_view *values, const usm_view *sorter, bool right, usm_error *error);

#endif
