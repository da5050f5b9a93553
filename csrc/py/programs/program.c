/* Program: its life, its kernels by name, its properties. How it is built: build.c. */
#include "program.h"
#include "docstrings.h"

#include "py/args.h"
#include "py/errors.h"
#include "py/objects/objects.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <structmember.h>

/* Whether the program is checked: as given, else as the environment says. 0, 1, or -1 with an exception. */
static int parse_check(PyObject *given, int language)
{
    const char *wish = getenv("USMPY_CHECK");
    bool portable = strcmp(usmpy_language_name(language), "portable") == 0;
    int wanted = portable && wish != NULL && wish[0] != 0 && strcmp(wish, "0") != 0;
    int check = usmpy_given(given) ? usmpy_bool(given, 0, "Program", "check") : wanted;
    if (check > 0 && !portable) {
        return usmpy_refuse(PyExc_ValueError,
                            "check is True, and language '%s'; programs of language 'portable' "
                            "can be checked",
                            usmpy_language_name(language));
    }
    return check;
}

static PyObject *program_new(usmpy_state *state, PyTypeObject *type, PyObject *const *out)
{
    if (usmpy_given(out[3]) && !PyUnicode_Check(out[3])) {
        return usmpy_wrong_type("options", out[3], "a str is allowed");
    }
    usmpy_program *self = (usmpy_program *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    PyObject_GC_UnTrack(self); /* until it is complete: gc.get_objects() would show it while it is built */
    self->queue = usmpy_queue_from(state, out[1] != NULL ? out[1] : Py_None, "device");
    self->kernels = PyDict_New();
    self->options = usmpy_given(out[3]) ? Py_NewRef(out[3]) : PyUnicode_FromString("");
    int language =
        self->queue == NULL ? -1 : usmpy_parse_language(out[2], usmpy_queue_of(self->queue)->backend);
    self->language = language < 0 ? NULL : PyUnicode_FromString(usmpy_language_name(language));
    self->source = PyObject_CheckBuffer(out[0]) ? PyBytes_FromObject(out[0]) : Py_NewRef(out[0]);
    int check = language < 0 ? -1 : parse_check(out[4], language);
    self->check = check > 0;
    if (check < 0 || self->kernels == NULL || self->options == NULL || self->language == NULL ||
        self->source == NULL || usmpy_build_program(state, self, language, out[0]) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    PyObject_GC_Track((PyObject *)self);
    return (PyObject *)self;
}

USMPY_NEW(Program, program_new)

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
    PyObject_ClearWeakRefs(self);
    Py_XDECREF(program->kernels);
    Py_XDECREF(program->queue);
    Py_XDECREF(program->language);
    Py_XDECREF(program->options);
    Py_XDECREF(program->source);
    if (program->program != NULL) {
        usm_program_release(program->program);
    }
    usmpy_free_object(self);
}

/* The message lists the kernels that exist. NULL */
static PyObject *raise_missing(const usmpy_program *self, PyObject *name, PyObject *missing)
{
    enum { SHOWN = 12 };
    char **names = self->program->kernels;
    PyObject *known = PyUnicode_FromString("");
    for (int i = 0; known != NULL && names != NULL && names[i] != NULL && i <= SHOWN; i++) {
        PyUnicode_AppendAndDel(&known, i == SHOWN
                                           ? PyUnicode_FromString(", ...")
                                           : PyUnicode_FromFormat(i == 0 ? "; it has %s" : ", %s", names[i]));
    }
    if (known != NULL) {
        usmpy_error_format(missing, "the program has no kernel %.60R%U", name, known);
        Py_DECREF(known);
    }
    return NULL;
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
    usm_status status = USM_INDEX; /* also for a name that is not UTF-8 or has a null character */
    if (text == NULL && !PyErr_ExceptionMatches(PyExc_UnicodeError)) {
        return NULL;
    }
    PyErr_Clear();
    if (text != NULL && strlen(text) == (size_t)length) {
        USMPY_WITHOUT_GIL(status = usm_kernel_create(self->program, text, &kernel, &error));
    }
    if (status == USM_INDEX) {
        return raise_missing(self, name, missing);
    }
    if (status == USM_OK && self->check && kernel->n_parameters > 0) {
        kernel->n_parameters--; /* the record is hidden */
    }
    PyObject *object = status == USM_OK ? usmpy_kernel_wrap(state, kernel, (PyObject *)self, NULL)
                                        : usmpy_raise(state, status, &error);
    if (self->kernels == NULL) { /* cleared by the garbage collector */
        return object;
    }
    /* If another thread made one at the same time, both get the same object. */
    PyObject *shared = object == NULL ? NULL : PyDict_SetDefault(self->kernels, name, object);
    Py_XINCREF(shared);
    Py_XDECREF(object);
    return shared;
}

static PyObject *program_subscript(PyObject *self, PyObject *name)
{
    if (!PyUnicode_Check(name)) {
        return PyErr_Format(PyExc_TypeError, "a kernel's name is a str, not %s %.80s", USMPY_A(name));
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
        PyUnicode_READ_CHAR(name, 1) == '_') { /* a Python protocol, not a kernel */
        return NULL;
    }
    PyErr_Clear();
    return find_kernel((usmpy_program *)self, name, PyExc_AttributeError);
}

static PyObject *get_kernel_names(PyObject *self, void *Py_UNUSED(unused))
{
    char **names = ((usmpy_program *)self)->program->kernels;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && names != NULL && names[i] != NULL; i++) {
        usmpy_append(&list, PyUnicode_FromString(names[i]));
    }
    return list;
}

USMPY_GETTER(device,
             usmpy_device_wrap(usmpy_state_of(self), ((usmpy_program *)self)->program->place->device, NULL))
USMPY_GETTER(context, usmpy_context_wrap(usmpy_state_of(self), ((usmpy_program *)self)->program->context))

static PyObject *get_binary(PyObject *self, void *Py_UNUSED(unused))
{
    if (((usmpy_program *)self)->check) {
        return PyErr_Format(usmpy_state_of(self)->usm_error,
                            "a checked program has no binary; build it with check=False");
    }
    return usmpy_program_bytes(usmpy_state_of(self), (usmpy_program *)self);
}

/* Attributes and kernels. */
static PyObject *program_dir(PyObject *self, PyObject *Py_UNUSED(unused))
{
    PyObject *own = PyObject_CallMethod((PyObject *)&PyBaseObject_Type, "__dir__", "O", self);
    PyObject *names = own == NULL ? NULL : get_kernel_names(self, NULL);
    PyObject *all = names == NULL ? NULL : PySequence_InPlaceConcat(own, names);
    Py_XDECREF(own);
    Py_XDECREF(names);
    return all;
}

/* IPython completes program["... with these. */
static PyObject *key_completions(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return get_kernel_names(self, NULL);
}

static PyObject *program_repr(PyObject *self)
{
    const usmpy_program *program = (usmpy_program *)self;
    char device[USM_DEVICE_TEXT];
    PyObject *names = get_kernel_names(self, NULL);
    PyObject *comma = names == NULL ? NULL : PyUnicode_FromString(", ");
    PyObject *joined = comma == NULL ? NULL : PyUnicode_Join(comma, names);
    PyObject *text =
        joined == NULL
            ? NULL
            : PyUnicode_FromFormat("<Program on %s, language '%U', kernels: %U>",
                                   usm_device_text(program->program->place->device, device, sizeof device),
                                   program->language, joined);
    Py_XDECREF(joined);
    Py_XDECREF(comma);
    Py_XDECREF(names);
    return text;
}

static PyObject *program_reduce(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return usmpy_call("usmpy._processes.pickles", "reduce_program", "(OO)", self,
                      ((usmpy_program *)self)->source);
}

static PyMethodDef program_methods[] = {
    {"__reduce__", program_reduce, METH_NOARGS, USMPY_DOC_Program___reduce__},
    {"__dir__", program_dir, METH_NOARGS, USMPY_DOC_Program___dir__},
    {"_ipython_key_completions_", key_completions, METH_NOARGS, USMPY_DOC_Program__ipython_key_completions_},
    {0},
};

static PyGetSetDef program_getset[] = {
    USMPY_GETTER_ROW(Program, device),
    USMPY_GETTER_ROW(Program, context),
    USMPY_GETTER_ROW(Program, kernel_names),
    USMPY_GETTER_ROW(Program, binary),
    {0},
};

static PyMemberDef program_members[] = {
    {"language", T_OBJECT, offsetof(usmpy_program, language), READONLY, USMPY_DOC_Program_language},
    {"options", T_OBJECT, offsetof(usmpy_program, options), READONLY, USMPY_DOC_Program_options},
    {"check", T_BOOL, offsetof(usmpy_program, check), READONLY, USMPY_DOC_Program_check},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(usmpy_program, weakrefs), READONLY, NULL},
    {0},
};

static PyType_Slot program_slots[] = {
    {Py_tp_doc, USMPY_DOC_Program},     {Py_tp_new, enter_Program},
    {Py_tp_dealloc, program_dealloc},   {Py_tp_traverse, program_traverse},
    {Py_tp_clear, program_clear},       {Py_tp_repr, program_repr},
    {Py_tp_getattro, program_getattro}, {Py_mp_subscript, program_subscript},
    {Py_tp_methods, program_methods},   {Py_tp_getset, program_getset},
    {Py_tp_members, program_members},   {0, NULL},
};

USMPY_SPEC(program, "usmpy.Program", usmpy_program, Py_TPFLAGS_HAVE_GC)
