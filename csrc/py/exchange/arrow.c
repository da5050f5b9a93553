/*
 * Arrow's C data interface and C device data interface, both ways, as capsules (Arrow's format documentation,
 * "The Arrow PyCapsule Interface"). core/exchange/arrow.h has the structures.
 */
#include "core/exchange/arrow.h"

#include "dlpack.h"
#include "docstrings.h"
#include "native.h"
#include "py/args.h"
#include "py/errors.h"
#include "py/lock.h"
#include "py/objects/trace.h"
#include "py/wait.h"
#include "stream.h"

#include "core/base/heap.h"
#include "core/exchange/native.h"

#define SCHEMA "arrow_schema"
#define ARRAY "arrow_array"
#define DEVICE_ARRAY "arrow_device_array"
#define OWNER "usmpy.arrow_array" /* the array that an import took over */

static void free_schema(PyObject *capsule)
{
    usm_arrow_schema *schema = PyCapsule_GetPointer(capsule, SCHEMA);
    if (schema->release != NULL) {
        schema->release(schema);
    }
    free(schema);
}

/* Of all three kinds of arrays, which begin with the same structure. */
static void free_array(PyObject *capsule)
{
    PyObject *pending = usmpy_take_exception(); /* the release of a producer may run Python code */
    usm_arrow_array *array = PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
    if (array->release != NULL) {
        array->release(array);
    }
    free(array);
    usmpy_restore_exception(pending);
}

/* A capsule over `size` bytes of zeros, as which a structure counts as released. */
static PyObject *make_capsule(size_t size, const char *name, PyCapsule_Destructor destructor)
{
    void *structure = usm_calloc(1, size);
    PyObject *capsule = structure == NULL ? PyErr_NoMemory() : PyCapsule_New(structure, name, destructor);
    if (capsule == NULL) {
        free(structure);
    }
    return capsule;
}

/*
 * requested_schema is a wish, and there is one form of each array here. Later versions of the interface may
 * pass other keywords: None means that they are not used. 0 or -1.
 */
static int check_request(PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, const char *function)
{
    Py_ssize_t named = kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
    PyObject *requested = nargs > 0 ? args[0] : Py_None;
    if (nargs > 1) {
        return usmpy_refuse(PyExc_TypeError,
                            "%s() takes 1 positional argument, requested_schema; %zd were given", function,
                            nargs);
    }
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i), *value = args[nargs + i];
        if (PyUnicode_CompareWithASCIIString(name, "requested_schema") == 0) {
            requested = value;
        } else if (value != Py_None) {
            return usmpy_refuse(PyExc_NotImplementedError, "%s() got %U=%.100R; only None is supported",
                                function, name, value);
        }
    }
    if (requested != Py_None && !PyCapsule_IsValid(requested, SCHEMA)) {
        usmpy_wrong_type("requested_schema", requested, "None or a capsule named '" SCHEMA "' is allowed");
        return -1;
    }
    return 0;
}

/*
 * What a consumer on a device with streams waits for before it reads: *event, one count, with the driver's
 * event *native, or NULL where the data are finished. Work that the driver does not have is waited for here.
 * 0 or -1.
 */
static int make_event(usmpy_array *array, usm_event **event, void **native)
{
    usm_alloc *alloc = array->alloc;
    bool ended = usm_alloc_has(alloc, USM_ALLOC_ENDED);
    if (!ended && usm_alloc_is_clean(alloc)) {
        return 0;
    }
    if (!ended) {
        const usm_access access = {alloc, USM_READ};
        if (usmpy_submit_point(array->state, usmpy_queue_of(array->queue), USM_COMMAND_MARKER, &access, 1,
                               NULL, event) < 0) {
            return -1;
        }
        *native = usm_event_has_ended(*event) ? NULL : usm_native_event(*event);
        if (*native != NULL) {
            return 0;
        }
        usm_event_release(*event);
        *event = NULL;
    }
    return usmpy_wait_alloc(array->state, alloc, USM_READ, INT64_MAX);
}

/* Fills both structures. `on_host`: without the members of device arrays. 0 or -1. */
static int export_array(usmpy_array *array, bool on_host, usm_arrow_schema *schema,
                        usm_arrow_device_array *out)
{
    usm_view view = usmpy_view(array);
    usm_event *event = NULL;
    void *native = NULL, **sync_event = NULL;
    usm_error error;
    bool host_reads = usm_alloc_host_reads(array->alloc);
    /* Memory of the other devices that the host reads has types that pyarrow refuses. */
    DLDevice device = host_reads ? (DLDevice){kDLCPU, 0} : usmpy_dlpack_device(array);
    if ((array->flags & USM_C_CONTIGUOUS) == 0) {
        return usmpy_refuse(PyExc_BufferError,
                            "the array is not contiguous, as arrays of Arrow are; use x.copy()");
    }
    if (on_host && !host_reads) {
        return usmpy_refuse(PyExc_BufferError,
                            "the host cannot read the memory of %s; use __arrow_c_device_array__, or "
                            "x.to_device('host')",
                            array->alloc->place->device->info.name);
    }
    if (usmpy_check(array->state, usm_arrow_export_schema(&view, schema, &error), &error) < 0 ||
        usmpy_check_context(array, &device) < 0) {
        return -1;
    }
    bool waits =
        usm_dlpack_type_of((int32_t)device.device_type)->numbers != NULL && usmpy_has_streams(array->alloc);
    if (waits ? make_event(array, &event, &native) < 0
              : usmpy_wait_alloc(array->state, array->alloc, USM_READ, INT64_MAX) < 0) {
        return -1;
    }
    usm_status status = usm_arrow_export_array(&view, event, native, &out->array, &sync_event, &error);
    if (event != NULL) {
        usm_event_release(event);
    }
    if (status == USM_OK && !on_host) {
        out->device_type = (int32_t)device.device_type;
        out->device_id = device.device_type == kDLCPU ? -1 : device.device_id; /* as pyarrow exports it */
        out->sync_event = sync_event;
    }
    if (status == USM_OK) {
        usmpy_trace_export(array, "Arrow");
    }
    return usmpy_check(array->state, status, &error);
}

static PyObject *export_pair(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                             bool on_host)
{
    if (check_request(args, nargs, kwnames, on_host ? "__arrow_c_array__" : "__arrow_c_device_array__") < 0) {
        return NULL;
    }
    PyObject *schema = make_capsule(sizeof(usm_arrow_schema), SCHEMA, free_schema), *result = NULL;
    PyObject *array = schema == NULL ? NULL
                                     : make_capsule(sizeof(usm_arrow_device_array),
                                                    on_host ? ARRAY : DEVICE_ARRAY, free_array);
    if (array != NULL && export_array((usmpy_array *)self, on_host, PyCapsule_GetPointer(schema, SCHEMA),
                                      PyCapsule_GetPointer(array, on_host ? ARRAY : DEVICE_ARRAY)) == 0) {
        result = PyTuple_Pack(2, schema, array);
    }
    Py_XDECREF(schema);
    Py_XDECREF(array);
    return result;
}

PyObject *usmpy_array_arrow(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    return export_pair(self, args, nargs, kwnames, true);
}

PyObject *usmpy_array_arrow_device(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    return export_pair(self, args, nargs, kwnames, false);
}

/*
 * Calls the object's export: the pair of capsules, a new reference, and whether the array is one of the
 * device interface. NULL without an exception if the object has none.
 */
static PyObject *ask_pair(usmpy_state *state, PyObject *object, bool *on_device)
{
    PyObject *method = usmpy_attribute(state, object, USMPY___arrow_c_device_array__);
    *on_device = method != NULL;
    if (method == NULL && !PyErr_Occurred()) {
        method = usmpy_attribute(state, object, USMPY___arrow_c_array__);
    }
    PyObject *pair = method == NULL ? NULL : PyObject_CallNoArgs(method);
    Py_XDECREF(method);
    if (pair == NULL) {
        return NULL;
    }
    if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2 ||
        !PyCapsule_CheckExact(PyTuple_GET_ITEM(pair, 0)) ||
        !PyCapsule_CheckExact(PyTuple_GET_ITEM(pair, 1))) {
        usmpy_error_format(PyExc_TypeError, "%.80s.%s() returned %.100R; a tuple of two capsules is needed",
                           Py_TYPE(object)->tp_name,
                           *on_device ? "__arrow_c_device_array__" : "__arrow_c_array__", pair);
        Py_CLEAR(pair);
    }
    return pair;
}

/* The structure in a capsule of this name; NULL with BufferError. */
static void *open_capsule(PyObject *capsule, const char *wanted)
{
    if (!PyCapsule_IsValid(capsule, wanted)) {
        const char *name = PyCapsule_GetName(capsule);
        return PyErr_Format(PyExc_BufferError, "the capsule's name is '%s'; '%s' is needed",
                            name == NULL ? "" : name, wanted);
    }
    return PyCapsule_GetPointer(capsule, wanted);
}

/* Moves the structure out of its capsule: a new capsule that owns it. NULL with an exception. */
static PyObject *take(PyObject *capsule, usm_arrow_array *source)
{
    PyObject *owner = make_capsule(sizeof(usm_arrow_array), OWNER, free_array);
    if (owner == NULL) {
        return NULL;
    }
    usm_arrow_array *moved = PyCapsule_GetPointer(owner, OWNER);
    (void)capsule; /* the section is one of free-threaded builds alone */
    USMPY_BEGIN_CRITICAL_SECTION(capsule)
        *moved = *source;
        source->release = NULL;
    USMPY_END_CRITICAL_SECTION();
    if (moved->release == NULL) { /* another thread was faster */
        PyErr_SetString(PyExc_BufferError, "the Arrow array is released, or another consumer took it");
        Py_CLEAR(owner);
    }
    return owner;
}

/* The memory is on the device that the producer names, as far as the driver knows. */
static bool is_at_home(const usmpy_array *array, const usm_queue *home)
{
    const usm_alloc *alloc = array->alloc;
    return alloc->kind != USM_DEVICE || alloc->size == 0 || alloc->context->backend != home->backend ||
           usm_device_root(alloc->place->device) == usm_device_root(home->device);
}

/* The array over the memory of a structure that was read; `owner` keeps it. NULL with an exception. */
static usmpy_array *import_layout(usmpy_state *state, const usm_arrow_layout *layout, DLDevice device,
                                  void *const *sync_event, PyObject *owner)
{
    usm_error error;
    usmpy_claim claim = {
        .address = layout->data,
        .ndim = layout->ndim,
        .dtype = layout->dtype,
        .kind = -1,
        .usm = usm_dlpack_type_of((int32_t)device.device_type)->is_of_default_context,
        .ordered = true,
        .refusal = USM_BUFFER,
        .owner = owner,
        .how = "Arrow",
        .queue = usmpy_home_queue(state, device, layout->data),
    };
    if (claim.queue == NULL) {
        return NULL;
    }
    memcpy(claim.shape, layout->shape, (size_t)layout->ndim * sizeof *claim.shape);
    usm_layout_compact(claim.ndim, claim.shape, 'C', claim.strides);
    usmpy_array *array = usmpy_array_of_claim(state, &claim);
    if (array != NULL && !is_at_home(array, usmpy_queue_of(claim.queue))) {
        PyErr_Format(
            PyExc_BufferError,
            "the producer reports that its memory is on device %d, but the driver reports that %p is "
            "on device %d",
            (int)device.device_id, (void *)layout->data, (int)array->alloc->place->device->info.dlpack_id);
        Py_CLEAR(array);
    }
    if (array != NULL && sync_event != NULL && array->alloc->size > 0 &&
        usmpy_check(state, usm_arrow_follow(usmpy_queue_of(claim.queue), array->alloc, sync_event, &error),
                    &error) < 0) {
        Py_CLEAR(array);
    }
    Py_DECREF(claim.queue);
    return array;
}

static usmpy_array *import_pair(usmpy_state *state, PyObject *pair, bool on_device)
{
    PyObject *capsule = PyTuple_GET_ITEM(pair, 1);
    DLDevice device = {kDLCPU, 0};
    void *const *sync_event = NULL;
    usm_arrow_layout layout;
    usm_error error;
    usm_arrow_schema *schema = open_capsule(PyTuple_GET_ITEM(pair, 0), SCHEMA);
    usm_arrow_array *source = schema == NULL ? NULL : open_capsule(capsule, on_device ? DEVICE_ARRAY : ARRAY);
    if (source == NULL) {
        return NULL;
    }
    if (on_device) {
        const usm_arrow_device_array *whole = (const usm_arrow_device_array *)source;
        int64_t id = whole->device_type == kDLCPU ? 0 : whole->device_id;
        if (id != (int32_t)id) {
            return usmpy_error_format(PyExc_BufferError,
                                      "the Arrow array is on device id %lld; there is no such device",
                                      (long long)id);
        }
        device = (DLDevice){(DLDeviceType)whole->device_type, (int32_t)id};
        sync_event = whole->sync_event;
    }
    usm_status status = usm_arrow_read(schema, source, device.device_type == kDLCPU, &layout, &error);
    if (usmpy_check(state, status, &error) < 0) {
        return NULL;
    }
    PyObject *owner = take(capsule, source);
    if (owner == NULL) {
        return NULL;
    }
    usmpy_array *array = import_layout(state, &layout, device, sync_event, owner);
    usmpy_release_quietly(owner);
    return array;
}

usmpy_array *usmpy_array_from_arrow(usmpy_state *state, PyObject *object)
{
    bool on_device;
    PyObject *pair = ask_pair(state, object, &on_device);
    usmpy_array *array = pair == NULL ? NULL : import_pair(state, pair, on_device);
    usmpy_release_quietly(pair); /* the release of a refused array may run Python code */
    return array;
}

/* The array of x, for usmpy_import_to. */
static usmpy_array *import(usmpy_state *state, PyObject *x, PyObject *queue_object)
{
    usmpy_array *array = usmpy_array_from_arrow(state, x);
    if (array != NULL) {
        usmpy_array_prefer_queue(array, queue_object);
    } else if (!PyErr_Occurred()) {
        PyErr_Format(PyExc_TypeError,
                     "x is %s %.80s, which has no __arrow_c_device_array__ or __arrow_c_array__ method%s",
                     USMPY_A(x),
                     PyObject_HasAttrString(x, "__arrow_c_stream__")
                         ? "; join the chunks of one column first (pyarrow: column.combine_chunks())"
                         : "; usmpy.asarray takes other objects");
    }
    return array;
}

USMPY_ENTRY(from_arrow, usmpy_import_to(state, "from_arrow", arguments, import))

PyMethodDef usmpy_arrow_functions[] = {USMPY_ROW(from_arrow), {0}};
