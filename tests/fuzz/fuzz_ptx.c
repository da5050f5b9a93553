/*
 * PTX text and mangled names. Every kernel that is listed is found again; its parameters have known kinds and
 * types, it fits in one of the known ways, and its words are a signature that reads back as the same.
 */
#include "fuzz.h"

#include "backends/cuda/program.h"
#include "core/program/signature.h"

enum { MOST_KERNELS = 4 };

static void check_kernel(const char *ptx, const char *symbol)
{
    usm_kernel kernel = {.refs = {0}}, again = {.name = "k", .types_unknown = true};
    usm_error error;
    usm_status status = usm_cuda_ptx_parameters(&kernel, ptx, symbol, "k", &error);
    if (status != USM_OK) { /* it has more parameters than are read */
        HOLDS(status == USM_BUILD && kernel.parameters == NULL);
        return;
    }
    HOLDS(strcmp(kernel.name, "k") == 0 && kernel.fit <= USM_FIT_RANGE);
    for (size_t i = 0; i < kernel.n_parameters; i++) {
        const usm_parameter *parameter = &kernel.parameters[i];
        HOLDS(parameter->kind <= USM_PARAMETER_LOCAL && strlen(parameter->type) < 48);
        HOLDS(parameter->dtype == USM_NO_DTYPE || (unsigned)parameter->dtype < USM_DTYPES);
        HOLDS(parameter->size < UINT32_C(1) << 31);
        HOLDS(parameter->name == NULL || strlen(parameter->name) < (size_t)1 << 20);
    }
    char *words = usm_signature_write(&kernel);
    HOLDS(words != NULL && usm_signature_apply(&again, words, &error) != USM_INDEX);
    free(words);
    free(kernel.parameters);
    free(again.parameters);
}

static void check_name(const char *symbol, size_t room)
{
    char *out = malloc(room);
    HOLDS(out != NULL);
    usm_cuda_shown_name(symbol, out, room);
    HOLDS(memchr(out, 0, room) != NULL);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input input = {data, size};
    unsigned form = take_below(&input, 8);
    size_t room = 1 + take_below(&input, 255);
    char *text = malloc(input.left + 1);
    HOLDS(text != NULL);
    memcpy(text, input.at, input.left);
    text[input.left] = 0;
    if (form == 0) {
        check_name(text, room);
        free(text);
        return 0;
    }
    char **symbols = usm_cuda_ptx_symbols(text);
    HOLDS(symbols != NULL);
    for (size_t i = 0; symbols[i] != NULL; i++) {
        HOLDS(symbols[i][0] != 0 && strstr(text, symbols[i]) != NULL);
        if (i < MOST_KERNELS) {
            check_name(symbols[i], room);
            check_kernel(text, symbols[i]);
        }
    }
    free(symbols);
    free(text);
    return 0;
}
