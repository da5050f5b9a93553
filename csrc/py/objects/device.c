/* Device: a piece of hardware, and the queue that arrays made on it get. Its plain facts: device_facts.c. */
#include "device_facts.h"
#include "docstrings.h"
#include "objects.h"
#include "py/args.h"
#include "py/arrays/array.h"
#include "py/errors.h"
#include "py/exchange/native.h"

#include "core/device/registry.h"

#include <string.h>

PyObject *usmpy_device_wrap(usmpy_state *state, usm_device *device, usm_queue *queue)
{
    usmpy_device *self = (usmpy_device *)state->device_type->tp_alloc(state->device_type, 0);
    if (self != NULL) {
        self->device = device;
        if (queue != NULL && !(queue->cached && queue->context->is_default)) {
            self->queue = usm_queue_retain(queue);
        }
    }
    return (PyObject *)self;
}

static void device_dealloc(PyObject *self)
{
    usm_queue *queue = ((usmpy_device *)self)->queue;
    if (queue != NULL) {
        usm_queue_release(queue);
    }
    usmpy_free_object(self);
}

USMPY_EQUALITY(device_richcompare, usmpy_device, a->device == b->device && a->queue == b->queue)

static Py_hash_t device_hash(PyObject *self)
{
    usmpy_device *device = (usmpy_device *)self;
    Py_hash_t hash = (Py_hash_t)(((uintptr_t)device->device >> 4) ^ ((uintptr_t)device->queue >> 3));
    return hash == -1 ? -2 : hash;
}

static PyObject *device_repr(PyObject *self)
{
    usmpy_device *device = (usmpy_device *)self;
    char text[USM_DEVICE_TEXT];
    usm_device_text(device->device, text, sizeof text);
    if (device->queue != NULL) {
        return PyUnicode_FromFormat("<Device %s [%s] on queue %p>", text, device->device->info.name,
                                    (void *)device->queue);
    }
    return PyUnicode_FromFormat("<Device %s [%s]>", text, device->device->info.name);
}

static PyObject *device_new(usmpy_state *state, PyTypeObject *type, PyObject *const *arguments)
{
    PyObject *selector = arguments[0];
    if (usmpy_given(selector) && !PyUnicode_Check(selector) && !Py_IS_TYPE(selector, type)) {
        return usmpy_wrong_type(
            "selector", selector,
            "None or a filter string such as 'gpu' or 'host:cpu:0' is allowed (Device.create_device takes queues "
            "and arrays too)");
    }
    return usmpy_device_from(state, selector != NULL ? selector : Py_None, "selector");
}

static PyObject *create_device(usmpy_state *state, PyObject *Py_UNUSED(type), PyObject *const *arguments)
{
    return usmpy_device_from(state, arguments[0] != NULL ? arguments[0] : Py_None, "obj");
}

static PyObject *create_sub_devices(usmpy_state *state, PyObject *self, PyObject *const *arguments)
{
    usmpy_device *device = (usmpy_device *)self;
    int64_t units;
    if (usmpy_parse_int(arguments[0], "units", &units) < 0) {
        return NULL;
    }
    if (units < 1 || units > (int64_t)device->device->info.max_compute_units) {
        return usmpy_error_format(
            PyExc_ValueError, "units is %.100R; the device has %u compute units, so 1 to %u are allowed",
            arguments[0], device->device->info.max_compute_units, device->device->info.max_compute_units);
    }
    usm_device **parts;
    size_t count;
    usm_error error;
    usm_status status = usm_device_partition(device->device, (uint32_t)units, &parts, &count, &error);
    if (status != USM_OK) {
        return usmpy_raise(state, status, &error);
    }
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < count; i++) {
        usmpy_append(&list, usmpy_device_wrap(state, parts[i], NULL));
    }
    free(parts);
    return list;
}

USMPY_GETTER(queue, usmpy_device_queue(usmpy_state_of(self), self))
USMPY_GETTER(native_handle, usmpy_native_handle(((usmpy_device *)self)->device->backend, USM_NATIVE_DEVICE,
                                                ((usmpy_device *)self)->device))

static PyObject *device_get_context(PyObject *self, void *Py_UNUSED(unused))
{
    usmpy_device *device = (usmpy_device *)self;
    usmpy_state *state = usmpy_state_of(self);
    usm_context *context;
    usm_error error;
    if (device->queue != NULL) {
        return usmpy_context_wrap(state, device->queue->context);
    }
    usm_status status = usm_context_default(device->device, &context, &error);
    return status == USM_OK ? usmpy_context_wrap(state, context) : usmpy_raise(state, status, &error);
}

static PyObject *device_get_parent(PyObject *self, void *Py_UNUSED(unused))
{
    usm_device *parent = ((usmpy_device *)self)->device->parent;
    return parent == NULL ? Py_NewRef(Py_None) : usmpy_device_wrap(usmpy_state_of(self), parent, NULL);
}

static PyObject *device_get_platform(PyObject *self, void *Py_UNUSED(unused))
{
    const usm_device_info *info = &((usmpy_device *)self)->device->info;
    return usmpy_call("usmpy._inspection.platform", "Platform", "(NNN)", usmpy_device_string(info->platform),
                      usmpy_device_string(info->platform_vendor),
                      usmpy_device_string(info->platform_version));
}

static PyObject *same_device(usmpy_state *state, PyObject *self, PyObject *const *arguments)
{
    PyObject *device = usmpy_device_from(state, arguments[0], "other");
    if (device == NULL) {
        return NULL;
    }
    bool same = ((usmpy_device *)device)->device == ((usmpy_device *)self)->device;
    Py_DECREF(device);
    return PyBool_FromLong(same);
}

/* The pickle has the hardware alone: another process cannot make the queue again. */
static PyObject *device_reduce(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return usmpy_call("usmpy._processes.pickles", "reduce_device", "(O)", self);
}

USMPY_NEW(Device, device_new)
USMPY_CLASS_MEMBER(Device_create_device, create_device)
USMPY_CLASS_MEMBER(Device_from_native, usmpy_device_from_native)
USMPY_MEMBER(Device_create_sub_devices, create_sub_devices)
USMPY_MEMBER(Device_same_device, same_device)

/* Facts are members too: device_facts.c. */
static PyGetSetDef device_getset[] = {
    USMPY_GETTER_ROW(Device, queue),
    {"context", device_get_context, NULL, USMPY_DOC_Device_context, NULL},
    USMPY_GETTER_ROW(Device, native_handle),
    {"parent", device_get_parent, NULL, USMPY_DOC_Device_parent, NULL},
    {"platform", device_get_platform, NULL, USMPY_DOC_Device_platform, NULL},
#define GETTER(name) \
    {#name, usmpy_device_get_fact, NULL, USMPY_DOC_Device_##name, (void *)(intptr_t)USMPY_FACT_##name},
#define USM_FACT(kind, name, declaration) GETTER(name)
#define USM_LIMIT(kind, name) GETTER(name)
#define USM_OTHER(kind, name) GETTER(name)
#include "core/device/device_facts.inc"
    {0},
};

static PyMethodDef device_methods[] = {
    USMPY_CLASS_MEMBER_ROW(Device, from_native),
    USMPY_CLASS_MEMBER_ROW(Device, create_device),
    USMPY_MEMBER_ROW(Device, create_sub_devices),
    USMPY_MEMBER_ROW(Device, same_device),
    {"has_aspect", usmpy_device_has_aspect, METH_O, USMPY_DOC_Device_has_aspect},
    {"info", usmpy_device_info, METH_NOARGS, USMPY_DOC_Device_info},
    {"__reduce__", device_reduce, METH_NOARGS, USMPY_DOC_Device___reduce__},
    {0},
};

static PyType_Slot device_slots[] = {
    {Py_tp_doc, USMPY_DOC_Device}, {Py_tp_new, enter_Device},       {Py_tp_dealloc, device_dealloc},
    {Py_tp_repr, device_repr},     {Py_tp_hash, device_hash},       {Py_tp_richcompare, device_richcompare},
    {Py_tp_getset, device_getset}, {Py_tp_methods, device_methods}, {0, NULL},
};

USMPY_SPEC(device, "usmpy.Device", usmpy_device, 0)

/* Starts the backend. One dict, for diagnose() and the selectors. */
static PyObject *backend_report(usmpy_state *state, int index)
{
    const usm_backend_report *report;
    USMPY_WITHOUT_GIL(report = usm_backend_start(index));
    PyObject *devices = PyList_New(0), *environment = PyList_New(0);
    for (size_t i = 0; devices != NULL && i < report->n_devices; i++) {
        usmpy_append(&devices, usmpy_device_wrap(state, report->devices[i], NULL));
    }
    const char *const *names = report->environment;
    for (; environment != NULL && names != NULL && *names != NULL; names++) {
        usmpy_append(&environment, PyUnicode_FromString(*names));
    }
    return Py_BuildValue("{s:s,s:O,s:z,s:O,s:N,s:N,s:s}", "name", report->name, "built",
                         report->backend == NULL ? Py_False : Py_True, "absent", report->absent, "broken",
                         report->broken ? Py_True : Py_False, "devices", devices, "environment", environment,
                         "libraries", report->libraries == NULL ? "" : report->libraries->text);
}

/* With a name, that backend alone is started: selecting the host must not wait for drivers. */
static PyObject *backends(PyObject *module, PyObject *args)
{
    const char *name = NULL;
    if (!PyArg_ParseTuple(args, "|z:_backends", &name)) {
        return NULL;
    }
    PyObject *list = PyList_New(0);
    int from = name != NULL ? usm_backend_index(name, strlen(name)) : 0;
    int end = name != NULL ? from + 1 : USM_N_BACKENDS;
    for (int i = from; list != NULL && i >= 0 && i < end; i++) {
        usmpy_append(&list, backend_report(usmpy_state_of_module(module), i));
    }
    return list;
}

PyMethodDef usmpy_device_functions[] = {
    {"_backends", backends, METH_VARARGS, USMPY_DOC__backends},
    {0},
};
