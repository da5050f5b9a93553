/*
 * A few elements of the host, handled by the calling thread: a kernel's launch would take longer. Each
 * function returns false and does nothing where the general way is due: many elements, another layout,
 * pending work, memory that the host does not read.
 */
#ifndef USM_CORE_FEW_H
#define USM_CORE_FEW_H

#include "scratch.h"

#define USM_FEW 256 /* elements */

/*
 * Whether n elements of the queue may be handled here: a check without a lock, before memory for a result is
 * allocated.
 */
static inline bool usm_few_may_begin(usm_queue *queue, int64_t n)
{
    return n > 0 && n <= USM_FEW && usm_queue_may_begin_now(queue);
}

/*
 * usm_logic_submit of the result, a and b, if they are row-major and of one shape. The result is new
 * memory.
 */
bool usm_few_logic(usm_queue *queue, unsigned table, const usm_view views[3]);

/* The rows of an array that a key names. */
typedef struct usm_few_rows {
    int64_t n, size;          /* of rows; bytes of each, which are contiguous */
    int ndim;                 /* axes of the array that the key stands for */
    int64_t offsets[USM_FEW]; /* bytes from the array's first element */
} usm_few_rows;

/*
 * Finds the rows of array[key], both with elements. The key is a mask, or integers for the first axis that
 * are all in range; usm_few_may_begin was true for the key's elements.
 */
bool usm_few_locate(const usm_view *array, const usm_view *key, usm_few_rows *rows);
/* The rows, one after the other, into dst, whose memory is new. */
bool usm_few_read(usm_queue *queue, const usm_few_rows *rows, const usm_view *array, const usm_view *dst);
/*
 * Rows that are elements, from `value`: a view of 0 dimensions or of one element for each row, of other
 * memory. Its alloc may be NULL for memory of the caller's.
 */
bool usm_few_write(usm_queue *queue, const usm_few_rows *rows, const usm_view *array, const usm_view *value);

/* An element of the host's into a view of one element. */
bool usm_few_put(usm_queue *queue, const usm_view *one, const void *element);

/* Numbers, in row-major order, of the elements of a row-major array that are not 0. */
typedef struct usm_few_found {
    int64_t n;
    int32_t numbers[USM_FEW];
} usm_few_found;

/* Finds the elements that are not 0, if the array has USM_FEW elements at most. */
bool usm_few_nonzero(usm_queue *queue, const usm_view *array, usm_few_found *found);
/* Their indices along an axis of the array, into a vector of n int64 of new memory. */
bool usm_few_unravel(const usm_few_found *found, const usm_view *array, int axis, const usm_view *out);

#endif
