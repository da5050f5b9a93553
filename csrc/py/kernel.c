/* Kernel, and what kernel[range, depends] gives: something to call with the arguments. */
#include "launch.h"

#include "args.h"
#include "dtype.h"
#include "errors.h"
#include "objects.h"

#include "../core/heap.h"

#include <stddef.h>
#include <string.h>
#include <structmember.h>

PyObject *usmpy_kernel_wrap(usmpy_state *state, usm_kernel *kernel, PyObject *program)
{
    usmpy_kernel *self = (usmpy_kernel *)state->kernel_type->tp_alloc(state->kernel_type, 0);
    if (self == NULL) {
        usm_kernel_release(kernel);
        return NULL;
    }
    self->kernel = kernel;
    self->program = Py_XNewRef(program);
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
    return 0;
}

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
    usmpy_free_object(self);
}

/* In the words of Kernel.from_pointer. */
static PyObject *parameter_text(const usm_parameter *parameter)
{
    const char *name = parameter->dtype == USM_NO_DTYPE ? NULL : usm_dtype_table[parameter->dtype].name;
    switch (parameter->kind) {
        case USM_PARAMETER_POINTER:
            return PyUnicode_FromFormat("%s%s*", parameter->read_only ? "const " : "",
                                        name != NULL ? name : "void");
        case USM_PARAMETER_LOCAL:
            return PyUnicode_FromFormat("local %s*", name != NULL ? name : "void");
        case USM_PARAMETER_VALUE:
            return name != NULL           ? PyUnicode_FromString(name)
                   : parameter->size != 0 ? PyUnicode_FromFormat("bytes[%u]", parameter->size)
                                          : PyUnicode_FromString("bytes");
        default:
            return PyUnicode_FromString("unknown");
    }
}

static PyObject *get_parameters(PyObject *self, void *unused)
{
    (void)unused;
    const usm_kernel *kernel = core(self);
    PyObject *tuple = PyTuple_New((Py_ssize_t)kernel->n_parameters);
    for (size_t i = 0; tuple != NULL && i < kernel->n_parameters; i++) {
        PyObject *text = parameter_text(&kernel->parameters[i]);
        if (text == NULL) {
            Py_CLEAR(tuple);
        } else {
            PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, text);
        }
    }
    return tuple;
}

static PyObject *get_parameter_names(PyObject *self, void *unused)
{
    (void)unused;
    const usm_kernel *kernel = core(self);
    PyObject *tuple = PyTuple_New((Py_ssize_t)kernel->n_parameters);
    for (size_t i = 0; tuple != NULL && i < kernel->n_parameters; i++) {
        const char *name = kernel->parameters[i].name;
        PyObject *text = name == NULL ? Py_NewRef(Py_None) : PyUnicode_FromString(name);
        if (text == NULL) {
            Py_CLEAR(tuple);
        } else {
            PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, text);
        }
    }
    return tuple;
}

static PyObject *get_name(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(core(self)->name);
}

static PyObject *get_program(PyObject *self, void *unused)
{
    (void)unused;
    PyObject *program = ((usmpy_kernel *)self)->program;
    return Py_NewRef(program != NULL ? program : Py_None);
}

static PyObject *get_device(PyObject *self, void *unused)
{
    (void)unused;
    return usmpy_device_wrap(usmpy_state_of(self), core(self)->program->place->device, NULL);
}

static PyObject *get_max_work_group_size(PyObject *self, void *unused)
{
    (void)unused;
    const usm_kernel *kernel = core(self);
    return PyLong_FromSize_t(kernel->max_local != 0
                                 ? kernel->max_local
                                 : kernel->program->place->device->info.max_work_group_size);
}

static PyObject *kernel_repr(PyObject *self)
{
    PyObject *parameters = get_parameters(self, NULL);
    PyObject *comma = parameters == NULL ? NULL : PyUnicode_FromString(", ");
    PyObject *joined = comma == NULL ? NULL : PyUnicode_Join(comma, parameters);
    PyObject *text = joined == NULL ? NULL
                                    : PyUnicode_FromFormat("<Kernel %s(%U) on %s>", core(self)->name, joined,
                                                           core(self)->program->place->device->info.name);
    Py_XDECREF(parameters);
    Py_XDECREF(comma);
    Py_XDECREF(joined);
    return text;
}

/* kernel[range, depends]: called once or often, with the arguments. */
typedef struct bound {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *kernel, *depends; /* depends may be NULL */
    usm_range range;
} bound;

static PyObject *bound_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    bound *launcher = (bound *)self;
    if (kwnames != NULL && PyTuple_GET_SIZE(kwnames) > 0) {
        return PyErr_Format(PyExc_TypeError, "%s takes its arguments by position",
                            core(launcher->kernel)->name);
    }
    return usmpy_launch(usmpy_state_of(self), launcher->kernel, &launcher->range, NULL, args,
                        PyVectorcall_NARGS(nargsf), launcher->depends);
}

static PyObject *kernel_subscript(PyObject *self, PyObject *key)
{
    usmpy_state *state = usmpy_state_of(self);
    PyObject *depends = NULL;
    usm_range range;
    if (PyTuple_CheckExact(key) && PyTuple_GET_SIZE(key) == 2 &&
        !PyIndex_Check(PyTuple_GET_ITEM(key, 1))) { /* else a tuple of extents */
        depends = PyTuple_GET_ITEM(key, 1);
        key = PyTuple_GET_ITEM(key, 0);
    }
    if (usmpy_parse_range(state, key, &range, "range") < 0) {
        return NULL;
    }
    bound *launcher = PyObject_GC_New(bound, state->bound_type);
    if (launcher != NULL) {
        launcher->call = bound_call;
        launcher->kernel = Py_NewRef(self);
        launcher->depends = Py_XNewRef(depends);
        launcher->range = range;
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
    usmpy_free_object(self);
}

/* "const float32*" and its like. 0, or -1 with an exception. */
static int parse_parameter(PyObject *item, Py_ssize_t i, usm_parameter *out)
{
    Py_ssize_t length;
    const char *text = PyUnicode_Check(item) ? PyUnicode_AsUTF8AndSize(item, &length) : NULL;
    *out = (usm_parameter){.kind = USM_PARAMETER_VALUE, .dtype = USM_NO_DTYPE};
    if (text == NULL) {
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_TypeError, "parameters[%zd] is a %s; a str is allowed", i,
                         Py_TYPE(item)->tp_name);
        }
        return -1;
    }
    const char *begin = text + strspn(text, " "), *end = text + length;
    out->type = text;
    while (end > begin && end[-1] == ' ') {
        end--;
    }
    bool is_const = strncmp(begin, "const ", 6) == 0;
    if (is_const) {
        begin += 6;
        begin += strspn(begin, " ");
    }
    if (end > begin && end[-1] == '*') {
        out->kind = USM_PARAMETER_POINTER;
        out->size = sizeof(void *);
        out->read_only = is_const;
        for (end--; end > begin && end[-1] == ' '; end--) {
        }
    }
    size_t n = (size_t)(end - begin);
    usm_dtype dtype = usm_dtype_from_name(begin, n);
    bool untyped = out->kind == USM_PARAMETER_POINTER && n == 4 && memcmp(begin, "void", 4) == 0;
    bool value = out->kind == USM_PARAMETER_VALUE;
    if ((dtype == USM_NO_DTYPE && !untyped) ||
        (value && (dtype >= USM_COMPUTED_DTYPES || usm_dtype_table[dtype].kind == USM_KIND_COMPLEX ||
                   dtype == USM_BFLOAT16 || dtype == USM_FLOAT16))) {
        PyErr_Format(
            PyExc_ValueError,
            "parameters[%zd] is %R; a dtype's name with 'const' before and '*' behind it where it is a "
            "pointer ('const float32*', 'float32*', 'void*'), or bool, an integer, float32 or float64 "
            "for a value is allowed",
            i, item);
        return -1;
    }
    out->dtype = (int16_t)dtype;
    out->size = value ? usm_dtype_table[dtype].itemsize : out->size;
    return 0;
}

static PyObject *from_pointer(usmpy_state *state, uintptr_t address, PyObject *items, PyObject *name)
{
    Py_ssize_t n = PyTuple_GET_SIZE(items);
    PyObject *queue = usmpy_host_queue(state); /* borrowed */
    usm_parameter *parameters = PyMem_New(usm_parameter, n == 0 ? 1 : n);
    PyObject *result = NULL;
    const char *text = usmpy_given(name) ? PyUnicode_AsUTF8(name) : "from_pointer";
    if (queue == NULL || parameters == NULL || text == NULL) {
        if (!PyErr_Occurred()) {
            PyErr_NoMemory();
        }
        goto done;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        if (parse_parameter(PyTuple_GET_ITEM(items, i), i, &parameters[i]) < 0) {
            goto done;
        }
    }
    const usm_pointer_source pointer = {(void (*)(void))address, text, parameters, (size_t)n};
    const usm_program_source source = {USM_LANGUAGE_POINTER, &pointer, sizeof pointer, ""};
    usm_error error;
    usm_program *program;
    usm_kernel *kernel;
    char *log;
    usm_status status = usm_program_create(usmpy_queue_of(queue)->place, &source, &program, &log, &error);
    if (status == USM_OK) {
        status = usm_kernel_create(program, text, &kernel, &error);
        usm_program_release(program);
    }
    result = status == USM_OK ? usmpy_kernel_wrap(state, kernel, NULL) : usmpy_raise(state, status, &error);
done:
    PyMem_Free(parameters);
    return result;
}

PyObject *usmpy_kernel_from_pointer(PyObject *type, PyObject *const *args, Py_ssize_t nargs,
                                    PyObject *kwnames)
{
    static const usmpy_signature signature = {
        "from_pointer", 3, 2, 0, 2, {USMPY_address, USMPY_parameters, USMPY_name}};
    usmpy_state *state = usmpy_state_of_type((PyTypeObject *)type);
    PyObject *out[3];
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    if (!PyLong_Check(out[0])) {
        return PyErr_Format(PyExc_TypeError, "address is a %s; an int is allowed", Py_TYPE(out[0])->tp_name);
    }
    uintptr_t address = (uintptr_t)PyLong_AsVoidPtr(out[0]);
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (address == 0) {
        return PyErr_Format(PyExc_ValueError, "address is 0; that of a function is allowed");
    }
    if (usmpy_given(out[2]) && !PyUnicode_Check(out[2])) {
        return PyErr_Format(PyExc_TypeError, "name is a %s; a str or None is allowed",
                            Py_TYPE(out[2])->tp_name);
    }
    PyObject *items = PyUnicode_Check(out[1]) ? NULL : usmpy_tuple_of(out[1]);
    if (items == NULL) {
        return PyErr_Occurred()
                   ? NULL
                   : PyErr_Format(PyExc_TypeError, "parameters is a %s; a sequence of str is allowed",
                                  Py_TYPE(out[1])->tp_name);
    }
    PyObject *kernel = from_pointer(state, address, items, out[2]);
    Py_DECREF(items);
    return kernel;
}

static PyMethodDef kernel_methods[] = {
    {"from_pointer", (PyCFunction)(void (*)(void))usmpy_kernel_from_pointer,
     METH_FASTCALL | METH_KEYWORDS | METH_CLASS,
     "from_pointer($type, address, parameters, *, name=None)\n--\n\n"
     "A kernel for the host device from a function in memory: ctypes, cffi, numba.cfunc.\n\n"
     "address: of a C function void f(size_t begin, size_t end, <parameters>), which does the part\n"
     "begin <= i < end of a one-dimensional range; it is called on disjoint parts, from several\n"
     "threads, without the GIL, and must stay in memory while the kernel is in use.\n"
     "parameters: a sequence such as ['const float32*', 'float32*', 'int32']: pointers ('void*' for\n"
     "any element), bool, integers, float32 and float64. What is const is only read.\n"
     "name: for messages.\n\n"
     "Raises ValueError for the address 0 and for an unknown parameter, TypeError for wrong types."},
    {0},
};

static PyGetSetDef kernel_getset[] = {
    {"name", get_name, NULL, "The function's name in the program.", NULL},
    {"program", get_program, NULL, "The Program that it belongs to; None for one from a pointer.", NULL},
    {"device", get_device, NULL, "The Device that it was built for.", NULL},
    {"parameters", get_parameters, NULL,
     "What it takes, as a tuple of str in the words of from_pointer(); 'local ...*' takes LocalMemory,\n"
     "'bytes[n]' a struct of n bytes, 'unknown' is what the program does not tell.",
     NULL},
    {"parameter_names", get_parameter_names, NULL, "Their names; None where the program does not tell.",
     NULL},
    {"max_work_group_size", get_max_work_group_size, NULL, "The most work-items in a group.", NULL},
    {0},
};

static PyMemberDef kernel_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(usmpy_kernel, weakrefs), READONLY, NULL},
    {0},
};

static PyType_Slot kernel_slots[] = {
    {Py_tp_doc,
     "A function of a Program, ready to be launched: kernel[range](*args) or\n"
     "kernel[range, depends](*args) returns the Event of the launch.\n\n"
     "range: a Range, an NdRange, an int or a sequence of ints. depends: an Event or a sequence of\n"
     "Events that must have ended before. The queue is the one that the USMArrays among the\n"
     "arguments share; Queue.submit names one.\n\n"
     "Arguments are USMArrays (None: a null pointer) for pointers, Python, NumPy and ctypes numbers\n"
     "for values, bytes and ctypes structures for structs, LocalMemory(nbytes) for local memory. All\n"
     "is checked before anything is enqueued: TypeError for a wrong count or type, OverflowError for a\n"
     "number that its parameter cannot hold, ValueError for a read-only array, a wrong size or a range\n"
     "beyond the limits, BufferError for an array that is not contiguous, ExecutionPlacementError for\n"
     "arrays of several queues and for a program of another device. What the kernel uses stays alive\n"
     "until it has ended."},
    {Py_tp_dealloc, kernel_dealloc},
    {Py_tp_traverse, kernel_traverse},
    {Py_tp_clear, kernel_clear},
    {Py_tp_repr, kernel_repr},
    {Py_mp_subscript, kernel_subscript},
    {Py_tp_methods, kernel_methods},
    {Py_tp_getset, kernel_getset},
    {Py_tp_members, kernel_members},
    {0, NULL},
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
    {Py_tp_doc, "A Kernel with its index space and dependencies; call it with the arguments."},
    {Py_tp_dealloc, bound_dealloc},
    {Py_tp_traverse, bound_traverse},
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
