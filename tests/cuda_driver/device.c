/* Start, errors by name, devices and their attributes. */
#include "sim.h"

CUresult cuInit(unsigned flags)
{
    SIM_ENTER(cuInit);
    if (flags != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (sim.devices == 0) {
        return CUDA_ERROR_NO_DEVICE;
    }
    sim_lock();
    if (!sim.initialized) {
        sim_memory_start();
        for (int i = 0; i < sim.devices; i++) {
            sim_device *device = &sim.device[i];
            memcpy(device->uuid.bytes, "usmpy-cudasim-", 14);
            device->uuid.bytes[15] = (char)('0' + i);
            device->pool = sim_pool_new(i, CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_ALLOCATION_TYPE_PINNED);
        }
        sim.initialized = true;
    }
    return sim_unlock(CUDA_SUCCESS);
}

CUresult cuDriverGetVersion(int *version)
{
    SIM_ENTER(cuDriverGetVersion);
    *version = sim.version;
    return CUDA_SUCCESS;
}

#define ERRORS(X)                                                                                           \
    X(CUDA_SUCCESS, "no error")                                                                             \
    X(CUDA_ERROR_INVALID_VALUE, "invalid argument")                                                         \
    X(CUDA_ERROR_OUT_OF_MEMORY, "out of memory")                                                            \
    X(CUDA_ERROR_NOT_INITIALIZED, "initialization error")                                                   \
    X(CUDA_ERROR_DEINITIALIZED, "driver shutting down")                                                     \
    X(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected")                                           \
    X(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal")                                                  \
    X(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid")                                           \
    X(CUDA_ERROR_INVALID_CONTEXT, "invalid device context")                                                 \
    X(CUDA_ERROR_MAP_FAILED, "mapping of buffer object failed")                                             \
    X(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device")             \
    X(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "peer access is not supported between these two devices")         \
    X(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed")                                               \
    X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "the provided PTX was compiled with an unsupported toolchain.")   \
    X(CUDA_ERROR_INVALID_SOURCE, "device kernel image is invalid")                                          \
    X(CUDA_ERROR_OPERATING_SYSTEM, "OS call failed or operation not supported on this OS")                  \
    X(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle")                                                 \
    X(CUDA_ERROR_ILLEGAL_STATE, "the operation cannot be performed in the present state")                   \
    X(CUDA_ERROR_NOT_FOUND, "named symbol not found")                                                       \
    X(CUDA_ERROR_NOT_READY, "device not ready")                                                             \
    X(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered")                               \
    X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch")                        \
    X(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated")                                 \
    X(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled")                             \
    X(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled")                               \
    X(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "cannot set while device is active in this process")               \
    X(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed")                                              \
    X(CUDA_ERROR_ASSERT, "device-side assert triggered")                                                    \
    X(CUDA_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction was encountered")                             \
    X(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address")                                                  \
    X(CUDA_ERROR_INVALID_ADDRESS_SPACE, "operation not supported on global/shared address space")           \
    X(CUDA_ERROR_INVALID_PC, "invalid program counter")                                                     \
    X(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure")                                               \
    X(CUDA_ERROR_NOT_PERMITTED, "operation not permitted")                                                  \
    X(CUDA_ERROR_NOT_SUPPORTED, "operation not supported")                                                  \
    X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing")            \
    X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "operation failed due to a previous error during capture")     \
    X(CUDA_ERROR_STREAM_CAPTURE_MERGE, "operation would result in a merge of separate capture sequences")   \
    X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "capture was not ended in the same stream as it began")          \
    X(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work")                             \
    X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "dependency created on uncaptured work in another stream")       \
    X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,                                                                   \
      "operation would make the legacy stream depend on a capturing blocking stream")                       \
    X(CUDA_ERROR_CAPTURED_EVENT, "operation not permitted on an event last recorded in a capturing stream") \
    X(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,                                                               \
      "attempt to terminate a thread-local capture sequence from another thread")                           \
    X(CUDA_ERROR_UNKNOWN, "unknown error")

static CUresult describe(CUresult code, const char **name, const char **text)
{
    switch ((int)code) {
#define DESCRIBE(value, words) \
    case value:                \
        *name = #value;        \
        *text = words;         \
        return CUDA_SUCCESS;
        ERRORS(DESCRIBE)
#undef DESCRIBE
        default:
            *name = *text = NULL;
            return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuGetErrorName(CUresult code, const char **out)
{
    const char *text;
    SIM_ENTER(cuGetErrorName);
    return describe(code, out, &text);
}

CUresult cuGetErrorString(CUresult code, const char **out)
{
    const char *name;
    SIM_ENTER(cuGetErrorString);
    return describe(code, &name, out);
}

static bool is_device(int id)
{
    return id >= 0 && id < sim.devices;
}

CUresult cuDeviceGetCount(int *count)
{
    SIM_ENTER(cuDeviceGetCount);
    *count = sim.devices;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    SIM_ENTER(cuDeviceGet);
    if (!is_device(ordinal)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device)
{
    SIM_ENTER(cuDeviceGetName);
    if (!is_device(device)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    snprintf(name, (size_t)length, "CUDA in software %d", device);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    SIM_ENTER(cuDeviceGetUuid);
    if (!is_device(device)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *uuid = sim.device[device].uuid;
    return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
    SIM_ENTER(cuDeviceTotalMem);
    if (!is_device(device)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *bytes = sim.total;
    return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    SIM_ENTER(cuDeviceCanAccessPeer);
    if (!is_device(device) || !is_device(peer)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *can = sim.peers && device != peer;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice from, CUdevice to)
{
    SIM_ENTER(cuDeviceGetP2PAttribute);
    if (!is_device(from) || !is_device(to) || from == to) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *value = attribute == CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK ? 0 : sim.peers;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *text, int length, CUdevice device)
{
    SIM_ENTER(cuDeviceGetPCIBusId);
    if (!is_device(device)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    snprintf(text, (size_t)length, "0000:%02X:00.0", device + 1);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device)
{
    SIM_ENTER(cuDeviceGetDefaultMemPool);
    if (!is_device(device)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    if (!sim.pools) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    *pool = (CUmemoryPool)sim.device[device].pool;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device)
{
    SIM_ENTER(cuDeviceGetMemPool);
    return cuDeviceGetDefaultMemPool(pool, device);
}

static int attribute_of(CUdevice_attribute attribute, CUdevice device)
{
    switch ((int)attribute) {
        case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
            return 1024;
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
            return 64;
        case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
            return 0x7fffffff;
        case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
        case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
            return 65535;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
            return 48 << 10;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
            return 163 << 10;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
            return 164 << 10;
        case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
            return 1 << 10;
        case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY:
        case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
        case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
            return 65536;
        case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
            return 32;
        case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
            return sim.kilohertz;
        case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
            return 1000000;
        case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT:
            return 512;
        case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
            return 4;
        case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
            return 2048;
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
            return 32;
        case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
            return 256;
        case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
            return 4 << 20;
        case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
            return 2;
        case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
        case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
        case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
        case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
        case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
        case CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
        case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
            return 1;
        case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
            return sim.managed;
        case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS:
            return sim.pageable;
        case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
            return 1;
        case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
            return sim.sharing;
        case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
            return sim.pools;
        case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
            return device + 1;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
            return sim.major;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
            return sim.minor;
        default:
            return 0;
    }
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    SIM_ENTER(cuDeviceGetAttribute);
    if (!is_device(device)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    if (value == NULL || (int)attribute <= 0 || attribute >= CU_DEVICE_ATTRIBUTE_MAX) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *value = attribute_of(attribute, device);
    return CUDA_SUCCESS;
}
