/* Modules: SPIR-V, or a native binary of our own, built by an OpenCL driver. */
#include "module.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A native binary: this, the SPIR-V for what it tells of arguments, and OpenCL's binary. */
typedef struct native_header {
    char magic[8];
    uint64_t spirv_size, binary_size, hash; /* of both together */
} native_header;

static const char native_magic[8] = "ZESIMNB1";

static uint64_t hash_of(const void *bytes, size_t size, uint64_t hash)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}

#define CAPABILITY_FLOAT64 10
#define HASH_START 0xcbf29ce484222325u

/* --- the log ------------------------------------------------------------------------------------------ */

static void log_set(ze_module_build_log_handle_t *out, const char *text)
{
    if (out == NULL)
        return;
    ze_module_build_log_handle_t log = calloc(1, sizeof(*log));
    *out = log;
    if (log == NULL)
        return;
    log->text = strdup(text);
    sim_born(SIM_BUILD_LOG);
}

ze_result_t ZE_APICALL zeModuleBuildLogDestroy(ze_module_build_log_handle_t log)
{
    SIM_ENTER(zeModuleBuildLogDestroy);
    sim_gone(SIM_BUILD_LOG);
    free(log->text);
    free(log);
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeModuleBuildLogGetString(ze_module_build_log_handle_t log, size_t *size, char *text)
{
    SIM_ENTER(zeModuleBuildLogGetString);
    const char *all = log->text != NULL ? log->text : "";
    size_t needed = strlen(all) + 1;
    if (text != NULL && *size > 0)
        snprintf(text, *size, "%s", all);
    *size = needed;
    return ZE_RESULT_SUCCESS;
}

/* --- building ----------------------------------------------------------------------------------------- */

/* Options of Level Zero that OpenCL has by another name, or not at all; malloc'd. */
static char *translate(const char *flags)
{
    if (flags == NULL)
        flags = "";
    char *out = calloc(1, 2 * strlen(flags) + 64), *at = out;
    if (out == NULL)
        return NULL;
    if (!sim_settings()->optimize)
        at += sprintf(at, "-cl-opt-disable ");
    while (*flags != '\0') {
        size_t length = strcspn(flags, " ");
        if (length == 15 && memcmp(flags, "-ze-opt-disable", length) == 0)
            at += sprintf(at, "-cl-opt-disable ");
        else if (length == 38 && memcmp(flags, "-ze-fp32-correctly-rounded-divide-sqrt", length) == 0)
            at += sprintf(at, "-cl-fp32-correctly-rounded-divide-sqrt ");
        else if (length > 0 && strncmp(flags, "-ze-", 4) != 0)
            at += sprintf(at, "%.*s ", (int)length, flags);
        flags += length;
        flags += *flags == ' ';
    }
    return out;
}

/* False, with the log: a constant that the module does not have, or that OpenCL refuses. */
static bool specialize(ze_module_handle_t module, const ze_module_constants_t *constants,
                       ze_module_build_log_handle_t *log)
{
    for (uint32_t i = 0; constants != NULL && i < constants->numConstants; i++) {
        uint32_t id = constants->pConstantIds[i];
        size_t size = sim_spirv_constant_size(module->spirv, module->spirv_size, id);
        cl_int code = CL_INVALID_SPEC_ID;
        if (size > 0)
            code = module->cl->clSetProgramSpecializationConstant(module->program, id, size,
                                                                  constants->pConstantValues[i]);
        if (code != CL_SUCCESS) {
            char text[128];
            snprintf(text, sizeof(text), "the module has no specialization constant %u (%d)", id, (int)code);
            log_set(log, text);
            return false;
        }
    }
    return true;
}

static pthread_mutex_t flags_lock = PTHREAD_MUTEX_INITIALIZER; /* of the next; a leaf */
static char last_flags[512];

/* The flags of the module that was built last. */
SIM_EXPORT uint32_t zesimBuildFlags(char *text, size_t size);
uint32_t zesimBuildFlags(char *text, size_t size)
{
    pthread_mutex_lock(&flags_lock);
    snprintf(text, size, "%s", last_flags);
    pthread_mutex_unlock(&flags_lock);
    return 1;
}

static bool build(ze_module_handle_t module, const char *flags, ze_module_build_log_handle_t *log)
{
    const sim_opencl *cl = module->cl;
    char *options = translate(flags), *text = NULL;
    size_t length = 0;
    if (options == NULL)
        return false;
    pthread_mutex_lock(&flags_lock);
    snprintf(last_flags, sizeof(last_flags), "%s", flags != NULL ? flags : "");
    pthread_mutex_unlock(&flags_lock);
    cl_int code = cl->clBuildProgram(module->program, 1, &cl->device, options, NULL, NULL);
    free(options);
    cl->clGetProgramBuildInfo(module->program, cl->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &length);
    text = calloc(1, length + 64);
    if (text != NULL && length > 0)
        cl->clGetProgramBuildInfo(module->program, cl->device, CL_PROGRAM_BUILD_LOG, length, text, NULL);
    if (text != NULL && code != CL_SUCCESS && text[0] == '\0')
        snprintf(text, 64, "OpenCL's build ended with code %d", (int)code);
    log_set(log, text != NULL ? text : "");
    free(text);
    if (code == CL_SUCCESS && module->key != 0 && !module->kept)
        sim_cache_store(cl, module->program, module->key);
    return code == CL_SUCCESS;
}

/* Splits what clGetProgramInfo() gives, "a;b;c". */
static bool read_names(ze_module_handle_t module)
{
    size_t size = 0;
    const sim_opencl *cl = module->cl;
    if (cl->clGetProgramInfo(module->program, CL_PROGRAM_KERNEL_NAMES, 0, NULL, &size) != CL_SUCCESS)
        return false;
    char *text = calloc(1, size + 1);
    if (text == NULL ||
        cl->clGetProgramInfo(module->program, CL_PROGRAM_KERNEL_NAMES, size, text, NULL) != CL_SUCCESS) {
        free(text);
        return false;
    }
    uint32_t most = 1;
    for (const char *at = text; *at != '\0'; at++)
        most += *at == ';';
    module->names = calloc(most, sizeof(char *));
    char *rest = NULL;
    for (char *name = strtok_r(text, ";", &rest); name != NULL && module->names != NULL;
         name = strtok_r(NULL, ";", &rest)) {
        module->names[module->n_names] = strdup(name);
        module->n_names += module->names[module->n_names] != NULL;
    }
    free(text);
    return module->names != NULL;
}

/* By what OpenCL is given, and by OpenCL's driver. */
static uint64_t key_of(ze_module_handle_t module, const ze_module_desc_t *desc)
{
    char version[256] = {0};
    const ze_module_constants_t *constants = desc->pConstants;
    uint64_t key = hash_of(module->spirv, module->spirv_size, HASH_START);
    module->cl->clGetDeviceInfo(module->cl->device, CL_DRIVER_VERSION, sizeof(version) - 1, version, NULL);
    key = hash_of(version, sizeof(version), key);
    key = hash_of(&sim_settings()->optimize, sizeof(bool), key);
    if (desc->pBuildFlags != NULL)
        key = hash_of(desc->pBuildFlags, strlen(desc->pBuildFlags), key);
    for (uint32_t i = 0; constants != NULL && i < constants->numConstants; i++) {
        uint32_t id = constants->pConstantIds[i];
        size_t size = sim_spirv_constant_size(module->spirv, module->spirv_size, id);
        key = hash_of(&id, sizeof(id), key);
        key = hash_of(constants->pConstantValues[i], size, key);
    }
    return key;
}

static ze_result_t from_spirv(ze_module_handle_t module, const ze_module_desc_t *desc,
                              ze_module_build_log_handle_t *log)
{
    const char *problem = sim_spirv_problem(desc->pInputModule, desc->inputSize);
    if (problem == NULL && !sim_settings()->fp64 &&
        sim_spirv_asks(desc->pInputModule, desc->inputSize, CAPABILITY_FLOAT64))
        problem = "the module has the capability Float64, and the device has no fp64";
    if (problem != NULL) {
        log_set(log, problem);
        return sim_fail(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, "%s", problem);
    }
    module->spirv = malloc(desc->inputSize);
    if (module->spirv == NULL)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    memcpy(module->spirv, desc->pInputModule, desc->inputSize);
    module->spirv_size = desc->inputSize;
    cl_int code;
    module->key = key_of(module, desc);
    module->program = sim_cache_load(module->cl, module->key);
    module->kept = module->program != NULL;
    if (module->kept)
        return ZE_RESULT_SUCCESS;
    module->program =
        module->cl->clCreateProgramWithIL(module->cl->context, module->spirv, module->spirv_size, &code);
    if (code != CL_SUCCESS) {
        module->program = NULL;
        log_set(log, "OpenCL takes the module for none");
        return sim_fail(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, "clCreateProgramWithIL: %d", (int)code);
    }
    if (!specialize(module, desc->pConstants, log))
        return sim_fail(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, "a specialization constant was refused");
    return ZE_RESULT_SUCCESS;
}

/* No log on failure: the validation layer of 1.8 knows of none with that code, and would not release it. */
static ze_result_t from_native(ze_module_handle_t module, const ze_module_desc_t *desc)
{
    native_header header;
    const unsigned char *input = desc->pInputModule, *content = input + sizeof(header);
    bool whole = desc->inputSize > sizeof(header);
    if (whole) {
        memcpy(&header, input, sizeof(header));
        size_t rest = desc->inputSize - sizeof(header);
        whole = memcmp(header.magic, native_magic, sizeof(native_magic)) == 0 && header.spirv_size <= rest &&
                header.binary_size == rest - header.spirv_size &&
                header.hash == hash_of(content, rest, HASH_START);
    }
    if (!whole) {
        return sim_fail(ZE_RESULT_ERROR_INVALID_NATIVE_BINARY,
                        "not a native binary of this driver, or not a whole one");
    }
    module->spirv = malloc(header.spirv_size + 1);
    if (module->spirv == NULL)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    memcpy(module->spirv, content, header.spirv_size);
    module->spirv_size = header.spirv_size;
    const unsigned char *binary = content + header.spirv_size;
    size_t size = header.binary_size;
    cl_int status, code;
    module->program = module->cl->clCreateProgramWithBinary(module->cl->context, 1, &module->cl->device,
                                                            &size, &binary, &status, &code);
    if (code != CL_SUCCESS) {
        module->program = NULL;
        return sim_fail(ZE_RESULT_ERROR_INVALID_NATIVE_BINARY, "clCreateProgramWithBinary: %d", (int)code);
    }
    return ZE_RESULT_SUCCESS;
}

static void destroy(ze_module_handle_t module)
{
    if (module->program != NULL)
        module->cl->clReleaseProgram(module->program);
    for (uint32_t i = 0; i < module->n_names; i++)
        free(module->names[i]);
    free(module->names);
    free(module->spirv);
    free(module);
}

ze_result_t ZE_APICALL zeModuleCreate(ze_context_handle_t context, ze_device_handle_t device,
                                      const ze_module_desc_t *desc, ze_module_handle_t *out,
                                      ze_module_build_log_handle_t *log)
{
    SIM_ENTER(zeModuleCreate);
    if (log != NULL)
        *log = NULL;
    if (!sim_context_has(context, device))
        return sim_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the device is not one of the context");
    if (sim_lost(device) != ZE_RESULT_SUCCESS)
        return sim_lost(device);
    const char *why;
    const sim_opencl *cl = sim_opencl_get(&why);
    if (cl == NULL) {
        log_set(log, why);
        return sim_fail(ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE, "kernels run through OpenCL: %s", why);
    }
    ze_module_handle_t module = calloc(1, sizeof(*module));
    if (module == NULL)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    module->context = context;
    module->cl = cl;
    atomic_store(&module->count, 1);
    bool native = desc->format == ZE_MODULE_FORMAT_NATIVE;
    ze_result_t result = native ? from_native(module, desc) : from_spirv(module, desc, log);
    if (result == ZE_RESULT_SUCCESS && !(build(module, desc->pBuildFlags, log) && read_names(module)))
        result = sim_fail(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, "the build failed: see its log");
    if (result != ZE_RESULT_SUCCESS) {
        destroy(module);
        return result;
    }
    module->hash = hash_of(module->spirv, module->spirv_size, HASH_START);
    atomic_fetch_add(&context->children, 1);
    sim_born(SIM_MODULE);
    *out = module;
    return ZE_RESULT_SUCCESS;
}

void sim_module_release(ze_module_handle_t module)
{
    if (atomic_fetch_sub(&module->count, 1) == 1)
        destroy(module);
}

ze_result_t ZE_APICALL zeModuleDestroy(ze_module_handle_t module)
{
    SIM_ENTER(zeModuleDestroy);
    int kernels = atomic_load(&module->kernels);
    if (kernels > 0)
        sim_misuse("zeModuleDestroy: %d kernels of the module are left", kernels);
    atomic_fetch_sub(&module->context->children, 1);
    sim_gone(SIM_MODULE);
    sim_module_release(module);
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeModuleDynamicLink(uint32_t n, ze_module_handle_t *modules,
                                           ze_module_build_log_handle_t *log)
{
    SIM_ENTER(zeModuleDynamicLink);
    for (uint32_t i = 0; i < n; i++)
        if (sim_spirv_imports(modules[i]->spirv, modules[i]->spirv_size)) {
            log_set(log, "modules with imports are not linked by this driver");
            return ZE_RESULT_ERROR_MODULE_LINK_FAILURE;
        }
    log_set(log, "");
    return ZE_RESULT_SUCCESS;
}

/* --- questions ---------------------------------------------------------------------------------------- */

ze_result_t ZE_APICALL zeModuleGetNativeBinary(ze_module_handle_t module, size_t *size, uint8_t *out)
{
    SIM_ENTER(zeModuleGetNativeBinary);
    native_header header = {.spirv_size = module->spirv_size};
    size_t binary_size = 0;
    const sim_opencl *cl = module->cl;
    if (cl->clGetProgramInfo(module->program, CL_PROGRAM_BINARY_SIZES, sizeof(binary_size), &binary_size,
                             NULL) != CL_SUCCESS)
        return ZE_RESULT_ERROR_UNKNOWN;
    size_t needed = sizeof(header) + module->spirv_size + binary_size;
    if (out == NULL) {
        *size = needed;
        return ZE_RESULT_SUCCESS;
    }
    if (*size < needed)
        return sim_fail(ZE_RESULT_ERROR_INVALID_SIZE, "%zu bytes of %zu", *size, needed);
    unsigned char *content = out + sizeof(header), *binary = content + module->spirv_size;
    memcpy(content, module->spirv, module->spirv_size);
    if (cl->clGetProgramInfo(module->program, CL_PROGRAM_BINARIES, sizeof(binary), &binary, NULL) !=
        CL_SUCCESS)
        return ZE_RESULT_ERROR_UNKNOWN;
    memcpy(header.magic, native_magic, sizeof(native_magic));
    header.binary_size = binary_size;
    header.hash = hash_of(content, module->spirv_size + binary_size, HASH_START);
    memcpy(out, &header, sizeof(header));
    *size = needed;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeModuleGetKernelNames(ze_module_handle_t module, uint32_t *count, const char **names)
{
    SIM_ENTER(zeModuleGetKernelNames);
    uint32_t room = *count;
    if (room == 0 || room > module->n_names)
        *count = module->n_names;
    for (uint32_t i = 0; names != NULL && room > 0 && i < *count; i++)
        names[i] = module->names[i];
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeModuleGetProperties(ze_module_handle_t module, ze_module_properties_t *properties)
{
    SIM_ENTER(zeModuleGetProperties);
    bool imports = sim_spirv_imports(module->spirv, module->spirv_size);
    properties->flags = imports ? ZE_MODULE_PROPERTY_FLAG_IMPORTS : 0;
    return ZE_RESULT_SUCCESS;
}

/* Built modules on disk, by what they were built from: OpenCL's compilers take long. */

/* The file of this key; false: there is no folder. */
static bool path_of(uint64_t key, char *path, size_t size)
{
    const char *folder = sim_settings()->cache;
    if (folder == NULL || *folder == '\0')
        return false;
    mkdir(folder, 0700);
    return (size_t)snprintf(path, size, "%s/%016llx.bin", folder, (unsigned long long)key) < size;
}

cl_program sim_cache_load(const sim_opencl *cl, uint64_t key)
{
    char path[1024];
    if (!path_of(key, path, sizeof(path)))
        return NULL;
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return NULL;
    cl_program program = NULL;
    fseek(file, 0, SEEK_END);
    long length = ftell(file);
    rewind(file);
    unsigned char *bytes = length > 0 ? malloc((size_t)length) : NULL;
    if (bytes != NULL && fread(bytes, 1, (size_t)length, file) == (size_t)length) {
        const unsigned char *binary = bytes;
        size_t size = (size_t)length;
        cl_int status, code;
        program = cl->clCreateProgramWithBinary(cl->context, 1, &cl->device, &size, &binary, &status, &code);
        if (code != CL_SUCCESS)
            program = NULL;
    }
    free(bytes);
    fclose(file);
    return program;
}

void sim_cache_store(const sim_opencl *cl, cl_program program, uint64_t key)
{
    char path[1024], half[1064];
    size_t size = 0;
    if (!path_of(key, path, sizeof(path)))
        return;
    if (cl->clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL) != CL_SUCCESS)
        return;
    unsigned char *bytes = malloc(size + 1);
    if (bytes == NULL)
        return;
    snprintf(half, sizeof(half), "%s.%d.%p", path, (int)getpid(), (void *)program);
    FILE *file = fopen(half, "wb");
    bool whole =
        file != NULL &&
        cl->clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(bytes), &bytes, NULL) == CL_SUCCESS &&
        fwrite(bytes, 1, size, file) == size;
    if (file != NULL)
        whole = fclose(file) == 0 && whole;
    if (file != NULL && !(whole && rename(half, path) == 0))
        remove(half);
    free(bytes);
}
