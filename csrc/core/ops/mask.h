/* Which elements of an array are true: how many there are, and where. */
#ifndef USM_CORE_MASK_H
#define USM_CORE_MASK_H

#include "scratch.h"

#define USM_MASK_AXES 8

/* csrc/kernels/src/mask.cl has the same struct: the mask as one row of n bytes, in chunks, and its axes. */
typedef struct usm_mask_layout {
    int64_t n, chunk, chunks;
    int64_t ndim, shape[USM_MASK_AXES], steps[USM_MASK_AXES];
} usm_mask_layout;

/* The true elements of one mask, between the two calls that count and place them. */
typedef struct usm_true_elements {
    usm_mask_layout layout;
    usm_view bytes;    /* the mask as row-major truth values; one count of its memory, until usm_mask_end */
    usm_alloc *counts; /* scratch of the kernels; NULL: the calling thread counts and places */
    /*
     * Their number, an int64 in `counts`. alloc NULL: the caller waits until it may read `bytes`, then asks
     * usm_mask_sum.
     */
    usm_view total;
} usm_true_elements;

/*
 * Enqueues the count of the elements that are not 0. An offset is the sum over the axes of the element's
 * index times steps[axis]. The mask has elements. On success ends with usm_mask_end.
 */
usm_status usm_mask_begin(usm_queue *queue, const usm_view *mask, const int64_t *steps,
                          usm_true_elements *out, usm_error *error);
int64_t usm_mask_sum(const usm_true_elements *mask);
/*
 * The offsets of the true elements in row-major order, into `sum` > 0 compact int64. Where the calling
 * thread counted, nothing may be pending on either memory.
 */
usm_status usm_mask_place(usm_queue *queue, const usm_true_elements *mask, const usm_view *offsets,
                          int64_t sum, usm_error *error);
void usm_mask_end(usm_true_elements *mask);

/*
 * How many bytes of each row are not 0: dst is compact int64, one for each row, and `bytes` is compact, with
 * elements.
 */
usm_status usm_count_rows_submit(usm_queue *queue, const usm_view *dst, const usm_view *bytes,
                                 usm_error *error);

#endif
