#include "program.h"

#include "backend.h"
#include "heap.h"
#include "live.h"
#include "signature.h"
#include "spirv.h"

#include <stdlib.h>
#include <string.h>

static void free_program(usm_program *program)
{
    usm_context *context = program->context;
    free(program->kernels);
    free(program->signatures);
    free(program);
    usm_live_add(USM_LIVE_PROGRAM, -1);
    usm_context_release(context);
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
    usm_live_add(USM_LIVE_PROGRAM, 1);
    usm_status status = USM_OK;
    if (source->signatures != NULL) {
        program->signatures = usm_malloc(strlen(source->signatures) + 1);
        status = program->signatures == NULL ? usm_error_memory(error, 64, "signatures") : USM_OK;
    }
    if (status == USM_OK) {
        if (source->signatures != NULL) {
            strcpy(program->signatures, source->signatures);
        }
        status = backend->program_build(program, source, log, error);
    }
    if (status != USM_OK) {
        free_program(program);
        return status;
    }
    *out = program;
    return USM_OK;
}

usm_program *usm_program_retain(usm_program *program)
{
    usm_refcount_up(&program->refs);
    return program;
}

void usm_program_release(usm_program *program)
{
    if (usm_refcount_down(&program->refs)) {
        program->backend->program_destroy(program);
        free_program(program);
    }
}

usm_status usm_program_binary(usm_program *program, void **out, size_t *size, usm_error *error)
{
    if (program->backend->program_binary == NULL) {
        return usm_error_driver(error, USM_DRIVER, program->backend->name, 0, "",
                                "programs of the backend %s have no binary form", program->backend->name);
    }
    return program->backend->program_binary(program, out, size, error);
}

usm_status usm_kernel_create(usm_program *program, const char *name, usm_kernel **out, usm_error *error)
{
    usm_kernel *kernel = usm_calloc(1, sizeof *kernel);
    if (kernel == NULL) {
        return usm_error_memory(error, sizeof *kernel, "a kernel");
    }
    usm_refcount_init(&kernel->refs, 1);
    kernel->program = usm_program_retain(program);
    usm_status status = program->backend->kernel_create(kernel, name, error);
    if (status == USM_OK && program->signatures != NULL) {
        status = usm_signature_apply(kernel, program->signatures, error);
        if (status != USM_OK) {
            program->backend->kernel_destroy(kernel);
        }
    }
    if (status != USM_OK) {
        free(kernel->parameters);
        free(kernel);
        usm_program_release(program);
        return status;
    }
    usm_live_add(USM_LIVE_KERNEL, 1);
    *out = kernel;
    return USM_OK;
}

usm_kernel *usm_kernel_retain(usm_kernel *kernel)
{
    usm_refcount_up(&kernel->refs);
    return kernel;
}

void usm_kernel_release(usm_kernel *kernel)
{
    if (!usm_refcount_down(&kernel->refs)) {
        return;
    }
    usm_program *program = kernel->program;
    program->backend->kernel_destroy(kernel);
    free(kernel->parameters);
    free(kernel);
    usm_live_add(USM_LIVE_KERNEL, -1);
    usm_program_release(program);
}

static size_t text_size(const char *text)
{
    return text != NULL ? strlen(text) + 1 : 0;
}

/* NULL stays NULL. *at moves behind the copy. */
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
