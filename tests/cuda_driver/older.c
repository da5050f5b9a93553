/*
 * Functions under names that cuda.h of CUDA 13 gives to later versions, with other arguments. Libraries keep
 * both, and programs that run with CUDA 12 ask for the older one.
 */
#include "sim.h"

#if CUDA_VERSION >= 13000

#define OLDER(name, call)                          \
    SIM_EXPORT extern CUresult call __asm__(name); \
    CUresult call

OLDER("cuEventElapsedTime", older_elapsed_time(float *milliseconds, CUevent start, CUevent end))
{
    return cuEventElapsedTime(milliseconds, start, end);
}

OLDER("cuMemPrefetchAsync",
      older_prefetch(CUdeviceptr address, size_t size, CUdevice device, CUstream stream))
{
    CUmemLocation location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
    if (device == CU_DEVICE_CPU) {
        location.type = CU_MEM_LOCATION_TYPE_HOST;
    }
    return cuMemPrefetchAsync(address, size, location, 0, stream);
}

OLDER("cuStreamGetCaptureInfo_v2",
      older_capture_info(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                         const CUgraphNode **dependencies, size_t *n))
{
    return cuStreamGetCaptureInfo(stream, status, id, graph, dependencies, NULL, n);
}

#endif
