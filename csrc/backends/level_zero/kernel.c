/*
 * The built-in kernels, which come as SPIR-V (csrc/kernels/README.md): built for a device of a context when
 * they are first needed, and kept.
 */
#include "level_zero.h"

#include "core/base/detach.h"
#include "core/base/heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One kernel of one device in one context. */
struct usm_level_zero_kernel {
    usm_level_zero_kernel *next;
    ze_device_handle_t device;
    uint64_t key;
    ze_module_handle_t module;
    ze_kernel_handle_t id;
    pthread_mutex_t lock; /* its arguments; a leaf but for the driver's own */
};

/* Specialization constants of csrc/kernels/tools/make_spirv.py's cast. */
enum { CAST_SRC, CAST_DST, CAST_SRC_SIZE, CAST_DST_SIZE, CAST_UNALIGNED, CAST_CONSTANTS };

typedef struct name {
    char file[24], function[32];
    uint32_t constants[CAST_CONSTANTS]; /* of a cast */
    bool is_cast;
    uint64_t key;
} name;

static usm_level_zero_kernel *find(const usm_level_zero_context *context, ze_device_handle_t device,
                                   uint64_t key)
{
    usm_level_zero_kernel *kernel = atomic_load_explicit(&context->kernels, memory_order_acquire);
    while (kernel != NULL && (kernel->device != device || kernel->key != key)) {
        kernel = kernel->next;
    }
    return kernel;
}

static void free_kernel(usm_level_zero_kernel *kernel)
{
    if (kernel->id != NULL) {
        usm_level_zero.zeKernelDestroy(kernel->id);
    }
    if (kernel->module != NULL) {
        usm_level_zero.zeModuleDestroy(kernel->module);
    }
    pthread_mutex_destroy(&kernel->lock);
    free(kernel);
}

void usm_level_zero_kernels_free(usm_level_zero_context *context)
{
    usm_level_zero_kernel *kernel = atomic_load_explicit(&context->kernels, memory_order_acquire);
    while (kernel != NULL) {
        usm_level_zero_kernel *next = kernel->next;
        free_kernel(kernel);
        kernel = next;
    }
}

/* The text of the log begins with what matters; errors have room for that. */
static usm_status build_failed(ze_module_build_log_handle_t log, const name *name, ze_result_t result,
                               usm_error *error)
{
    char *text = usm_level_zero_take_log(log);
    usm_status status =
        usm_error_driver(error, USM_DRIVER, "level_zero", (int)result, usm_level_zero_name(result),
                         "the driver does not build the kernel %s: %s (0x%x) %.480s", name->function,
                         usm_level_zero_name(result), (unsigned)result, text != NULL ? text : "");
    free(text);
    return status;
}

static usm_status build(const usm_queue *queue, const name *name, usm_level_zero_kernel *kernel,
                        usm_error *error)
{
    static const uint32_t ids[CAST_CONSTANTS] = {CAST_SRC, CAST_DST, CAST_SRC_SIZE, CAST_DST_SIZE,
                                                 CAST_UNALIGNED};
    const usm_kernel_source *source = usm_kernel_spirv_named(name->file);
    const void *values[CAST_CONSTANTS];
    if (source == NULL) { /* of fp64 alone */
        return usm_error_set(error, USM_VALUE, "%s does not compute with 64 bits of floating point",
                             queue->device->info.name);
    }
    for (int i = 0; i < CAST_CONSTANTS; i++) {
        values[i] = &name->constants[i];
    }
    const ze_module_constants_t constants = {CAST_CONSTANTS, ids, values};
    const ze_module_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
        .format = ZE_MODULE_FORMAT_IL_SPIRV,
        .inputSize = source->length,
        .pInputModule = (const uint8_t *)source->text,
        .pBuildFlags = "",
        .pConstants = name->is_cast ? &constants : NULL,
    };
    const ze_kernel_desc_t function = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name->function};
    ze_module_build_log_handle_t log = NULL;
    ze_result_t result = usm_level_zero.zeModuleCreate(usm_level_zero_context_of(queue->context)->id,
                                                       kernel->device, &desc, &kernel->module, &log);
    if (result != ZE_RESULT_SUCCESS) {
        kernel->module = NULL;
        return build_failed(log, name, result, error);
    }
    free(usm_level_zero_take_log(log));
    result = usm_level_zero.zeKernelCreate(kernel->module, &function, &kernel->id);
    if (result != ZE_RESULT_SUCCESS) {
        kernel->id = NULL;
        return usm_level_zero_failed(error, result, "zeKernelCreate");
    }
    return USM_OK;
}

static usm_status get(const usm_queue *queue, const name *name, usm_level_zero_kernel **out, usm_error *error)
{
    usm_level_zero_context *context = usm_level_zero_context_of(queue->context);
    ze_device_handle_t device = usm_level_zero_device_of(queue->device)->id;
    *out = find(context, device, name->key);
    if (*out != NULL) {
        return USM_OK;
    }
    usm_level_zero_kernel *kernel = usm_calloc(1, sizeof *kernel);
    if (kernel == NULL) {
        return usm_error_memory(error, sizeof *kernel, "a kernel");
    }
    pthread_mutex_init(&kernel->lock, NULL);
    kernel->device = device;
    kernel->key = name->key;
    void *held = usm_detach(); /* tenths of a second */
    usm_status status = build(queue, name, kernel, error);
    usm_attach(held);
    if (status != USM_OK) {
        free_kernel(kernel);
        return status;
    }
    kernel->next = atomic_load_explicit(&context->kernels, memory_order_acquire);
    while (!atomic_compare_exchange_weak_explicit(&context->kernels, &kernel->next, kernel,
                                                  memory_order_acq_rel, memory_order_acquire)) {
    }
    *out = kernel; /* two threads may both have built it: one of the two is found from now on */
    return USM_OK;
}

static usm_kernel_device kernel_device(const usm_queue *queue)
{
    size_t group = queue->device->info.max_work_group_size;
    return (usm_kernel_device){
        .units = queue->device->info.max_compute_units,
        .group = group < 256 ? (unsigned)group : 256,
    };
}

/* The kinds of numbers of make_spirv.py: integers that an int holds, that a long holds, other ones, reals. */
static const char *number_kind(usm_dtype dtype)
{
    const usm_dtype_info *info = &usm_dtype_table[dtype];
    switch (info->kind) {
        case USM_KIND_BOOL:
            return "narrow";
        case USM_KIND_INT:
            return info->bits <= 16 ? "narrow" : "integer";
        case USM_KIND_UINT:
            return info->bits <= 16 ? "narrow" : "natural";
        case USM_KIND_COMPLEX:
            return info->bits == 128 ? "twofold" : "single";
        default:
            return info->bits == 64 ? "twofold" : "single";
    }
}

static const char *with_fp64(const usm_queue *queue)
{
    return queue->device->info.has_fp64 ? "_fp64" : "";
}

enum { KEY_STRIDED, KEY_SEQUENCE, KEY_FILL, KEY_CAST };

static uint64_t key_of(int kind, uint32_t a, uint32_t b, uint32_t c)
{
    return (uint64_t)kind << 48 | (uint64_t)a << 32 | (uint64_t)b << 16 | c;
}

static void name_strided(const usm_queue *queue, const usm_strided *strided, const usm_kernel_plan *plan,
                         name *out)
{
    usm_dtype dst = strided->dst_dtype, src = strided->src_dtype;
    if (plan->size > 0) {
        snprintf(out->file, sizeof out->file, "strided");
        snprintf(out->function, sizeof out->function, "usm_strided_%d", plan->size);
        out->key = key_of(KEY_STRIDED, (uint32_t)plan->size, 0, 0);
        return;
    }
    snprintf(out->file, sizeof out->file, "cast_%s%s", number_kind(src), with_fp64(queue));
    snprintf(out->function, sizeof out->function, "usm_cast");
    out->is_cast = true;
    out->constants[CAST_SRC] = src;
    out->constants[CAST_DST] = dst;
    out->constants[CAST_SRC_SIZE] = usm_dtype_table[src].itemsize;
    out->constants[CAST_DST_SIZE] = usm_dtype_table[dst].itemsize;
    out->constants[CAST_UNALIGNED] = plan->unaligned;
    out->key = key_of(KEY_CAST, src, dst, plan->unaligned);
}

/* Integers by their size: the arithmetic of signed and unsigned ones is the same. */
static void name_sequence(const usm_queue *queue, usm_dtype dtype, name *out)
{
    const usm_dtype_info *info = &usm_dtype_table[dtype];
    bool real = info->kind == USM_KIND_FLOAT;
    snprintf(out->file, sizeof out->file, "sequence%s", with_fp64(queue));
    snprintf(out->function, sizeof out->function, "usm_sequence_%s%d", real ? "float" : "uint",
             8 * info->itemsize);
    out->key = key_of(KEY_SEQUENCE, real, info->itemsize, 0);
}

static bool is_aligned(const usm_command *command)
{
    size_t size = command->as.fill.pattern_size, to = size < 8 ? size : 8;
    return (uintptr_t)command->as.fill.dst % to == 0;
}

static void name_fill(const usm_command *command, name *out)
{
    uint32_t size = is_aligned(command) ? (uint32_t)command->as.fill.pattern_size : 0;
    snprintf(out->file, sizeof out->file, "fill");
    if (size != 0) {
        snprintf(out->function, sizeof out->function, "usm_fill_%u", size);
    } else {
        snprintf(out->function, sizeof out->function, "usm_fill_any");
    }
    out->key = key_of(KEY_FILL, size, 0, 0);
}

static usm_status get_for(const usm_queue *queue, const usm_command *command, usm_kernel_plan *plan,
                          usm_level_zero_kernel **out, usm_error *error)
{
    name name = {.is_cast = false};
    if (command->kind == USM_COMMAND_STRIDED) {
        usm_kernel_plan_strided(plan, command->as.strided);
        name_strided(queue, command->as.strided, plan, &name);
    } else if (command->kind == USM_COMMAND_FILL) {
        name_fill(command, &name);
    } else {
        name_sequence(queue, command->as.sequence.dtype, &name);
    }
    return get(queue, &name, out, error);
}

usm_status usm_level_zero_queue_prepare(usm_queue *queue, const usm_command *command, usm_error *error)
{
    usm_kernel_plan plan;
    usm_level_zero_kernel *kernel;
    if (command->kind != USM_COMMAND_STRIDED && command->kind != USM_COMMAND_SEQUENCE &&
        !(command->kind == USM_COMMAND_FILL && usm_level_zero_fills_with_kernel(queue, command))) {
        return USM_OK;
    }
    return usm_level_zero_forked() ? usm_level_zero_after_fork(error)
                                   : get_for(queue, command, &plan, &kernel, error);
}

/* What a launch goes to. */
typedef struct target {
    ze_command_list_handle_t list;
    ze_kernel_handle_t kernel;
    ze_event_handle_t signal;
    uint32_t n_waits;
    ze_event_handle_t *waits;
} target;

static ze_result_t set(const target *to, uint32_t index, size_t size, const void *value)
{
    return usm_level_zero.zeKernelSetArgumentValue(to->kernel, index, size, value);
}

static ze_result_t launch(const target *to, const usm_kernel_range *range, ze_event_handle_t signal)
{
    const ze_group_count_t groups = {
        (uint32_t)(range->global[0] / range->local[0]),
        (uint32_t)(range->global[1] / range->local[1]),
        (uint32_t)(range->global[2] / range->local[2]),
    };
    ze_result_t result = usm_level_zero.zeKernelSetGroupSize(
        to->kernel, (uint32_t)range->local[0], (uint32_t)range->local[1], (uint32_t)range->local[2]);
    return result == ZE_RESULT_SUCCESS ? usm_level_zero.zeCommandListAppendLaunchKernel(
                                             to->list, to->kernel, &groups, signal, to->n_waits, to->waits)
                                       : result;
}

/* The drivers' numbers of groups are of 32 bits: what they do not reach, the kernels walk themselves. */
static void limit(usm_kernel_range *range, const usm_level_zero_device *device)
{
    for (int i = 0; i < 3; i++) {
        size_t most = device->groups_max[i] > 0 ? device->groups_max[i] : UINT32_MAX;
        if (range->global[i] / range->local[i] > most) {
            range->global[i] = most * range->local[i];
        }
    }
}

static ze_result_t launch_strided(const usm_queue *queue, const target *to, const usm_kernel_plan *plan)
{
    const usm_kernel_device device = kernel_device(queue);
    ze_result_t result = ZE_RESULT_SUCCESS;
    for (int64_t i = 0; i < plan->launches && result == ZE_RESULT_SUCCESS; i++) {
        usm_kernel_launch one;
        usm_kernel_plan_launch(plan, i, &device, &one);
        limit(&one.range, usm_level_zero_device_of(queue->device));
        result = set(to, 0, sizeof one.dst, &one.dst);
        result = result != ZE_RESULT_SUCCESS ? result : set(to, 1, sizeof one.src, &one.src);
        result = result != ZE_RESULT_SUCCESS ? result : set(to, 2, sizeof one.axes, &one.axes);
        result = result != ZE_RESULT_SUCCESS
                     ? result
                     : launch(to, &one.range, plan->launches == 1 ? to->signal : NULL);
    }
    /* A point behind everything so far: without an order in the list, that is more than these launches. */
    if (plan->launches > 1 && result == ZE_RESULT_SUCCESS) {
        result = usm_level_zero.zeCommandListAppendBarrier(to->list, to->signal, 0, NULL);
    }
    return result;
}

static ze_result_t launch_along(const usm_queue *queue, const target *to, int64_t n)
{
    const usm_kernel_device device = kernel_device(queue);
    usm_kernel_range range;
    usm_kernel_range_of(n, &device, &range);
    limit(&range, usm_level_zero_device_of(queue->device));
    return launch(to, &range, to->signal);
}

static ze_result_t launch_sequence(const usm_queue *queue, const target *to, const usm_sequence *sequence)
{
    double wide[3] = {sequence->start, sequence->step, sequence->last};
    if (!sequence->has_last) {
        wide[2] = sequence->start + (double)(sequence->count - 1) * sequence->step;
    }
    float narrow[3] = {(float)wide[0], (float)wide[1], (float)wide[2]};
    uint64_t whole[2] = {(uint64_t)sequence->istart, (uint64_t)sequence->istep},
             n = (uint64_t)sequence->count;
    bool real = usm_dtype_table[sequence->dtype].kind == USM_KIND_FLOAT;
    bool fp64 = queue->device->info.has_fp64;
    uint32_t numbers = real ? 3 : 2;
    ze_result_t result = set(to, 0, sizeof sequence->dst, &sequence->dst);
    for (uint32_t i = 0; i < numbers && result == ZE_RESULT_SUCCESS; i++) {
        const void *value = !real ? (const void *)&whole[i] : fp64 ? (const void *)&wide[i] : &narrow[i];
        result = set(to, i + 1, real && !fp64 ? sizeof(float) : 8, value);
    }
    result = result != ZE_RESULT_SUCCESS ? result : set(to, numbers + 1, sizeof n, &n);
    return result != ZE_RESULT_SUCCESS ? result : launch_along(queue, to, sequence->count);
}

static ze_result_t launch_fill(const usm_queue *queue, const target *to, const usm_command *command)
{
    size_t size = command->as.fill.pattern_size;
    bool aligned = is_aligned(command);
    uint64_t wide = size, n = aligned ? command->as.fill.nbytes / size : command->as.fill.nbytes;
    uint32_t next = 2;
    ze_result_t result = set(to, 0, sizeof command->as.fill.dst, &command->as.fill.dst);
    result = result != ZE_RESULT_SUCCESS
                 ? result
                 : set(to, 1, aligned ? size : USM_MAX_PATTERN, command->as.fill.pattern);
    if (!aligned && result == ZE_RESULT_SUCCESS) {
        result = set(to, next++, sizeof wide, &wide);
    }
    result = result != ZE_RESULT_SUCCESS ? result : set(to, next, sizeof n, &n);
    return result != ZE_RESULT_SUCCESS ? result : launch_along(queue, to, (int64_t)n);
}

usm_status usm_level_zero_launch_builtin(const usm_queue *queue, ze_command_list_handle_t list,
                                         const usm_command *command, ze_event_handle_t signal,
                                         uint32_t n_waits, ze_event_handle_t *waits, usm_error *error)
{
    usm_kernel_plan plan;
    usm_level_zero_kernel *kernel;
    usm_status status = get_for(queue, command, &plan, &kernel, error);
    if (status != USM_OK) {
        return status;
    }
    const target to = {list, kernel->id, signal, n_waits, waits};
    pthread_mutex_lock(&kernel->lock);
    ze_result_t result = command->kind == USM_COMMAND_STRIDED ? launch_strided(queue, &to, &plan)
                         : command->kind == USM_COMMAND_FILL
                             ? launch_fill(queue, &to, command)
                             : launch_sequence(queue, &to, &command->as.sequence);
    pthread_mutex_unlock(&kernel->lock);
    return result == ZE_RESULT_SUCCESS ? USM_OK
                                       : usm_level_zero_failed(error, result, "launching a built-in kernel");
}
