/*
 * The built-in kernels, which come as PTX (csrc/kernels/README.md): the driver makes machine code of a module
 * when a device first needs it, and the functions are kept for the life of the process, as primary contexts
 * are.
 */
#include "cuda_backend.h"

#include "core/base/detach.h"
#include "core/base/heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_DEVICES 64

/* Numbers of functions. Casts are by target, source and alignment. */
enum {
    STRIDED = 0,         /* of 1, 2, 4, 8, 16 bytes */
    FILL = STRIDED + 5,  /* of 8, 16 bytes, and of any at any address */
    SEQUENCE = FILL + 3, /* uint8 to uint64, float32, float64 */
    CAST = SEQUENCE + 6,
    FUNCTIONS = CAST + 2 * USM_COMPUTED_DTYPES * USM_COMPUTED_DTYPES,
};

typedef _Atomic(CUfunction) function_table[FUNCTIONS];

/* By the driver's number of the device. */
static _Atomic(function_table *) tables[MOST_DEVICES];

static function_table *table_of(const usm_device *device, usm_error *error)
{
    int id = usm_cuda_device_of(device)->id;
    if (id < 0 || id >= MOST_DEVICES) {
        (void)usm_error_driver(error, USM_DRIVER, "cuda", 0, "",
                               "there is room for %d devices, and this is number %d", MOST_DEVICES, id);
        return NULL;
    }
    function_table *table = atomic_load_explicit(&tables[id], memory_order_acquire), *fresh;
    if (table != NULL) {
        return table;
    }
    fresh = usm_calloc(1, sizeof *fresh);
    if (fresh == NULL) {
        (void)usm_error_memory(error, sizeof *fresh, "the table of kernels");
        return NULL;
    }
    if (atomic_compare_exchange_strong(&tables[id], &table, fresh)) {
        return fresh;
    }
    free(fresh);
    return table;
}

/* What one number stands for. */
typedef struct builtin_name {
    char file[40];      /* in usm_kernel_ptx */
    char function[24];  /* in the module */
    usm_dtype dst, src; /* of a cast */
} builtin_name;

static void name_of(int number, builtin_name *out)
{
    static const char *const sequences[] = {"uint8", "uint16", "uint32", "uint64", "float32", "float64"};
    static const char *const fills[] = {"8", "16", "any"};
    const char *file = number < FILL       ? "strided"
                       : number < SEQUENCE ? "fill"
                       : number < CAST     ? "sequence"
                                           : "cast";
    memset(out, 0, sizeof *out);
    strcpy(out->file, file);
    if (number < FILL) {
        snprintf(out->function, sizeof out->function, "usm_strided_%d", 1 << number);
    } else if (number < SEQUENCE) {
        snprintf(out->function, sizeof out->function, "usm_fill_%s", fills[number - FILL]);
    } else if (number < CAST) {
        snprintf(out->function, sizeof out->function, "usm_sequence_%s", sequences[number - SEQUENCE]);
    } else {
        int pair = (number - CAST) / 2;
        out->dst = (usm_dtype)(pair / USM_COMPUTED_DTYPES);
        out->src = (usm_dtype)(pair % USM_COMPUTED_DTYPES);
        strcpy(out->function, (number - CAST) % 2 != 0 ? "usm_cast_unaligned" : "usm_cast");
    }
}

/* The walk over the axes, with what converts one element in front of it. NULL: no memory. */
static char *compose_cast(const builtin_name *name)
{
    char element[40];
    snprintf(element, sizeof element, "cast %s %s", usm_dtype_table[name->dst].name,
             usm_dtype_table[name->src].name);
    const usm_kernel_source *head = usm_kernel_ptx_named("head"), *walk = usm_kernel_ptx_named("cast"),
                            *convert = usm_kernel_ptx_named(element);
    if (head == NULL || walk == NULL || convert == NULL) {
        return NULL;
    }
    char *text = usm_malloc(head->length + convert->length + walk->length + 1);
    if (text != NULL) {
        strcpy(text, head->text);
        strcat(text, convert->text);
        strcat(text, walk->text);
    }
    return text;
}

/* The device's context is current. Takes long the first time on a machine: the driver keeps the code. */
static usm_status load(const builtin_name *name, CUfunction *out, usm_error *error)
{
    bool is_cast = strcmp(name->file, "cast") == 0;
    const usm_kernel_source *whole = is_cast ? NULL : usm_kernel_ptx_named(name->file);
    char *composed = is_cast ? compose_cast(name) : NULL;
    const char *text = is_cast ? composed : whole != NULL ? whole->text : NULL;
    char log[400] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
    CUmodule module;
    if (text == NULL) {
        return usm_error_memory(error, 8192, "a kernel");
    }
    CUresult code = usm_cuda.cuModuleLoadDataEx(&module, text, 2, options, values);
    free(composed);
    if (code != CUDA_SUCCESS) {
        return usm_error_driver(error, code == CUDA_ERROR_OUT_OF_MEMORY ? USM_MEMORY : USM_DRIVER, "cuda",
                                code, usm_cuda_name(code),
                                "the driver does not load the kernel %s: %s (%d) %s", name->function,
                                usm_cuda_name(code), code, log);
    }
    code = usm_cuda.cuModuleGetFunction(out, module, name->function);
    if (code == CUDA_SUCCESS) {
        code = usm_cuda_load_function(*out);
    }
    return code == CUDA_SUCCESS ? USM_OK : usm_cuda_failed(error, code, "cuModuleGetFunction");
}

/* Two threads may both load a module: one of the two is then never used. */
static usm_status get(usm_device *device, int number, CUfunction *out, usm_error *error)
{
    function_table *table = table_of(device, error);
    if (table == NULL) {
        return USM_DRIVER;
    }
    *out = atomic_load_explicit(&(*table)[number], memory_order_acquire);
    if (USM_LIKELY(*out != NULL)) {
        return USM_OK;
    }
    builtin_name name;
    usm_cuda_scope scope;
    name_of(number, &name);
    usm_status status = usm_cuda_enter(device, &scope, error);
    if (status != USM_OK) {
        return status;
    }
    usm_cuda_relax(&scope);
    void *held = usm_detach();
    status = load(&name, out, error);
    usm_attach(held);
    usm_cuda_leave(&scope);
    if (status == USM_OK) {
        atomic_store_explicit(&(*table)[number], *out, memory_order_release);
    }
    return status;
}

/* 0 for 1, 1 for 2, ... 4 for 16 */
static int power_of(size_t size)
{
    return __builtin_ctzl((unsigned long)size);
}

static int number_of_strided(const usm_strided *strided, const usm_kernel_plan *plan)
{
    return plan->size > 0
               ? STRIDED + power_of((size_t)plan->size)
               : CAST + 2 * ((int)strided->dst_dtype * USM_COMPUTED_DTYPES + (int)strided->src_dtype) +
                     plan->unaligned;
}

/* Integers by their size: the arithmetic of signed and unsigned ones is the same. */
static int number_of_sequence(usm_dtype dtype)
{
    const usm_dtype_info *info = &usm_dtype_table[dtype];
    return info->kind == USM_KIND_FLOAT ? SEQUENCE + 2 + power_of(info->itemsize)
                                        : SEQUENCE + power_of(info->itemsize);
}

static int number_of_fill(const void *dst, size_t pattern_size)
{
    size_t aligned = pattern_size < 8 ? pattern_size : 8;
    bool fits = pattern_size >= 8 && (uintptr_t)dst % aligned == 0;
    return fits ? FILL + (pattern_size == 16) : FILL + 2;
}

/* -1: the driver has a call of its own. */
static int number_of(const usm_command *command, usm_kernel_plan *plan)
{
    switch (command->kind) {
        case USM_COMMAND_STRIDED:
            usm_kernel_plan_strided(plan, command->as.strided);
            return number_of_strided(command->as.strided, plan);
        case USM_COMMAND_SEQUENCE:
            return number_of_sequence(command->as.sequence.dtype);
        case USM_COMMAND_FILL:
            return number_of_fill(command->as.fill.dst, command->as.fill.pattern_size);
        default:
            return -1;
    }
}

static bool driver_fills(const usm_command *command)
{
    size_t size = usm_cuda_shorten(command);
    return size <= 4 && (uintptr_t)command->as.fill.dst % size == 0;
}

usm_status usm_cuda_prepare(usm_queue *queue, const usm_command *command, usm_error *error)
{
    usm_kernel_plan plan;
    CUfunction function;
    if (command->kind == USM_COMMAND_FILL && driver_fills(command)) {
        return USM_OK;
    }
    int number = number_of(command, &plan);
    if (number < 0) {
        return USM_OK;
    }
    return usm_cuda_forked() ? usm_cuda_after_fork(error) : get(queue->device, number, &function, error);
}

static usm_kernel_device kernel_device(const usm_queue *queue)
{
    size_t group = queue->device->info.max_work_group_size;
    return (usm_kernel_device){
        .serial = false,
        .units = queue->device->info.max_compute_units,
        .group = group != 0 && group < 256 ? (unsigned)group : 256,
    };
}

/* Any range does all the work: one that is too large for the driver is cut. */
static CUresult enqueue(CUfunction function, CUstream stream, const usm_kernel_range *range,
                        void **parameters)
{
    static const size_t most[3] = {0x7fffffff, 65535, 65535};
    unsigned grid[3];
    for (int i = 0; i < 3; i++) {
        size_t groups = range->global[i] / range->local[i];
        grid[i] = (unsigned)(groups < most[i] ? groups : most[i]);
    }
    return usm_cuda.cuLaunchKernel(function, grid[0], grid[1], grid[2], (unsigned)range->local[0],
                                   (unsigned)range->local[1], (unsigned)range->local[2], 0, stream,
                                   parameters, NULL);
}

static CUresult run_strided(const usm_queue *queue, CUfunction function, CUstream stream,
                            const usm_kernel_plan *plan)
{
    const usm_kernel_device device = kernel_device(queue);
    CUresult code = CUDA_SUCCESS;
    for (int64_t i = 0; i < plan->launches && code == CUDA_SUCCESS; i++) {
        usm_kernel_launch one;
        usm_kernel_plan_launch(plan, i, &device, &one);
        void *parameters[] = {&one.dst, &one.src, &one.axes};
        code = enqueue(function, stream, &one.range, parameters);
    }
    return code;
}

static CUresult run_sequence(const usm_queue *queue, CUfunction function, CUstream stream,
                             const usm_sequence *sequence)
{
    const usm_kernel_device device = kernel_device(queue);
    usm_kernel_range range;
    usm_kernel_range_of(sequence->count, &device, &range);
    void *dst = sequence->dst;
    double real[3] = {sequence->start, sequence->step, sequence->last};
    if (!sequence->has_last) {
        real[2] = sequence->start + (double)(sequence->count - 1) * sequence->step;
    }
    uint64_t whole[2] = {(uint64_t)sequence->istart, (uint64_t)sequence->istep},
             n = (uint64_t)sequence->count;
    if (usm_dtype_table[sequence->dtype].kind == USM_KIND_FLOAT) {
        void *parameters[] = {&dst, &real[0], &real[1], &real[2], &n};
        return enqueue(function, stream, &range, parameters);
    }
    void *parameters[] = {&dst, &whole[0], &whole[1], &n};
    return enqueue(function, stream, &range, parameters);
}

static CUresult run_fill(const usm_queue *queue, CUfunction function, CUstream stream,
                         const usm_command *command, int number)
{
    const usm_kernel_device device = kernel_device(queue);
    usm_kernel_range range;
    uint64_t pattern[2] = {0, 0}, size = command->as.fill.pattern_size, n = command->as.fill.nbytes;
    void *dst = command->as.fill.dst;
    memcpy(pattern, command->as.fill.pattern, size);
    if (number == FILL + 2) {
        void *parameters[] = {&dst, pattern, &size, &n};
        usm_kernel_range_of((int64_t)n, &device, &range);
        return enqueue(function, stream, &range, parameters);
    }
    n /= size;
    void *parameters[] = {&dst, pattern, &n};
    usm_kernel_range_of((int64_t)n, &device, &range);
    return enqueue(function, stream, &range, parameters);
}

usm_status usm_cuda_run_builtin(const usm_queue *queue, CUstream stream, const usm_command *command,
                                usm_error *error)
{
    usm_kernel_plan plan;
    CUfunction function;
    int number = number_of(command, &plan);
    if (number < 0) {
        return usm_error_driver(error, USM_DRIVER, "cuda", 0, "", "this command has no kernel");
    }
    usm_status status = get(queue->device, number, &function, error);
    if (status != USM_OK) {
        return status;
    }
    CUresult code = command->kind == USM_COMMAND_STRIDED ? run_strided(queue, function, stream, &plan)
                    : command->kind == USM_COMMAND_SEQUENCE
                        ? run_sequence(queue, function, stream, &command->as.sequence)
                        : run_fill(queue, function, stream, command, number);
    return code == CUDA_SUCCESS ? USM_OK : usm_cuda_failed(error, code, "cuLaunchKernel");
}
