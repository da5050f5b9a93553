/* What the operations of this folder share: facts of views, and scratch memory that lasts for one call. */
#ifndef USM_CORE_SCRATCH_H
#define USM_CORE_SCRATCH_H

#include "core/copy/copy.h"

/* The number of elements; beside a length of 0, the others may have any product. */
static inline int64_t usm_view_size(const usm_view *view)
{
    uint64_t size = 1;
    for (int i = 0; i < view->ndim; i++) {
        size *= (uint64_t)view->shape[i];
    }
    return (int64_t)size;
}

static inline int usm_view_itemsize(const usm_view *view)
{
    return usm_dtype_table[view->dtype].itemsize;
}

/* Whether the view is row-major without gaps; then *size is the number of its elements. */
static inline bool usm_view_is_row_major(const usm_view *view, int64_t *size)
{
    uint64_t step = 1;
    for (int i = view->ndim - 1; i >= 0; i--) {
        if (view->shape[i] != 1 && view->strides[i] != (int64_t)step) {
            return false;
        }
        step *= (uint64_t)view->shape[i];
    }
    *size = (int64_t)step;
    return true;
}

/* USM_C_CONTIGUOUS and USM_F_CONTIGUOUS, of a view that has elements. */
static inline unsigned usm_view_order(const usm_view *view)
{
    unsigned order = USM_C_CONTIGUOUS | USM_F_CONTIGUOUS;
    int64_t by_row = 1, by_column = 1;
    for (int i = 0, k = view->ndim - 1; i < view->ndim; i++, k--) {
        order &= view->shape[k] == 1 || view->strides[k] == by_row ? ~0u : ~USM_C_CONTIGUOUS;
        order &= view->shape[i] == 1 || view->strides[i] == by_column ? ~0u : ~USM_F_CONTIGUOUS;
        by_row *= view->shape[k];
        by_column *= view->shape[i];
    }
    return order;
}

/* The order of the only contiguity that a view has: 'F', or 'C' where it has both or none. */
static inline char usm_view_letter(const usm_view *view)
{
    return usm_view_order(view) == USM_F_CONTIGUOUS ? 'F' : 'C';
}

/* Every part of an element, as a kernel reads it, is aligned. */
static inline bool usm_view_is_aligned(const usm_view *view)
{
    const usm_dtype_info *info = &usm_dtype_table[view->dtype];
    uintptr_t part = info->itemsize / (info->kind == USM_KIND_COMPLEX ? 2u : 1u);
    return (uintptr_t)view->data % part == 0; /* strides count elements */
}

/* The element that a view which broadcasts to this shape has at that number, in row-major order. */
usm_view usm_view_element(const usm_view *view, int ndim, const int64_t *shape, int64_t number);

/*
 * New device memory of a queue's place. The tasks that use it hold counts of their own, so the creator
 * releases it once they are submitted.
 */
typedef struct usm_scratch {
    usm_view view; /* alloc NULL: nothing to release; shape and strides point to the arrays below */
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM];
} usm_scratch;

/* Compact, in order 'C' or 'F'. The scratch may be released whether this succeeds or not. */
usm_status usm_scratch_create(usm_queue *queue, usm_dtype dtype, int ndim, const int64_t *shape, char order,
                              usm_scratch *out, usm_error *error);
/* The same with a view's elements, cast to `dtype`; the view broadcasts to the shape. */
usm_status usm_scratch_copy(usm_queue *queue, const usm_view *source, usm_dtype dtype, int ndim,
                            const int64_t *shape, char order, usm_scratch *out, usm_error *error);
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
