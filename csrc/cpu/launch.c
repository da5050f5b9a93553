/*
 * Launches of kernels: the index space is cut into boxes, which several threads run. A small built-in kernel
 * is one call.
 */
#include "builtin.h"
#include "cpu.h"
#include "parallel.h"
#include "processor.h"

#include "core/base/heap.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define FEW_ARGUMENTS 16

typedef struct run {
    const usm_cpu_launch *launch;
    const void **values; /* an address for each argument */
    size_t grid[3];      /* work-items, or work-groups of a kernel that runs them whole */
    size_t pieces[3];
    size_t unit; /* pieces begin at multiples of it along the first dimension */
    _Atomic bool failed;
} run;

static const struct usmpy_kernel_entry *find(const struct usmpy_kernels *kernels, const char *name)
{
    for (uint32_t i = 0; i < kernels->n; i++) {
        if (strcmp(kernels->entries[i].name, name) == 0) {
            return &kernels->entries[i];
        }
    }
    return NULL;
}

const struct usmpy_kernel_entry *usm_cpu_kernel_named(const char *name)
{
    static const char *const operate[] = {"usm_operate_1",
                                          "usm_operate_2"}; /* one for all types and operations */
    for (int i = 0; i < 2; i++) {
        name = strncmp(name, operate[i], strlen(operate[i])) == 0 ? operate[i] : name;
    }
    const struct usmpy_kernel_entry *wide = usm_cpu_has_avx2() ? find(&usm_cpu_builtins_wide, name) : NULL;
    return wide != NULL ? wide : find(&usm_cpu_builtins, name);
}

/* The first index of part i, where an extent is divided into n parts that differ by one at most. */
static size_t bound(size_t extent, size_t i, size_t n)
{
    size_t each = extent / n, rest = extent % n;
    return i * each + (i < rest ? i : rest);
}

static void run_piece(void *context, unsigned number)
{
    run *run = context;
    const usm_cpu_launch *launch = run->launch;
    size_t lo[3], hi[3], i = number;
    for (int d = 0; d < 3; d++) {
        if (run->pieces[d] == 1) { /* the most frequent case, without a division */
            lo[d] = 0;
            hi[d] = run->grid[d];
            continue;
        }
        size_t at = i % run->pieces[d];
        i /= run->pieces[d];
        size_t unit = d == 0 ? run->unit : 1;
        lo[d] = bound(run->grid[d] / unit, at, run->pieces[d]) * unit;
        hi[d] = at + 1 == run->pieces[d] ? run->grid[d]
                                         : bound(run->grid[d] / unit, at + 1, run->pieces[d]) * unit;
    }
    if (launch->kernel == NULL) {
        launch->call(launch->function, lo[0], hi[0], run->values);
    } else if (launch->kernel->run(run->values, launch->range->global, launch->range->local, lo, hi) != 0) {
        atomic_store_explicit(&run->failed, true, memory_order_relaxed);
    }
}

/* Below this many bytes a second thread costs more than it saves. */
#define PARALLEL_BYTES ((size_t)1 << 19)
/* From this many bytes, or this many work-items, on, helpers join at once, whatever the kernel computes. */
#define LONG_BYTES ((size_t)8 << 20)
#define LONG_ITEMS ((size_t)1 << 20)
/* Pieces for each thread, so that a processor that is busy elsewhere does not delay the others. */
#define PIECES_A_THREAD 64
/* The least work-items along the first dimension for a piece: shorter rows do not pay for their loop. */
#define LEAST_ROW 128
/*
 * Pieces are whole vectors of any type, so that results do not depend on the number of threads: the C
 * compiler computes the rest of a row by scalar functions, whose last bits differ from those of vectors.
 */
#define WHOLE_VECTORS 64

/* Cuts the slowest dimensions first: pieces keep whole rows. */
static unsigned cut(run *run, unsigned width)
{
    const usm_range *range = run->launch->range;
    const struct usmpy_kernel_entry *kernel = run->launch->kernel;
    bool groups = kernel != NULL && (kernel->flags & USMPY_KERNEL_GROUPS) != 0;
    run->unit = groups ? 1 : WHOLE_VECTORS;
    size_t wanted = width <= 1 ? 1 : (size_t)width * PIECES_A_THREAD;
    for (int d = 2; d >= 0; d--) {
        run->grid[d] = groups ? range->global[d] / range->local[d] : range->global[d];
        size_t most = d > 0 || groups ? run->grid[d] : (run->grid[d] + LEAST_ROW - 1) / LEAST_ROW;
        run->pieces[d] = most < wanted ? most : wanted;
        wanted = (wanted + run->pieces[d] - 1) / run->pieces[d];
    }
    return (unsigned)(run->pieces[0] * run->pieces[1] * run->pieces[2]);
}

/*
 * Writes the address of each argument. A kernel gets local memory as the address of its size, which is kept
 * in `sizes`.
 */
static void set_values(const usm_cpu_launch *launch, const void **values, size_t *sizes)
{
    for (size_t i = 0; i < launch->n_arguments; i++) {
        const usm_argument *argument = &launch->arguments[i];
        sizes[i] = argument->size;
        values[i] = argument->kind == USM_PARAMETER_POINTER ? (const void *)&argument->as.pointer
                    : argument->kind == USM_PARAMETER_LOCAL ? &sizes[i]
                                                            : usm_argument_value(argument);
    }
}

static bool run_shared(const usm_cpu_launch *launch, const void **values, unsigned width)
{
    run run = {.launch = launch, .values = values};
    unsigned pieces = cut(&run, width);
    const size_t *global = launch->range->global;
    if (launch->cost >= LONG_BYTES ||
        (launch->cost == 0 && global[0] >= LONG_ITEMS / (global[1] * global[2]))) {
        usm_cpu_parallel(width, pieces, launch->cost, run_piece, &run);
    } else {
        usm_cpu_parallel_if_long(width, pieces, launch->cost, run_piece, &run);
    }
    return !atomic_load_explicit(&run.failed, memory_order_relaxed);
}

bool usm_cpu_run(const usm_cpu_launch *launch, unsigned width)
{
    static const size_t start[3] = {0};
    const void *few[FEW_ARGUMENTS], **values = few;
    size_t few_sizes[FEW_ARGUMENTS], *sizes = few_sizes, n = launch->n_arguments;
    const usm_range *range = launch->range;
    bool done;
    if (n > FEW_ARGUMENTS) {
        values = usm_malloc(n * (sizeof *values + sizeof *sizes));
        if (values == NULL) {
            return false;
        }
        sizes = (size_t *)(values + n);
    }
    set_values(launch, values, sizes);
    if (launch->cost != 0 && (width <= 1 || launch->cost < PARALLEL_BYTES)) {
        done = launch->kernel->run(values, range->global, range->local, start, range->global) == 0;
    } else {
        done = run_shared(launch, values, width);
    }
    if (values != few) {
        free(values);
    }
    return done;
}
