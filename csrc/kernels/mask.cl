/*
 * Which bytes of a mask are true. The mask is one row of n bytes, cut into chunks: usm_mask_count counts each
 * chunk, usm_mask_scan turns the counts into where each chunk's results begin, with the sum of all behind
 * them, and usm_mask_place writes, for each true byte in order, the offset that its index has in another
 * layout.
 */
#include "range.h"

#define USM_MASK_AXES 8

/* Axes of the mask from the fastest to the slowest, and what one step along each adds to an offset; then 1,
 * 0. */
typedef struct usm_mask {
    long n, chunk, chunks;
    long ndim, shape[USM_MASK_AXES], steps[USM_MASK_AXES];
} usm_mask;

kernel void usm_mask_count(global long *counts, global const uchar *mask, usm_mask m)
{
    USM_FOR_EACH (c, m.chunks) {
        long from = c * m.chunk, end = USM_LESSER(from + m.chunk, m.n), sum = 0;
        while (from < end) { /* in parts whose sums are short, which vectorise better */
            long stop = USM_LESSER(from + 65536, end);
            uint part = 0;
            for (long i = from; i < stop; i++) {
                part += mask[i] != 0;
            }
            sum += part;
            from = stop;
        }
        counts[c] = sum;
    }
}

/* One work-item does it all. */
kernel void usm_mask_scan(global long *counts, usm_mask m)
{
    USM_FOR_EACH (i, 1) {
        long sum = 0;
        for (long c = 0; c < m.chunks; c++) {
            long count = counts[c];
            counts[c] = sum;
            sum += count;
        }
        counts[m.chunks] = sum;
    }
}

kernel void usm_mask_place(global long *offsets, global const uchar *mask, global const long *counts,
                           usm_mask m)
{
    USM_FOR_EACH (c, m.chunks) {
        long from = c * m.chunk, end = USM_LESSER(from + m.chunk, m.n), at = counts[c];
        if (m.ndim == 1) {
            long step = m.steps[0];
            long stop = counts[c + 1];
            for (long i = from; at < stop; i++) {
                offsets[at] = i * step; /* written over until it is true */
                at += mask[i] != 0;
            }
            continue;
        }
        for (long i = from; i < end; i++) {
            if (mask[i] != 0) {
                long rest = i, offset = 0;
                for (int axis = 0; rest != 0; axis++) {
                    long next = rest / m.shape[axis];
                    offset += (rest - next * m.shape[axis]) * m.steps[axis];
                    rest = next;
                }
                offsets[at++] = offset;
            }
        }
    }
}
