/*
 * Programs of users and built-in kernels: built by NVIDIA's compiler or by the driver, and loaded for one
 * device (CUDA driver API, Module Management).
 */
#include "program.h"

#include "core/base/heap.h"

#include <stdlib.h>
#include <string.h>

#define LOG_SIZE 16384

/* With these codes the driver means that the program is at fault; with others that itself is. */
static bool image_is_at_fault(CUresult code)
{
    return code == CUDA_ERROR_INVALID_IMAGE || code == CUDA_ERROR_NO_BINARY_FOR_GPU ||
           code == CUDA_ERROR_INVALID_PTX || code == CUDA_ERROR_UNSUPPORTED_PTX_VERSION ||
           code == CUDA_ERROR_INVALID_SOURCE || code == CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND ||
           code == CUDA_ERROR_NOT_FOUND || code == CUDA_ERROR_INVALID_VALUE ||
           code == CUDA_ERROR_OPERATING_SYSTEM;
}

/*
 * Loads native->image. The device's context is current. *log is set where the image is at fault,
 * unless log is NULL.
 */
static usm_status load(usm_cuda_program *native, char **log, usm_error *error)
{
    char *said = log != NULL ? calloc(1, LOG_SIZE) : NULL;
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {said, (void *)(uintptr_t)(LOG_SIZE - 1)};
    CUresult code =
        usm_cuda.cuModuleLoadDataEx(&native->module, native->image, said != NULL ? 2 : 0, options, values);
    if (code == CUDA_SUCCESS) {
        free(said);
        return USM_OK;
    }
    native->module = NULL;
    if (!image_is_at_fault(code)) {
        free(said);
        return usm_cuda_failed(error, code, "cuModuleLoadDataEx");
    }
    if (log != NULL) {
        *log = said;
    }
    return usm_error_driver(error, USM_BUILD, "cuda", code, usm_cuda_name(code),
                            "%s does not load this program: cuModuleLoadDataEx returned %s (%d)",
                            native->device->info.name, usm_cuda_name(code), code);
}

/* A copy that is followed by a 0, as the driver wants PTX. NULL: memory ran out. */
static char *copy(const void *data, size_t size)
{
    char *text = usm_malloc(size + 1);
    if (text != NULL) {
        memcpy(text, data, size);
        text[size] = 0;
    }
    return text;
}

/* Removes comments from PTX, so that they cannot be taken for directives: blanks take their place. */
static void remove_comments(char *text)
{
    for (char *at = text; *at != 0; at++) {
        if (*at == '"') {
            at += 1 + strcspn(at + 1, "\"\n");
            if (*at == 0) {
                return;
            }
        } else if (at[0] == '/' && at[1] == '/') {
            size_t n = strcspn(at, "\n");
            memset(at, ' ', n);
        } else if (at[0] == '/' && at[1] == '*') {
            char *end = strstr(at + 2, "*/");
            size_t n = end != NULL ? (size_t)(end + 2 - at) : strlen(at);
            for (size_t i = 0; i < n; i++) {
                at[i] = at[i] == '\n' ? '\n' : ' ';
            }
        }
    }
}

/*
 * usmpy/_compile/cuda.py appends text to a source of language 'cuda' that reports its parameters. It does not
 * read C++ as a compiler does, so that text may be what is wrong: then the source is built without it, and
 * the messages are about the user's text.
 */
static usm_status compile(usm_cuda_program *native, const usm_program_source *source,
                          usm_cuda_compiled *compiled, char **log, usm_error *error)
{
    static const char mark[] = "\n#line 1 \"<usmpy>\"\n";
    usm_status status = usm_cuda_compile(native->device, source, compiled, log, error);
    const char *tail = source->language == USM_LANGUAGE_CUDA ? strstr(source->data, mark) : NULL;
    if (status != USM_BUILD || tail == NULL) {
        return status;
    }
    usm_program_source alone = *source;
    alone.size = (size_t)(tail - (const char *)source->data);
    char *text = copy(source->data, alone.size);
    if (text == NULL) {
        return usm_error_memory(error, alone.size, "a program");
    }
    alone.data = text;
    free(*log);
    *log = NULL;
    status = usm_cuda_compile(native->device, &alone, compiled, log, error);
    free(text);
    return status;
}

/*
 * Builds source: machine code, or PTX where the driver does not take code of this compiler, for example
 * because it is older.
 */
static usm_status build_source(usm_cuda_program *native, const usm_program_source *source, char **log,
                               usm_error *error)
{
    usm_cuda_compiled compiled;
    usm_status status = compile(native, source, &compiled, log, error);
    if (status != USM_OK) {
        return status;
    }
    native->ptx = compiled.ptx;
    if (compiled.cubin != NULL) {
        native->image = compiled.cubin;
        native->size = compiled.cubin_size;
        status = load(native, NULL, error);
        if (status != USM_BUILD || native->ptx == NULL) {
            return status;
        }
        free(native->image);
        native->image = NULL;
    }
    if (native->ptx == NULL) {
        return usm_error_driver(error, USM_DRIVER, "cuda", 0, "",
                                "libnvrtc gave neither machine code nor PTX");
    }
    native->size = strlen(native->ptx) + 1;
    native->image = copy(native->ptx, native->size);
    return native->image != NULL ? load(native, log, error)
                                 : usm_error_memory(error, native->size, "a program");
}

/* Two copies: the driver gets the text as it is, and parameters are read from the one without comments. */
static usm_status build_ptx(usm_cuda_program *native, const usm_program_source *source, char **log,
                            usm_error *error)
{
    native->size = source->size + 1;
    native->image = copy(source->data, source->size);
    native->ptx = copy(source->data, source->size);
    if (native->image == NULL || native->ptx == NULL) {
        return usm_error_memory(error, source->size, "a program");
    }
    remove_comments(native->ptx);
    return load(native, log, error);
}

/*
 * Loads a binary. What program_binary returned may be PTX, which has signatures beside it; a binary of
 * someone else may not.
 */
static usm_status build_native(usm_cuda_program *native, const usm_program_source *source, char **log,
                               usm_error *error)
{
    const char *data = source->data, *fault = usm_cuda_image_fault(data, source->size);
    bool is_ptx = fault != NULL && source->signatures != NULL && source->size > 1 &&
                  data[source->size - 1] == 0 && strstr(data, ".version") != NULL;
    if (is_ptx) {
        usm_program_source text = *source;
        text.size = strlen(data);
        return build_ptx(native, &text, log, error);
    }
    if (fault != NULL) {
        return usm_error_driver(error, USM_BUILD, "cuda", 0, "",
                                "the binary is refused: %s (PTX is language 'ptx')", fault);
    }
    native->size = source->size;
    native->image = copy(data, source->size);
    return native->image != NULL ? load(native, log, error)
                                 : usm_error_memory(error, source->size, "a program");
}

/*
 * Of PTX or of a cubin. A fatbin has several cubins, of which the driver chooses, so its kernels
 * are not listed.
 */
static char **find_symbols(const usm_cuda_program *native)
{
    return native->ptx != NULL                       ? usm_cuda_ptx_symbols(native->ptx)
           : (unsigned char)native->image[0] == 0x7f ? usm_cuda_cubin_symbols(native->image, native->size)
                                                     : NULL;
}

/* A symbol, and what users call it. */
typedef struct shown {
    const char *symbol;
    char name[256];
} shown;

static int compare_shown(const void *a, const void *b)
{
    return strcmp((*(shown *const *)a)->name, (*(shown *const *)b)->name);
}

/*
 * The names by which users find the kernels; the symbols themselves where two kernels would have the same
 * name. NULL: not known.
 */
static char **list_kernels(char *const *symbols)
{
    size_t n = 0, size = 0;
    while (symbols != NULL && symbols[n] != NULL) {
        size += strlen(symbols[n++]) + sizeof(((shown *)NULL)->name);
    }
    char **names = symbols == NULL ? NULL : malloc((n + 1) * sizeof *names + size);
    shown *all = malloc((n + 1) * sizeof *all), **sorted = malloc((n + 1) * sizeof *sorted);
    if (names == NULL || all == NULL || sorted == NULL) {
        free(names);
        names = NULL;
        goto done;
    }
    for (size_t i = 0; i < n; i++) {
        all[i].symbol = symbols[i];
        usm_cuda_shown_name(symbols[i], all[i].name, sizeof all[i].name);
        sorted[i] = &all[i];
    }
    qsort(sorted, n, sizeof *sorted, compare_shown);
    for (size_t i = 0; i < n;) { /* names that several have become empty */
        size_t first = i++;
        while (i < n && strcmp(sorted[first]->name, sorted[i]->name) == 0) {
            sorted[i++]->name[0] = 0;
        }
        if (i - first > 1 || strlen(sorted[first]->name) >= sizeof all->name - 1) {
            sorted[first]->name[0] = 0;
        }
    }
    char *at = (char *)(names + n + 1);
    for (size_t i = 0; i < n; i++) {
        strcpy(at, all[i].name[0] != 0 ? all[i].name : symbols[i]);
        names[i] = at;
        at += strlen(at) + 1;
    }
    names[n] = NULL;
done:
    free(all);
    free(sorted);
    return names;
}

static void free_native(usm_cuda_program *native)
{
    if (native != NULL) {
        free(native->image);
        free(native->ptx);
        free(native->symbols);
        free(native);
    }
}

usm_status usm_cuda_program_build(usm_program *base, const usm_program_source *source, char **log,
                                  usm_error *error)
{
    usm_cuda_scope scope;
    usm_device *device = base->place->device;
    usm_cuda_program *native = usm_calloc(1, sizeof *native);
    if (native == NULL) {
        return usm_error_memory(error, sizeof *native, "a program");
    }
    native->device = device;
    usm_status status = usm_cuda_enter(device, &scope, error);
    if (status != USM_OK) {
        free_native(native);
        return status;
    }
    usm_cuda_relax(&scope);
    switch (source->language) {
        case USM_LANGUAGE_PTX:
            status = build_ptx(native, source, log, error);
            break;
        case USM_LANGUAGE_NATIVE:
            status = build_native(native, source, log, error);
            break;
        case USM_LANGUAGE_PORTABLE:
        case USM_LANGUAGE_CUDA:
            status = build_source(native, source, log, error);
            break;
        default:
            status =
                usm_error_driver(error, USM_BUILD, "cuda", 0, "", "CUDA takes no program of this language");
    }
    usm_cuda_leave(&scope);
    if (status != USM_OK) {
        free_native(native);
        return status;
    }
    native->symbols = find_symbols(native);
    base->kernels = list_kernels(native->symbols);
    base->native = native;
    return USM_OK;
}

void usm_cuda_program_destroy(usm_program *base)
{
    usm_cuda_program *native = base->native;
    usm_cuda_scope scope;
    if (usm_cuda_enter_to_give_back(native->device, &scope)) {
        USM_CUDA_GIVE_BACK(native->device, cuModuleUnload, native->module);
        usm_cuda_leave(&scope);
    }
    free_native(native);
}

usm_status usm_cuda_program_binary(usm_program *base, void **out, size_t *size, usm_error *error)
{
    const usm_cuda_program *native = base->native;
    *out = copy(native->image, native->size);
    *size = native->size;
    return *out != NULL ? USM_OK : usm_error_memory(error, native->size, "a program's binary");
}
