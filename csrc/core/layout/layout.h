/* Shapes and strides: pure functions, no memory, no locks. Strides are in elements unless a
 * name says bytes. */
#ifndef USM_CORE_LAYOUT_H
#define USM_CORE_LAYOUT_H

#include "core/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define USM_MAX_NDIM 64

#define USM_C_CONTIGUOUS 1u
#define USM_F_CONTIGUOUS 2u

/*
 * The number of elements; USM_VALUE for a negative length or where elements * itemsize would not fit in
 * int64_t. A length of 0 makes the size 0 only after the other lengths were found to fit, as NumPy does it.
 */
usm_status usm_layout_size(int ndim, const int64_t *shape, int itemsize, int64_t *size, usm_error *error);

/* Compact strides, row-major ('C') or column-major ('F'). */
void usm_layout_compact(int ndim, const int64_t *shape, char order, int64_t *strides);

/*
 * What is stored and exported: a length of 1 gets stride 1, an empty array gets compact strides; both can be
 * read by consumers that never look at the length (DLPack 1.3, DLTensor::strides). Returns the contiguity
 * flags: both for size 0 and for one element.
 */
unsigned usm_layout_normalize(int ndim, const int64_t *shape, int64_t *strides);

/* What USMArray.strides shows: compact (row-major) where a length is 0 or 1 or the array is empty. */
void usm_layout_shown_strides(int ndim, const int64_t *shape, const int64_t *strides, int64_t *shown);

/*
 * The bytes that the elements span, relative to the first element: [low, high). low <= 0. False when it does
 * not fit in int64_t. Empty layouts span nothing.
 */
bool usm_layout_span(int ndim, const int64_t *shape, const int64_t *strides, int itemsize, int64_t *low,
                     int64_t *high);

/*
 * Bytes from `low` to `high`, relative to `first`, as usm_layout_span gives them: are all of them addresses?
 */
bool usm_span_is_addressable(const void *first, int64_t low, int64_t high);
/* And do all of them lie in the `size` bytes at `base`? Exact for whatever is given. */
bool usm_span_is_within(const void *first, int64_t low, int64_t high, const void *base, size_t size);

/*
 * Strides of the same elements in a new shape, without moving them. False when only a copy can do it. The
 * sizes must agree.
 */
bool usm_layout_reshape(int ndim, const int64_t *shape, const int64_t *strides, int new_ndim,
                        const int64_t *new_shape, int64_t *new_strides);

/*
 * Lengths and strides for reading (ndim, shape, strides) as if it had the target shape; repeated axes get
 * stride 0. False when the shapes do not broadcast.
 */
bool usm_layout_broadcast(int ndim, const int64_t *shape, const int64_t *strides, int target_ndim,
                          const int64_t *target_shape, int64_t *target_strides);

/* Two elements of the layout share memory (stride 0 on a length above 1 is the only case looked for). */
bool usm_layout_repeats(int ndim, const int64_t *shape, const int64_t *strides);

/* "(3, 4)", for messages; returns text. */
char *usm_layout_text(int ndim, const int64_t *values, char *text, size_t size);

#endif
