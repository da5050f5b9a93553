/* Dispatch: finds the kernel that was built for the types of a launch's arguments, and launches it. */
#include "dispatch.h"
#include "docstrings.h"

#include "py/args.h"
#include "py/arrays/array.h"
#include "py/objects/objects.h"
#include "py/objects/placement.h"

#include "core/trace/record.h"

#include <stddef.h>
#include <string.h>
#include <structmember.h>

enum { MOST_ARGUMENTS = 60, MOST_SLOTS = 240 };

/* What an argument is, in the key of a build; the dtype and the number of dimensions follow. */
enum { IS_OTHER, IS_ARRAY, IS_BOOL, IS_INT, IS_FLOAT, IS_COMPLEX, IS_NONE, IS_LOCAL, IS_SCALAR };

#define KEY(kind, dtype, ndim, contiguous) \
    ((uint32_t)(kind) << 24 | (uint32_t)(dtype) << 16 | (uint32_t)(ndim) << 8 | (uint32_t)(contiguous))

/* The integers that fit into what an argument meets. */
typedef struct limit {
    uint8_t argument;
    int64_t low, high;
} limit;

/* A kernel for one place and one set of types. Immutable; freed with the Dispatch. */
typedef struct built {
    struct built *next;
    const usm_place *place; /* kept by the kernel */
    PyObject *kernel;       /* Kernel */
    Py_ssize_t n_slots, n_limits;
    usmpy_slot *slots; /* in this block, as the others */
    limit *limits;
    uint32_t key[];
} built;

typedef struct dispatch {
    PyObject_HEAD
    PyObject *name;  /* str */
    PyObject *owner; /* has _build(arguments, queue), and _order(arguments, by name) */
    _Atomic(built *) first;
    Py_ssize_t n_arguments;
    bool checked;
} dispatch;

static PyObject *dispatch_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *owner, *name;
    Py_ssize_t n;
    int checked;
    if (kwargs != NULL || !PyArg_ParseTuple(args, "OUnp", &owner, &name, &n, &checked)) {
        return kwargs != NULL ? PyErr_Format(PyExc_TypeError, "_Dispatch takes no arguments by name") : NULL;
    }
    if (n > MOST_ARGUMENTS) {
        return PyErr_Format(PyExc_ValueError, "%U has %zd arguments; a kernel has at most %d", name, n,
                            MOST_ARGUMENTS);
    }
    dispatch *self = (dispatch *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->owner = Py_NewRef(owner);
        self->name = Py_NewRef(name);
        self->n_arguments = n;
        self->checked = checked != 0;
    }
    return (PyObject *)self;
}

static int dispatch_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((dispatch *)self)->owner);
    return 0;
}

static int dispatch_clear(PyObject *self)
{
    Py_CLEAR(((dispatch *)self)->owner);
    return 0;
}

static void dispatch_dealloc(PyObject *self)
{
    dispatch *own = (dispatch *)self;
    PyObject_GC_UnTrack(self);
    for (built *item = atomic_load(&own->first), *next; item != NULL; item = next) {
        next = item->next;
        Py_DECREF(item->kernel);
        PyMem_Free(item);
    }
    Py_XDECREF(own->name);
    Py_XDECREF(own->owner);
    usmpy_free_object(self);
}

PyObject *usmpy_dispatch_of(usmpy_state *state, PyObject *kernel)
{
    if (Py_IS_TYPE(kernel, state->dispatch_type)) {
        return Py_NewRef(kernel);
    }
    PyObject *found = PyObject_GetAttrString(kernel, "_dispatch");
    if (found == NULL) {
        PyErr_Clear();
    } else if (!Py_IS_TYPE(found, state->dispatch_type)) {
        Py_CLEAR(found);
    }
    return found;
}

const char *usmpy_dispatch_name(PyObject *self)
{
    const char *text = PyUnicode_AsUTF8(((dispatch *)self)->name);
    return text != NULL ? text : "kernel";
}

/* The part of the key that stands for an argument; IS_OTHER if a kernel takes no such object. */
static uint32_t describe(usmpy_state *state, PyObject *object)
{
    if (usmpy_is_array(state, object)) {
        const usmpy_array *array = (usmpy_array *)object;
        return KEY(IS_ARRAY, array->dtype, array->ndim, (array->flags & USM_C_CONTIGUOUS) != 0);
    }
    if (Py_IS_TYPE(object, state->local_type)) {
        return KEY(IS_LOCAL, ((usmpy_local *)object)->dtype, 0, 0);
    }
    bool plain = PyFloat_CheckExact(object) || PyLong_CheckExact(object) || object == Py_None ||
                 PyBool_Check(object) || PyComplex_CheckExact(object);
    if (!plain && usmpy_is_number_in_memory(object)) { /* of NumPy, whose float64 is a float, too */
        PyObject *number;
        usm_dtype dtype;
        bool found = usmpy_host_value(state, object, &number, &dtype) > 0;
        if (found) {
            Py_DECREF(number);
        }
        PyErr_Clear();
        return found && dtype != USM_NO_DTYPE ? KEY(IS_SCALAR, dtype, 0, 0) : KEY(IS_OTHER, 0, 0, 0);
    }
    return object == Py_None         ? KEY(IS_NONE, 0, 0, 0)
           : PyBool_Check(object)    ? KEY(IS_BOOL, 0, 0, 0)
           : PyLong_Check(object)    ? KEY(IS_INT, 0, 0, 0)
           : PyFloat_Check(object)   ? KEY(IS_FLOAT, 0, 0, 0)
           : PyComplex_Check(object) ? KEY(IS_COMPLEX, 0, 0, 0)
                                     : KEY(IS_OTHER, 0, 0, 0);
}

/* Raises TypeError. NULL */
static PyObject *refuse(const dispatch *self, Py_ssize_t i, PyObject *object)
{
    PyObject *found = PyObject_CallMethod(self->owner, "_describe", "nO", i, object);
    if (found != NULL) { /* an object whose attributes changed meanwhile */
        Py_DECREF(found);
        PyErr_Format(PyExc_TypeError, "argument %zd of %U: %s %.80s was given", i, self->name,
                     USMPY_A(object));
    }
    return NULL;
}

/*
 * From what PythonKernel._build returned: (a new Kernel, slots as bytes, limits as a tuple of (argument, low,
 * high), what traces call it).
 */
static built *new_built(usmpy_state *state, const dispatch *self, const uint32_t *key, PyObject *found)
{
    PyObject *kernel, *limits;
    const char *slots, *label;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(found, "O!y#O!s", state->kernel_type, &kernel, &slots, &size, &PyTuple_Type,
                          &limits, &label)) {
        return NULL;
    }
    Py_ssize_t n = self->n_arguments, n_slots = size / (Py_ssize_t)sizeof(usmpy_slot);
    Py_ssize_t n_limits = PyTuple_GET_SIZE(limits),
               n_words = (n + 1) / 2 * 2; /* so that limits are aligned */
    const char *kept = usm_record_name(label);
    if (kept == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    if (n_slots > MOST_SLOTS) {
        return usmpy_error_format(PyExc_ValueError,
                                  "%U needs %zd arguments in C, with the shapes of its arrays; at most %d "
                                  "are allowed",
                                  self->name, n_slots, MOST_SLOTS);
    }
    built *item = PyMem_Calloc(
        1, sizeof *item + (size_t)n_words * sizeof *key + (size_t)n_limits * sizeof(limit) + (size_t)size);
    if (item == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    item->limits = (limit *)(item->key + n_words);
    item->slots = (usmpy_slot *)(item->limits + n_limits);
    item->n_slots = n_slots;
    item->n_limits = n_limits;
    memcpy(item->key, key, (size_t)n * sizeof *key);
    memcpy(item->slots, slots, (size_t)size);
    for (Py_ssize_t i = 0; i < n_limits; i++) {
        long long low, high;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(limits, i), "bLL", &item->limits[i].argument, &low, &high)) {
            PyMem_Free(item);
            return NULL;
        }
        item->limits[i].low = low;
        item->limits[i].high = high;
    }
    usm_kernel *core = ((usmpy_kernel *)kernel)->kernel;
    if (core->label ==
        NULL) { /* nobody has launched it yet: threads that build at once get the same kernel */
        core->label = kept;
        core->n_parameters -= self->checked; /* the record is hidden */
    }
    item->kernel = Py_NewRef(kernel);
    item->place = ((usmpy_kernel *)kernel)->kernel->program->place;
    return item;
}

/* Among item and those that were built before it. */
static const built *find(const dispatch *self, const built *item, const usm_place *place, const uint32_t *key)
{
    while (item != NULL &&
           (item->place != place || memcmp(item->key, key, (size_t)self->n_arguments * sizeof *key) != 0)) {
        item = item->next;
    }
    return item;
}

/* Builds the kernel for these arguments. NULL with an exception. */
static const built *build(usmpy_state *state, dispatch *self, const uint32_t *key, PyObject *queue,
                          PyObject *const *objects)
{
    PyObject *arguments = PyTuple_New(self->n_arguments);
    for (Py_ssize_t i = 0; arguments != NULL && i < self->n_arguments; i++) {
        PyTuple_SET_ITEM(arguments, i, Py_NewRef(objects[i]));
    }
    PyObject *found =
        arguments == NULL ? NULL : PyObject_CallMethod(self->owner, "_build", "OO", arguments, queue);
    built *item = found == NULL ? NULL : new_built(state, self, key, found);
    const built *kept = item;
    if (item != NULL) {
        item->next = atomic_load(&self->first);
        do {
            kept = find(self, item->next, item->place, key); /* which another thread has built meanwhile */
        } while (kept == NULL && !atomic_compare_exchange_weak(&self->first, &item->next, item));
        if (kept != NULL) {
            Py_DECREF(item->kernel);
            PyMem_Free(item);
        } else {
            kept = item;
        }
    }
    Py_XDECREF(found);
    Py_XDECREF(arguments);
    return kept;
}

/* 0, or -1 with OverflowError: a Python int does not fit into what it meets. */
static int check_limits(const dispatch *self, const built *item, PyObject *const *objects)
{
    for (Py_ssize_t i = 0; i < item->n_limits; i++) {
        const limit *allowed = &item->limits[i];
        int overflow;
        long long value = PyLong_AsLongLongAndOverflow(objects[allowed->argument], &overflow);
        if (value == -1 && PyErr_Occurred()) {
            return -1;
        }
        if (overflow != 0 || value < allowed->low || value > allowed->high) {
            const usm_kernel *kernel = ((usmpy_kernel *)item->kernel)->kernel;
            size_t k = 0;
            while (item->slots[k].kind != USMPY_SLOT_ITSELF || item->slots[k].argument != allowed->argument) {
                k++;
            }
            return usmpy_refuse(
                PyExc_OverflowError,
                "argument %d (%s) of %U: %.60R does not fit into the numbers that it meets; %lld to "
                "%lld are allowed",
                (int)allowed->argument, kernel->parameters[k].name, self->name, objects[allowed->argument],
                (long long)allowed->low, (long long)allowed->high);
        }
    }
    return 0;
}

/* Arguments in order, all of them. */
static PyObject *launch(usmpy_state *state, dispatch *self, const usm_range *range, PyObject *queue,
                        PyObject *const *objects, PyObject *depends)
{
    uint32_t key[MOST_ARGUMENTS];
    PyObject *place = queue, *expanded[MOST_SLOTS];
    int64_t sizes[MOST_SLOTS];
    for (Py_ssize_t i = 0; i < self->n_arguments; i++) {
        key[i] = describe(state, objects[i]);
        if (USM_UNLIKELY(key[i] >> 24 == IS_OTHER)) {
            return refuse(self, i, objects[i]);
        }
        if (place == NULL && key[i] >> 24 == IS_ARRAY) {
            place = ((usmpy_array *)objects[i])->queue;
        }
    }
    if (place == NULL) {
        return PyErr_Format(
            state->placement_error,
            "no argument of %U is a USMArray, whose queue it would run in; use queue.submit(kernel, args, range)",
            self->name);
    }
    const built *item = find(self, atomic_load_explicit(&self->first, memory_order_acquire),
                             usmpy_queue_of(place)->place, key);
    if (USM_UNLIKELY(item == NULL)) {
        item = build(state, self, key, place, objects);
        if (item == NULL) {
            return NULL;
        }
    }
    if (check_limits(self, item, objects) < 0) {
        return NULL;
    }
    for (Py_ssize_t k = 0; k < item->n_slots; k++) {
        const usmpy_slot *slot = &item->slots[k];
        PyObject *object = objects[slot->argument];
        expanded[k] = slot->kind == USMPY_SLOT_ITSELF ? object : Py_None;
        switch (slot->kind) {
            case USMPY_SLOT_EXTENT:
                sizes[k] = usmpy_shape((usmpy_array *)object)[slot->axis];
                break;
            case USMPY_SLOT_STRIDE:
                sizes[k] = usmpy_strides((usmpy_array *)object)[slot->axis];
                break;
            case USMPY_SLOT_COUNT:
                sizes[k] = ((usmpy_local *)object)->nbytes /
                           usm_dtype_table[((usmpy_local *)object)->dtype].itemsize;
                break;
            default:
                break;
        }
    }
    const usmpy_expansion expansion = {item->slots, sizes};
    return self->checked ? usmpy_launch_checked(state, item->kernel, range, queue, expanded, item->n_slots,
                                                depends, &expansion)
                         : usmpy_launch_with(state, item->kernel, range, queue, expanded, item->n_slots,
                                             depends, NULL, &expansion);
}

PyObject *usmpy_dispatch_launch(usmpy_state *state, PyObject *dispatch_object, const usm_range *range,
                                PyObject *queue, PyObject *const *objects, Py_ssize_t n, PyObject *kwnames,
                                PyObject *depends)
{
    dispatch *self = (dispatch *)dispatch_object;
    bool named = kwnames != NULL && PyTuple_GET_SIZE(kwnames) > 0;
    if (USM_LIKELY(n == self->n_arguments && !named)) {
        return launch(state, self, range, queue, objects, depends);
    }
    PyObject *by_place = PyTuple_New(n), *by_name = PyDict_New(), *ordered = NULL, *event = NULL;
    for (Py_ssize_t i = 0; by_place != NULL && i < n; i++) {
        PyTuple_SET_ITEM(by_place, i, Py_NewRef(objects[i]));
    }
    bool ready = by_place != NULL && by_name != NULL;
    for (Py_ssize_t i = 0; ready && named && i < PyTuple_GET_SIZE(kwnames); i++) {
        ready = PyDict_SetItem(by_name, PyTuple_GET_ITEM(kwnames, i), objects[n + i]) == 0;
    }
    if (ready) {
        ordered = PyObject_CallMethod(self->owner, "_order", "OO", by_place, by_name);
    }
    if (ordered != NULL) {
        event = launch(state, self, range, queue, ((PyTupleObject *)ordered)->ob_item, depends);
    }
    Py_XDECREF(ordered);
    Py_XDECREF(by_name);
    Py_XDECREF(by_place);
    return event;
}

/* The Kernels that were built so far, the oldest first. */
static PyObject *get_built(PyObject *self, void *Py_UNUSED(unused))
{
    PyObject *list = PyList_New(0);
    for (const built *item = atomic_load(&((dispatch *)self)->first); list != NULL && item != NULL;
         item = item->next) {
        usmpy_append(&list, Py_NewRef(item->kernel));
    }
    if (list != NULL && PyList_Reverse(list) < 0) {
        Py_CLEAR(list);
    }
    return list;
}

static PyGetSetDef dispatch_getset[] = {
    {"built", get_built, NULL, USMPY_DOC__Dispatch_built, NULL},
    {0},
};

static PyType_Slot dispatch_slots[] = {
    {Py_tp_doc, USMPY_DOC__Dispatch},  {Py_tp_new, dispatch_new},
    {Py_tp_dealloc, dispatch_dealloc}, {Py_tp_traverse, dispatch_traverse},
    {Py_tp_clear, dispatch_clear},     {Py_mp_subscript, usmpy_kernel_bind},
    {Py_tp_getset, dispatch_getset},   {0, NULL},
};

USMPY_SPEC(dispatch, "usmpy._core._Dispatch", dispatch, Py_TPFLAGS_HAVE_GC)
