/* The table of the CUDA backend, and the driver's library behind it. */
#include "cuda_backend.h"

#include "core/base/library.h"

#include <stdlib.h>

usm_cuda_api usm_cuda;
/* CUDA cannot be used in the child of a process that has initialized it (CUDA driver API, Initialization). */
usm_fork_guard usm_cuda_guard = {.driver = "CUDA"};
static usm_library_report libraries;

/*
 * Names in cuda.h may be macros for the newest version of a function: they are expanded before
 * they become text.
 */
#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

static const usm_symbol symbols[] = {
#define USM_CUDA_FUNCTION(required, name) {TEXT(name), offsetof(usm_cuda_api, name), required},
#define USM_CUDA_NAMED(required, name, member, parameters) {name, offsetof(usm_cuda_api, member), required},
#include "symbols.inc"
#undef USM_CUDA_FUNCTION
#undef USM_CUDA_NAMED
};
#define N_SYMBOLS (sizeof symbols / sizeof symbols[0])

/*
 * Drivers before CUDA 12.0 lack what is required, and are older than all processors that
 * are still supported.
 */
#define OLDEST_DRIVER 12000

/* The driver installs libcuda.so.1; the name without a version comes with development packages. */
static usm_status open_library(usm_error *error)
{
    const char *named = getenv("USMPY_CUDA_LIBRARY");
    const char *const one[] = {named, NULL}, *const usual[] = {"libcuda.so.1", "libcuda.so", NULL};
    bool chosen = named != NULL && named[0] != '\0';
    char path[USM_LIBRARY_PATH] = "";
    usm_error why;
    usm_status status =
        usm_library_open(chosen ? one : usual, NULL, symbols, N_SYMBOLS, &usm_cuda, path, &why);
    if (status == USM_UNAVAILABLE) {
        return usm_error_set(error, status,
                             "%.480s; install NVIDIA's display driver, which brings libcuda.so.1 (Debian: "
                             "libcuda1)%s",
                             why.text, chosen ? "; USMPY_CUDA_LIBRARY names this file" : "");
    }
    if (status != USM_OK) {
        return usm_error_set(error, status, "%.480s; usmpy needs a driver of CUDA 12.0 or later (525)",
                             why.text);
    }
    usm_library_note(&libraries, "library", path);
    return USM_OK;
}

/*
 * The usual reason for a code of cuInit, and what to do. NULL: there is none, and the driver's own
 * text is reported.
 */
static const char *advice(CUresult code)
{
    switch ((int)code) {
        case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
            return "libcuda is of another version than the kernel's module; reboot after the driver's update, "
                   "or, in a container, use the libcuda that the host's driver brings";
        case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
            return "the libcuda that was opened is that of the package cuda-compat, which does not work with "
                   "this GPU; take its folder out of LD_LIBRARY_PATH, or update the driver";
        case CUDA_ERROR_SYSTEM_NOT_READY:
            return "a service that the GPUs need is not running, such as nvidia-fabricmanager where there are "
                   "NVSwitches";
        case CUDA_ERROR_NOT_PERMITTED:
        case CUDA_ERROR_OPERATING_SYSTEM:
        case CUDA_ERROR_UNKNOWN:
            return "mostly the devices /dev/nvidia* are missing or may not be opened by this user, or, in a "
                   "container, were not handed in (--gpus all), or the kernel's module is not loaded "
                   "(nvidia-modprobe, dmesg)";
        default:
            return NULL;
    }
}

/*
 * A code of cuInit as an error. Without a device, or with a library that has no driver behind it, the backend
 * is absent (USM_UNAVAILABLE), else broken.
 */
static usm_status refused(CUresult code, usm_error *error)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES"), *name = usm_cuda_name(code), *why = advice(code);
    if (code == CUDA_ERROR_NO_DEVICE) {
        return usm_error_driver(error, USM_UNAVAILABLE, "cuda", (int)code, name,
                                "cuInit says that there is no GPU that CUDA can use%s%.80s; nvidia-smi lists "
                                "those that the driver has",
                                visible != NULL ? ": CUDA_VISIBLE_DEVICES is " : "",
                                visible != NULL ? visible : "");
    }
    if ((int)code == CUDA_ERROR_STUB_LIBRARY) {
        return usm_error_driver(error, USM_UNAVAILABLE, "cuda", (int)code, name,
                                "the libcuda that was opened is the toolkit's stub for linkers, without a "
                                "driver; take its folder out of LD_LIBRARY_PATH, or install NVIDIA's driver");
    }
    if (code == CUDA_ERROR_INVALID_DEVICE) {
        return usm_error_driver(error, USM_DRIVER, "cuda", (int)code, name,
                                "cuInit failed with %s (%d): CUDA_VISIBLE_DEVICES is %.80s, which names no "
                                "device of this machine",
                                name, (int)code, visible != NULL ? visible : "not set");
    }
    if (why == NULL) {
        return usm_cuda_failed(error, code, "cuInit");
    }
    return usm_error_driver(error, USM_DRIVER, "cuda", (int)code, name, "cuInit failed with %s (%d): %s",
                            name, (int)code, why);
}

/*
 * cuInit creates no context. It fails on a machine without a device, which callers must be able to
 * distinguish from a broken driver (refused).
 */
usm_status usm_cuda_open(usm_error *error)
{
    int version = 0;
    usm_status status = open_library(error);
    if (status != USM_OK) {
        return status;
    }
    /* Answers without cuInit, which a driver that is too old may refuse for other reasons. */
    if (usm_cuda.cuDriverGetVersion(&version) == CUDA_SUCCESS && version != 0 && version < OLDEST_DRIVER) {
        return usm_error_set(
            error, USM_DRIVER,
            "NVIDIA's driver is of CUDA %d.%d, and usmpy needs one of CUDA 12.0 or later (525): "
            "update the driver",
            version / 1000, version % 1000 / 10);
    }
    if (usm_cuda.elapsed_time == NULL) {
        usm_cuda.elapsed_time = usm_cuda.cuEventElapsedTime;
    }
    CUresult code = usm_cuda.cuInit(0);
    return code == CUDA_SUCCESS ? USM_OK : refused(code, error);
}

static const char *const environment[] = {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",
                                          "CUDA_MODULE_LOADING",  "USMPY_CUDA_LIBRARY",
                                          "USMPY_NVRTC_LIBRARY",  NULL};

static const usm_native_entries native = {
    .handle = usm_cuda_native_handle,
    .inspect = usm_cuda_native_inspect,
    .admit = usm_cuda_native_admit,
    .stream_inspect = usm_cuda_native_stream_inspect,
    .stream_id = usm_cuda_native_stream_id,
    .synchronize = usm_cuda_native_synchronize,
};

static const usm_share_entries share = {
    .kinds = 1u << USM_DEVICE,
    .create = usm_cuda_share_create,
    .signal = usm_cuda_share_signal,
    .open = usm_cuda_share_open,
    .make_writable = usm_cuda_share_make_writable,
    .wait = usm_cuda_share_wait,
    .close = usm_cuda_share_close,
};

const usm_backend usm_cuda_backend = {
    .name = "cuda",
    .fork_guard = &usm_cuda_guard,
    .languages = USM_LANGUAGE_BIT(USM_LANGUAGE_PORTABLE) | USM_LANGUAGE_BIT(USM_LANGUAGE_CUDA) |
                 USM_LANGUAGE_BIT(USM_LANGUAGE_PTX) | USM_LANGUAGE_BIT(USM_LANGUAGE_NATIVE),
    .program_language = USM_LANGUAGE_CUDA,
    .builtin_language = USM_LANGUAGE_PTX,
    .event_size = sizeof(usm_cuda_event),
    .environment = environment,
    .libraries = &libraries,
    USM_DRIVER_ROWS(usm_cuda),
    .native = &native,
    .share = &share,
    .memory_trim = usm_cuda_memory_trim,
    .memory_connect = usm_cuda_memory_connect,
};
