/*
 * NVIDIA's run-time compiler NVRTC, opened when a program is first built from source. Its functions are
 * declared here, by its documentation: the package with cuda.h has no nvrtc.h.
 */
#include "program.h"

#include "core/base/heap.h"
#include "core/base/library.h"

#include <dlfcn.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct nvrtc_program nvrtc_program;

typedef struct nvrtc_api {
    const char *(*nvrtcGetErrorString)(int code);
    int (*nvrtcVersion)(int *major, int *minor);
    int (*nvrtcGetNumSupportedArchs)(int *n);
    int (*nvrtcGetSupportedArchs)(int *archs);
    int (*nvrtcCreateProgram)(nvrtc_program **out, const char *source, const char *name, int n_headers,
                              const char *const *headers, const char *const *header_names);
    int (*nvrtcDestroyProgram)(nvrtc_program **program);
    int (*nvrtcCompileProgram)(nvrtc_program *program, int n_options, const char *const *options);
    int (*nvrtcGetPTXSize)(nvrtc_program *program, size_t *size);
    int (*nvrtcGetPTX)(nvrtc_program *program, char *out);
    int (*nvrtcGetCUBINSize)(nvrtc_program *program, size_t *size);
    int (*nvrtcGetCUBIN)(nvrtc_program *program, char *out);
    int (*nvrtcGetProgramLogSize)(nvrtc_program *program, size_t *size);
    int (*nvrtcGetProgramLog)(nvrtc_program *program, char *out);
} nvrtc_api;

/* Codes that the library's documentation gives. */
enum { NVRTC_SUCCESS = 0, NVRTC_OUT_OF_MEMORY = 1 };

static const usm_symbol symbols[] = {
#define FUNCTION(name) {#name, offsetof(nvrtc_api, name), true},
    FUNCTION(nvrtcGetErrorString) FUNCTION(nvrtcVersion) FUNCTION(nvrtcGetNumSupportedArchs)
        FUNCTION(nvrtcGetSupportedArchs) FUNCTION(nvrtcCreateProgram) FUNCTION(nvrtcDestroyProgram)
            FUNCTION(nvrtcCompileProgram) FUNCTION(nvrtcGetPTXSize) FUNCTION(nvrtcGetPTX)
                FUNCTION(nvrtcGetCUBINSize) FUNCTION(nvrtcGetCUBIN) FUNCTION(nvrtcGetProgramLogSize)
                    FUNCTION(nvrtcGetProgramLog)
#undef FUNCTION
};

static nvrtc_api nvrtc;
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static bool opened;
static char path[USM_LIBRARY_PATH]; /* of the library, once it is opened */

#define MOST_NAMES 24

/* A compiler of the driver's own generation comes first: its machine code is what the driver takes. */
static void list_names(char (*texts)[256], const char **names)
{
    static const char *const folders[] = {"/usr/local/cuda/lib64", "python*/site-packages/nvidia/*/lib",
                                          "../lib64/python*/site-packages/nvidia/*/lib",
                                          "python*/dist-packages/nvidia/*/lib"};
    const char *own = getenv("USMPY_NVRTC_LIBRARY"), *home = getenv("CUDA_HOME");
    int driver = 0, n = 0;
    if (own != NULL && own[0] != 0) {
        names[0] = own;
        names[1] = NULL;
        return;
    }
    (void)usm_cuda.cuDriverGetVersion(&driver);
    const int versions[] = {driver >= 13000 ? 13 : 12, driver >= 13000 ? 12 : 13};
    for (int i = 0; i < 2; i++) {
        snprintf(texts[n++], sizeof *texts, "libnvrtc.so.%d", versions[i]);
        if (home != NULL && home[0] == '/') {
            snprintf(texts[n++], sizeof *texts, "%.200s/lib64/libnvrtc.so.%d", home, versions[i]);
        }
        for (size_t k = 0; k < sizeof folders / sizeof *folders; k++) {
            snprintf(texts[n++], sizeof *texts, "%s/libnvrtc.so.%d", folders[k], versions[i]);
        }
    }
    for (int i = 0; i < n; i++) {
        names[i] = texts[i];
    }
    names[n] = NULL;
}

/*
 * The library opens one with its built-in functions when it compiles, by a name with its version. Packages
 * put that beside it, and not all of them say so to the dynamic linker (CUDA 13.0's do not): it is opened
 * here, and found by its name from then on.
 */
static bool has_builtins(void *handle, const char *library, char *why, size_t size)
{
    int (*get_version)(int *, int *), major = 0, minor = 0;
    const char *slash = strrchr(library, '/');
    int folder = slash != NULL ? (int)(slash + 1 - library) : 0;
    char file[USM_LIBRARY_PATH], name[64];
    void *function = dlsym(handle, "nvrtcVersion");
    memcpy(&get_version, &function, sizeof function);
    if (function == NULL || get_version(&major, &minor) != NVRTC_SUCCESS) {
        snprintf(why, size, "%s does not tell its version", library);
        return false;
    }
    snprintf(name, sizeof name, "libnvrtc-builtins.so.%d.%d", major, minor);
    snprintf(file, sizeof file, "%.*s%s", folder, library, name);
    if (dlopen(file, RTLD_NOW | RTLD_LOCAL) == NULL && dlopen(name, RTLD_NOW | RTLD_LOCAL) == NULL) {
        snprintf(why, size, "%s has no %s beside it", library, name);
        return false;
    }
    return true;
}

/* A library that is installed while the process runs is found by the next build. */
static usm_status open_library(usm_error *error)
{
    char texts[MOST_NAMES][256];
    const char *names[MOST_NAMES + 1];
    usm_error reason;
    usm_status status = USM_OK;
    pthread_mutex_lock(&opening);
    if (!opened) {
        list_names(texts, names);
        status = usm_library_open(names, has_builtins, symbols, sizeof symbols / sizeof *symbols, &nvrtc,
                                  path, &reason);
        opened = status == USM_OK;
    }
    pthread_mutex_unlock(&opening);
    if (status == USM_OK) {
        return USM_OK;
    }
    return usm_error_driver(
        error, USM_UNAVAILABLE, "cuda", 0, "",
        "programs in source need NVIDIA's compiler libnvrtc, and it does not open: pip install "
        "nvidia-cuda-nvrtc-cu12 (or nvidia-cuda-nvrtc for CUDA 13), or install the CUDA "
        "toolkit, or name the library in USMPY_NVRTC_LIBRARY. Languages 'ptx' and 'native' do "
        "without it. Tried: %.400s",
        reason.text);
}

/* An error of the compiler itself, not of the program. */
static usm_status nvrtc_failed(usm_error *error, int code, const char *function)
{
    const char *name = nvrtc.nvrtcGetErrorString(code);
    return usm_error_driver(error, code == NVRTC_OUT_OF_MEMORY ? USM_MEMORY : USM_DRIVER, "cuda", code, name,
                            "%s of %.400s returned %s (%d)", function, path, name, code);
}

/*
 * The target: machine code where the compiler knows the device, else PTX for the newest older one that it
 * knows, which the driver compiles further.
 */
static usm_status choose_target(const usm_device *device, char *option, size_t size, usm_error *error)
{
    int own = 10 * usm_cuda_device_of(device)->major + usm_cuda_device_of(device)->minor;
    int n = 0, best = 0, least = 0, archs[256];
    int code = nvrtc.nvrtcGetNumSupportedArchs(&n);
    if (code != NVRTC_SUCCESS || n < 1 || n > (int)(sizeof archs / sizeof *archs)) {
        return nvrtc_failed(error, code, "nvrtcGetNumSupportedArchs");
    }
    code = nvrtc.nvrtcGetSupportedArchs(archs);
    if (code != NVRTC_SUCCESS) {
        return nvrtc_failed(error, code, "nvrtcGetSupportedArchs");
    }
    for (int i = 0; i < n; i++) {
        best = archs[i] <= own && archs[i] > best ? archs[i] : best;
        least = least == 0 || archs[i] < least ? archs[i] : least;
    }
    if (best == 0) {
        return usm_error_driver(
            error, USM_UNAVAILABLE, "cuda", 0, "",
            "%s has compute capability %d.%d, and this libnvrtc knows devices from %d.%d on; an "
            "older one is needed (USMPY_NVRTC_LIBRARY names it)",
            device->info.name, own / 10, own % 10, least / 10, least % 10);
    }
    snprintf(option, size, "--gpu-architecture=%s_%d", best == own ? "sm" : "compute", best);
    return USM_OK;
}

/* "name(12): error" as other compilers say it: "name:12: error". In place. */
static void rewrite_lines(char *log)
{
    static const char mark[] = USM_CUDA_SOURCE_NAME "(";
    for (char *at = strstr(log, mark); at != NULL; at = strstr(at + 1, mark)) {
        char *open = at + sizeof mark - 2, *end = open + 1 + strspn(open + 1, "0123456789");
        if (end > open + 1 && end[0] == ')' && end[1] == ':') {
            *open = ':';
            memmove(end, end + 1, strlen(end + 1) + 1);
        }
    }
}

/* The messages of a build that failed; NULL where there are none or memory ran out. */
static char *read_log(nvrtc_program *program)
{
    size_t size = 0;
    if (nvrtc.nvrtcGetProgramLogSize(program, &size) != NVRTC_SUCCESS) {
        return NULL;
    }
    char *log = calloc(1, size + 1);
    if (log != NULL && size > 0 && nvrtc.nvrtcGetProgramLog(program, log) == NVRTC_SUCCESS) {
        rewrite_lines(log);
    }
    return log;
}

/* *out stays NULL where there is none of this form. */
static usm_status read_result(nvrtc_program *program, int (*get_size)(nvrtc_program *, size_t *),
                              int (*get)(nvrtc_program *, char *), const char *function, char **out,
                              size_t *out_size, usm_error *error)
{
    size_t size = 0;
    int code = get_size(program, &size);
    if (code != NVRTC_SUCCESS) {
        return nvrtc_failed(error, code, function);
    }
    if (size == 0) {
        return USM_OK;
    }
    char *data = usm_malloc(size + 1);
    if (data == NULL) {
        return usm_error_memory(error, size, "a compiled program");
    }
    code = get(program, data);
    if (code != NVRTC_SUCCESS) {
        free(data);
        return nvrtc_failed(error, code, function);
    }
    data[size] = 0;
    *out = data;
    *out_size = size;
    return USM_OK;
}

/* The user has chosen the architecture: ours is left out. */
static bool names_target(const char *option)
{
    return strncmp(option, "-arch", 5) == 0 || strncmp(option, "--gpu-architecture", 18) == 0;
}

/* The lines of `text`, which is cut, behind our own option. NULL: no memory. */
static const char **split_options(char *text, const char *target, int *n)
{
    const char **options = usm_calloc(strlen(text) / 2 + 2, sizeof *options);
    char *next;
    *n = 0;
    if (options == NULL) {
        return NULL;
    }
    bool own = true;
    for (char *at = strtok_r(text, "\n", &next); at != NULL; at = strtok_r(NULL, "\n", &next)) {
        own = own && !names_target(at);
        options[(*n)++] = at;
    }
    if (own) {
        options[(*n)++] = target;
    }
    return options;
}

/* Calls of NVRTC are thread-safe on different programs. */
usm_status usm_cuda_compile(const usm_device *device, const usm_program_source *source,
                            usm_cuda_compiled *out, char **log, usm_error *error)
{
    nvrtc_program *program = NULL;
    char target[64], *text = NULL;
    const char **options = NULL;
    int n = 0, code;
    *out = (usm_cuda_compiled){0};
    usm_status status = open_library(error);
    status = status != USM_OK ? status : choose_target(device, target, sizeof target, error);
    if (status != USM_OK) {
        return status;
    }
    text = usm_malloc(strlen(source->options) + 1);
    options = text == NULL ? NULL : split_options(strcpy(text, source->options), target, &n);
    if (options == NULL) {
        status = usm_error_memory(error, strlen(source->options), "a compiler's options");
        goto done;
    }
    code = nvrtc.nvrtcCreateProgram(&program, source->data, USM_CUDA_SOURCE_NAME, 0, NULL, NULL);
    if (code != NVRTC_SUCCESS) {
        status = nvrtc_failed(error, code, "nvrtcCreateProgram");
        goto done;
    }
    /* The library leaves its own locale behind on the thread: Python would open text files as ASCII. */
    locale_t before = uselocale((locale_t)0);
    code = nvrtc.nvrtcCompileProgram(program, n, options);
    uselocale(before);
    if (code == NVRTC_OUT_OF_MEMORY) {
        status = nvrtc_failed(error, code, "nvrtcCompileProgram");
        goto done;
    }
    if (code != NVRTC_SUCCESS) {
        const char *name = nvrtc.nvrtcGetErrorString(code);
        *log = read_log(program);
        status = usm_error_driver(error, USM_BUILD, "cuda", code, name,
                                  "the program does not build: %.400s returned %s (%d)", path, name, code);
        goto done;
    }
    size_t ignored;
    status = read_result(program, nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, "nvrtcGetPTX", &out->ptx,
                         &ignored, error);
    if (status == USM_OK) {
        status = read_result(program, nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, "nvrtcGetCUBIN",
                             &out->cubin, &out->cubin_size, error);
    }
done:
    if (program != NULL) {
        nvrtc.nvrtcDestroyProgram(&program);
    }
    if (status != USM_OK) {
        free(out->ptx);
        free(out->cubin);
        *out = (usm_cuda_compiled){0};
    }
    free(options);
    free(text);
    return status;
}
