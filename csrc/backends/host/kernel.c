/*
 * Kernels: what they take, from a table that is in the shared object or in the extension, or as the user
 * declared it. Nothing is made for a kernel, so nothing is released with it.
 */
#include "host.h"

#include "core/base/heap.h"
#include "cpu/cpu.h"

#include <stdlib.h>
#include <string.h>

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

/* The entry of the table is the kernel: it lives as long as the program. */
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

/* A program from a pointer is one function, by whatever name. It walks over one dimension. */
usm_status usm_host_kernel_create(usm_kernel *kernel, const char *name, usm_error *error)
{
    const usm_host_program *native = kernel->program->native;
    if (native->function != NULL) {
        kernel->max_ndim = 1;
        return usm_kernel_set_parameters(kernel, name, native->described.parameters,
                                         native->described.n_parameters, error);
    }
    const struct usmpy_kernel_entry *entry =
        native->kernels != NULL ? find(native->kernels, name) : usm_cpu_kernel_named(name);
    if (entry != NULL) {
        usm_computed_by *by = &kernel->computed_by;
        by->instructions = native->kernels != NULL ? NULL : usm_cpu_loops_about(name, &by->library);
        return from_entry(kernel, entry, error);
    }
    return usm_error_set(error, USM_INDEX, "the program has no kernel %s", name);
}
