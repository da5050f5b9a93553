/*
 * SPIR-V modules: any bytes, and modules that are put together from instructions. Of a module that passes
 * usm_spirv_check, every kernel is described by parameters of known kinds and types; no size is
 * larger than a parameter can be; a damaged module is refused with a reason.
 */
#include "fuzz.h"

#include "core/program/signature.h"
#include "core/program/spirv.h"

enum { MOST = 1 << 14, MOST_NAMES = 4 };

/* Instructions that the reader looks at, others too. */
static const uint16_t opcodes[] = {5,  7,  14, 15, 19, 20, 21, 22, 23, 28, 29, 30,
                                   32, 33, 39, 43, 48, 49, 50, 54, 55, 56, 71, 72};

/* A module of the instructions that the input lists: opcode, number of operands, operands. */
static size_t build(input *input, uint32_t *words)
{
    size_t n = 5;
    words[0] = 0x07230203;
    words[1] = 0x00010000 | take_below(input, 7) << 8;
    words[2] = 0;
    words[3] = take_below(input, 256) == 0 ? (uint32_t)take(input, 4) : 64;
    words[4] = 0;
    while (input->left > 0 && n + 40 < MOST) {
        unsigned opcode = opcodes[take_below(input, sizeof opcodes / sizeof *opcodes)];
        unsigned operands = take_below(input, 8), left = 0;
        size_t start = n++;
        for (unsigned i = 0; i < operands; i++) {
            unsigned form = take_below(input, 16);
            words[n++] = form < 14 ? take_below(input, 64) : (uint32_t)take(input, 4);
        }
        if (opcode == 5 || opcode == 7 || opcode == 15) { /* text behind what precedes it */
            static const char *const texts[] = {
                "f", "kernel_arg_type.f.float*,int,", "kernel_arg_type_qual.f.const,,",
                "kernel_arg_type.f.uint4,struct pair,", "unterminated, long enough to fill the words.."};
            const char *text = texts[take_below(input, 5)];
            size_t length = strlen(text) + 1;
            left = (unsigned)(length + 3) / 4;
            memset(&words[n], 0, 4 * left);
            memcpy(&words[n], text, length - (text[0] == 'u'));
            n += left;
        }
        words[start] = (uint32_t)(n - start + (take_below(input, 64) == 0)) << 16 | opcode;
    }
    return n;
}

static void check_kernel(const char *name, size_t n, const void *module, size_t size)
{
    usm_kernel kernel = {.refs = {0}}, again = {.name = name, .types_unknown = true};
    usm_error error;
    HOLDS(usm_spirv_read_parameters(&kernel, name, n, module, size, &error) == USM_OK);
    HOLDS(kernel.n_parameters == n && strcmp(kernel.name, name) == 0);
    for (size_t i = 0; i < n; i++) {
        const usm_parameter *parameter = &kernel.parameters[i];
        HOLDS(parameter->kind <= USM_PARAMETER_LOCAL && parameter->size < UINT32_C(1) << 31);
        HOLDS(parameter->dtype == USM_NO_DTYPE || (unsigned)parameter->dtype < USM_DTYPES);
        HOLDS(parameter->type == NULL || strlen(parameter->type) < 96);
        HOLDS(parameter->name == NULL || strlen(parameter->name) < 4 * MOST);
    }
    char *text = usm_signature_write(&kernel); /* names may have any characters: not all of them read back */
    HOLDS(text != NULL);
    (void)usm_signature_apply(&again, text, &error);
    free(text);
    free(kernel.parameters);
    free(again.parameters);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint32_t built[MOST + 64];
    input input = {data, size};
    usm_error error;
    bool is_float, whole = take_below(&input, 4) != 0;
    uint32_t seed = (uint32_t)take(&input, 2);
    size_t n = whole ? 4 * build(&input, built) : input.left;
    char *module = malloc(n + 1); /* of its own, so that reads behind it are found; at an odd address too */
    HOLDS(module != NULL);
    char *bytes = module + (seed & 1);
    memcpy(bytes, whole ? (const void *)built : input.at, n);
    error.text[0] = 0;
    if (usm_spirv_check(bytes, n, &error) == USM_OK) {
        HOLDS(usm_spirv_check(bytes, n - 4, NULL) != USM_OK || n > 24);
        for (size_t k = 0; k < MOST_NAMES; k++) {
            check_kernel("f", k, bytes, n);
        }
        for (uint32_t id = 0; id < 4; id++) {
            HOLDS(usm_spirv_constant_size(bytes, n, id, &is_float) < (size_t)1 << 31);
        }
    } else {
        HOLDS(error.text[0] != 0);
    }
    check_kernel("f", seed % 5, NULL, 0);
    free(module);
    return 0;
}
