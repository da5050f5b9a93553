/*
 * Launches: the arguments and the index space of a kernel, as the driver takes them (OpenCL API 3.0,
 * 5.9.2 and 5.10).
 */
#include "opencl.h"

/* clSetKernelArgMemPointerINTEL or clSetKernelArgSVMPointer, by where the context's memory comes from. */
static cl_int set_pointer(const usm_queue *queue, cl_kernel kernel, cl_uint index, const void *pointer)
{
    const usm_opencl_context *context = usm_opencl_context_of(queue->context);
    if (pointer == NULL && context->memory == USM_OPENCL_COARSE_SVM) {
        /* No memory object is a null pointer, too; an SVM pointer that is null NVIDIA's driver refuses. */
        return context->platform->api->clSetKernelArg(kernel, index, sizeof(cl_mem), NULL);
    }
    return context->memory == USM_OPENCL_INTEL_USM
               ? context->platform->set_pointer(kernel, index, pointer)
               : context->platform->api->clSetKernelArgSVMPointer(kernel, index, pointer);
}

/* Local memory is a size without a value (OpenCL API 3.0, 5.9.2). */
static cl_int set_argument(const usm_queue *queue, cl_kernel id, cl_uint i, const usm_argument *argument)
{
    const usm_opencl_api *api = usm_opencl_platform_of(queue)->api;
    switch (argument->kind) {
        case USM_PARAMETER_POINTER:
            return set_pointer(queue, id, i, argument->as.pointer);
        case USM_PARAMETER_LOCAL:
            return api->clSetKernelArg(id, i, argument->size, NULL);
        default:
            return api->clSetKernelArg(id, i, argument->size, usm_argument_value(argument));
    }
}

/* All arguments are handed over at the next launch. */
static void forget_arguments(usm_opencl_kernel *native, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        native->set[k].kind = USM_PARAMETER_UNKNOWN;
    }
}

/*
 * NVIDIA's driver takes no null pointer where the kernel had an SVM pointer before, and launches with the old
 * one, or not at all: a new kernel takes its place. The kernel's lock held.
 */
static cl_int renew(const usm_queue *queue, const usm_launch *launch)
{
    const usm_opencl_api *api = usm_opencl_platform_of(queue)->api;
    usm_opencl_kernel *native = launch->kernel->native;
    cl_int code = CL_SUCCESS;
    cl_kernel id = api->clCreateKernel(launch->kernel->program->native, launch->kernel->name, &code);
    if (id != NULL) {
        api->clReleaseKernel(native->id);
        native->id = id;
        native->had_pointer = false;
        forget_arguments(native, launch->n_arguments);
    }
    return code;
}

static bool is_null(const usm_argument *argument)
{
    return argument->kind == USM_PARAMETER_POINTER && argument->as.pointer == NULL;
}

/* A null pointer that the driver does not have as this argument yet. */
static bool has_new_null(const usm_opencl_kernel *native, const usm_launch *launch)
{
    for (size_t i = 0; i < launch->n_arguments; i++) {
        if (is_null(&launch->arguments[i]) && !usm_argument_is_set(&native->set[i], &launch->arguments[i])) {
            return true;
        }
    }
    return false;
}

/*
 * Hands over what changed since the last launch: a pointer costs Intel's driver as much as a tenth of a
 * launch. The kernel's lock held; on failure *i is the argument that
 * was refused. Drivers look up which allocation a pointer is in when it is handed over, so a pointer does not
 * count as known once any memory of the context has been freed: the address may be another allocation's now.
 */
static cl_int set_arguments(const usm_queue *queue, const usm_launch *launch, size_t *i)
{
    usm_opencl_kernel *native = launch->kernel->native;
    uint64_t free_generation = atomic_load_explicit(&queue->context->free_generation, memory_order_acquire);
    bool same_memory = free_generation == native->free_generation;
    bool coarse = usm_opencl_context_of(queue->context)->memory == USM_OPENCL_COARSE_SVM;
    native->free_generation = free_generation;
    if (!same_memory) {
        forget_arguments(native, launch->n_arguments);
    }
    if (USM_UNLIKELY(coarse) && native->had_pointer && has_new_null(native, launch)) {
        cl_int code = renew(queue, launch);
        if (code != CL_SUCCESS) {
            *i = launch->n_arguments;
            return code;
        }
    }
    for (*i = 0; *i < launch->n_arguments; ++*i) {
        const usm_argument *wanted = &launch->arguments[*i];
        usm_argument *set = &native->set[*i];
        if (usm_argument_is_set(set, wanted)) {
            continue;
        }
        set->kind = USM_PARAMETER_UNKNOWN;
        cl_int code = set_argument(queue, native->id, (cl_uint)*i, wanted);
        if (code != CL_SUCCESS) {
            return code;
        }
        *set = *wanted;
        native->had_pointer |= wanted->kind == USM_PARAMETER_POINTER && wanted->as.pointer != NULL;
    }
    return CL_SUCCESS;
}

/*
 * Without a local size the driver chooses one. The wait list is that of the task; the driver's event goes to
 * *out. On failure nothing was enqueued, and the message names the argument where one was refused.
 */
usm_status usm_opencl_launch_kernel(const usm_opencl_turn *turn, const usm_launch *launch, cl_event *out,
                                    usm_error *error)
{
    const usm_queue *queue = turn->queue;
    const usm_opencl_api *api = usm_opencl_platform_of(queue)->api;
    usm_opencl_kernel *native = launch->kernel->native;
    const usm_range *range = &launch->range;
    const char *function = "clSetKernelArg";
    cl_int code = CL_SUCCESS;
    size_t i = 0;
    pthread_mutex_lock(&native->lock);
    code = set_arguments(queue, launch, &i);
    if (code == CL_SUCCESS) {
        function = "clEnqueueNDRangeKernel";
        code = api->clEnqueueNDRangeKernel(turn->id, native->id, range->ndim, NULL, range->global,
                                           range->has_local ? range->local : NULL, turn->n_waits, turn->waits,
                                           out);
    }
    pthread_mutex_unlock(&native->lock);
    if (code == CL_SUCCESS) {
        return USM_OK;
    }
    const usm_parameter *parameter = i < launch->kernel->n_parameters ? &launch->kernel->parameters[i] : NULL;
    if (parameter == NULL) {
        return usm_opencl_failed(error, code, function);
    }
    return usm_error_driver(error, USM_DRIVER, "opencl", code, usm_opencl_name(code),
                            "%s refuses argument %zu (%s) of the kernel %s: %s (%d)",
                            queue->device->info.name, i,
                            parameter->name != NULL ? parameter->name : "unnamed", launch->kernel->name,
                            usm_opencl_name(code), code);
}
