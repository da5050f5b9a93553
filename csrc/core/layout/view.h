/* Views: how the core sees an array, between the objects of csrc/py and the commands of a queue. */
#ifndef USM_CORE_VIEW_H
#define USM_CORE_VIEW_H

#include "dtype.h"
#include "layout.h"

struct usm_alloc;

/* Borrows everything: it holds no count of the allocation, and shape and strides belong to the caller. */
typedef struct usm_view {
    struct usm_alloc *alloc;
    char *data; /* the first element */
    usm_dtype dtype;
    int ndim;
    const int64_t *shape, *strides; /* strides in elements */
} usm_view;

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
    return (uintptr_t)view->data % usm_dtype_alignment(view->dtype) == 0; /* strides count elements */
}

#endif
