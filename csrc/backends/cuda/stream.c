/*
 * Streams of other libraries: what they are, found out by calls that a capture allows. Contracts:
 * usm_native_entries in core/device/backend.h.
 */
#include "cuda_backend.h"

/* The device by the stream's context. Some primary context must be current on the thread. */
usm_status usm_cuda_stream_device(CUstream stream, usm_device **out, usm_error *error)
{
    CUcontext context = NULL;
    *out = NULL;
    /* A capturing stream must not be asked: it is taken for one of this context. */
    CUresult code = usm_cuda_is_capturing(stream) ? usm_cuda.cuCtxGetCurrent(&context)
                                                  : usm_cuda.cuStreamGetCtx(stream, &context);
    if (code != CUDA_SUCCESS) {
        return usm_error_driver(error, USM_DRIVER, "cuda", (int)code, usm_cuda_name(code),
                                "%p is no stream of CUDA (%s)", (void *)stream, usm_cuda_name(code));
    }
    *out = usm_cuda_device_of_context(context);
    if (*out == NULL && context != NULL) { /* a primary context that we had no use for yet, or none at all */
        CUdevice id = -1;
        CUcontext ours;
        if (usm_cuda.cuCtxPushCurrent(context) == CUDA_SUCCESS) {
            (void)usm_cuda.cuCtxGetDevice(&id);
            (void)usm_cuda.cuCtxPopCurrent(&ours);
        }
        usm_device *device = id < 0 ? NULL : usm_cuda_device_at(id);
        if (device != NULL) {
            usm_status status = usm_cuda_retain_primary(device, error);
            if (status != USM_OK) {
                return status;
            }
            *out = usm_cuda_device_of_context(context);
        }
    }
    if (*out == NULL) {
        return usm_error_set(
            error, USM_VALUE,
            "the stream %p is of the context %p, which is the primary context of no device: usmpy works "
            "in primary contexts, as CUDA's runtime and the libraries over it do",
            (void *)stream, (void *)context);
    }
    return USM_OK;
}

/* A number made of the handle: another stream that gets the same handle later gets the same number. */
static uint64_t number_handle(const usm_device *device, CUstream stream)
{
    uint64_t bits = (uint64_t)(uintptr_t)stream ^ ((uint64_t)device->index << 48);
    if (stream == CU_STREAM_PER_THREAD) {
        bits ^= (uint64_t)(uintptr_t)pthread_self();
    }
    return bits * UINT64_C(0x9e3779b97f4a7c15) | UINT64_C(1) << 63;
}

/* cuStreamGetId (CUDA 12.0) never repeats a number, but invalidates a capture, and older drivers lack it. */
static uint64_t make_id(const usm_device *device, CUstream stream)
{
    unsigned long long id = 0;
    return usm_cuda.cuStreamGetId != NULL && usm_cuda.cuStreamGetId(stream, &id) == CUDA_SUCCESS
               ? id
               : number_handle(device, stream);
}

uint64_t usm_cuda_native_stream_id(usm_device *device, void *handle)
{
    CUstream stream = handle;
    usm_cuda_scope scope;
    unsigned flags = CU_STREAM_NON_BLOCKING;
    unsigned long long id;
    uint64_t found = USM_STREAM_NO_ID;
    if (handle == USM_STREAM_LEGACY || handle == USM_STREAM_PER_THREAD) {
        return USM_STREAM_IN_LEGACY;
    }
    if (usm_cuda_is_lost(device) || usm_cuda_enter(device, &scope, NULL) != USM_OK) {
        return found;
    }
    if (usm_cuda_is_capturing(stream)) { /* it must not be asked */
        found = 0;
    } else if (usm_cuda.cuStreamGetFlags(stream, &flags) == CUDA_SUCCESS &&
               (flags & CU_STREAM_NON_BLOCKING) == 0) {
        found = USM_STREAM_IN_LEGACY;
    } else if (usm_cuda.cuStreamGetId != NULL && usm_cuda.cuStreamGetId(stream, &id) == CUDA_SUCCESS) {
        found = id | UINT64_C(1) << 63; /* none of the two above */
    }
    usm_cuda_leave(&scope);
    return found;
}

/*
 * cuMemFree of what cuMemAlloc gave waits for all work of the context, and leaves captures alone, which
 * cuCtxSynchronize and the like invalidate. Memory of a pool would not wait (driver 580).
 */
static CUresult free_byte(usm_cuda_device *native, const char **function)
{
    CUdeviceptr byte = (CUdeviceptr)atomic_exchange(&native->byte, 0), next;
    *function = "cuMemAlloc";
    CUresult code = byte != 0 ? CUDA_SUCCESS : usm_cuda.cuMemAlloc(&byte, 1);
    if (code == CUDA_SUCCESS) {
        *function = "cuMemFree";
        code = usm_cuda.cuMemFree(byte);
    }
    if (code == CUDA_SUCCESS && usm_cuda.cuMemAlloc(&next, 1) == CUDA_SUCCESS) {
        next = (CUdeviceptr)atomic_exchange(&native->byte, next);
        if (next != 0) { /* another thread's */
            (void)usm_cuda.cuMemFree(next);
        }
    }
    return code;
}

usm_status usm_cuda_native_synchronize(usm_device *device, usm_error *error)
{
    usm_cuda_scope scope;
    const char *function;
    if (usm_cuda_is_lost(device)) {
        return USM_OK;
    }
    usm_status status = usm_cuda_enter(device, &scope, error);
    if (status != USM_OK) {
        return usm_cuda_is_lost(device) ? USM_OK : status;
    }
    usm_cuda_relax(&scope);
    CUresult code = free_byte(usm_cuda_device_of(device), &function);
    usm_cuda_note(device, code);
    if (code != CUDA_SUCCESS && !usm_cuda_is_lost(device)) {
        status = usm_cuda_failed_on(device, error, code, function);
    }
    usm_cuda_leave(&scope);
    return status;
}

usm_status usm_cuda_native_stream_inspect(usm_device *device, void *handle, usm_stream_facts *facts,
                                          usm_error *error)
{
    CUstream stream = handle;
    bool special = handle == USM_STREAM_LEGACY || handle == USM_STREAM_PER_THREAD;
    usm_cuda_scope scope;
    usm_device *own = device;
    usm_status status = usm_cuda_enter(device, &scope, error);
    if (status != USM_OK) {
        return status;
    }
    if (!special) {
        status = usm_cuda_stream_device(stream, &own, error);
    }
    if (status == USM_OK && own != device) {
        char text[USM_DEVICE_TEXT], other[USM_DEVICE_TEXT];
        status = usm_error_set(
            error, USM_VALUE, "the stream %p is of the device %s, and the memory or queue of %s", handle,
            usm_device_text(own, other, sizeof other), usm_device_text(device, text, sizeof text));
    }
    if (status == USM_OK) {
        bool capturing = usm_cuda_is_capturing(stream);
        *facts = (usm_stream_facts){
            .id = capturing ? number_handle(device, stream) : make_id(device, stream),
            .capturing = capturing,
            .options = {.in_order = true, .priority = USM_PRIORITY_NORMAL},
        };
        if (!facts->capturing) { /* a capturing stream must not be asked */
            usm_cuda_relax(&scope);
            CUresult code = usm_cuda.cuStreamQuery(stream);
            usm_cuda_note(device, code);
            facts->idle = code == CUDA_SUCCESS || usm_cuda_is_lost(device);
        }
    }
    usm_cuda_leave(&scope);
    return status;
}
