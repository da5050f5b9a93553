/* What the operations of this folder share: scratch memory that lasts for one call. */
#ifndef USM_CORE_SCRATCH_H
#define USM_CORE_SCRATCH_H

#include "core/copy/copy.h"

/* The element at this number, in row-major order, of a view that broadcasts to the shape. */
usm_view usm_view_element(const usm_view *view, int ndim, const int64_t *shape, int64_t number);

/*
 * New device memory of a queue's place. The tasks that use it hold counts of their own, so the creator
 * releases it once they are submitted.
 */
typedef struct usm_scratch {
    usm_view view; /* alloc NULL: nothing to release; shape and strides point to the arrays below */
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM];
} usm_scratch;

/* dst[...] = src[...], which broadcasts to it. */
usm_status usm_broadcast_submit(usm_queue *queue, const usm_view *dst, const usm_view *src, usm_error *error);

/* Compact, in order 'C' or 'F'. The scratch may be released whether this succeeds or not. */
usm_status usm_scratch_create(usm_queue *queue, usm_dtype dtype, int ndim, const int64_t *shape, char order,
                              usm_scratch *out, usm_error *error);
/* The same with a view's elements, cast to `dtype`; the view broadcasts to the shape. */
usm_status usm_scratch_copy(usm_queue *queue, const usm_view *source, usm_dtype dtype, int ndim,
                            const int64_t *shape, char order, usm_scratch *out, usm_error *error);
/*
 * The elements of such a copy, row-major and aligned: *out is the source itself where they lie so already,
 * and the copy is not made.
 */
usm_status usm_scratch_compact(usm_queue *queue, const usm_view *source, usm_dtype dtype, int ndim,
                               const int64_t *shape, usm_scratch *copy, usm_view *out, usm_error *error);
/* A vector of n elements. */
usm_status usm_scratch_vector(usm_queue *queue, usm_dtype dtype, int64_t n, usm_scratch *out,
                              usm_error *error);
/* One element of 0 dimensions. */
usm_status usm_scratch_number(usm_queue *queue, usm_dtype dtype, const void *element, usm_scratch *out,
                              usm_error *error);

static inline void usm_scratch_release(usm_scratch *scratch)
{
    if (scratch->view.alloc != NULL) {
        usm_alloc_release(scratch->view.alloc);
    }
}

#endif
