/* Builds programs: with the driver, with the host's compiler, or from the cache on disk. */
#include "program.h"

#include "py/args.h"
#include "py/errors.h"
#include "py/objects/objects.h"

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
            PyErr_Format(PyExc_TypeError, "language is %s %s; a str is allowed", USMPY_A(language));
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
        PyErr_Format(PyExc_ValueError, "language is %R; devices of the backend %s take %U", language,
                     usm_backend_name(backend), allowed);
    }
    Py_XDECREF(allowed);
    return -1;
}

/* Raises BuildError; all that the compiler wrote ends the message and is its .log. Takes the log. */
static void raise_build_error(usmpy_state *state, const char *text, PyObject *log, const char *backend,
                              int code, const char *name)
{
    PyObject *message = log == NULL                      ? NULL
                        : PyUnicode_GET_LENGTH(log) == 0 ? PyUnicode_FromString(text)
                                                         : PyUnicode_FromFormat("%s\n%U", text, log);
    PyObject *args = message == NULL ? NULL : PyTuple_Pack(1, message);
    PyObject *kwargs =
        Py_BuildValue("{s:z,s:i,s:z,s:O}", "backend", backend[0] != 0 ? backend : NULL, "code", code, "name",
                      name[0] != 0 ? name : NULL, "log", log != NULL ? log : Py_None);
    PyObject *exception =
        args == NULL || kwargs == NULL ? NULL : PyObject_Call(state->build_error, args, kwargs);
    if (exception != NULL) {
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    }
    Py_XDECREF(exception);
    Py_XDECREF(kwargs);
    Py_XDECREF(args);
    Py_XDECREF(message);
    Py_XDECREF(log);
}

/* If the log names a type that the device does not support, the message names the missing aspect. */
static void add_aspect(const usm_device_info *info, const char *log, usm_error *error)
{
    bool wide = !info->has_fp64 && (strstr(log, "double") || strstr(log, "fp64") || strstr(log, "Float64"));
    bool half = !info->has_fp16 && (strstr(log, "half") || strstr(log, "fp16") || strstr(log, "Float16"));
    size_t length = strlen(error->text);
    if (wide || half) {
        snprintf(error->text + length, sizeof error->text - length,
                 "; the device has no aspect %s (Device.has_%s)", wide ? "fp64" : "fp16",
                 wide ? "fp64" : "fp16");
    }
}

/* The build itself. 0, or -1 with an exception. */
static int build(usmpy_state *state, usmpy_program *self, const usm_program_source *source)
{
    usm_place *place = usmpy_queue_of(self->queue)->place;
    usm_error error;
    usm_status status;
    char *log;
    Py_BEGIN_ALLOW_THREADS
        status = usm_program_create(place, source, &self->program, &log, &error);
    Py_END_ALLOW_THREADS
    if (status == USM_BUILD) {
        add_aspect(&place->device->info, log != NULL ? log : "", &error);
        raise_build_error(state, error.text,
                          PyUnicode_DecodeUTF8(log != NULL ? log : "",
                                               (Py_ssize_t)(log != NULL ? strlen(log) : 0), "replace"),
                          error.backend, error.code, error.name);
    } else if (status != USM_OK) {
        usmpy_raise(state, status, &error);
    }
    free(log);
    return status == USM_OK ? 0 : -1;
}

/* Calls <module>.<name>(*args). New reference. Takes args. */
static PyObject *call(const char *module, const char *name, PyObject *args)
{
    PyObject *function = args == NULL ? NULL : usmpy_import(module, name);
    PyObject *result = function == NULL ? NULL : PyObject_CallObject(function, args);
    Py_XDECREF(function);
    Py_XDECREF(args);
    return result;
}

/* The system's compiler makes a shared object, which usmpy/_compile/compiler.py keeps on disk. */
static int build_library(usmpy_state *state, usmpy_program *self, const char *language, PyObject *source)
{
    PyObject *path =
        call("usmpy._compile.compiler", "program", Py_BuildValue("(OsO)", source, language, self->options));
    if (path == NULL) {
        return -1;
    }
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(path, &size);
    const usm_program_source library = {
        .language = USM_LANGUAGE_LIBRARY, .data = text, .size = (size_t)size, .options = ""};
    int status = text == NULL ? -1 : build(state, self, &library);
    Py_DECREF(path);
    return status;
}

/* Its driver takes sources in this language, into which others are translated. */
static bool builds_from(const usmpy_program *self, usm_language language)
{
    return usm_backend_language(usmpy_queue_of(self->queue)->backend) == language;
}

static const char *backend_name(const usmpy_program *self)
{
    return usm_backend_name(usmpy_queue_of(self->queue)->backend);
}

/* The module that identifies our own translator of the source; NULL: the driver gets the source as it is. */
static const char *translator(const usmpy_program *self, int language)
{
    return builds_from(self, USM_LANGUAGE_CUDA) && languages[language].language != USM_LANGUAGE_PTX
               ? "usmpy._compile.cuda_key"
           : builds_from(self, USM_LANGUAGE_SPIRV) ? "usmpy._compile.spirv"
                                                   : NULL;
}

/* The module whose identify() returns the other inputs of a build beside source and options; NULL: none. */
static const char *identifier(const usmpy_program *self, int language)
{
    const char *through = translator(self, language);
    return through != NULL                          ? through
           : builds_from(self, USM_LANGUAGE_OPENCL) ? "usmpy._compile.included"
                                                    : NULL;
}

/* The key under which a driver's binary is kept: all that it depends on. New reference. */
static PyObject *cache_key(usmpy_program *self, int language, PyObject *source)
{
    const usm_device *device = usmpy_queue_of(self->queue)->device;
    const char *from = identifier(self, language);
    PyObject *more = from != NULL ? call(from, "identify", Py_BuildValue("(OO)", source, self->options))
                                  : PyBytes_FromString("");
    return more == NULL ? NULL
                        : call("usmpy._compile.cache", "key",
                               Py_BuildValue("(ssssOsON)", backend_name(self), device->info.name,
                                             device->info.vendor, device->info.driver_version, self->options,
                                             languages[language].name, source, more));
}

/*
 * Loads a binary that was packed with the signatures of its kernels: lines (core/program/signature.h), a 0,
 * the driver's binary. 0, or -1 with an exception.
 */
static int build_signed(usmpy_state *state, usmpy_program *self, const char *data, size_t size)
{
    size_t signatures = strnlen(data, size);
    if (signatures == size) {
        PyErr_SetString(state->build_error, "the binary is damaged");
        return -1;
    }
    const usm_program_source source = {.language = USM_LANGUAGE_NATIVE,
                                       .data = data + signatures + 1,
                                       .size = size - signatures - 1,
                                       .options = "",
                                       .signatures = data};
    return build(state, self, &source);
}

/*
 * Begins the bytes of Program.binary, since drivers crash on truncated or changed binaries. Binaries without
 * the mark were made by other programs; the driver checks them.
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
        PyErr_SetString(state->build_error, "the binary is cut short, or not what Program.binary gave");
        return -1;
    }
    return build_signed(state, self, data + sizeof mark, size - sizeof mark) < 0 ? -1 : 1;
}

/* Loads the binary of an earlier build. 1: done; 0: none, or the driver refuses it; -1 with an exception. */
static int build_cached(usmpy_state *state, usmpy_program *self, PyObject *key)
{
    PyObject *binary = call("usmpy._compile.cache", "load", Py_BuildValue("(Os)", key, ".bin"));
    if (binary == NULL || binary == Py_None) {
        Py_XDECREF(binary);
        return binary == NULL ? -1 : 0;
    }
    char *data;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(binary, &data, &size) < 0) {
        Py_DECREF(binary);
        return -1;
    }
    int taken = build_signed(state, self, data, (size_t)size) == 0;
    if (!taken) {
        PyErr_Clear();
    }
    Py_DECREF(binary);
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

/* What build_signed loads, behind `head` bytes that the caller fills. UsmError without a binary form. */
static PyObject *pack(usmpy_state *state, usmpy_program *self, size_t head)
{
    void *binary = NULL;
    size_t size = 0;
    usm_error error;
    usm_status status;
    Py_BEGIN_ALLOW_THREADS
        status = usm_program_binary(self->program, &binary, &size, &error);
    Py_END_ALLOW_THREADS
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
    PyObject *done = call("usmpy._compile.cache", "store", Py_BuildValue("(OsO)", key, ".bin", entry));
    Py_DECREF(entry);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

static int build_fresh(usmpy_state *state, usmpy_program *self, int language, const char *text,
                       Py_ssize_t size, const char *options)
{
    const usm_program_source fresh = {
        .language = languages[language].language, .data = text, .size = (size_t)size, .options = options};
    return build(state, self, &fresh);
}

static int build_translated(usmpy_state *state, usmpy_program *self, int language, PyObject *source)
{
    PyObject *pair = call("usmpy._compile.cuda", "prepare",
                          Py_BuildValue("(OsO)", source, languages[language].name, self->options));
    const char *text, *options;
    Py_ssize_t size;
    if (pair == NULL || !PyArg_ParseTuple(pair, "s#s", &text, &size, &options)) {
        Py_XDECREF(pair);
        return -1;
    }
    int status = build_fresh(state, self, language, text, size, options);
    Py_DECREF(pair);
    return status;
}

/* For drivers that take only SPIR-V. */
static int build_module(usmpy_state *state, usmpy_program *self, int language, PyObject *source)
{
    const usm_device_info *info = &usmpy_queue_of(self->queue)->device->info;
    PyObject *module =
        call("usmpy._compile.spirv", "prepare",
             Py_BuildValue("(OsOOO)", source, languages[language].name, self->options,
                           info->has_fp16 ? Py_True : Py_False, info->has_fp64 ? Py_True : Py_False));
    char *data;
    Py_ssize_t size;
    if (module == NULL || PyBytes_AsStringAndSize(module, &data, &size) < 0) {
        Py_XDECREF(module);
        return -1;
    }
    const usm_program_source spirv = {
        .language = USM_LANGUAGE_SPIRV, .data = data, .size = (size_t)size, .options = ""};
    int status = build(state, self, &spirv);
    Py_DECREF(module);
    return status;
}

/* The key for programs that are kept in the process; NULL: USMPY_CACHE=0. */
static const char *kept_under(PyObject *key)
{
    const char *wish = getenv("USMPY_CACHE");
    return wish != NULL && strcmp(wish, "0") == 0 ? NULL : PyUnicode_AsUTF8(key);
}

/*
 * OpenCL C has more features than the portable language. Features that other backends refuse are refused
 * here, too. 0, or -1 with BuildError.
 */
static int check_portable(const usmpy_program *self, int language, PyObject *source)
{
    if (languages[language].language != USM_LANGUAGE_PORTABLE || builds_from(self, USM_LANGUAGE_CUDA)) {
        return 0;
    }
    PyObject *none = call("usmpy._compile.portable_check", "check",
                          Py_BuildValue("(OOs)", source, self->options, backend_name(self)));
    Py_XDECREF(none);
    return none == NULL ? -1 : 0;
}

static int build_source(usmpy_state *state, usmpy_program *self, int language, PyObject *source)
{
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(source, &size);
    if (check_portable(self, language, source) < 0) {
        return -1;
    }
    return builds_from(self, USM_LANGUAGE_SPIRV) ? build_module(state, self, language, source)
           : translator(self, language) != NULL
               ? build_translated(state, self, language, source)
               : build_fresh(state, self, language, text, size, PyUnicode_AsUTF8(self->options));
}

static int build_text(usmpy_state *state, usmpy_program *self, int language, PyObject *source)
{
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(source, &size);
    const char *options = PyUnicode_AsUTF8(self->options);
    if (text == NULL || options == NULL) {
        return -1;
    }
    if (strlen(text) != (size_t)size || strlen(options) != (size_t)PyUnicode_GET_LENGTH(self->options)) {
        PyErr_SetString(PyExc_ValueError,
                        "source and options may not contain a null character, and options "
                        "are ASCII");
        return -1;
    }
    PyObject *key = cache_key(self, language, source);
    if (key == NULL) {
        return -1;
    }
    const char *kept = kept_under(key);
    self->program = kept == NULL ? NULL : usm_program_find(usmpy_queue_of(self->queue)->place, kept);
    if (self->program != NULL) {
        Py_DECREF(key);
        return 0;
    }
    int taken = build_cached(state, self, key);
    if (taken == 0) {
        int built = build_source(state, self, language, source);
        taken = built < 0 || store(state, self, key) < 0 ? -1 : 1;
    }
    if (taken > 0 && kept != NULL) {
        usm_program_keep(self->program, kept);
    }
    Py_DECREF(key);
    return taken < 0 ? -1 : 0;
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
    status = status == 0 ? build(state, self, &bytes) : status < 0 ? -1 : 0;
    PyBuffer_Release(&view);
    return status;
}

/* Adds a hint to the pending exception if there is one. -1 */
static int explain_failure(usmpy_state *state, int language, PyObject *source)
{
    PyObject *type, *value, *traceback;
    if (!PyErr_ExceptionMatches(state->build_error)) {
        return -1;
    }
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject *none = call("usmpy._compile.kernel_hints", "explain",
                          Py_BuildValue("(OOs)", value, source, languages[language].name));
    if (none == NULL) { /* the first exception matters more */
        PyErr_Clear();
    }
    Py_XDECREF(none);
    PyErr_Restore(type, value, traceback);
    return -1;
}

/* 0, or -1 with BuildError if the driver lists the program's kernels and there is none. */
static int check_kernels(usmpy_state *state, const usmpy_program *self, int language, PyObject *source)
{
    if (self->program->kernels == NULL || self->program->kernels[0] != NULL ||
        languages[language].language == USM_LANGUAGE_PTX) {
        return 0;
    }
    PyObject *error = call("usmpy._compile.kernel_hints", "no_kernel",
                           Py_BuildValue("(Oss)", source, languages[language].name, backend_name(self)));
    if (error != NULL) {
        PyErr_SetObject(state->build_error, error);
        Py_DECREF(error);
    }
    return -1;
}

int usmpy_build_program(usmpy_state *state, usmpy_program *self, int language, PyObject *source)
{
    if (languages[language].text ? !PyUnicode_Check(source) : !PyObject_CheckBuffer(source)) {
        PyErr_Format(PyExc_TypeError, "source is %s %s; for language '%s' %s is allowed", USMPY_A(source),
                     languages[language].name, languages[language].text ? "a str" : "a bytes-like object");
        return -1;
    }
    if (!languages[language].text) {
        return build_bytes(state, self, language, source);
    }
    int status = builds_from(self, USM_LANGUAGE_LIBRARY)
                     ? build_library(state, self, languages[language].name, source)
                     : build_text(state, self, language, source);
    return status < 0 ? explain_failure(state, language, source)
                      : check_kernels(state, self, language, source);
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
