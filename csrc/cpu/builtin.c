/*
 * The built-in kernels that are launched as kernels (csrc/core/builtin/builtin.h), for the host: compiled
 * from the one source in csrc/kernels. A thread has its part of the range in a variable of the thread. The
 * file is compiled again, in part, for wider vectors (builtin_wide.c).
 */
#include "builtin.h"

#include "operate.h"
#include "sort.h"
#include "stream.h"

#include <stdbool.h>

static _Thread_local struct {
    int64_t lo[3], hi[3];
} part;

#define USM_FROM(n, dimension) ((void)(n), part.lo[dimension])
#define USM_TO(n, dimension) ((void)(n), part.hi[dimension])
#define USM_STEP(dimension) 1

#define USM_HOST 1

#include "portable.h"

#include "kernels/src/classify.cl"
#include "kernels/src/compare.cl"
#include "kernels/src/gather.cl"
#include "kernels/src/index.cl"
#include "kernels/src/logic.cl"
#include "kernels/src/mask.cl"
#include "kernels/src/reduce.cl"
#include "kernels/src/sequence.cl"
#include "kernels/src/sort.cl"
#include "kernels/src/take.cl"
#include "kernels/src/triangle.cl"
#include "kernels/src/where.cl"

static void set_part(const size_t *lo, const size_t *hi)
{
    for (int i = 0; i < 3; i++) {
        part.lo[i] = (int64_t)lo[i];
        part.hi[i] = (int64_t)hi[i];
    }
}

/* The argument number i. */
#define POINTER(i) (*(void *const *)arguments[i])
#define VALUE(i, type) (*(const type *)arguments[i])

/* A function of usmpy_kernel_entry's form over the kernel. */
#define RUN(name, call)                                                                                 \
    static int run_##name(const void *const *arguments, const size_t *global_size, const size_t *local, \
                          const size_t *lo, const size_t *hi)                                           \
    {                                                                                                   \
        (void)global_size;                                                                              \
        (void)local;                                                                                    \
        set_part(lo, hi);                                                                               \
        call;                                                                                           \
        return 0;                                                                                       \
    }

/* K(name, call) for a kernel whose arguments are pointers, as many as the name says, and a struct. */
#define ONE(K, name, type) K(name, name(POINTER(0), VALUE(1, type)))
#define TWO(K, name, type) K(name, name(POINTER(0), POINTER(1), VALUE(2, type)))
#define THREE(K, name, type) K(name, name(POINTER(0), POINTER(1), POINTER(2), VALUE(3, type)))
#define FOUR(K, name, type) K(name, name(POINTER(0), POINTER(1), POINTER(2), POINTER(3), VALUE(4, type)))

/* Kernels whose speed depends on the width of vectors, for the types that are compared most. */
#define WIDE_KERNELS(K)                         \
    THREE(K, usm_compare_int64, usm_elements)   \
    THREE(K, usm_compare_float32, usm_elements) \
    THREE(K, usm_compare_float64, usm_elements) \
    THREE(K, usm_logic, usm_elements)           \
    TWO(K, usm_classify_4, usm_elements)        \
    TWO(K, usm_classify_8, usm_elements)        \
    TWO(K, usm_unravel, usm_indices)            \
    TWO(K, usm_mask_count, usm_mask)            \
    THREE(K, usm_mask_place, usm_mask)          \
    TWO(K, usm_reduce, usm_reduction)

#ifdef USM_CPU_WIDE
#define OTHER_KERNELS(K)
#else
/* Single elements by a vector of indices: no other axis. */
static bool is_flat(const usm_take *g, int64_t size, int64_t index_size)
{
    bool flat = g->dst[0] == size && g->index[0] == index_size && g->src[0] == 0;
    for (int i = 1; i < USM_TAKE_AXES; i++) {
        flat = flat && g->shape[i] == 1;
    }
    return flat;
}

static inline __attribute__((always_inline)) const char *taken(const char *src, const char *index, int64_t i,
                                                               const usm_take *g, int index_size)
{
    int64_t wide;
    int32_t narrow;
    if (index_size == 8) {
        memcpy(&wide, index + i * 8, 8);
    } else {
        memcpy(&narrow, index + i * 4, 4);
        wide = narrow;
    }
    return src + usm_nearest(wide, g->length) * g->step;
}

/* A source that fits in the second-level cache needs no prefetch. */
#define NEAR_BYTES ((int64_t)256 << 10)
/* How many elements ahead are prefetched: their addresses are in the index alone. */
#define TAKEN_AHEAD 64
#define TAKEN_BYTES 4096

static inline __attribute__((always_inline)) void take_flat(char *dst, const char *src, const char *index,
                                                            const usm_take *g, int size, int index_size)
{
    _Alignas(USM_CPU_LINE) char made[TAKEN_BYTES];
    int64_t end = part.hi[0], last = end - 1;
    bool streams = (size_t)(g->shape[0] * size) >= USM_CPU_LARGE;
    bool is_near = g->length * (g->step < 0 ? -g->step : g->step) <= NEAR_BYTES;
    for (int64_t from = part.lo[0], n; from < end; from += n) {
        char *to = dst + from * size;
        size_t head = usm_cpu_before_line(to);
        n = head > 0 ? (int64_t)(head + (size_t)size - 1) / size : TAKEN_BYTES / size;
        n = n < end - from ? n : end - from;
        bool lines = streams && head == 0 && (size_t)(n * size) % USM_CPU_LINE == 0;
        char *out = lines ? made : to;
        if (is_near) {
            for (int64_t i = 0; i < n; i++) {
                memcpy(out + i * size, taken(src, index, from + i, g, index_size), (size_t)size);
            }
        } else {
            for (int64_t i = 0; i < n; i++) {
                int64_t next = from + i + TAKEN_AHEAD;
                __builtin_prefetch(taken(src, index, next < last ? next : last, g, index_size));
                memcpy(out + i * size, taken(src, index, from + i, g, index_size), (size_t)size);
            }
        }
        if (lines) {
            usm_cpu_stream_lines(to, made, (size_t)(n * size));
        }
    }
    if (streams) {
        usm_cpu_stream_end();
    }
}

#define TAKE(K, name, size, type)                                                                        \
    K(usm_take_##name, if (is_flat(&VALUE(3, usm_take), size, sizeof(type))) take_flat(                  \
                           POINTER(0), POINTER(1), POINTER(2), &VALUE(3, usm_take), size, sizeof(type)); \
      else usm_take_##name(POINTER(0), POINTER(1), POINTER(2), VALUE(3, usm_take)))
#define SEQUENCE(K, name) K(name, name(POINTER(0), VALUE(1, ulong), VALUE(2, ulong), VALUE(3, ulong)))
#define REAL_SEQUENCE(K, name) \
    K(name, name(POINTER(0), VALUE(1, double), VALUE(2, double), VALUE(3, double), VALUE(4, ulong)))

/* The kernels of one type; each macro adds to those of the one before it. */
#define SIGNED(K, type, number)                                                                 \
    K(usm_accumulate_##type,                                                                    \
      usm_cpu_accumulate(POINTER(0), POINTER(1), number, &VALUE(2, usm_accumulation), lo, hi))  \
    K(usm_extreme_##type, usm_cpu_loops_of(number)->extreme(POINTER(0), POINTER(1), POINTER(2), \
                                                            &VALUE(3, usm_extremes), lo, hi))
#define COMPLEX(K, type, number)                                                             \
    SIGNED(K, type, number)                                                                  \
    K(usm_totals_##type,                                                                     \
      usm_cpu_loops_of(number)->totals(POINTER(0), POINTER(1), &VALUE(2, usm_scan), lo, hi)) \
    K(usm_scan_##type,                                                                       \
      usm_cpu_loops_of(number)->scan(POINTER(0), POINTER(1), POINTER(2), &VALUE(3, usm_scan), lo, hi))
#define UNSIGNED(K, type, number) \
    COMPLEX(K, type, number)      \
    K(usm_matmul_##type,          \
      usm_cpu_loops_of(number)->matmul(POINTER(0), POINTER(1), POINTER(2), &VALUE(3, usm_matmul), lo, hi))
#define REAL(K, type, number) \
    UNSIGNED(K, type, number) \
    K(usm_blas_##type, usm_cpu_blas(number, POINTER(0), POINTER(1), POINTER(2), &VALUE(3, usm_matmul)))

/* The kernels for elements of one size, and those of sizes up to 8. */
#define MOVES(K, size)                        \
    TAKE(K, size, size, int64_t)              \
    TAKE(K, size##_int32, size, int32_t)      \
    FOUR(K, usm_where_##size, usm_elements)   \
    THREE(K, usm_gather_##size, usm_elements) \
    THREE(K, usm_scatter_##size, usm_elements)
#define WORDS(K, size)                                                                                       \
    ONE(K, usm_triangle_##size, usm_triangle)                                                                \
    TWO(K, usm_sort_count_##size, usm_sort)                                                                  \
    K(usm_sort_place_##size,                                                                                 \
      usm_sort_place_##size(POINTER(0), POINTER(1), POINTER(2), POINTER(3), POINTER(4), VALUE(5, usm_sort))) \
    K(usm_sort_rows_##size, usm_cpu_sort(size, POINTER(0), POINTER(1), POINTER(2), POINTER(3), POINTER(4),   \
                                         &VALUE(5, usm_sort), lo[1], hi[1]))                                 \
    FOUR(K, usm_search_##size, usm_search)
#define OPERANDS_2             \
    (char *[])                 \
    {                          \
        POINTER(0), POINTER(1) \
    }
#define OPERANDS_3                         \
    (char *[])                             \
    {                                      \
        POINTER(0), POINTER(1), POINTER(2) \
    }
#define OTHER_KERNELS(K)                                                              \
    SIGNED(K, int8, USM_INT8)                                                         \
    SIGNED(K, int16, USM_INT16)                                                       \
    SIGNED(K, int32, USM_INT32)                                                       \
    SIGNED(K, int64, USM_INT64)                                                       \
    UNSIGNED(K, uint8, USM_UINT8)                                                     \
    UNSIGNED(K, uint16, USM_UINT16)                                                   \
    UNSIGNED(K, uint32, USM_UINT32)                                                   \
    UNSIGNED(K, uint64, USM_UINT64)                                                   \
    REAL(K, float32, USM_FLOAT32)                                                     \
    REAL(K, float64, USM_FLOAT64)                                                     \
    COMPLEX(K, complex64, USM_COMPLEX64)                                              \
    COMPLEX(K, complex128, USM_COMPLEX128)                                            \
    MOVES(K, 1)                                                                       \
    MOVES(K, 2)                                                                       \
    MOVES(K, 4)                                                                       \
    MOVES(K, 8)                                                                       \
    MOVES(K, 16)                                                                      \
    WORDS(K, 1)                                                                       \
    WORDS(K, 2)                                                                       \
    WORDS(K, 4)                                                                       \
    WORDS(K, 8)                                                                       \
    K(usm_operate_1, usm_cpu_operate(OPERANDS_2, 2, &VALUE(2, usm_elements), lo, hi)) \
    K(usm_operate_2, usm_cpu_operate(OPERANDS_3, 3, &VALUE(3, usm_elements), lo, hi)) \
    K(usm_expand, usm_expand(POINTER(0), POINTER(1), VALUE(2, ulong)))                \
    THREE(K, usm_compare_int8, usm_elements)                                          \
    THREE(K, usm_compare_int32, usm_elements)                                         \
    THREE(K, usm_compare_uint8, usm_elements)                                         \
    THREE(K, usm_compare_int16, usm_elements)                                         \
    THREE(K, usm_compare_uint16, usm_elements)                                        \
    THREE(K, usm_compare_uint32, usm_elements)                                        \
    THREE(K, usm_compare_uint64, usm_elements)                                        \
    THREE(K, usm_compare_float16, usm_elements)                                       \
    THREE(K, usm_compare_bfloat16, usm_elements)                                      \
    THREE(K, usm_compare_complex64, usm_elements)                                     \
    THREE(K, usm_compare_complex128, usm_elements)                                    \
    TWO(K, usm_classify_2, usm_elements)                                              \
    TWO(K, usm_classify_4_4, usm_elements)                                            \
    TWO(K, usm_classify_8_8, usm_elements)                                            \
    THREE(K, usm_locate, usm_indices)                                                 \
    ONE(K, usm_mask_scan, usm_mask)                                                   \
    SEQUENCE(K, usm_sequence_uint8)                                                   \
    SEQUENCE(K, usm_sequence_uint16)                                                  \
    SEQUENCE(K, usm_sequence_uint32)                                                  \
    SEQUENCE(K, usm_sequence_uint64)                                                  \
    REAL_SEQUENCE(K, usm_sequence_float32)                                            \
    REAL_SEQUENCE(K, usm_sequence_float64)
#endif

WIDE_KERNELS(RUN)
OTHER_KERNELS(RUN)

/* clang-format off */
#define ENTRY(function, call) {.name = #function, .run = run_##function},
static const struct usmpy_kernel_entry entries[] = {WIDE_KERNELS(ENTRY) OTHER_KERNELS(ENTRY)};
/* clang-format on */

#ifdef USM_CPU_WIDE
const struct usmpy_kernels usm_cpu_builtins_wide = {
#else
const struct usmpy_kernels usm_cpu_builtins = {
#endif
    USMPY_KERNELS_VERSION,
    sizeof entries / sizeof entries[0],
    entries,
};
