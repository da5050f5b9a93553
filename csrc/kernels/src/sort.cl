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
/*
 * USM_SORT_PLACES(digit): sorts the tile by digit(e), the digit of USM_ROUND_BITS bits of element USM_OWN(e), stably.
 * at[e] becomes the place of that element in the sorted tile.
 *
 * USM_SORT_AHEAD(size): ahead[d] becomes the difference between the places of bucket d's elements in the row and in the
 * sorted tile. USM_SORT_GONE(size): the next tile's elements go behind those of this one.
 */
#ifdef __CUDACC_RTC__
#define USM_IN_LOCAL /* pointers name no space */
#define USM_SORT_ROOM __launch_bounds__(USM_SORT_ITEMS, 4)
/*
 * A warp has 32 * USM_SORT_EACH neighbours, and takes 32 of them at a time: those with the same digit find each
 * other by votes, and add their number to the warp's counter of that digit. Then a work-item adds up one digit over all
 * warps, and knows the differences for it.
 */
#define USM_ROUND_BITS 8
#define USM_COUNTERS (USM_SORT_ITEMS / 32 * USM_SORT_BUCKETS)
#define USM_OWN(e) ((item / 32 * USM_SORT_EACH + (e)) * 32 + (item & 31))
#define USM_PLACE(k) (k)
static inline uint usm_sort_peers(uint d)
{
    uint peers = ~0u;
    USM_UNROLLED for (int bit = 0; bit < USM_ROUND_BITS; bit++)
    {
        uint is_set = d >> bit & 1, all = __ballot_sync(~0u, (int)is_set);
        peers &= is_set ? all : ~all;
    }
    return peers;
}
static inline uint usm_sort_scan(uint sum, uint *sums)
{
    int lane = (int)threadIdx.x & 31;
    uint all = sum, warps = 0;
    USM_UNROLLED for (int step = 1; step < 32; step *= 2)
    {
        uint before = __shfl_up_sync(~0u, all, step);
        all += lane >= step ? before : 0;
    }
    if (lane == 31) {
        sums[threadIdx.x / 32] = all;
    }
    __syncthreads();
    USM_UNROLLED for (int k = 0; k < USM_SORT_ITEMS / 32; k++)
    {
        warps += k < (int)threadIdx.x / 32 ? sums[k] : 0;
    }
    return warps + all - sum;
}
#define USM_SORT_PLACES(digit)                                                          \
    {                                                                                   \
        int lane = item & 31;                                                           \
        uint *of_warp = counters + item / 32 * USM_SORT_BUCKETS, sum = 0;               \
        USM_UNROLLED for (int k = 0; k < USM_SORT_BUCKETS / 32; k++)                    \
        {                                                                               \
            of_warp[k * 32 + lane] = 0;                                                 \
        }                                                                               \
        __syncwarp();                                                                   \
        USM_UNROLLED for (int e = 0; e < USM_SORT_EACH; e++)                            \
        {                                                                               \
            uint d = digit(e), peers = usm_sort_peers(d), before = of_warp[d];          \
            uint rank = (uint)__popc(peers & ((1u << lane) - 1));                       \
            __syncwarp();                                                               \
            if (rank == 0) {                                                            \
                of_warp[d] = before + (uint)__popc(peers);                              \
            }                                                                           \
            __syncwarp();                                                               \
            to[e] = d;                                                                  \
            at[e] = before + rank;                                                      \
        }                                                                               \
        barrier(CLK_LOCAL_MEM_FENCE);                                                   \
        USM_UNROLLED for (int k = 0; k < USM_SORT_ITEMS / 32; k++)                      \
        {                                                                               \
            uint here = counters[k * USM_SORT_BUCKETS + item];                          \
            counters[k * USM_SORT_BUCKETS + item] = sum;                                \
            sum += here;                                                                \
        }                                                                               \
        uint start = usm_sort_scan(sum, sums);                                          \
        starts[item] = start;                                                           \
        ahead[item] = base - start;                                                     \
        base += sum;                                                                    \
        barrier(CLK_LOCAL_MEM_FENCE);                                                   \
        USM_UNROLLED for (int e = 0; e < USM_SORT_EACH; e++)                            \
        {                                                                               \
            at[e] += starts[to[e]] + of_warp[to[e]];                                    \
        }                                                                               \
    }
#define USM_SORT_BASES
#define USM_SORT_BEGIN
#define USM_SORT_AHEAD(size)
#define USM_SORT_GONE(size)
#else
#define USM_IN_LOCAL local
#define USM_SORT_ROOM
/*
 * A work-item has neighbours, and counts them in counters of its own, which all count together then, in the order of
 * digits and work-items. Two counters are in a word, that of digit d in the upper half where d >= 8: word d % 8.
 */
#define USM_ROUND_BITS 4
#define USM_OWN(e) (item * USM_SORT_EACH + (e))
#define USM_PLACE(k) USM_BANKED(k)
#define USM_COUNTERS USM_BANKED(8 * USM_SORT_ITEMS)
#define USM_COUNTER(d) USM_BANKED(((d) & 7) * USM_SORT_ITEMS + item)
#define USM_SORT_PLACES(digit)                                                     \
    {                                                                              \
        uint sum = 0, before = 0, all = 0;                                         \
        for (int k = 0; k < 8; k++) {                                              \
            counters[USM_COUNTER(k)] = 0;                                          \
        }                                                                          \
        for (int e = 0; e < USM_SORT_EACH; e++) {                                  \
            uint d = digit(e), shared = counters[USM_COUNTER(d)];                  \
            to[e] = d;                                                             \
            at[e] = shared >> ((d & 8) << 1) & 0xffff;                             \
            counters[USM_COUNTER(d)] = shared + (1u << ((d & 8) << 1));            \
        }                                                                          \
        barrier(CLK_LOCAL_MEM_FENCE);                                              \
        for (int k = 0; k < 8; k++) {                                              \
            sum += counters[USM_BANKED(item * 8 + k)];                             \
        }                                                                          \
        sums[item] = sum;                                                          \
        barrier(CLK_LOCAL_MEM_FENCE);                                              \
        for (int k = item & ~15; k < item; k++) {                                  \
            before += sums[k];                                                     \
        }                                                                          \
        if ((item & 15) == 15) {                                                   \
            starts[item >> 4] = before + sum;                                      \
        }                                                                          \
        barrier(CLK_LOCAL_MEM_FENCE);                                              \
        for (int k = 0; k < 16; k++) {                                             \
            before += k < item >> 4 ? starts[k] : 0;                               \
            all += starts[k];                                                      \
        }                                                                          \
        before += all << 16; /* the upper digits come behind all the lower ones */ \
        for (int k = 0; k < 8; k++) {                                              \
            uint here = counters[USM_BANKED(item * 8 + k)];                        \
            counters[USM_BANKED(item * 8 + k)] = before;                           \
            before += here;                                                        \
        }                                                                          \
        barrier(CLK_LOCAL_MEM_FENCE);                                              \
        for (int e = 0; e < USM_SORT_EACH; e++) {                                  \
            at[e] += counters[USM_COUNTER(to[e])] >> ((to[e] & 8) << 1) & 0xffff;  \
        }                                                                          \
    }

#define USM_SORT_BUCKET(size, k) ((uchar)(usm_sort_key_##size(xs[USM_PLACE(k)], &order) >> s.shift))
#define USM_SORT_BASES local uint bases[USM_SORT_BUCKETS];
#define USM_SORT_BEGIN bases[item] = base;
#define USM_SORT_AHEAD(size)                                            \
    for (int k = item; k < count && to_buckets; k += USM_SORT_ITEMS) {  \
        uint d = USM_SORT_BUCKET(size, k);                              \
        if (k == 0 || d != USM_SORT_BUCKET(size, k - 1)) {              \
            ahead[d] = bases[d] - (uint)k;                              \
        }                                                               \
    }                                                                   \
    barrier(CLK_LOCAL_MEM_FENCE);
#define USM_SORT_GONE(size)                                             \
    for (int k = item; k < count && to_buckets; k += USM_SORT_ITEMS) {  \
        uint d = USM_SORT_BUCKET(size, k);                              \
        if (k == count - 1 || d != USM_SORT_BUCKET(size, k + 1)) {      \
            bases[d] = ahead[d] + (uint)k + 1;                          \
        }                                                               \
    }                                                                   \
    barrier(CLK_LOCAL_MEM_FENCE);
#endif

/*
 * A group takes a chunk, in tiles of USM_SORT_TILE elements.
 *
 * usm_sort_tally: counts[row][bucket][chunk], as usm_sort_count.
 *
 * usm_sort_move: sorts each tile in local memory by s.rounds half digits from bit s.shift on; elements beyond the end of
 * the chunk stay behind all others. Rows that fit in a tile are sorted then. Else there is one digit, and the elements of
 * the tile move to its buckets, which begin at places[row][bucket][chunk].
 */
#define USM_SORT_DIGIT(size, e)                                                                           \
    (USM_OWN(e) >= count ? (1u << USM_ROUND_BITS) - 1                                                     \
                         : (uint)(usm_sort_key_##size(x[e], &order) >> shift) & ((1u << USM_ROUND_BITS) - 1))
#define USM_SORT_DIGIT_1(e) USM_SORT_DIGIT(1, e)
#define USM_SORT_DIGIT_2(e) USM_SORT_DIGIT(2, e)
#define USM_SORT_DIGIT_4(e) USM_SORT_DIGIT(4, e)
#define USM_SORT_DIGIT_8(e) USM_SORT_DIGIT(8, e)
#define USM_SORT_TILES(size, type)                                                                              \
    kernel void usm_sort_tally_##size(global uint *counts, global const type *values, usm_sort s)               \
    {                                                                                                           \
        local uint found[USM_SORT_BUCKETS];                                                                     \
        usm_sort_order order = s.order;                                                                         \
        int item = (int)get_local_id(0);                                                                        \
        for (long t = (long)get_group_id(0); t < s.rows * s.chunks; t += (long)get_num_groups(0)) {             \
            long r = t / s.chunks, c = t - r * s.chunks, end = USM_LESSER((c + 1) * s.chunk, s.n);              \
            found[item] = 0;                                                                                    \
            barrier(CLK_LOCAL_MEM_FENCE);                                                                       \
            for (long from = c * s.chunk + item; from < end; from += USM_SORT_TILE) {                           \
                type x[USM_SORT_EACH];                                                                          \
                USM_UNROLLED for (int e = 0; e < USM_SORT_EACH; e++)                                            \
                {                                                                                               \
                    x[e] = from + e * USM_SORT_ITEMS < end ? values[r * s.n + from + e * USM_SORT_ITEMS] : 0;   \
                }                                                                                               \
                USM_UNROLLED for (int e = 0; e < USM_SORT_EACH; e++)                                            \
                {                                                                                               \
                    if (from + e * USM_SORT_ITEMS < end) {                                                      \
                        atomic_inc(&found[(uchar)(usm_sort_key_##size(x[e], &order) >> s.shift)]);              \
                    }                                                                                           \
                }                                                                                               \
            }                                                                                                   \
            barrier(CLK_LOCAL_MEM_FENCE);                                                                       \
            counts[(r * USM_SORT_BUCKETS + item) * s.chunks + c] = found[item];                                 \
        }                                                                                                       \
    }                                                                                                           \
    kernel void USM_SORT_ROOM usm_sort_move_##size(global type *values, global char *indices,                   \
                                                   global const type *old, global const uint *old_indices,      \
                                                   global const uint *places, usm_sort s)                       \
    {                                                                                                           \
        local ulong tile[USM_BANKED(USM_SORT_TILE) * (size > 4 ? size : 4) / 8 + 1];                            \
        local uint counters[USM_COUNTERS], sums[USM_SORT_ITEMS], starts[USM_SORT_BUCKETS], ahead[USM_SORT_BUCKETS];\
        USM_SORT_BASES                                                                                          \
        USM_IN_LOCAL type *xs = (USM_IN_LOCAL type *)tile;                                                      \
        USM_IN_LOCAL uint *is = (USM_IN_LOCAL uint *)tile;                                                      \
        type x[USM_SORT_EACH];                                                                                  \
        uint index[USM_SORT_EACH], at[USM_SORT_EACH], to[USM_SORT_EACH];                                        \
        usm_sort_order order = s.order;                                                                         \
        int item = (int)get_local_id(0), to_buckets = s.n > USM_SORT_TILE;                                      \
        for (long t = (long)get_group_id(0); t < s.rows * s.chunks; t += (long)get_num_groups(0)) {             \
            long r = t / s.chunks, c = t - r * s.chunks, row = r * s.n, end = USM_LESSER((c + 1) * s.chunk, s.n);\
            uint base = to_buckets ? places[r * (s.chunks * USM_SORT_BUCKETS + 1) + item * s.chunks + c] : 0;   \
            USM_SORT_BEGIN                                                                                      \
            for (long from = c * s.chunk; from < end; from += USM_SORT_TILE) {                                  \
                int count = (int)USM_LESSER(USM_SORT_TILE, end - from);                                         \
                USM_UNROLLED for (int e = 0; e < USM_SORT_EACH; e++)                                            \
                {                                                                                               \
                    bool is_one = USM_OWN(e) < count;                                                           \
                    x[e] = is_one ? old[row + from + USM_OWN(e)] : 0;                                           \
                    index[e] = !s.indices || !is_one ? 0                                                        \
                               : s.first             ? (uint)(from + USM_OWN(e))                                \
                                                     : old_indices[row + from + USM_OWN(e)];                    \
                }                                                                                               \
                USM_ROLLED for (int part = 0; part < (int)s.rounds; part += USM_ROUND_BITS / 4)                 \
                {                                                                                               \
                    int shift = (int)s.shift + part * 4;                                                        \
                    if (part > 0) {                                                                             \
                        USM_UNROLLED for (int e = 0; e < USM_SORT_EACH; e++)                                    \
                        {                                                                                       \
                            x[e] = xs[USM_PLACE(USM_OWN(e))];                                                   \
                        }                                                                                       \
                        barrier(CLK_LOCAL_MEM_FENCE);                                                           \
                    }                                                                                           \
                    if (part > 0 && s.indices) {                                                                \
                        USM_UNROLLED for (int e = 0; e < USM_SORT_EACH; e++)                                    \
                        {                                                                                       \
                            is[at[e]] = index[e];                                                               \
                        }                                                                                       \
                        barrier(CLK_LOCAL_MEM_FENCE);                                                           \
                        USM_UNROLLED for (int e = 0; e < USM_SORT_EACH; e++)                                    \
                        {                                                                                       \
                            index[e] = is[USM_PLACE(USM_OWN(e))];                                               \
                        }                                                                                       \
                    }                                                                                           \
                    USM_SORT_PLACES(USM_SORT_DIGIT_##size)                                                      \
                    USM_UNROLLED for (int e = 0; e < USM_SORT_EACH; e++)                                        \
                    {                                                                                           \
                        at[e] = USM_PLACE(at[e]);                                                               \
                        xs[at[e]] = x[e];                                                                       \
                    }                                                                                           \
                    barrier(CLK_LOCAL_MEM_FENCE);                                                               \
                }                                                                                               \
                USM_SORT_AHEAD(size)                                                                            \
                USM_UNROLLED for (int e = 0; e < USM_SORT_EACH; e++)                                            \
                {                                                                                               \
                    int k = item + e * USM_SORT_ITEMS;                                                          \
                    if (k < count) {                                                                            \
                        type one = xs[USM_PLACE(k)];                                                            \
                        to[e] = (uint)k;                                                                        \
                        if (to_buckets) {                                                                       \
                            to[e] += ahead[(uchar)(usm_sort_key_##size(one, &order) >> s.shift)];               \
                        }                                                                                       \
                        if (s.values || (s.indices && !s.last)) {                                               \
                            values[row + to[e]] = one;                                                          \
                        }                                                                                       \
                    }                                                                                           \
                }                                                                                               \
                USM_SORT_GONE(size)                                                                             \
                if (s.indices) {                                                                                \
                    barrier(CLK_LOCAL_MEM_FENCE);                                                               \
                    USM_UNROLLED for (int e = 0; e < USM_SORT_EACH; e++)                                        \
                    {                                                                                           \
                        is[at[e]] = index[e];                                                                   \
                    }                                                                                           \
                    barrier(CLK_LOCAL_MEM_FENCE);                                                               \
                    USM_UNROLLED for (int e = 0; e < USM_SORT_EACH; e++)                                        \
                    {                                                                                           \
                        int k = item + e * USM_SORT_ITEMS;                                                      \
                        if (k < count && s.last) {                                                              \
                            ((global long *)indices)[row + to[e]] = is[USM_PLACE(k)];                           \
                        } else if (k < count) {                                                                 \
                            ((global uint *)indices)[row + to[e]] = is[USM_PLACE(k)];                           \
                        }                                                                                       \
                    }                                                                                           \
                }                                                                                               \
            }                                                                                                   \
        }                                                                                                       \
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
