/* BoundKernel: the callable that kernel[range] and kernel[range, events] return. */
#include "dispatch.h"
#include "docstrings.h"
#include "py/args.h"

#include <stddef.h>
#include <structmember.h>

/* It may be called any number of times. */
typedef struct bound {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *kernel, *depends; /* depends may be NULL */
    usm_range range;
} bound;

/* The name of a Kernel or a Dispatch. */
static const char *name_of(PyObject *kernel)
{
    return Py_IS_TYPE(kernel, usmpy_state_of(kernel)->kernel_type) ? ((usmpy_kernel *)kernel)->kernel->name
                                                                   : usmpy_dispatch_name(kernel);
}

static PyObject *bound_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    bound *launcher = (bound *)self;
    usmpy_state *state = usmpy_state_of(self);
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    if (!Py_IS_TYPE(launcher->kernel, state->kernel_type)) {
        return usmpy_dispatch_launch(state, launcher->kernel, &launcher->range, NULL, args, n, kwnames,
                                     launcher->depends);
    }
    if (USM_UNLIKELY(kwnames != NULL && PyTuple_GET_SIZE(kwnames) > 0)) {
        return usmpy_launch_by_name(state, launcher->kernel, &launcher->range, args, n, kwnames,
                                    launcher->depends);
    }
    return usmpy_launch(state, launcher->kernel, &launcher->range, NULL, args, n, launcher->depends);
}

static PyObject *bound_repr(PyObject *self)
{
    const bound *launcher = (bound *)self;
    bool written_in_c = Py_IS_TYPE(launcher->kernel, usmpy_state_of(self)->kernel_type);
    PyObject *range = usmpy_range_text(&launcher->range), *text = NULL;
    PyObject *signature = range == NULL  ? NULL
                          : written_in_c ? usmpy_signature_text(((usmpy_kernel *)launcher->kernel)->kernel)
                                         : PyUnicode_FromString("...");
    if (signature != NULL) {
        text = PyUnicode_FromFormat("<BoundKernel %s[%U%s]; call it with (%U)>", name_of(launcher->kernel),
                                    range, launcher->depends != NULL ? ", ..." : "", signature);
    }
    Py_XDECREF(range);
    Py_XDECREF(signature);
    return text;
}

/* Reuses a freed object if there is one: most launches make and drop one. It is not tracked yet. */
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

/* Raises the TypeError of usmpy/_kernels/brackets.py. -1 */
static int refuse_key(PyObject *self, PyObject *key)
{
    PyObject *none = usmpy_call("usmpy._kernels.brackets", "refuse", "(sO)", name_of(self), key);
    Py_XDECREF(none); /* always NULL: it raises */
    return -1;
}

static bool is_int_or_ints(PyObject *object)
{
    return PyIndex_Check(object) || (PyTuple_CheckExact(object) && PyTuple_GET_SIZE(object) > 0 &&
                                     PyIndex_Check(PyTuple_GET_ITEM(object, 0)));
}

/*
 * [range] or [range, depends], with a borrowed reference to depends. The range is a Range, an NdRange or
 * an int: several ints could mean SYCL's extents, or CUDA's blocks and threads. 0 or -1.
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

PyObject *usmpy_kernel_bind(PyObject *self, PyObject *key)
{
    usmpy_state *state = usmpy_state_of(self);
    PyObject *depends;
    usm_range range;
    if (parse_key(state, self, key, &range, &depends) < 0) {
        return NULL;
    }
    if (depends != NULL && PyIter_Check(depends)) { /* an iterator is read once, for all calls */
        depends = usmpy_items_of(depends, "depends", "an Event or a sequence of Events is allowed",
                                 USMPY_MOST_ITEMS);
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
    /* Without these it cannot be part of a cycle. */
    if (depends != NULL || !Py_IS_TYPE(self, state->kernel_type) || ((usmpy_kernel *)self)->owner != NULL) {
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
    usmpy_state *state = usmpy_state_of_freed(type);
    if (USM_LIKELY(state != NULL) && state->n_spare_bound < USMPY_SPARE_BOUND) {
        state->spare_bound[state->n_spare_bound++] = self;
    } else {
        type->tp_free(self);
    }
    Py_DECREF(type);
}

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

USMPY_SPEC(bound, "usmpy._core.BoundKernel", bound,
           Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION)
