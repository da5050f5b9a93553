#include "signature.h"

#include "core/base/heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t"

/* Skips the word and the blanks behind it; false if another word is there. */
static bool take_word(char **at, const char *word)
{
    size_t n = strlen(word);
    if (strncmp(*at, word, n) != 0 || (*at)[n] == 0 || strchr(BLANKS, (*at)[n]) == NULL) {
        return false;
    }
    *at += n + strspn(*at + n, BLANKS);
    return true;
}

/* The error for a parameter that is none of the forms. */
static usm_status refuse(const char *text, usm_error *error)
{
    return usm_error_set(
        error, USM_VALUE,
        "the parameter '%.60s' is not known; allowed are pointers ('const float32*', 'float32*', 'local float32*', "
        "'void*'), values (the name of a dtype, such as 'int32') and structs ('bytes[n]')",
        text);
}

/* "bytes[24]", and "bytes" for any size; likewise "unknown". */
static bool parse_bytes(const char *word, const char *kind, usm_parameter *out)
{
    size_t length = strlen(kind);
    out->size = 0;
    if (strcmp(word, kind) == 0) {
        return true;
    }
    const char *digits = word + length + 1;
    size_t n = strncmp(word, kind, length) == 0 && word[length] == '[' ? strspn(digits, "0123456789") : 0;
    if (n == 0 || n > 9 || strcmp(digits + n, "]") != 0) {
        return false;
    }
    out->size = (uint32_t)atoi(digits);
    return out->size > 0;
}

usm_status usm_parameter_parse(char *text, usm_parameter *out, usm_error *error)
{
    char *at = text + strspn(text, BLANKS), *end = at + strcspn(at, ",");
    *out = (usm_parameter){.kind = USM_PARAMETER_VALUE, .dtype = USM_NO_DTYPE};
    *end = 0;
    while (end > at && strchr(BLANKS, end[-1]) != NULL) {
        *--end = 0;
    }
    bool is_const = take_word(&at, "const"), is_local = !is_const && take_word(&at, "local");
    size_t length = strcspn(at, BLANKS "*");
    char word[32] = "", *star = strchr(at, '*'), *behind = at + length + strspn(at + length, BLANKS);
    if (length >= sizeof word || (star != NULL && star != behind)) {
        return refuse(text, error);
    }
    char *name = star != NULL ? star + 1 + strspn(star + 1, BLANKS) : behind;
    memcpy(word, at, length);
    usm_dtype dtype = usm_dtype_from_name(word, length);
    out->name = *name != 0 ? name : NULL;
    out->dtype = (int16_t)dtype;
    if (star != NULL) {
        out->kind = is_local ? USM_PARAMETER_LOCAL : USM_PARAMETER_POINTER;
        out->read_only = is_const;
        out->size = sizeof(void *);
        if ((name == star + 1 && out->name != NULL) || /* "float32*x" has no character to replace by a 0 */
            (dtype == USM_NO_DTYPE && strcmp(word, "void") != 0)) {
            return refuse(text, error);
        }
        star[1] = 0; /* the name begins after it */
        out->type = text;
        return USM_OK;
    }
    at[length] = 0;
    out->type = text;
    if (!is_local && !is_const && parse_bytes(word, "unknown", out)) {
        out->kind = USM_PARAMETER_UNKNOWN;
        return USM_OK;
    }
    if (is_local || (dtype == USM_NO_DTYPE && !parse_bytes(word, "bytes", out))) {
        return refuse(text, error);
    }
    out->size = dtype != USM_NO_DTYPE ? usm_dtype_table[dtype].itemsize : out->size;
    return USM_OK;
}

int usm_parameter_write(const usm_parameter *parameter, char *out, size_t size)
{
    const char *name = parameter->dtype == USM_NO_DTYPE ? NULL : usm_dtype_table[parameter->dtype].name;
    bool is_local = parameter->kind == USM_PARAMETER_LOCAL, is_value = parameter->kind == USM_PARAMETER_VALUE;
    if (is_local || parameter->kind == USM_PARAMETER_POINTER) {
        const char *prefix = is_local ? "local " : parameter->read_only ? "const " : "";
        return snprintf(out, size, "%s%s*", prefix, name != NULL ? name : "void");
    }
    if (is_value && name != NULL) {
        return snprintf(out, size, "%s", name);
    }
    const char *word = is_value ? "bytes" : "unknown";
    return parameter->size != 0 ? snprintf(out, size, "%s[%u]", word, parameter->size)
                                : snprintf(out, size, "%s", word);
}

char *usm_signature_write(const usm_kernel *kernel)
{
    static const char *const fits[] = {"", " groups", " range"};
    const size_t *required = kernel->required_local;
    size_t size = strlen(kernel->name) + 96;
    for (size_t i = 0; i < kernel->n_parameters; i++) {
        const char *name = kernel->parameters[i].name;
        size += 48 + (name != NULL ? strlen(name) : 0);
    }
    char *text = usm_malloc(size);
    if (text == NULL) {
        return NULL;
    }
    char *at = text + sprintf(text, "%s(", kernel->name);
    for (size_t i = 0; i < kernel->n_parameters; i++) {
        const usm_parameter *parameter = &kernel->parameters[i];
        at += sprintf(at, "%s", i > 0 ? ", " : "");
        at += usm_parameter_write(parameter, at, 40);
        at += parameter->name != NULL ? sprintf(at, " %s", parameter->name) : 0;
    }
    at += sprintf(at, ")%s", fits[kernel->fit]);
    if (required[0] != 0) {
        sprintf(at, " %zu %zu %zu", required[0], required[1], required[2]);
    }
    return text;
}

/* The text after the "(" of the kernel's line; NULL if there is no such line. */
static const char *find_line(const char *signatures, const char *name)
{
    size_t n = strlen(name);
    const char *at = signatures;
    while (strncmp(at, name, n) != 0 || at[n] != '(') {
        at = strchr(at, '\n');
        if (at == NULL) {
            return NULL;
        }
        at++;
    }
    return at + n + 1;
}

/* The text after the ")" of a line. */
static void apply_tail(usm_kernel *kernel, const char *at)
{
    if (strncmp(at, " groups", 7) == 0) {
        kernel->fit = USM_FIT_GROUPS;
        at += 7;
    } else if (strncmp(at, " range", 6) == 0) {
        kernel->fit = USM_FIT_RANGE;
        at += 6;
    }
    size_t required[3];
    if (sscanf(at, " %zu %zu %zu", &required[0], &required[1], &required[2]) == 3 && required[0] > 0 &&
        required[1] > 0 && required[2] > 0) {
        memcpy(kernel->required_local, required, sizeof required);
    }
}

usm_status usm_signature_apply(usm_kernel *kernel, const char *signatures, usm_error *error)
{
    const char *found = find_line(signatures, kernel->name);
    size_t length = found == NULL ? 0 : strcspn(found, ")\n"), n = length > 0;
    if (found == NULL) {
        return USM_OK;
    }
    char *line = usm_malloc(length + 1);
    usm_status status = USM_OK;
    usm_parameter *parameters = NULL;
    if (line != NULL) {
        memcpy(line, found, length);
        line[length] = 0;
        for (size_t i = 0; i < length; i++) {
            n += line[i] == ',';
        }
        parameters = usm_calloc(n + 1, sizeof *parameters);
    }
    if (line == NULL || parameters == NULL) {
        status = usm_error_memory(error, length + 1, "a signature");
        goto done;
    }
    if (n != kernel->n_parameters && !kernel->types_unknown) {
        goto done;
    }
    char *at = line;
    for (size_t i = 0; i < n && status == USM_OK; i++) {
        char *next = at + strcspn(at, ",") + 1;
        status = usm_parameter_parse(at, &parameters[i], error);
        at = next;
    }
    if (status == USM_OK) {
        usm_parameter *old = kernel->parameters;
        status = usm_kernel_set_parameters(kernel, kernel->name, parameters, n, error);
        free(status == USM_OK ? old : NULL);
    }
    if (status == USM_OK && found[length] == ')') {
        apply_tail(kernel, found + length + 1);
    }
done:
    free(line);
    free(parameters);
    return status;
}

/* The scalar types of OpenCL C, whose sizes are fixed. */
static const struct {
    const char *name;
    usm_dtype dtype;
} scalars[] = {
    {"char", USM_INT8},
    {"uchar", USM_UINT8},
    {"unsigned char", USM_UINT8},
    {"short", USM_INT16},
    {"ushort", USM_UINT16},
    {"unsigned short", USM_UINT16},
    {"int", USM_INT32},
    {"uint", USM_UINT32},
    {"unsigned int", USM_UINT32},
    {"long", USM_INT64},
    {"ulong", USM_UINT64},
    {"unsigned long", USM_UINT64},
    {"half", USM_FLOAT16},
    {"_Float16", USM_FLOAT16},
    {"float", USM_FLOAT32},
    {"double", USM_FLOAT64},
    {"size_t", USM_UINT64},
    {"bool", USM_BOOL},
    {"signed char", USM_INT8},
    {"ptrdiff_t", USM_INT64},
    {"intptr_t", USM_INT64},
    {"uintptr_t", USM_UINT64},
    {"usm_complex64", USM_COMPLEX64},
    {"usm_complex128", USM_COMPLEX128},
};

const char *usm_parameter_shown_type(const char *type)
{
    static const char ours[] = "usm_";
    return strncmp(type, "usm_complex", 11) == 0 ? type + sizeof ours - 1 : type;
}

void usm_parameter_read_type(const char *name, size_t length, usm_parameter *out)
{
    out->dtype = USM_NO_DTYPE;
    out->size = 0;
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        size_t n = strlen(scalars[i].name);
        if (length < n || strncmp(name, scalars[i].name, n) != 0) {
            continue;
        }
        unsigned itemsize = usm_dtype_table[scalars[i].dtype].itemsize;
        if (length == n) {
            out->dtype = (int16_t)scalars[i].dtype;
            out->size = itemsize;
        }
        static const char *const widths[] = {"2", "3", "4", "8", "16"}; /* OpenCL C, 6.3.2 */
        for (size_t k = 0; k < sizeof widths / sizeof *widths; k++) {
            if (length == n + strlen(widths[k]) && strncmp(name + n, widths[k], length - n) == 0) {
                out->size = itemsize * (k == 1 ? 4 : (unsigned)atoi(widths[k]));
            }
        }
    }
}
