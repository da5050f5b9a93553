/* Kernels: what they take, as the driver tells it, and launches of them. */
#include "opencl.h"

#include "core/base/heap.h"
#include "core/program/signature.h"
#include "core/program/spirv.h"

#include <stdlib.h>
#include <string.h>

/* usm_kernel.native */
typedef struct kernel {
    cl_kernel id;
    pthread_mutex_t
        lock;           /* arguments belong to the kernel until the launch; a leaf but for the driver's own */
    uint64_t departed;  /* the context's, when the pointers in `set` were handed over */
    bool had_pointer;   /* `id` was handed a pointer that is not null */
    usm_argument set[]; /* what the driver has, one for each parameter; UNKNOWN: nothing */
} kernel;

static const usm_opencl_platform *platform_of(const usm_program *base)
{
    return usm_opencl_context_of(base->context)->platform;
}

/* "float*" and its like, with spaces anywhere; `name` is cut into the pointed-to type. */
static void read_parameter(cl_kernel_arg_address_qualifier space, cl_kernel_arg_type_qualifier qualifier,
                           const char *type, usm_parameter *out)
{
    size_t length = strcspn(type, "*");
    bool pointer = type[length] == '*';
    while (length > 0 && type[length - 1] == ' ') {
        length--;
    }
    usm_parameter_read_type(type, length, out);
    if (space == CL_KERNEL_ARG_ADDRESS_LOCAL) {
        out->kind = USM_PARAMETER_LOCAL;
    } else if (pointer) {
        out->kind = USM_PARAMETER_POINTER;
        out->read_only =
            space == CL_KERNEL_ARG_ADDRESS_CONSTANT || (qualifier & CL_KERNEL_ARG_TYPE_CONST) != 0;
        out->size = sizeof(void *);
    } else {
        out->kind = USM_PARAMETER_VALUE;
    }
}

typedef struct told {
    char name[128], type[128];
} told;

/* What the driver does not tell stays unknown: it may have built the program without the information. */
static void ask_parameter(const usm_opencl_api *api, cl_kernel id, cl_uint i, told *told, usm_parameter *out)
{
    cl_kernel_arg_address_qualifier space = 0;
    cl_kernel_arg_type_qualifier qualifier = 0;
    *out = (usm_parameter){.kind = USM_PARAMETER_UNKNOWN, .dtype = USM_NO_DTYPE};
    if (api->clGetKernelArgInfo(id, i, CL_KERNEL_ARG_TYPE_NAME, sizeof told->type, told->type, NULL) !=
            CL_SUCCESS ||
        told->type[0] == 0 ||
        api->clGetKernelArgInfo(id, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space, &space, NULL) !=
            CL_SUCCESS ||
        api->clGetKernelArgInfo(id, i, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof qualifier, &qualifier, NULL) !=
            CL_SUCCESS) {
        return;
    }
    out->type = told->type;
    if (api->clGetKernelArgInfo(id, i, CL_KERNEL_ARG_NAME, sizeof told->name, told->name, NULL) ==
            CL_SUCCESS &&
        told->name[0] != 0) {
        out->name = told->name;
    }
    read_parameter(space, qualifier, told->type, out);
}

static usm_status ask_parameters(usm_kernel *base, const usm_opencl_api *api, cl_kernel id, const char *name,
                                 usm_error *error)
{
    cl_uint n = 0;
    cl_int code = api->clGetKernelInfo(id, CL_KERNEL_NUM_ARGS, sizeof n, &n, NULL);
    if (code != CL_SUCCESS) {
        return usm_opencl_failed(error, code, "clGetKernelInfo");
    }
    if (base->program->spirv != NULL) { /* of modules, drivers tell less than they say themselves */
        return usm_spirv_read_parameters(base, name, n, base->program->spirv, base->program->spirv_size,
                                         error);
    }
    usm_parameter *parameters = usm_calloc(n + 1, sizeof *parameters);
    told *texts = usm_calloc(n + 1, sizeof *texts);
    usm_status status = USM_OK;
    if (parameters == NULL || texts == NULL) {
        status = usm_error_memory(error, n * sizeof *texts, "a kernel's parameters");
    } else {
        for (cl_uint i = 0; i < n; i++) {
            ask_parameter(api, id, i, &texts[i], &parameters[i]);
        }
        status = usm_kernel_set_parameters(base, name, parameters, n, error);
    }
    free(parameters);
    free(texts);
    return status;
}

usm_status usm_opencl_kernel_create(usm_kernel *base, const char *name, usm_error *error)
{
    const usm_opencl_api *api = platform_of(base->program)->api;
    const usm_opencl_program *owner = base->program->native;
    cl_int code = CL_SUCCESS;
    if (usm_opencl_forked()) {
        return usm_opencl_after_fork(error);
    }
    cl_kernel id = api->clCreateKernel(owner->id, name, &code);
    if (id == NULL) {
        return code == CL_INVALID_KERNEL_NAME
                   ? usm_error_driver(error, USM_INDEX, "opencl", code, usm_opencl_name(code),
                                      "the program has no kernel %s", name)
                   : usm_opencl_failed(error, code, "clCreateKernel");
    }
    kernel *native = NULL;
    usm_status status = ask_parameters(base, api, id, name, error);
    if (status == USM_OK) {
        native = usm_calloc(1, sizeof *native + base->n_parameters * sizeof *native->set);
        if (native == NULL) {
            status = usm_error_memory(error, sizeof *native, "a kernel");
        }
    }
    if (status != USM_OK) {
        api->clReleaseKernel(id);
        return status;
    }
    native->id = id;
    api->clGetKernelWorkGroupInfo(native->id, owner->device, CL_KERNEL_WORK_GROUP_SIZE, sizeof(size_t),
                                  &base->max_local, NULL);
    api->clGetKernelWorkGroupInfo(native->id, owner->device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
                                  sizeof base->required_local, base->required_local, NULL);
    pthread_mutex_init(&native->lock, NULL);
    base->native = native;
    return USM_OK;
}

void usm_opencl_kernel_destroy(usm_kernel *base)
{
    kernel *native = base->native;
    if (!usm_opencl_forked()) {
        platform_of(base->program)->api->clReleaseKernel(native->id);
    }
    pthread_mutex_destroy(&native->lock);
    free(native);
}

/* Handing over a pointer costs Intel's driver as much as a tenth of a launch. */
static bool is_set(const usm_argument *set, const usm_argument *wanted)
{
    if (set->kind != wanted->kind || set->size != wanted->size) {
        return false;
    }
    switch (wanted->kind) {
        case USM_PARAMETER_POINTER:
            return set->as.pointer == wanted->as.pointer;
        case USM_PARAMETER_LOCAL:
            return true;
        default:
            return wanted->size <= USM_INLINE_VALUE &&
                   memcmp(set->as.value, wanted->as.value, wanted->size) == 0;
    }
}

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

static cl_int set_argument(const usm_queue *queue, cl_kernel id, cl_uint i, const usm_argument *argument)
{
    const usm_opencl_api *api = usm_opencl_context_of(queue->context)->platform->api;
    switch (argument->kind) {
        case USM_PARAMETER_POINTER:
            return set_pointer(queue, id, i, argument->as.pointer);
        case USM_PARAMETER_LOCAL:
            return api->clSetKernelArg(id, i, argument->size, NULL);
        default:
            return api->clSetKernelArg(id, i, argument->size, usm_argument_value(argument));
    }
}

static void forget_arguments(kernel *native, size_t n)
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
    const usm_opencl_api *api = usm_opencl_context_of(queue->context)->platform->api;
    const usm_opencl_program *owner = launch->kernel->program->native;
    kernel *native = launch->kernel->native;
    cl_int code = CL_SUCCESS;
    cl_kernel id = api->clCreateKernel(owner->id, launch->kernel->name, &code);
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

static bool has_new_null(const kernel *native, const usm_launch *launch)
{
    for (size_t i = 0; i < launch->n_arguments; i++) {
        if (is_null(&launch->arguments[i]) && !is_set(&native->set[i], &launch->arguments[i])) {
            return true;
        }
    }
    return false;
}

/*
 * The kernel's lock held; *i is then the argument that was refused. Drivers look their memory up when a
 * pointer is handed over: one is not taken for known once any memory has gone.
 */
static cl_int set_arguments(const usm_queue *queue, const usm_launch *launch, size_t *i)
{
    kernel *native = launch->kernel->native;
    uint64_t departed = atomic_load_explicit(&queue->context->departed, memory_order_acquire);
    bool same_memory = departed == native->departed;
    bool coarse = usm_opencl_context_of(queue->context)->memory == USM_OPENCL_COARSE_SVM;
    native->departed = departed;
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
        if (is_set(set, wanted)) {
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

usm_status usm_opencl_launch_kernel(const usm_opencl_turn *turn, const usm_launch *launch, cl_event *out,
                                    usm_error *error)
{
    const usm_queue *queue = turn->queue;
    const usm_opencl_api *api = usm_opencl_context_of(queue->context)->platform->api;
    kernel *native = launch->kernel->native;
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
