#include "builtin_source.h"

#include "core/base/heap.h"
#include "core/device/backend.h"
#include "kernel_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_name(const void *name, const void *source)
{
    return strcmp(name, ((const usm_kernel_source *)source)->name);
}

const usm_kernel_source *usm_kernel_source_find(usm_kernel_form form, const char *name)
{
    const struct usm_kernel_sources *sources = &usm_kernel_sources[form];
    return bsearch(name, sources->first, sources->n, sizeof *sources->first, compare_name);
}

const char *usm_builtin_function(const usm_place *place, const usm_builtin *builtin)
{
    bool apart = usm_builtin_is_cast(builtin) && builtin->cast.unaligned &&
                 place->context->backend->builtin_language == USM_LANGUAGE_PTX;
    return apart ? "usm_cast_unaligned" : builtin->function;
}

static const char *name_of(uint8_t dtype)
{
    return usm_dtype_table[dtype].name;
}

/* Whether the driver's compiler is asked for correctly rounded division (docs/numerics.md). */
static bool rounds(const usm_place *place)
{
    return (place->device->info.single_fp_config & USM_FP_BIT(USM_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT)) != 0;
}

static const usm_kernel_source *find_opencl(const usm_place *place, const usm_builtin *builtin,
                                            usm_builtin_source *source)
{
    const usm_cast *cast = &builtin->cast;
    size_t room = sizeof source->options;
    int used = snprintf(source->options, room, "%s%s%s%s",
                        usm_builtin_is_serial(place) ? "-D USM_SERIAL -D USM_LINES " : "",
                        place->device->info.has_fp64 ? "-D USM_HAS_FP64 " : "",
                        rounds(place) ? "-cl-fp32-correctly-rounded-divide-sqrt " : "",
                        builtin->options != NULL ? builtin->options : "");
    if (usm_builtin_is_cast(builtin)) {
        snprintf(source->options + used, room - (size_t)used, "-D USM_DST=%s -D USM_SRC=%s%s",
                 name_of(cast->dst), name_of(cast->src), cast->unaligned ? " -D USM_UNALIGNED" : "");
    }
    char name[40];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(builtin->module, "."), builtin->module);
    return usm_kernel_source_find(USM_KERNEL_OPENCL, name);
}

/* The kinds of numbers of make_spirv.py: integers that an int holds, that a long holds, other ones, reals. */
static const char *number_kind(usm_dtype dtype)
{
    const usm_dtype_info *info = &usm_dtype_table[dtype];
    if (info->kind >= USM_DTYPE_KIND_FLOAT) {
        return usm_dtype_alignment(dtype) == 8 ? "twofold" : "single";
    }
    return info->bits <= 16 ? "narrow" : info->kind == USM_DTYPE_KIND_INT ? "integer" : "natural";
}

/* The types of a cast are specialization constants, by the numbers that make_spirv.py gives them. */
static const usm_kernel_source *find_spirv(const usm_place *place, const usm_builtin *builtin,
                                           usm_builtin_source *source)
{
    const usm_cast *cast = &builtin->cast;
    char name[64], wide_name[72];
    snprintf(name, sizeof name, "%s%s%s", builtin->module, usm_builtin_is_cast(builtin) ? "_" : "",
             usm_builtin_is_cast(builtin) ? number_kind((usm_dtype)cast->src) : "");
    snprintf(wide_name, sizeof wide_name, "%s_fp64", name);
    int used = snprintf(source->options, sizeof source->options, "%s",
                        rounds(place) ? "-ze-fp32-correctly-rounded-divide-sqrt " : "");
    if (usm_builtin_is_cast(builtin)) {
        snprintf(source->options + used, sizeof source->options - (size_t)used,
                 "-spec-constant 0=%u -spec-constant 1=%u -spec-constant 2=%u -spec-constant 3=%u "
                 "-spec-constant 4=%u",
                 cast->src, cast->dst, usm_dtype_table[cast->src].itemsize,
                 usm_dtype_table[cast->dst].itemsize, cast->unaligned);
    }
    /* The module that is made with fp64 where there are two of them. */
    const usm_kernel_source *wide =
        place->device->info.has_fp64 ? usm_kernel_source_find(USM_KERNEL_SPIRV, wide_name) : NULL;
    return wide != NULL ? wide : usm_kernel_source_find(USM_KERNEL_SPIRV, name);
}

/* A cast in PTX is a function that converts one element, and behind it the kernel that calls the function. */
static usm_status join_cast(const usm_cast *cast, const usm_kernel_source *walk, usm_builtin_source *source,
                            usm_error *error)
{
    char name[40];
    snprintf(name, sizeof name, "cast %s %s", name_of(cast->dst), name_of(cast->src));
    const usm_kernel_source *element = usm_kernel_source_find(USM_KERNEL_PTX, name);
    size_t size = element->size + walk->size;
    source->joined = usm_malloc(size + 1);
    if (source->joined == NULL) {
        return usm_error_memory(error, size + 1, "a kernel");
    }
    memcpy(source->joined, element->data, element->size);
    memcpy(source->joined + element->size, walk->data, walk->size + 1);
    source->program.data = source->joined;
    source->program.size = size;
    return USM_OK;
}

usm_status usm_builtin_source_find(const usm_place *place, const usm_builtin *builtin,
                                   usm_builtin_source *source, usm_error *error)
{
    usm_language language = place->context->backend->builtin_language;
    source->options[0] = 0;
    source->joined = NULL;
    source->program = (usm_program_source){.language = language, .options = source->options, .own = true};
    if (language == USM_LANGUAGE_BUILTIN) {
        return USM_OK; /* the host has them in the extension */
    }
    const usm_kernel_source *found;
    if (language == USM_LANGUAGE_PTX) {
        found = usm_kernel_source_find(USM_KERNEL_PTX, usm_builtin_function(place, builtin));
    } else {
        found = (language == USM_LANGUAGE_OPENCL ? find_opencl : find_spirv)(place, builtin, source);
    }
    if (found == NULL) {
        return usm_error_set(error, USM_VALUE, "%s has no kernel %s", place->device->info.name,
                             builtin->module);
    }
    if (language == USM_LANGUAGE_PTX && usm_builtin_is_cast(builtin)) {
        return join_cast(&builtin->cast, found, source, error);
    }
    source->program.data = found->data;
    source->program.size = found->size;
    return USM_OK;
}
