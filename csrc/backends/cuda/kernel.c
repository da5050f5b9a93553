/* Kernels: what they take, and what their launches have to know (CUDA driver API, Execution Control). */
#include "program.h"

#include "core/base/heap.h"

#include <stdlib.h>
#include <string.h>

/*
 * Work-items of a group where no one asks for a number: groups of this size fill a device as well as larger
 * ones, and leave less of it idle at the end.
 */
#define USUAL_BLOCK 256

/*
 * The symbol of the kernel that users call `name`: the name itself, or a C++ symbol that is the only kernel
 * of that name. NULL: there is none.
 */
static const char *find_symbol(const usm_program *base, const char *name)
{
    const usm_cuda_program *native = base->native;
    char *const *symbols = native->symbols;
    for (size_t i = 0; symbols != NULL && symbols[i] != NULL; i++) {
        if (strcmp(symbols[i], name) == 0 || (base->kernels != NULL && strcmp(base->kernels[i], name) == 0)) {
            return symbols[i];
        }
    }
    return symbols == NULL ? name : NULL;
}

/*
 * Of machine code the driver reports the sizes of parameters alone (cuFuncGetParamInfo, CUDA 12.4): their
 * types stay unknown.
 */
static usm_status ask_sizes(usm_kernel *base, CUfunction function, const char *name, usm_error *error)
{
    usm_parameter *parameters = NULL;
    size_t n = 0, offset, size;
    usm_status status = USM_OK;
    while (usm_cuda.cuFuncGetParamInfo != NULL &&
           usm_cuda.cuFuncGetParamInfo(function, n, &offset, &size) == CUDA_SUCCESS) {
        usm_parameter *more = usm_realloc(parameters, (n + 1) * sizeof *parameters);
        if (more == NULL) {
            status = usm_error_memory(error, n * sizeof *parameters, "a kernel's parameters");
            goto done;
        }
        parameters = more;
        /* No number and no pointer has another size. */
        bool plain = size == 1 || size == 2 || size == 4 || size == 8;
        parameters[n++] = (usm_parameter){
            .kind = plain ? USM_PARAMETER_UNKNOWN : USM_PARAMETER_VALUE,
            .dtype = USM_NO_DTYPE,
            .size = (uint32_t)size,
        };
    }
    if (usm_cuda.cuFuncGetParamInfo == NULL && base->program->signatures == NULL) {
        status =
            usm_error_driver(error, USM_UNAVAILABLE, "cuda", 0, "",
                             "this driver does not tell the parameters of machine code (drivers of CUDA 12.4 "
                             "and later do); PTX is language 'ptx'");
        goto done;
    }
    status = usm_kernel_set_parameters(base, name, parameters, n, error);
    base->types_unknown = status == USM_OK;
done:
    free(parameters);
    return status;
}

/*
 * Limits of this kernel on this device: registers and shared memory of its code may allow fewer work-items in
 * a group than the device does.
 */
static usm_status ask_limits(usm_kernel *base, usm_cuda_kernel *native, usm_device *device, usm_error *error)
{
    int items = 0, fixed = 0, most = 0, grid = 0, block = 0;
    CUresult code =
        usm_cuda.cuFuncGetAttribute(&items, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, native->function);
    if (code == CUDA_SUCCESS) {
        code = usm_cuda.cuFuncGetAttribute(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, native->function);
    }
    if (code != CUDA_SUCCESS) {
        return usm_cuda_failed(error, code, "cuFuncGetAttribute");
    }
    CUdevice id = usm_cuda_device_of(device)->id;
    if (usm_cuda.cuDeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, id) !=
            CUDA_SUCCESS ||
        most <= 0) {
        most = 48 * 1024;
    }
    if (usm_cuda.cuOccupancyMaxPotentialBlockSize(&grid, &block, native->function, NULL, 0, 0) !=
            CUDA_SUCCESS ||
        block < 1) {
        block = USUAL_BLOCK;
    }
    block = block < USUAL_BLOCK ? block : USUAL_BLOCK;
    block = block < items ? block : items;
    native->block = (unsigned)(block > 0 ? block : 1);
    native->fixed_shared = (uint32_t)fixed;
    native->most_shared = (uint32_t)most;
    /*
     * Up to 48 KiB a block are granted unasked; beyond that cuFuncSetAttribute must be called (CUDA C++
     * Programming Guide, Shared Memory).
     */
    atomic_init(&native->granted, fixed < 48 * 1024 ? 48 * 1024 - (uint32_t)fixed : 0);
    base->max_local = items > 0 ? (size_t)items : 1;
    return USM_OK;
}

/*
 * Where each parameter lies in one block, for launches that pass all of them at once. A kernel with more, or
 * a driver that does not tell, keeps n_packed 0.
 */
static void ask_layout(usm_cuda_kernel *native)
{
    size_t n = 0, offset, size, end = 0;
    while (usm_cuda.cuFuncGetParamInfo != NULL &&
           usm_cuda.cuFuncGetParamInfo(native->function, n, &offset, &size) == CUDA_SUCCESS) {
        end = offset + size;
        if (n == USM_CUDA_PACKED_PARAMETERS || end > USM_CUDA_PACKED_BYTES) {
            return;
        }
        native->offsets[n] = (uint16_t)offset;
        native->sizes[n++] = (uint16_t)size;
    }
    native->n_packed = (uint16_t)n;
    native->packed_size = (uint16_t)end;
}

/*
 * Drivers load functions at their first launch, which then waits for work on the device, and fails in a graph
 * capture: here it is done before. cuFuncLoad is of CUDA 12.4; reading an attribute loads a function as well.
 */
static CUresult load_function(CUfunction function)
{
    int items;
    return usm_cuda.cuFuncLoad != NULL
               ? usm_cuda.cuFuncLoad(function)
               : usm_cuda.cuFuncGetAttribute(&items, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function);
}

/*
 * Relaxed capture mode: loading a module may synchronize, which a capture of another thread does not allow.
 */
usm_status usm_cuda_kernel_create(usm_kernel *base, const char *name, usm_error *error)
{
    usm_cuda_program *owner = base->program->native;
    const char *symbol = find_symbol(base->program, name);
    usm_cuda_scope scope;
    if (symbol == NULL) {
        return usm_error_driver(error, USM_INDEX, "cuda", 0, "", "the program has no kernel %s", name);
    }
    usm_status status = usm_cuda_enter(owner->device, &scope, error);
    if (status != USM_OK) {
        return status;
    }
    usm_cuda_relax(&scope);
    usm_cuda_kernel *native = usm_calloc(1, sizeof *native);
    if (native == NULL) {
        status = usm_error_memory(error, sizeof *native, "a kernel");
        goto done;
    }
    CUresult code = usm_cuda.cuModuleGetFunction(&native->function, owner->module, symbol);
    code = code == CUDA_SUCCESS ? load_function(native->function) : code;
    if (code != CUDA_SUCCESS) {
        status = code == CUDA_ERROR_NOT_FOUND
                     ? usm_error_driver(error, USM_INDEX, "cuda", code, usm_cuda_name(code),
                                        "the program has no kernel %s", name)
                     : usm_cuda_failed(error, code, "cuModuleGetFunction");
        goto done;
    }
    if (base->program->own) {
        native->product_size = strcmp(name, "usm_matmul_float32") == 0   ? sizeof(float)
                               : strcmp(name, "usm_matmul_float64") == 0 ? sizeof(double)
                                                                         : 0;
    }
    ask_layout(native);
    status = ask_limits(base, native, owner->device, error);
    if (status == USM_OK) {
        status = owner->ptx != NULL ? usm_cuda_ptx_parameters(base, owner->ptx, symbol, name, error)
                                    : ask_sizes(base, native->function, name, error);
    }
done:
    usm_cuda_leave(&scope);
    if (status != USM_OK) {
        free(native);
        return status;
    }
    base->native = native;
    base->computed_by.library = native->product_size != 0 ? usm_cuda_multiply_library(owner->device) : NULL;
    return USM_OK;
}

void usm_cuda_kernel_destroy(usm_kernel *base)
{
    free(base->native); /* the function is the module's */
}
