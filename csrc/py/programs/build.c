/* Builds programs: from source, from a binary, or from the caches in the process and on disk. */
#include "program.h"

#include "py/args.h"
#include "py/errors.h"
#include "py/interpreter.h"
#include "py/objects/objects.h"

#include "core/builtin/builtin.h"
#include "core/program/signature.h"

#include <string.h>

static const struct {
    const char *name;
    usm_language language;
    bool text;
} languages[] = {
    {"portable", USM_LANGUAGE_PORTABLE, true}, {"opencl", USM_LANGUAGE_OPENCL, true},
    {"cuda", USM_LANGUAGE_CUDA, true},         {"c", USM_LANGUAGE_LIBRARY, true},
    {"spirv", USM_LANGUAGE_SPIRV, false},      {"ptx", USM_LANGUAGE_PTX, true},
    {"native", USM_LANGUAGE_NATIVE, false},
};

#define LANGUAGES (int)(sizeof languages / sizeof *languages)

const char *usmpy_language_name(int language)
{
    return languages[language].name;
}

int usmpy_parse_language(PyObject *language, const usm_backend *backend)
{
    int found = 0;
    if (usmpy_given(language)) {
        if (!PyUnicode_Check(language)) {
            usmpy_wrong_type("language", language, "a str is allowed");
            return -1;
        }
        while (found < LANGUAGES && PyUnicode_CompareWithASCIIString(language, languages[found].name) != 0) {
            found++;
        }
    }
    if (found < LANGUAGES && usm_backend_takes(backend, languages[found].language)) {
        return found;
    }
    PyObject *allowed = PyUnicode_FromString("");
    for (int i = 0; allowed != NULL && i < LANGUAGES; i++) {
        if (usm_backend_takes(backend, languages[i].language)) {
            PyUnicode_AppendAndDel(
                &allowed, PyUnicode_FromFormat(PyUnicode_GET_LENGTH(allowed) == 0 ? "'%s'" : ", '%s'",
                                               languages[i].name));
        }
    }
    if (allowed != NULL && PyUnicode_GET_LENGTH(allowed) == 0) {
        PyErr_Format(PyExc_ValueError, "devices of the backend %s take no programs",
                     usm_backend_name(backend));
    } else if (allowed != NULL) {
        usmpy_error_format(PyExc_ValueError, "language is %.100R; devices of the backend %s take %U",
                           language, usm_backend_name(backend), allowed);
    }
    Py_XDECREF(allowed);
    return -1;
}

/* The build itself. text: the source that the user wrote; NULL for a binary. 0, or -1 with an exception. */
static int build(usmpy_state *state, usmpy_program *self, const usm_program_source *source, PyObject *text)
{
    usm_place *place = usmpy_queue_of(self->queue)->place;
    usm_error error;
    usm_status status;
    char *log;
    USMPY_WITHOUT_GIL(status = usm_program_create(place, source, &self->program, &log, &error));
    if (status == USM_BUILD) {
        PyObject *program =
            text == NULL ? Py_NewRef(Py_None)
                         : Py_BuildValue("(OOOi)", text, self->language, self->options, (int)self->check);
        usmpy_raise_object(
            NULL, usmpy_call("usmpy._compile.drivers", "failure", "(syisNN)", error.text, log, error.code,
                             error.name, usmpy_device_wrap(state, place->device, NULL), program));
        usm_error_clear(&error);
    } else if (status != USM_OK) {
        usmpy_raise(state, status, &error);
    }
    free(log);
    return status == USM_OK ? 0 : -1;
}

/* The name of the language that the driver takes sources in. */
static const char *driver_language(const usmpy_program *self)
{
    usm_language language = usm_backend_language(usmpy_queue_of(self->queue)->backend);
    int i = 0;
    while (languages[i].language != language) {
        i++;
    }
    return languages[i].name;
}

/* Translates the source for the driver, or checks it, and builds the result. 0, or -1 with an exception. */
static int build_source(usmpy_state *state, usmpy_program *self, PyObject *source)
{
    PyObject *prepared = usmpy_call("usmpy._compile.drivers", "prepare", "(sNOOOi)", driver_language(self),
                                    usmpy_device_wrap(state, usmpy_queue_of(self->queue)->device, NULL),
                                    source, self->language, self->options, (int)self->check);
    const char *name, *data, *options;
    Py_ssize_t size;
    int status = -1, into = 0;
    if (prepared != NULL && PyArg_ParseTuple(prepared, "ss#s", &name, &data, &size, &options)) {
        while (strcmp(languages[into].name, name) != 0) {
            into++;
        }
        const usm_program_source ready = {
            .language = languages[into].language, .data = data, .size = (size_t)size, .options = options};
        status = build(state, self, &ready, source);
    }
    Py_XDECREF(prepared);
    return status;
}

/*
 * Loads a binary that was packed with the signatures of its kernels: lines (core/program/signature.h), a
 * 0, the driver's binary. 0, or -1 with an exception.
 */
static int build_signed(usmpy_state *state, usmpy_program *self, const char *data, size_t size)
{
    size_t signatures = strnlen(data, size);
    if (signatures == size) {
        return usmpy_refuse(state->build_error, "the binary is damaged");
    }
    const usm_program_source source = {.language = USM_LANGUAGE_NATIVE,
                                       .data = data + signatures + 1,
                                       .size = size - signatures - 1,
                                       .options = "",
                                       .signatures = data};
    return build(state, self, &source, NULL);
}

/*
 * Begins the bytes of Program.binary, since drivers crash on truncated or changed binaries. Binaries
 * without the mark were made by other programs; the driver checks them.
 */
typedef struct mark {
    char name[8];
    uint64_t hash;
} mark;

#define MARK "usmpy-1"

/* FNV-1a: detects accidents, not attacks. */
static uint64_t hash(const char *data, size_t size)
{
    uint64_t value = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < size; i++) {
        value = (value ^ (unsigned char)data[i]) * UINT64_C(1099511628211);
    }
    return value;
}

/* 1: it has the mark, and is loaded; 0: it has none; -1 with an exception. */
static int build_marked(usmpy_state *state, usmpy_program *self, const char *data, size_t size)
{
    mark mark;
    if (size < sizeof mark.name || memcmp(data, MARK, sizeof mark.name) != 0) {
        return 0;
    }
    memcpy(&mark, data, size < sizeof mark ? size : sizeof mark);
    if (size < sizeof mark || mark.hash != hash(data + sizeof mark, size - sizeof mark)) {
        return usmpy_refuse(state->build_error, "the binary is cut short, or not what Program.binary gave");
    }
    return build_signed(state, self, data + sizeof mark, size - sizeof mark) < 0 ? -1 : 1;
}

/* Loads the binary of an earlier build. 1: done; 0: none, or refused by the driver; -1 with an exception. */
static int build_cached(usmpy_state *state, usmpy_program *self, PyObject *key)
{
    PyObject *binary = usmpy_call("usmpy._compile.cache", "load", "(Os)", key, ".bin");
    int taken = binary == NULL ? -1 : 0;
    if (taken == 0 && binary != Py_None) {
        taken = build_signed(state, self, PyBytes_AS_STRING(binary), (size_t)PyBytes_GET_SIZE(binary)) == 0;
        PyErr_Clear(); /* a refusal: it is built again */
    }
    Py_XDECREF(binary);
    return taken;
}

/* The signatures of the built kernels, which not all drivers report for binaries. New str. */
static PyObject *signatures_of(usm_program *program)
{
    PyObject *lines = PyUnicode_FromString("");
    for (char **name = program->kernels; lines != NULL && name != NULL && *name != NULL; name++) {
        usm_kernel *kernel;
        if (usm_kernel_create(program, *name, &kernel, NULL) != USM_OK) {
            continue;
        }
        char *line = usm_signature_write(kernel);
        usm_kernel_release(kernel);
        if (line == NULL) {
            Py_DECREF(lines);
            return PyErr_NoMemory();
        }
        PyUnicode_AppendAndDel(&lines, PyUnicode_FromFormat("%s\n", line));
        free(line);
    }
    return lines;
}

/* The bytes that build_signed loads, after `head` bytes for the caller. UsmError without a binary form. */
static PyObject *pack(usmpy_state *state, usmpy_program *self, size_t head)
{
    void *binary = NULL;
    size_t size = 0;
    usm_error error;
    usm_status status;
    USMPY_WITHOUT_GIL(status = usm_program_binary(self->program, &binary, &size, &error));
    if (status != USM_OK) {
        return usmpy_raise(state, status, &error);
    }
    PyObject *lines = signatures_of(self->program), *packed = NULL;
    Py_ssize_t length = 0;
    const char *text = lines == NULL ? NULL : PyUnicode_AsUTF8AndSize(lines, &length);
    if (text != NULL) {
        packed = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(head + size) + length + 1);
    }
    if (packed != NULL) {
        char *at = PyBytes_AS_STRING(packed) + head;
        memcpy(at, text, (size_t)length + 1);
        memcpy(at + length + 1, binary, size);
    }
    free(binary);
    Py_XDECREF(lines);
    return packed;
}

static int store(usmpy_state *state, usmpy_program *self, PyObject *key)
{
    PyObject *entry = pack(state, self, 0);
    if (entry == NULL) {
        if (!PyErr_ExceptionMatches(state->usm_error)) {
            return -1;
        }
        PyErr_Clear(); /* without a binary form there is nothing to keep */
        return 0;
    }
    PyObject *done = usmpy_call("usmpy._compile.cache", "store", "(OsN)", key, ".bin", entry);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

static int build_text(usmpy_state *state, usmpy_program *self, PyObject *source)
{
    Py_ssize_t size;
    usm_place *place = usmpy_queue_of(self->queue)->place;
    const char *text = PyUnicode_AsUTF8AndSize(source, &size);
    const char *options = PyUnicode_AsUTF8(self->options);
    if (text == NULL || options == NULL) {
        return -1;
    }
    if (strlen(text) != (size_t)size || strlen(options) != (size_t)PyUnicode_GET_LENGTH(self->options)) {
        return usmpy_refuse(PyExc_ValueError,
                            "source and options may not contain a null character, and options are ASCII");
    }
    PyObject *key = usmpy_call("usmpy._compile.drivers", "key", "(sNOOOi)", driver_language(self),
                               usmpy_device_wrap(state, place->device, NULL), source, self->language,
                               self->options, (int)self->check);
    if (key == NULL) {
        return -1;
    }
    const char *wish = getenv("USMPY_CACHE"); /* "0": no programs are kept in the process */
    const char *kept = wish != NULL && strcmp(wish, "0") == 0 ? NULL : PyUnicode_AsUTF8(key);
    int status = 0;
    self->program = kept == NULL ? NULL : usm_program_find(place, kept);
    if (self->program == NULL) {
        int cached = build_cached(state, self, key);
        if (cached < 0 ||
            (cached == 0 && (build_source(state, self, source) < 0 || store(state, self, key) < 0))) {
            status = -1;
        } else if (kept != NULL) {
            usm_program_keep(self->program, kept);
        }
    }
    Py_DECREF(key);
    return status;
}

static int build_bytes(usmpy_state *state, usmpy_program *self, int language, PyObject *source)
{
    Py_buffer view;
    const char *options = PyUnicode_AsUTF8(self->options);
    if (options == NULL || PyObject_GetBuffer(source, &view, PyBUF_SIMPLE) < 0) {
        return -1;
    }
    const usm_program_source bytes = {.language = languages[language].language,
                                      .data = view.buf,
                                      .size = (size_t)view.len,
                                      .options = options};
    int status =
        bytes.language == USM_LANGUAGE_NATIVE ? build_marked(state, self, view.buf, (size_t)view.len) : 0;
    status = status == 0 ? build(state, self, &bytes, NULL) : status < 0 ? -1 : 0;
    PyBuffer_Release(&view);
    return status;
}

/* 0, or -1 with BuildError if the driver lists the program's kernels and there is none. */
static int check_kernels(const usmpy_program *self, int language, PyObject *source)
{
    if (self->program->kernels == NULL || self->program->kernels[0] != NULL ||
        languages[language].language == USM_LANGUAGE_PTX) {
        return 0;
    }
    const usm_backend *backend = usmpy_queue_of(self->queue)->backend;
    usmpy_raise_object(NULL, usmpy_call("usmpy._compile.kernel_hints", "no_kernel", "(OOs)", source,
                                        self->language, usm_backend_name(backend)));
    return -1;
}

int usmpy_build_program(usmpy_state *state, usmpy_program *self, int language, PyObject *source)
{
    if (languages[language].text ? !PyUnicode_Check(source) : !PyObject_CheckBuffer(source)) {
        return usmpy_refuse(PyExc_TypeError, "source is %s %.80s; for language '%s' %s is allowed",
                            USMPY_A(source), languages[language].name,
                            languages[language].text ? "a str" : "a bytes-like object");
    }
    if (!languages[language].text) {
        return build_bytes(state, self, language, source);
    }
    /* The host's libraries are kept on disk by usmpy/_compile/compiler.py. */
    bool is_library = usm_backend_language(usmpy_queue_of(self->queue)->backend) == USM_LANGUAGE_LIBRARY;
    int status = is_library ? build_source(state, self, source) : build_text(state, self, source);
    return status < 0 ? -1 : check_kernels(self, language, source);
}

PyObject *usmpy_program_bytes(usmpy_state *state, usmpy_program *self)
{
    PyObject *binary = pack(state, self, sizeof(mark));
    if (binary != NULL) {
        char *at = PyBytes_AS_STRING(binary);
        const mark mark = {MARK, hash(at + sizeof mark, (size_t)PyBytes_GET_SIZE(binary) - sizeof mark)};
        memcpy(at, &mark, sizeof mark);
    }
    return binary;
}

/*
 * The texts that identify a built-in program on disk, with `binary`, of `size` bytes, in front if it is to be
 * stored. New reference, or NULL without an exception: the thread has no GIL, or there is no entry.
 */
static PyObject *call_store(const char *function, const usm_device *device, const usm_program_source *source,
                            const void *binary, size_t size)
{
    if (!usmpy_is_attached() || PyErr_Occurred() != NULL) {
        return NULL;
    }
    PyObject *result =
        usmpy_call("usmpy._compile.drivers", function, "(y#sssssy#)", binary, (Py_ssize_t)size,
                   usm_backend_name(device->backend), device->info.name, device->info.vendor,
                   device->info.driver_version, source->options, source->data, (Py_ssize_t)source->size);
    if (result == NULL && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
        PyErr_SetInterrupt(); /* pressed during the build: raised after the call */
    }
    PyErr_Clear();
    return result;
}

static void *load_builtin(const usm_device *device, const usm_program_source *source, size_t *size)
{
    PyObject *found = call_store("load_builtin", device, source, "", 0);
    void *binary = NULL;
    if (found != NULL && PyBytes_Check(found) && (binary = malloc((size_t)PyBytes_GET_SIZE(found))) != NULL) {
        *size = (size_t)PyBytes_GET_SIZE(found);
        memcpy(binary, PyBytes_AS_STRING(found), *size);
    }
    Py_XDECREF(found);
    return binary;
}

static void keep_builtin(const usm_device *device, const usm_program_source *source, const void *binary,
                         size_t size)
{
    Py_XDECREF(call_store("keep_builtin", device, source, binary, size));
}

void usmpy_builtin_store_start(void)
{
    static const usm_builtin_store store = {load_builtin, keep_builtin};
    usm_builtin_set_store(&store);
}
