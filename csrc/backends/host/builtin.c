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

#include "portable.h"

#include "../../kernels/take.cl"
#include "../../kernels/triangle.cl"

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

/* clang-format off */
#define ENTRY(function) {.name = #function, .run = run_##function}
/* clang-format on */

static const struct usmpy_kernel_entry entries[] = {
    ENTRY(usm_take_1),       ENTRY(usm_take_2),        ENTRY(usm_take_4),       ENTRY(usm_take_8),
    ENTRY(usm_take_16),      ENTRY(usm_take_1_int32),  ENTRY(usm_take_2_int32), ENTRY(usm_take_4_int32),
    ENTRY(usm_take_8_int32), ENTRY(usm_take_16_int32), ENTRY(usm_expand),       ENTRY(usm_triangle_1),
    ENTRY(usm_triangle_2),   ENTRY(usm_triangle_4),    ENTRY(usm_triangle_8),
};

const struct usmpy_kernels usm_host_builtins = {
    USMPY_KERNELS_VERSION,
    sizeof entries / sizeof entries[0],
    entries,
};
