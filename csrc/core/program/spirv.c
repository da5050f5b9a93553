/*
 * Checks SPIR-V modules, and reads the parameters of their kernels, since drivers only tell their number. A
 * module has the types but not the sign of integers; compilers of OpenCL C may add the type names of the
 * source. What is read was checked: its instructions are complete, but what they say may still be wrong.
 */
#include "spirv.h"

#include "core/base/heap.h"
#include "signature.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC 0x07230203u
#define MAGIC_SWAPPED 0x03022307u

enum {
    HEADER = 5, /* words: magic, version, generator, bound of the ids, 0 */
    OP_NAME = 5,
    OP_STRING = 7,
    OP_MEMORY_MODEL = 14,
    OP_ENTRY_POINT = 15,
    OP_TYPE_BOOL = 20,
    OP_TYPE_INT = 21,
    OP_TYPE_FLOAT = 22,
    OP_TYPE_VECTOR = 23,
    OP_TYPE_ARRAY = 28,
    OP_TYPE_STRUCT = 30,
    OP_TYPE_POINTER = 32,
    OP_TYPE_FORWARD_POINTER = 39,
    OP_CONSTANT = 43,
    OP_SPEC_CONSTANT_TRUE = 48,
    OP_SPEC_CONSTANT_FALSE = 49,
    OP_SPEC_CONSTANT = 50,
    OP_FUNCTION = 54,
    OP_FUNCTION_PARAMETER = 55,
    OP_FUNCTION_END = 56,
    OP_DECORATE = 71,
    DECORATION_SPEC_ID = 1,
    DECORATION_FUNC_PARAM_ATTR = 38,
    PARAM_BY_VALUE = 2,
    PARAM_NO_WRITE = 6,
    STORAGE_CONSTANT = 0, /* UniformConstant */
    STORAGE_WORKGROUP = 4,
    STORAGE_GLOBAL = 5, /* CrossWorkgroup */
    STORAGE_FUNCTION = 7,
    MOST_IDS = 1 << 22,
};

/* Bytes of a type in memory; size 0: unknown, and the alignment too. */
typedef struct layout {
    size_t size, alignment;
} layout;

/* What the module says of one id. */
typedef struct fact {
    uint32_t at;   /* word of the instruction that makes the id; 0: none */
    uint32_t name; /* word of its name; 0: none */
    layout layout; /* of a type */
    bool by_value, no_write;
} fact;

typedef struct module {
    const char *bytes; /* at any address */
    size_t n;          /* words */
    uint32_t bound;
    fact *facts; /* by id; of no use to checks */
} module;

/* Word i; 0 behind the end, where a damaged module may point. */
static uint32_t word(const module *module, size_t i)
{
    uint32_t value = 0;
    if (i < module->n) {
        memcpy(&value, module->bytes + 4 * i, sizeof value);
    }
    return value;
}

/* The instruction at word i: its opcode, and below how many words it has. */
static unsigned opcode(const module *module, size_t i)
{
    return word(module, i) & 0xffff;
}

static size_t length(const module *module, size_t i)
{
    return word(module, i) >> 16;
}

/* Magic number, size and version (SPIR-V specification, 2.3). */
static usm_status check_header(const void *bytes, size_t size, usm_error *error)
{
    const module module = {.bytes = bytes, .n = size / 4};
    if (size < 4 * HEADER) {
        return usm_error_set(error, USM_BUILD, "the SPIR-V module has %zu bytes, less than its header", size);
    }
    uint32_t magic = word(&module, 0), version = word(&module, 1);
    if (magic == MAGIC_SWAPPED) {
        return usm_error_set(error, USM_BUILD, "the SPIR-V module has the wrong byte order");
    }
    if (magic != MAGIC) {
        return usm_error_set(error, USM_BUILD,
                             "source is not a SPIR-V module: it begins with 0x%08x instead of 0x%08x", magic,
                             MAGIC);
    }
    if (size % 4 != 0) {
        return usm_error_set(error, USM_BUILD,
                             "the SPIR-V module is cut short: %zu bytes are not a number of words", size);
    }
    if (version >> 16 != 1 || (version & 0xff) != 0) {
        return usm_error_set(error, USM_BUILD, "the SPIR-V module has version %u.%u; 1.x is allowed",
                             version >> 16 & 0xff, version >> 8 & 0xff);
    }
    return USM_OK;
}

static int compare_ids(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/*
 * Every entry point names a function of the module, and there is one at least. The caller has checked the
 * lengths of all instructions, and counted the functions.
 */
static usm_status check_entry_points(const module *module, size_t n_functions, usm_error *error)
{
    bool any = false;
    size_t n = 0;
    usm_status status = USM_OK;
    uint32_t *functions = usm_malloc((n_functions + 1) * sizeof *functions);
    if (functions == NULL) {
        return usm_error_memory(error, n_functions * sizeof *functions, "the functions of a SPIR-V module");
    }
    for (size_t i = HEADER; i < module->n; i += length(module, i)) {
        if (opcode(module, i) == OP_FUNCTION && length(module, i) >= 3) {
            functions[n++] = word(module, i + 2);
        }
    }
    qsort(functions, n, sizeof *functions, compare_ids);
    for (size_t i = HEADER; i < module->n && status == USM_OK; i += length(module, i)) {
        if (opcode(module, i) != OP_ENTRY_POINT) {
            continue;
        }
        any = true;
        uint32_t id = length(module, i) < 4 ? 0 : word(module, i + 2);
        if (length(module, i) < 4 || bsearch(&id, functions, n, sizeof id, compare_ids) == NULL) {
            status = usm_error_set(
                error, USM_BUILD,
                "the SPIR-V module is cut short: the function of the entry point at word %zu is "
                "missing",
                i);
        }
    }
    free(functions);
    return any ? status
               : usm_error_set(error, USM_BUILD,
                               "the SPIR-V module has no entry point: it is a library, or cut short");
}

usm_status usm_spirv_check(const void *bytes, size_t size, usm_error *error)
{
    const module module = {.bytes = bytes, .n = size / 4};
    size_t n_functions = 0;
    bool inside = false, complete = false; /* of a function; with a memory model */
    usm_status status = check_header(bytes, size, error);
    if (status != USM_OK) {
        return status;
    }
    for (size_t i = HEADER; i < module.n; i += length(&module, i)) {
        size_t n = length(&module, i);
        if (n == 0 || n > module.n - i) {
            return usm_error_set(
                error, USM_BUILD,
                "the SPIR-V module is %s: the instruction at word %zu has %zu words, %zu are left",
                n == 0 ? "damaged" : "cut short", i, n, module.n - i);
        }
        unsigned op = opcode(&module, i);
        if ((op == OP_FUNCTION && inside) || (op == OP_FUNCTION_END && !inside)) {
            return usm_error_set(error, USM_BUILD,
                                 "the SPIR-V module is damaged: functions overlap at word %zu", i);
        }
        n_functions += op == OP_FUNCTION;
        inside = (inside || op == OP_FUNCTION) && op != OP_FUNCTION_END;
        complete = complete || op == OP_MEMORY_MODEL;
    }
    if (inside || !complete) {
        return usm_error_set(error, USM_BUILD, "the SPIR-V module is cut short: it ends %s",
                             inside ? "inside of a function" : "before its memory model");
    }
    return check_entry_points(&module, n_functions, error);
}

/* The facts of an id; those of id 0, which no module uses, for one out of bounds. */
static fact *fact_of(const module *module, uint32_t id)
{
    return &module->facts[id < module->bound ? id : 0];
}

/* The string that begins `skip` words after the start of the instruction; "" if it does not end in it. */
static const char *text_at(const module *module, size_t i, size_t skip)
{
    const char *text = module->bytes + 4 * (i + skip);
    size_t room = length(module, i) > skip ? 4 * (length(module, i) - skip) : 0;
    return room > 0 && memchr(text, 0, room) != NULL ? text : "";
}

/* Which word of the instruction is its result id; 0 for instructions that this file does not need. */
static unsigned result_word(unsigned op)
{
    bool is_type = op >= OP_TYPE_BOOL && op <= OP_TYPE_POINTER;
    bool is_value =
        (op >= OP_CONSTANT && op <= OP_SPEC_CONSTANT) || op == OP_FUNCTION || op == OP_FUNCTION_PARAMETER;
    return is_type ? 1 : is_value ? 2 : 0;
}

/* Attributes of parameters: passed by value, not written. */
static void decorate(module *module, size_t i)
{
    fact *fact = fact_of(module, word(module, i + 1));
    if (word(module, i + 2) == DECORATION_FUNC_PARAM_ATTR) {
        fact->by_value |= word(module, i + 3) == PARAM_BY_VALUE;
        fact->no_write |= word(module, i + 3) == PARAM_NO_WRITE;
    }
}

/* The next multiple of `to`, which is an alignment. */
static size_t rounded(size_t size, size_t to)
{
    return (size + to - 1) / to * to;
}

/* A size in bytes; 0 (unknown) if no parameter can be that large. */
static size_t bounded(size_t size)
{
    return size < (size_t)1 << 31 ? size : 0;
}

static layout layout_of(const module *module, uint32_t id)
{
    return fact_of(module, id)->layout;
}

/* The members of a struct one behind the other, each at its alignment. */
static layout struct_layout(const module *module, size_t i)
{
    layout whole = {0, 1};
    for (size_t k = 2; k < length(module, i); k++) {
        layout inner = layout_of(module, word(module, i + k));
        if (inner.size == 0 || whole.size > (size_t)1 << 31) {
            return (layout){0, 1};
        }
        whole.size = rounded(whole.size, inner.alignment) + inner.size;
        whole.alignment = inner.alignment > whole.alignment ? inner.alignment : whole.alignment;
    }
    whole.size = bounded(rounded(whole.size, whole.alignment));
    return whole;
}

/*
 * The layout of a type in OpenCL C; size 0 if it is not known. The parts of a type precede it in the module
 * (SPIR-V specification, 2.4), so their layouts are known, and the work is linear in the size of the module.
 */
static layout find_layout(const module *module, size_t i)
{
    layout inner = layout_of(module, word(module, i + 2));
    size_t count = word(module, i + 3), size;
    switch (opcode(module, i)) {
        case OP_TYPE_BOOL:
            return (layout){1, 1};
        case OP_TYPE_INT:
        case OP_TYPE_FLOAT:
            size = ((size_t)word(module, i + 2) + 7) / 8;
            return (layout){size, size > 0 ? size : 1};
        case OP_TYPE_POINTER:
            return (layout){sizeof(void *), sizeof(void *)};
        case OP_TYPE_VECTOR:
            size = count <= 16 ? bounded(inner.size * (count == 3 ? 4 : count)) : 0;
            return (layout){size, size > 0 ? size : 1};
        case OP_TYPE_ARRAY:
            count = word(module, fact_of(module, word(module, i + 3))->at + 3);
            return (layout){count < MOST_IDS ? bounded(inner.size * count) : 0, inner.alignment};
        case OP_TYPE_STRUCT:
            return struct_layout(module, i);
        default:
            return (layout){0, 1};
    }
}

/* Collects the facts of all ids in one pass. False: memory ran out. */
static bool read_module(module *module, const void *bytes, size_t size)
{
    *module = (struct module){.bytes = bytes, .n = size / 4};
    module->bound = word(module, 3) < MOST_IDS ? word(module, 3) : MOST_IDS;
    module->facts = usm_calloc(module->bound + 1, sizeof *module->facts);
    if (module->facts == NULL) {
        return false;
    }
    for (size_t i = HEADER; i < module->n; i += length(module, i)) {
        unsigned op = opcode(module, i), at = result_word(op);
        if (op == OP_NAME) {
            fact_of(module, word(module, i + 1))->name = (uint32_t)i;
        } else if (op == OP_DECORATE) {
            decorate(module, i);
        } else if (op == OP_TYPE_FORWARD_POINTER) {
            fact_of(module, word(module, i + 1))->layout = (layout){sizeof(void *), sizeof(void *)};
        } else if (at != 0 && length(module, i) > at) {
            fact *fact = fact_of(module, word(module, i + at));
            fact->at = (uint32_t)i;
            fact->layout = find_layout(module, i);
        }
    }
    return true;
}

/* Floating-point types are unambiguous; integer types do not tell their sign. */
static int16_t dtype_of(const module *module, uint32_t id)
{
    size_t i = fact_of(module, id)->at;
    uint32_t bits = i != 0 && opcode(module, i) == OP_TYPE_FLOAT ? word(module, i + 2) : 0;
    return bits == 16 ? USM_FLOAT16 : bits == 32 ? USM_FLOAT32 : bits == 64 ? USM_FLOAT64 : USM_NO_DTYPE;
}

/* Describes a parameter by its type, an id, and by its own decorations. */
static void read_parameter(const module *module, uint32_t type, const fact *own, usm_parameter *out)
{
    size_t i = fact_of(module, type)->at;
    *out = (usm_parameter){.kind = USM_PARAMETER_UNKNOWN, .dtype = USM_NO_DTYPE};
    if (i == 0) {
        return;
    }
    if (opcode(module, i) != OP_TYPE_POINTER) {
        out->dtype = dtype_of(module, type);
        out->size = (uint32_t)layout_of(module, type).size;
        bool is_int = opcode(module, i) == OP_TYPE_INT || opcode(module, i) == OP_TYPE_BOOL;
        out->kind = is_int || out->size == 0 ? USM_PARAMETER_UNKNOWN : USM_PARAMETER_VALUE;
        return;
    }
    uint32_t storage = word(module, i + 2), to = word(module, i + 3);
    if (storage == STORAGE_FUNCTION || own->by_value) { /* a struct */
        out->kind = USM_PARAMETER_VALUE;
        out->size = (uint32_t)layout_of(module, to).size;
    } else if (storage == STORAGE_WORKGROUP) {
        out->kind = USM_PARAMETER_LOCAL;
        out->dtype = dtype_of(module, to);
    } else if (storage == STORAGE_GLOBAL || storage == STORAGE_CONSTANT) {
        out->kind = USM_PARAMETER_POINTER;
        out->read_only = own->no_write || storage == STORAGE_CONSTANT;
        out->dtype = dtype_of(module, to);
        out->size = sizeof(void *);
    }
}

/* The text after "kernel_arg_type.NAME.": one word for each parameter, with a comma after it; NULL: none. */
static const char *words_of(const module *module, const char *prefix, const char *kernel)
{
    size_t n = strlen(prefix), m = strlen(kernel);
    for (size_t i = HEADER; i < module->n && opcode(module, i) != OP_FUNCTION; i += length(module, i)) {
        const char *text = opcode(module, i) == OP_STRING ? text_at(module, i, 2) : "";
        if (strncmp(text, prefix, n) == 0 && strncmp(text + n, kernel, m) == 0 && text[n + m] == '.') {
            return text + n + m + 1;
        }
    }
    return NULL;
}

/* Applies the source's name of the type, which is copied to `text`. */
static void apply_words(const char *type, size_t n, bool is_const, char *text, size_t room,
                        usm_parameter *out)
{
    size_t base = 0;
    while (base < n && type[base] != '*') {
        base++;
    }
    bool pointer = base < n;
    snprintf(text, room, "%.*s", (int)n, type);
    out->type = usm_parameter_shown_type(text);
    while (base > 0 && type[base - 1] == ' ') {
        base--;
    }
    usm_parameter read = *out;
    usm_parameter_read_type(type, base, &read);
    if (out->kind == USM_PARAMETER_POINTER || out->kind == USM_PARAMETER_LOCAL) {
        out->dtype = pointer ? read.dtype : out->dtype;
        out->read_only = is_const || out->read_only;
    } else if (!pointer && (read.size == out->size || read.size == 0)) {
        out->kind = USM_PARAMETER_VALUE;
        out->dtype = read.dtype;
    }
}

/* Bytes of the name of a type, for messages; longer names are cut off. */
enum { TEXT = 96 };

/* Completes the parameters by the names of types that a compiler left in the module. */
static void apply_source(const module *module, const char *kernel, usm_parameter *parameters, size_t n,
                         char (*texts)[TEXT])
{
    const char *types = words_of(module, "kernel_arg_type.", kernel);
    const char *qualifiers = words_of(module, "kernel_arg_type_qual.", kernel);
    for (size_t i = 0; types != NULL && *types != 0 && i < n; i++) {
        size_t length = strcspn(types, ","), known = qualifiers == NULL ? 0 : strcspn(qualifiers, ",");
        char qualifier[TEXT];
        snprintf(qualifier, sizeof qualifier, "%.*s", (int)known, qualifiers == NULL ? "" : qualifiers);
        apply_words(types, length, strstr(qualifier, "const") != NULL, texts[i], TEXT, &parameters[i]);
        types += length + (types[length] == ',');
        qualifiers = qualifiers == NULL ? NULL : qualifiers + known + (qualifiers[known] == ',');
    }
}

/* The word of the entry point's function; 0: there is none. */
static size_t find_function(const module *module, const char *kernel)
{
    for (size_t i = HEADER; i < module->n; i += length(module, i)) {
        if (opcode(module, i) == OP_ENTRY_POINT && strcmp(text_at(module, i, 3), kernel) == 0) {
            return fact_of(module, word(module, i + 2))->at;
        }
    }
    return 0;
}

/* How many parameters the function at this word has. */
static size_t count_parameters(const module *module, size_t function)
{
    size_t n = 0;
    for (size_t i = function + length(module, function);
         i < module->n && opcode(module, i) == OP_FUNCTION_PARAMETER; i += length(module, i)) {
        n++;
    }
    return n;
}

usm_status usm_spirv_read_parameters(usm_kernel *kernel, const char *name, size_t n, const void *bytes,
                                     size_t size, usm_error *error)
{
    module module = {.facts = NULL};
    usm_parameter *parameters = usm_calloc(n + 1, sizeof *parameters);
    char(*texts)[TEXT] = usm_calloc(n + 1, sizeof *texts);
    usm_status status = USM_OK;
    if (parameters == NULL || texts == NULL || (bytes != NULL && !read_module(&module, bytes, size))) {
        status = usm_error_memory(error, n * sizeof *texts, "a kernel's parameters");
        goto done;
    }
    for (size_t i = 0; i < n; i++) {
        parameters[i] = (usm_parameter){.kind = USM_PARAMETER_UNKNOWN, .dtype = USM_NO_DTYPE};
    }
    size_t function = bytes == NULL ? 0 : find_function(&module, name);
    if (function != 0 && count_parameters(&module, function) == n) {
        size_t i = function + length(&module, function);
        for (size_t k = 0; k < n; k++, i += length(&module, i)) {
            const fact *own = fact_of(&module, word(&module, i + 2));
            read_parameter(&module, word(&module, i + 1), own, &parameters[k]);
            const char *called = own->name == 0 ? "" : text_at(&module, own->name, 2);
            parameters[k].name = called[0] != 0 ? called : NULL;
        }
        apply_source(&module, name, parameters, n, texts);
    }
    status = usm_kernel_set_parameters(kernel, name, parameters, n, error);
done:
    free(module.facts);
    free(parameters);
    free(texts);
    return status;
}

size_t usm_spirv_constant_size(const void *bytes, size_t size, uint32_t number, bool *is_float)
{
    module module;
    size_t found = 0;
    *is_float = false;
    if (!read_module(&module, bytes, size)) {
        return 0;
    }
    for (size_t i = HEADER; i < module.n && found == 0; i += length(&module, i)) {
        if (opcode(&module, i) != OP_DECORATE || word(&module, i + 2) != DECORATION_SPEC_ID ||
            word(&module, i + 3) != number) {
            continue;
        }
        size_t at = fact_of(&module, word(&module, i + 1))->at;
        unsigned op = at == 0 ? 0 : opcode(&module, at);
        if (op == OP_SPEC_CONSTANT_TRUE || op == OP_SPEC_CONSTANT_FALSE) {
            found = 1;
        } else if (op == OP_SPEC_CONSTANT) {
            found = layout_of(&module, word(&module, at + 1)).size;
            *is_float = dtype_of(&module, word(&module, at + 1)) != USM_NO_DTYPE;
        }
    }
    free(module.facts);
    return found;
}
