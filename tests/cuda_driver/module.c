/* Modules: for now, none can be loaded. */
#include "sim.h"

CUresult sim_kernel_run(sim_context *context, const sim_launch *launch)
{
    (void)context;
    (void)launch;
    return CUDA_SUCCESS;
}

size_t sim_kernel_parameters(const sim_kernel *kernel)
{
    (void)kernel;
    return 0;
}

#pragma GCC diagnostic ignored "-Wunused-parameter"
CUresult cuModuleLoadData(CUmodule *m, const void *i)
{
    SIM_ENTER(cuModuleLoadData);
    return CUDA_ERROR_INVALID_PTX;
}
CUresult cuModuleLoadDataEx(CUmodule *m, const void *i, unsigned n, CUjit_option *o, void **v)
{
    SIM_ENTER(cuModuleLoadDataEx);
    return CUDA_ERROR_INVALID_PTX;
}
CUresult cuModuleUnload(CUmodule m)
{
    SIM_ENTER(cuModuleUnload);
    return CUDA_ERROR_NOT_FOUND;
}
CUresult cuModuleGetFunction(CUfunction *f, CUmodule m, const char *n)
{
    SIM_ENTER(cuModuleGetFunction);
    return CUDA_ERROR_NOT_FOUND;
}
CUresult cuFuncGetAttribute(int *p, CUfunction_attribute a, CUfunction f)
{
    SIM_ENTER(cuFuncGetAttribute);
    return CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int v)
{
    SIM_ENTER(cuFuncSetAttribute);
    return CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuOccupancyMaxPotentialBlockSize(int *g, int *b, CUfunction f, CUoccupancyB2DSize s, size_t d, int l)
{
    SIM_ENTER(cuOccupancyMaxPotentialBlockSize);
    return CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuLaunchKernel(CUfunction f, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned g,
                        unsigned h, CUstream s, void **p, void **x)
{
    SIM_ENTER(cuLaunchKernel);
    return CUDA_ERROR_INVALID_HANDLE;
}
