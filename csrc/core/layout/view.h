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

#endif
