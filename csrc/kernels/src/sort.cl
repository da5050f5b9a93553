/*
 * Stable sorts of rows by radix: for each digit, the elements of every bucket are counted (usm_sort_count),
 * the counts are added up by others (core/ops/sort.c), and the elements move to their buckets
 * (usm_sort_place). Rows of few elements are sorted by rank in one launch. usm_search finds places in a
 * sorted row.
 *
 * Dimension 0 of the range shares out the elements of usm_sort_rank and usm_search; dimension 1 the chunks of
 * the other kernels, and the rows of usm_sort_rank; dimension 2 their rows. -D USM_ONLY=SIZE builds the
 * kernels for elements of one size alone.
 */
#include "range.h"
#include "sort_key.h"

/* Loops that are not unrolled: PTX is stored as text. */
#ifdef __CUDACC_RTC__
#define USM_ROLLED _Pragma("unroll 1")
#else
#define USM_ROLLED
#endif

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

#if USM_WANTS(1)
USM_SORT_KERNELS(1, uchar)
#endif
#if USM_WANTS(2)
USM_SORT_KERNELS(2, ushort)
#endif
#if USM_WANTS(4)
USM_SORT_KERNELS(4, uint)
#endif
#if USM_WANTS(8)
USM_SORT_KERNELS(8, ulong)
#endif
#undef USM_ONLY
#undef USM_WANTS
