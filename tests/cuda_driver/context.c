/* Contexts: primary ones, others, and the stack of current ones of each thread. */
#include "sim.h"

#define DEPTH 64

static __thread sim_context *stack[DEPTH];
static __thread int depth;

sim_context *sim_top(void)
{
    return depth > 0 ? stack[depth - 1] : NULL;
}

CUresult sim_current(sim_context **out)
{
    sim_context *context = *out = sim_top();
    if (context == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (!context->base.alive || (context->primary && context->retained == 0)) {
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    return (CUresult)context->sticky;
}

/* Measured on an H200 with driver 580: these calls wait while another thread is in sim_wait_alone. */
static bool needs_context(sim_function function)
{
    switch (function) {
        case F_cuMemAlloc:
        case F_cuMemAllocManaged:
        case F_cuMemHostAlloc:
        case F_cuMemAllocHost:
        case F_cuMemFree:
        case F_cuMemFreeHost:
        case F_cuMemcpyAsync:
        case F_cuMemcpyHtoDAsync:
        case F_cuMemcpyDtoHAsync:
        case F_cuMemcpyDtoDAsync:
        case F_cuMemcpyPeerAsync:
        case F_cuMemcpy2DAsync:
        case F_cuMemcpy3DAsync:
        case F_cuMemsetD8Async:
        case F_cuMemsetD16Async:
        case F_cuMemsetD32Async:
        case F_cuMemsetD2D8Async:
        case F_cuMemsetD2D16Async:
        case F_cuMemsetD2D32Async:
        case F_cuStreamCreate:
        case F_cuStreamCreateWithPriority:
        case F_cuEventCreate:
        case F_cuEventRecord:
        case F_cuGraphLaunch:
        case F_cuModuleLoadData:
        case F_cuModuleLoadDataEx:
        case F_cuFuncSetAttribute:
        case F_cuLaunchKernel:
            return true;
        default:
            return false;
    }
}

void sim_let_in(sim_context *context, sim_function function)
{
    while (context->alone != 0 && needs_context(function)) {
        sim_pause(false);
    }
}

void sim_wait_alone(sim_context *context)
{
    context->alone++;
    sim_wait_context(context);
    context->alone--;
    pthread_cond_broadcast(&sim.progress);
}

void sim_lose(sim_context *context, CUresult code)
{
    if (context->sticky == CUDA_SUCCESS) {
        context->sticky = (int)code;
    }
    pthread_cond_broadcast(&sim.progress);
}

static sim_context *context_new(int device, bool primary, unsigned flags)
{
    sim_context *context = sim_new(SIM_CONTEXT, sizeof *context);
    context->device = device;
    context->primary = primary;
    context->flags = flags;
    context->id = sim_next_id();
    context->legacy = sim_stream_new(context, CU_STREAM_DEFAULT, 0);
    context->legacy->legacy = true;
    return context;
}

/* What a handle names: alive, and retained where it is a primary one. */
static sim_context *context_of(CUcontext handle)
{
    sim_context *context = sim_find(SIM_CONTEXT, handle);
    return context != NULL && (!context->primary || context->retained > 0) ? context : NULL;
}

/* Its memory, streams and events are gone with it. */
static void context_end(sim_context *context)
{
    sim_wait_context(context);
    for (sim_stream *stream = context->streams; stream != NULL; stream = stream->sibling) {
        if (stream != context->legacy) {
            sim_stream_end(stream);
        }
    }
    context->sticky = CUDA_SUCCESS;
    context->peers = 0;
}

static sim_context *primary_of(CUdevice device, CUresult *code)
{
    if (device < 0 || device >= sim.devices) {
        *code = CUDA_ERROR_INVALID_DEVICE;
        return NULL;
    }
    if (sim.device[device].primary == NULL) {
        sim.device[device].primary = context_new(device, true, 0);
    }
    *code = CUDA_SUCCESS;
    return sim.device[device].primary;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device)
{
    CUresult code;
    SIM_ENTER(cuDevicePrimaryCtxRetain);
    sim_lock();
    sim_context *context = primary_of(device, &code);
    if (context != NULL) {
        context->retained++;
        *out = (CUcontext)context;
    }
    return sim_unlock(code);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    CUresult code;
    SIM_ENTER(cuDevicePrimaryCtxRelease);
    sim_lock();
    sim_context *context = primary_of(device, &code);
    if (context != NULL && context->retained == 0) {
        code = CUDA_ERROR_INVALID_CONTEXT;
    } else if (context != NULL && --context->retained == 0) {
        context_end(context);
    }
    return sim_unlock(code);
}

CUresult cuDevicePrimaryCtxReset(CUdevice device)
{
    CUresult code;
    SIM_ENTER(cuDevicePrimaryCtxReset);
    sim_lock();
    sim_context *context = primary_of(device, &code);
    if (context != NULL) {
        context_end(context);
    }
    return sim_unlock(code);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
    CUresult code;
    SIM_ENTER(cuDevicePrimaryCtxGetState);
    sim_lock();
    sim_context *context = primary_of(device, &code);
    if (context != NULL) {
        *flags = context->flags;
        *active = context->retained > 0;
    }
    return sim_unlock(code);
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags)
{
    CUresult code;
    SIM_ENTER(cuDevicePrimaryCtxSetFlags);
    sim_lock();
    sim_context *context = primary_of(device, &code);
    if (context != NULL) {
        context->flags = flags;
    }
    return sim_unlock(code);
}

static CUresult push(sim_context *context)
{
    if (depth == DEPTH) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    stack[depth++] = context;
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 13000
CUresult cuCtxCreate(CUcontext *out, CUctxCreateParams *parameters, unsigned flags, CUdevice device)
#else
CUresult cuCtxCreate(CUcontext *out, unsigned flags, CUdevice device)
#endif
{
    SIM_ENTER(cuCtxCreate);
#if CUDA_VERSION >= 13000
    (void)parameters;
#endif
    if (device < 0 || device >= sim.devices) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    sim_lock();
    sim_context *context = context_new(device, false, flags);
    *out = (CUcontext)context;
    return sim_unlock(push(context));
}

CUresult cuCtxDestroy(CUcontext handle)
{
    SIM_ENTER(cuCtxDestroy);
    sim_lock();
    sim_context *context = context_of(handle);
    if (context == NULL || context->primary) {
        return sim_unlock(CUDA_ERROR_INVALID_CONTEXT);
    }
    context_end(context);
    context->base.alive = false;
    if (sim_top() == context) {
        depth--;
    }
    return sim_unlock(CUDA_SUCCESS);
}

CUresult cuCtxGetCurrent(CUcontext *out)
{
    SIM_ENTER(cuCtxGetCurrent);
    *out = (CUcontext)sim_top();
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext handle)
{
    SIM_ENTER(cuCtxSetCurrent);
    sim_lock();
    sim_context *context = handle == NULL ? NULL : context_of(handle);
    if (handle != NULL && context == NULL) {
        return sim_unlock(CUDA_ERROR_INVALID_CONTEXT);
    }
    if (context == NULL) {
        depth -= depth > 0;
    } else if (depth > 0) {
        stack[depth - 1] = context;
    } else {
        push(context);
    }
    return sim_unlock(CUDA_SUCCESS);
}

CUresult cuCtxPushCurrent(CUcontext handle)
{
    SIM_ENTER(cuCtxPushCurrent);
    sim_lock();
    sim_context *context = context_of(handle);
    return sim_unlock(context == NULL ? CUDA_ERROR_INVALID_CONTEXT : push(context));
}

CUresult cuCtxPopCurrent(CUcontext *out)
{
    SIM_ENTER(cuCtxPopCurrent);
    if (depth == 0) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    depth--;
    if (out != NULL) {
        *out = (CUcontext)stack[depth];
    }
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    SIM_ENTER(cuCtxGetDevice);
    sim_context *context = sim_top();
    if (context == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    *device = context->device;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long *id)
{
    SIM_ENTER(cuCtxGetId);
    sim_lock();
    sim_context *context = handle == NULL ? sim_top() : context_of(handle);
    if (context != NULL) {
        *id = context->id;
    }
    return sim_unlock(context == NULL ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_SUCCESS);
}

CUresult cuCtxGetFlags(unsigned *flags)
{
    SIM_ENTER_CURRENT(cuCtxGetFlags, context);
    *flags = context->flags;
    return sim_unlock(CUDA_SUCCESS);
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned *version)
{
    SIM_ENTER(cuCtxGetApiVersion);
    sim_lock();
    sim_context *context = handle == NULL ? sim_top() : context_of(handle);
    *version = 3020;
    return sim_unlock(context == NULL ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS);
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    SIM_ENTER_CURRENT(cuCtxGetStreamPriorityRange, context);
    if (least != NULL) {
        *least = 0;
    }
    if (greatest != NULL) {
        *greatest = -5;
    }
    return sim_unlock(CUDA_SUCCESS);
}

CUresult cuCtxGetLimit(size_t *value, CUlimit limit)
{
    SIM_ENTER_CURRENT(cuCtxGetLimit, context);
    *value = limit == CU_LIMIT_STACK_SIZE ? 1024 : limit == CU_LIMIT_MALLOC_HEAP_SIZE ? 8 << 20 : 0;
    return sim_unlock(CUDA_SUCCESS);
}

CUresult cuCtxSynchronize(void)
{
    SIM_ENTER_CURRENT(cuCtxSynchronize, context);
    CUresult code = sim_capture_unsafe();
    if (code == CUDA_SUCCESS) {
        sim_wait_context(context);
        sim_pools_trim();
        code = (CUresult)context->sticky;
    }
    return sim_unlock(code);
}

CUresult cuCtxEnablePeerAccess(CUcontext handle, unsigned flags)
{
    SIM_ENTER_CURRENT(cuCtxEnablePeerAccess, context);
    sim_context *peer = context_of(handle);
    if (peer == NULL || flags != 0) {
        return sim_unlock(peer == NULL ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE);
    }
    if (!sim.peers || peer->device == context->device) {
        return sim_unlock(CUDA_ERROR_INVALID_DEVICE);
    }
    if (context->peers >> peer->device & 1) {
        return sim_unlock(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    }
    context->peers |= 1u << peer->device;
    return sim_unlock(CUDA_SUCCESS);
}

CUresult cuCtxDisablePeerAccess(CUcontext handle)
{
    SIM_ENTER_CURRENT(cuCtxDisablePeerAccess, context);
    sim_context *peer = context_of(handle);
    if (peer == NULL) {
        return sim_unlock(CUDA_ERROR_INVALID_CONTEXT);
    }
    if ((context->peers >> peer->device & 1) == 0) {
        return sim_unlock(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    }
    context->peers &= ~(1u << peer->device);
    return sim_unlock(CUDA_SUCCESS);
}
