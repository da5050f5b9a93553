/*
 * Unified shared memory: device memory from a pool of our own, managed memory, and pinned memory of the host.
 * Memory of a pool is allocated and freed in stream order (CUDA driver API, Stream Ordered Memory Allocator):
 * in a stream that has no other work. An allocation waits for that stream, so that the block may be used in
 * every stream; a block is freed when all work on it has ended.
 */
#include "cuda_backend.h"

#include <stdio.h>

/* Makes the pool and its stream. The device's lock held, its context current. */
static CUresult make_pool(usm_cuda_device *native)
{
    CUmemPoolProps properties = {
        .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
        .handleTypes = CU_MEM_HANDLE_TYPE_NONE,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = native->id},
    };
    cuuint64_t all = UINT64_MAX; /* what is free stays in the pool until it is trimmed */
    CUresult code = usm_cuda.cuStreamCreateWithPriority(&native->allocations, CU_STREAM_NON_BLOCKING, 0);
    if (code != CUDA_SUCCESS) {
        native->allocations = NULL;
        return code;
    }
    code = usm_cuda.cuMemPoolCreate(&native->pool, &properties);
    if (code == CUDA_SUCCESS) {
        code = usm_cuda.cuMemPoolSetAttribute(native->pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all);
    }
    if (code != CUDA_SUCCESS) {
        native->pool = NULL;
        (void)usm_cuda.cuStreamDestroy(native->allocations);
        native->allocations = NULL;
    }
    return code;
}

/* The device's pool, made at first use. The device's context is current. */
CUresult usm_cuda_get_pool(usm_cuda_device *native)
{
    CUresult code = CUDA_SUCCESS;
    pthread_mutex_lock(&native->lock);
    if (native->pool == NULL) {
        code = make_pool(native);
    }
    pthread_mutex_unlock(&native->lock);
    return code;
}

/*
 * Access to a pool is granted by the device that has it (cuMemPoolSetAccess): cuCtxEnablePeerAccess has no
 * effect on it.
 */
CUresult usm_cuda_enable_pool_access(usm_device *device, usm_device *peer)
{
    usm_cuda_device *native = usm_cuda_device_of(device);
    const CUmemAccessDesc access = {
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = usm_cuda_device_of(peer)->id},
        .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    };
    if (!native->has_pools) {
        return CUDA_SUCCESS;
    }
    CUresult code = usm_cuda_get_pool(native);
    return code != CUDA_SUCCESS ? code : usm_cuda.cuMemPoolSetAccess(native->pool, &access, 1);
}

/* When memory runs out, the pool first gives back what other sizes have left in it. */
static CUresult allocate_device(usm_cuda_device *native, size_t nbytes, CUdeviceptr *out)
{
    if (!native->has_pools) {
        return usm_cuda.cuMemAlloc(out, nbytes);
    }
    CUresult code = usm_cuda_get_pool(native);
    if (code != CUDA_SUCCESS) {
        return code;
    }
    code = usm_cuda.cuMemAllocFromPoolAsync(out, nbytes, native->pool, native->allocations);
    if (code == CUDA_ERROR_OUT_OF_MEMORY) { /* once frees that were enqueued have taken place */
        (void)usm_cuda.cuStreamSynchronize(native->allocations);
        (void)usm_cuda.cuMemPoolTrimTo(native->pool, 0);
        code = usm_cuda.cuMemAllocFromPoolAsync(out, nbytes, native->pool, native->allocations);
    }
    if (code != CUDA_SUCCESS) { /* what the pool got for the failed attempt goes back */
        (void)usm_cuda.cuMemPoolTrimTo(native->pool, 0);
    }
    if (code == CUDA_SUCCESS) {
        code = usm_cuda.cuStreamSynchronize(native->allocations);
    }
    return code;
}

/* The message says how much is free, which may still be more than the largest free block. */
static usm_status no_memory(const usm_device *device, usm_kind kind, size_t nbytes, usm_error *error)
{
    size_t left = 0, total = 0;
    char room[96] = "";
    if (kind == USM_DEVICE && usm_cuda.cuMemGetInfo != NULL &&
        usm_cuda.cuMemGetInfo(&left, &total) == CUDA_SUCCESS) {
        snprintf(room, sizeof room, " (%zu of its %zu bytes are free)", left, total);
    }
    return usm_error_driver(error, USM_MEMORY, "cuda", CUDA_ERROR_OUT_OF_MEMORY,
                            usm_cuda_name(CUDA_ERROR_OUT_OF_MEMORY),
                            "cannot allocate %zu bytes of %s memory on %s%s", nbytes, usm_kind_name(kind),
                            device->info.name, room);
}

/* Relaxed capture mode: the allocation synchronizes, which a capture by another library does not allow. */
usm_status usm_cuda_memory_allocate(const usm_place *place, usm_kind kind, size_t nbytes, void **out,
                                    bool *zeroed, usm_error *error)
{
    usm_device *device = place->device;
    usm_cuda_device *native = usm_cuda_device_of(device);
    usm_cuda_scope scope;
    CUdeviceptr pointer = 0;
    CUresult code;
    const char *function;
    *zeroed = false;
    *out = NULL;
    if (usm_cuda_is_lost(device)) {
        return usm_cuda_lost(device, error);
    }
    if (kind == USM_SHARED && !device->info.has_usm_shared) {
        return usm_error_set(
            error, USM_VALUE,
            "%s has no shared memory: its managed memory may not be touched by the host while the "
            "device works; usm_type='device' and 'host' work",
            device->info.name);
    }
    usm_status status = usm_cuda_enter(device, &scope, error);
    if (status != USM_OK) {
        return status;
    }
    usm_cuda_relax(&scope);
    switch (kind) {
        case USM_DEVICE:
            function = native->has_pools ? "cuMemAllocFromPoolAsync" : "cuMemAlloc";
            code = allocate_device(native, nbytes, &pointer);
            *out = (void *)(uintptr_t)pointer;
            break;
        case USM_SHARED:
            function = "cuMemAllocManaged";
            code = usm_cuda.cuMemAllocManaged(&pointer, nbytes, CU_MEM_ATTACH_GLOBAL);
            *out = (void *)(uintptr_t)pointer;
            break;
        default:
            function = "cuMemHostAlloc";
            code = usm_cuda.cuMemHostAlloc(out, nbytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
    }
    if (code != CUDA_SUCCESS) {
        *out = NULL;
        status = code == CUDA_ERROR_OUT_OF_MEMORY ? no_memory(device, kind, nbytes, error)
                                                  : usm_cuda_failed_on(device, error, code, function);
    }
    usm_cuda_leave(&scope);
    return status;
}

/* cuMemFreeAsync does not wait; cuMemFree waits for the work of the device, which is why pools come first. */
void usm_cuda_memory_free(const usm_place *place, usm_kind kind, void *pointer, size_t nbytes)
{
    usm_device *device = place->device;
    usm_cuda_device *native = usm_cuda_device_of(device);
    usm_cuda_scope scope;
    (void)nbytes;
    if (!usm_cuda_enter_to_give_back(device, &scope)) {
        return;
    }
    CUdeviceptr address = usm_cuda_address(pointer);
    if (kind == USM_HOST) {
        USM_CUDA_GIVE_BACK(device, cuMemFreeHost, pointer);
    } else if (kind == USM_DEVICE && native->has_pools) {
        USM_CUDA_GIVE_BACK(device, cuMemFreeAsync, address, native->allocations);
    } else {
        USM_CUDA_GIVE_BACK(device, cuMemFree, address);
    }
    usm_cuda_leave(&scope);
}

void usm_cuda_memory_trim(const usm_place *place)
{
    usm_device *device = place->device;
    usm_cuda_device *native = usm_cuda_device_of(device);
    usm_cuda_scope scope;
    if (usm_cuda_is_lost(device)) {
        return;
    }
    pthread_mutex_lock(&native->lock);
    CUmemoryPool pool = native->pool;
    pthread_mutex_unlock(&native->lock);
    if (pool == NULL || usm_cuda_enter(device, &scope, NULL) != USM_OK) {
        return;
    }
    usm_cuda_relax(&scope);
    CUresult code = usm_cuda.cuStreamSynchronize(native->allocations); /* the frees that are on their way */
    usm_cuda_note(device, code == CUDA_SUCCESS ? usm_cuda.cuMemPoolTrimTo(pool, 0) : code);
    usm_cuda_leave(&scope);
}

/*
 * One call for all attributes: unknown ones are zero then, and memory of the process that CUDA does not know
 * is no error (cuPointerGetAttributes).
 */
static usm_status ask_pointer(const void *pointer, usm_pointer_info *info, usm_error *error)
{
    enum { N = 5 };
    CUpointer_attribute names[N] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                    CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    unsigned type = 0;
    unsigned managed = 0; /* the driver writes one byte or four */
    int ordinal = -1;
    CUdeviceptr base = 0;
    size_t size = 0;
    void *values[N] = {&type, &managed, &ordinal, &base, &size};
    *info = (usm_pointer_info){.identifies = USM_IDENTIFIES_ALL};
    CUresult code = usm_cuda.cuPointerGetAttributes(N, names, values, usm_cuda_address(pointer));
    if (code == CUDA_ERROR_INVALID_VALUE) {
        return USM_OK; /* some drivers say so of memory that they do not know */
    }
    if (code != CUDA_SUCCESS) {
        return usm_cuda_failed(error, code, "cuPointerGetAttributes");
    }
    if (type == 0 || ordinal == CU_DEVICE_CPU) {
        return USM_OK;
    }
    info->device = usm_cuda_device_at(ordinal);
    info->kind = managed != 0 ? USM_SHARED : type == CU_MEMORYTYPE_HOST ? USM_HOST : USM_DEVICE;
    info->base = (void *)(uintptr_t)base;
    info->size = base != 0 ? size : 0;
    return USM_OK;
}

usm_status usm_cuda_memory_query(usm_context *context, const void *pointer, usm_pointer_info *info,
                                 usm_error *error)
{
    usm_cuda_scope scope;
    usm_status status = usm_cuda_enter(context->devices[0], &scope, error);
    if (status == USM_OK) {
        status = ask_pointer(pointer, info, error);
        usm_cuda_leave(&scope);
    }
    return status;
}

static _Atomic uint8_t *peer_of(const usm_place *memory, const usm_place *user)
{
    return &usm_cuda_device_of(user->device)->peers[memory->device->index];
}

/*
 * Pointers mean the same in all contexts of a process, so the devices alone decide; managed and pinned memory
 * is accessible to all of them (CUDA driver API, Unified Addressing).
 */
usm_memory_connection usm_cuda_memory_connection(const usm_place *memory, usm_kind kind,
                                                 const usm_place *user)
{
    if (kind != USM_DEVICE || memory->device == user->device) {
        return USM_CONNECTION_UNIFIED;
    }
    return (usm_memory_connection)atomic_load_explicit(peer_of(memory, user), memory_order_acquire);
}

/* Two threads may both enable the access, which changes nothing the second time. */
usm_memory_connection usm_cuda_memory_connect(const usm_place *memory, const usm_place *user)
{
    bool reaches = usm_cuda_enable_access(user->device, memory->device) &&
                   usm_cuda_share_reach(user->device, memory->device);
    usm_memory_connection answer = reaches ? USM_CONNECTION_UNIFIED : USM_CONNECTION_MIGRATABLE;
    atomic_store_explicit(peer_of(memory, user), (uint8_t)answer, memory_order_release);
    return answer;
}

/* Allocations of the task answer most questions; only others cost a call of the driver. */
bool usm_cuda_knows(const usm_event *event, const void *pointer)
{
    usm_pointer_info info;
    for (size_t i = 0; i < event->n_accesses; i++) {
        const usm_alloc *alloc = event->accesses[i].alloc;
        const char *base = alloc->pointer;
        if ((const char *)pointer >= base && (const char *)pointer < base + alloc->size &&
            alloc->context->backend == &usm_cuda_backend) {
            return true;
        }
    }
    return ask_pointer(pointer, &info, NULL) == USM_OK && info.device != NULL;
}
