/* Kernel, and BoundKernel, the callable that kernel[range, events] returns. */
#include "docstrings.h"
#include "launch.h"

#include "py/args.h"
#include "py/errors.h"
#include "py/objects/dtype.h"
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
    if (((usmpy_kernel *)self)->weakrefs != NULL) {
        PyObject_ClearWeakRefs(self);
    }
    kernel_clear(self);
    usm_kernel_release(core(self));
    Py_CLEAR(((usmpy_kernel *)self)->owner);
    usmpy_free_object(self);
}

static PyObject *get_parameters(PyObject *self, void *Py_UNUSED(unused))
{
    char text[48];
    const usm_kernel *kernel = core(self);
    PyObject *tuple = PyTuple_New((Py_ssize_t)kernel->n_parameters);
    for (size_t i = 0; tuple != NULL && i < kernel->n_parameters; i++) {
        usm_parameter_write(&kernel->parameters[i], text, sizeof text);
        usmpy_set_item(&tuple, (Py_ssize_t)i, PyUnicode_FromString(text));
    }
    return tuple;
}

static PyObject *get_parameter_names(PyObject *self, void *Py_UNUSED(unused))
{
    const usm_kernel *kernel = core(self);
    PyObject *tuple = PyTuple_New((Py_ssize_t)kernel->n_parameters);
    for (size_t i = 0; tuple != NULL && i < kernel->n_parameters; i++) {
        const char *name = kernel->parameters[i].name;
        usmpy_set_item(&tuple, (Py_ssize_t)i, name == NULL ? Py_NewRef(Py_None) : PyUnicode_FromString(name));
    }
    return tuple;
}

static PyObject *get_name(PyObject *self, void *Py_UNUSED(unused))
{
    return PyUnicode_FromString(core(self)->name);
}

static PyObject *get_device(PyObject *self, void *Py_UNUSED(unused))
{
    return usmpy_device_wrap(usmpy_state_of(self), core(self)->program->place->device, NULL);
}

static PyObject *get_max_work_group_size(PyObject *self, void *Py_UNUSED(unused))
{
    const usm_kernel *kernel = core(self);
    return PyLong_FromSize_t(kernel->max_local != 0
                                 ? kernel->max_local
                                 : kernel->program->place->device->info.max_work_group_size);
}

/* The parameters in words, such as "int32* x, int32 n". */
static PyObject *signature_text(const usm_kernel *kernel)
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
    PyObject *signature = signature_text(core(self)), *text = NULL;
    if (signature != NULL) {
        usm_device_text(core(self)->program->place->device, device, sizeof device);
        text = PyUnicode_FromFormat("<Kernel %s(%U) on %s>", core(self)->name, signature, device);
    }
    Py_XDECREF(signature);
    return text;
}

/* kernel[range, events]. It may be called any number of times. */
typedef struct bound {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *kernel, *depends; /* depends may be NULL */
    usm_range range;
} bound;

static PyObject *bound_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    bound *launcher = (bound *)self;
    usmpy_state *state = usmpy_state_of(self);
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    if (USM_UNLIKELY(kwnames != NULL && PyTuple_GET_SIZE(kwnames) > 0)) {
        return usmpy_launch_by_name(state, launcher->kernel, &launcher->range, args, n, kwnames,
                                    launcher->depends);
    }
    return usmpy_launch(state, launcher->kernel, &launcher->range, NULL, args, n, launcher->depends);
}

static PyObject *bound_repr(PyObject *self)
{
    const bound *launcher = (bound *)self;
    const usm_kernel *kernel = core(launcher->kernel);
    PyObject *range = usmpy_range_text(&launcher->range), *text = NULL;
    PyObject *signature = range == NULL ? NULL : signature_text(kernel);
    if (signature != NULL) {
        text = PyUnicode_FromFormat("<BoundKernel %s[%U%s]; call it with (%U)>", kernel->name, range,
                                    launcher->depends != NULL ? ", ..." : "", signature);
    }
    Py_XDECREF(range);
    Py_XDECREF(signature);
    return text;
}

/* Most launches make and drop one, so a few are kept. The garbage collector does not track it yet. */
static bound *new_bound(usmpy_state *state)
{
    bound *launcher;
    if (state->n_spare_bound > 0) {
        launcher = (bound *)state->spare_bound[--state->n_spare_bound];
        usmpy_revive_object((PyObject *)launcher, state->bound_type);
    } else {
        launcher = PyObject_GC_New(bound, state->bound_type);
    }
    if (launcher != NULL) {
        launcher->call = bound_call;
    }
    return launcher;
}

/* Raises the TypeError of usmpy/_brackets.py. -1 */
static int refuse_key(PyObject *self, PyObject *key)
{
    PyObject *none = usmpy_call("usmpy._brackets", "refuse", "(sO)", core(self)->name, key);
    Py_XDECREF(none); /* always NULL: it raises */
    return -1;
}

static bool is_int_or_ints(PyObject *object)
{
    return PyIndex_Check(object) || (PyTuple_CheckExact(object) && PyTuple_GET_SIZE(object) > 0 &&
                                     PyIndex_Check(PyTuple_GET_ITEM(object, 0)));
}

/*
 * [range] or [range, depends], with a borrowed reference to depends. A range here is a Range, an NdRange or
 * an int: several ints are SYCL's extents to some, and CUDA's blocks and threads to others. 0 or -1.
 */
static int parse_key(usmpy_state *state, PyObject *self, PyObject *key, usm_range *range, PyObject **depends)
{
    PyObject *space = key;
    *depends = NULL;
    if (PyTuple_CheckExact(key) && PyTuple_GET_SIZE(key) == 2) {
        space = PyTuple_GET_ITEM(key, 0);
        *depends = PyTuple_GET_ITEM(key, 1);
        if (is_int_or_ints(*depends)) {
            return refuse_key(self, key);
        }
    }
    bool taken = Py_IS_TYPE(space, state->range_type) || Py_IS_TYPE(space, state->nd_range_type) ||
                 PyIndex_Check(space);
    return taken ? usmpy_parse_range(state, space, range, "range") : refuse_key(self, key);
}

static PyObject *kernel_subscript(PyObject *self, PyObject *key)
{
    usmpy_state *state = usmpy_state_of(self);
    PyObject *depends;
    usm_range range;
    if (parse_key(state, self, key, &range, &depends) < 0) {
        return NULL;
    }
    if (depends != NULL && PyIter_Check(depends)) { /* an iterator is read once, for all calls */
        depends = PySequence_Tuple(depends);
        if (depends == NULL) {
            return NULL;
        }
    } else {
        Py_XINCREF(depends);
    }
    bound *launcher = new_bound(state);
    if (launcher == NULL) {
        Py_XDECREF(depends);
        return NULL;
    }
    launcher->kernel = Py_NewRef(self);
    launcher->depends = depends;
    launcher->range = range;
    /* Otherwise it cannot be part of a cycle. */
    if (depends != NULL || ((usmpy_kernel *)self)->owner != NULL) {
        PyObject_GC_Track((PyObject *)launcher);
    }
    return (PyObject *)launcher;
}

static int bound_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((bound *)self)->kernel);
    Py_VISIT(((bound *)self)->depends);
    return 0;
}

static void bound_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    Py_CLEAR(((bound *)self)->kernel);
    Py_CLEAR(((bound *)self)->depends);
    PyTypeObject *type = Py_TYPE(self);
    usmpy_state *state = usmpy_state_of_type(type);
    if (state->n_spare_bound < USMPY_SPARE_BOUND) {
        state->spare_bound[state->n_spare_bound++] = self;
    } else {
        type->tp_free(self);
    }
    Py_DECREF(type);
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
    return info->kind != USM_KIND_COMPLEX && (info->kind != USM_KIND_FLOAT || info->bits != 16);
}

/* Parses one item into *out; its text is copied to *at, which moves behind it. 0 or -1. */
static int parse_word(usmpy_state *state, PyObject *item, Py_ssize_t i, bool of_function, char **at,
                      usm_parameter *out)
{
    const char *text = PyUnicode_AsUTF8(item); /* kept by the item: no failure */
    usm_error error;
    if (strchr(text, ',') != NULL) {
        PyErr_Format(PyExc_ValueError, "parameters[%zd] has a comma", i);
        return -1;
    }
    char *copy = strcpy(*at, text);
    *at += strlen(text) + 1;
    if (usmpy_check(state, usm_parameter_parse(copy, out, &error), &error) < 0) {
        return -1;
    }
    if (of_function && !is_of_function(out)) {
        PyErr_Format(PyExc_ValueError,
                     "parameters[%zd] is %R; pointers, bool, integers, float32 and float64 are allowed", i,
                     item);
        return -1;
    }
    return 0;
}

/* of_function: the parameters are those of a C function. 0, or -1 with an exception. */
static int parse_words(usmpy_state *state, PyObject *object, bool of_function, words *out)
{
    static const char allowed[] = "a sequence of str is allowed";
    PyObject *items = PyUnicode_Check(object) ? usmpy_wrong_type("parameters", object, allowed)
                                              : usmpy_items_of(object, "parameters", allowed);
    if (items == NULL) {
        return -1;
    }
    Py_ssize_t n = PyTuple_GET_SIZE(items), length, total = 0;
    int status = 0;
    for (Py_ssize_t i = 0; status == 0 && i < n; i++) {
        PyObject *item = PyTuple_GET_ITEM(items, i);
        if (!PyUnicode_Check(item)) {
            PyErr_Format(PyExc_TypeError, "parameters[%zd] is %s %s; a str is allowed", i, USMPY_A(item));
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
    char *at = (char *)(out->parameters + n);
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

static PyObject *kernel_from_pointer(PyObject *type, PyObject *const *args, Py_ssize_t nargs,
                                     PyObject *kwnames)
{
    static const usmpy_signature signature = {
        "from_pointer", 4, 2, 0, 2, {USMPY_address, USMPY_parameters, USMPY_name, USMPY_owner}};
    usmpy_state *state = usmpy_state_of_type((PyTypeObject *)type);
    PyObject *out[4];
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
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
            PyErr_Format(PyExc_ValueError, "parameters[%zu] is '%s', but the program says '%s'", i,
                         said->type, text);
            return -1;
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

static PyMethodDef kernel_methods[] = {
    USMPY_CLASS_METHOD("from_pointer", kernel_from_pointer, USMPY_DOC_Kernel_from_pointer),
    {"with_parameters", with_parameters, METH_O, USMPY_DOC_Kernel_with_parameters},
    {0},
};

static PyGetSetDef kernel_getset[] = {
    {"name", get_name, NULL, USMPY_DOC_Kernel_name, NULL},
    {"device", get_device, NULL, USMPY_DOC_Kernel_device, NULL},
    {"parameters", get_parameters, NULL, USMPY_DOC_Kernel_parameters, NULL},
    {"parameter_names", get_parameter_names, NULL, USMPY_DOC_Kernel_parameter_names, NULL},
    {"max_work_group_size", get_max_work_group_size, NULL, USMPY_DOC_Kernel_max_work_group_size, NULL},
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
    {Py_tp_repr, kernel_repr},         {Py_mp_subscript, kernel_subscript},
    {Py_tp_methods, kernel_methods},   {Py_tp_getset, kernel_getset},
    {Py_tp_members, kernel_members},   {0, NULL},
};

static PyType_Spec kernel_spec = {
    .name = "usmpy.Kernel",
    .basicsize = sizeof(usmpy_kernel),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
             Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = kernel_slots,
};

static PyMemberDef bound_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(bound, call), READONLY, NULL},
    {0},
};

static PyType_Slot bound_slots[] = {
    {Py_tp_doc, USMPY_DOC_BoundKernel},
    {Py_tp_dealloc, bound_dealloc},
    {Py_tp_traverse, bound_traverse},
    {Py_tp_repr, bound_repr},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, bound_members},
    {0, NULL},
};

static PyType_Spec bound_spec = {
    .name = "usmpy._core.BoundKernel",
    .basicsize = sizeof(bound),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = bound_slots,
};

int usmpy_kernel_add_types(PyObject *module, usmpy_state *state)
{
    return usmpy_add_type(module, &kernel_spec, &state->kernel_type) < 0 ||
                   usmpy_add_type(module, &bound_spec, &state->bound_type) < 0
               ? -1
               : 0;
}
