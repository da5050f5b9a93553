#include "spirv.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAGIC = 0x07230203,
    HEADER = 5, /* words */
    MOST_IDS = 1 << 22,
    OP_NAME = 5,
    OP_MEMBER_NAME = 6,
    OP_ENTRY_POINT = 15,
    OP_EXECUTION_MODE = 16,
    OP_CAPABILITY = 17,
    OP_TYPE_BOOL = 20,
    OP_TYPE_INT = 21,
    OP_TYPE_FLOAT = 22,
    OP_TYPE_POINTER = 32,
    OP_SPEC_TRUE = 48,
    OP_SPEC_FALSE = 49,
    OP_SPEC_CONSTANT = 50,
    OP_FUNCTION = 54,
    OP_PARAMETER = 55,
    OP_FUNCTION_END = 56,
    OP_DECORATE = 71,
    OP_MEMBER_DECORATE = 72,
    OP_GROUP_DECORATE = 74,
    KERNEL = 6,
    SPEC_ID = 1,
    LINKAGE = 41,
    IMPORT = 1,
    UNIFORM_CONSTANT = 0,
    WORKGROUP = 4,
    CROSS_WORKGROUP = 5,
    FUNCTION = 7,
};

/* An instruction: its words, the first with number and length. */
typedef struct instruction {
    const uint32_t *words;
    uint32_t op, n;
} instruction;

static bool next(const void *module, size_t size, size_t *at, instruction *out)
{
    const uint32_t *words = module;
    if (*at < HEADER)
        *at = HEADER;
    if (*at >= size / 4)
        return false;
    *out = (instruction){.words = words + *at, .op = words[*at] & 0xffff, .n = words[*at] >> 16};
    *at += out->n;
    return true;
}

/* Does the instruction speak of an identifier that others define? */
static bool refers(const instruction *i, uint32_t *id)
{
    switch (i->op) {
        case OP_NAME:
        case OP_EXECUTION_MODE:
        case OP_DECORATE:
            *id = i->n > 1 ? i->words[1] : 0;
            return true;
        case OP_ENTRY_POINT:
            *id = i->n > 2 ? i->words[2] : 0;
            return true;
        case OP_MEMBER_NAME:
        case OP_MEMBER_DECORATE:
        case OP_GROUP_DECORATE:
            *id = 0;
            return true;
        default:
            return false;
    }
}

/* Are all identifiers that have a name, a decoration or an entry point those of an instruction? */
static bool is_whole(const void *module, size_t size)
{
    uint32_t bound = ((const uint32_t *)module)[3], id, last = 0;
    unsigned char *defined = bound < MOST_IDS ? calloc(bound + 1, 1) : NULL;
    if (defined == NULL)
        return false;
    bool whole = true;
    instruction i;
    for (size_t at = 0; next(module, size, &at, &i); last = i.op)
        for (uint32_t k = 1; k <= 2 && k < i.n && !refers(&i, &id); k++)
            if (i.words[k] < bound)
                defined[i.words[k]] = 1;
    for (size_t at = 0; next(module, size, &at, &i);)
        if (refers(&i, &id) && id != 0 && (id >= bound || !defined[id]))
            whole = false;
    free(defined);
    return whole && last == OP_FUNCTION_END;
}

const char *sim_spirv_problem(const void *module, size_t size)
{
    const uint32_t *words = module;
    size_t n = size / 4, at = HEADER;
    if (size < 4 * HEADER || size % 4 != 0 || words[0] != MAGIC)
        return "the input is not a module of SPIR-V";
    while (at < n) {
        uint32_t length = words[at] >> 16;
        if (length == 0 || length > n - at)
            return "the module of SPIR-V is cut short or damaged";
        at += length;
    }
    return is_whole(module, size) ? NULL
                                  : "the module of SPIR-V is cut short: parts that it names are missing";
}

/* The identifier of the kernel's function; 0: there is none. */
static uint32_t entry(const void *module, size_t size, const char *kernel)
{
    instruction i;
    for (size_t at = 0; next(module, size, &at, &i);) {
        size_t length = strlen(kernel);
        if (i.op == OP_ENTRY_POINT && i.n > 3 && i.words[1] == KERNEL && length < 4 * (size_t)(i.n - 3) &&
            memcmp(i.words + 3, kernel, length + 1) == 0)
            return i.words[2];
    }
    return 0;
}

static sim_argument_kind kind_of(const void *module, size_t size, uint32_t type)
{
    instruction i;
    for (size_t at = 0; next(module, size, &at, &i);) {
        if (i.op < OP_TYPE_BOOL - 1 || i.op > 39 || i.n < 2 || i.words[1] != type)
            continue;
        if (i.op != OP_TYPE_POINTER)
            return i.op >= 25 && i.op <= 27 ? SIM_OTHER : SIM_VALUE; /* images and samplers */
        switch (i.words[2]) {
            case UNIFORM_CONSTANT:
            case CROSS_WORKGROUP:
                return SIM_POINTER;
            case WORKGROUP:
                return SIM_LOCAL;
            case FUNCTION:
                return SIM_VALUE; /* a struct */
            default:
                return SIM_OTHER;
        }
    }
    return SIM_OTHER;
}

int sim_spirv_arguments(const void *module, size_t size, const char *kernel, sim_argument_kind *kinds,
                        int most)
{
    uint32_t id = entry(module, size, kernel);
    if (id == 0)
        return -1;
    instruction i;
    bool inside = false;
    int n = 0;
    for (size_t at = 0; next(module, size, &at, &i);) {
        if (i.op == OP_FUNCTION && i.n > 2)
            inside = i.words[2] == id;
        else if (i.op == OP_FUNCTION_END && inside)
            break;
        if (!inside || i.op != OP_PARAMETER)
            continue;
        if (n < most)
            kinds[n] = kind_of(module, size, i.words[1]);
        n++;
    }
    return n;
}

size_t sim_spirv_constant_size(const void *module, size_t size, uint32_t number)
{
    instruction i;
    uint32_t id = 0, type = 0;
    for (size_t at = 0; next(module, size, &at, &i);) {
        if (i.op == OP_DECORATE && i.n >= 4 && i.words[2] == SPEC_ID && i.words[3] == number)
            id = i.words[1];
        if (id == 0 || i.n < 3 || i.words[2] != id)
            continue;
        if (i.op == OP_SPEC_TRUE || i.op == OP_SPEC_FALSE)
            return 1;
        if (i.op == OP_SPEC_CONSTANT)
            type = i.words[1];
    }
    for (size_t at = 0; type != 0 && next(module, size, &at, &i);)
        if ((i.op == OP_TYPE_INT || i.op == OP_TYPE_FLOAT) && i.words[1] == type)
            return i.words[2] / 8;
    return 0;
}

bool sim_spirv_asks(const void *module, size_t size, uint32_t capability)
{
    instruction i;
    for (size_t at = 0; next(module, size, &at, &i);) {
        if (i.op == OP_CAPABILITY && i.n == 2 && i.words[1] == capability)
            return true;
    }
    return false;
}

bool sim_spirv_imports(const void *module, size_t size)
{
    static const char builtin[] = "__spirv_BuiltIn";
    instruction i;
    for (size_t at = 0; next(module, size, &at, &i);)
        if (i.op == OP_DECORATE && i.n >= 5 && i.words[2] == LINKAGE && i.words[i.n - 1] == IMPORT &&
            strncmp((const char *)(i.words + 3), builtin, sizeof(builtin) - 1) != 0)
            return true;
    return false;
}
