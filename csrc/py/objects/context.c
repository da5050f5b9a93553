/* Context: devices that share allocations. */
#include "docstrings.h"
#include "objects.h"
#include "py/args.h"
#include "py/deferred.h"
#include "py/errors.h"
#include "py/exchange/native.h"

PyObject *usmpy_context_wrap(usmpy_state *state, usm_context *context)
{
    usmpy_context *self = (usmpy_context *)state->context_type->tp_alloc(state->context_type, 0);
    if (self != NULL) {
        self->context = usm_context_retain(context);
    }
    return (PyObject *)self;
}

static void context_dealloc(PyObject *self)
{
    usm_context *context = ((usmpy_context *)self)->context;
    if (context != NULL) {
        usm_context_release(context);
        usmpy_deferred_poll_quietly(); /* the owner of a native context is released with it */
    }
    usmpy_free_object(self);
}

static PyObject *context_from_devices(usmpy_state *state, PyObject *items)
{
    Py_ssize_t n = PyTuple_GET_SIZE(items);
    if (usmpy_check_items(items, state->device_type, "devices", "Devices are allowed") < 0) {
        return NULL;
    }
    usm_device **devices = PyMem_New(usm_device *, n);
    if (devices == NULL) {
        return PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        devices[i] = ((usmpy_device *)PyTuple_GET_ITEM(items, i))->device;
    }
    usm_context *context;
    usm_error error;
    usm_status status;
    USMPY_WITHOUT_GIL(status = usm_context_create(devices, (size_t)n, &context, &error));
    PyMem_Free(devices);
    if (status != USM_OK) {
        return usmpy_raise(state, status, &error);
    }
    PyObject *self = usmpy_context_wrap(state, context);
    usm_context_release(context);
    return self;
}

static PyObject *context_new(usmpy_state *state, PyTypeObject *Py_UNUSED(type), PyObject *const *arguments)
{
    PyObject *devices = arguments[0];
    PyObject *items = Py_IS_TYPE(devices, state->device_type)
                          ? PyTuple_Pack(1, devices)
                          : usmpy_items_of(devices, "devices", "a Device or a sequence of Devices is allowed",
                                           USMPY_MOST_ITEMS);
    PyObject *self = items == NULL ? NULL : context_from_devices(state, items);
    Py_XDECREF(items);
    return self;
}

USMPY_EQUALITY(context_richcompare, usmpy_context, a->context == b->context)

static Py_hash_t context_hash(PyObject *self)
{
    return (Py_hash_t)((uintptr_t)((usmpy_context *)self)->context >> 4);
}

static PyObject *context_get_devices(PyObject *self, void *Py_UNUSED(unused))
{
    const usm_context *context = ((usmpy_context *)self)->context;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < context->n_devices; i++) {
        usmpy_append(&list, usmpy_device_wrap(usmpy_state_of(self), context->devices[i], NULL));
    }
    return list;
}

USMPY_GETTER(backend, PyUnicode_FromString(usm_backend_name(((usmpy_context *)self)->context->backend)))
USMPY_GETTER(is_default, PyBool_FromLong(((usmpy_context *)self)->context->is_default))
USMPY_GETTER(native_handle, usmpy_native_handle(((usmpy_context *)self)->context->backend, USM_NATIVE_CONTEXT,
                                                ((usmpy_context *)self)->context))

static PyObject *context_repr(PyObject *self)
{
    const usm_context *context = ((usmpy_context *)self)->context;
    return PyUnicode_FromFormat("<Context %p of %zu %s device%s%s>", (void *)context, context->n_devices,
                                usm_backend_name(context->backend), usmpy_plural((int64_t)context->n_devices),
                                context->is_default ? ", default" : "");
}

USMPY_NEW(Context, context_new)
USMPY_CLASS_MEMBER(Context_from_native, usmpy_context_from_native)

static PyGetSetDef context_getset[] = {
    {"devices", context_get_devices, NULL, USMPY_DOC_Context_devices, NULL},
    USMPY_GETTER_ROW(Context, backend),
    USMPY_GETTER_ROW(Context, is_default),
    USMPY_GETTER_ROW(Context, native_handle),
    {0},
};

static PyMethodDef context_methods[] = {
    USMPY_CLASS_MEMBER_ROW(Context, from_native),
    {0},
};

static PyType_Slot context_slots[] = {
    {Py_tp_doc, USMPY_DOC_Context},
    {Py_tp_new, enter_Context},
    {Py_tp_dealloc, context_dealloc},
    {Py_tp_repr, context_repr},
    {Py_tp_hash, context_hash},
    {Py_tp_richcompare, context_richcompare},
    {Py_tp_getset, context_getset},
    {Py_tp_methods, context_methods},
    {0, NULL},
};

USMPY_SPEC(context, "usmpy.Context", usmpy_context, 0)
