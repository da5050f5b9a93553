/* Modules and their functions. */
#include "ptx.h"

/* What "binaries" begin with: PTX that counts as compiled. No compiler makes other ones for these devices. */
static const char binary_mark[] = "cudasim binary\n";

/* What the caller asked for in options. */
typedef struct load_options {
    char *error, *info;
    size_t error_size, info_size;
} load_options;

static load_options read_options(unsigned n, const CUjit_option *options, void **values)
{
    load_options read = {0};
    for (unsigned i = 0; i < n; i++) {
        switch (options[i]) {
            case CU_JIT_ERROR_LOG_BUFFER:
                read.error = values[i];
                break;
            case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
                read.error_size = (size_t)(unsigned)(uintptr_t)values[i];
                values[i] = NULL;
                break;
            case CU_JIT_INFO_LOG_BUFFER:
                read.info = values[i];
                break;
            case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
                read.info_size = (size_t)(unsigned)(uintptr_t)values[i];
                values[i] = NULL;
                break;
            default:
                break;
        }
    }
    return read;
}

static void relocate(ptx_module *ptx)
{
    for (size_t i = 0; i < ptx->n_relocations; i++) {
        const ptx_relocation *one = &ptx->relocations[i];
        uint64_t value = 0;
        for (size_t j = 0; j < ptx->n_variables; j++) {
            if (strcmp(ptx->variables[j].name, one->name) == 0) {
                value = ptx->base + ptx->variables[j].offset;
            }
        }
        int function = ptx_function_index(ptx, one->name);
        value = (function >= 0 ? CODE_WINDOW + (uint64_t)function : value) + (uint64_t)one->plus;
        memcpy(ptx->data + one->at, &value, one->size);
    }
}

static CUresult load(sim_context *context, CUmodule *out, const char *image, const load_options *options)
{
    char message[600] = "";
    CUresult code = sim_capture_unsafe();
    if (code != CUDA_SUCCESS) {
        return code;
    }
    if (out == NULL || image == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (strncmp(image, binary_mark, sizeof binary_mark - 1) == 0) {
        image += sizeof binary_mark - 1;
    } else if (memcmp(image, "\177ELF", 4) == 0) {
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    ptx_module *ptx = ptx_parse(image, message, sizeof message);
    if (ptx != NULL && ptx->target > 10 * sim.major + sim.minor) {
        snprintf(message, sizeof message, "ptxas fatal   : the target sm_%d is later than the device\n",
                 ptx->target);
        ptx_free(ptx);
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    if (options->error != NULL && options->error_size > 0) {
        snprintf(options->error, options->error_size, "%s", message);
    }
    if (options->info != NULL && options->info_size > 0) {
        options->info[0] = '\0';
    }
    if (ptx == NULL) {
        return CUDA_ERROR_INVALID_PTX;
    }
    sim_wait_alone(context);
    sim_module *module = sim_new(SIM_MODULE, sizeof *module);
    module->context = context;
    module->ptx = ptx;
    if (ptx->data_size > 0) {
        module->data = sim_block_for_module(context, ptx->data_size);
        if (module->data == NULL) {
            module->base.alive = false;
            ptx_free(ptx);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        ptx->base = module->data->start;
        relocate(ptx);
        memcpy((char *)module->data->start + module->data->shadow, ptx->data, ptx->data_size);
    }
    module->kernels = calloc(ptx->n_functions + 1, sizeof *module->kernels);
    for (size_t i = 0; i < ptx->n_functions; i++) {
        if (ptx->functions[i].entry) {
            module->kernels[i] = sim_new(SIM_KERNEL, sizeof **module->kernels);
            module->kernels[i]->module = module;
            module->kernels[i]->function = &ptx->functions[i];
        }
    }
    *out = (CUmodule)module;
    return CUDA_SUCCESS;
}

CUresult cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned n, CUjit_option *options,
                            void **values)
{
    SIM_ENTER_CURRENT(cuModuleLoadDataEx, context);
    load_options read = read_options(n, options, values);
    return sim_unlock(load(context, out, image, &read));
}

CUresult cuModuleLoadData(CUmodule *out, const void *image)
{
    SIM_ENTER_CURRENT(cuModuleLoadData, context);
    load_options read = {0};
    return sim_unlock(load(context, out, image, &read));
}

static sim_module *module_of(CUmodule handle)
{
    return sim_find(SIM_MODULE, handle);
}

/* Waits for the context's work, which may be the module's. */
CUresult cuModuleUnload(CUmodule handle)
{
    SIM_ENTER_CURRENT(cuModuleUnload, context);
    sim_module *module = module_of(handle);
    CUresult code = module == NULL ? CUDA_ERROR_INVALID_HANDLE : sim_capture_unsafe();
    if (code != CUDA_SUCCESS) {
        return sim_unlock(code);
    }
    module->base.alive = false;
    sim_wait_context(module->context);
    for (size_t i = 0; i < module->ptx->n_functions; i++) {
        if (module->kernels[i] != NULL) {
            module->kernels[i]->base.alive = false;
            module->kernels[i]->function = NULL;
        }
    }
    if (module->data != NULL) {
        sim_block_free(module->data);
    }
    ptx_free(module->ptx);
    free(module->kernels);
    module->ptx = NULL;
    module->kernels = NULL;
    return sim_unlock((CUresult)module->context->sticky);
}

CUresult cuModuleGetFunction(CUfunction *out, CUmodule handle, const char *name)
{
    SIM_ENTER_CURRENT(cuModuleGetFunction, context);
    sim_module *module = module_of(handle);
    if (module == NULL || name == NULL) {
        return sim_unlock(module == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE);
    }
    int index = ptx_function_index(module->ptx, name);
    if (index < 0 || module->kernels[index] == NULL) {
        return sim_unlock(CUDA_ERROR_NOT_FOUND);
    }
    *out = (CUfunction)module->kernels[index];
    return sim_unlock(CUDA_SUCCESS);
}

CUresult cuModuleGetGlobal(CUdeviceptr *address, size_t *size, CUmodule handle, const char *name)
{
    SIM_ENTER_CURRENT(cuModuleGetGlobal, context);
    sim_module *module = module_of(handle);
    for (size_t i = 0; module != NULL && i < module->ptx->n_variables; i++) {
        const ptx_variable *variable = &module->ptx->variables[i];
        if (strcmp(variable->name, name) == 0) {
            if (address != NULL) {
                *address = module->ptx->base + variable->offset;
            }
            if (size != NULL) {
                *size = variable->size;
            }
            return sim_unlock(CUDA_SUCCESS);
        }
    }
    return sim_unlock(module == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_NOT_FOUND);
}

CUresult cuModuleGetFunctionCount(unsigned *count, CUmodule handle)
{
    SIM_ENTER_CURRENT(cuModuleGetFunctionCount, context);
    sim_module *module = module_of(handle);
    if (module == NULL || count == NULL) {
        return sim_unlock(CUDA_ERROR_INVALID_VALUE);
    }
    *count = 0;
    for (size_t i = 0; i < module->ptx->n_functions; i++) {
        *count += module->kernels[i] != NULL;
    }
    return sim_unlock(CUDA_SUCCESS);
}

CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned n, CUmodule handle)
{
    SIM_ENTER_CURRENT(cuModuleEnumerateFunctions, context);
    sim_module *module = module_of(handle);
    unsigned at = 0;
    if (module == NULL || functions == NULL) {
        return sim_unlock(CUDA_ERROR_INVALID_VALUE);
    }
    for (size_t i = 0; i < module->ptx->n_functions && at < n; i++) {
        if (module->kernels[i] != NULL) {
            functions[at++] = (CUfunction)module->kernels[i];
        }
    }
    return sim_unlock(CUDA_SUCCESS);
}

/* Enters a call about a function. */
#define SIM_ENTER_KERNEL(name, handle, kernel)            \
    SIM_ENTER_CURRENT_BY(F_##name, context);              \
    sim_kernel *kernel = sim_find(SIM_KERNEL, handle);    \
    do {                                                  \
        if (kernel == NULL) {                             \
            return sim_unlock(CUDA_ERROR_INVALID_HANDLE); \
        }                                                 \
    } while (0)

CUresult cuFuncGetName(const char **name, CUfunction handle)
{
    SIM_ENTER_KERNEL(cuFuncGetName, handle, kernel);
    *name = kernel->function->name;
    return sim_unlock(CUDA_SUCCESS);
}

CUresult cuFuncGetModule(CUmodule *out, CUfunction handle)
{
    SIM_ENTER_KERNEL(cuFuncGetModule, handle, kernel);
    *out = (CUmodule)kernel->module;
    return sim_unlock(CUDA_SUCCESS);
}

CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t *offset, size_t *size)
{
    SIM_ENTER_KERNEL(cuFuncGetParamInfo, handle, kernel);
    if (index >= kernel->function->n_params) {
        return sim_unlock(CUDA_ERROR_INVALID_VALUE);
    }
    *offset = kernel->function->params[index].offset;
    if (size != NULL) {
        *size = kernel->function->params[index].size;
    }
    return sim_unlock(CUDA_SUCCESS);
}

static int max_threads(const ptx_function *function)
{
    return function->max_threads != 0 ? function->max_threads : 1024;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction handle)
{
    SIM_ENTER_KERNEL(cuFuncGetAttribute, handle, kernel);
    const ptx_function *function = kernel->function;
    switch ((int)attribute) {
        case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
            *value = max_threads(function);
            break;
        case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
            *value = (int)function->shared_size;
            break;
        case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
            *value = (int)function->local_size;
            break;
        case CU_FUNC_ATTRIBUTE_NUM_REGS:
            *value = 32;
            break;
        case CU_FUNC_ATTRIBUTE_PTX_VERSION:
            *value = kernel->module->ptx->version;
            break;
        case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
            *value = 10 * sim.major + sim.minor;
            break;
        case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
            *value = function->dynamic_limit != 0 ? function->dynamic_limit
                                                  : (48 << 10) - (int)function->shared_size;
            break;
        case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
            *value = -1;
            break;
        default:
            if ((int)attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX) {
                return sim_unlock(CUDA_ERROR_INVALID_VALUE);
            }
            *value = 0;
    }
    return sim_unlock(CUDA_SUCCESS);
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value)
{
    SIM_ENTER_KERNEL(cuFuncSetAttribute, handle, kernel);
    ptx_function *function = kernel->function;
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        if (value < 0 || value > (163 << 10) - (int)function->shared_size) {
            return sim_unlock(CUDA_ERROR_INVALID_VALUE);
        }
        function->dynamic_limit = value;
        return sim_unlock(CUDA_SUCCESS);
    }
    return sim_unlock(attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
                          ? CUDA_SUCCESS
                          : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction handle,
                                          CUoccupancyB2DSize to_dynamic, size_t dynamic, int limit)
{
    SIM_ENTER_KERNEL(cuOccupancyMaxPotentialBlockSize, handle, kernel);
    int most = max_threads(kernel->function);
    (void)to_dynamic;
    if (dynamic + kernel->function->shared_size > 163 << 10) {
        return sim_unlock(CUDA_ERROR_INVALID_VALUE);
    }
    *block = limit > 0 && limit < most ? limit : most;
    *grid = 4 * (2048 / *block);
    return sim_unlock(CUDA_SUCCESS);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction handle, int block,
                                                     size_t dynamic)
{
    SIM_ENTER_KERNEL(cuOccupancyMaxActiveBlocksPerMultiprocessor, handle, kernel);
    size_t shared = dynamic + kernel->function->shared_size + 1024;
    int by_memory = (int)((164 << 10) / shared), by_threads = block > 0 ? 2048 / block : 0;
    *blocks = by_memory < by_threads ? by_memory : by_threads;
    *blocks = *blocks > 32 ? 32 : *blocks;
    return sim_unlock(block > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}
