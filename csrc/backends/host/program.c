/* Kernels for the host: from a shared object that the system's compiler made, or from a pointer. */
#include "host.h"

#include "entry.h"

#include "core/base/heap.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* usm_program.native */
typedef struct program {
    void *library; /* of dlopen; NULL for a pointer */
    const struct usmpy_kernels *kernels;
    usm_host_pointer *pointer; /* owned; NULL for a library */
} program;

/* Names are in the library, which stays open: only the array is ours. */
static bool list_kernels(usm_program *base, const struct usmpy_kernels *kernels)
{
    base->kernels = usm_malloc((kernels->n + 1) * sizeof *base->kernels);
    for (uint32_t i = 0; base->kernels != NULL && i <= kernels->n; i++) {
        base->kernels[i] = i < kernels->n ? (char *)kernels->entries[i].name : NULL;
    }
    return base->kernels != NULL;
}

static usm_status open_library(usm_program *base, program *native, const char *path, usm_error *error)
{
    native->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (native->library == NULL) {
        return usm_error_driver(error, USM_BUILD, "host", 0, "", "the kernels in %s cannot be loaded: %s",
                                path, dlerror());
    }
    native->kernels = dlsym(native->library, "usmpy_kernels");
    if (native->kernels == NULL || native->kernels->version != USMPY_KERNELS_VERSION) {
        return usm_error_driver(error, USM_BUILD, "host", 0, "",
                                "%s has no kernels of version %d; it was not made by this usmpy", path,
                                USMPY_KERNELS_VERSION);
    }
    return list_kernels(base, native->kernels) ? USM_OK : usm_error_memory(error, 64, "a list of kernels");
}

usm_status usm_host_program_build(usm_program *base, const usm_program_source *source, char **log,
                                  usm_error *error)
{
    usm_status status;
    (void)log;
    program *native = usm_calloc(1, sizeof *native);
    if (native == NULL) {
        return usm_error_memory(error, sizeof *native, "a program");
    }
    switch (source->language) {
        case USM_LANGUAGE_LIBRARY:
            status = open_library(base, native, source->data, error);
            break;
        case USM_LANGUAGE_BUILTIN:
            native->kernels = &usm_host_builtins;
            base->any_place = true;
            status = USM_OK;
            break;
        case USM_LANGUAGE_POINTER:
            status = usm_host_pointer_create(source->data, &native->pointer, error);
            base->any_place = true;
            break;
        default:
            status = usm_error_set(error, USM_VALUE, "the host device takes portable and C programs");
    }
    if (status != USM_OK) {
        if (native->library != NULL) {
            dlclose(native->library);
        }
        free(native);
        return status;
    }
    base->native = native;
    return USM_OK;
}

void usm_host_program_destroy(usm_program *base)
{
    program *native = base->native;
    if (native->library != NULL) {
        dlclose(native->library);
    }
    usm_host_pointer_free(native->pointer);
    free(native);
}

static void read_parameter(const struct usmpy_kernel_parameter *from, usm_parameter *to)
{
    *to = (usm_parameter){
        .name = from->name,
        .type = from->type,
        .kind = from->kind == USMPY_POINTER ? USM_PARAMETER_POINTER
                : from->kind == USMPY_LOCAL ? USM_PARAMETER_LOCAL
                                            : USM_PARAMETER_VALUE,
        .read_only = from->read_only != 0,
        .dtype = (int16_t)(from->dtype == NULL ? USM_NO_DTYPE
                                               : usm_dtype_from_name(from->dtype, strlen(from->dtype))),
        .size = from->kind == USMPY_VALUE ? from->size : (uint32_t)sizeof(void *),
    };
}

static usm_status from_entry(usm_kernel *kernel, const struct usmpy_kernel_entry *entry, usm_error *error)
{
    usm_parameter *parameters = usm_calloc(entry->n_parameters + 1, sizeof *parameters);
    if (parameters == NULL) {
        return usm_error_memory(error, entry->n_parameters * sizeof *parameters, "a kernel's parameters");
    }
    for (uint32_t i = 0; i < entry->n_parameters; i++) {
        read_parameter(&entry->parameters[i], &parameters[i]);
    }
    usm_status status =
        usm_kernel_set_parameters(kernel, entry->name, parameters, entry->n_parameters, error);
    free(parameters);
    memcpy(kernel->required_local, entry->required_local, sizeof kernel->required_local);
    kernel->native = (void *)entry;
    return status;
}

static const struct usmpy_kernel_entry *find(const struct usmpy_kernels *kernels, const char *name)
{
    for (uint32_t i = 0; i < kernels->n; i++) {
        if (strcmp(kernels->entries[i].name, name) == 0) {
            return &kernels->entries[i];
        }
    }
    return NULL;
}

static bool has_wide_vectors(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
#else
    return false;
#endif
}

usm_status usm_host_kernel_create(usm_kernel *kernel, const char *name, usm_error *error)
{
    const program *native = kernel->program->native;
    if (native->pointer != NULL) {
        kernel->max_ndim = 1;
        return usm_kernel_set_parameters(kernel, name, native->pointer->parameters,
                                         native->pointer->n_parameters, error);
    }
    bool wide = native->kernels == &usm_host_builtins && has_wide_vectors();
    const struct usmpy_kernel_entry *entry = wide ? find(&usm_host_builtins_wide, name) : NULL;
    entry = entry != NULL ? entry : find(native->kernels, name);
    if (entry != NULL) {
        return from_entry(kernel, entry, error);
    }
    return usm_error_set(error, USM_INDEX, "the program has no kernel %s", name);
}

void usm_host_kernel_destroy(usm_kernel *kernel)
{
    kernel->native = NULL; /* belongs to the program */
}

#define FEW_ARGUMENTS 16

typedef struct run {
    const struct usmpy_kernel_entry *entry;
    const usm_host_pointer *pointer;
    const usm_launch *launch;
    const void **values; /* an address for each argument */
    size_t grid[3];      /* work-items, or work-groups of a kernel that runs them whole */
    size_t local[3];
    size_t pieces[3];
    _Atomic int failed;
} run;

/* Parts i of n of an extent, as even as they come. */
static size_t bound(size_t extent, size_t i, size_t n)
{
    size_t each = extent / n, rest = extent % n;
    return i * each + (i < rest ? i : rest);
}

static void run_piece(void *context, unsigned number)
{
    run *run = context;
    size_t lo[3], hi[3], i = number;
    for (int d = 0; d < 3; d++) {
        if (run->pieces[d] == 1) { /* the commonest, without a division */
            lo[d] = 0;
            hi[d] = run->grid[d];
            continue;
        }
        size_t at = i % run->pieces[d];
        i /= run->pieces[d];
        lo[d] = bound(run->grid[d], at, run->pieces[d]);
        hi[d] = bound(run->grid[d], at + 1, run->pieces[d]);
    }
    if (run->pointer != NULL) {
        usm_host_pointer_call(run->pointer, lo[0], hi[0], run->values);
    } else if (run->entry->run(run->values, run->launch->range.global, run->local, lo, hi) != 0) {
        atomic_store_explicit(&run->failed, 1, memory_order_relaxed);
    }
}

/* Below this many bytes a second thread costs more than it saves. */
#define PARALLEL_BYTES ((size_t)1 << 19)
/* And from so many on, or from so many work-items, it is worth it whatever the kernel does with them. */
#define LONG_BYTES ((size_t)8 << 20)
#define LONG_ITEMS ((size_t)1 << 20)
/* Several pieces a thread, so that a busy processor does not hold up the others; the first is done alone. */
#define PIECES_A_THREAD 64
/* Work-items along the first dimension that are worth a loop of their own. */
#define LEAST_ROW 128

/* The slowest dimensions are cut first: pieces keep whole rows. */
static void cut(run *run, unsigned width, bool groups)
{
    size_t wanted = width <= 1 ? 1 : (size_t)width * PIECES_A_THREAD;
    for (int d = 2; d >= 0; d--) {
        size_t most = d > 0 || groups ? run->grid[d] : (run->grid[d] + LEAST_ROW - 1) / LEAST_ROW;
        run->pieces[d] = most < wanted ? most : wanted;
        wanted = (wanted + run->pieces[d] - 1) / run->pieces[d];
    }
}

/* Where nobody asked for a local size: the largest divisor up to 64 along the first dimension. */
static void choose_local(run *run, const usm_range *range)
{
    const size_t *required = run->entry->required_local;
    memcpy(run->local, range->local, sizeof run->local);
    if (range->has_local) {
        return;
    }
    if (required[0] != 0) {
        memcpy(run->local, required, sizeof run->local);
        return;
    }
    size_t n = range->global[0] < 64 ? range->global[0] : 64;
    while (range->global[0] % n != 0) {
        n--;
    }
    run->local[0] = n;
}

static usm_status lay_out(run *run, const usm_range *range, usm_error *error)
{
    bool groups = run->pointer == NULL && (run->entry->flags & USMPY_KERNEL_GROUPS) != 0;
    memcpy(run->grid, range->global, sizeof run->grid);
    if (run->pointer != NULL) {
        return USM_OK;
    }
    choose_local(run, range);
    for (int d = 0; d < 3; d++) {
        if (range->global[d] % run->local[d] != 0) {
            return usm_error_set(
                error, USM_VALUE,
                "the range's dimension %d is %zu, which the work-group's required %zu does not "
                "divide",
                d, range->global[d], run->local[d]);
        }
        run->grid[d] = groups ? range->global[d] / run->local[d] : range->global[d];
    }
    return USM_OK;
}

/* A built-in kernel on this thread alone: one piece, which is all of the range, and no local memory. */
static void launch_small(const usm_launch *launch)
{
    static const size_t from[3] = {0};
    const struct usmpy_kernel_entry *entry = launch->kernel->native;
    const void *values[FEW_ARGUMENTS];
    for (size_t i = 0; i < launch->n_arguments; i++) {
        const usm_argument *argument = &launch->arguments[i];
        values[i] = argument->kind == USM_PARAMETER_POINTER ? (const void *)&argument->as.pointer
                                                            : usm_argument_value(argument);
    }
    entry->run(values, launch->range.global, launch->range.local, from, launch->range.global);
}

usm_status usm_host_launch(const usm_launch *launch, unsigned width, usm_error *error)
{
    const program *native = launch->kernel->program->native;
    const void *few[FEW_ARGUMENTS], **values = few;
    size_t few_sizes[FEW_ARGUMENTS], *sizes = few_sizes; /* of local memory */
    size_t n = launch->n_arguments;
    if (launch->cost != 0 && (width <= 1 || launch->cost < PARALLEL_BYTES)) {
        launch_small(launch);
        return USM_OK;
    }
    run run = {.entry = launch->kernel->native, .pointer = native->pointer, .launch = launch};
    usm_status status = lay_out(&run, &launch->range, error);
    if (status != USM_OK) {
        return status;
    }
    if (n > FEW_ARGUMENTS) {
        values = usm_malloc(n * (sizeof *values + sizeof *sizes));
        if (values == NULL) {
            return usm_error_memory(error, n * sizeof *values, "a launch");
        }
        sizes = (size_t *)(values + n);
    }
    for (size_t i = 0; i < n; i++) {
        const usm_argument *argument = &launch->arguments[i];
        sizes[i] = argument->size;
        values[i] = argument->kind == USM_PARAMETER_POINTER ? (const void *)&argument->as.pointer
                    : argument->kind == USM_PARAMETER_LOCAL ? &sizes[i]
                                                            : usm_argument_value(argument);
    }
    run.values = values;
    cut(&run, width, run.pointer == NULL && (run.entry->flags & USMPY_KERNEL_GROUPS) != 0);
    unsigned pieces = (unsigned)(run.pieces[0] * run.pieces[1] * run.pieces[2]);
    const size_t *global = launch->range.global;
    size_t rows = global[1] * global[2];
    if (launch->cost >= LONG_BYTES || (launch->cost == 0 && global[0] >= LONG_ITEMS / rows)) {
        usm_host_parallel(width, pieces, launch->cost, run_piece, &run);
    } else {
        usm_host_parallel_if_long(width, pieces, launch->cost, run_piece, &run);
    }
    if (values != few) {
        free(values);
    }
    return atomic_load_explicit(&run.failed, memory_order_relaxed) != 0
               ? usm_error_memory(error, 0, "local memory of a work-group")
               : USM_OK;
}

void usm_host_launch_builtin(const usm_launch *launch, unsigned width)
{
    (void)usm_host_launch(launch, width, NULL); /* it has neither local memory nor more arguments than few */
}
