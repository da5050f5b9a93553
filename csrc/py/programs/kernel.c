/* Kernel: its properties, its parameters in words, and kernels from the addresses of C functions. */
#include "docstrings.h"
#include "program.h"

#include "py/args.h"
#include "py/errors.h"
#include "py/objects/objects.h"

#include "core/program/signature.h"

#include <stddef.h>
#include <string.h>
#include <structmember.h>

PyObject *usmpy_kernel_wrap(usmpy_state *state, usm_kernel *kernel, PyObject *program, PyObject *owner)
{
    usmpy_kernel *self = (usmpy_kernel *)state->kernel_type->tp_alloc(state->kernel_type, 0);
    if (self == NULL) {
        usm_kernel_release(kernel);
        return NULL;
    }
    self->kernel = kernel;
    self->program = Py_XNewRef(program);
    self->checked = program != NULL && ((usmpy_program *)program)->check;
    self->owner = Py_XNewRef(owner);
    return (PyObject *)self;
}

static usm_kernel *core(PyObject *self)
{
    return ((usmpy_kernel *)self)->kernel;
}

static int kernel_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((usmpy_kernel *)self)->program);
    Py_VISIT(((usmpy_kernel *)self)->owner);
    return 0;
}

/*
 * The owner is released last, since a finalizer may still launch the kernel. A cycle through the owner is
 * broken at another of its objects, or never if all of them are immutable.
 */
static int kernel_clear(PyObject *self)
{
    Py_CLEAR(((usmpy_kernel *)self)->program);
    return 0;
}

static void kernel_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    PyObject_ClearWeakRefs(self);
    kernel_clear(self);
    usm_kernel_release(core(self));
    Py_CLEAR(((usmpy_kernel *)self)->owner);
    usmpy_free_object(self);
}

/* Of each parameter the type, or, where `names` is not NULL, the name; None where that is unknown. */
static PyObject *get_parameters(PyObject *self, void *names)
{
    char type[48];
    const usm_kernel *kernel = core(self);
    PyObject *tuple = PyTuple_New((Py_ssize_t)kernel->n_parameters);
    for (size_t i = 0; tuple != NULL && i < kernel->n_parameters; i++) {
        usm_parameter_write(&kernel->parameters[i], type, sizeof type);
        const char *word = names != NULL ? kernel->parameters[i].name : type;
        usmpy_set_item(&tuple, (Py_ssize_t)i, word == NULL ? Py_NewRef(Py_None) : PyUnicode_FromString(word));
    }
    return tuple;
}

USMPY_GETTER(name, PyUnicode_FromString(core(self)->name))
USMPY_GETTER(device, usmpy_device_wrap(usmpy_state_of(self), core(self)->program->place->device, NULL))

/* The kernel, borrowed; NULL with an exception if `device` is given and is not its own. */
static const usm_kernel *on_device(usmpy_state *state, PyObject *self, PyObject *device)
{
    const usm_device *own = core(self)->program->place->device;
    if (usmpy_given(device)) {
        device = usmpy_device_from(state, device, "device");
        if (device == NULL) {
            return NULL;
        }
        bool same = ((usmpy_device *)device)->device == own;
        if (!same) {
            usmpy_error_format(PyExc_ValueError, "device is %.100R; the kernel is built for %s", device,
                               own->info.name);
        }
        Py_DECREF(device);
        return same ? core(self) : NULL;
    }
    return core(self);
}

static PyObject *max_work_group_size(usmpy_state *state, PyObject *self, PyObject *const *arguments)
{
    const usm_kernel *kernel = on_device(state, self, arguments[0]);
    return kernel == NULL ? NULL
                          : PyLong_FromSize_t(kernel->max_local != 0
                                                  ? kernel->max_local
                                                  : kernel->program->place->device->info.max_work_group_size);
}

static PyObject *preferred_multiple(usmpy_state *state, PyObject *self, PyObject *const *arguments)
{
    const usm_kernel *kernel = on_device(state, self, arguments[0]);
    if (kernel == NULL) {
        return NULL;
    }
    const uint32_t sub_group = kernel->program->place->device->info.sub_group_sizes[0];
    size_t multiple = kernel->preferred_multiple != 0 ? kernel->preferred_multiple : sub_group;
    return PyLong_FromSize_t(multiple != 0 ? multiple : 1);
}

PyObject *usmpy_signature_text(const usm_kernel *kernel)
{
    char type[48];
    PyObject *text = PyUnicode_FromString("");
    for (size_t i = 0; text != NULL && i < kernel->n_parameters; i++) {
        const char *name = kernel->parameters[i].name;
        usm_parameter_write(&kernel->parameters[i], type, sizeof type);
        PyUnicode_AppendAndDel(
            &text, PyUnicode_FromFormat("%s%s%s%s", i > 0 ? ", " : "", type, name != NULL ? " " : "",
                                        name != NULL ? name : ""));
    }
    return text;
}

static PyObject *kernel_repr(PyObject *self)
{
    char device[USM_DEVICE_TEXT];
    PyObject *signature = usmpy_signature_text(core(self)), *text = NULL;
    if (signature != NULL) {
        usm_device_text(core(self)->program->place->device, device, sizeof device);
        text = PyUnicode_FromFormat("<Kernel %s(%U) on %s>", core(self)->name, signature, device);
    }
    Py_XDECREF(signature);
    return text;
}

/* Parameters from a sequence of str, followed in their block by the texts that they point into. */
typedef struct words {
    usm_parameter *parameters; /* from PyMem_Malloc */
    Py_ssize_t n;
} words;

/* A C function takes no structs, no local memory and no numbers that C has no type for. */
static bool is_of_function(const usm_parameter *parameter)
{
    if (parameter->kind != USM_PARAMETER_VALUE) {
        return parameter->kind == USM_PARAMETER_POINTER;
    }
    if (parameter->dtype == USM_NO_DTYPE || parameter->dtype >= (int)USM_COMPUTED_DTYPES) {
        return false;
    }
    const usm_dtype_info *info = &usm_dtype_table[parameter->dtype];
    return info->kind != USM_DTYPE_KIND_COMPLEX && (info->kind != USM_DTYPE_KIND_FLOAT || info->bits != 16);
}

/* Parses one item into *out; its text is copied to *at, which moves behind it. 0 or -1. */
static int parse_word(usmpy_state *state, PyObject *item, Py_ssize_t i, bool of_function, char **at,
                      usm_parameter *out)
{
    const char *text = PyUnicode_AsUTF8(item); /* kept by the item: no failure */
    usm_error error;
    if (strchr(text, ',') != NULL) {
        return usmpy_refuse(PyExc_ValueError, "parameters[%zd] has a comma", i);
    }
    char *copy = strcpy(*at, text);
    *at += strlen(text) + 1;
    if (usmpy_check(state, usm_parameter_parse(copy, out, &error), &error) < 0) {
        return -1;
    }
    if (of_function && !is_of_function(out)) {
        return usmpy_refuse(
            PyExc_ValueError,
            "parameters[%zd] is %.100R; pointers, bool, integers, float32 and float64 are allowed", i, item);
    }
    return 0;
}

/* of_function: the parameters are those of a C function. 0, or -1 with an exception. */
static int parse_words(usmpy_state *state, PyObject *object, bool of_function, words *out)
{
    static const char allowed[] = "a sequence of str is allowed";
    PyObject *items = PyUnicode_Check(object)
                          ? usmpy_wrong_type("parameters", object, allowed)
                          : usmpy_items_of(object, "parameters", allowed, USMPY_MOST_ITEMS);
    if (items == NULL) {
        return -1;
    }
    Py_ssize_t n = PyTuple_GET_SIZE(items), length = 0, total = 0;
    int status = 0;
    for (Py_ssize_t i = 0; status == 0 && i < n; i++) {
        PyObject *item = PyTuple_GET_ITEM(items, i);
        if (!PyUnicode_Check(item)) {
            PyErr_Format(PyExc_TypeError, "parameters[%zd] is %s %.80s; a str is allowed", i, USMPY_A(item));
        }
        status = !PyUnicode_Check(item) || PyUnicode_AsUTF8AndSize(item, &length) == NULL ? -1 : 0;
        total += length + 1;
    }
    out->n = n;
    out->parameters = status < 0 ? NULL : PyMem_Malloc((size_t)n * sizeof(usm_parameter) + (size_t)total + 1);
    if (status == 0 && out->parameters == NULL) {
        PyErr_NoMemory();
        status = -1;
    }
    char *at = status < 0 ? NULL : (char *)(out->parameters + n);
    for (Py_ssize_t i = 0; status == 0 && i < n; i++) {
        status = parse_word(state, PyTuple_GET_ITEM(items, i), i, of_function, &at, &out->parameters[i]);
    }
    if (status < 0) {
        PyMem_Free(out->parameters);
    }
    Py_DECREF(items);
    return status;
}

static PyObject *from_pointer(usmpy_state *state, uintptr_t address, const words *words, PyObject *name,
                              PyObject *owner)
{
    PyObject *queue = usmpy_host_queue(state); /* borrowed */
    const char *text = usmpy_given(name) ? PyUnicode_AsUTF8(name) : "from_pointer";
    if (queue == NULL || text == NULL) {
        return NULL;
    }
    const usm_pointer_source pointer = {(void (*)(void))address, text, words->parameters, (size_t)words->n};
    const usm_program_source source = {
        .language = USM_LANGUAGE_POINTER, .data = &pointer, .size = sizeof pointer, .options = ""};
    usm_error error;
    usm_program *program;
    usm_kernel *kernel;
    char *log;
    usm_status status = usm_program_create(usmpy_queue_of(queue)->place, &source, &program, &log, &error);
    if (status == USM_OK) {
        status = usm_kernel_create(program, text, &kernel, &error);
        usm_program_release(program);
    }
    return status == USM_OK ? usmpy_kernel_wrap(state, kernel, NULL, owner)
                            : usmpy_raise(state, status, &error);
}

static PyObject *kernel_from_pointer(usmpy_state *state, PyObject *Py_UNUSED(type), PyObject *const *out)
{
    if (!PyLong_Check(out[0])) {
        return usmpy_wrong_type("address", out[0], "an int is allowed");
    }
    uintptr_t address = (uintptr_t)PyLong_AsVoidPtr(out[0]);
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (address == 0) {
        return PyErr_Format(PyExc_ValueError, "address is 0; the address of a function is allowed");
    }
    if (usmpy_given(out[2]) && !PyUnicode_Check(out[2])) {
        return usmpy_wrong_type("name", out[2], "a str or None is allowed");
    }
    words words;
    if (parse_words(state, out[1], true, &words) < 0) {
        return NULL;
    }
    PyObject *kernel = from_pointer(state, address, &words, out[2], usmpy_given(out[3]) ? out[3] : NULL);
    PyMem_Free(words.parameters);
    return kernel;
}

/* The words may complete the program's types, but not contradict them: its code relies on them. 0 or -1. */
static int check_agreement(const usm_kernel *kernel, const words *words)
{
    for (size_t i = 0; i < kernel->n_parameters; i++) {
        const usm_parameter *told = &kernel->parameters[i], *said = &words->parameters[i];
        bool same = (told->kind == USM_PARAMETER_UNKNOWN &&
                     (told->size == 0 || (told->size == said->size && said->kind != USM_PARAMETER_LOCAL) ||
                      (said->kind == USM_PARAMETER_UNKNOWN && said->size == 0))) ||
                    (told->kind == said->kind &&
                     (told->kind != USM_PARAMETER_VALUE || told->dtype == said->dtype ||
                      (told->dtype == USM_NO_DTYPE && (told->size == 0 || told->size == said->size))) &&
                     /* A void pointer has no element type. */
                     (told->kind != USM_PARAMETER_POINTER || told->read_only || !said->read_only ||
                      told->dtype == USM_NO_DTYPE));
        if (!same) {
            char text[48];
            usm_parameter_write(told, text, sizeof text);
            return usmpy_refuse(PyExc_ValueError, "parameters[%zu] is '%s', but the program says '%s'", i,
                                said->type, text);
        }
    }
    return 0;
}

static PyObject *with_parameters(PyObject *self, PyObject *argument)
{
    usmpy_state *state = usmpy_state_of(self);
    usm_kernel *old = core(self), *kernel;
    usm_error error;
    words words;
    PyObject *result = NULL;
    if (parse_words(state, argument, false, &words) < 0) {
        return NULL;
    }
    if ((size_t)words.n != old->n_parameters) {
        PyErr_Format(PyExc_ValueError, "parameters has %zd entries, but %s takes %zu", words.n, old->name,
                     old->n_parameters);
    } else if (check_agreement(old, &words) == 0 &&
               usmpy_check(state, usm_kernel_create(old->program, old->name, &kernel, &error), &error) == 0) {
        usm_parameter *told = kernel->parameters;
        usm_status status =
            usm_kernel_set_parameters(kernel, kernel->name, words.parameters, (size_t)words.n, &error);
        if (usmpy_check(state, status, &error) == 0) {
            free(told);
            result = usmpy_kernel_wrap(state, kernel, ((usmpy_kernel *)self)->program,
                                       ((usmpy_kernel *)self)->owner);
        } else {
            usm_kernel_release(kernel);
        }
    }
    PyMem_Free(words.parameters);
    return result;
}

static PyObject *kernel_reduce(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return usmpy_call("usmpy._processes.pickles", "reduce_kernel", "(O)", self);
}

USMPY_CLASS_MEMBER(Kernel_from_pointer, kernel_from_pointer)
USMPY_MEMBER(Kernel_max_work_group_size, max_work_group_size)
USMPY_MEMBER(Kernel_preferred_work_group_size_multiple, preferred_multiple)

static PyMethodDef kernel_methods[] = {
    {"__reduce__", kernel_reduce, METH_NOARGS, USMPY_DOC_Kernel___reduce__},
    USMPY_CLASS_MEMBER_ROW(Kernel, from_pointer),
    {"with_parameters", with_parameters, METH_O, USMPY_DOC_Kernel_with_parameters},
    USMPY_MEMBER_ROW(Kernel, max_work_group_size),
    USMPY_MEMBER_ROW(Kernel, preferred_work_group_size_multiple),
    {0},
};

static PyGetSetDef kernel_getset[] = {
    USMPY_GETTER_ROW(Kernel, name),
    USMPY_GETTER_ROW(Kernel, device),
    {"parameters", get_parameters, NULL, USMPY_DOC_Kernel_parameters, NULL},
    {"parameter_names", get_parameters, NULL, USMPY_DOC_Kernel_parameter_names, (void *)1},
    {0},
};

static PyMemberDef kernel_members[] = {
    {"program", T_OBJECT, offsetof(usmpy_kernel, program), READONLY, USMPY_DOC_Kernel_program},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(usmpy_kernel, weakrefs), READONLY, NULL},
    {0},
};

static PyType_Slot kernel_slots[] = {
    {Py_tp_doc, USMPY_DOC_Kernel},     {Py_tp_dealloc, kernel_dealloc},
    {Py_tp_traverse, kernel_traverse}, {Py_tp_clear, kernel_clear},
    {Py_tp_repr, kernel_repr},         {Py_mp_subscript, usmpy_kernel_bind},
    {Py_tp_methods, kernel_methods},   {Py_tp_getset, kernel_getset},
    {Py_tp_members, kernel_members},   {0, NULL},
};

USMPY_SPEC(kernel, "usmpy.Kernel", usmpy_kernel, Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION)
