/*
 * Primary contexts (CUDA driver API, Primary Context Management): one a device, shared with CUDA's runtime
 * and the libraries over it; and which devices access memory of each other.
 */
#include "cuda_backend.h"

#include "core/tasks/unretrieved.h"

/* Making a primary context takes long and is done once a device. A leaf but for the driver's own locks. */
static pthread_mutex_t retaining = PTHREAD_MUTEX_INITIALIZER;

/*
 * The reference is never dropped: other libraries may have pointers into the context, and it is destroyed
 * with the process.
 */
usm_status usm_cuda_retain_primary(usm_device *device, usm_error *error)
{
    usm_cuda_device *native = usm_cuda_device_of(device);
    CUcontext context = NULL;
    CUresult code = CUDA_SUCCESS;
    pthread_mutex_lock(&retaining);
    if (atomic_load_explicit(&native->context, memory_order_relaxed) == NULL) {
        code = usm_cuda.cuDevicePrimaryCtxRetain(&context, native->id);
        if (code == CUDA_SUCCESS) {
            atomic_store_explicit(&native->context, context, memory_order_release);
        }
    }
    pthread_mutex_unlock(&retaining);
    return code == CUDA_SUCCESS ? USM_OK
                                : usm_cuda_failed_on(device, error, code, "cuDevicePrimaryCtxRetain");
}

/* A context that is lost refuses this call, too: the device is marked then. */
usm_status usm_cuda_push(CUcontext context, usm_error *error)
{
    CUresult code = usm_cuda.cuCtxPushCurrent(context);
    usm_device *device = code == CUDA_SUCCESS ? NULL : usm_cuda_device_of_context(context);
    if (device != NULL) {
        usm_cuda_note(device, code);
    }
    return code == CUDA_SUCCESS ? USM_OK : usm_cuda_failed(error, code, "cuCtxPushCurrent");
}

/*
 * Contexts of the core are lists of devices: each device's work is in its primary context, which stays when
 * the usm_context is destroyed, since other libraries may use it too.
 */
usm_status usm_cuda_context_create(usm_context *context, usm_error *error)
{
    for (size_t i = 0; i < context->n_devices; i++) {
        usm_cuda_scope scope;
        usm_status status = usm_cuda_enter(context->devices[i], &scope, error);
        if (status != USM_OK) {
            return status;
        }
        usm_cuda_relax(&scope);
        CUresult code = usm_cuda_pinned_prepare();
        usm_cuda_leave(&scope);
        if (code != CUDA_SUCCESS) {
            return usm_cuda_failed_on(context->devices[i], error, code, "cuMemHostAlloc");
        }
    }
    context->native =
        atomic_load_explicit(&usm_cuda_device_of(context->devices[0])->context, memory_order_acquire);
    return USM_OK;
}

bool usm_cuda_enter_to_give_back(usm_device *device, usm_cuda_scope *scope)
{
    usm_error error;
    if (usm_cuda_is_lost(device)) {
        return false;
    }
    if (usm_cuda_enter(device, scope, &error) != USM_OK) {
        usm_unretrieved_report_once(&error);
        return false;
    }
    usm_cuda_relax(scope);
    return true;
}

/*
 * Memory of cuMemAlloc by cuCtxEnablePeerAccess, memory of our pool by its own access flags (Peer Context
 * Memory Access; Stream Ordered Memory Allocator).
 */
bool usm_cuda_enable_access(usm_device *from, usm_device *to)
{
    usm_cuda_scope scope;
    int can = 0;
    if (usm_cuda.cuDeviceCanAccessPeer(&can, usm_cuda_device_of(from)->id, usm_cuda_device_of(to)->id) !=
            CUDA_SUCCESS ||
        can == 0) {
        return false;
    }
    if (usm_cuda_enter(to, &scope, NULL) != USM_OK) { /* also makes its context */
        return false;
    }
    CUresult code = usm_cuda_enable_pool_access(to, from);
    usm_cuda_leave(&scope);
    if (code != CUDA_SUCCESS || usm_cuda_enter(from, &scope, NULL) != USM_OK) {
        return false;
    }
    code = usm_cuda.cuCtxEnablePeerAccess(
        atomic_load_explicit(&usm_cuda_device_of(to)->context, memory_order_acquire), 0);
    usm_cuda_leave(&scope);
    return code == CUDA_SUCCESS || code == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}
