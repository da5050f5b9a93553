/* The built-in kernels (csrc/kernels/README.md): built for a context when they are first needed, and kept. */
#include "opencl.h"

#include "core/base/detach.h"
#include "core/base/heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static usm_opencl_kernel *find(const usm_opencl_context *context, cl_context id, const char *key)
{
    usm_opencl_kernel *kernel = atomic_load_explicit(&context->kernels, memory_order_acquire);
    while (kernel != NULL && (kernel->context != id || strcmp(kernel->key, key) != 0)) {
        kernel = kernel->next;
    }
    return kernel;
}

static void free_kernel(const usm_opencl_api *api, usm_opencl_kernel *kernel)
{
    if (kernel->id != NULL) {
        api->clReleaseKernel(kernel->id);
    }
    if (kernel->program != NULL) {
        api->clReleaseProgram(kernel->program);
    }
    pthread_mutex_destroy(&kernel->lock);
    free(kernel);
}

void usm_opencl_kernels_free(usm_opencl_context *context)
{
    usm_opencl_kernel *kernel = atomic_load_explicit(&context->kernels, memory_order_acquire);
    while (kernel != NULL) {
        usm_opencl_kernel *next = kernel->next;
        free_kernel(context->platform->api, kernel);
        kernel = next;
    }
}

/* The text of the log begins with what matters; errors have room for that. */
static usm_status build_failed(const usm_opencl_api *api, cl_program program, cl_device_id device,
                               const char *name, cl_int code, usm_error *error)
{
    char log[480] = "";
    size_t size = 0;
    api->clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
    char *whole = size > 0 ? calloc(1, size + 1) : NULL;
    if (whole != NULL) {
        api->clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, whole, NULL);
        snprintf(log, sizeof log, "%s", whole);
    }
    free(whole);
    return usm_error_driver(error, USM_DRIVER, "opencl", code, usm_opencl_name(code),
                            "the driver does not build the kernel %s: %s", name, log);
}

static usm_status build(const usm_queue *queue, const usm_opencl_kernel_name *name, usm_opencl_kernel *kernel,
                        usm_error *error)
{
    const usm_opencl_api *api = usm_opencl_context_of(queue->context)->platform->api;
    const usm_kernel_source *source = usm_kernel_source_named(name->file);
    cl_device_id device = usm_opencl_device_of(queue->device)->id;
    cl_int code = CL_SUCCESS;
    kernel->program = api->clCreateProgramWithSource(kernel->context, 1, (const char *[]){source->text},
                                                     &source->length, &code);
    if (kernel->program == NULL) {
        return usm_opencl_failed(error, code, "clCreateProgramWithSource");
    }
    code = api->clBuildProgram(kernel->program, 0, NULL, name->options, NULL, NULL);
    if (code != CL_SUCCESS) {
        return build_failed(api, kernel->program, device, name->key, code, error);
    }
    kernel->id = api->clCreateKernel(kernel->program, name->function, &code);
    return kernel->id != NULL ? USM_OK : usm_opencl_failed(error, code, "clCreateKernel");
}

usm_status usm_opencl_kernel_get(const usm_queue *queue, const usm_opencl_kernel_name *name,
                                 usm_opencl_kernel **out, usm_error *error)
{
    usm_opencl_context *context = usm_opencl_context_of(queue->context);
    cl_context id = usm_opencl_queue_of(queue)->context;
    *out = find(context, id, name->key);
    if (*out != NULL) {
        return USM_OK;
    }
    usm_opencl_kernel *kernel = usm_calloc(1, sizeof *kernel);
    if (kernel == NULL) {
        return usm_error_memory(error, sizeof *kernel, "a kernel");
    }
    pthread_mutex_init(&kernel->lock, NULL);
    kernel->context = id;
    snprintf(kernel->key, sizeof kernel->key, "%s", name->key);
    void *held = usm_detach(); /* tenths of a second */
    usm_status status = build(queue, name, kernel, error);
    usm_attach(held);
    if (status != USM_OK) {
        free_kernel(context->platform->api, kernel);
        return status;
    }
    kernel->next = atomic_load_explicit(&context->kernels, memory_order_acquire);
    while (!atomic_compare_exchange_weak_explicit(&context->kernels, &kernel->next, kernel,
                                                  memory_order_acq_rel, memory_order_acquire)) {
    }
    *out =
        kernel; /* two threads may both have built it: one of the two is never found again, until the end */
    return USM_OK;
}

static const char *basic_options(const usm_queue *queue)
{
    bool serial = queue->device->type == USM_CPU, fp64 = queue->device->info.has_fp64;
    return serial ? fp64 ? "-D USM_SERIAL -D USM_LINES -D USM_HAS_FP64" : "-D USM_SERIAL -D USM_LINES"
           : fp64 ? "-D USM_HAS_FP64"
                  : "";
}

static usm_kernel_device kernel_device(const usm_queue *queue)
{
    size_t group = queue->device->info.max_work_group_size;
    return (usm_kernel_device){
        .serial = queue->device->type == USM_CPU,
        .units = queue->device->info.max_compute_units,
        .group = group < 256 ? (unsigned)group : 256,
    };
}

static void name_strided(const usm_queue *queue, const usm_strided *strided, const usm_kernel_plan *plan,
                         usm_opencl_kernel_name *name)
{
    if (plan->size > 0) {
        name->file = "strided";
        snprintf(name->function, sizeof name->function, "usm_strided_%d", plan->size);
        snprintf(name->key, sizeof name->key, "%s", name->function);
        snprintf(name->options, sizeof name->options, "%s", basic_options(queue));
        return;
    }
    const char *dst = usm_dtype_table[strided->dst_dtype].name,
               *src = usm_dtype_table[strided->src_dtype].name;
    name->file = "cast";
    snprintf(name->function, sizeof name->function, "usm_cast");
    snprintf(name->key, sizeof name->key, "cast %s %s%s", dst, src, plan->unaligned ? " u" : "");
    snprintf(name->options, sizeof name->options, "%s -D USM_DST=%s -D USM_SRC=%s%s", basic_options(queue),
             dst, src, plan->unaligned ? " -D USM_UNALIGNED" : "");
}

/* Integers by their size: the arithmetic of signed and unsigned ones is the same. */
static void name_sequence(const usm_queue *queue, usm_dtype dtype, usm_opencl_kernel_name *name)
{
    const usm_dtype_info *info = &usm_dtype_table[dtype];
    bool real = info->kind == USM_KIND_FLOAT;
    name->file = "sequence";
    snprintf(name->function, sizeof name->function, "usm_sequence_%s%d", real ? "float" : "uint",
             8 * info->itemsize);
    snprintf(name->key, sizeof name->key, "%s", name->function);
    snprintf(name->options, sizeof name->options, "%s", basic_options(queue));
}

static usm_status get_for(const usm_queue *queue, const usm_command *command, usm_kernel_plan *plan,
                          usm_opencl_kernel **out, usm_error *error)
{
    usm_opencl_kernel_name name;
    if (command->kind == USM_COMMAND_STRIDED) {
        usm_kernel_plan_strided(plan, command->as.strided);
        if (queue->device->type == USM_CPU) {
            usm_kernel_plan_lines(plan);
        }
        name_strided(queue, command->as.strided, plan, &name);
    } else {
        name_sequence(queue, command->as.sequence.dtype, &name);
    }
    return usm_opencl_kernel_get(queue, &name, out, error);
}

usm_status usm_opencl_queue_prepare(usm_queue *queue, const usm_command *command, usm_error *error)
{
    usm_kernel_plan plan;
    usm_opencl_kernel *kernel;
    bool strided = command->kind == USM_COMMAND_STRIDED && !queue->device->info.is_host;
    if (!strided && command->kind != USM_COMMAND_SEQUENCE) {
        return USM_OK;
    }
    return usm_opencl_forked() ? usm_opencl_after_fork(error)
                               : get_for(queue, command, &plan, &kernel, error);
}

cl_int usm_opencl_set_pointer(const usm_queue *queue, cl_kernel kernel, cl_uint index, const void *pointer)
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

static cl_int launch(const usm_opencl_turn *turn, cl_kernel kernel, const usm_kernel_range *range,
                     cl_event *id)
{
    const usm_opencl_api *api = usm_opencl_context_of(turn->queue->context)->platform->api;
    return api->clEnqueueNDRangeKernel(turn->id, kernel, 3, NULL, range->global, range->local, turn->n_waits,
                                       turn->waits, id);
}

static cl_int launch_strided(const usm_opencl_turn *turn, cl_kernel kernel, const usm_kernel_plan *plan,
                             cl_event *id)
{
    const usm_queue *queue = turn->queue;
    const usm_opencl_api *api = usm_opencl_context_of(queue->context)->platform->api;
    const usm_kernel_device device = kernel_device(queue);
    cl_int code = CL_SUCCESS;
    for (int64_t i = 0; i < plan->launches && code == CL_SUCCESS; i++) {
        usm_kernel_launch one;
        bool alone = plan->launches == 1;
        usm_kernel_plan_launch(plan, i, &device, &one);
        code = usm_opencl_set_pointer(queue, kernel, 0, one.dst);
        code = code != CL_SUCCESS ? code : usm_opencl_set_pointer(queue, kernel, 1, one.src);
        code = code != CL_SUCCESS ? code : api->clSetKernelArg(kernel, 2, sizeof one.axes, &one.axes);
        code = code != CL_SUCCESS ? code : launch(turn, kernel, &one.range, alone ? id : NULL);
    }
    /* A marker behind everything so far: without an order in the queue, that is more than these launches. */
    if (plan->launches > 1 && code == CL_SUCCESS) {
        code = api->clEnqueueMarkerWithWaitList(turn->id, 0, NULL, id);
    }
    return code;
}

static cl_int launch_sequence(const usm_opencl_turn *turn, cl_kernel kernel, const usm_sequence *sequence,
                              cl_event *id)
{
    const usm_queue *queue = turn->queue;
    const usm_opencl_api *api = usm_opencl_context_of(queue->context)->platform->api;
    const usm_kernel_device device = kernel_device(queue);
    usm_kernel_range range;
    usm_kernel_range_of(sequence->count, &device, &range);
    double wide[3] = {sequence->start, sequence->step, sequence->last};
    if (!sequence->has_last) {
        wide[2] = sequence->start + (double)(sequence->count - 1) * sequence->step;
    }
    float narrow[3] = {(float)wide[0], (float)wide[1], (float)wide[2]};
    cl_ulong whole[2] = {(cl_ulong)sequence->istart, (cl_ulong)sequence->istep},
             n = (cl_ulong)sequence->count;
    bool real = usm_dtype_table[sequence->dtype].kind == USM_KIND_FLOAT;
    bool fp64 = queue->device->info.has_fp64;
    cl_uint numbers = real ? 3 : 2;
    cl_int code = usm_opencl_set_pointer(queue, kernel, 0, sequence->dst);
    for (cl_uint i = 0; i < numbers && code == CL_SUCCESS; i++) {
        const void *value = !real ? (const void *)&whole[i] : fp64 ? (const void *)&wide[i] : &narrow[i];
        code = api->clSetKernelArg(kernel, i + 1, real && !fp64 ? sizeof(float) : 8, value);
    }
    code = code != CL_SUCCESS ? code : api->clSetKernelArg(kernel, numbers + 1, sizeof n, &n);
    return code != CL_SUCCESS ? code : launch(turn, kernel, &range, id);
}

usm_status usm_opencl_launch(const usm_opencl_turn *turn, const usm_command *command, cl_event *id,
                             usm_error *error)
{
    usm_kernel_plan plan;
    usm_opencl_kernel *kernel;
    usm_status status = get_for(turn->queue, command, &plan, &kernel, error);
    if (status != USM_OK) {
        return status;
    }
    pthread_mutex_lock(&kernel->lock);
    cl_int code = command->kind == USM_COMMAND_STRIDED
                      ? launch_strided(turn, kernel->id, &plan, id)
                      : launch_sequence(turn, kernel->id, &command->as.sequence, id);
    pthread_mutex_unlock(&kernel->lock);
    return code == CL_SUCCESS ? USM_OK : usm_opencl_failed(error, code, "clEnqueueNDRangeKernel");
}
