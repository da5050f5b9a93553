#include "args.h"
#include "array.h"
#include "docstrings.h"
#include "errors.h"
#include "native.h"
#include "objects.h"

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

static PyObject *device_richcompare(PyObject *self, PyObject *other, int operation)
{
    if ((operation != Py_EQ && operation != Py_NE) || !Py_IS_TYPE(other, Py_TYPE(self))) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    usmpy_device *a = (usmpy_device *)self, *b = (usmpy_device *)other;
    bool same = a->device == b->device && a->queue == b->queue;
    return PyBool_FromLong(same == (operation == Py_EQ));
}

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

/* usmpy.selectors.<function>(argument): filter strings and the default choice are written in Python. */
static PyObject *ask_selectors(const char *function, PyObject *argument)
{
    PyObject *call = usmpy_import("usmpy.selectors", function);
    PyObject *device = NULL;
    if (call != NULL) {
        device = argument == NULL ? PyObject_CallNoArgs(call) : PyObject_CallOneArg(call, argument);
    }
    Py_XDECREF(call);
    return device;
}

/* The placement that `object` stands for, as a Device: new reference. */
static PyObject *create_device(usmpy_state *state, PyObject *object, const char *parameter)
{
    if (object == NULL || object == Py_None) {
        return ask_selectors("select_default_device", NULL);
    }
    if (Py_IS_TYPE(object, state->device_type)) {
        return Py_NewRef(object);
    }
    if (PyUnicode_Check(object)) {
        return ask_selectors("select_device", object);
    }
    usm_queue *queue = NULL;
    if (Py_IS_TYPE(object, state->queue_type)) {
        queue = usmpy_queue_of(object);
    } else if (Py_IS_TYPE(object, state->array_type)) {
        queue = usmpy_queue_of(((usmpy_array *)object)->queue);
    } else {
        PyErr_Format(
            PyExc_TypeError,
            "%s is a %s; None, a filter string such as 'gpu' or 'host:cpu:0', a Device, a Queue or a "
            "USMArray is allowed",
            parameter, Py_TYPE(object)->tp_name);
        return NULL;
    }
    return usmpy_device_wrap(state, queue->device, queue);
}

static PyObject *device_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static const usmpy_signature signature = {"Device", 1, 1, 0, 0, {USMPY_selector}};
    usmpy_state *state = usmpy_state_of_type(type);
    PyObject *selector;
    if (usmpy_parse_tuple(state, &signature, args, kwargs, &selector) < 0) {
        return NULL;
    }
    if (usmpy_given(selector) && !PyUnicode_Check(selector) && !Py_IS_TYPE(selector, type)) {
        PyErr_Format(PyExc_TypeError,
                     "selector is a %s; None or a filter string such as 'gpu' or 'host:cpu:0' is allowed "
                     "(Device.create_device takes queues and arrays too)",
                     Py_TYPE(selector)->tp_name);
        return NULL;
    }
    return create_device(state, selector, "selector");
}

static PyObject *device_create_device(PyObject *type, PyObject *const *args, Py_ssize_t nargs,
                                      PyObject *kwnames)
{
    static const usmpy_signature signature = {"create_device", 1, 1, 0, 0, {USMPY_obj}};
    usmpy_state *state = usmpy_state_of_type((PyTypeObject *)type);
    PyObject *object;
    if (usmpy_parse(state, &signature, args, nargs, kwnames, &object) < 0) {
        return NULL;
    }
    return create_device(state, object, "obj");
}

static PyObject *device_create_sub_devices(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                           PyObject *kwnames)
{
    static const usmpy_signature signature = {"create_sub_devices", 1, 1, 0, 1, {USMPY_units}};
    usmpy_state *state = usmpy_state_of(self);
    usmpy_device *device = (usmpy_device *)self;
    PyObject *argument;
    if (usmpy_parse(state, &signature, args, nargs, kwnames, &argument) < 0) {
        return NULL;
    }
    PyObject *index = PyNumber_Index(argument);
    if (index == NULL) {
        PyErr_Format(PyExc_TypeError, "units is %R; a number of compute units is allowed", argument);
        return NULL;
    }
    int overflow;
    long long units = PyLong_AsLongLongAndOverflow(index, &overflow);
    Py_DECREF(index);
    if (overflow != 0 || units < 1 || units > (long long)device->device->info.max_compute_units) {
        PyErr_Format(PyExc_ValueError, "units is %R; the device has %u compute units, so 1 to %u are allowed",
                     argument, device->device->info.max_compute_units,
                     device->device->info.max_compute_units);
        return NULL;
    }
    usm_device **parts;
    size_t count;
    usm_error error;
    usm_status status = usm_device_partition(device->device, (uint32_t)units, &parts, &count, &error);
    if (status != USM_OK) {
        return usmpy_raise(state, status, &error);
    }
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list != NULL && i < count; i++) {
        PyObject *part = usmpy_device_wrap(state, parts[i], NULL);
        if (part == NULL) {
            Py_CLEAR(list);
        } else {
            PyList_SET_ITEM(list, (Py_ssize_t)i, part);
        }
    }
    free(parts);
    return list;
}

static PyObject *device_get_queue(PyObject *self, void *unused)
{
    (void)unused;
    usmpy_device *device = (usmpy_device *)self;
    usmpy_state *state = usmpy_state_of(self);
    return device->queue != NULL ? usmpy_queue_wrap(state, usm_queue_retain(device->queue))
                                 : usmpy_cached_queue(state, device->device);
}

static PyObject *device_get_context(PyObject *self, void *unused)
{
    (void)unused;
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

static PyObject *device_get_parent(PyObject *self, void *unused)
{
    (void)unused;
    usm_device *parent = ((usmpy_device *)self)->device->parent;
    if (parent == NULL) {
        Py_RETURN_NONE;
    }
    return usmpy_device_wrap(usmpy_state_of(self), parent, NULL);
}

/* The plain facts, by number: the closure of each getter and the keys of info(). */
enum {
    BACKEND,
    DEVICE_TYPE,
    NAME,
    VENDOR,
    DRIVER_VERSION,
    FILTER_STRING,
    UUID,
    MAX_COMPUTE_UNITS,
    MAX_WORK_GROUP_SIZE,
    SUB_GROUP_SIZES,
    GLOBAL_MEM_SIZE,
    LOCAL_MEM_SIZE,
    MAX_ALLOC_SIZE,
    HAS_FP16,
    HAS_FP64,
    HAS_USM_DEVICE,
    HAS_USM_SHARED,
    HAS_USM_HOST,
    HAS_USM_SYSTEM,
    DLPACK_DEVICE,
    FACTS
};

static const char *const fact_names[FACTS] = {
    "backend",
    "device_type",
    "name",
    "vendor",
    "driver_version",
    "filter_string",
    "uuid",
    "max_compute_units",
    "max_work_group_size",
    "sub_group_sizes",
    "global_mem_size",
    "local_mem_size",
    "max_alloc_size",
    "has_fp16",
    "has_fp64",
    "has_usm_device",
    "has_usm_shared",
    "has_usm_host",
    "has_usm_system",
    "dlpack_device",
};

static PyObject *make_uuid(const uint8_t bytes[16])
{
    PyObject *class = usmpy_import("uuid", "UUID");
    PyObject *args = PyTuple_New(0);
    PyObject *kwargs = Py_BuildValue("{s:y#}", "bytes", (const char *)bytes, (Py_ssize_t)16);
    PyObject *uuid =
        class == NULL || args == NULL || kwargs == NULL ? NULL : PyObject_Call(class, args, kwargs);
    Py_XDECREF(class);
    Py_XDECREF(args);
    Py_XDECREF(kwargs);
    return uuid;
}

static PyObject *sub_group_sizes(const usm_device_info *info)
{
    Py_ssize_t n = 0;
    while (n < USM_MAX_SUB_GROUP_SIZES && info->sub_group_sizes[n] != 0) {
        n++;
    }
    PyObject *tuple = PyTuple_New(n);
    for (Py_ssize_t i = 0; tuple != NULL && i < n; i++) {
        PyObject *size = PyLong_FromUnsignedLong(info->sub_group_sizes[i]);
        if (size == NULL) {
            Py_CLEAR(tuple);
        } else {
            PyTuple_SET_ITEM(tuple, i, size);
        }
    }
    return tuple;
}

static PyObject *fact(usm_device *device, intptr_t which)
{
    const usm_device_info *info = &device->info;
    char text[USM_DEVICE_TEXT];
    switch (which) {
        case BACKEND:
            return PyUnicode_FromString(device->backend->name);
        case DEVICE_TYPE:
            return PyUnicode_FromString(usm_device_type_name(device->type));
        case NAME:
            return PyUnicode_DecodeUTF8(info->name, (Py_ssize_t)strlen(info->name), "replace");
        case VENDOR:
            return PyUnicode_DecodeUTF8(info->vendor, (Py_ssize_t)strlen(info->vendor), "replace");
        case DRIVER_VERSION:
            return PyUnicode_DecodeUTF8(info->driver_version, (Py_ssize_t)strlen(info->driver_version),
                                        "replace");
        case FILTER_STRING:
            return PyUnicode_FromString(usm_device_text(device, text, sizeof text));
        case UUID:
            return make_uuid(info->uuid);
        case MAX_COMPUTE_UNITS:
            return PyLong_FromUnsignedLong(info->max_compute_units);
        case MAX_WORK_GROUP_SIZE:
            return PyLong_FromUnsignedLongLong(info->max_work_group_size);
        case SUB_GROUP_SIZES:
            return sub_group_sizes(info);
        case GLOBAL_MEM_SIZE:
            return PyLong_FromUnsignedLongLong(info->global_mem_size);
        case LOCAL_MEM_SIZE:
            return PyLong_FromUnsignedLongLong(info->local_mem_size);
        case MAX_ALLOC_SIZE:
            return PyLong_FromUnsignedLongLong(info->max_alloc_size);
        case HAS_FP16:
            return PyBool_FromLong(info->has_fp16);
        case HAS_FP64:
            return PyBool_FromLong(info->has_fp64);
        case HAS_USM_DEVICE:
            return PyBool_FromLong(info->has_usm_device);
        case HAS_USM_SHARED:
            return PyBool_FromLong(info->has_usm_shared);
        case HAS_USM_HOST:
            return PyBool_FromLong(info->has_usm_host);
        case HAS_USM_SYSTEM:
            return PyBool_FromLong(info->has_usm_system);
        default:
            return Py_BuildValue("(ii)", (int)info->dlpack_type, (int)info->dlpack_id);
    }
}

static PyObject *device_get_fact(PyObject *self, void *which)
{
    return fact(((usmpy_device *)self)->device, (intptr_t)which);
}

static PyObject *device_info(PyObject *self, PyObject *unused)
{
    (void)unused;
    PyObject *dict = PyDict_New();
    for (intptr_t i = 0; dict != NULL && i < FACTS; i++) {
        PyObject *value = fact(((usmpy_device *)self)->device, i);
        if (value == NULL || PyDict_SetItemString(dict, fact_names[i], value) < 0) {
            Py_CLEAR(dict);
        }
        Py_XDECREF(value);
    }
    return dict;
}

/* A placement on a queue of its own cannot be remade elsewhere: what travels is the hardware. */
static PyObject *device_reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    return Py_BuildValue("(O(N))", Py_TYPE(self), fact(((usmpy_device *)self)->device, FILTER_STRING));
}

#define FACT(which, name, doc)                                      \
    {                                                               \
        name, device_get_fact, NULL, doc, (void *)(intptr_t)(which) \
    }

static PyGetSetDef device_getset[] = {
    {"queue", device_get_queue, NULL, USMPY_DOC_Device_queue, NULL},
    {"context", device_get_context, NULL, USMPY_DOC_Device_context, NULL},
    {"native_handle", usmpy_device_native_handle, NULL, USMPY_DOC_Device_native_handle, NULL},
    {"parent", device_get_parent, NULL, USMPY_DOC_Device_parent, NULL},
    FACT(BACKEND, "backend", USMPY_DOC_Device_backend),
    FACT(DEVICE_TYPE, "device_type", USMPY_DOC_Device_device_type),
    FACT(NAME, "name", USMPY_DOC_Device_name),
    FACT(VENDOR, "vendor", USMPY_DOC_Device_vendor),
    FACT(DRIVER_VERSION, "driver_version", USMPY_DOC_Device_driver_version),
    FACT(FILTER_STRING, "filter_string", USMPY_DOC_Device_filter_string),
    FACT(UUID, "uuid", USMPY_DOC_Device_uuid),
    FACT(MAX_COMPUTE_UNITS, "max_compute_units", USMPY_DOC_Device_max_compute_units),
    FACT(MAX_WORK_GROUP_SIZE, "max_work_group_size", USMPY_DOC_Device_max_work_group_size),
    FACT(SUB_GROUP_SIZES, "sub_group_sizes", USMPY_DOC_Device_sub_group_sizes),
    FACT(GLOBAL_MEM_SIZE, "global_mem_size", USMPY_DOC_Device_global_mem_size),
    FACT(LOCAL_MEM_SIZE, "local_mem_size", USMPY_DOC_Device_local_mem_size),
    FACT(MAX_ALLOC_SIZE, "max_alloc_size", USMPY_DOC_Device_max_alloc_size),
    FACT(HAS_FP16, "has_fp16", USMPY_DOC_Device_has_fp16),
    FACT(HAS_FP64, "has_fp64", USMPY_DOC_Device_has_fp64),
    FACT(HAS_USM_DEVICE, "has_usm_device", USMPY_DOC_Device_has_usm_device),
    FACT(HAS_USM_SHARED, "has_usm_shared", USMPY_DOC_Device_has_usm_shared),
    FACT(HAS_USM_HOST, "has_usm_host", USMPY_DOC_Device_has_usm_host),
    FACT(HAS_USM_SYSTEM, "has_usm_system", USMPY_DOC_Device_has_usm_system),
    FACT(DLPACK_DEVICE, "dlpack_device", USMPY_DOC_Device_dlpack_device),
    {0},
};

static PyMethodDef device_methods[] = {
    {"from_native", (PyCFunction)(void (*)(void))usmpy_device_from_native,
     METH_FASTCALL | METH_KEYWORDS | METH_CLASS, USMPY_DOC_Device_from_native},
    {"create_device", (PyCFunction)(void (*)(void))device_create_device,
     METH_FASTCALL | METH_KEYWORDS | METH_CLASS, USMPY_DOC_Device_create_device},
    USMPY_METHOD("create_sub_devices", device_create_sub_devices, USMPY_DOC_Device_create_sub_devices),
    {"info", device_info, METH_NOARGS, USMPY_DOC_Device_info},
    {"__reduce__", device_reduce, METH_NOARGS, USMPY_DOC_Device___reduce__},
    {0},
};

static PyType_Slot device_slots[] = {
    {Py_tp_doc, USMPY_DOC_Device}, {Py_tp_new, device_new},         {Py_tp_dealloc, device_dealloc},
    {Py_tp_repr, device_repr},     {Py_tp_hash, device_hash},       {Py_tp_richcompare, device_richcompare},
    {Py_tp_getset, device_getset}, {Py_tp_methods, device_methods}, {0, NULL},
};

static PyType_Spec device_spec = {
    .name = "usmpy.Device",
    .basicsize = sizeof(usmpy_device),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = device_slots,
};

int usmpy_device_add_type(PyObject *module, usmpy_state *state)
{
    return usmpy_add_type(module, &device_spec, &state->device_type);
}

/* One dict a backend, for diagnose() and the selectors. Starts them all. */
static PyObject *backend_report(usmpy_state *state, int index)
{
    const usm_backend_report *report;
    Py_BEGIN_ALLOW_THREADS
        report = usm_backend_start(index);
    Py_END_ALLOW_THREADS
    PyObject *devices = PyList_New(0), *environment = PyList_New(0);
    bool good = devices != NULL && environment != NULL;
    for (size_t i = 0; good && i < report->n_devices; i++) {
        PyObject *device = usmpy_device_wrap(state, report->devices[i], NULL);
        good = device != NULL && PyList_Append(devices, device) == 0;
        Py_XDECREF(device);
    }
    const char *const *names = report->backend == NULL ? NULL : report->backend->environment;
    for (; good && names != NULL && *names != NULL; names++) {
        PyObject *name = PyUnicode_FromString(*names);
        good = name != NULL && PyList_Append(environment, name) == 0;
        Py_XDECREF(name);
    }
    PyObject *dict = NULL;
    if (good) {
        dict = Py_BuildValue("{s:s,s:O,s:z,s:O,s:O,s:O}", "name", report->name, "built",
                             report->backend == NULL ? Py_False : Py_True, "absent", report->absent, "broken",
                             report->broken ? Py_True : Py_False, "devices", devices, "environment",
                             environment);
    }
    Py_XDECREF(devices);
    Py_XDECREF(environment);
    return dict;
}

/* With a name, that backend alone is started: nobody who asks for the host wants to wait for drivers. */
static PyObject *backends(PyObject *module, PyObject *args)
{
    const char *name = NULL;
    if (!PyArg_ParseTuple(args, "|z:_backends", &name)) {
        return NULL;
    }
    PyObject *list = PyList_New(0);
    for (int i = 0; list != NULL && i < USM_N_BACKENDS; i++) {
        if (name != NULL && i != usm_backend_index(name, strlen(name))) {
            continue;
        }
        PyObject *report = backend_report(usmpy_state_of_module(module), i);
        if (report == NULL || PyList_Append(list, report) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(report);
    }
    return list;
}

PyMethodDef usmpy_device_functions[] = {
    {"_backends", backends, METH_VARARGS, USMPY_DOC__backends},
    {0},
};
