/* What a module of SPIR-V tells of its kernels, and words for parameters. */
#include "check.h"
#include "support.h"

#include "core/program/signature.h"
#include "core/program/spirv.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { MOST = 1 << 16, POINTER = 32, STRUCT = 30, FUNCTION_STORAGE = 7, BY_VALUE = 2 };

typedef struct module {
    uint32_t words[MOST];
    size_t n;
} module;

static module built; /* too large for a stack */

static void begin(uint32_t bound)
{
    static const uint32_t head[] = {0x07230203, 0x00010000, 0, 0, 0};
    memcpy(built.words, head, sizeof head);
    built.words[3] = bound;
    built.n = 5;
}

/* Operands up to the first -1. */
static void add(uint32_t opcode, ...)
{
    size_t start = built.n++;
    va_list operands;
    va_start(operands, opcode);
    for (int operand = va_arg(operands, int); operand != -1; operand = va_arg(operands, int)) {
        built.words[built.n++] = (uint32_t)operand;
    }
    va_end(operands);
    built.words[start] = (uint32_t)(built.n - start) << 16 | opcode;
}

/* kernel f(type), where the pointer type stands for a struct by value. */
static void add_kernel(int type)
{
    enum { MAIN = 1, VOID = 2, SIGNATURE = 3, PARAMETER = 4 };
    add(15, 6, MAIN, 'f', -1); /* OpEntryPoint Kernel */
    add(71, PARAMETER, 38, BY_VALUE, -1);
    add(19, VOID, -1);
    add(33, SIGNATURE, VOID, type, -1);
    add(54, VOID, MAIN, 0, SIGNATURE, -1);
    add(55, type, PARAMETER, -1);
    add(56, -1);
}

/* Bytes of the parameter of f; 0: unknown. */
static size_t read_size(void)
{
    usm_kernel kernel = {.refs = {0}};
    usm_error error;
    CHECK_OK(usm_spirv_read_parameters(&kernel, "f", 1, built.words, 4 * built.n, &error));
    CHECK_EQ(kernel.n_parameters, 1);
    size_t size = kernel.parameters[0].size;
    free(kernel.parameters);
    return size;
}

/* struct { char; int; double; float3; short[5]; void *; struct { char; } } */
static void layouts(void)
{
    begin(64);
    add(21, 10, 8, 0, -1);
    add(21, 11, 32, 0, -1);
    add(22, 12, 64, -1);
    add(22, 13, 32, -1);
    add(23, 14, 13, 3, -1);
    add(21, 15, 16, 0, -1);
    add(43, 11, 16, 5, -1); /* the constant 5 */
    add(28, 17, 15, 16, -1);
    add(POINTER, 18, 5, 10, -1);
    add(STRUCT, 19, 10, -1);
    add(STRUCT, 20, 10, 11, 12, 14, 17, 18, 19, -1);
    add(POINTER, 21, FUNCTION_STORAGE, 20, -1);
    add_kernel(21);
    /* 0: char, 4: int, 8: double, 16: float3, 32: short[5], 48: pointer, 56: struct; a multiple of 16 */
    CHECK_EQ(read_size(), 64);
}

/* A struct that points to itself: the pointer is known before its type is. */
static void forward_pointers(void)
{
    begin(64);
    add(39, 10, 5, -1);
    add(21, 11, 32, 0, -1);
    add(STRUCT, 12, 11, 10, -1);
    add(POINTER, 10, 5, 12, -1);
    add(POINTER, 13, FUNCTION_STORAGE, 12, -1);
    add_kernel(13);
    CHECK_EQ(read_size(), 16);
}

/* Struct k has 60 members, all of struct k - 1: 60^k in all. The work is linear in the module. */
static void add_nested_structs(int depth, int width)
{
    begin(64);
    add(21, 10, 8, 0, -1);
    for (int k = 1; k <= depth; k++) {
        built.words[built.n++] = (uint32_t)(width + 2) << 16 | STRUCT;
        built.words[built.n++] = (uint32_t)(10 + k);
        for (int i = 0; i < width; i++) {
            built.words[built.n++] = (uint32_t)(10 + k - 1);
        }
    }
    add(POINTER, 60, FUNCTION_STORAGE, 10 + depth, -1);
    add_kernel(60);
}

static void nested_structs(void)
{
    add_nested_structs(5, 60);
    CHECK_EQ(read_size(), 60 * 60 * 60 * 60 * 60);
    add_nested_structs(12, 60); /* no argument has that size */
    CHECK_EQ(read_size(), 0);
    add_nested_structs(40, 2);
    CHECK_EQ(read_size(), 0);
}

/* No module may make the layout divide by zero or run for ever, whatever it says of its types. */
static void nonsense(void)
{
    begin(64);
    add(STRUCT, 10, 10, 11, -1); /* itself, and what comes later */
    add(STRUCT, 11, 10, -1);
    add(23, 12, 12, 0, -1);
    add(28, 13, 12, 13, -1);
    add(21, 14, 0, 0, -1);
    add(21, 15, 0x7fffffff, 0, -1);
    add(23, 16, 15, 0x7fffffff, -1);
    add(STRUCT, 17, 14, 15, 16, 12, 13, 99999, -1);
    add(POINTER, 18, FUNCTION_STORAGE, 17, -1);
    add_kernel(18);
    CHECK_EQ(read_size(), 0);
}

/* What stands behind the parameters of a line: how groups fit, and a size that the kernel requires. */
static void tails_of_signatures(void)
{
    static const struct {
        const char *line;
        usm_fit fit;
        size_t required[3];
    } lines[] = {
        {"f(int32* x)\n", USM_FIT_ANY, {0}},
        {"f(int32* x) groups\n", USM_FIT_GROUPS, {0}},
        {"f(int32* x) range\n", USM_FIT_RANGE, {0}},
        {"f(int32* x) groups 4 2 1\n", USM_FIT_GROUPS, {4, 2, 1}},
        {"f(int32* x) 8 1 1\n", USM_FIT_ANY, {8, 1, 1}},
        {"g(int32* x) groups 4 2 1\n", USM_FIT_ANY, {0}},
        {"ff(int32* x) groups 4 2 1\nf(int32* x) range 2 2 2\n", USM_FIT_RANGE, {2, 2, 2}},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        static const usm_parameter old = {.kind = USM_PARAMETER_UNKNOWN, .dtype = USM_NO_DTYPE};
        usm_kernel kernel = {.refs = {0}};
        usm_error error;
        CHECK_OK(usm_kernel_set_parameters(&kernel, "f", &old, 1, &error));
        CHECK_OK(usm_signature_apply(&kernel, lines[i].line, &error));
        CHECK_EQ(kernel.fit, lines[i].fit);
        CHECK(memcmp(kernel.required_local, lines[i].required, sizeof kernel.required_local) == 0);
        CHECK_EQ(kernel.parameters[0].kind, i == 5 ? USM_PARAMETER_UNKNOWN : USM_PARAMETER_POINTER);
        if (i != 5) { /* and back */
            char *line = usm_signature_write(&kernel);
            const char *wanted = strstr(lines[i].line, i == 6 ? "\nf(" : "f(") + (i == 6);
            CHECK(line != NULL && strncmp(line, wanted, strlen(line)) == 0 && wanted[strlen(line)] == '\n');
            free(line);
        }
        free(kernel.parameters);
    }
}

/* A required size has no 0, which stands for none: what is written of a kernel reads back as the same. */
static void required_sizes_of_zero(void)
{
    static const char *const lines[] = {"f() 0 2 1", "f() groups 4 0 1", "f() 4 2 0", "f() 4 2"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        usm_kernel kernel = {.name = "f", .types_unknown = true};
        usm_error error;
        CHECK_OK(usm_signature_apply(&kernel, lines[i], &error));
        CHECK(kernel.required_local[0] == 0 && kernel.required_local[1] == 0 &&
              kernel.required_local[2] == 0);
        free(kernel.parameters);
    }
}

/* Vectors have 2, 3, 4, 8 or 16 elements; any other number is a part of some other type's name. */
static void names_of_types(void)
{
    static const struct {
        const char *name;
        size_t length;
        uint32_t size;
        int dtype;
    } names[] = {
        {"float", 5, 4, USM_FLOAT32},   {"float4*", 6, 16, USM_NO_DTYPE},
        {"uchar3", 6, 4, USM_NO_DTYPE}, {"double16", 8, 128, USM_NO_DTYPE},
        {"float", 4, 0, USM_NO_DTYPE},  {"float44", 6, 16, USM_NO_DTYPE},
        {"int64", 5, 0, USM_NO_DTYPE},  {"int0", 4, 0, USM_NO_DTYPE},
        {"int1", 4, 0, USM_NO_DTYPE},   {"float99999999999", 16, 0, USM_NO_DTYPE},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        usm_parameter read = {.kind = USM_PARAMETER_VALUE};
        usm_parameter_read_type(names[i].name, names[i].length, &read);
        CHECK_EQ(read.size, names[i].size);
        CHECK_EQ(read.dtype, names[i].dtype);
    }
}

/* A module may claim any number of ids: memory is used for those that it has. */
static void many_ids(void)
{
    struct rusage before, after;
    begin(UINT32_MAX);
    add_kernel(32);
    CHECK_EQ(getrusage(RUSAGE_SELF, &before), 0);
    CHECK_EQ(read_size(), 0);
    CHECK_EQ(getrusage(RUSAGE_SELF, &after), 0);
    /* ThreadSanitizer's calloc may write all of the block. */
#ifndef __SANITIZE_THREAD__
    CHECK(after.ru_maxrss - before.ru_maxrss < 64 * 1024); /* KiB */
#endif
}

/* The work of the check is not the product of entry points and functions, which would take minutes here. */
static void many_entry_points(void)
{
    enum { N = 400000 };
    static const uint32_t head[] = {0x07230203, 0x00010000, 0, N + 2, 0, 3u << 16 | 14, 2, 2};
    uint32_t *words = malloc(sizeof head + (size_t)N * 10 * sizeof *words), *at = words;
    usm_error error;
    CHECK(words != NULL);
    memcpy(at, head, sizeof head);
    at += sizeof head / sizeof *head;
    for (uint32_t i = 0; i < N; i++, at += 4) {
        memcpy(at, (const uint32_t[]){4u << 16 | 15, 6, N, 0}, 16);
    }
    for (uint32_t i = 1; i <= N; i++, at += 6) {
        memcpy(at, (const uint32_t[]){5u << 16 | 54, 1, i, 0, 1, 1u << 16 | 56}, 24);
    }
    size_t size = (size_t)(at - words) * sizeof *words;
    CHECK_OK(usm_spirv_check(words, size, &error));
    words[10] = N + 1; /* the function of the first entry point */
    CHECK_EQ(usm_spirv_check(words, size, &error), USM_BUILD);
    CHECK(strstr(error.text, "entry point at word 8 is missing") != NULL);
    free(words);
}

int main(void)
{
    watchdog(600);
    RUN(required_sizes_of_zero);
    RUN(names_of_types);
    RUN(many_ids);
    RUN(many_entry_points);
    RUN(layouts);
    RUN(forward_pointers);
    RUN(nested_structs);
    RUN(nonsense);
    RUN(tails_of_signatures);
    return 0;
}
