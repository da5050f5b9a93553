/*
 * Stable sorts of rows by radix: for each digit, the elements of every bucket are counted (usm_sort_count),
 * the counts are added up by others (core/ops/sort.c), and the elements move to their buckets
 * (usm_sort_place). On GPUs a group has a chunk in local memory (usm_sort_tally, usm_sort_move), where it puts the
 * elements into order first, so that those of a bucket are written together. Rows of few elements are sorted in one
 * launch: by rank, or in local memory. usm_search finds places in a sorted row.
 *
 * Dimension 0 of the range shares out the elements of usm_sort_rank and usm_search; dimension 1 the chunks of
 * the other kernels, and the rows of usm_sort_rank; dimension 2 their rows. -D USM_ONLY=SIZE builds the
 * kernels for elements of one size alone.
 */
#include "range.h"
#include "sort_key.h"

#ifndef USM_ONLY
#define USM_ONLY 0
#endif
#define USM_WANTS(size) (USM_ONLY == 0 || USM_ONLY == size)

/* `call` for each chunk: elements [from, end) of the row that begins at element `row`. */
#define USM_CHUNKS_WALK(s, call)                                                                    \
    USM_ROLLED for (long r = USM_FROM((s).rows, 2), r_end = USM_TO((s).rows, 2); r < r_end;         \
                    r += USM_STEP(2))                                                               \
    {                                                                                               \
        USM_ROLLED for (long c = USM_FROM((s).chunks, 1), c_end = USM_TO((s).chunks, 1); c < c_end; \
                        c += USM_STEP(1))                                                           \
        {                                                                                           \
            long row = r * (s).n, from = c * (s).chunk, end = USM_LESSER(from + (s).chunk, (s).n);  \
            call;                                                                                   \
        }                                                                                           \
    }

#define USM_SORT_KERNELS(size, type)                                                                        \
    static inline void usm_count_chunk_##size(global uint *counts, global const type *values, long from,    \
                                              long end, usm_sort s)                                         \
    {                                                                                                       \
        usm_sort_order order = s.order;                                                                     \
        uint found[USM_SORT_BUCKETS];                                                                       \
        USM_ROLLED for (int k = 0; k < (int)s.buckets; k++)                                                 \
        {                                                                                                   \
            found[k] = 0;                                                                                   \
        }                                                                                                   \
        USM_ROLLED for (long i = from; i < end; i++)                                                        \
        {                                                                                                   \
            found[(uchar)(usm_sort_key_##size(values[i], &order) >> s.shift)]++;                            \
        }                                                                                                   \
        USM_ROLLED for (int k = 0; k < (int)s.buckets; k++)                                                 \
        {                                                                                                   \
            counts[k * s.chunks] = found[k];                                                                \
        }                                                                                                   \
    }                                                                                                       \
    /* counts[row][bucket][chunk] */                                                                        \
    kernel void usm_sort_count_##size(global uint *counts, global const type *values, usm_sort s)           \
    {                                                                                                       \
        USM_CHUNKS_WALK(s, usm_count_chunk_##size(counts + r * s.chunks * USM_SORT_BUCKETS + c,             \
                                                  values + row, from, end, s))                              \
    }                                                                                                       \
    static inline void usm_place_chunk_##size(                                                              \
        global type *values, global char *indices, global const type *old, global const uint *old_indices,  \
        global const uint *places, long from, long end, long row, usm_sort s)                               \
    {                                                                                                       \
        uint at[USM_SORT_BUCKETS];                                                                          \
        usm_sort_order order = s.order;                                                                     \
        USM_ROLLED for (int k = 0; k < (int)s.buckets; k++)                                                 \
        {                                                                                                   \
            at[k] = places[k * s.chunks];                                                                   \
        }                                                                                                   \
        if (!s.indices) {                                                                                   \
            USM_ROLLED for (long i = from; i < end; i++)                                                    \
            {                                                                                               \
                type x = old[row + i];                                                                      \
                values[row + at[(uchar)(usm_sort_key_##size(x, &order) >> s.shift)]++] = x;                 \
            }                                                                                               \
            return;                                                                                         \
        }                                                                                                   \
        USM_ROLLED for (long i = from; i < end; i++)                                                        \
        {                                                                                                   \
            type x = old[row + i];                                                                          \
            uint index = s.first ? (uint)i : old_indices[row + i];                                          \
            long to = row + at[(uchar)(usm_sort_key_##size(x, &order) >> s.shift)]++;                       \
            if (s.last) {                                                                                   \
                ((global long *)indices)[to] = index;                                                       \
            } else {                                                                                        \
                ((global uint *)indices)[to] = index;                                                       \
                values[to] = x;                                                                             \
            }                                                                                               \
        }                                                                                                   \
    }                                                                                                       \
    /* places[row][bucket][chunk]: how many elements of the row go before those; one number more at the end \
     * of each row. */                                                                                      \
    kernel void usm_sort_place_##size(global type *values, global char *indices, global const type *old,    \
                                      global const uint *old_indices, global const uint *places,            \
                                      usm_sort s){USM_CHUNKS_WALK(                                          \
        s, usm_place_chunk_##size(values, indices, old, old_indices,                                        \
                                  places + r * (s.chunks * USM_SORT_BUCKETS + 1) + c, from, end, row, s))}  \
    /* An element goes behind all that are less, and behind those equal to it that come before. */          \
    kernel void usm_sort_rank_##size(global type *values, global long *indices, global const type *old,     \
                                     usm_sort s)                                                            \
    {                                                                                                       \
        usm_sort_order order = s.order;                                                                     \
        USM_ROLLED for (long r = USM_FROM(s.rows, 1), r_end = USM_TO(s.rows, 1); r < r_end;                 \
                        r += USM_STEP(1))                                                                   \
        {                                                                                                   \
            global const type *row = old + r * s.n;                                                         \
            USM_ROLLED USM_FOR_EACH (i, s.n)                                                                \
            {                                                                                               \
                type own = usm_sort_key_##size(row[i], &order);                                             \
                long rank = 0;                                                                              \
                USM_ROLLED for (long k = 0; k < s.n; k++)                                                   \
                {                                                                                           \
                    type key = usm_sort_key_##size(row[k], &order);                                         \
                    rank += (key < own) | ((key == own) & (k < i));                                         \
                }                                                                                           \
                if (s.values) {                                                                             \
                    values[r * s.n + rank] = row[i];                                                        \
                }                                                                                           \
                if (s.indices) {                                                                            \
                    indices[r * s.n + rank] = i;                                                            \
                }                                                                                           \
            }                                                                                               \
        }                                                                                                   \
    }                                                                                                       \
    /* Indices in `sorter` out of range are taken for the nearest: nothing outside the row is read. */      \
    kernel void usm_search_##size(global long *places, global const type *values, global const type *row,   \
                                  global const long *sorter, usm_search s)                                  \
    {                                                                                                       \
        USM_ROLLED USM_FOR_EACH (i, s.n)                                                                    \
        {                                                                                                   \
            type own = usm_sort_key_##size(values[i], &s.order);                                            \
            long low = 0, high = s.length;                                                                  \
            USM_ROLLED while (low < high)                                                                   \
            {                                                                                               \
                long middle = low + (high - low) / 2, at = s.sorted ? middle : sorter[middle];              \
                at = at < 0 ? 0 : USM_LESSER(at, s.length - 1);                                             \
                type key = usm_sort_key_##size(row[at], &s.order);                                          \
                if (key < own || (s.right && key == own)) {                                                 \
                    low = middle + 1;                                                                       \
                } else {                                                                                    \
                    high = middle;                                                                          \
                }                                                                                           \
            }                                                                                               \
            places[i] = low;                                                                                \
        }                                                                                                   \
    }

#ifndef USM_HOST
#ifdef __CUDACC_RTC__
#define USM_IN_LOCAL /* pointers name no space */
#define USM_SORT_ROOM __launch_bounds__(USM_SORT_ITEMS, 3)
#else
#define USM_IN_LOCAL local
#define USM_SORT_ROOM
#endif
#define USM_HALF_BITS 4
#define USM_HALVES 16
/* Two counters of half digits in a word, that of d in the upper half where d >= 8: word d % 8 of each work-item. */
#define USM_COUNTERS 8
#define USM_COUNTER(d, item) USM_BANKED(((d) & 7) * USM_SORT_ITEMS + (item))

/*
 * usm_sort_tally: counts[row][bucket][chunk], as usm_sort_count.
 *
 * usm_sort_move: a chunk is sorted by the half digits from s.shift on, one a round: a work-item has neighbouring
 * elements and counts them in counters of its own, which all count together then, in the order of digits and
 * work-items. Elements beyond the end of the row stay behind all others. With s.chunks == 1 and all the rounds the row is
 * sorted; else elements go to the buckets, which begin at places[row][bucket][chunk].
 */
#define USM_SORT_TILES(size, type)                                                                                      \
    kernel void usm_sort_tally_##size(global uint *counts, global const type *values, usm_sort s)                       \
    {                                                                                                                   \
        local uint found[USM_SORT_BUCKETS];                                                                             \
        usm_sort_order order = s.order;                                                                                 \
        int item = (int)get_local_id(0);                                                                                \
        for (long t = (long)get_group_id(0); t < s.rows * s.chunks; t += (long)get_num_groups(0)) {                     \
            long r = t / s.chunks, c = t - r * s.chunks, end = USM_LESSER((c + 1) * s.chunk, s.n);                      \
            found[item] = 0;                                                                                            \
            barrier(CLK_LOCAL_MEM_FENCE);                                                                               \
            USM_UNROLLED for (int e = 0; e < USM_SORT_EACH; e++)                                                  \
            {                                                                                                           \
                long i = c * s.chunk + item + e * USM_SORT_ITEMS;                                                       \
                if (i < end) {                                                                                          \
                    atomic_inc(&found[(uchar)(usm_sort_key_##size(values[r * s.n + i], &order) >> s.shift)]);           \
                }                                                                                                       \
            }                                                                                                           \
            barrier(CLK_LOCAL_MEM_FENCE);                                                                               \
            counts[(r * USM_SORT_BUCKETS + item) * s.chunks + c] = found[item];                                         \
        }                                                                                                               \
    }                                                                                                                   \
    kernel void USM_SORT_ROOM usm_sort_move_##size(global type *values, global char *indices, global const type *old,   \
                                     global const uint *old_indices, global const uint *places, usm_sort s)             \
    {                                                                                                                   \
        local ulong tile[USM_BANKED(USM_SORT_CHUNK) * (size > 4 ? size : 4) / 8 + 1];                             \
        local uint counters[USM_BANKED(USM_COUNTERS * USM_SORT_ITEMS)];                                                 \
        local uint sums[USM_SORT_ITEMS], starts[USM_SORT_BUCKETS];                                                      \
        USM_IN_LOCAL type *xs = (USM_IN_LOCAL type *)tile;                                                              \
        USM_IN_LOCAL uint *is = (USM_IN_LOCAL uint *)tile;                                                              \
        type x[USM_SORT_EACH];                                                                                    \
        uint index[USM_SORT_EACH], at[USM_SORT_EACH], to[USM_SORT_EACH];                              \
        usm_sort_order order = s.order;                                                                                 \
        int item = (int)get_local_id(0), own = item * USM_SORT_EACH;                                              \
        for (long t = (long)get_group_id(0); t < s.rows * s.chunks; t += (long)get_num_groups(0)) {                     \
            long r = t / s.chunks, c = t - r * s.chunks, from = c * s.chunk, row = r * s.n;                             \
            int count = (int)USM_LESSER(s.chunk, s.n - from);                                                           \
            for (int k = item; k < count; k += USM_SORT_ITEMS) {                                                        \
                xs[USM_BANKED(k)] = old[row + from + k];                                                                \
            }                                                                                                           \
            barrier(CLK_LOCAL_MEM_FENCE);                                                                               \
            USM_UNROLLED for (int e = 0; e < USM_SORT_EACH; e++)                                                  \
            {                                                                                                           \
                x[e] = xs[USM_BANKED(own + e)];                                                                         \
                index[e] = !s.indices || own + e >= count ? 0                                                           \
                           : s.first                      ? (uint)(from + own + e)                                      \
                                                          : old_indices[row + from + own + e];                          \
            }                                                                                                           \
            USM_ROLLED for (int round = 0; round < (int)s.rounds; round++)                                              \
            {                                                                                                           \
                int shift = (int)s.shift + round * USM_HALF_BITS;                                                       \
                USM_UNROLLED for (int k = 0; k < USM_COUNTERS; k++)                                                     \
                {                                                                                                       \
                    counters[USM_COUNTER(k, item)] = 0;                                                                 \
                }                                                                                                       \
                USM_UNROLLED for (int e = 0; e < USM_SORT_EACH; e++)                                              \
                {                                                                                                       \
                    int d = own + e >= count ? USM_HALVES - 1                                                           \
                                             : (int)(usm_sort_key_##size(x[e], &order) >> shift) & (USM_HALVES - 1);    \
                    uint shared = counters[USM_COUNTER(d, item)];                                                       \
                    to[e] = (uint)d;                                                                                    \
                    at[e] = shared >> ((d & 8) << 1) & 0xffff;                                                          \
                    counters[USM_COUNTER(d, item)] = shared + (1u << ((d & 8) << 1));                                   \
                }                                                                                                       \
                barrier(CLK_LOCAL_MEM_FENCE);                                                                           \
                uint sum = 0;                                                                                           \
                USM_UNROLLED for (int k = 0; k < USM_COUNTERS; k++)                                                     \
                {                                                                                                       \
                    sum += counters[USM_BANKED(item * USM_COUNTERS + k)];                                               \
                }                                                                                                       \
                sums[item] = sum;                                                                                       \
                barrier(CLK_LOCAL_MEM_FENCE);                                                                           \
                uint before = 0;                                                                                        \
                for (int k = item & ~15; k < item; k++) {                                                               \
                    before += sums[k];                                                                                  \
                }                                                                                                       \
                if ((item & 15) == 15) {                                                                                \
                    starts[item >> 4] = before + sum;                                                                   \
                }                                                                                                       \
                barrier(CLK_LOCAL_MEM_FENCE);                                                                           \
                uint all = 0;                                                                                           \
                for (int k = 0; k < 16; k++) {                                                                          \
                    before += k < item >> 4 ? starts[k] : 0;                                                            \
                    all += starts[k];                                                                                   \
                }                                                                                                       \
                before += all << 16; /* the upper half digits come behind all the lower ones */                         \
                USM_UNROLLED for (int k = 0; k < USM_COUNTERS; k++)                                                     \
                {                                                                                                       \
                    uint here = counters[USM_BANKED(item * USM_COUNTERS + k)];                                          \
                    counters[USM_BANKED(item * USM_COUNTERS + k)] = before;                                             \
                    before += here;                                                                                     \
                }                                                                                                       \
                barrier(CLK_LOCAL_MEM_FENCE);                                                                           \
                USM_UNROLLED for (int e = 0; e < USM_SORT_EACH; e++)                                              \
                {                                                                                                       \
                    at[e] = USM_BANKED(at[e] + (counters[USM_COUNTER(to[e], item)] >> ((to[e] & 8) << 1) & 0xffff));    \
                    xs[at[e]] = x[e];                                                                                   \
                }                                                                                                       \
                barrier(CLK_LOCAL_MEM_FENCE);                                                                           \
                if (round + 1 < (int)s.rounds) {                                                                        \
                    USM_UNROLLED for (int e = 0; e < USM_SORT_EACH; e++)                                          \
                    {                                                                                                   \
                        x[e] = xs[USM_BANKED(own + e)];                                                                 \
                    }                                                                                                   \
                    if (s.indices) {                                                                                    \
                        barrier(CLK_LOCAL_MEM_FENCE);                                                                   \
                        USM_UNROLLED for (int e = 0; e < USM_SORT_EACH; e++)                                      \
                        {                                                                                               \
                            is[at[e]] = index[e];                                                                       \
                        }                                                                                               \
                        barrier(CLK_LOCAL_MEM_FENCE);                                                                   \
                        USM_UNROLLED for (int e = 0; e < USM_SORT_EACH; e++)                                      \
                        {                                                                                               \
                            index[e] = is[USM_BANKED(own + e)];                                                         \
                        }                                                                                               \
                    }                                                                                                   \
                    barrier(CLK_LOCAL_MEM_FENCE);                                                                       \
                }                                                                                                       \
            }                                                                                                           \
            /* xs is in order: where each bucket begins in it, and in the row. */                                       \
            USM_UNROLLED for (int e = 0; e < USM_SORT_EACH; e++)                                                  \
            {                                                                                                           \
                int k = item + e * USM_SORT_ITEMS;                                                                      \
                to[e] = (uint)k;                                                                                        \
                if (s.chunks > 1 && k < count) {                                                                        \
                    to[e] = (uchar)(usm_sort_key_##size(xs[USM_BANKED(k)], &order) >> s.shift);                         \
                    if (k == 0 ||                                                                                       \
                        to[e] != (uchar)(usm_sort_key_##size(xs[USM_BANKED(k - 1)], &order) >> s.shift)) {              \
                        starts[to[e]] = places[to[e] * s.chunks + r * (s.chunks * USM_SORT_BUCKETS + 1) + c] - (uint)k; \
                    }                                                                                                   \
                }                                                                                                       \
            }                                                                                                           \
            barrier(CLK_LOCAL_MEM_FENCE);                                                                               \
            USM_UNROLLED for (int e = 0; e < USM_SORT_EACH; e++)                                                  \
            {                                                                                                           \
                int k = item + e * USM_SORT_ITEMS;                                                                      \
                if (k < count) {                                                                                        \
                    to[e] = s.chunks > 1 ? starts[to[e]] + (uint)k : (uint)k;                                           \
                    if (s.values || (s.indices && !s.last)) {                                                           \
                        values[row + to[e]] = xs[USM_BANKED(k)];                                                        \
                    }                                                                                                   \
                }                                                                                                       \
            }                                                                                                           \
            barrier(CLK_LOCAL_MEM_FENCE);                                                                               \
            if (s.indices) {                                                                                            \
                USM_UNROLLED for (int e = 0; e < USM_SORT_EACH; e++)                                              \
                {                                                                                                       \
                    is[at[e]] = index[e];                                                                               \
                }                                                                                                       \
                barrier(CLK_LOCAL_MEM_FENCE);                                                                           \
                USM_UNROLLED for (int e = 0; e < USM_SORT_EACH; e++)                                              \
                {                                                                                                       \
                    int k = item + e * USM_SORT_ITEMS;                                                                  \
                    if (k < count && s.last) {                                                                          \
                        ((global long *)indices)[row + to[e]] = is[USM_BANKED(k)];                                      \
                    } else if (k < count) {                                                                             \
                        ((global uint *)indices)[row + to[e]] = is[USM_BANKED(k)];                                      \
                    }                                                                                                   \
                }                                                                                                       \
                barrier(CLK_LOCAL_MEM_FENCE);                                                                           \
            }                                                                                                           \
        }                                                                                                               \
    }
#else
#define USM_SORT_TILES(size, type)
#endif

#if USM_WANTS(1)
USM_SORT_KERNELS(1, uchar)
USM_SORT_TILES(1, uchar)
#endif
#if USM_WANTS(2)
USM_SORT_KERNELS(2, ushort)
USM_SORT_TILES(2, ushort)
#endif
#if USM_WANTS(4)
USM_SORT_KERNELS(4, uint)
USM_SORT_TILES(4, uint)
#endif
#if USM_WANTS(8)
USM_SORT_KERNELS(8, ulong)
USM_SORT_TILES(8, ulong)
#endif
#undef USM_ONLY
#undef USM_WANTS
