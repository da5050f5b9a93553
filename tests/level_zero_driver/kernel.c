/* Kernels: their arguments, group sizes and properties. */
#include "module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_GROUP 1024
#define SUGGESTED 256

void sim_arguments_free(sim_argument *arguments, uint32_t n)
{
    for (uint32_t i = 0; arguments != NULL && i < n; i++)
        free(arguments[i].value);
    free(arguments);
}

sim_argument *sim_arguments_copy(const sim_argument *arguments, uint32_t n)
{
    sim_argument *copy = calloc(n + 1, sizeof(*copy));
    for (uint32_t i = 0; copy != NULL && i < n; i++) {
        copy[i] = arguments[i];
        if (arguments[i].value == NULL)
            continue;
        copy[i].value = malloc(arguments[i].size);
        if (copy[i].value == NULL) {
            sim_arguments_free(copy, i);
            return NULL;
        }
        memcpy(copy[i].value, arguments[i].value, arguments[i].size);
    }
    return copy;
}

/* What OpenCL says of the kernel. */
static void ask(ze_kernel_handle_t kernel)
{
    const sim_opencl *cl = kernel->module->cl;
    cl->clGetKernelWorkGroupInfo(kernel->id, cl->device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
                                 sizeof(kernel->required), kernel->required, NULL);
    cl->clGetKernelWorkGroupInfo(kernel->id, cl->device, CL_KERNEL_LOCAL_MEM_SIZE,
                                 sizeof(kernel->local_bytes), &kernel->local_bytes, NULL);
    cl->clGetKernelWorkGroupInfo(kernel->id, cl->device, CL_KERNEL_PRIVATE_MEM_SIZE,
                                 sizeof(kernel->private_bytes), &kernel->private_bytes, NULL);
    for (int i = 0; i < 3; i++)
        kernel->group[i] = (uint32_t)kernel->required[i];
}

static void destroy(ze_kernel_handle_t kernel)
{
    if (kernel->id != NULL)
        kernel->module->cl->clReleaseKernel(kernel->id);
    for (int i = 0; i < kernel->n_spare; i++)
        kernel->module->cl->clReleaseKernel(kernel->spare[i]);
    sim_module_release(kernel->module);
    sim_arguments_free(kernel->arguments, kernel->n_arguments);
    pthread_mutex_destroy(&kernel->lock);
    free(kernel->name);
    free(kernel);
}

ze_result_t ZE_APICALL zeKernelCreate(ze_module_handle_t module, const ze_kernel_desc_t *desc,
                                      ze_kernel_handle_t *out)
{
    SIM_ENTER(zeKernelCreate);
    sim_argument_kind kinds[256];
    int n = sim_spirv_arguments(module->spirv, module->spirv_size, desc->pKernelName, kinds, 256);
    if (n < 0 || n > 256)
        return sim_fail(ZE_RESULT_ERROR_INVALID_KERNEL_NAME, "no kernel %s", desc->pKernelName);
    ze_kernel_handle_t kernel = calloc(1, sizeof(*kernel));
    if (kernel == NULL)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    pthread_mutex_init(&kernel->lock, NULL);
    kernel->module = module;
    atomic_fetch_add(&module->count, 1);
    atomic_store(&kernel->count, 1);
    kernel->name = strdup(desc->pKernelName);
    kernel->arguments = calloc((size_t)n + 1, sizeof(sim_argument));
    cl_int code = CL_OUT_OF_HOST_MEMORY;
    if (kernel->name != NULL && kernel->arguments != NULL)
        kernel->id = module->cl->clCreateKernel(module->program, kernel->name, &code);
    if (code != CL_SUCCESS) {
        kernel->id = NULL;
        destroy(kernel);
        return sim_fail(ZE_RESULT_ERROR_INVALID_KERNEL_NAME, "clCreateKernel: %d", (int)code);
    }
    kernel->n_arguments = (uint32_t)n;
    for (int i = 0; i < n; i++)
        kernel->arguments[i].kind = kinds[i];
    ask(kernel);
    atomic_fetch_add(&module->kernels, 1);
    sim_born(SIM_KERNEL);
    *out = kernel;
    return ZE_RESULT_SUCCESS;
}

void sim_kernel_release(ze_kernel_handle_t kernel)
{
    if (atomic_fetch_sub(&kernel->count, 1) == 1)
        destroy(kernel);
}

cl_kernel sim_kernel_take(ze_kernel_handle_t kernel)
{
    cl_kernel id = NULL;
    cl_int code;
    pthread_mutex_lock(&kernel->lock);
    if (kernel->n_spare > 0)
        id = kernel->spare[--kernel->n_spare];
    pthread_mutex_unlock(&kernel->lock);
    return id != NULL ? id : kernel->module->cl->clCreateKernel(kernel->module->program, kernel->name, &code);
}

void sim_kernel_put(ze_kernel_handle_t kernel, cl_kernel id)
{
    pthread_mutex_lock(&kernel->lock);
    bool kept = kernel->n_spare < SIM_SPARE_KERNELS;
    if (kept)
        kernel->spare[kernel->n_spare++] = id;
    pthread_mutex_unlock(&kernel->lock);
    if (!kept)
        kernel->module->cl->clReleaseKernel(id);
}

ze_result_t ZE_APICALL zeKernelDestroy(ze_kernel_handle_t kernel)
{
    SIM_ENTER(zeKernelDestroy);
    sim_settle();
    if (sim_kernel_in_use(kernel))
        sim_misuse("zeKernelDestroy: a launch of %s has not ended", kernel->name);
    atomic_fetch_sub(&kernel->module->kernels, 1);
    sim_gone(SIM_KERNEL);
    sim_kernel_release(kernel);
    return ZE_RESULT_SUCCESS;
}

/* --- arguments ---------------------------------------------------------------------------------------- */

ze_result_t ZE_APICALL zeKernelSetArgumentValue(ze_kernel_handle_t kernel, uint32_t index, size_t size,
                                                const void *value)
{
    SIM_ENTER(zeKernelSetArgumentValue);
    if (index >= kernel->n_arguments)
        return sim_fail(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX, "argument %u of %u", index,
                        kernel->n_arguments);
    sim_argument *argument = &kernel->arguments[index];
    switch (argument->kind) {
        case SIM_POINTER:
            if (size != sizeof(void *))
                return sim_fail(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE, "a pointer of %zu bytes", size);
            argument->pointer = value == NULL ? NULL : *(void *const *)value;
            break;
        case SIM_LOCAL:
            if (value != NULL || size == 0)
                return sim_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "argument %u is shared local memory",
                                index);
            argument->size = size;
            break;
        case SIM_VALUE: {
            if (value == NULL)
                return sim_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "argument %u is a value, not local memory",
                                index);
            unsigned char *copy = malloc(size > 0 ? size : 1);
            if (copy == NULL)
                return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
            memcpy(copy, value, size);
            pthread_mutex_lock(&kernel->lock);
            cl_int code = kernel->module->cl->clSetKernelArg(kernel->id, index, size, value);
            pthread_mutex_unlock(&kernel->lock);
            if (code != CL_SUCCESS) {
                free(copy);
                return sim_fail(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE, "argument %u has not %zu bytes",
                                index, size);
            }
            free(argument->value);
            argument->value = copy;
            argument->size = size;
            break;
        }
        case SIM_OTHER:
            return sim_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "argument %u: images and samplers", index);
    }
    argument->set = true;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeKernelSetIndirectAccess(ze_kernel_handle_t kernel,
                                                 ze_kernel_indirect_access_flags_t flags)
{
    SIM_ENTER(zeKernelSetIndirectAccess);
    kernel->indirect = flags;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeKernelGetIndirectAccess(ze_kernel_handle_t kernel,
                                                 ze_kernel_indirect_access_flags_t *flags)
{
    SIM_ENTER(zeKernelGetIndirectAccess);
    *flags = kernel->indirect;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeKernelSetCacheConfig(ze_kernel_handle_t kernel, ze_cache_config_flags_t flags)
{
    (void)kernel, (void)flags;
    SIM_ENTER(zeKernelSetCacheConfig);
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeKernelSchedulingHintExp(ze_kernel_handle_t kernel,
                                                 ze_scheduling_hint_exp_desc_t *hint)
{
    (void)kernel, (void)hint;
    SIM_ENTER(zeKernelSchedulingHintExp);
    return ZE_RESULT_SUCCESS;
}

/* --- groups ------------------------------------------------------------------------------------------- */

ze_result_t ZE_APICALL zeKernelSetGroupSize(ze_kernel_handle_t kernel, uint32_t x, uint32_t y, uint32_t z)
{
    SIM_ENTER(zeKernelSetGroupSize);
    if (x == 0 || y == 0 || z == 0)
        return sim_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "a group of no work-items");
    if ((uint64_t)x * y > MAX_GROUP || (uint64_t)x * y * z > MAX_GROUP)
        return sim_fail(ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION, "a group of %u x %u x %u", x, y, z);
    const size_t *required = kernel->required;
    if (required[0] > 0 && (required[0] != x || required[1] != y || required[2] != z))
        return sim_fail(ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION, "the kernel requires another group");
    kernel->group[0] = x;
    kernel->group[1] = y;
    kernel->group[2] = z;
    return ZE_RESULT_SUCCESS;
}

static uint32_t largest_divisor(uint32_t of, uint32_t most)
{
    uint32_t divisor = of < most ? of : most;
    while (divisor > 1 && of % divisor != 0)
        divisor--;
    return divisor > 0 ? divisor : 1;
}

ze_result_t ZE_APICALL zeKernelSuggestGroupSize(ze_kernel_handle_t kernel, uint32_t x, uint32_t y, uint32_t z,
                                                uint32_t *group_x, uint32_t *group_y, uint32_t *group_z)
{
    SIM_ENTER(zeKernelSuggestGroupSize);
    if (kernel->required[0] > 0) {
        *group_x = (uint32_t)kernel->required[0];
        *group_y = (uint32_t)kernel->required[1];
        *group_z = (uint32_t)kernel->required[2];
        return ZE_RESULT_SUCCESS;
    }
    *group_x = largest_divisor(x, SUGGESTED);
    *group_y = largest_divisor(y, SUGGESTED / *group_x);
    *group_z = largest_divisor(z, SUGGESTED / (*group_x * *group_y));
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeKernelSuggestMaxCooperativeGroupCount(ze_kernel_handle_t kernel, uint32_t *count)
{
    (void)kernel;
    SIM_ENTER(zeKernelSuggestMaxCooperativeGroupCount);
    *count = sim_settings()->units;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeKernelSetGlobalOffsetExp(ze_kernel_handle_t kernel, uint32_t x, uint32_t y,
                                                  uint32_t z)
{
    SIM_ENTER(zeKernelSetGlobalOffsetExp);
    kernel->offset[0] = x;
    kernel->offset[1] = y;
    kernel->offset[2] = z;
    return ZE_RESULT_SUCCESS;
}

/* --- questions ---------------------------------------------------------------------------------------- */

ze_result_t ZE_APICALL zeKernelGetProperties(ze_kernel_handle_t kernel, ze_kernel_properties_t *properties)
{
    SIM_ENTER(zeKernelGetProperties);
    properties->numKernelArgs = kernel->n_arguments;
    properties->requiredGroupSizeX = (uint32_t)kernel->required[0];
    properties->requiredGroupSizeY = (uint32_t)kernel->required[1];
    properties->requiredGroupSizeZ = (uint32_t)kernel->required[2];
    properties->requiredNumSubGroups = 0;
    properties->requiredSubgroupSize = 0;
    properties->maxSubgroupSize = 32;
    properties->maxNumSubgroups = MAX_GROUP / 8;
    properties->localMemSize = (uint32_t)kernel->local_bytes;
    properties->privateMemSize = (uint32_t)kernel->private_bytes;
    properties->spillMemSize = 0;
    memset(&properties->uuid, 0, sizeof(properties->uuid));
    snprintf((char *)properties->uuid.kid, sizeof(properties->uuid.kid), "%s", kernel->name);
    memcpy(properties->uuid.mid, &kernel->module->hash, sizeof(kernel->module->hash));
    for (ze_kernel_preferred_group_size_properties_t *next = properties->pNext; next != NULL;
         next = next->pNext)
        if (next->stype == ZE_STRUCTURE_TYPE_KERNEL_PREFERRED_GROUP_SIZE_PROPERTIES)
            next->preferredMultiple = 16;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeKernelGetName(ze_kernel_handle_t kernel, size_t *size, char *name)
{
    SIM_ENTER(zeKernelGetName);
    size_t needed = strlen(kernel->name) + 1;
    if (name != NULL && *size > 0)
        snprintf(name, *size, "%s", kernel->name);
    *size = needed;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeKernelGetSourceAttributes(ze_kernel_handle_t kernel, uint32_t *size, char **text)
{
    (void)kernel;
    SIM_ENTER(zeKernelGetSourceAttributes);
    if (text != NULL && *text != NULL && *size > 0)
        (*text)[0] = '\0';
    *size = 1;
    return ZE_RESULT_SUCCESS;
}
