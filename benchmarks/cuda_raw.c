/*
 * What usmpy is measured against: the same work in the same driver, without a library in between. Compiled by
 * cuda.py, which has opened the driver; every function repeats n times. Only raw_open() makes objects.
 */
#include <cuda.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct raw {
    CUcontext context;
    CUstream stream, other;
    CUevent event;
    CUfunction kernel, spin;
    CUdeviceptr x, y; /* room for the largest copy */
    void *pinned;
} raw;

static void check(CUresult code, const char *call)
{
    if (code != CUDA_SUCCESS) {
        fprintf(stderr, "%s: CUresult %d\n", call, (int)code);
        abort();
    }
}
#define CHECK(call) check(call, #call)

/* The process ends with all of it in use. */
raw *raw_open(int ordinal, const char *ptx, size_t room, int spins)
{
    raw *r = calloc(1, sizeof *r);
    CUdevice device;
    CUmodule module;
    if (r == NULL) {
        abort();
    }
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, ordinal));
    CHECK(cuDevicePrimaryCtxRetain(&r->context, device));
    CHECK(cuCtxPushCurrent(r->context));
    CHECK(cuStreamCreate(&r->stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&r->other, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&r->event, CU_EVENT_DISABLE_TIMING));
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&r->kernel, module, "touch"));
    if (spins) {
        CHECK(cuModuleGetFunction(&r->spin, module, "spin"));
    }
    CHECK(cuMemAlloc(&r->x, room));
    CHECK(cuMemAlloc(&r->y, room));
    CHECK(cuMemHostAlloc(&r->pinned, room, CU_MEMHOSTALLOC_PORTABLE));
    CHECK(cuCtxPopCurrent(&r->context));
    return r;
}

CUdeviceptr raw_x(const raw *r)
{
    return r->x;
}

CUstream raw_stream(const raw *r)
{
    return r->stream;
}

void raw_enter(const raw *r)
{
    CHECK(cuCtxSetCurrent(r->context));
}

void raw_synchronize(const raw *r)
{
    CHECK(cuStreamSynchronize(r->stream));
}

/* Holds a stream up, so that what is enqueued behind it is pending. */
void raw_hold(const raw *r, CUstream stream, unsigned long long ns)
{
    void *arguments[] = {&ns};
    if (r->spin != NULL) {
        CHECK(cuLaunchKernel(r->spin, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
    }
}

void raw_launches(const raw *r, int n)
{
    CUdeviceptr x = r->x, y = r->y;
    unsigned count = 1024;
    void *arguments[] = {&x, &y, &x, &count};
    for (int i = 0; i < n; i++) {
        cuLaunchKernel(r->kernel, 4, 1, 1, 256, 1, 1, 0, r->stream, arguments, NULL);
    }
}

void raw_launch_wait(const raw *r, int n)
{
    for (int i = 0; i < n; i++) {
        raw_launches(r, 1);
        cuStreamSynchronize(r->stream);
    }
}

void raw_record(const raw *r, int n)
{
    for (int i = 0; i < n; i++) {
        cuEventRecord(r->event, r->stream);
    }
}

void raw_wait_event(const raw *r, int n)
{
    for (int i = 0; i < n; i++) {
        cuEventRecord(r->event, r->other);
        cuStreamWaitEvent(r->stream, r->event, 0);
    }
}

void raw_query(const raw *r, int n)
{
    for (int i = 0; i < n; i++) {
        cuEventQuery(r->event);
    }
}

void raw_allocate(const raw *r, int n, size_t nbytes)
{
    for (int i = 0; i < n; i++) {
        CUdeviceptr pointer;
        cuMemAllocAsync(&pointer, nbytes, r->stream);
        cuMemFreeAsync(pointer, r->stream);
    }
}

void raw_fills(const raw *r, int n, size_t nbytes)
{
    for (int i = 0; i < n; i++) {
        cuMemsetD32Async(r->x, 7, nbytes / 4, r->stream);
    }
}

void raw_copies(const raw *r, int n, size_t nbytes)
{
    for (int i = 0; i < n; i++) {
        cuMemcpyDtoDAsync(r->y, r->x, nbytes, r->stream);
    }
}

/* Directions: 0 on the device, 1 from pinned memory, 2 to pinned memory. */
void raw_copy_wait(const raw *r, int n, size_t nbytes, int direction)
{
    for (int i = 0; i < n; i++) {
        if (direction == 0) {
            cuMemcpyDtoDAsync(r->y, r->x, nbytes, r->stream);
        } else if (direction == 1) {
            cuMemcpyHtoDAsync(r->x, r->pinned, nbytes, r->stream);
        } else {
            cuMemcpyDtoHAsync(r->pinned, r->x, nbytes, r->stream);
        }
        cuStreamSynchronize(r->stream);
    }
}

void raw_fill_wait(const raw *r, int n, size_t nbytes)
{
    for (int i = 0; i < n; i++) {
        cuMemsetD32Async(r->x, 7, nbytes / 4, r->stream);
        cuStreamSynchronize(r->stream);
    }
}

void raw_peer_copy_wait(const raw *r, int n, size_t nbytes, const raw *target)
{
    for (int i = 0; i < n; i++) {
        cuMemcpyPeerAsync(target->x, target->context, r->x, r->context, nbytes, r->stream);
        cuStreamSynchronize(r->stream);
    }
}

/* As memory_connection UNIFIED copies: peer access is on, and an ordinary copy does it. */
void raw_peer_enable(const raw *r, const raw *other)
{
    CHECK(cuCtxSetCurrent(r->context));
    CUresult code = cuCtxEnablePeerAccess(other->context, 0);
    if (code != CUDA_SUCCESS && code != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) {
        fprintf(stderr, "no peer access: CUresult %d\n", (int)code);
    }
}

/* Memory of the first device that other processes can have, as cuda_peer.py asks for it. */

#define POSIX CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

void raw_share_enter(void)
{
    CUcontext context;
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&context, 0));
    CHECK(cuCtxSetCurrent(context));
}

CUmemGenericAllocationHandle raw_share_new(size_t nbytes, size_t *whole)
{
    const CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                            .requestedHandleTypes = POSIX,
                                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
    CUmemGenericAllocationHandle handle;
    size_t granule;
    CHECK(cuMemGetAllocationGranularity(&granule, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    *whole = (nbytes + granule - 1) / granule * granule;
    CHECK(cuMemCreate(&handle, *whole, &properties, 0));
    return handle;
}

int raw_share_descriptor(CUmemGenericAllocationHandle handle)
{
    int descriptor;
    CHECK(cuMemExportToShareableHandle(&descriptor, handle, POSIX, 0));
    return descriptor;
}

void raw_share_export(int n, CUmemGenericAllocationHandle handle)
{
    for (int i = 0; i < n; i++) {
        close(raw_share_descriptor(handle));
    }
}

void raw_share_import(int n, int descriptor, size_t nbytes)
{
    const CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    for (int i = 0; i < n; i++) {
        CUmemGenericAllocationHandle handle;
        CUdeviceptr at;
        CHECK(cuMemImportFromShareableHandle(&handle, (void *)(size_t)descriptor, POSIX));
        CHECK(cuMemAddressReserve(&at, nbytes, 0, 0, 0));
        CHECK(cuMemMap(at, nbytes, 0, handle, 0));
        CHECK(cuMemSetAccess(at, nbytes, &access, 1));
        CHECK(cuMemRelease(handle));
        CHECK(cuMemUnmap(at, nbytes));
        CHECK(cuMemAddressFree(at, nbytes));
    }
}
