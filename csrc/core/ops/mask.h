/* Which elements of an array are true: how many there are, and where. */
#ifndef USM_CORE_MASK_H
#define USM_CORE_MASK_H

#include "kernels/abi/mask.h"
#include "scratch.h"

/* The true elements of one mask, between the two calls that count and place them. */
typedef struct usm_true_elements {
    usm_mask layout;
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
/* The number of true elements, counted by the calling thread. */
int64_t usm_mask_sum(const usm_true_elements *mask);
/*
 * The offsets of the true elements in row-major order, into `sum` > 0 compact int64. Where the calling
 * thread counted, nothing may be pending on either memory.
 */
usm_status usm_mask_place(usm_queue *queue, const usm_true_elements *mask, const usm_view *offsets,
                          int64_t sum, usm_error *error);
/* Releases what usm_mask_begin made. The tasks that use it hold counts of their own. */
void usm_mask_end(usm_true_elements *mask);

/*
 * Counts the bytes of each row that are not 0. `rows` rows of `length` > 0 bytes, and as many int64;
 * both are compact.
 */
usm_status usm_count_rows_submit(usm_queue *queue, const usm_view *dst, const usm_view *bytes, int64_t rows,
                                 int64_t length, usm_error *error);

#endif
