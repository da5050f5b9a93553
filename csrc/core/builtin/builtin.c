#include "builtin.h"

#include "builtin_source.h"
#include "core/base/detach.h"
#include "core/base/heap.h"
#include "core/device/registry.h"
#include "kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Drivers count groups in 32 bits, some of them signed; the kernels walk what is beyond. */
#define GROUPS ((size_t)0x7fffffff)

/* A kernel of a place. */
struct usm_builtin_kernel {
    struct usm_builtin_kernel *next;
    usm_kernel *kernel;
    const char *function, *options; /* by address; a function is of one module alone */
    usm_cast cast;
};

void usm_builtin_value(usm_builtin *builtin, const void *value, size_t size)
{
    usm_argument *argument = &builtin->arguments[builtin->n_arguments++];
    argument->kind = USM_PARAMETER_VALUE;
    argument->size = (uint32_t)size;
    if (size <= USM_INLINE_VALUE) {
        memset(argument->as.value, 0, sizeof argument->as.value);
        memcpy(argument->as.value, value, size);
    } else {
        argument->as.data = value;
    }
}

/* A program of a place: all kernels of a module come from it, but with PTX, where each is built alone. */
struct usm_builtin_program {
    struct usm_builtin_program *next;
    usm_program *program;
    char key[]; /* "module options cast function" */
};

static const usm_builtin_store *builtin_store;

void usm_builtin_set_store(const usm_builtin_store *store)
{
    builtin_store = store;
}

/* The program as an earlier process built it. False: none is kept, or the driver refuses it. */
static bool load(usm_place *place, const usm_program_source *source, usm_program **out)
{
    char *log = NULL;
    usm_program_source binary = {.language = USM_LANGUAGE_NATIVE, .options = "", .own = true};
    void *data = builtin_store->load(place->device, source, &binary.size);
    binary.data = data;
    bool loaded = data != NULL && usm_program_create(place, &binary, out, &log, NULL) == USM_OK;
    free(log);
    free(data);
    return loaded;
}

static void keep(const usm_place *place, const usm_program_source *source, usm_program *program)
{
    void *binary;
    size_t size;
    if (usm_program_binary(program, &binary, &size, NULL) == USM_OK) {
        builtin_store->keep(place->device, source, binary, size);
        free(binary);
    }
}

/* Builds the module for the place, or loads it. CUDA's driver keeps what it makes of PTX by itself. */
static usm_status build_program(usm_place *place, const usm_builtin *builtin, usm_program **out,
                                usm_error *error)
{
    usm_builtin_source source;
    char *log = NULL;
    usm_status status = usm_builtin_source_find(place, builtin, &source, error);
    if (status != USM_OK) {
        return status;
    }
    usm_language language = source.program.language;
    bool kept = builtin_store != NULL && language != USM_LANGUAGE_BUILTIN && language != USM_LANGUAGE_PTX;
    if (!kept || !load(place, &source.program, out)) {
        status = usm_program_create(place, &source.program, out, &log, error);
        if (status == USM_OK && kept) {
            keep(place, &source.program, *out);
        }
    }
    if (status != USM_OK && log != NULL) {
        usm_error_clear(error);
        status = usm_error_driver(error, USM_DRIVER, place->context->backend->name, 0, "",
                                  "the driver does not build the kernels %s: %.480s", builtin->module, log);
    }
    free(source.joined);
    free(log);
    return status;
}

/* Borrowed: it lives as long as the place. */
static usm_status get_program(usm_place *place, const usm_builtin *builtin, usm_program **out,
                              usm_error *error)
{
    char key[192];
    const usm_cast *cast = &builtin->cast;
    bool alone = place->context->backend->builtin_language == USM_LANGUAGE_PTX;
    int length = snprintf(key, sizeof key, "%s %s %u %u %u %s", builtin->module,
                          builtin->options != NULL ? builtin->options : "", cast->dst, cast->src,
                          cast->unaligned, alone ? usm_builtin_function(place, builtin) : "");
    usm_builtin_program *program = atomic_load_explicit(&place->builtin_programs, memory_order_acquire);
    for (; program != NULL; program = program->next) {
        if (strcmp(program->key, key) == 0) {
            *out = program->program;
            return USM_OK;
        }
    }
    program = usm_malloc(sizeof *program + (size_t)length + 1);
    if (program == NULL) {
        return usm_error_memory(error, sizeof *program, "a program");
    }
    memcpy(program->key, key, (size_t)length + 1);
    usm_status status = build_program(place, builtin, &program->program, error);
    if (status != USM_OK) {
        free(program);
        return status;
    }
    *out = program->program;
    program->next = atomic_load_explicit(&place->builtin_programs, memory_order_acquire);
    while (!atomic_compare_exchange_weak_explicit(&place->builtin_programs, &program->next, program,
                                                  memory_order_acq_rel, memory_order_acquire)) {
    }
    return USM_OK;
}

static _Atomic(usm_builtin_kernel *) *bucket_of(usm_place *place, const usm_builtin *builtin)
{
    uintptr_t bits = (uintptr_t)builtin->function + 16u * builtin->cast.dst + builtin->cast.src;
    return &place->builtins[(bits ^ bits >> 4 ^ bits >> 8) % USM_BUILTIN_BUCKETS];
}

static usm_builtin_kernel *find(usm_builtin_kernel *kernel, const usm_builtin *builtin)
{
    while (kernel != NULL && !(kernel->function == builtin->function && kernel->options == builtin->options &&
                               memcmp(&kernel->cast, &builtin->cast, sizeof kernel->cast) == 0)) {
        kernel = kernel->next;
    }
    return kernel;
}

/*
 * The kernel, built on first use. Borrowed: it lives as long as the place. If two threads build it at once,
 * one of the two is never used.
 */
static usm_status get(usm_place *place, const usm_builtin *builtin, usm_kernel **out, usm_error *error)
{
    _Atomic(usm_builtin_kernel *) *head = bucket_of(place, builtin);
    usm_builtin_kernel *kernel = find(atomic_load_explicit(head, memory_order_acquire), builtin);
    if (USM_LIKELY(kernel != NULL)) {
        *out = kernel->kernel;
        return USM_OK;
    }
    kernel = usm_malloc(sizeof *kernel);
    if (kernel == NULL) {
        return usm_error_memory(error, sizeof *kernel, "a kernel");
    }
    kernel->function = builtin->function;
    kernel->options = builtin->options;
    kernel->cast = builtin->cast;
    usm_program *program = NULL;
    usm_status status = get_program(place, builtin, &program, error);
    if (status == USM_OK) {
        status = usm_kernel_create(program, usm_builtin_function(place, builtin), &kernel->kernel, error);
    }
    if (status != USM_OK) {
        free(kernel);
        return status;
    }
    *out = kernel->kernel;
    kernel->next = atomic_load_explicit(head, memory_order_acquire);
    while (!atomic_compare_exchange_weak_explicit(head, &kernel->next, kernel, memory_order_acq_rel,
                                                  memory_order_acquire)) {
    }
    return USM_OK;
}

/* Frees the kernels and programs of a place. No thread submits to it any more, or they are built again. */
static void free_builtins(usm_place *place)
{
    for (int i = 0; i < USM_BUILTIN_BUCKETS; i++) {
        usm_builtin_kernel *kernel = atomic_exchange(&place->builtins[i], NULL);
        for (usm_builtin_kernel *next; kernel != NULL; kernel = next) {
            next = kernel->next;
            usm_kernel_release(kernel->kernel);
            free(kernel);
        }
    }
    usm_builtin_program *program = atomic_exchange(&place->builtin_programs, NULL);
    for (usm_builtin_program *next; program != NULL; program = next) {
        next = program->next;
        usm_program_release(program->program);
        free(program);
    }
}

bool usm_builtin_is_serial(const usm_place *place)
{
    return place->context->backend->builtin_language == USM_LANGUAGE_OPENCL && place->device->type == USM_CPU;
}

bool usm_builtin_is_on_host(const usm_queue *queue)
{
    return queue->device->info.is_host ||
           queue->place->context->backend->builtin_language == USM_LANGUAGE_BUILTIN;
}

usm_dtype usm_builtin_computed(const usm_queue *queue, usm_dtype dtype)
{
    if (dtype == USM_FLOAT16 || dtype == USM_BFLOAT16) {
        return USM_FLOAT32;
    }
    bool small = usm_dtype_table[dtype].bits <= 16 && queue->place->device->type != USM_CPU;
    return small && usm_dtype_table[dtype].kind == USM_DTYPE_KIND_INT    ? USM_INT32
           : small && usm_dtype_table[dtype].kind == USM_DTYPE_KIND_UINT ? USM_UINT32
                                                                         : dtype;
}

/* The range of the launch: the work itself for the host, else what suits the device. */
static void set_range(const usm_place *place, const usm_builtin *builtin, usm_range *range)
{
    range->ndim = 3;
    range->has_local = true;
    /* The host's kernels are given their part of the range itself: it is the work. */
    if (place->context->backend->builtin_language == USM_LANGUAGE_BUILTIN) {
        for (int i = 0; i < 3; i++) {
            range->global[i] = (size_t)builtin->n[i];
            range->local[i] = 1;
        }
        return;
    }
    const usm_device *device = place->device;
    size_t group = device->info.max_work_group_size;
    const usm_kernel_device sizes = {
        .serial = usm_builtin_is_serial(place),
        .units = device->info.max_compute_units,
        .group = group != 0 && group < 256 ? (unsigned)group : 256,
    };
    size_t own = builtin->group, items = own != 0 ? ((size_t)builtin->n[0] + own - 1) / own * own : 0;
    usm_kernel_range shared = {{items, 1, 1}, {own, 1, 1}};
    if (builtin->group == 0) {
        usm_kernel_range_over(builtin->n, builtin->transposes, &sizes, &shared);
    }
    for (int i = 0; i < 3; i++) {
        size_t groups = shared.global[i] / shared.local[i];
        range->local[i] = shared.local[i];
        range->global[i] = (groups < GROUPS ? groups : GROUPS) * shared.local[i];
    }
}

/*
 * The host's own place, which is never destroyed; NULL if memory ran out. May block the first time
 * (usm_detach).
 */
static usm_place *host_place(void)
{
    static _Atomic(usm_place *) known;
    usm_place *place = atomic_load_explicit(&known, memory_order_acquire);
    if (USM_LIKELY(place != NULL)) {
        return place;
    }
    void *held = usm_detach();
    place = usm_host_place(&place, NULL) == USM_OK ? place : NULL;
    usm_attach(held);
    atomic_store_explicit(&known, place, memory_order_release);
    return place;
}

/* Where built-in kernels of the queue run. */
static usm_place *place_of(const usm_queue *queue)
{
    usm_place *place = queue->device->info.is_host ? host_place() : NULL;
    return place != NULL ? place : queue->place;
}

const usm_kernel *usm_builtin_kernel_find(const usm_queue *queue, const usm_builtin *builtin)
{
    usm_kernel *kernel = NULL;
    usm_error error;
    if (get(place_of(queue), builtin, &kernel, &error) != USM_OK) {
        usm_error_clear(&error);
    }
    return kernel;
}

usm_status usm_builtin_submit_for(usm_queue *queue, const usm_builtin *builtin, const usm_submission *asked,
                                  usm_event **out, usm_error *error)
{
    usm_kernel *kernel = NULL;
    usm_place *place = place_of(queue);
    usm_status status = get(place, builtin, &kernel, error);
    if (status != USM_OK) {
        return status;
    }
    usm_launch launch;
    launch.kernel = kernel;
    launch.n_arguments = builtin->n_arguments;
    launch.arguments = builtin->arguments;
    launch.cost = builtin->cost;
    set_range(place, builtin, &launch.range);
    const usm_command command = {.kind = USM_COMMAND_LAUNCH, .as.launch = &launch};
    usm_submission submission = *asked;
    submission.command = &command;
    submission.original_command = asked->command;
    return usm_queue_submit(queue, &submission, out, error);
}

usm_status usm_builtin_submit(usm_queue *queue, const usm_builtin *builtin, const usm_access *accesses,
                              size_t n_accesses, usm_error *error)
{
    const usm_submission asked = {.accesses = accesses, .n_accesses = n_accesses, .fresh = builtin->fresh};
    return usm_builtin_submit_for(queue, builtin, &asked, NULL, error);
}

usm_status usm_builtin_submit_views(usm_queue *queue, usm_builtin *builtin, const usm_view *views, int n,
                                    usm_access_mode first, const void *value, size_t size, usm_error *error)
{
    usm_access accesses[USM_BUILTIN_VIEWS];
    for (int i = 0; i < n; i++) {
        usm_builtin_pointer(builtin, views[i].data);
        accesses[i] = i == 0 && first == USM_WRITE ? usm_write_view(&views[0])
                                                   : (usm_access){views[i].alloc, i == 0 ? first : USM_READ};
    }
    usm_builtin_value(builtin, value, size);
    return usm_builtin_submit(queue, builtin, accesses, (size_t)n, error);
}

const usm_place_part usm_builtin_part = {.trim = free_builtins, .destroy = free_builtins};
