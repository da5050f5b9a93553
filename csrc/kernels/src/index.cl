/* Indices into axes: offsets of what they name, and the parts of row-major ones. */
#include "kernels/abi/index.h"
#include "range.h"

/*
 * offsets[r] = or += the place of index[r], negative ones from the end. An index out of range counts as 0,
 * and its number plus 1 is left in *bad: of several, one.
 */
kernel void usm_locate(global long *offsets, global const long *index, global long *bad, usm_indices x)
{
    USM_FOR_EACH (r, x.n) {
        long i = index[r];
        if (i < 0 && !x.is_unsigned) {
            i += x.length;
        }
        if (i < 0 || i >= x.length) {
            *bad = r + 1;
            i = 0;
        }
        offsets[r] = (x.first ? 0 : offsets[r]) + i * x.step;
    }
}

#ifdef USM_HOST
/* The same without divisions where indices follow each other in a row, as those of a mask do. */
static void usm_unravel_rows(long *dst, const long *index, const usm_indices *x)
{
    long step = x->step, length = x->length, from = 0, place = 0;
    ulong size = (ulong)(step == 1 ? length : step);
    if (step == 1) {
        USM_FOR_EACH (r, x->n) {
            from = (ulong)(index[r] - from) < size ? from : index[r] - index[r] % length;
            dst[r] = index[r] - from;
        }
        return;
    }
    USM_FOR_EACH (r, x->n) {
        if ((ulong)(index[r] - from) >= size) {
            long whole = index[r] / step;
            from = whole * step;
            place = whole % length;
        }
        dst[r] = place;
    }
}
#endif

/* dst[r] = index[r] / divisor % modulus: one axis of a row-major index. */
kernel void usm_unravel(global long *dst, global const long *index, usm_indices x)
{
#ifdef USM_HOST
    usm_unravel_rows(dst, index, &x);
    return;
#endif
    USM_FOR_EACH (r, x.n) {
        dst[r] = index[r] / x.step % x.length;
    }
}
