/*
 * __sycl_usm_array_interface__, version 1 (dpctl's documentation), both ways: a dict with a pointer and the
 * SYCL object of the memory (`syclobj`). It defines no order, so the producer's work must be complete when it
 * returns the dict.
 */
#include "interface_dict.h"
#include "py/args.h"
#include "py/objects/trace.h"
#include "py/wait.h"
#include "sycl.h"

#include "core/exchange/dltensor.h"

#include <string.h>

#define SYCL "__sycl_usm_array_interface__"

enum { DATA, SHAPE, TYPESTR, SYCLOBJ, STRIDES, OFFSET, VERSION, MEMBERS };

static const usmpy_interface sycl = {
    .attribute = USMPY___sycl_usm_array_interface__,
    .text = SYCL,
    .version = 1,
    .members = {[DATA] = {USMPY_data, true},
                [SHAPE] = {USMPY_shape, true},
                [TYPESTR] = {USMPY_typestr, true},
                [SYCLOBJ] = {USMPY_syclobj, true},
                [STRIDES] = {USMPY_strides, false},
                [OFFSET] = {USMPY_offset, false},
                [VERSION] = {USMPY_version, false}},
};

static bool is_ours(usmpy_state *state, PyObject *object)
{
    return Py_IS_TYPE(object, state->queue_type) || Py_IS_TYPE(object, state->device_type) ||
           Py_IS_TYPE(object, state->context_type) || PyUnicode_Check(object);
}

/* The Queue of any syclobj: new reference. Waits for the work in a SYCL queue. */
static PyObject *queue_of_syclobj(usmpy_state *state, PyObject *object)
{
    if (Py_IS_TYPE(object, state->context_type)) {
        usm_context *context = ((usmpy_context *)object)->context;
        return usmpy_cached_queue(state, context, context->devices[0]);
    }
    if (is_ours(state, object)) {
        return usmpy_queue_from(state, object, "syclobj");
    }
    if (!usmpy_is_sycl(object)) {
        return PyErr_Format(
            PyExc_BufferError,
            SYCL
            " has %s %.80s as 'syclobj'; a SyclQueue or SyclContext of dpctl, a Queue, Device or Context of "
            "usmpy, or a filter string can be taken (Queue.from_native makes a Queue of other libraries' "
            "queues)",
            USMPY_A(object));
    }
    PyObject *queue = usmpy_sycl_queue(state, object);
    if (queue != NULL && PyObject_HasAttrString(object, "wait")) { /* a SyclContext and a capsule have none */
        PyObject *none = PyObject_CallMethod(object, "wait", NULL);
        if (none == NULL) {
            Py_CLEAR(queue);
        }
        Py_XDECREF(none);
    }
    return queue;
}

/* Whether the type is one of dpctl.memory's, which set the read-only flag although they are writable. */
static bool says_writable(const PyTypeObject *type)
{
    static const char module[] = "dpctl.memory.";
    while (type != NULL && strncmp(type->tp_name, module, sizeof module - 1) != 0) {
        type = type->tp_base;
    }
    return type != NULL;
}

static int check_version(PyObject *version)
{
    if (version != NULL && (!PyLong_Check(version) || PyLong_AsLong(version) != 1)) {
        PyErr_Clear();
        return usmpy_refuse(PyExc_BufferError, SYCL " has the version %.100R; 1 is allowed", version);
    }
    return 0;
}

/* Applies "offset", in elements from the pointer to the first one. 0 or -1. */
static int parse_offset(PyObject *argument, usmpy_claim *claim)
{
    if (!usmpy_given(argument)) {
        return 0;
    }
    Py_ssize_t offset = usmpy_ssize_of(argument, SYCL ": 'offset'", -1, USMPY_AN_INT); /* clipped: too far */
    if (offset == -1 && PyErr_Occurred()) {
        return -1;
    }
    int itemsize = usm_dtype_table[claim->dtype].itemsize;
    if (offset < -(PY_SSIZE_T_MAX / itemsize) || offset > PY_SSIZE_T_MAX / itemsize) {
        return usmpy_refuse(PyExc_BufferError, SYCL " has an 'offset' of %zd elements, beyond any address",
                            offset);
    }
    claim->address = (void *)((uintptr_t)claim->address + (uintptr_t)(offset * itemsize));
    return 0;
}

/* Fills the claim but for the queue and the owner. 0 or -1. */
static int parse(PyObject *object, PyObject *const *members, usmpy_claim *claim)
{
    if (check_version(members[VERSION]) < 0 ||
        usmpy_interface_parse(&sycl, members[DATA], members[SHAPE], members[TYPESTR], claim) < 0 ||
        usmpy_parse_strides(members[STRIDES], claim) < 0 || parse_offset(members[OFFSET], claim) < 0) {
        return -1;
    }
    claim->writable = claim->writable != says_writable(Py_TYPE(object));
    claim->usm = true;
    claim->ordered = false;
    return 0;
}

PyObject *usmpy_array_from_sycl_interface(usmpy_state *state, PyObject *object, bool optional)
{
    usmpy_claim claim;
    PyObject *members[MEMBERS], *array = NULL;
    if (usmpy_interface_read(state, object, &sycl, MEMBERS, members) <= 0) {
        return NULL;
    }
    if ((!optional || is_ours(state, members[SYCLOBJ]) || usmpy_is_sycl(members[SYCLOBJ])) &&
        parse(object, members, &claim) == 0) {
        claim.queue = queue_of_syclobj(state, members[SYCLOBJ]);
        claim.owner = object;
        array = claim.queue == NULL ? NULL : (PyObject *)usmpy_array_of_claim(state, &claim);
        Py_XDECREF(claim.queue);
    }
    usmpy_interface_clear(members, MEMBERS);
    return array;
}

/* The syclobj of an export: the SYCL queue that ours was made from, or our Queue. New reference. */
static PyObject *syclobj_of(usmpy_state *state, usmpy_array *array)
{
    PyObject *queue = Py_NewRef(array->queue);
    if (usmpy_queue_of(queue)->context != array->alloc->context) {
        Py_SETREF(queue, usmpy_cached_queue(state, array->alloc->context, array->alloc->context->devices[0]));
    }
    PyObject *owner = queue == NULL ? NULL : usmpy_sycl_owner(state, usmpy_queue_of(queue));
    if (owner != NULL) {
        Py_SETREF(queue, Py_NewRef(owner));
    }
    return queue;
}

PyObject *usmpy_array_sycl_interface(PyObject *self, void *Py_UNUSED(unused))
{
    usmpy_array *array = (usmpy_array *)self;
    if (array->alloc->place->device->info.dlpack_type != kDLOneAPI) {
        return PyErr_Format(PyExc_AttributeError,
                            "this array has no " SYCL
                            ": its memory is of backend %s, which SYCL does not know",
                            usm_backend_name(array->alloc->context->backend));
    }
    PyObject *dict = usmpy_interface_export(array, &sycl, 1);
    if (dict == NULL || usmpy_peek_alloc(array->state, array->alloc, usmpy_foreign_access(array)) < 0) {
        Py_XDECREF(dict);
        return NULL;
    }
    usmpy_put(&dict, "offset", PyLong_FromLong(0));
    if (dict != NULL) {
        usmpy_put(&dict, "syclobj", syclobj_of(array->state, array));
    }
    if (dict != NULL) {
        usmpy_trace_export(array, SYCL);
    }
    return dict;
}
