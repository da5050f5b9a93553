/*
 * The built-in kernels that are launched as kernels (csrc/core/builtin/builtin.h), as the host runs them:
 * compiled from the one source of csrc/kernels, a thread's part of the range in variables of the thread. The
 * file is compiled once more, in part, for wider vectors (builtin_wide.c).
 */
#include "builtin.h"

#include "operate.h"
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

/* Kernels of so many pointers and one struct. */
#define ONE(name, type) RUN(name, name(POINTER(0), VALUE(1, type)))
#define TWO(name, type) RUN(name, name(POINTER(0), POINTER(1), VALUE(2, type)))
#define THREE(name, type) RUN(name, name(POINTER(0), POINTER(1), POINTER(2), VALUE(3, type)))
#define FOUR(name, type) RUN(name, name(POINTER(0), POINTER(1), POINTER(2), POINTER(3), VALUE(4, type)))
/* What is bound by the width of vectors: of the numbers that are compared most. */
THREE(usm_compare_int64, usm_elements)
THREE(usm_compare_float32, usm_elements)
THREE(usm_compare_float64, usm_elements)
THREE(usm_logic, usm_elements)
TWO(usm_classify_4, usm_elements)
TWO(usm_classify_8, usm_elements)
TWO(usm_unravel, usm_indices)
TWO(usm_mask_count, usm_mask)
THREE(usm_mask_place, usm_mask)
TWO(usm_reduce, usm_reduction)

#ifndef USM_CPU_WIDE
#define TAKE(name, size, type)                                                                     \
    static void flat_##name(char *dst, const char *src, const char *index, const usm_take *g)      \
    {                                                                                              \
        take_flat(dst, src, index, g, size, sizeof(type));                                         \
    }                                                                                              \
    RUN(usm_take_##name, if (is_flat(&VALUE(3, usm_take), size, sizeof(type)))                     \
                             flat_##name(POINTER(0), POINTER(1), POINTER(2), &VALUE(3, usm_take)); \
        else usm_take_##name(POINTER(0), POINTER(1), POINTER(2), VALUE(3, usm_take)))
#define TRIANGLE(name) RUN(name, name(POINTER(0), VALUE(1, usm_triangle)))

/* Single elements by a vector of indices. */
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

/* What the second cache holds is there in time without being asked for. */
#define NEAR_BYTES ((int64_t)256 << 10)
/* Elements that are asked for ahead: nothing but the index tells where they are. */
#define TAKEN_AHEAD 64
#define TAKEN_BYTES 4096

static inline __attribute__((always_inline)) void take_flat(char *dst, const char *src, const char *index,
                                                            const usm_take *given, int size, int index_size)
{
    _Alignas(USM_CPU_LINE) char made[TAKEN_BYTES];
    const usm_take *g = given;
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

TAKE(1, 1, int64_t)
TAKE(2, 2, int64_t)
TAKE(4, 4, int64_t)
TAKE(8, 8, int64_t)
TAKE(16, 16, int64_t)
TAKE(1_int32, 1, int32_t)
TAKE(2_int32, 2, int32_t)
TAKE(4_int32, 4, int32_t)
TAKE(8_int32, 8, int32_t)
TAKE(16_int32, 16, int32_t)
RUN(usm_expand, usm_expand(POINTER(0), POINTER(1), VALUE(2, ulong)))
TRIANGLE(usm_triangle_1)
TRIANGLE(usm_triangle_2)
TRIANGLE(usm_triangle_4)
TRIANGLE(usm_triangle_8)

#define OPERATE(name, n)                                                                                \
    static int run_##name(const void *const *arguments, const size_t *global_size, const size_t *local, \
                          const size_t *lo, const size_t *hi)                                           \
    {                                                                                                   \
        char *operands[n];                                                                              \
        (void)global_size;                                                                              \
        (void)local;                                                                                    \
        for (int i = 0; i < n; i++) {                                                                   \
            operands[i] = POINTER(i);                                                                   \
        }                                                                                               \
        usm_cpu_operate(operands, n, &VALUE(n, usm_elements), lo, hi);                                  \
        return 0;                                                                                       \
    }
#define ACCUMULATE(type, number) \
    RUN(usm_accumulate_##type, usm_cpu_accumulate(POINTER(0), POINTER(1), number, &VALUE(2, usm_accumulation), lo, hi))
ACCUMULATE(int8, USM_INT8)
ACCUMULATE(int16, USM_INT16)
ACCUMULATE(int32, USM_INT32)
ACCUMULATE(int64, USM_INT64)
ACCUMULATE(uint8, USM_UINT8)
ACCUMULATE(uint16, USM_UINT16)
ACCUMULATE(uint32, USM_UINT32)
ACCUMULATE(uint64, USM_UINT64)
ACCUMULATE(float32, USM_FLOAT32)
ACCUMULATE(float64, USM_FLOAT64)
#define SCAN(type, number)                                                                                 \
    RUN(usm_totals_##type,                                                                                 \
        usm_cpu_loops_of(number)->totals(POINTER(0), POINTER(1), &VALUE(2, usm_scan), lo, hi))             \
    RUN(usm_scan_##type,                                                                                   \
        usm_cpu_loops_of(number)->scan(POINTER(0), POINTER(1), POINTER(2), &VALUE(3, usm_scan), lo, hi))
SCAN(uint8, USM_UINT8)
SCAN(uint16, USM_UINT16)
SCAN(uint32, USM_UINT32)
SCAN(uint64, USM_UINT64)
SCAN(float32, USM_FLOAT32)
SCAN(float64, USM_FLOAT64)
OPERATE(usm_operate_1, 2)
OPERATE(usm_operate_2, 3)
THREE(usm_compare_int8, usm_elements)
THREE(usm_compare_int32, usm_elements)
THREE(usm_compare_uint8, usm_elements)
THREE(usm_compare_int16, usm_elements)
THREE(usm_compare_uint16, usm_elements)
THREE(usm_compare_uint32, usm_elements)
THREE(usm_compare_uint64, usm_elements)
THREE(usm_compare_float16, usm_elements)
THREE(usm_compare_bfloat16, usm_elements)
THREE(usm_compare_complex64, usm_elements)
THREE(usm_compare_complex128, usm_elements)
TWO(usm_classify_2, usm_elements)
TWO(usm_classify_4_4, usm_elements)
TWO(usm_classify_8_8, usm_elements)
FOUR(usm_where_1, usm_elements)
FOUR(usm_where_2, usm_elements)
FOUR(usm_where_4, usm_elements)
FOUR(usm_where_8, usm_elements)
FOUR(usm_where_16, usm_elements)
THREE(usm_gather_1, usm_elements)
THREE(usm_gather_2, usm_elements)
THREE(usm_gather_4, usm_elements)
THREE(usm_gather_8, usm_elements)
THREE(usm_gather_16, usm_elements)
THREE(usm_scatter_1, usm_elements)
THREE(usm_scatter_2, usm_elements)
THREE(usm_scatter_4, usm_elements)
THREE(usm_scatter_8, usm_elements)
THREE(usm_scatter_16, usm_elements)
THREE(usm_locate, usm_indices)
ONE(usm_mask_scan, usm_mask)

#define SEQUENCE(name) RUN(name, name(POINTER(0), VALUE(1, ulong), VALUE(2, ulong), VALUE(3, ulong)))
#define REAL_SEQUENCE(name) \
    RUN(name, name(POINTER(0), VALUE(1, double), VALUE(2, double), VALUE(3, double), VALUE(4, ulong)))
SEQUENCE(usm_sequence_uint8)
SEQUENCE(usm_sequence_uint16)
SEQUENCE(usm_sequence_uint32)
SEQUENCE(usm_sequence_uint64)
REAL_SEQUENCE(usm_sequence_float32)
REAL_SEQUENCE(usm_sequence_float64)
#endif

/* clang-format off */
#define ENTRY(function) {.name = #function, .run = run_##function}
/* clang-format on */

static const struct usmpy_kernel_entry entries[] = {
    ENTRY(usm_compare_int64),
    ENTRY(usm_compare_float32),
    ENTRY(usm_compare_float64),
    ENTRY(usm_logic),
    ENTRY(usm_classify_4),
    ENTRY(usm_classify_8),
    ENTRY(usm_unravel),
    ENTRY(usm_mask_count),
    ENTRY(usm_mask_place),
    ENTRY(usm_reduce),
#ifndef USM_CPU_WIDE
    ENTRY(usm_take_1),
    ENTRY(usm_take_2),
    ENTRY(usm_take_4),
    ENTRY(usm_take_8),
    ENTRY(usm_take_16),
    ENTRY(usm_take_1_int32),
    ENTRY(usm_take_2_int32),
    ENTRY(usm_take_4_int32),
    ENTRY(usm_take_8_int32),
    ENTRY(usm_take_16_int32),
    ENTRY(usm_expand),
    ENTRY(usm_triangle_1),
    ENTRY(usm_triangle_2),
    ENTRY(usm_triangle_4),
    ENTRY(usm_triangle_8),
    ENTRY(usm_accumulate_int8),
    ENTRY(usm_accumulate_int16),
    ENTRY(usm_accumulate_int32),
    ENTRY(usm_accumulate_int64),
    ENTRY(usm_accumulate_uint8),
    ENTRY(usm_accumulate_uint16),
    ENTRY(usm_accumulate_uint32),
    ENTRY(usm_accumulate_uint64),
    ENTRY(usm_accumulate_float32),
    ENTRY(usm_accumulate_float64),
    ENTRY(usm_totals_uint8),
    ENTRY(usm_scan_uint8),
    ENTRY(usm_totals_uint16),
    ENTRY(usm_scan_uint16),
    ENTRY(usm_totals_uint32),
    ENTRY(usm_scan_uint32),
    ENTRY(usm_totals_uint64),
    ENTRY(usm_scan_uint64),
    ENTRY(usm_totals_float32),
    ENTRY(usm_scan_float32),
    ENTRY(usm_totals_float64),
    ENTRY(usm_scan_float64),
    ENTRY(usm_operate_1),
    ENTRY(usm_operate_2),
    ENTRY(usm_compare_int8),
    ENTRY(usm_compare_int32),
    ENTRY(usm_compare_uint8),
    ENTRY(usm_compare_int16),
    ENTRY(usm_compare_uint16),
    ENTRY(usm_compare_uint32),
    ENTRY(usm_compare_uint64),
    ENTRY(usm_compare_float16),
    ENTRY(usm_compare_bfloat16),
    ENTRY(usm_compare_complex64),
    ENTRY(usm_compare_complex128),
    ENTRY(usm_classify_2),
    ENTRY(usm_classify_4_4),
    ENTRY(usm_classify_8_8),
    ENTRY(usm_where_1),
    ENTRY(usm_where_2),
    ENTRY(usm_where_4),
    ENTRY(usm_where_8),
    ENTRY(usm_where_16),
    ENTRY(usm_gather_1),
    ENTRY(usm_gather_2),
    ENTRY(usm_gather_4),
    ENTRY(usm_gather_8),
    ENTRY(usm_gather_16),
    ENTRY(usm_scatter_1),
    ENTRY(usm_scatter_2),
    ENTRY(usm_scatter_4),
    ENTRY(usm_scatter_8),
    ENTRY(usm_scatter_16),
    ENTRY(usm_locate),
    ENTRY(usm_mask_scan),
    ENTRY(usm_sequence_uint8),
    ENTRY(usm_sequence_uint16),
    ENTRY(usm_sequence_uint32),
    ENTRY(usm_sequence_uint64),
    ENTRY(usm_sequence_float32),
    ENTRY(usm_sequence_float64),
#endif
};

#ifdef USM_CPU_WIDE
const struct usmpy_kernels usm_cpu_builtins_wide = {
#else
const struct usmpy_kernels usm_cpu_builtins = {
#endif
    USMPY_KERNELS_VERSION,
    sizeof entries / sizeof entries[0],
    entries,
};
