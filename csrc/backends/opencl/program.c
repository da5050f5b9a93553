/* Programs of users and built-in kernels, built for one device (OpenCL API 3.0, 5.8). */
#include "opencl.h"

#include "core/base/heap.h"

#include <stdlib.h>
#include <string.h>

/* The compiler's messages as a malloc'd text; NULL where memory ran out. */
static char *build_log(const usm_opencl_api *api, cl_program id, cl_device_id device)
{
    size_t size = 0;
    api->clGetProgramBuildInfo(id, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
    char *log = calloc(1, size + 1);
    if (log != NULL && size > 0) {
        api->clGetProgramBuildInfo(id, device, CL_PROGRAM_BUILD_LOG, size, log, NULL);
    }
    return log;
}

/*
 * Portable programs give the same bits on every device: multiplications and additions are not contracted
 * unless the source asks for it. The pragma stands before the user's first line, so that __LINE__ counts the
 * user's lines; some drivers ignore #line, which is needed only if the first line is a directive. The
 * messages that users see are about their own text (own_log).
 */
#define NO_CONTRACTION "_Pragma(\"OPENCL FP_CONTRACT OFF\") "
#define NO_CONTRACTION_LINE "#pragma OPENCL FP_CONTRACT OFF\n#line 1\n"

static cl_program from_source(const usm_opencl_api *api, cl_context context, const usm_program_source *source,
                              cl_int *code)
{
    const char *text = source->data;
    bool directive = text[strspn(text, " \t")] == '#';
    const char *texts[] = {directive ? NO_CONTRACTION_LINE : NO_CONTRACTION, text};
    const size_t lengths[] = {strlen(texts[0]), source->size};
    unsigned skip = source->language != USM_LANGUAGE_PORTABLE;
    return api->clCreateProgramWithSource(context, 2 - skip, texts + skip, lengths + skip, code);
}

/*
 * Makes the driver's program in the form that the language needs. NULL with the code, and the function that
 * failed in *function.
 */
static cl_program create(const usm_program *base, cl_context context, cl_device_id device,
                         const usm_program_source *source, const char **function, cl_int *code)
{
    const usm_opencl_api *api = usm_opencl_platform_of_program(base)->api;
    switch (source->language) {
        case USM_LANGUAGE_SPIRV:
            *function = "clCreateProgramWithIL";
            *code = CL_INVALID_OPERATION;
            return api->clCreateProgramWithIL == NULL
                       ? NULL
                       : api->clCreateProgramWithIL(context, source->data, source->size, code);
        case USM_LANGUAGE_NATIVE: {
            cl_int status = CL_SUCCESS;
            const unsigned char *binary = source->data;
            *function = "clCreateProgramWithBinary";
            cl_program id =
                api->clCreateProgramWithBinary(context, 1, &device, &source->size, &binary, &status, code);
            if (id != NULL && status != CL_SUCCESS) {
                api->clReleaseProgram(id);
                *code = status;
                return NULL;
            }
            return id;
        }
        default:
            *function = "clCreateProgramWithSource";
            return from_source(api, context, source, code);
    }
}

/*
 * Names are known from the build on (CL_PROGRAM_KERNEL_NAMES). Where the driver does not report them,
 * base->kernels stays NULL, and kernels are found by their names alone.
 */
static void list_kernels(usm_program *base, cl_program id)
{
    const usm_opencl_api *api = usm_opencl_platform_of_program(base)->api;
    size_t size = 0, n = 1;
    api->clGetProgramInfo(id, CL_PROGRAM_NUM_KERNELS, sizeof n, &n, NULL);
    if (n == 0) { /* of no kernels, some drivers do not tell names */
        base->kernels = usm_program_names("", 0);
        return;
    }
    if (api->clGetProgramInfo(id, CL_PROGRAM_KERNEL_NAMES, 0, NULL, &size) != CL_SUCCESS || size == 0) {
        return;
    }
    char *list = calloc(1, size + 1);
    if (list != NULL && api->clGetProgramInfo(id, CL_PROGRAM_KERNEL_NAMES, size, list, NULL) == CL_SUCCESS) {
        n = list[0] != 0;
        for (char *at = list; (at = strchr(at, ';')) != NULL; n++) { /* "a;b;c" */
            *at++ = 0;
        }
        base->kernels = usm_program_names(list, n);
    }
    free(list);
}

/*
 * Our options come first: of two that contradict each other the last one holds. clGetKernelArgInfo
 * needs -cl-kernel-arg-info.
 */
static char *options_with(const usm_program_source *source)
{
    const char *ours = source->language == USM_LANGUAGE_SPIRV ? "" : "-cl-kernel-arg-info ";
    char *options = usm_malloc(strlen(ours) + strlen(source->options) + 1);
    if (options != NULL) {
        strcat(strcpy(options, ours), source->options);
    }
    return options;
}

/* These codes are about the program, so they become BuildError; all others are the driver's. */
static bool source_is_at_fault(cl_int code)
{
    return code == CL_BUILD_PROGRAM_FAILURE || code == CL_COMPILE_PROGRAM_FAILURE ||
           code == CL_LINK_PROGRAM_FAILURE || code == CL_INVALID_BINARY || code == CL_INVALID_BUILD_OPTIONS ||
           code == CL_INVALID_COMPILER_OPTIONS || code == CL_INVALID_LINKER_OPTIONS ||
           code == CL_INVALID_VALUE || code == CL_INVALID_PROGRAM;
}

/* CL_DEVICE_IL_VERSION lists what clCreateProgramWithIL takes: "SPIR-V_1.2 SPIR-V_1.1". */
static bool takes_spirv(const usm_opencl_api *api, cl_device_id device)
{
    char versions[256] = "";
    return api->clCreateProgramWithIL != NULL &&
           api->clGetDeviceInfo(device, CL_DEVICE_IL_VERSION, sizeof versions, versions, NULL) ==
               CL_SUCCESS &&
           strstr(versions, "SPIR-V") != NULL;
}

static usm_status build_failed(const usm_device *device, cl_int code, const char *function, usm_error *error)
{
    return usm_error_driver(error, source_is_at_fault(code) ? USM_BUILD : USM_DRIVER, "opencl", code,
                            usm_opencl_name(code), "%s does not build this program: %s returned %s (%d)",
                            device->info.name, function, usm_opencl_name(code), code);
}

/*
 * What the driver says about a portable program as the user wrote it: the text that is built has other
 * columns, and another first line. NULL where the user's own text builds.
 */
static char *own_log(const usm_opencl_api *api, cl_context context, cl_device_id device,
                     const usm_program_source *source, const char *options)
{
    usm_program_source own = *source;
    cl_int code = CL_SUCCESS;
    char *log = NULL;
    own.language = USM_LANGUAGE_OPENCL;
    cl_program id = from_source(api, context, &own, &code);
    if (id != NULL) {
        if (api->clBuildProgram(id, 1, &device, options, NULL, NULL) != CL_SUCCESS) {
            log = build_log(api, id, device);
        }
        api->clReleaseProgram(id);
    }
    return log;
}

/*
 * `native` is the driver's program. Built at once and on this thread: the core has released the GIL. No
 * callback, since its thread would be the driver's.
 */
usm_status usm_opencl_program_build(usm_program *base, const usm_program_source *source, char **log,
                                    usm_error *error)
{
    const usm_opencl_api *api = usm_opencl_platform_of_program(base)->api;
    const usm_device *device = base->place->device;
    cl_device_id device_id = usm_opencl_device_of(device)->id;
    cl_context context;
    cl_int code = CL_SUCCESS;
    const char *function;
    usm_status status = usm_opencl_native_context(base->context, device, &context, error);
    if (status != USM_OK) {
        return status;
    }
    if (source->language == USM_LANGUAGE_SPIRV && !takes_spirv(api, device_id)) {
        return usm_error_driver(error, USM_BUILD, "opencl", 0, "", "%s takes no SPIR-V", device->info.name);
    }
    char *options = options_with(source);
    if (options == NULL) {
        return usm_error_memory(error, strlen(source->options), "a program");
    }
    cl_program id = create(base, context, device_id, source, &function, &code);
    if (id == NULL) {
        free(options);
        return build_failed(device, code, function, error);
    }
    code = api->clBuildProgram(id, 1, &device_id, options, NULL, NULL);
    if (code != CL_SUCCESS) {
        status = build_failed(device, code, "clBuildProgram", error);
        *log = source->language == USM_LANGUAGE_PORTABLE ? own_log(api, context, device_id, source, options)
                                                         : NULL;
        *log = *log != NULL ? *log : build_log(api, id, device_id);
        api->clReleaseProgram(id);
    } else {
        list_kernels(base, id);
        base->native = id;
    }
    free(options);
    return status;
}

void usm_opencl_program_destroy(usm_program *base)
{
    usm_opencl_platform_of_program(base)->api->clReleaseProgram(base->native);
}

/*
 * For the cache on disk, and for Program.binary. The driver lists one binary for each device of the context;
 * where the pointer is NULL it writes none (CL_PROGRAM_BINARIES).
 */
usm_status usm_opencl_program_binary(usm_program *base, void **out, size_t *size, usm_error *error)
{
    const usm_opencl_api *api = usm_opencl_platform_of_program(base)->api;
    cl_program id = base->native;
    cl_device_id own = usm_opencl_device_of(base->place->device)->id;
    cl_uint n = 0, ours = 0;
    usm_status status = USM_OK;
    cl_int code = api->clGetProgramInfo(id, CL_PROGRAM_NUM_DEVICES, sizeof n, &n, NULL);
    cl_device_id *devices = usm_calloc(n + 1, sizeof *devices);
    size_t *sizes = usm_calloc(n + 1, sizeof *sizes);
    unsigned char **binaries = usm_calloc(n + 1, sizeof *binaries);
    if (devices == NULL || sizes == NULL || binaries == NULL) {
        status = usm_error_memory(error, n * sizeof *sizes, "a list of binaries");
        goto done;
    }
    if (code == CL_SUCCESS) {
        code = api->clGetProgramInfo(id, CL_PROGRAM_DEVICES, n * sizeof *devices, devices, NULL);
    }
    if (code == CL_SUCCESS) {
        code = api->clGetProgramInfo(id, CL_PROGRAM_BINARY_SIZES, n * sizeof *sizes, sizes, NULL);
    }
    while (ours < n && devices[ours] != own) {
        ours++;
    }
    if (code == CL_SUCCESS && sizes[ours] > 0) { /* 0 behind the last device */
        binaries[ours] = usm_malloc(sizes[ours]);
        if (binaries[ours] == NULL) {
            status = usm_error_memory(error, sizes[ours], "a program's binary");
            goto done;
        }
        code = api->clGetProgramInfo(id, CL_PROGRAM_BINARIES, n * sizeof *binaries, binaries, NULL);
        if (code == CL_SUCCESS) {
            *out = binaries[ours];
            *size = sizes[ours];
            goto done;
        }
        free(binaries[ours]);
    }
    status = code != CL_SUCCESS
                 ? usm_opencl_failed(error, code, "clGetProgramInfo")
                 : usm_error_driver(error, USM_DRIVER, "opencl", 0, "", "%s has no binary for this device",
                                    usm_opencl_platform_of_program(base)->name);
done:
    free(devices);
    free(sizes);
    free(binaries);
    return status;
}
