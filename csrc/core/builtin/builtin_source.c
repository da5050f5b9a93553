#include "builtin_source.h"

#include "archive.h"
#include "core/device/backend.h"

#include <stdio.h>
#include <string.h>

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

static const usm_kernel_source *find_opencl(const usm_kernel_source *all, const usm_place *place,
                                            const usm_builtin *builtin, usm_builtin_source *source)
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
    return usm_kernel_source_named(all, name);
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
static const usm_kernel_source *find_spirv(const usm_kernel_source *all, const usm_place *place,
                                           const usm_builtin *builtin, usm_builtin_source *source)
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
        place->device->info.has_fp64 ? usm_kernel_source_named(all, wide_name) : NULL;
    return wide != NULL ? wide : usm_kernel_source_named(all, name);
}

/* The sources that the program consists of, three at most: of PTX each kernel alone. Returns how many. */
static int find_sources(const usm_kernel_source *all, usm_kernel_form form, const usm_place *place,
                        const usm_builtin *builtin, usm_builtin_source *source,
                        const usm_kernel_source **found)
{
    int n = 0;
    if (form == USM_KERNEL_OPENCL) {
        found[n++] = find_opencl(all, place, builtin, source);
    } else if (form == USM_KERNEL_SPIRV) {
        found[n++] = find_spirv(all, place, builtin, source);
    } else {
        found[n++] = usm_kernel_source_named(all, "head");
        if (usm_builtin_is_cast(builtin)) {
            char element[40];
            snprintf(element, sizeof element, "cast %s %s", name_of(builtin->cast.dst),
                     name_of(builtin->cast.src));
            found[n++] = usm_kernel_source_named(all, element);
        }
        found[n++] = usm_kernel_source_named(all, usm_builtin_function(place, builtin));
    }
    return n;
}

usm_status usm_builtin_source_find(const usm_place *place, const usm_builtin *builtin,
                                   usm_builtin_source *source, usm_error *error)
{
    source->options[0] = 0;
    source->restored = NULL;
    source->program = (usm_program_source){
        .language = place->context->backend->builtin_language, .options = source->options, .own = true};
    if (source->program.language == USM_LANGUAGE_BUILTIN) {
        return USM_OK; /* the host has them in the extension */
    }
    usm_kernel_form form = source->program.language == USM_LANGUAGE_OPENCL  ? USM_KERNEL_OPENCL
                           : source->program.language == USM_LANGUAGE_SPIRV ? USM_KERNEL_SPIRV
                                                                            : USM_KERNEL_PTX;
    const usm_kernel_source *all = usm_kernel_sources(form), *found[3];
    if (all == NULL) {
        return usm_error_memory(error, usm_kernel_archives[form].size, "the sources of kernels");
    }
    int n = find_sources(all, form, place, builtin, source, found);
    if (found[n - 1] == NULL) {
        return usm_error_set(error, USM_VALUE, "%s has no kernel %s", place->device->info.name,
                             builtin->module);
    }
    source->program.data = source->restored = usm_kernel_restore(found, n, &source->program.size);
    return source->restored != NULL ? USM_OK : usm_error_memory(error, source->program.size, "a kernel");
}
