#include "program.h"

#include "core/base/detach.h"
#include "core/base/heap.h"
#include "core/base/live.h"
#include "core/base/sync.h"
#include "core/device/rule.h"
#include "signature.h"
#include "spirv.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool usm_backend_takes(const usm_backend *backend, usm_language language)
{
    return (backend->languages & USM_LANGUAGE_BIT(language)) != 0;
}

usm_language usm_backend_language(const usm_backend *backend)
{
    return backend->program_language;
}

/* Programs without a reference that a place keeps, in case the same program is built again. */
#define MOST_IDLE 32

/* Frees everything but the native part and the reference to the context. */
static void free_program(usm_program *program)
{
    free(program->kernels);
    free(program->signatures);
    free(program->spirv);
    free(program->key);
    free(program);
}

/* Destroys a program without a reference, with its native part. */
static void destroy(usm_program *program)
{
    if (!usm_is_forked(program->backend)) {
        USM_CALL_IF(program->backend->has_driver, program->backend, program_destroy)(program);
    }
    free_program(program);
}

static bool give_back(usm_reclaimable *item, bool waits)
{
    usm_program *program = (usm_program *)((char *)item - offsetof(usm_program, reclaimable));
    if (!waits && usm_place_is_at_work(program->place)) {
        return false;
    }
    usm_context *context = program->context;
    destroy(program);
    usm_context_release(context);
    return true;
}

/* The same for any thread and with any lock but a leaf: a driver may wait for work before it unloads. */
static void destroy_later(usm_program *program)
{
    if (program->backend->has_driver) {
        usm_context_retain(program->context);
        program->reclaimable.give_back = give_back;
        usm_reclaimer_put(&program->reclaimable);
    } else {
        destroy(program);
    }
}

/* The caller holds the registry lock. */
static void take_off_list(usm_program *program)
{
    usm_program **at = &program->place->programs;
    while (*at != program) {
        at = &(*at)->next_kept;
    }
    *at = program->next_kept;
}

/* The newest comes first. The caller holds the registry lock. */
static void put_on_list(usm_program *program)
{
    program->next_kept = program->place->programs;
    program->place->programs = program;
}

/*
 * Keeps a program whose last reference was released. Returns the one that it replaces, to be destroyed,
 * or NULL.
 */
static usm_program *retire(usm_program *program)
{
    usm_program *oldest = NULL;
    int n = 0;
    usm_registry_lock();
    take_off_list(program);
    put_on_list(program);
    program->idle = true;
    for (usm_program *other = program; other != NULL; other = other->next_kept) {
        if (other->idle) {
            oldest = other;
            n++;
        }
    }
    if (n > MOST_IDLE) {
        take_off_list(oldest);
    }
    usm_registry_unlock();
    return n > MOST_IDLE ? oldest : NULL;
}

usm_program *usm_program_find(usm_place *place, const char *key)
{
    usm_program *found = NULL;
    int process = (int)getpid();
    usm_registry_lock();
    for (usm_program *program = place->programs; program != NULL && found == NULL;
         program = program->next_kept) {
        if (program->process != process || strcmp(program->key, key) != 0) {
            continue;
        }
        if (program->idle) {
            program->idle = false;
            usm_refcount_init(&program->refs, 1);
            usm_context_retain(program->context);
            usm_live_add(USM_LIVE_PROGRAM, 1);
            found = program;
        } else if (usm_refcount_up_unless_zero(&program->refs)) { /* else another thread is in retire() */
            found = program;
        }
    }
    usm_registry_unlock();
    return found;
}

void usm_program_keep(usm_program *program, const char *key)
{
    program->key = usm_malloc(strlen(key) + 1);
    if (program->key != NULL) { /* without memory it is not kept */
        strcpy(program->key, key);
        program->process = (int)getpid();
        usm_registry_lock();
        put_on_list(program);
        usm_registry_unlock();
    }
}

/* Copies what usm_kernel_create needs to describe the parameters. */
static usm_status keep_facts(usm_program *program, const usm_program_source *source, usm_error *error)
{
    if (source->signatures != NULL) {
        program->signatures = usm_malloc(strlen(source->signatures) + 1);
        if (program->signatures == NULL) {
            return usm_error_memory(error, strlen(source->signatures) + 1, "signatures");
        }
        strcpy(program->signatures, source->signatures);
    }
    if (source->language == USM_LANGUAGE_SPIRV) {
        program->spirv = usm_malloc(source->size);
        if (program->spirv == NULL) {
            return usm_error_memory(error, source->size, "a SPIR-V module");
        }
        memcpy(program->spirv, source->data, source->size);
        program->spirv_size = source->size;
    }
    return USM_OK;
}

usm_status usm_program_create(usm_place *place, const usm_program_source *source, usm_program **out,
                              char **log, usm_error *error)
{
    const usm_backend *backend = place->context->backend;
    *log = NULL;
    if (backend->program_build == NULL) {
        return usm_error_driver(error, USM_UNAVAILABLE, backend->name, 0, "",
                                "the backend %s takes no programs", backend->name);
    }
    if (source->language == USM_LANGUAGE_SPIRV) {
        usm_status whole = usm_spirv_check(source->data, source->size, error);
        if (whole != USM_OK) {
            return whole;
        }
    }
    usm_program *program = usm_calloc(1, sizeof *program);
    if (program == NULL) {
        return usm_error_memory(error, sizeof *program, "a program");
    }
    usm_refcount_init(&program->refs, 1);
    program->backend = backend;
    program->context = usm_context_retain(place->context);
    program->place = place;
    program->own = source->own;
    usm_live_add(USM_LIVE_PROGRAM, 1);
    usm_status status = keep_facts(program, source, error);
    if (status == USM_OK) {
        void *held = usm_detach();
        status =
            USM_UNLESS_FORKED(backend, error, USM_CALL(backend, program_build)(program, source, log, error));
        usm_attach(held);
    }
    if (status != USM_OK || program->own) {
        usm_live_add(USM_LIVE_PROGRAM, -1);
        usm_context_release(place->context);
    }
    if (status != USM_OK) {
        free_program(program);
        return status;
    }
    *out = program;
    return USM_OK;
}

void usm_program_release(usm_program *program)
{
    if (!usm_refcount_down(&program->refs)) {
        return;
    }
    usm_context *context = program->context;
    if (program->own) {
        destroy(program);
        return;
    }
    usm_live_add(USM_LIVE_PROGRAM, -1);
    usm_program *gone = program->key != NULL ? retire(program) : program;
    if (gone != NULL) {
        destroy_later(gone);
    }
    usm_context_release(context);
}

usm_status usm_program_binary(usm_program *program, void **out, size_t *size, usm_error *error)
{
    if (program->backend->program_binary == NULL) {
        return usm_error_driver(error, USM_DRIVER, program->backend->name, 0, "",
                                "programs of the backend %s have no binary form", program->backend->name);
    }
    void *held = usm_detach();
    usm_status status = USM_UNLESS_FORKED(
        program->backend, error, USM_CALL(program->backend, program_binary)(program, out, size, error));
    usm_attach(held);
    return status;
}

static void destroy_native(usm_kernel *kernel)
{
    if (kernel->program->backend->kernel_destroy != NULL && !usm_is_forked(kernel->program->backend)) {
        USM_CALL(kernel->program->backend, kernel_destroy)(kernel);
    }
}

usm_status usm_kernel_create(usm_program *program, const char *name, usm_kernel **out, usm_error *error)
{
    usm_kernel *kernel = usm_calloc(1, sizeof *kernel);
    if (kernel == NULL) {
        return usm_error_memory(error, sizeof *kernel, "a kernel");
    }
    usm_refcount_init(&kernel->refs, 1);
    kernel->program = usm_program_retain(program);
    void *held = program->backend->has_driver ? usm_detach() : NULL; /* it may load the kernel */
    usm_status status = USM_UNLESS_FORKED(
        program->backend, error,
        USM_CALL_IF(program->backend->has_driver, program->backend, kernel_create)(kernel, name, error));
    usm_attach(held);
    if (status == USM_OK && program->signatures != NULL) {
        status = usm_signature_apply(kernel, program->signatures, error);
        if (status != USM_OK) {
            destroy_native(kernel);
        }
    }
    if (status != USM_OK) {
        free(kernel->parameters);
        free(kernel);
        usm_program_release(program);
        return status;
    }
    usm_live_add(USM_LIVE_KERNEL, program->own ? 0 : 1);
    *out = kernel;
    return USM_OK;
}

void usm_kernel_release(usm_kernel *kernel)
{
    if (!usm_refcount_down(&kernel->refs)) {
        return;
    }
    usm_program *program = kernel->program;
    destroy_native(kernel);
    free(kernel->parameters);
    free(kernel);
    usm_live_add(USM_LIVE_KERNEL, program->own ? 0 : -1);
    usm_program_release(program);
}

char **usm_program_names(const char *texts, size_t n)
{
    const char *end = texts;
    for (size_t i = 0; i < n; i++) {
        end += strlen(end) + 1;
    }
    size_t size = (size_t)(end - texts);
    char **names = usm_malloc((n + 1) * sizeof *names + size);
    if (names == NULL) {
        return NULL;
    }
    char *at = memcpy((char *)(names + n + 1), texts, size);
    for (size_t i = 0; i < n; i++) {
        names[i] = at;
        at += strlen(at) + 1;
    }
    names[n] = NULL;
    return names;
}

static size_t text_size(const char *text)
{
    return text != NULL ? strlen(text) + 1 : 0;
}

/* Copies text to *at and advances *at; NULL for NULL. */
static const char *put_text(char **at, const char *text)
{
    char *copy = *at;
    if (text == NULL) {
        return NULL;
    }
    memcpy(copy, text, text_size(text));
    *at += text_size(text);
    return copy;
}

usm_status usm_kernel_set_parameters(usm_kernel *kernel, const char *name, const usm_parameter *parameters,
                                     size_t n, usm_error *error)
{
    size_t size = n * sizeof *parameters + text_size(name);
    for (size_t i = 0; i < n; i++) {
        size += text_size(parameters[i].name) + text_size(parameters[i].type);
    }
    usm_parameter *block = usm_malloc(size);
    if (block == NULL) {
        return usm_error_memory(error, size, "a kernel's parameters");
    }
    char *at = (char *)(block + n);
    kernel->name = put_text(&at, name);
    for (size_t i = 0; i < n; i++) {
        block[i] = parameters[i];
        block[i].name = put_text(&at, parameters[i].name);
        block[i].type = put_text(&at, parameters[i].type);
    }
    kernel->parameters = block;
    kernel->n_parameters = n;
    return USM_OK;
}

/* Of `programs`, those without a reference. */
static void trim(usm_place *place)
{
    for (;;) {
        usm_registry_lock();
        usm_program *program = place->programs;
        while (program != NULL && !program->idle) {
            program = program->next_kept;
        }
        if (program != NULL) {
            take_off_list(program);
        }
        usm_registry_unlock();
        if (program == NULL) {
            return;
        }
        destroy(program);
    }
}

/* At the end no program has a reference any more: each would hold the context. */
const usm_place_part usm_program_part = {.trim = trim, .destroy = trim};
