/* Launches: a kernel with its arguments as they were when it was appended. */
#include "module.h"

#include <stdlib.h>
#include <string.h>

#define MAX_LOCAL 32768
/*
 * So few work-items are the engine's own: waking the processor's other threads takes several times as long,
 * and from one process to the next another time.
 */
#define FEW_ITEMS 65536

struct sim_launch {
    ze_kernel_handle_t kernel; /* a count of it */
    sim_argument *arguments;   /* owned */
    uint32_t group[3], offset[3];
    ze_group_count_t count;
    const ze_group_count_t *indirect; /* read when it runs; NULL: `count` */
};

void sim_launch_free(struct sim_launch *launch)
{
    if (launch == NULL)
        return;
    sim_arguments_free(launch->arguments, launch->kernel->n_arguments);
    sim_kernel_release(launch->kernel);
    free(launch);
}

struct sim_launch *sim_launch_copy(const struct sim_launch *launch)
{
    struct sim_launch *copy = malloc(sizeof(*copy));
    if (copy == NULL)
        return NULL;
    *copy = *launch;
    copy->arguments = sim_arguments_copy(launch->arguments, launch->kernel->n_arguments);
    if (copy->arguments == NULL) {
        free(copy);
        return NULL;
    }
    atomic_fetch_add(&copy->kernel->count, 1);
    return copy;
}

bool sim_launch_uses(const struct sim_launch *launch, const char *begin, const char *end)
{
    for (uint32_t i = 0; i < launch->kernel->n_arguments; i++) {
        const char *at = launch->arguments[i].pointer;
        if (launch->arguments[i].kind == SIM_POINTER && at >= begin && at < end)
            return true;
    }
    return false;
}

bool sim_launch_is_of(const struct sim_launch *launch, ze_kernel_handle_t kernel)
{
    return launch->kernel == kernel;
}

static cl_int set_arguments(const sim_opencl *cl, cl_kernel id, const struct sim_launch *launch)
{
    cl_int code = CL_SUCCESS;
    for (uint32_t i = 0; i < launch->kernel->n_arguments && code == CL_SUCCESS; i++) {
        const sim_argument *a = &launch->arguments[i];
        code = a->kind == SIM_POINTER ? cl->clSetKernelArgSVMPointer(id, i, a->pointer)
                                      : cl->clSetKernelArg(id, i, a->size, a->value);
    }
    return code;
}

/* A local queue runs the kernel in the first call: nothing is locked. */
static cl_int run(const sim_opencl *cl, const struct sim_launch *launch, cl_kernel id, const size_t global[3],
                  const size_t local[3], const size_t offset[3])
{
    bool few = (double)global[0] * (double)global[1] * (double)global[2] <= FEW_ITEMS;
    cl_command_queue queue = sim_opencl_take_queue(cl, few);
    if (queue == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    cl_int code = set_arguments(cl, id, launch);
    if (code == CL_SUCCESS)
        code = cl->clEnqueueNDRangeKernel(queue, id, 3, offset, global, local, 0, NULL, NULL);
    if (code == CL_SUCCESS)
        code = cl->clFinish(queue);
    sim_opencl_put_queue(queue, few);
    return code;
}

ze_result_t sim_launch_run(const struct sim_launch *launch, const sim_engine *engine)
{
    (void)engine;
    const sim_opencl *cl = launch->kernel->module->cl;
    const ze_group_count_t count = launch->indirect != NULL ? *launch->indirect : launch->count;
    const size_t counts[3] = {count.groupCountX, count.groupCountY, count.groupCountZ};
    size_t global[3], local[3], offset[3];
    for (int i = 0; i < 3; i++) {
        local[i] = launch->group[i];
        global[i] = local[i] * counts[i];
        offset[i] = launch->offset[i];
        if (global[i] == 0)
            return ZE_RESULT_SUCCESS;
    }
    cl_kernel id = sim_kernel_take(launch->kernel);
    if (id == NULL)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    cl_int code = run(cl, launch, id, global, local, offset);
    sim_kernel_put(launch->kernel, id);
    if (code != CL_SUCCESS)
        sim_misuse("%s: OpenCL's code %d", launch->kernel->name, (int)code);
    return code == CL_SUCCESS ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_DEVICE_LOST;
}

/* --- appending ---------------------------------------------------------------------------------------- */

static ze_result_t check(ze_command_list_handle_t list, ze_kernel_handle_t kernel)
{
    if (list->ordinal == SIM_COPY_GROUP)
        return sim_fail(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE, "a list that only copies");
    if (kernel->module->context != list->context)
        sim_misuse("zeCommandListAppendLaunchKernel: %s is of another context", kernel->name);
    if (kernel->group[0] == 0)
        return sim_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: no group size was set", kernel->name);
    size_t local = kernel->local_bytes;
    for (uint32_t i = 0; i < kernel->n_arguments; i++) {
        const sim_argument *a = &kernel->arguments[i];
        sim_allocation memory;
        if (!a->set)
            return sim_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s: argument %u was not set", kernel->name, i);
        if (a->kind == SIM_LOCAL)
            local += a->size;
        if (a->kind != SIM_POINTER || a->pointer == NULL)
            continue;
        if (!sim_find(a->pointer, &memory))
            sim_misuse("%s: argument %u is memory that the driver does not know", kernel->name, i);
        else
            sim_check_range(list->context, list->device, a->pointer, 1, kernel->name);
    }
    if (local > MAX_LOCAL)
        return sim_fail(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, "%zu bytes of shared local memory", local);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t append(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
                          const ze_group_count_t *count, bool indirect, ze_event_handle_t signal,
                          uint32_t n_waits, ze_event_handle_t *waits)
{
    ze_result_t result = check(list, kernel);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    struct sim_launch now = {.kernel = kernel, .arguments = kernel->arguments};
    memcpy(now.group, kernel->group, sizeof(now.group));
    memcpy(now.offset, kernel->offset, sizeof(now.offset));
    if (indirect)
        now.indirect = count;
    else
        now.count = *count;
    struct sim_launch *launch = sim_launch_copy(&now);
    if (launch == NULL)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    sim_command *command = sim_command_new(SIM_LAUNCH, signal, n_waits, waits);
    if (command == NULL)
        sim_launch_free(launch);
    else
        command->as.launch = launch;
    return sim_append(list, command);
}

ze_result_t ZE_APICALL zeCommandListAppendLaunchKernel(ze_command_list_handle_t list,
                                                       ze_kernel_handle_t kernel,
                                                       const ze_group_count_t *count,
                                                       ze_event_handle_t signal, uint32_t n_waits,
                                                       ze_event_handle_t *waits)
{
    SIM_ENTER(zeCommandListAppendLaunchKernel);
    return append(list, kernel, count, false, signal, n_waits, waits);
}

ze_result_t ZE_APICALL zeCommandListAppendLaunchCooperativeKernel(ze_command_list_handle_t list,
                                                                  ze_kernel_handle_t kernel,
                                                                  const ze_group_count_t *count,
                                                                  ze_event_handle_t signal, uint32_t n_waits,
                                                                  ze_event_handle_t *waits)
{
    SIM_ENTER(zeCommandListAppendLaunchCooperativeKernel);
    return append(list, kernel, count, false, signal, n_waits, waits);
}

ze_result_t ZE_APICALL zeCommandListAppendLaunchKernelIndirect(ze_command_list_handle_t list,
                                                               ze_kernel_handle_t kernel,
                                                               const ze_group_count_t *count,
                                                               ze_event_handle_t signal, uint32_t n_waits,
                                                               ze_event_handle_t *waits)
{
    SIM_ENTER(zeCommandListAppendLaunchKernelIndirect);
    return append(list, kernel, count, true, signal, n_waits, waits);
}
