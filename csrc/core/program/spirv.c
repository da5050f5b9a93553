#include "spirv.h"

#include "core/base/heap.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC 0x07230203u
#define MAGIC_SWAPPED 0x03022307u
#define HEADER 5 /* words: magic, version, generator, bound of the ids, 0 */

enum { OP_MEMORY_MODEL = 14, OP_ENTRY_POINT = 15, OP_FUNCTION = 54, OP_FUNCTION_END = 56 };

/* The bytes may lie at any address. */
typedef struct module {
    const char *bytes;
    size_t n; /* words */
} module;

/* Word i; the caller has checked that the module has it. */
static uint32_t word(const module *module, size_t i)
{
    uint32_t value;
    memcpy(&value, module->bytes + 4 * i, sizeof value);
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
    const module module = {bytes, size / 4};
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
    const module module = {bytes, size / 4};
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
