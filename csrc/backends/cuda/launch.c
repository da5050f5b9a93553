/* Launches of users' kernels: everything is on the stack, and the driver's call is the only cost. */
#include "program.h"

#include <string.h>

#define FEW_PARAMETERS 48

/* Where local memory begins is a multiple of this: of what any number is aligned to. */
#define LOCAL_ALIGNMENT 16u

/* Of CUDA, on all devices. */
static const unsigned most_groups[3] = {0x7fffffff, 65535, 65535};
static const unsigned most_items[3] = {1024, 1024, 64};

static size_t largest_divisor(size_t n, size_t limit)
{
    size_t divisor = n < limit ? n : limit;
    while (n % divisor != 0) {
        divisor--;
    }
    return divisor;
}

/*
 * Work-items in a group where the launch does not say. Groups may reach beyond the range, but for kernels
 * that look at them: of those the range is a multiple.
 */
static void choose_local(const usm_kernel *kernel, const size_t *global, size_t *local)
{
    const usm_cuda_kernel *native = kernel->native;
    size_t room = native->block;
    for (int i = 0; i < 3; i++) {
        size_t limit = room < most_items[i] ? room : most_items[i];
        local[i] = kernel->fit == USM_FIT_GROUPS ? largest_divisor(global[i], limit)
                   : global[i] < limit           ? global[i]
                                                 : limit;
        room /= local[i];
    }
}

static usm_status refuse_range(const usm_kernel *kernel, int i, size_t groups, size_t items, usm_error *error)
{
    if (items > most_items[i]) {
        return usm_error_driver(
            error, USM_VALUE, "cuda", 0, "",
            "local_range[%d] of %s is %zu; CUDA's work-groups have up to %u work-items along "
            "that dimension",
            i, kernel->name, items, most_items[i]);
    }
    return usm_error_driver(error, USM_VALUE, "cuda", 0, "",
                            "range[%d] of %s makes %zu work-groups of %zu; CUDA launches up to %u along that "
                            "dimension",
                            i, kernel->name, groups, items, most_groups[i]);
}

/* Rounded up. Divisions of 64 bits are slow, and two of three axes mostly need none. */
static size_t groups_of(size_t n, size_t items)
{
    if (items == 1) {
        return n;
    }
    return (n | items) >> 31 == 0 ? ((uint32_t)n + (uint32_t)items - 1) / (uint32_t)items
                                  : (n + items - 1) / items;
}

static usm_status shape(const usm_launch *launch, unsigned *grid, unsigned *block, usm_error *error)
{
    const usm_cuda_kernel *native = launch->kernel->native;
    const usm_range *range = &launch->range;
    size_t chosen[3];
    const size_t *local = range->local;
    if (!range->has_local) {
        if (range->ndim == 1 && launch->kernel->fit != USM_FIT_GROUPS) {
            size_t n = range->global[0], items = n < native->block ? n : native->block;
            size_t groups = groups_of(n, items);
            block[0] = (unsigned)items;
            grid[0] = (unsigned)groups;
            block[1] = block[2] = grid[1] = grid[2] = 1;
            return USM_LIKELY(groups <= most_groups[0])
                       ? USM_OK
                       : refuse_range(launch->kernel, 0, groups, items, error);
        }
        choose_local(launch->kernel, range->global, chosen);
        local = chosen;
    }
    for (int i = 0; i < 3; i++) {
        size_t items = local[i], groups = groups_of(range->global[i], items);
        if (items > most_items[i] || groups > most_groups[i]) {
            return refuse_range(launch->kernel, i, groups, items, error);
        }
        block[i] = (unsigned)items;
        grid[i] = (unsigned)groups;
    }
    return USM_OK;
}

/* Local memory beyond what every device gives unasked: the driver is told once, of the most that there is. */
static usm_status grant_shared(const usm_kernel *kernel, size_t wanted, usm_error *error)
{
    usm_cuda_kernel *native = kernel->native;
    uint32_t most =
        native->most_shared > native->fixed_shared ? native->most_shared - native->fixed_shared : 0;
    if (wanted > most) {
        return usm_error_driver(
            error, USM_VALUE, "cuda", 0, "",
            "%s was given %zu bytes of LocalMemory beside %u of its own; a work-group has up to "
            "%u on this device",
            kernel->name, wanted, native->fixed_shared, native->most_shared);
    }
    CUresult code = usm_cuda.cuFuncSetAttribute(native->function,
                                                CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)most);
    if (code != CUDA_SUCCESS) {
        return usm_cuda_failed(error, code, "cuFuncSetAttribute");
    }
    atomic_store_explicit(&native->granted, most, memory_order_relaxed);
    return USM_OK;
}

static usm_status launch_failed(const usm_launch *launch, CUresult code, const unsigned *grid,
                                const unsigned *block, usm_error *error)
{
    usm_error reason;
    usm_status status = usm_cuda_failed(&reason, code, "cuLaunchKernel");
    return usm_error_driver(error, status, "cuda", code, usm_cuda_name(code),
                            "%s was not launched (grid %u, %u, %u, block %u, %u, %u): %.500s",
                            launch->kernel->name, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                            reason.text);
}

/* A parameter of any size: a number or a pointer, mostly, without a call. */
static void pack(const usm_cuda_kernel *native, size_t i, const void *from, char *block)
{
    char *to = block + native->offsets[i];
    switch (native->sizes[i]) {
        case 8:
            memcpy(to, from, 8);
            break;
        case 4:
            memcpy(to, from, 4);
            break;
        default:
            memcpy(to, from, native->sizes[i]);
    }
}

static void *value_of(const usm_argument *argument)
{
    return argument->size <= USM_INLINE_VALUE ? (void *)argument->as.value : (void *)argument->as.data;
}

typedef struct sizes {
    unsigned grid[3], block[3];
} sizes;

static usm_status enqueue(const usm_launch *launch, CUstream stream, const sizes *sizes, size_t shared,
                          void **parameters, void **extra, usm_error *error)
{
    const usm_cuda_kernel *native = launch->kernel->native;
    const unsigned *grid = sizes->grid, *block = sizes->block;
    CUresult code = usm_cuda.cuLaunchKernel(native->function, grid[0], grid[1], grid[2], block[0], block[1],
                                            block[2], (unsigned)shared, stream, parameters, extra);
    return USM_LIKELY(code == CUDA_SUCCESS) ? USM_OK : launch_failed(launch, code, grid, block, error);
}

static usm_status enqueue_packed(const usm_launch *launch, CUstream stream, const sizes *sizes, size_t shared,
                                 char *packed, usm_error *error)
{
    const usm_cuda_kernel *native = launch->kernel->native;
    size_t size = native->packed_size;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    return enqueue(launch, stream, sizes, shared, NULL, extra, error);
}

/* Most launches: what the driver takes in one block, and no local memory. */
static usm_status launch_packed(const usm_launch *launch, CUstream stream, const sizes *sizes,
                                usm_error *error)
{
    const usm_cuda_kernel *native = launch->kernel->native;
    _Alignas(16) char packed[USM_CUDA_PACKED_BYTES];
    size_t n = launch->n_arguments;
    for (size_t i = 0; i < n; i++) {
        pack(native, i, value_of(&launch->arguments[i]), packed);
    }
    if (launch->kernel->fit == USM_FIT_RANGE) {
        pack(native, n, launch->range.global, packed);
    }
    return enqueue_packed(launch, stream, sizes, 0, packed, error);
}

static bool has_local(const usm_launch *launch)
{
    for (size_t i = 0; i < launch->n_arguments; i++) {
        if (USM_UNLIKELY(launch->arguments[i].kind == USM_PARAMETER_LOCAL)) {
            return true;
        }
    }
    return false;
}

static usm_status launch_apart(const usm_launch *launch, CUstream stream, const sizes *sizes,
                               usm_error *error)
{
    const usm_kernel *kernel = launch->kernel;
    usm_cuda_kernel *native = kernel->native;
    size_t n = launch->n_arguments, passed = 0, shared = 0;
    void *few[FEW_PARAMETERS + 1], **parameters = few;
    uint32_t few_offsets[FEW_PARAMETERS], *offsets = few_offsets;
    if (USM_UNLIKELY(n > FEW_PARAMETERS)) { /* CUDA's limit is a few thousand bytes of them */
        parameters = __builtin_alloca((n + 1) * sizeof *parameters);
        offsets = __builtin_alloca(n * sizeof *offsets);
    }
    for (size_t i = 0; i < n; i++) {
        const usm_argument *argument = &launch->arguments[i];
        if (USM_UNLIKELY(argument->kind == USM_PARAMETER_LOCAL)) {
            shared = (shared + LOCAL_ALIGNMENT - 1) & ~(size_t)(LOCAL_ALIGNMENT - 1);
            offsets[i] = (uint32_t)shared;
            shared += argument->size;
            if (kernel->fit != USM_FIT_ANY) { /* else the one block of it has an address of its own */
                parameters[passed++] = &offsets[i];
            }
        } else {
            parameters[passed++] = value_of(argument);
        }
    }
    if (kernel->fit == USM_FIT_RANGE) {
        parameters[passed++] = (void *)launch->range.global;
    }
    if (shared > atomic_load_explicit(&native->granted, memory_order_relaxed)) {
        usm_status status = grant_shared(kernel, shared, error);
        if (status != USM_OK) {
            return status;
        }
    }
    if (passed == native->n_packed && passed != 0) {
        _Alignas(16) char packed[USM_CUDA_PACKED_BYTES];
        for (size_t i = 0; i < passed; i++) {
            pack(native, i, parameters[i], packed);
        }
        return enqueue_packed(launch, stream, sizes, shared, packed, error);
    }
    return enqueue(launch, stream, sizes, shared, parameters, NULL, error);
}

usm_status usm_cuda_launch(const usm_queue *queue, CUstream stream, const usm_launch *launch,
                           usm_error *error)
{
    const usm_kernel *kernel = launch->kernel;
    const usm_cuda_kernel *native = kernel->native;
    size_t n = launch->n_arguments + (kernel->fit == USM_FIT_RANGE);
    sizes sizes;
    (void)queue;
    usm_status status = shape(launch, sizes.grid, sizes.block, error);
    if (USM_UNLIKELY(status != USM_OK)) {
        return status;
    }
    return USM_LIKELY(n == native->n_packed && n != 0 && !has_local(launch))
               ? launch_packed(launch, stream, &sizes, error)
               : launch_apart(launch, stream, &sizes, error);
}
