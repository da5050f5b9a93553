/* Launches of kernels. Everything is on the stack, and the driver's call is nearly all of the cost. */
#include "program.h"

#include <string.h>

#define FEW_PARAMETERS 48

/*
 * Local arguments begin at multiples of this in the shared memory of a group: the largest
 * alignment of a number.
 */
#define LOCAL_ALIGNMENT 16u

/* CUDA C++ Programming Guide, Compute Capabilities: the same on all devices. */
static const unsigned most_groups[3] = {0x7fffffff, 65535, 65535};
static const unsigned most_items[3] = {1024, 1024, 64};

/*
 * Chooses the size of a group where the launch does not give one. Groups may reach beyond the range, which
 * the kernel then checks; kernels that use groups need a range that is a multiple of their size.
 */
static void choose_local(const usm_kernel *kernel, const size_t *global, size_t *local)
{
    const usm_cuda_kernel *native = kernel->native;
    size_t room = native->block;
    for (int i = 0; i < 3; i++) {
        size_t limit = room < most_items[i] ? room : most_items[i];
        local[i] = kernel->fit == USM_FIT_GROUPS ? usm_largest_divisor(global[i], limit)
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

/* The range as CUDA launches it: a grid of groups, each axis rounded up. */
static usm_status shape(const usm_launch *launch, unsigned *grid, unsigned *block, usm_error *error)
{
    const usm_range *range = &launch->range;
    size_t chosen[3];
    const size_t *local = range->local;
    if (!range->has_local) {
        choose_local(launch->kernel, range->global, chosen);
        local = chosen;
    }
    for (int i = 0; i < 3; i++) {
        size_t items = local[i], groups = (range->global[i] + items - 1) / items;
        if (items > most_items[i] || groups > most_groups[i]) {
            return refuse_range(launch->kernel, i, groups, items, error);
        }
        block[i] = (unsigned)items;
        grid[i] = (unsigned)groups;
    }
    return USM_OK;
}

/*
 * Shared memory beyond what every device grants unasked. One call asks the driver for the most that this
 * kernel can have on this device.
 */
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

/* Reports the shape too: CUDA_ERROR_INVALID_VALUE alone does not say what was too large. */
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

/*
 * Fills `parameters` with the addresses of the values that the kernel is passed, and returns how many there
 * are. CUDA has one block of dynamic shared memory a launch, of *shared bytes, which all local arguments
 * share: kernels of the portable dialect are passed where each begins in it (`offsets`), others find the one
 * block by its name.
 */
static size_t collect(const usm_launch *launch, void **parameters, uint32_t *offsets, size_t *shared)
{
    const usm_kernel *kernel = launch->kernel;
    size_t passed = 0;
    *shared = 0;
    for (size_t i = 0; i < launch->n_arguments; i++) {
        const usm_argument *argument = &launch->arguments[i];
        if (argument->kind != USM_PARAMETER_LOCAL) {
            parameters[passed++] = (void *)usm_argument_value(argument);
            continue;
        }
        *shared = (*shared + LOCAL_ALIGNMENT - 1) & ~(size_t)(LOCAL_ALIGNMENT - 1);
        offsets[i] = (uint32_t)*shared;
        *shared += argument->size;
        if (kernel->fit != USM_FIT_ANY) {
            parameters[passed++] = &offsets[i];
        }
    }
    if (kernel->fit == USM_FIT_RANGE) { /* the kernel checks the range, as groups may reach beyond it */
        parameters[passed++] = (void *)launch->range.global;
    }
    return passed;
}

/*
 * CUDA driver API, cuLaunchKernel: parameters are passed as addresses of values, or as one block, which the
 * driver takes in about a tenth less time. The block needs offsets, which drivers of CUDA 12.4 and later
 * tell.
 */
usm_status usm_cuda_launch(CUstream stream, const usm_launch *launch, usm_error *error)
{
    usm_cuda_kernel *native = launch->kernel->native;
    size_t n = launch->n_arguments, size = native->packed_size, shared;
    void *few[FEW_PARAMETERS + 1], **parameters = few;
    uint32_t few_offsets[FEW_PARAMETERS], *offsets = few_offsets;
    _Alignas(16) char packed[USM_CUDA_PACKED_BYTES];
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    unsigned grid[3], block[3];
    if (USM_UNLIKELY(native->product_size != 0) && usm_cuda_multiply(stream, launch)) {
        return USM_OK;
    }
    usm_status status = shape(launch, grid, block, error);
    if (USM_UNLIKELY(status != USM_OK)) {
        return status;
    }
    if (USM_UNLIKELY(n > FEW_PARAMETERS)) { /* CUDA's limit is a few thousand bytes of them */
        parameters = __builtin_alloca((n + 1) * sizeof *parameters);
        offsets = __builtin_alloca(n * sizeof *offsets);
    }
    size_t passed = collect(launch, parameters, offsets, &shared);
    if (shared > atomic_load_explicit(&native->granted, memory_order_relaxed)) {
        status = grant_shared(launch->kernel, shared, error);
        if (status != USM_OK) {
            return status;
        }
    }
    bool is_packed = passed == native->n_packed && passed != 0;
    for (size_t i = 0; is_packed && i < passed; i++) {
        memcpy(packed + native->offsets[i], parameters[i], native->sizes[i]);
    }
    CUresult code = usm_cuda.cuLaunchKernel(native->function, grid[0], grid[1], grid[2], block[0], block[1],
                                            block[2], (unsigned)shared, stream, is_packed ? NULL : parameters,
                                            is_packed ? extra : NULL);
    return USM_LIKELY(code == CUDA_SUCCESS) ? USM_OK : launch_failed(launch, code, grid, block, error);
}
