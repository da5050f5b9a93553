/*
 * Which bytes of a mask are true. The mask is one row of n bytes, cut into chunks: usm_mask_count counts each
 * chunk, usm_mask_scan turns the counts into where each chunk's results begin, with the sum of all behind
 * them, and usm_mask_place writes, for each true byte in order, the offset that its index has in another
 * layout.
 */
#include "kernels/abi/mask.h"
#include "range.h"

#ifdef USM_HOST
/* 0x80 in each of eight bytes that is not 0. */
static ulong usm_mask_truths(ulong bytes)
{
    const ulong low = 0x7f7f7f7f7f7f7f7fUL;
    return (((bytes & low) + low) | bytes) & ~low;
}

static ulong usm_mask_bytes(const uchar *mask)
{
    ulong bytes;
    memcpy(&bytes, mask, 8);
    return bytes;
}

/* Eight sums side by side in one word, which hold 255 each. */
static long usm_mask_sum(const uchar *mask, long n)
{
    long sum = 0, i = 0;
    while (i + 8 <= n) {
        long words = USM_LESSER((n - i) / 8, 248);
        ulong sums = 0;
        for (long k = 0; k < words; k++) {
            sums += usm_mask_truths(usm_mask_bytes(mask + i + 8 * k)) >> 7;
        }
        sums = (sums & 0x00ff00ff00ff00ffUL) + (sums >> 8 & 0x00ff00ff00ff00ffUL);
        sum += (long)(sums * 0x0001000100010001UL >> 48);
        i += 8 * words;
    }
    for (; i < n; i++) {
        sum += mask[i] != 0;
    }
    return sum;
}

/* Of each of 256 patterns of eight bits, the numbers of those that are set, one a byte. */
static void usm_mask_patterns(ulong *patterns)
{
    for (int bits = 0; bits < 256; bits++) {
        ulong numbers = 0;
        for (int i = 0, n = 0; i < 8; i++) {
            numbers |= (ulong)i << 8 * n & ((bits >> i & 1) ? ~0UL : 0);
            n += bits >> i & 1;
        }
        patterns[bits] = numbers;
    }
}

/*
 * Offsets of a chunk's true bytes, `step` apart: eight bytes at a time, and of what is written each time as
 * much counts as there were true ones. Who writes the mask meanwhile gets some of its offsets.
 */
static void usm_mask_place_row(long *offsets, const uchar *mask, long from, long end, long stop, long step,
                               const ulong *patterns)
{
    int shift = 0;
    long i = from, at = 0;
    while (shift < 32 && 1L << shift < step) {
        shift++;
    }
    if (1L << shift == step) {
        for (; i + 8 <= end && at + 8 <= stop; i += 8) {
            uint bits = (uint)((usm_mask_truths(usm_mask_bytes(mask + i)) >> 7) * 0x0102040810204080UL >> 56);
            ulong numbers = patterns[bits];
            long *to = offsets + at;
            for (int k = 0; k < 8; k++) {
                to[k] = (long)(((ulong)i + (numbers >> 8 * k & 255)) << shift);
            }
            at += __builtin_popcount(bits);
        }
    }
    for (; i < end && at < stop; i++) {
        offsets[at] = i * step; /* written over until it is true */
        at += mask[i] != 0;
    }
    for (; at < stop; at++) {
        offsets[at] = from * step;
    }
}
#endif

kernel void usm_mask_count(global long *counts, global const uchar *mask, usm_mask m)
{
    USM_FOR_EACH (c, m.chunks) {
        long from = c * m.chunk, end = USM_LESSER(from + m.chunk, m.n), sum = 0;
#ifdef USM_HOST
        sum = usm_mask_sum(mask + from, end - from);
        from = end;
#endif
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
#ifdef USM_HOST
    ulong patterns[256];
    usm_mask_patterns(patterns);
#endif
    USM_FOR_EACH (c, m.chunks) {
        long from = c * m.chunk, end = USM_LESSER(from + m.chunk, m.n), at = counts[c];
        if (m.ndim == 1) {
            long step = m.steps[0];
            long stop = counts[c + 1];
#ifdef USM_HOST
            usm_mask_place_row(offsets + at, mask, from, end, stop - at, step, patterns);
            continue;
#endif
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
