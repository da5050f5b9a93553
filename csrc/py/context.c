#include "args.h"
#include "deferred.h"
#include "errors.h"
#include "native.h"
#include "objects.h"

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
        usmpy_deferred_poll_quietly(); /* its owner goes with it */
    }
    usmpy_free_object(self);
}

static PyObject *context_from_devices(usmpy_state *state, PyObject *items)
{
    Py_ssize_t n = PySequence_Fast_GET_SIZE(items);
    if (n == 0) {
        PyErr_SetString(PyExc_ValueError, "devices is empty; a context has at least one device");
        return NULL;
    }
    usm_device **devices = PyMem_New(usm_device *, n);
    if (devices == NULL) {
        return PyErr_NoMemory();
    }
    PyObject *self = NULL;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(items, i);
        if (!Py_IS_TYPE(item, state->device_type)) {
            PyErr_Format(PyExc_TypeError, "devices[%zd] is a %s; Devices are allowed", i,
                         Py_TYPE(item)->tp_name);
            goto done;
        }
        devices[i] = ((usmpy_device *)item)->device;
    }
    usm_context *context;
    usm_error error;
    usm_status status;
    Py_BEGIN_ALLOW_THREADS
        status = usm_context_create(devices, (size_t)n, &context, &error);
    Py_END_ALLOW_THREADS
    if (status != USM_OK) {
        usmpy_raise(state, status, &error);
        goto done;
    }
    self = usmpy_context_wrap(state, context);
    usm_context_release(context);
done:
    PyMem_Free(devices);
    return self;
}

static PyObject *context_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static const usmpy_signature signature = {"Context", 1, 1, 0, 1, {USMPY_devices}};
    usmpy_state *state = usmpy_state_of_type(type);
    PyObject *devices;
    if (usmpy_parse_tuple(state, &signature, args, kwargs, &devices) < 0) {
        return NULL;
    }
    PyObject *items =
        Py_IS_TYPE(devices, state->device_type) ? PyTuple_Pack(1, devices) : usmpy_tuple_of(devices);
    if (items == NULL) {
        return PyErr_Occurred()
                   ? NULL
                   : PyErr_Format(PyExc_TypeError,
                                  "devices is a %s; a Device or a sequence of Devices is allowed",
                                  Py_TYPE(devices)->tp_name);
    }
    PyObject *self = context_from_devices(state, items);
    Py_DECREF(items);
    return self;
}

static PyObject *context_richcompare(PyObject *self, PyObject *other, int operation)
{
    if ((operation != Py_EQ && operation != Py_NE) || !Py_IS_TYPE(other, Py_TYPE(self))) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    bool same = ((usmpy_context *)self)->context == ((usmpy_context *)other)->context;
    return PyBool_FromLong(same == (operation == Py_EQ));
}

static Py_hash_t context_hash(PyObject *self)
{
    return (Py_hash_t)((uintptr_t)((usmpy_context *)self)->context >> 4);
}

static PyObject *context_get_devices(PyObject *self, void *unused)
{
    (void)unused;
    const usm_context *context = ((usmpy_context *)self)->context;
    PyObject *list = PyList_New((Py_ssize_t)context->n_devices);
    for (size_t i = 0; list != NULL && i < context->n_devices; i++) {
        PyObject *device = usmpy_device_wrap(usmpy_state_of(self), context->devices[i], NULL);
        if (device == NULL) {
            Py_CLEAR(list);
        } else {
            PyList_SET_ITEM(list, (Py_ssize_t)i, device);
        }
    }
    return list;
}

static PyObject *context_get_backend(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(((usmpy_context *)self)->context->backend->name);
}

static PyObject *context_get_is_default(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(((usmpy_context *)self)->context->is_default);
}

static PyObject *context_repr(PyObject *self)
{
    const usm_context *context = ((usmpy_context *)self)->context;
    return PyUnicode_FromFormat("<Context %p of %zu %s device%s%s>", (void *)context, context->n_devices,
                                context->backend->name, context->n_devices == 1 ? "" : "s",
                                context->is_default ? ", default" : "");
}

static PyGetSetDef context_getset[] = {
    {"devices", context_get_devices, NULL, "List of the devices it was made of.", NULL},
    {"backend", context_get_backend, NULL, "'host', 'opencl', 'level_zero' or 'cuda'.", NULL},
    {"is_default", context_get_is_default, NULL, "It is the platform's default context.", NULL},
    {"native_handle", usmpy_context_native_handle, NULL,
     "The driver's context as an int, for other libraries: a cl_context; None on the host. It is valid as\n"
     "long as this context; who keeps it longer must take a count of it (PyOpenCL's from_int_ptr does).",
     NULL},
    {0},
};

static PyMethodDef context_methods[] = {
    {"from_native", (PyCFunction)(void (*)(void))usmpy_context_from_native,
     METH_FASTCALL | METH_KEYWORDS | METH_CLASS,
     "from_native($type, backend, handle, *, owner=None)\n--\n\n"
     "The context over a driver's context that another library made.\n\n"
     "backend: 'opencl'. handle: a cl_context as an int, or an object whose int_ptr is one, such as\n"
     "PyOpenCL's Context, or a SyclContext of dpctl. owner: any object, kept alive as long as the\n"
     "context (it must not lead to this object: the cycle would never be found). One native context\n"
     "is one context here: those of the same handle are equal, the one of `context.native_handle` is\n"
     "that context again, and memory of one is memory of the other. The handle is counted up here and\n"
     "down in the end, never destroyed.\n\n"
     "Raises ValueError for a handle of 0 and a backend without native contexts, TypeError for\n"
     "arguments of a wrong type, UsmError where it is no context as far as the driver can tell\n"
     "(CL_INVALID_CONTEXT), DeviceNotFound for a device in it that usmpy does not list,\n"
     "BackendUnavailable, MemoryError when memory runs out."},
    {0},
};

static PyType_Slot context_slots[] = {
    {Py_tp_doc,
     "Context(devices)\n--\n\n"
     "Several devices of one platform, whose memory and events may meet (SYCL 2020, 4.6.3).\n\n"
     "devices: a Device or a sequence of Devices of one backend, without repeats. Equal contexts\n"
     "are the same native context: two Context(devices) differ, device.context is the platform's\n"
     "default.\n\n"
     "Raises ValueError for no devices, for repeated ones and for those of different backends,\n"
     "TypeError for anything else."},
    {Py_tp_new, context_new},
    {Py_tp_dealloc, context_dealloc},
    {Py_tp_repr, context_repr},
    {Py_tp_hash, context_hash},
    {Py_tp_richcompare, context_richcompare},
    {Py_tp_getset, context_getset},
    {Py_tp_methods, context_methods},
    {0, NULL},
};

static PyType_Spec context_spec = {
    .name = "usmpy.Context",
    .basicsize = sizeof(usmpy_context),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = context_slots,
};

int usmpy_context_add_type(PyObject *module, usmpy_state *state)
{
    return usmpy_add_type(module, &context_spec, &state->context_type);
}
