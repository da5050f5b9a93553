/* Kernels for the host: from a shared object that the system's compiler made, or from a pointer. */
#include "host.h"

#include "core/base/heap.h"
#include "cpu/cpu.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* usm_program.native */
typedef struct program {
    void *library;                       /* of dlopen; NULL for a pointer and for the built-in kernels */
    const struct usmpy_kernels *kernels; /* of the library */
    usm_host_pointer *pointer;           /* owned; NULL for a library */
} program;

/* Names are in the library, which stays open: only the array is ours. */
static bool list_kernels(usm_program *base, const struct usmpy_kernels *kernels)
{
    base->kernels = usm_malloc((kernels->n + 1) * sizeof *base->kernels);
    for (uint32_t i = 0; base->kernels != NULL && i <= kernels->n; i++) {
        base->kernels[i] = i < kernels->n ? (char *)kernels->entries[i].name : NULL;
    }
    return base->kernels != NULL;
}

static usm_status open_library(usm_program *base, program *native, const char *path, usm_error *error)
{
    native->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (native->library == NULL) {
        return usm_error_driver(error, USM_BUILD, "host", 0, "", "the kernels in %s cannot be loaded: %s",
                                path, dlerror());
    }
    native->kernels = dlsym(native->library, "usmpy_kernels");
    if (native->kernels == NULL || native->kernels->version != USMPY_KERNELS_VERSION) {
        return usm_error_driver(error, USM_BUILD, "host", 0, "",
                                "%s has no kernels of version %d; it was not made by this usmpy", path,
                                USMPY_KERNELS_VERSION);
    }
    return list_kernels(base, native->kernels) ? USM_OK : usm_error_memory(error, 64, "a list of kernels");
}

usm_status usm_host_program_build(usm_program *base, const usm_program_source *source, char **log,
                                  usm_error *error)
{
    usm_status status;
    (void)log;
    program *native = usm_calloc(1, sizeof *native);
    if (native == NULL) {
        return usm_error_memory(error, sizeof *native, "a program");
    }
    switch (source->language) {
        case USM_LANGUAGE_LIBRARY:
            status = open_library(base, native, source->data, error);
            break;
        case USM_LANGUAGE_BUILTIN:
            base->any_place = true;
            status = USM_OK;
            break;
        case USM_LANGUAGE_POINTER:
            status = usm_host_pointer_create(source->data, &native->pointer, error);
            base->any_place = true;
            break;
        default:
            status = usm_error_set(error, USM_VALUE, "the host device takes portable and C programs");
    }
    if (status != USM_OK) {
        if (native->library != NULL) {
            dlclose(native->library);
        }
        free(native);
        return status;
    }
    base->native = native;
    return USM_OK;
}

void usm_host_program_destroy(usm_program *base)
{
    program *native = base->native;
    if (native->library != NULL) {
        dlclose(native->library);
    }
    usm_host_pointer_free(native->pointer);
    free(native);
}

static void read_parameter(const struct usmpy_kernel_parameter *from, usm_parameter *to)
{
    *to = (usm_parameter){
        .name = from->name,
        .type = from->type,
        .kind = from->kind == USMPY_POINTER ? USM_PARAMETER_POINTER
                : from->kind == USMPY_LOCAL ? USM_PARAMETER_LOCAL
                                            : USM_PARAMETER_VALUE,
        .read_only = from->read_only != 0,
        .dtype = (int16_t)(from->dtype == NULL ? USM_NO_DTYPE
                                               : usm_dtype_from_name(from->dtype, strlen(from->dtype))),
        .size = from->kind == USMPY_VALUE ? from->size : (uint32_t)sizeof(void *),
    };
}

static usm_status from_entry(usm_kernel *kernel, const struct usmpy_kernel_entry *entry, usm_error *error)
{
    usm_parameter *parameters = usm_calloc(entry->n_parameters + 1, sizeof *parameters);
    if (parameters == NULL) {
        return usm_error_memory(error, entry->n_parameters * sizeof *parameters, "a kernel's parameters");
    }
    for (uint32_t i = 0; i < entry->n_parameters; i++) {
        read_parameter(&entry->parameters[i], &parameters[i]);
    }
    usm_status status =
        usm_kernel_set_parameters(kernel, entry->name, parameters, entry->n_parameters, error);
    free(parameters);
    memcpy(kernel->required_local, entry->required_local, sizeof kernel->required_local);
    kernel->native = (void *)entry;
    return status;
}

static const struct usmpy_kernel_entry *find(const struct usmpy_kernels *kernels, const char *name)
{
    for (uint32_t i = 0; i < kernels->n; i++) {
        if (strcmp(kernels->entries[i].name, name) == 0) {
            return &kernels->entries[i];
        }
    }
    return NULL;
}

usm_status usm_host_kernel_create(usm_kernel *kernel, const char *name, usm_error *error)
{
    const program *native = kernel->program->native;
    if (native->pointer != NULL) {
        kernel->max_ndim = 1;
        return usm_kernel_set_parameters(kernel, name, native->pointer->parameters,
                                         native->pointer->n_parameters, error);
    }
    const struct usmpy_kernel_entry *entry =
        native->kernels != NULL ? find(native->kernels, name) : usm_cpu_kernel_named(name);
    if (entry != NULL) {
        return from_entry(kernel, entry, error);
    }
    return usm_error_set(error, USM_INDEX, "the program has no kernel %s", name);
}

void usm_host_kernel_destroy(usm_kernel *kernel)
{
    kernel->native = NULL; /* belongs to the program */
}

/* Where nobody asked for a local size: the kernel's own, or a divisor of the first dimension up to 64. */
static usm_status choose_local(const usm_launch *launch, usm_range *range, usm_error *error)
{
    const struct usmpy_kernel_entry *entry = launch->kernel->native;
    *range = launch->range;
    if (!range->has_local && entry->required_local[0] != 0) {
        memcpy(range->local, entry->required_local, sizeof range->local);
    } else if (!range->has_local) {
        size_t n = range->global[0] < 64 ? range->global[0] : 64;
        while (range->global[0] % n != 0) {
            n--;
        }
        range->local[0] = n;
    }
    for (int d = 0; d < 3; d++) {
        if (range->global[d] % range->local[d] != 0) {
            return usm_error_set(
                error, USM_VALUE,
                "the range's dimension %d is %zu, which the work-group's required %zu does not "
                "divide",
                d, range->global[d], range->local[d]);
        }
    }
    return USM_OK;
}

static void call_pointer(const void *pointer, size_t begin, size_t end, const void *const *values)
{
    usm_host_pointer_call(pointer, begin, end, values);
}

usm_status usm_host_launch(const usm_launch *launch, unsigned width, usm_error *error)
{
    const program *native = launch->kernel->program->native;
    usm_range range;
    usm_cpu_launch run = {
        .range = &launch->range,
        .arguments = launch->arguments,
        .n_arguments = launch->n_arguments,
        .cost = launch->cost,
    };
    if (native->pointer != NULL) {
        run.call = call_pointer;
        run.function = native->pointer;
    } else {
        run.kernel = launch->kernel->native;
    }
    if (native->library != NULL) {
        usm_status status = choose_local(launch, &range, error);
        if (status != USM_OK) {
            return status;
        }
        run.range = &range;
    }
    return usm_cpu_run(&run, width)
               ? USM_OK
               : usm_error_set(error, USM_MEMORY, "no memory is left for the work-groups of %s",
                               launch->kernel->name);
}
