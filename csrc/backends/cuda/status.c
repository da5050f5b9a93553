/* Codes of the driver in words, and contexts that are lost (CUDA driver API, Error Handling). */
#include "cuda_backend.h"

#include "core/tasks/unretrieved.h"

/* What the driver says of a code. Both functions may still be missing while the library is being opened. */
static const char *text_of(CUresult(CUDAAPI *ask)(CUresult code, const char **text), CUresult code,
                           const char *unknown)
{
    const char *text = NULL;
    return ask == NULL || ask(code, &text) != CUDA_SUCCESS || text == NULL ? unknown : text;
}

const char *usm_cuda_name(CUresult code)
{
    return text_of(usm_cuda.cuGetErrorName, code, "CUDA_ERROR_UNKNOWN");
}

/* The driver's own sentence about a code. */
static const char *meaning(CUresult code)
{
    return text_of(usm_cuda.cuGetErrorString, code, "the driver does not say what that means");
}

/*
 * Faults of kernels and of the hardware: the driver returns them from every later call in the context, and
 * only a new process can use the device again.
 */
static bool is_fatal(CUresult code)
{
    switch ((int)code) {
        case CUDA_ERROR_DEINITIALIZED:
        case CUDA_ERROR_ECC_UNCORRECTABLE:
        case CUDA_ERROR_NVLINK_UNCORRECTABLE:
        case CUDA_ERROR_ILLEGAL_ADDRESS:
        case CUDA_ERROR_LAUNCH_TIMEOUT:
        case CUDA_ERROR_CONTEXT_IS_DESTROYED:
        case CUDA_ERROR_ASSERT:
        case CUDA_ERROR_HARDWARE_STACK_ERROR:
        case CUDA_ERROR_ILLEGAL_INSTRUCTION:
        case CUDA_ERROR_MISALIGNED_ADDRESS:
        case CUDA_ERROR_INVALID_ADDRESS_SPACE:
        case CUDA_ERROR_INVALID_PC:
        case CUDA_ERROR_LAUNCH_FAILED:
        case CUDA_ERROR_MPS_CLIENT_TERMINATED:
        case 721: /* CUDA_ERROR_CONTAINED, of CUDA 12.7 */
            return true;
        default:
            return false;
    }
}

/* The first code stays: later ones only follow from it. */
void usm_cuda_lose(usm_device *device, CUresult code)
{
    int none = 0;
    atomic_compare_exchange_strong(&usm_cuda_device_of(device)->lost, &none, (int)code);
}

void usm_cuda_note(usm_device *device, CUresult code)
{
    if (USM_UNLIKELY(code != CUDA_SUCCESS) && is_fatal(code)) {
        usm_cuda_lose(device, code);
    }
}

void usm_cuda_given_back(usm_device *device, CUresult code, const char *function)
{
    usm_error error;
    usm_cuda_note(device, code);
    if (USM_UNLIKELY(code != CUDA_SUCCESS) && !usm_cuda_is_lost(device)) {
        (void)usm_cuda_failed(&error, code, function);
        usm_unretrieved_report_once(&error);
    }
}

usm_status usm_cuda_lost(const usm_device *device, usm_error *error)
{
    CUresult code = (CUresult)atomic_load_explicit(&usm_cuda_device_of(device)->lost, memory_order_acquire);
    return usm_error_driver(
        error, USM_DRIVER, "cuda", (int)code, usm_cuda_name(code),
        "the context of %s is lost since work in it ended with %s (%d: %s): nothing can be "
        "done there until this process is started anew",
        device->info.name, usm_cuda_name(code), (int)code, meaning(code));
}

/*
 * During a capture many functions are refused; that is an error of the exchange (BufferError), not
 * of the driver.
 */
usm_status usm_cuda_failed(usm_error *error, CUresult code, const char *function)
{
    bool memory = code == CUDA_ERROR_OUT_OF_MEMORY;
    if (code == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED || code == CUDA_ERROR_STREAM_CAPTURE_ISOLATION ||
        code == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT || code == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD) {
        return usm_error_driver(
            error, USM_BUFFER, "cuda", (int)code, usm_cuda_name(code),
            "%s failed with %s (%d): a stream is being captured into a graph, and this cannot be a part of it",
            function, usm_cuda_name(code), (int)code);
    }
    return usm_error_driver(error, memory ? USM_MEMORY : USM_DRIVER, "cuda", (int)code, usm_cuda_name(code),
                            "%s failed with %s (%d): %s%s", function, usm_cuda_name(code), (int)code,
                            meaning(code),
                            is_fatal(code) ? "; the context is lost, and nothing can be done there until "
                                             "this process is started anew"
                                           : "");
}

usm_status usm_cuda_failed_on(usm_device *device, usm_error *error, CUresult code, const char *function)
{
    usm_cuda_note(device, code);
    return usm_cuda_failed(error, code, function);
}
