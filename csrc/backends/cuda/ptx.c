/*
 * What PTX, cubins and mangled names say about kernels. It is read here, since drivers before CUDA 12.4
 * report no parameters at all, and later ones only sizes.
 */
#include "program.h"

#include "core/base/heap.h"
#include "core/program/signature.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\r\n"
#define NAME "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$%"

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, BLANKS);
}

/* The next directive of this name at or behind `at`, as a word of its own; behind it. NULL: there is none. */
static const char *find_directive(const char *at, const char *name)
{
    size_t n = strlen(name);
    while ((at = strstr(at, name)) != NULL) {
        if (strchr(NAME, at[n]) == NULL || at[n] == 0) {
            return at + n;
        }
        at += n;
    }
    return NULL;
}

/* Kernels are ".entry NAME(" in PTX ISA, 5.4; functions are ".func". */
char **usm_cuda_ptx_symbols(const char *ptx)
{
    char *texts = usm_malloc(strlen(ptx) + 1), *end = texts;
    size_t n = 0;
    if (texts == NULL) {
        return NULL;
    }
    for (const char *at = ptx; (at = find_directive(at, ".entry")) != NULL;) {
        const char *name = skip_blanks(at);
        size_t length = strspn(name, NAME);
        if (length > 0) {
            memcpy(end, name, length);
            end[length] = 0;
            end += length + 1;
            n++;
        }
        at = name + length;
    }
    char **names = usm_program_names(texts, n);
    free(texts);
    return names;
}

/*
 * Offsets and sizes of 64-bit little-endian ELF (System V ABI, chapter 4): what is read of its header and of
 * a section. Machine 190 is EM_CUDA.
 */
enum { ELF_HEADER = 64, ELF_SECTION = 64, ELF_SEGMENT = 56, ELF_MACHINE = 190, ELF_NO_BITS = 8 };

/* A number at any address, as the file need not be aligned. */
static uint64_t number(const char *at, unsigned bytes)
{
    uint64_t value = 0;
    memcpy(&value, at, bytes);
    return value;
}

/* Without overflow, whatever the file says. */
static bool inside(uint64_t offset, uint64_t length, size_t size)
{
    return offset <= size && length <= size - offset;
}

/*
 * The driver crashes with cubins that are cut short: every table and section must lie in the file, and every
 * name of a section in the table of names. NULL: it is whole.
 */
static const char *elf_fault(const char *data, size_t size)
{
    if (size < ELF_HEADER) {
        return "it is cut short";
    }
    if (data[4] != 2 || data[5] != 1 || number(data + 18, 2) != ELF_MACHINE) {
        return "it is no machine code of CUDA";
    }
    uint64_t segments = number(data + 32, 8), sections = number(data + 40, 8);
    unsigned n_segments = (unsigned)number(data + 56, 2), n_sections = (unsigned)number(data + 60, 2);
    unsigned names = (unsigned)number(data + 62, 2);
    if ((n_segments > 0 && number(data + 54, 2) != ELF_SEGMENT) || number(data + 58, 2) != ELF_SECTION ||
        n_sections == 0 || names >= n_sections) {
        return "it is damaged";
    }
    if (!inside(segments, (uint64_t)n_segments * ELF_SEGMENT, size) ||
        !inside(sections, (uint64_t)n_sections * ELF_SECTION, size)) {
        return "it is cut short";
    }
    const char *table = data + sections + (uint64_t)names * ELF_SECTION;
    uint64_t names_size = number(table + 4, 4) == ELF_NO_BITS ? 0 : number(table + 32, 8);
    for (unsigned i = 0; i < n_sections; i++) {
        const char *section = data + sections + (uint64_t)i * ELF_SECTION;
        if (number(section, 4) >= names_size) {
            return "it is damaged";
        }
        if (number(section + 4, 4) != ELF_NO_BITS &&
            !inside(number(section + 24, 8), number(section + 32, 8), size)) {
            return "it is cut short";
        }
    }
    for (unsigned i = 0; i < n_segments; i++) {
        const char *segment = data + segments + (uint64_t)i * ELF_SEGMENT;
        if (!inside(number(segment + 8, 8), number(segment + 32, 8), size)) {
            return "it is cut short";
        }
    }
    return NULL;
}

/*
 * A fatbin has several cubins and PTX. It begins with a magic number and a version, then the size of its
 * header and of the rest.
 */
const char *usm_cuda_image_fault(const char *data, size_t size)
{
    if (size >= 4 && memcmp(data, "\177ELF", 4) == 0) {
        return elf_fault(data, size);
    }
    if (size >= 4 && number(data, 4) == 0xba55ed50) {
        bool whole = size >= 16 && inside(number(data + 6, 2), number(data + 8, 8), size);
        return whole ? NULL : "it is cut short";
    }
    return "it is neither a cubin nor a fatbin";
}

/* Each kernel of a cubin has a section ".text.NAME". */
char **usm_cuda_cubin_symbols(const char *data, size_t size)
{
    const char *sections = data + number(data + 40, 8);
    unsigned n_sections = (unsigned)number(data + 60, 2);
    const char *table = sections + number(data + 62, 2) * ELF_SECTION;
    const char *texts = data + number(table + 24, 8);
    size_t texts_size = (size_t)number(table + 32, 8), n = 0;
    static const char mark[] = ".text.";
    char *found = usm_malloc(size), *end = found;
    for (unsigned i = 0; found != NULL && i < n_sections; i++) {
        size_t at = (size_t)number(sections + (size_t)i * ELF_SECTION, 4);
        size_t length = strnlen(texts + at, texts_size - at);
        if (length >= texts_size - at || length < sizeof mark ||
            memcmp(texts + at, mark, sizeof mark - 1) != 0) {
            continue;
        }
        length -= sizeof mark - 1;
        if ((size_t)(end - found) + length + 1 > size) { /* names that overlap, which no compiler writes */
            break;
        }
        memcpy(end, texts + at + sizeof mark - 1, length + 1);
        end += length + 1;
        n++;
    }
    char **names = found == NULL ? NULL : usm_program_names(found, n);
    free(found);
    return names;
}

/* Mangled names: as much of the Itanium C++ ABI (5.1, Mangling) as names of kernels need. */
typedef struct shown {
    char *out;
    size_t size, used;
} shown;

/* Appends text; what does not fit is cut. */
static void put(shown *shown, const char *text, size_t length)
{
    for (size_t i = 0; i < length && shown->used + 1 < shown->size; i++) {
        shown->out[shown->used++] = text[i];
    }
    shown->out[shown->used] = 0;
}

static const char *builtin_type(char code)
{
    static const struct {
        char code;
        const char *name;
    } types[] = {
        {'v', "void"},           {'b', "bool"},          {'c', "char"},
        {'a', "signed char"},    {'h', "unsigned char"}, {'s', "short"},
        {'t', "unsigned short"}, {'i', "int"},           {'j', "unsigned int"},
        {'l', "long"},           {'m', "unsigned long"}, {'x', "long long"},
        {'f', "float"},          {'d', "double"},        {'y', "unsigned long long"},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].code == code) {
            return types[i].name;
        }
    }
    return NULL;
}

/* "<float, 4>" of "IfLi4EE"; behind it, or NULL for anything less plain. */
static const char *put_arguments(shown *shown, const char *at)
{
    put(shown, "<", 1);
    for (bool first = true; *at != 'E'; first = false) {
        put(shown, ", ", first ? 0 : 2);
        if (at[0] == 'L' && at[1] != 0 && strchr("ijlmsthacxyb", at[1]) != NULL) {
            bool negative = at[2] == 'n';
            const char *digits = at + 2 + negative;
            size_t length = strspn(digits, "0123456789");
            if (length == 0 || digits[length] != 'E') {
                return NULL;
            }
            put(shown, "-", negative);
            put(shown, digits, length);
            at = digits + length + 1;
            continue;
        }
        const char *type = *at != 0 ? builtin_type(*at) : NULL;
        if (type == NULL) {
            return NULL;
        }
        put(shown, type, strlen(type));
        at++;
    }
    put(shown, ">", 1);
    return at + 1;
}

/* "4name", with its template arguments; behind it, or NULL. */
static const char *put_name(shown *shown, const char *at)
{
    size_t digits = strspn(at, "0123456789");
    unsigned long length = digits > 0 && digits < 6 ? strtoul(at, NULL, 10) : 0;
    at += digits;
    if (length == 0 || strnlen(at, length) < length) {
        return NULL;
    }
    put(shown, at, length);
    at += length;
    return *at == 'I' ? put_arguments(shown, at + 1) : at;
}

void usm_cuda_shown_name(const char *symbol, char *out, size_t size)
{
    shown shown = {out, size, 0};
    const char *at = strncmp(symbol, "_Z", 2) == 0 ? symbol + 2 : NULL;
    out[0] = 0;
    if (at != NULL && *at == 'N') {
        at++;
        for (bool first = true; at != NULL && *at != 'E'; first = false) {
            put(&shown, "::", first ? 0 : 2);
            at = put_name(&shown, at);
        }
    } else if (at != NULL) {
        at = put_name(&shown, at);
    }
    if (at == NULL) {
        snprintf(out, size, "%s", symbol);
    }
}

/* Behind the name of the kernel's entry; NULL where there is none. */
static const char *find_entry(const char *ptx, const char *symbol)
{
    size_t n = strlen(symbol);
    for (const char *at = ptx; (at = find_directive(at, ".entry")) != NULL;) {
        at = skip_blanks(at);
        if (strspn(at, NAME) == n && memcmp(at, symbol, n) == 0) {
            return at + n;
        }
    }
    return NULL;
}

static const struct {
    const char *name;
    usm_dtype dtype;
    uint8_t size;
    bool
        is_number; /* the type says how it is used; of .u32 it does not: compilers write it for signed ones */
} ptx_types[] = {
    {".f64", USM_FLOAT64, 8, true},   {".f32", USM_FLOAT32, 4, true},    {".f16", USM_FLOAT16, 2, true},
    {".bf16", USM_BFLOAT16, 2, true}, {".s64", USM_INT64, 8, true},      {".s32", USM_INT32, 4, true},
    {".s16", USM_INT16, 2, true},     {".s8", USM_INT8, 1, true},        {".u64", USM_NO_DTYPE, 8, false},
    {".u32", USM_NO_DTYPE, 4, false}, {".u16", USM_NO_DTYPE, 2, false},  {".u8", USM_NO_DTYPE, 1, false},
    {".b64", USM_NO_DTYPE, 8, false}, {".b32", USM_NO_DTYPE, 4, false},  {".b16", USM_NO_DTYPE, 2, false},
    {".b8", USM_NO_DTYPE, 1, false},  {".b128", USM_NO_DTYPE, 16, true},
};

/* One parameter, up to the comma or parenthesis behind it. */
static const char *read_parameter(const char *at, usm_parameter *out)
{
    bool pointer = false, array = false;
    unsigned long length = 1;
    size_t type = sizeof ptx_types / sizeof *ptx_types;
    *out = (usm_parameter){.kind = USM_PARAMETER_UNKNOWN, .dtype = USM_NO_DTYPE};
    while (*at != 0 && *at != ',' && *at != ')') {
        at = skip_blanks(at);
        size_t n = 1;
        if (*at == '.') {
            n = 1 + strspn(at + 1, NAME);
            if (n == 4 && memcmp(at, ".ptr", 4) == 0) {
                pointer = true;
            } else if (n == 6 && memcmp(at, ".align", 6) == 0) {
                n += strspn(at + n, BLANKS);
                n += strspn(at + n, "0123456789");
            }
            for (size_t i = 0; i < sizeof ptx_types / sizeof *ptx_types; i++) {
                if (strlen(ptx_types[i].name) == n && memcmp(at, ptx_types[i].name, n) == 0) {
                    type = i;
                }
            }
        } else if (*at == '[') {
            array = true;
            length = strtoul(at + 1, NULL, 10);
            n = strcspn(at, "],)");
            n += at[n] == ']';
        } else if (strchr(NAME, *at) != NULL && *at != 0) {
            n = strspn(at, NAME);
        } else if (*at == ',' || *at == ')' || *at == 0) {
            break;
        }
        at += n;
    }
    if (type == sizeof ptx_types / sizeof *ptx_types) {
        return at;
    }
    /* No kernel takes more than 32,764 bytes (PTX ISA, Kernel Function Parameters). */
    out->size = length <= UINT16_MAX ? ptx_types[type].size * (uint32_t)length : 0;
    if (pointer) {
        out->kind = USM_PARAMETER_POINTER;
    } else if (array || ptx_types[type].is_number) {
        out->kind = USM_PARAMETER_VALUE;
        out->dtype = array ? (int16_t)USM_NO_DTYPE : (int16_t)ptx_types[type].dtype;
    }
    return at;
}

/* The bytes of "<prefix><symbol>[n] = {1, 2}", at most `most` of them; 0: there is no such array. */
static size_t read_array(const char *ptx, const char *prefix, const char *symbol, unsigned char *out,
                         size_t most)
{
    char name[256];
    size_t n = (size_t)snprintf(name, sizeof name, " %s%s[", prefix, symbol), size, i = 0;
    const char *at = n < sizeof name ? strstr(ptx, name) : NULL;
    if (at == NULL) {
        return 0;
    }
    size = (size_t)strtoul(at + n, NULL, 10);
    size = size < most ? size : most;
    memset(out, 0, size);
    at += strcspn(at, "{;");
    while (*at != 0 && *at != ';' && *at != '}' && i < size) { /* zeros at the end are left out */
        at = skip_blanks(at + 1);
        out[i++] = (unsigned char)strtoul(at, NULL, 10);
        at += strcspn(at, ",};");
    }
    return size;
}

/*
 * usmpy/_compile/cuda.py has the compiler emit two arrays beside each kernel whose parameters it sees: one
 * word for each parameter, and a text with how the range has to fit, the required sizes and the names.
 */
enum { WORD_POINTER = 1, WORD_VALUE = 2, WORD_LOCAL = 3 };
#define MOST_PARAMETERS 1024

static const int16_t word_types[] = {
    USM_NO_DTYPE, USM_BOOL,     USM_INT8,      USM_INT16,      USM_INT32,   USM_INT64,
    USM_UINT8,    USM_UINT16,   USM_UINT32,    USM_UINT64,     USM_FLOAT16, USM_FLOAT32,
    USM_FLOAT64,  USM_BFLOAT16, USM_COMPLEX64, USM_COMPLEX128,
};

/* The driver's size is kept, unless the parameter is local memory, which the launch passes as an offset. */
static void read_word(const unsigned char *word, usm_parameter *out)
{
    uint32_t size = out->size;
    *out = (usm_parameter){
        .kind = word[0] == WORD_POINTER ? USM_PARAMETER_POINTER
                : word[0] == WORD_LOCAL ? USM_PARAMETER_LOCAL
                                        : USM_PARAMETER_VALUE,
        .read_only = word[1] != 0,
        .dtype =
            word[2] < sizeof word_types / sizeof *word_types ? word_types[word[2]] : (int16_t)USM_NO_DTYPE,
        .size = word[0] == WORD_LOCAL ? (uint32_t)sizeof(void *) : size,
    };
}

/* "fit x y z name name..." */
static void read_text(usm_kernel *kernel, char *text, usm_parameter *parameters, size_t n)
{
    char *at = text;
    unsigned long numbers[4];
    for (int i = 0; i < 4; i++) {
        numbers[i] = strtoul(at, &at, 10);
    }
    kernel->fit = numbers[0] <= USM_FIT_RANGE ? (usm_fit)numbers[0] : USM_FIT_ANY; /* anyone may write PTX */
    for (int i = 0; i < 3; i++) {
        kernel->required_local[i] = (size_t)numbers[i + 1];
    }
    for (size_t i = 0; i < n && *at == ' '; i++) {
        *at++ = 0;
        parameters[i].name = at;
        at += strcspn(at, " ");
    }
    *at = 0;
}

/* Replaces what the PTX said by what the compiler knew, if the arrays are there and fit to the parameters. */
static void read_facts(usm_kernel *kernel, const char *ptx, const char *symbol, usm_parameter *parameters,
                       size_t *n, char *text, size_t text_size)
{
    unsigned char words[4 * MOST_PARAMETERS];
    char name[256];
    size_t n_words =
        read_array(ptx, "usm_types_", symbol, words, sizeof words) / 4; /* one more than there are */
    if (n_words == 0) { /* of C++ kernels, the source's name is what our text knows */
        usm_cuda_shown_name(symbol, name, sizeof name);
        n_words = read_array(ptx, "usm_types_", name, words, sizeof words) / 4;
        symbol = name;
    }
    size_t length = read_array(ptx, "usm_text_", symbol, (unsigned char *)text, text_size - 1);
    if (n_words == 0 || length == 0 || n_words - 1 > *n) {
        return;
    }
    text[length] = 0;
    for (size_t i = 0; i < n_words - 1; i++) {
        read_word(words + 4 * i, &parameters[i]);
    }
    *n = n_words - 1; /* the last one may be the range, which launches pass by themselves */
    read_text(kernel, text, parameters, *n);
}

/* ".reqntid 4, 1, 1" between the parameters and the body. */
static void read_required(usm_kernel *kernel, const char *at)
{
    const char *body = strchr(at, '{'), *found = find_directive(at, ".reqntid");
    if (found == NULL || body == NULL || found > body) {
        return;
    }
    for (int i = 0; i < 3; i++) {
        char *end;
        size_t value = strtoul(skip_blanks(found), &end, 10);
        kernel->required_local[i] = value > 0 ? value : 1;
        found = skip_blanks(end);
        found += *found == ',';
    }
}

/* Does the kernel use local memory whose size the launch says? Its name in `name`. */
static bool uses_dynamic_shared(const char *ptx, const char *entry, char *name, size_t size)
{
    const char *body = strchr(entry, '{'), *end = body;
    for (int depth = 0; end != NULL && *end != 0; end++) {
        depth += (*end == '{') - (*end == '}');
        if (depth == 0) {
            break;
        }
    }
    for (const char *at = ptx; body != NULL && (at = find_directive(at, ".extern")) != NULL;) {
        at = skip_blanks(at);
        const char *bracket = at + strcspn(at, "[;");
        if (strncmp(at, ".shared", 7) != 0 || *bracket != '[' || *skip_blanks(bracket + 1) != ']') {
            continue;
        }
        const char *from = bracket;
        while (from > at && strchr(NAME, from[-1]) != NULL) {
            from--;
        }
        snprintf(name, size, "%.*s", (int)(bracket - from), from);
        size_t length = strlen(name);
        const char *used = length != 0 ? strstr(body, name) : NULL;
        for (; used != NULL && used < end; used = strstr(used + 1, name)) {
            if (strchr(NAME, used[-1]) == NULL && (used[length] == 0 || strchr(NAME, used[length]) == NULL)) {
                return true; /* the whole word, not a piece of another one */
            }
        }
    }
    return false;
}

usm_status usm_cuda_ptx_parameters(usm_kernel *kernel, const char *ptx, const char *symbol, const char *name,
                                   usm_error *error)
{
    const char *entry = find_entry(ptx, symbol);
    if (entry == NULL) {
        return usm_error_driver(error, USM_INDEX, "cuda", 0, "", "the program has no kernel %s", name);
    }
    usm_parameter *parameters = usm_calloc(MOST_PARAMETERS + 1, sizeof *parameters);
    size_t text_size = 128 * 1024, n = 0;
    char *text = usm_malloc(text_size), shared[256], (*types)[48] = NULL;
    usm_status status = USM_OK;
    if (parameters == NULL || text == NULL) {
        status = usm_error_memory(error, text_size, "a kernel's parameters");
        goto done;
    }
    const char *at = skip_blanks(entry);
    if (*at == '(') {
        at = skip_blanks(at + 1);
        while (*at != 0 && *at != ')' && n < MOST_PARAMETERS) {
            at = read_parameter(at, &parameters[n++]);
            at += *at == ',';
        }
    }
    if (n == MOST_PARAMETERS && *at != 0 && *at != ')') { /* launches would pass too few */
        status = usm_error_driver(error, USM_BUILD, "cuda", 0, "",
                                  "the kernel %s has more than %d parameters, as many as are allowed", name,
                                  MOST_PARAMETERS);
        goto done;
    }
    size_t all = n;
    read_facts(kernel, ptx, symbol, parameters, &n, text, text_size);
    if (kernel->fit == USM_FIT_ANY) {
        n = all;
        read_required(kernel, at);
        if (uses_dynamic_shared(ptx, entry, shared, sizeof shared)) {
            parameters[n++] = (usm_parameter){
                .kind = USM_PARAMETER_LOCAL, .dtype = USM_NO_DTYPE, .size = sizeof(void *), .name = shared};
        }
    }
    types = usm_calloc(n + 1, sizeof *types);
    if (types == NULL) {
        status = usm_error_memory(error, n * sizeof *types, "a kernel's parameters");
        goto done;
    }
    for (size_t i = 0; i < n; i++) {
        usm_parameter_write(&parameters[i], types[i], sizeof types[i]);
        parameters[i].type = types[i];
    }
    status = usm_kernel_set_parameters(kernel, name, parameters, n, error);
done:
    free(parameters);
    free(types);
    free(text);
    return status;
}
