/*
 * The built-in kernels that are launched as kernels (csrc/core/builtin.h), as the host runs them: compiled
 * from the one source of csrc/kernels, a thread's part of the range in variables of the thread.
 */
#include "host.h"

#include "entry.h"

static _Thread_local struct {
    int64_t lo[3], hi[3];
} part;

#define USM_FROM(n, dimension) ((void)(n), part.lo[dimension])
#define USM_TO(n, dimension) ((void)(n), part.hi[dimension])
#define USM_STEP(dimension) 1

#define USM_HOST 1

#include "portable.h"

#include "../../kernels/classify.cl"
#include "../../kernels/compare.cl"
#include "../../kernels/gather.cl"
#include "../../kernels/index.cl"
#include "../../kernels/logic.cl"
#include "../../kernels/mask.cl"
#include "../../kernels/reduce.cl"
#include "../../kernels/take.cl"
#include "../../kernels/triangle.cl"
#include "../../kernels/where.cl"

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
#define TAKE(name) RUN(name, name(POINTER(0), POINTER(1), POINTER(2), VALUE(3, usm_take)))
#define TRIANGLE(name) RUN(name, name(POINTER(0), VALUE(1, usm_triangle)))

TAKE(usm_take_1)
TAKE(usm_take_2)
TAKE(usm_take_4)
TAKE(usm_take_8)
TAKE(usm_take_16)
TAKE(usm_take_1_int32)
TAKE(usm_take_2_int32)
TAKE(usm_take_4_int32)
TAKE(usm_take_8_int32)
TAKE(usm_take_16_int32)
RUN(usm_expand, usm_expand(POINTER(0), POINTER(1), VALUE(2, ulong)))
TRIANGLE(usm_triangle_1)
TRIANGLE(usm_triangle_2)
TRIANGLE(usm_triangle_4)
TRIANGLE(usm_triangle_8)

THREE(usm_compare_int8, usm_elements)
THREE(usm_compare_int16, usm_elements)
THREE(usm_compare_int32, usm_elements)
THREE(usm_compare_int64, usm_elements)
THREE(usm_compare_uint8, usm_elements)
THREE(usm_compare_uint16, usm_elements)
THREE(usm_compare_uint32, usm_elements)
THREE(usm_compare_uint64, usm_elements)
THREE(usm_compare_float16, usm_elements)
THREE(usm_compare_bfloat16, usm_elements)
THREE(usm_compare_float32, usm_elements)
THREE(usm_compare_float64, usm_elements)
THREE(usm_compare_complex64, usm_elements)
THREE(usm_compare_complex128, usm_elements)
THREE(usm_logic, usm_elements)
TWO(usm_classify_2, usm_elements)
TWO(usm_classify_4, usm_elements)
TWO(usm_classify_8, usm_elements)
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
TWO(usm_unravel, usm_indices)
TWO(usm_mask_count, usm_mask)
ONE(usm_mask_scan, usm_mask)
THREE(usm_mask_place, usm_mask)
TWO(usm_reduce, usm_reduction)

/* clang-format off */
#define ENTRY(function) {.name = #function, .run = run_##function}
/* clang-format on */

static const struct usmpy_kernel_entry entries[] = {
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
    ENTRY(usm_compare_int8),
    ENTRY(usm_compare_int16),
    ENTRY(usm_compare_int32),
    ENTRY(usm_compare_int64),
    ENTRY(usm_compare_uint8),
    ENTRY(usm_compare_uint16),
    ENTRY(usm_compare_uint32),
    ENTRY(usm_compare_uint64),
    ENTRY(usm_compare_float16),
    ENTRY(usm_compare_bfloat16),
    ENTRY(usm_compare_float32),
    ENTRY(usm_compare_float64),
    ENTRY(usm_compare_complex64),
    ENTRY(usm_compare_complex128),
    ENTRY(usm_logic),
    ENTRY(usm_classify_2),
    ENTRY(usm_classify_4),
    ENTRY(usm_classify_8),
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
    ENTRY(usm_unravel),
    ENTRY(usm_mask_count),
    ENTRY(usm_mask_scan),
    ENTRY(usm_mask_place),
    ENTRY(usm_reduce),
};

const struct usmpy_kernels usm_host_builtins = {
    USMPY_KERNELS_VERSION,
    sizeof entries / sizeof entries[0],
    entries,
};
