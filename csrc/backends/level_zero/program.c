/*
 * Programs of users and built-in kernels, built for one device (Level Zero Core Programming Guide, Modules
 * and Kernels).
 */
#include "level_zero.h"

#include "core/base/heap.h"
#include "core/program/spirv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The compiler's messages as a malloc'd text, or NULL; destroys the log, which may be NULL. */
static char *take_log(ze_module_build_log_handle_t log)
{
    size_t size = 0;
    char *text = NULL;
    if (log == NULL) {
        return NULL;
    }
    if (usm_level_zero.zeModuleBuildLogGetString(log, &size, NULL) == ZE_RESULT_SUCCESS && size > 0) {
        text = calloc(1, size + 1);
        if (text != NULL && usm_level_zero.zeModuleBuildLogGetString(log, &size, text) != ZE_RESULT_SUCCESS) {
            text[0] = 0;
        }
    }
    usm_level_zero.zeModuleBuildLogDestroy(log);
    return text;
}

/* Specialization constants among the options: "-spec-constant ID=VALUE". */
#define OPTION "-spec-constant"

typedef struct constants {
    ze_module_constants_t told;
    uint32_t *ids;
    const void **values;
    uint64_t *numbers;
    char *flags; /* the other options */
} constants;

static void free_constants(constants *out)
{
    free(out->ids);
    free(out->values);
    free(out->numbers);
    free(out->flags);
}

/* False: the number does not fit into `size` bytes, signed or unsigned. */
static bool store_integer(const char *text, char **end, size_t size, uint64_t *out)
{
    errno = 0;
    bool negative = *text == '-';
    unsigned long long bits = negative ? (unsigned long long)strtoll(text, end, 0) : strtoull(text, end, 0);
    unsigned width = 8 * (unsigned)size;
    *out = bits;
    if (errno != 0 || width >= 64) {
        return errno == 0;
    }
    return negative ? (long long)bits >= -(1LL << (width - 1)) : bits < 1ULL << width;
}

static bool store_real(const char *text, char **end, size_t size, uint64_t *out)
{
    double value = strtod(text, end);
    float narrow = (float)value;
    *out = 0;
    memcpy(out, size == 4 ? (const void *)&narrow : &value, size);
    return size == 4 || size == 8;
}

/* Reads one constant "ID=VALUE" by the type that the module gives it. */
static usm_status add_constant(constants *out, const usm_program_source *source, const char *text, size_t n,
                               usm_error *error)
{
    char own[64] = "", *end = own;
    bool is_float = false;
    uint32_t k = out->told.numConstants;
    snprintf(own, sizeof own, "%.*s", (int)n, text);
    unsigned long id = strtoul(own, &end, 10);
    if (end == own || *end != '=' || end[1] == 0 || n >= sizeof own) {
        return usm_error_set(error, USM_VALUE,
                             "the option is '" OPTION " %s'; '" OPTION " ID=VALUE' is allowed", own);
    }
    size_t size = usm_spirv_constant_size(source->data, source->size, (uint32_t)id, &is_float);
    if (size == 0) {
        return usm_error_driver(error, USM_BUILD, "level_zero", 0, "",
                                "the module has no specialization constant %lu", id);
    }
    const char *value = end + 1;
    bool fits = is_float ? store_real(value, &end, size, &out->numbers[k])
                         : store_integer(value, &end, size, &out->numbers[k]);
    if (!fits || *end != 0) {
        return usm_error_driver(error, USM_BUILD, "level_zero", 0, "",
                                "the specialization constant %lu is %s of %zu bytes, and '%s' is none", id,
                                is_float ? "a floating-point number" : "an integer", size, value);
    }
    out->ids[k] = (uint32_t)id;
    out->values[k] = &out->numbers[k];
    out->told.numConstants = k + 1;
    return USM_OK;
}

/*
 * Splits the options: constants for SPIR-V modules are passed apart from the flags of the
 * compiler (ze_module_constants_t).
 */
static usm_status read_options(const usm_program_source *source, constants *out, usm_error *error)
{
    size_t most = strlen(source->options) / sizeof OPTION + 1;
    *out = (constants){.ids = usm_calloc(most, sizeof *out->ids),
                       .values = usm_calloc(most, sizeof *out->values),
                       .numbers = usm_calloc(most, sizeof *out->numbers),
                       .flags = usm_calloc(1, strlen(source->options) + 1)};
    if (out->ids == NULL || out->values == NULL || out->numbers == NULL || out->flags == NULL) {
        return usm_error_memory(error, strlen(source->options), "a program's options");
    }
    usm_status status = USM_OK;
    for (const char *at = source->options; status == USM_OK && *at != 0;) {
        size_t blanks = strspn(at, " \t"), n = strcspn(at + blanks, " \t");
        at += blanks;
        if (n == sizeof OPTION - 1 && strncmp(at, OPTION, n) == 0 && source->language == USM_LANGUAGE_SPIRV) {
            at += n;
            at += strspn(at, " \t");
            n = strcspn(at, " \t");
            status = add_constant(out, source, at, n, error);
        } else if (n > 0) {
            strcat(out->flags, out->flags[0] != 0 ? " " : "");
            strncat(out->flags, at, n);
        }
        at += n;
    }
    out->told.pConstantIds = out->ids;
    out->told.pConstantValues = out->values;
    return status;
}

/* These results are about the module, so they become BuildError; all others are the driver's. */
static bool source_is_at_fault(ze_result_t result)
{
    return result == ZE_RESULT_ERROR_MODULE_BUILD_FAILURE || result == ZE_RESULT_ERROR_MODULE_LINK_FAILURE ||
           result == ZE_RESULT_ERROR_INVALID_NATIVE_BINARY || result == ZE_RESULT_ERROR_INVALID_ARGUMENT ||
           result == ZE_RESULT_ERROR_INVALID_SIZE || result == ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED;
}

/* On failure *log has the messages where the module is at fault. */
static usm_status build(const usm_program *base, const usm_program_source *source, const constants *constants,
                        ze_module_handle_t *out, char **log, usm_error *error)
{
    const usm_device *device = base->place->device;
    const ze_module_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
        .format =
            source->language == USM_LANGUAGE_SPIRV ? ZE_MODULE_FORMAT_IL_SPIRV : ZE_MODULE_FORMAT_NATIVE,
        .inputSize = source->size,
        .pInputModule = source->data,
        .pBuildFlags = constants->flags,
        .pConstants = constants->told.numConstants > 0 ? &constants->told : NULL,
    };
    ze_module_build_log_handle_t told = NULL;
    ze_result_t result =
        usm_level_zero.zeModuleCreate(usm_level_zero_context_of(base->context)->id,
                                      usm_level_zero_device_of(device)->id, &desc, out, &told);
    char *text = take_log(told);
    if (result == ZE_RESULT_SUCCESS) {
        free(text);
        return USM_OK;
    }
    bool ours = source_is_at_fault(result);
    if (ours) {
        *log = text;
    } else {
        free(text);
    }
    return usm_error_driver(error, ours ? USM_BUILD : USM_DRIVER, "level_zero", (int)result,
                            usm_level_zero_name(result),
                            "%s does not build this program: zeModuleCreate returned %s (0x%x)",
                            device->info.name, usm_level_zero_name(result), (unsigned)result);
}

/* Stays NULL where the driver does not tell, or memory ran out. */
static void list_kernels(usm_program *base, ze_module_handle_t id)
{
    uint32_t n = 0;
    size_t size = 0;
    if (usm_level_zero.zeModuleGetKernelNames(id, &n, NULL) != ZE_RESULT_SUCCESS) {
        return;
    }
    const char **told = calloc(n + 1, sizeof *told);
    if (told == NULL || (n > 0 && usm_level_zero.zeModuleGetKernelNames(id, &n, told) != ZE_RESULT_SUCCESS)) {
        free(told);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        size += strlen(told[i]) + 1;
    }
    char *texts = calloc(1, size + 1), *at = texts;
    for (uint32_t i = 0; texts != NULL && i < n; i++) {
        at = stpcpy(at, told[i]) + 1;
    }
    base->kernels = texts == NULL ? NULL : usm_program_names(texts, n);
    free(texts);
    free(told);
}

/* `native` is the driver's module. The program counts as a user of the context while it lives. */
usm_status usm_level_zero_program_build(usm_program *base, const usm_program_source *source, char **log,
                                        usm_error *error)
{
    const usm_device *device = base->place->device;
    if (source->language != USM_LANGUAGE_SPIRV && source->language != USM_LANGUAGE_NATIVE) {
        return usm_error_driver(error, USM_BUILD, "level_zero", 0, "",
                                "drivers of Level Zero take SPIR-V and binaries of their own");
    }
    if (source->language == USM_LANGUAGE_SPIRV && usm_level_zero_device_of(device)->spirv_version == 0) {
        return usm_error_driver(error, USM_BUILD, "level_zero", 0, "", "%s takes no SPIR-V",
                                device->info.name);
    }
    ze_module_handle_t id = NULL;
    constants constants;
    atomic_fetch_add(&usm_level_zero_context_of(base->context)->users, 1);
    usm_status status = read_options(source, &constants, error);
    if (status == USM_OK) {
        status = build(base, source, &constants, &id, log, error);
    }
    free_constants(&constants);
    if (status != USM_OK) {
        atomic_fetch_sub(&usm_level_zero_context_of(base->context)->users, 1);
        return status;
    }
    list_kernels(base, id);
    base->native = id;
    return USM_OK;
}

void usm_level_zero_program_destroy(usm_program *base)
{
    USM_LEVEL_ZERO_GIVE_BACK(zeModuleDestroy, base->native);
    atomic_fetch_sub(&usm_level_zero_context_of(base->context)->users, 1);
}

/* The driver is asked for the size first, then for the bytes. */
usm_status usm_level_zero_program_binary(usm_program *base, void **out, size_t *size, usm_error *error)
{
    *size = 0;
    ze_result_t result = usm_level_zero.zeModuleGetNativeBinary(base->native, size, NULL);
    if (result != ZE_RESULT_SUCCESS || *size == 0) {
        return usm_level_zero_failed(error, result, "zeModuleGetNativeBinary");
    }
    uint8_t *block = usm_malloc(*size);
    if (block == NULL) {
        return usm_error_memory(error, *size, "a program's binary");
    }
    result = usm_level_zero.zeModuleGetNativeBinary(base->native, size, block);
    if (result != ZE_RESULT_SUCCESS) {
        free(block);
        return usm_level_zero_failed(error, result, "zeModuleGetNativeBinary");
    }
    *out = block;
    return USM_OK;
}
