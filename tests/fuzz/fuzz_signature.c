/*
 * Signatures of kernels in words. What is accepted reads back from the words that are written of it, as the
 * same parameters; no name of a type of OpenCL C gives a size that no type has.
 */
#include "fuzz.h"

#include "core/program/signature.h"

static void free_kernel(usm_kernel *kernel)
{
    free(kernel->parameters);
    kernel->parameters = NULL;
}

static void check_words(const char *text)
{
    usm_kernel kernel = {.name = "k", .types_unknown = true}, again = kernel;
    usm_error error;
    error.text[0] = 0;
    if (usm_signature_apply(&kernel, text, &error) != USM_OK) {
        HOLDS(kernel.parameters == NULL && error.text[0] != 0);
        return;
    }
    HOLDS(kernel.fit <= USM_FIT_RANGE);
    char *words = usm_signature_write(&kernel);
    HOLDS(words != NULL);
    if (kernel.parameters != NULL) { /* there was a line of that name */
        HOLDS(usm_signature_apply(&again, words, &error) == USM_OK);
        HOLDS(again.n_parameters == kernel.n_parameters && again.fit == kernel.fit);
        HOLDS(memcmp(again.required_local, kernel.required_local, sizeof kernel.required_local) == 0);
        for (size_t i = 0; i < kernel.n_parameters; i++) {
            const usm_parameter *a = &kernel.parameters[i], *b = &again.parameters[i];
            HOLDS(a->kind <= USM_PARAMETER_LOCAL);
            HOLDS(a->dtype == USM_NO_DTYPE || (unsigned)a->dtype < USM_DTYPES);
            HOLDS(a->kind == b->kind && a->dtype == b->dtype && a->size == b->size);
            HOLDS(a->read_only == b->read_only && (a->name == NULL) == (b->name == NULL));
            HOLDS(a->name == NULL || strcmp(a->name, b->name) == 0);
        }
    }
    free(words);
    free_kernel(&kernel);
    free_kernel(&again);
}

/* A kernel whose types are known keeps its parameters where their number differs. */
static void check_known(const char *text)
{
    usm_kernel kernel = {.name = "k"};
    const usm_parameter one = {.kind = USM_PARAMETER_VALUE, .dtype = USM_INT32, .size = 4, .type = "int"};
    usm_error error;
    HOLDS(usm_kernel_set_parameters(&kernel, "k", &one, 1, &error) == USM_OK);
    (void)usm_signature_apply(&kernel, text, &error);
    HOLDS(kernel.n_parameters == 1 && kernel.parameters != NULL && strcmp(kernel.name, "k") == 0);
    free_kernel(&kernel);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input input = {data, size};
    unsigned form = take_below(&input, 4);
    char *text = malloc(input.left + 3);
    HOLDS(text != NULL);
    usm_parameter read = {.kind = 0};
    usm_error error;
    if (form == 0) { /* text up to `left`, without a 0 behind it in its own right */
        memcpy(text, input.at, input.left);
        memcpy(text + input.left, ",", 2);
        usm_parameter_read_type(text, input.left, &read);
        HOLDS(read.dtype == USM_NO_DTYPE || (unsigned)read.dtype < USM_DTYPES);
        HOLDS(read.size <= 16 * 8);
    } else if (form == 1) {
        memcpy(text, input.at, input.left);
        text[input.left] = 0;
        error.text[0] = 0;
        HOLDS(usm_parameter_parse(text, &read, &error) == USM_OK || error.text[0] != 0);
    } else { /* "k(" in front of it: most lines are of the kernel */
        memcpy(text, "k(", 2);
        memcpy(text + 2, input.at, input.left);
        text[input.left + 2] = 0;
        check_words(form == 2 ? text : text + 2);
        check_known(text);
    }
    free(text);
    return 0;
}
