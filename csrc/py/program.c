/* Program: source in, kernels out; built for one device, and cached on disk. */
#include "launch.h"

#include "args.h"
#include "errors.h"
#include "objects.h"

#include "../core/signature.h"

#include <stddef.h>
#include <string.h>
#include <structmember.h>

typedef struct usmpy_program {
    PyObject_HEAD
    usm_program *program; /* one count; NULL until it is built */
    PyObject *queue;      /* of its place */
    PyObject *language;   /* str */
    PyObject *options;    /* str */
    PyObject *kernels;    /* dict of the Kernels that were asked for */
    PyObject *weakrefs;
} usmpy_program;

static const struct {
    const char *name;
    usm_language language;
    const char *backends; /* that take it */
    bool text;
} languages[] = {
    {"portable", USM_LANGUAGE_PORTABLE, "host opencl", true},
    {"opencl", USM_LANGUAGE_OPENCL, "opencl", true},
    {"cuda", USM_LANGUAGE_CUDA, "cuda", true},
    {"c", USM_LANGUAGE_LIBRARY, "host", true},
    {"spirv", USM_LANGUAGE_SPIRV, "opencl level_zero", false},
    {"ptx", USM_LANGUAGE_PTX, "cuda", true},
    {"native", USM_LANGUAGE_NATIVE, "opencl", false},
};

#define LANGUAGES (int)(sizeof languages / sizeof *languages)

static bool takes(int language, const char *backend)
{
    const char *found = strstr(languages[language].backends, backend);
    size_t n = strlen(backend);
    return found != NULL && (found[n] == 0 || found[n] == ' ');
}

/* The index in `languages`; -1 with TypeError or ValueError. */
static int parse_language(PyObject *language, const char *backend)
{
    int found = 0;
    if (usmpy_given(language)) {
        if (!PyUnicode_Check(language)) {
            PyErr_Format(PyExc_TypeError, "language is a %s; a str is allowed", Py_TYPE(language)->tp_name);
            return -1;
        }
        while (found < LANGUAGES && PyUnicode_CompareWithASCIIString(language, languages[found].name) != 0) {
            found++;
        }
    }
    if (found < LANGUAGES && takes(found, backend)) {
        return found;
    }
    PyObject *allowed = PyUnicode_FromString("");
    for (int i = 0; allowed != NULL && i < LANGUAGES; i++) {
        if (takes(i, backend)) {
            PyUnicode_AppendAndDel(
                &allowed, PyUnicode_FromFormat(PyUnicode_GET_LENGTH(allowed) == 0 ? "'%s'" : ", '%s'",
                                               languages[i].name));
        }
    }
    if (allowed != NULL) {
        PyErr_Format(PyExc_ValueError, "language is %R; devices of the backend %s take %U", language, backend,
                     allowed);
        Py_DECREF(allowed);
    }
    return -1;
}

/* BuildError with everything that the compiler wrote, as its message's end and as .log. Takes the log. */
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

/* <module>.<name>(*args): new reference. Takes args. */
static PyObject *call(const char *module, const char *name, PyObject *args)
{
    PyObject *function = args == NULL ? NULL : usmpy_import(module, name);
    PyObject *result = function == NULL ? NULL : PyObject_CallObject(function, args);
    Py_XDECREF(function);
    Py_XDECREF(args);
    return result;
}

/* On the host the system's compiler makes a shared object, which _compiler keeps on disk. */
static int build_host(usmpy_state *state, usmpy_program *self, const char *language, PyObject *source)
{
    PyObject *path =
        call("usmpy._compiler", "program", Py_BuildValue("(OsO)", source, language, self->options));
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

/* What a driver's binary depends on. */
static PyObject *cache_key(usmpy_program *self, const char *language, PyObject *source)
{
    const usm_device *device = usmpy_queue_of(self->queue)->device;
    return call("usmpy._cache", "key",
                Py_BuildValue("(ssssOsO)", device->backend->name, device->info.name, device->info.vendor,
                              device->info.driver_version, self->options, language, source));
}

/*
 * A binary with what its kernels take: lines of signatures (core/signature.h), a 0, the driver's own. 0, or
 * -1 with an exception.
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
 * In front of what Program.binary gives: drivers crash on binaries that were cut short or changed. Binaries
 * without it are another program's, and the driver's to judge.
 */
typedef struct mark {
    char name[8];
    uint64_t hash;
} mark;

#define MARK "usmpy-1"

/* FNV-1a: against accidents, not against people. */
static uint64_t hash(const char *data, size_t size)
{
    uint64_t value = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < size; i++) {
        value = (value ^ (unsigned char)data[i]) * UINT64_C(1099511628211);
    }
    return value;
}

/* 1: it was ours, and is built; 0: it is not ours; -1 with an exception. */
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

/* The binary of an earlier build: 1 when it was taken. One that the driver refuses is built anew. */
static int build_cached(usmpy_state *state, usmpy_program *self, PyObject *key)
{
    PyObject *binary = call("usmpy._cache", "load", Py_BuildValue("(Os)", key, ".bin"));
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

/* What the driver told of the kernels that were just built: not all drivers tell it of their binaries. */
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

/* What build_signed takes, behind `head` bytes that the caller fills. Without a binary form: UsmError. */
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
    PyObject *done = call("usmpy._cache", "store", Py_BuildValue("(OsO)", key, ".bin", entry));
    Py_DECREF(entry);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
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
    PyObject *key = cache_key(self, languages[language].name, source);
    if (key == NULL) {
        return -1;
    }
    int taken = build_cached(state, self, key);
    if (taken == 0) {
        const usm_program_source fresh = {
            .language = languages[language].language, .data = text, .size = (size_t)size, .options = options};
        taken = build(state, self, &fresh) < 0 || store(state, self, key) < 0 ? -1 : 1;
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

static int build_from(usmpy_state *state, usmpy_program *self, int language, PyObject *source)
{
    const char *backend = usmpy_queue_of(self->queue)->backend->name;
    if (languages[language].text ? !PyUnicode_Check(source) : !PyObject_CheckBuffer(source)) {
        PyErr_Format(PyExc_TypeError, "source is a %s; for language '%s' %s is allowed",
                     Py_TYPE(source)->tp_name, languages[language].name,
                     languages[language].text ? "a str" : "a bytes-like object");
        return -1;
    }
    if (!languages[language].text) {
        return build_bytes(state, self, language, source);
    }
    return strcmp(backend, "host") == 0 ? build_host(state, self, languages[language].name, source)
                                        : build_text(state, self, language, source);
}

static PyObject *program_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static const usmpy_signature signature = {
        "Program", 4, 1, 0, 1, {USMPY_source, USMPY_device, USMPY_language, USMPY_options}};
    usmpy_state *state = usmpy_state_of_type(type);
    PyObject *out[4];
    if (usmpy_parse_tuple(state, &signature, args, kwargs, out) < 0) {
        return NULL;
    }
    if (usmpy_given(out[3]) && !PyUnicode_Check(out[3])) {
        return PyErr_Format(PyExc_TypeError, "options is a %s; a str is allowed", Py_TYPE(out[3])->tp_name);
    }
    usmpy_program *self = (usmpy_program *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    PyObject_GC_UnTrack(self); /* until it is whole: builds take long, and gc.get_objects() shows all */
    self->queue = usmpy_queue_from(state, out[1] != NULL ? out[1] : Py_None, "device");
    self->kernels = PyDict_New();
    self->options = usmpy_given(out[3]) ? Py_NewRef(out[3]) : PyUnicode_FromString("");
    int language =
        self->queue == NULL ? -1 : parse_language(out[2], usmpy_queue_of(self->queue)->backend->name);
    self->language = language < 0 ? NULL : PyUnicode_FromString(languages[language].name);
    if (self->kernels == NULL || self->options == NULL || self->language == NULL ||
        build_from(state, self, language, out[0]) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    PyObject_GC_Track((PyObject *)self);
    return (PyObject *)self;
}

static int program_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((usmpy_program *)self)->queue);
    Py_VISIT(((usmpy_program *)self)->kernels);
    return 0;
}

static int program_clear(PyObject *self)
{
    Py_CLEAR(((usmpy_program *)self)->kernels);
    return 0;
}

static void program_dealloc(PyObject *self)
{
    usmpy_program *program = (usmpy_program *)self;
    PyObject_GC_UnTrack(self);
    if (program->weakrefs != NULL) {
        PyObject_ClearWeakRefs(self);
    }
    Py_XDECREF(program->kernels);
    Py_XDECREF(program->queue);
    Py_XDECREF(program->language);
    Py_XDECREF(program->options);
    if (program->program != NULL) {
        usm_program_release(program->program);
    }
    usmpy_free_object(self);
}

/* New reference; NULL with `missing` set where the program has no such kernel. */
static PyObject *find_kernel(usmpy_program *self, PyObject *name, PyObject *missing)
{
    usmpy_state *state = usmpy_state_of((PyObject *)self);
    PyObject *known = self->kernels == NULL ? NULL : PyDict_GetItemWithError(self->kernels, name);
    if (known != NULL || PyErr_Occurred()) {
        return Py_XNewRef(known);
    }
    Py_ssize_t length = 0;
    const char *text = PyUnicode_AsUTF8AndSize(name, &length);
    usm_kernel *kernel;
    usm_error error;
    usm_status status = USM_INDEX; /* of what is no name in UTF-8, or has a null character */
    if (text == NULL && !PyErr_ExceptionMatches(PyExc_UnicodeError)) {
        return NULL;
    }
    PyErr_Clear();
    if (text != NULL && strlen(text) == (size_t)length) {
        Py_BEGIN_ALLOW_THREADS
            status = usm_kernel_create(self->program, text, &kernel, &error);
        Py_END_ALLOW_THREADS
    }
    if (status == USM_INDEX) {
        PyErr_Format(missing, "the program has no kernel %R", name);
        return NULL;
    }
    PyObject *object = status == USM_OK ? usmpy_kernel_wrap(state, kernel, (PyObject *)self, NULL)
                                        : usmpy_raise(state, status, &error);
    if (self->kernels == NULL) { /* the collector was here: nobody else will ask */
        return object;
    }
    /* Another thread may have made it meanwhile: all get the same one. */
    PyObject *shared = object == NULL ? NULL : PyDict_SetDefault(self->kernels, name, object);
    Py_XINCREF(shared);
    Py_XDECREF(object);
    return shared;
}

static PyObject *program_subscript(PyObject *self, PyObject *name)
{
    if (!PyUnicode_Check(name)) {
        return PyErr_Format(PyExc_TypeError, "a kernel's name is a str, not a %s", Py_TYPE(name)->tp_name);
    }
    return find_kernel((usmpy_program *)self, name, PyExc_KeyError);
}

static PyObject *program_getattro(PyObject *self, PyObject *name)
{
    PyObject *value = PyObject_GenericGetAttr(self, name);
    if (value != NULL || !PyErr_ExceptionMatches(PyExc_AttributeError) ||
        ((usmpy_program *)self)->program == NULL) {
        return value;
    }
    if (PyUnicode_GET_LENGTH(name) >= 2 && PyUnicode_READ_CHAR(name, 0) == '_' &&
        PyUnicode_READ_CHAR(name, 1) == '_') { /* protocols of Python are no kernels */
        return NULL;
    }
    PyErr_Clear();
    return find_kernel((usmpy_program *)self, name, PyExc_AttributeError);
}

static PyObject *get_kernel_names(PyObject *self, void *unused)
{
    (void)unused;
    char **names = ((usmpy_program *)self)->program->kernels;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && names != NULL && names[i] != NULL; i++) {
        PyObject *name = PyUnicode_FromString(names[i]);
        if (name == NULL || PyList_Append(list, name) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(name);
    }
    return list;
}

static PyObject *get_device(PyObject *self, void *unused)
{
    (void)unused;
    return usmpy_device_wrap(usmpy_state_of(self), ((usmpy_program *)self)->program->place->device, NULL);
}

static PyObject *get_context(PyObject *self, void *unused)
{
    (void)unused;
    return usmpy_context_wrap(usmpy_state_of(self), ((usmpy_program *)self)->program->context);
}

static PyObject *get_binary(PyObject *self, void *unused)
{
    (void)unused;
    PyObject *binary = pack(usmpy_state_of(self), (usmpy_program *)self, sizeof(mark));
    if (binary != NULL) {
        char *at = PyBytes_AS_STRING(binary);
        const mark mark = {MARK, hash(at + sizeof mark, (size_t)PyBytes_GET_SIZE(binary) - sizeof mark)};
        memcpy(at, &mark, sizeof mark);
    }
    return binary;
}

static PyObject *program_repr(PyObject *self)
{
    const usmpy_program *program = (usmpy_program *)self;
    PyObject *names = get_kernel_names(self, NULL);
    PyObject *text = names == NULL ? NULL
                                   : PyUnicode_FromFormat("<Program %U on %s, kernels %R>", program->language,
                                                          program->program->place->device->info.name, names);
    Py_XDECREF(names);
    return text;
}

static PyGetSetDef program_getset[] = {
    {"device", get_device, NULL, "The Device that it was built for.", NULL},
    {"context", get_context, NULL, "The Context that it was built in.", NULL},
    {"kernel_names", get_kernel_names, NULL,
     "List of the kernels' names; empty where the driver does not tell.", NULL},
    {"binary", get_binary, NULL,
     "The built program as bytes, for language='native' on an equal device. UsmError where the\n"
     "backend has no such form.",
     NULL},
    {0},
};

static PyMemberDef program_members[] = {
    {"language", T_OBJECT, offsetof(usmpy_program, language), READONLY, "The language of the source."},
    {"options", T_OBJECT, offsetof(usmpy_program, options), READONLY, "The compiler's options."},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(usmpy_program, weakrefs), READONLY, NULL},
    {0},
};

static PyType_Slot program_slots[] = {
    {Py_tp_doc,
     "Program(source, *, device=None, language='portable', options='')\n--\n\n"
     "Kernels, built for one device: program['add'] and program.add are its Kernels.\n\n"
     "source: str; bytes for language 'spirv' and 'native'.\n"
     "device: None (the default device), a filter string, a Device, a Queue or a USMArray.\n"
     "language: 'portable' (OpenCL C without vector types, images and pipes: runs on every backend,\n"
     "with the same bits for + - * / and sqrt), 'opencl', 'spirv' or 'native' on OpenCL, 'c' on the\n"
     "host: functions void f(size_t begin, size_t end, ...).\n"
     "options: of the compiler, such as '-D N=4'.\n\n"
     "What was built is kept on disk ($USMPY_CACHE_DIR, else $XDG_CACHE_HOME/usmpy, else\n"
     "~/.cache/usmpy), by the content of everything that the result depends on.\n\n"
     "Raises BuildError, whose message and .log hold all that the compiler wrote; ValueError for a\n"
     "language that the device does not take; TypeError for wrong types."},
    {Py_tp_new, program_new},
    {Py_tp_dealloc, program_dealloc},
    {Py_tp_traverse, program_traverse},
    {Py_tp_clear, program_clear},
    {Py_tp_repr, program_repr},
    {Py_tp_getattro, program_getattro},
    {Py_mp_subscript, program_subscript},
    {Py_tp_getset, program_getset},
    {Py_tp_members, program_members},
    {0, NULL},
};

static PyType_Spec program_spec = {
    .name = "usmpy.Program",
    .basicsize = sizeof(usmpy_program),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = program_slots,
};

int usmpy_program_add_type(PyObject *module, usmpy_state *state)
{
    return usmpy_add_type(module, &program_spec, &state->program_type);
}
