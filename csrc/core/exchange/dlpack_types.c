/* The table of DLPack's types of devices, and the numbers of their streams. */
#include "dlpack_types.h"

#include <dlpack/dlpack.h>
#include <stdio.h>

static const usm_stream_numbers cuda = {
    1, 2, "1 (the legacy default stream), 2 (the calling thread's) or the address of a CUDA stream"};
static const usm_stream_numbers rocm = {0, 0, "0 (the default stream) or the address of a HIP stream"};

#define ROW(type, ...) [type] = {.name = #type, __VA_ARGS__}
const usm_dlpack_type usm_dlpack_types[USM_DLPACK_TYPES] = {
    ROW(kDLCPU, .kind = USM_HOST),
    ROW(kDLCUDA, .kind = USM_DEVICE, .numbers = &cuda),
    ROW(kDLCUDAHost, .kind = USM_HOST, .numbers = &cuda),
    ROW(kDLOpenCL, .kind = USM_DEVICE),
    ROW(kDLVulkan, .kind = USM_DEVICE),
    ROW(kDLMetal, .kind = USM_DEVICE),
    ROW(kDLVPI, .kind = USM_DEVICE),
    ROW(kDLROCM, .kind = USM_DEVICE, .numbers = &rocm),
    ROW(kDLROCMHost, .kind = USM_HOST, .numbers = &rocm),
    ROW(kDLExtDev, .kind = USM_DEVICE),
    ROW(kDLCUDAManaged, .kind = USM_SHARED, .numbers = &cuda),
    ROW(kDLOneAPI, .kind = USM_DEVICE, .is_of_default_context = true),
    ROW(kDLWebGPU, .kind = USM_DEVICE),
    ROW(kDLHexagon, .kind = USM_DEVICE),
    ROW(kDLMAIA, .kind = USM_DEVICE),
    ROW(kDLTrn, .kind = USM_DEVICE),
};

void *usm_stream_of_number(const usm_stream_numbers *numbers, uint64_t number)
{
    return number == numbers->legacy                             ? USM_STREAM_LEGACY
           : number == numbers->per_thread                       ? USM_STREAM_PER_THREAD
           : number > (uint64_t)(uintptr_t)USM_STREAM_PER_THREAD ? (void *)(uintptr_t)number
                                                                 : NULL;
}

uint64_t usm_number_of_stream(const usm_stream_numbers *numbers, void **stream)
{
    if (*stream == USM_STREAM_PER_THREAD && numbers->per_thread == numbers->legacy) {
        *stream = USM_STREAM_LEGACY;
    }
    return *stream == USM_STREAM_LEGACY       ? numbers->legacy
           : *stream == USM_STREAM_PER_THREAD ? numbers->per_thread
                                              : (uint64_t)(uintptr_t)*stream;
}

char *usm_dldevice_text(int32_t type, char *text, size_t size)
{
    const char *name = usm_dlpack_type_of(type)->name;
    snprintf(text, size, "%s (%d)", name != NULL ? name : "unknown", type);
    return text;
}
