/* Kernels: what they take (Level Zero Core Programming Guide, Modules and Kernels). */
#include "level_zero.h"

#include "core/base/heap.h"
#include "core/program/spirv.h"

#include <stdlib.h>

/*
 * Level Zero reports the number of arguments and the required sizes; names and types are read from the
 * SPIR-V module.
 */
static usm_status describe(usm_kernel *base, const char *name, const ze_kernel_properties_t *properties,
                           usm_error *error)
{
    const usm_program *program = base->program;
    base->max_local = program->place->device->info.max_work_group_size;
    base->preferred_multiple = properties->maxSubgroupSize;
    base->required_local[0] = properties->requiredGroupSizeX;
    base->required_local[1] = properties->requiredGroupSizeY;
    base->required_local[2] = properties->requiredGroupSizeZ;
    return usm_spirv_read_parameters(base, name, properties->numKernelArgs, program->spirv,
                                     program->spirv_size, error);
}

usm_status usm_level_zero_kernel_create(usm_kernel *base, const char *name, usm_error *error)
{
    const ze_kernel_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name};
    ze_kernel_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES};
    ze_kernel_handle_t id = NULL;
    ze_result_t result = usm_level_zero.zeKernelCreate(base->program->native, &desc, &id);
    if (result == ZE_RESULT_ERROR_INVALID_KERNEL_NAME || result == ZE_RESULT_ERROR_INVALID_FUNCTION_NAME) {
        return usm_error_driver(error, USM_INDEX, "level_zero", (int)result, usm_level_zero_name(result),
                                "the program has no kernel %s", name);
    }
    if (result != ZE_RESULT_SUCCESS) {
        return usm_level_zero_failed(error, result, "zeKernelCreate");
    }
    usm_level_zero_kernel *native = NULL;
    result = usm_level_zero.zeKernelGetProperties(id, &properties);
    usm_status status = result == ZE_RESULT_SUCCESS
                            ? describe(base, name, &properties, error)
                            : usm_level_zero_failed(error, result, "zeKernelGetProperties");
    if (status == USM_OK) {
        native = usm_calloc(1, sizeof *native + base->n_parameters * sizeof *native->set);
        status = native != NULL ? USM_OK : usm_error_memory(error, sizeof *native, "a kernel");
    }
    if (status != USM_OK) {
        usm_level_zero.zeKernelDestroy(id);
        return status;
    }
    if (!base->program->own) { /* structs may hold pointers to memory that the kernel then uses */
        (void)usm_level_zero.zeKernelSetIndirectAccess(id, ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST |
                                                               ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE |
                                                               ZE_KERNEL_INDIRECT_ACCESS_FLAG_SHARED);
    }
    native->id = id;
    pthread_mutex_init(&native->lock, NULL);
    base->native = native;
    return USM_OK;
}

/* Launches hold a reference to the kernel until they have ended: zeKernelDestroy does not wait. */
void usm_level_zero_kernel_destroy(usm_kernel *base)
{
    usm_level_zero_kernel *native = base->native;
    USM_LEVEL_ZERO_GIVE_BACK(zeKernelDestroy, native->id);
    pthread_mutex_destroy(&native->lock);
    free(native);
}
