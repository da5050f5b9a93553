/*
 * from_dlpack: imports by exchange table, versioned capsule or legacy capsule, in this order of preference.
 */
#include "dlpack.h"
#include "docstrings.h"
#include "native.h"
#include "py/args.h"
#include "py/deferred.h"
#include "py/errors.h"
#include "py/lock.h"
#include "stream.h"

/*
 * Takes the tensor out of its capsule by renaming that: its destructor does nothing from here on. Atomic
 * against other threads that take the same capsule. 0 or -1.
 */
static int consume(PyObject *capsule, usmpy_tensor *tensor)
{
    void *pointer;
    int renamed = 0;
    *tensor = (usmpy_tensor){NULL, NULL};
    USMPY_BEGIN_CRITICAL_SECTION(capsule)
        pointer = PyCapsule_GetPointer(capsule, USMPY_CAPSULE);
        if (USM_LIKELY(pointer != NULL)) {
            renamed = PyCapsule_SetName(capsule, "used_" USMPY_CAPSULE);
            tensor->versioned = pointer;
        } else if (PyCapsule_IsValid(capsule, USMPY_LEGACY_CAPSULE)) {
            PyErr_Clear();
            pointer = PyCapsule_GetPointer(capsule, USMPY_LEGACY_CAPSULE);
            renamed = PyCapsule_SetName(capsule, "used_" USMPY_LEGACY_CAPSULE);
            tensor->legacy = pointer;
        }
    USMPY_END_CRITICAL_SECTION();
    if (USM_LIKELY(pointer != NULL && renamed == 0)) {
        return 0;
    }
    *tensor = (usmpy_tensor){NULL, NULL}; /* still owned by the capsule */
    if (pointer == NULL) {
        PyErr_Clear();
        const char *name = PyCapsule_GetName(capsule);
        if (name != NULL && strncmp(name, "used_", 5) == 0) {
            PyErr_Format(PyExc_BufferError,
                         "the DLPack capsule was used before (its name is '%s'); call __dlpack__ again",
                         name);
        } else {
            PyErr_Format(
                PyExc_BufferError,
                "the capsule's name is '%s'; a DLPack capsule is named 'dltensor_versioned' or 'dltensor'",
                name == NULL ? "" : name);
        }
    }
    return -1;
}

static usmpy_array *from_capsule(usmpy_state *state, PyObject *capsule, PyObject *producer,
                                 const usmpy_origin *origin, PyObject *queue_object)
{
    usmpy_tensor tensor;
    if (USM_UNLIKELY(!PyCapsule_CheckExact(capsule))) {
        return usmpy_error_format(PyExc_TypeError,
                                  "%.80s.__dlpack__() returned a %.80s; a DLPack capsule is needed",
                                  Py_TYPE(producer)->tp_name, Py_TYPE(capsule)->tp_name);
    }
    if (consume(capsule, &tensor) < 0) {
        return NULL;
    }
    if (tensor.versioned != NULL && USM_UNLIKELY(tensor.versioned->version.major != 1)) {
        /* For another major version, only the deleter may be used. */
        unsigned major = tensor.versioned->version.major, minor = tensor.versioned->version.minor;
        usmpy_tensor_delete(&tensor);
        return usmpy_error_format(PyExc_BufferError,
                                  "the capsule is of DLPack version %u.%u; version 1 is understood", major,
                                  minor);
    }
    return usmpy_array_from_tensor(state, &tensor, origin, queue_object);
}

/* Cython adds a frame to the traceback even if the arguments did not bind; that frame never ran. */
static bool is_frame_of_compiled_code(PyObject *traceback)
{
    if (!PyTraceBack_Check(traceback)) {
        return false;
    }
    PyTracebackObject *entry = (PyTracebackObject *)traceback;
    return entry->tb_next == NULL && entry->tb_lasti <= 0;
}

/*
 * Whether the pending TypeError was raised because the arguments did not bind, so that none of the callee
 * ran. A Python function that ran left a frame in the traceback; for compiled code, only the message tells.
 */
static bool arguments_did_not_bind(void)
{
    static const char *const words[] = {"keyword", "positional argument", "takes no arguments",
                                        "incompatible function arguments"};
    bool refused = false;
    PyObject *exception = usmpy_take_exception(), *frames = PyException_GetTraceback(exception);
    bool no_frames = frames == NULL;
    if (Py_IS_TYPE(exception, (PyTypeObject *)PyExc_TypeError) &&
        (no_frames || is_frame_of_compiled_code(frames))) {
        PyObject *text = PyObject_Str(exception);
        const char *message = text == NULL ? NULL : PyUnicode_AsUTF8(text);
        for (size_t i = 0; message != NULL && i < sizeof words / sizeof words[0]; i++) {
            refused = refused || strstr(message, words[i]) != NULL;
        }
        refused = refused && (no_frames || strstr(message, "max_version") != NULL);
        Py_XDECREF(text);
        PyErr_Clear();
    }
    Py_XDECREF(frames);
    usmpy_restore_exception(exception);
    return refused;
}

/*
 * Calls x.__dlpack__(stream=..., max_version=...); NULL arguments are omitted. `method` may be NULL.
 * *unbound: whether the arguments did not bind, and the exception is that; NULL: the caller has no other
 * arguments. Any other exception of the call is chained, and one of looking the method up stays.
 */
static PyObject *call(usmpy_state *state, PyObject *x, PyObject *method, PyObject *stream, bool versioned,
                      bool *unbound)
{
    PyObject *args[4] = {NULL, x, stream, state->consumer_version}, *kwnames = state->stream_kwnames;
    if (USM_LIKELY(stream == NULL)) {
        args[2] = state->consumer_version;
        kwnames = versioned ? state->consumer_kwnames : NULL;
    } else if (!versioned) {
        kwnames = state->stream_kwname;
    }
    PyObject *capsule, *bound = NULL;
    if (USM_LIKELY(method != NULL)) {
        capsule = PyObject_Vectorcall(method, args + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, kwnames);
    } else {
        bound = PyObject_GetAttr(x, state->names[USMPY___dlpack__]);
        capsule = bound == NULL
                      ? NULL
                      : PyObject_Vectorcall(bound, args + 2, PY_VECTORCALL_ARGUMENTS_OFFSET, kwnames);
    }
    if (USM_UNLIKELY(capsule == NULL)) {
        bool called = method != NULL || bound != NULL;
        bool again =
            called && unbound != NULL && PyErr_ExceptionMatches(PyExc_TypeError) && arguments_did_not_bind();
        if (called && !again) {
            usmpy_chain_foreign("__dlpack__", x);
        }
        if (unbound != NULL) {
            *unbound = again;
        }
    }
    Py_XDECREF(bound);
    return capsule;
}

/*
 * Calls x.__dlpack__ in the newest form that it supports: its capsule; NULL with an exception. `stream` as of
 * usmpy_choose_stream.
 */
static PyObject *ask_capsule(usmpy_state *state, PyObject *x, const usmpy_type_entry *entry, PyObject *stream,
                             usmpy_origin *origin)
{
    PyObject *capsule;
    bool unbound;
    if (entry->route != USMPY_ROUTE_LEGACY) {
        capsule = call(state, x, entry->method, stream, true, &unbound);
        if (USM_LIKELY(capsule != NULL) || !unbound) {
            return capsule;
        }
        PyErr_Clear();
        usmpy_type_learn(state, Py_TYPE(x), USMPY_ROUTE_LEGACY, USMPY_WHERE_UNKNOWN);
    }
    if (stream != NULL) {
        capsule = call(state, x, NULL, stream, false, &unbound);
        if (capsule != NULL || !unbound) {
            return capsule;
        }
        PyErr_Clear();
        *origin = (usmpy_origin){
            .stream = USM_STREAM_LEGACY}; /* the stream that a producer assumes without the argument */
    }
    return call(state, x, NULL, NULL, false, NULL);
}

static usmpy_array *through_method(usmpy_state *state, PyObject *x, const usmpy_type_entry *entry,
                                   PyObject *queue_object)
{
    usmpy_type_entry known = *entry; /* calls may run Python code that changes the cache, and the type */
    usmpy_origin origin = {.stream = USM_STREAM_LEGACY};
    PyObject *stream = NULL, *capsule = NULL;
    Py_XINCREF(known.method);
    if (USM_LIKELY(known.where == USMPY_WHERE_HOST) ||
        usmpy_choose_stream(state, x, &known, queue_object, &origin, &stream) == 0) {
        capsule = ask_capsule(state, x, &known, stream, &origin);
    }
    Py_XDECREF(stream);
    Py_XDECREF(known.method);
    if (capsule == NULL) {
        return NULL;
    }
    usmpy_array *array = from_capsule(state, capsule, x, &origin, queue_object);
    if (USM_LIKELY(array != NULL)) {
        Py_DECREF(capsule);
        if (USM_UNLIKELY(known.where == USMPY_WHERE_HOST && usmpy_has_streams(array->alloc))) {
            /* The first instance of its type with memory on such a device: import it again with a stream. */
            Py_DECREF(array);
            usmpy_type_learn(state, Py_TYPE(x), USMPY_ROUTE_NONE, USMPY_WHERE_ASK);
            known.where = USMPY_WHERE_ASK;
            known.method = NULL;
            return through_method(state, x, &known, queue_object);
        }
        return array;
    }
    usmpy_release_quietly(capsule); /* its destructor may run Python code */
    return NULL;
}

/* Calls x.is_conj() or x.is_neg(): 1 if set, 0 if not, -1 with an exception. */
static int ask_lazy(usmpy_state *state, PyObject *x, usmpy_name which)
{
    PyObject *answer = PyObject_CallMethodNoArgs(x, state->names[which]);
    if (answer == NULL) {
        if (which == USMPY_is_neg && PyErr_ExceptionMatches(PyExc_AttributeError)) {
            PyErr_Clear();
            return 0;
        }
        return -1;
    }
    int set = PyObject_IsTrue(answer);
    Py_DECREF(answer);
    return set;
}

/*
 * A lazily conjugated or negated tensor shares memory with the plain one, and some tables export it as if it
 * were plain. Only complex tensors, and tensors that are not compact or have one element (the imaginary part
 * of a conjugate), can have such a bit, so only these are asked. 0 or -1.
 */
static int check_lazy(usmpy_state *state, PyObject *x, const DLTensor *tensor)
{
    if (USM_UNLIKELY(tensor->ndim < 0 || tensor->ndim > USM_MAX_NDIM ||
                     (tensor->ndim > 0 && tensor->shape == NULL))) {
        return 0; /* usmpy_array_from_tensor raises */
    }
    bool compact = true;
    uint64_t step = 1; /* the lengths are unchecked, so it may overflow */
    for (int i = tensor->ndim - 1; i >= 0 && compact; i--) {
        compact = tensor->shape[i] == 1 || tensor->strides == NULL || (uint64_t)tensor->strides[i] == step;
        step *= (uint64_t)tensor->shape[i];
    }
    if (USM_LIKELY(tensor->dtype.code != kDLComplex && compact && step != 1)) {
        return 0;
    }
    int set = ask_lazy(state, x, USMPY_is_conj);
    if (set == 0) {
        set = ask_lazy(state, x, USMPY_is_neg);
    }
    if (set > 0) {
        PyErr_Format(PyExc_BufferError,
                     "x is %s %.80s with its conjugate or negative bit set, which DLPack cannot express; use "
                     "x.resolve_conj() or x.resolve_neg()",
                     USMPY_A(x));
    }
    return set == 0 ? 0 : -1;
}

/* Whether tensors of the dtype can require gradients. */
static inline bool is_differentiable(const DLDataType *dtype)
{
    return dtype->code != kDLInt && dtype->code != kDLUInt && dtype->code != kDLBool;
}

/*
 * Refuses a tensor that requires grad, as PyTorch's own __dlpack__ does, since work on its memory is not
 * recorded; PyTorch's table does not check. `get`: the compiled getter of requires_grad, or NULL. 0 or -1.
 */
static inline int check_grad(usmpy_state *state, PyObject *x, getter get)
{
    PyObject *answer =
        USM_LIKELY(get != NULL) ? get(x, NULL) : PyObject_GetAttr(x, state->names[USMPY_requires_grad]);
    if (USM_LIKELY(answer == Py_False)) {
        Py_DECREF(answer);
        return 0;
    }
    int requires = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    if (requires > 0) {
        PyErr_Format(PyExc_BufferError,
                     "x is %s %.80s that requires grad, and work on its memory here is not recorded; use "
                     "x.detach(), or usmpy.borrow(x) for the time of a kernel",
                     USMPY_A(x));
    }
    return requires == 0 ? 0 : -1;
}

/* Elements without memory: a null pointer, also with an offset, which PyTorch adds to the pointer itself. */
static bool lacks_memory(const DLTensor *tensor)
{
    bool found = (uintptr_t)tensor->data + tensor->byte_offset < 1 << 16; /* Linux maps nothing there */
    for (int i = 0; found && i < tensor->ndim && tensor->shape != NULL; i++) {
        found = tensor->shape[i] != 0;
    }
    return found;
}

static usmpy_array *through_table(usmpy_state *state, PyObject *x, const usmpy_type_entry *entry,
                                  PyObject *queue_object, bool borrows)
{
    /* Calls may run Python code that changes the cache: nothing of the entry is read after the first. */
    const DLPackExchangeAPI *api = entry->api;
    bool lazy = entry->lazy, has_grad = entry->has_grad && !borrows;
    getter requires_grad = entry->requires_grad; /* a function, alive as long as its type */
    usmpy_tensor tensor = {NULL, NULL};
    if (USM_UNLIKELY(api->managed_tensor_from_py_object_no_sync(x, &tensor.versioned) != 0)) {
        usmpy_table_failed(x);
        return NULL;
    }
    if (USM_UNLIKELY(tensor.versioned == NULL || tensor.versioned->version.major != 1)) {
        usmpy_tensor_delete(&tensor);
        return usmpy_error_format(PyExc_BufferError,
                                  "the exchange table of %.80s returned no tensor of DLPack version 1",
                                  Py_TYPE(x)->tp_name);
    }
    if ((lazy && USM_UNLIKELY(check_lazy(state, x, &tensor.versioned->dl_tensor) < 0)) ||
        (has_grad && is_differentiable(&tensor.versioned->dl_tensor.dtype) &&
         USM_UNLIKELY(check_grad(state, x, requires_grad) < 0))) {
        usmpy_tensor_delete(&tensor);
        return NULL;
    }
    if (USM_UNLIKELY(lacks_memory(&tensor.versioned->dl_tensor))) {
        usmpy_tensor_delete(&tensor);
        PyErr_SetString(PyExc_BufferError, "the tensor has elements and no data pointer");
        usmpy_table_failed(x);
        return NULL;
    }
    usmpy_origin origin = {.trusted = true};
    if (USM_UNLIKELY(tensor.versioned->dl_tensor.device.device_type != kDLCPU) &&
        usmpy_ask_table(state, x, api, &tensor.versioned->dl_tensor, &origin) < 0) {
        usmpy_tensor_delete(&tensor);
        return NULL;
    }
    return usmpy_array_from_tensor(state, &tensor, &origin, queue_object);
}

int usmpy_check_plain(PyObject *x)
{
    PyObject *none = usmpy_call("usmpy._arrays.objects", "check", "(O)", x);
    Py_XDECREF(none);
    return none == NULL ? -1 : 0;
}

/* The type has no protocol, but an object may have __dlpack__ itself, as proxies do. */
static usmpy_array *through_instance(usmpy_state *state, PyObject *x, PyObject *queue_object)
{
    PyObject *method = usmpy_attribute(state, x, USMPY___dlpack__);
    if (method == NULL || method == Py_None) { /* None: its class opts out */
        Py_XDECREF(method);
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_TypeError, "x is %s %.80s, which has no __dlpack__ method%s", USMPY_A(x),
                         PyCapsule_CheckExact(x) ? "; pass the array that made the capsule"
                                                 : "; usmpy.asarray takes other objects");
        }
        return NULL;
    }
    Py_DECREF(method);
    const usmpy_type_entry entry = {.route = USMPY_ROUTE_VERSIONED};
    return usmpy_check_plain(x) < 0 ? NULL : through_method(state, x, &entry, queue_object);
}

/*
 * SYCL's array interface names the queue and covers memory of any context, while a kDLOneAPI capsule names a
 * device, whose default context the memory must be of. So it is tried first.
 */
static usmpy_array *through_sycl(usmpy_state *state, PyObject *x, const usmpy_type_entry *entry,
                                 PyObject *queue_object)
{
    usmpy_array *array = (usmpy_array *)usmpy_array_from_sycl_interface(state, x, true);
    if (array == NULL) {
        return PyErr_Occurred() ? NULL : through_method(state, x, entry, queue_object);
    }
    usmpy_array_prefer_queue(array, queue_object);
    return array;
}

usmpy_array *usmpy_import_dlpack(usmpy_state *state, PyObject *x, PyObject *queue_object, bool borrows)
{
    usmpy_type_entry room;
    const usmpy_type_entry *entry = usmpy_type_lookup(state, Py_TYPE(x), &room);
    if (entry == NULL) {
        return NULL;
    }
    if (USM_UNLIKELY(entry->numpy == USMPY_NUMPY_DERIVED)) {
        room = *entry;
        room.method = NULL; /* the check may run Python code that changes the type */
        entry = &room;
        if (usmpy_check_plain(x) < 0) {
            return NULL;
        }
    }
    switch (entry->route) {
        case USMPY_ROUTE_TABLE:
            return through_table(state, x, entry, queue_object, borrows);
        case USMPY_ROUTE_VERSIONED:
        case USMPY_ROUTE_LEGACY:
            if (USM_UNLIKELY(entry->sycl)) {
                room = *entry;
                room.method = NULL; /* the interface may run Python code that changes the type */
                return through_sycl(state, x, &room, queue_object);
            }
            return through_method(state, x, entry, queue_object);
        default:
            return through_instance(state, x, queue_object);
    }
}

/*
 * Parses a device= argument, which may be a DLPack pair: new reference to its queue. *named is the pair; its
 * device type is 0 for other placements.
 */
static PyObject *queue_of_device(usmpy_state *state, PyObject *device, DLDevice *named)
{
    int64_t pair[2];
    *named = (DLDevice){(DLDeviceType)0, 0};
    if (!PyTuple_Check(device)) {
        return usmpy_queue_from(state, device, "device");
    }
    int found = usmpy_dlpack_pair(device, pair);
    if (found > 0 && usmpy_pair_is_device(pair)) {
        *named = (DLDevice){(DLDeviceType)pair[0], (int32_t)pair[1]};
        return usmpy_home_queue(state, *named, NULL);
    }
    if (found > 0) {
        usmpy_error_format(PyExc_BufferError, "device is %.100R; no DLPack device has such a type or id",
                           device);
    } else if (found == 0) {
        usmpy_error_format(
            PyExc_TypeError,
            "device is %.100R; a DLPack device is a pair of ints (device type, device id), such as (1, 0)",
            device);
    }
    return NULL;
}

/*
 * The result of from_dlpack: `array` on `queue_object` (NULL: its own queue), copied if `copy` (-1: None) or
 * the queue asks for it. x owns the memory. Takes ownership of the array.
 */
static PyObject *place_result(usmpy_state *state, usmpy_array *array, PyObject *queue_object, int copy,
                              PyObject *x)
{
    bool foreign = !usmpy_is_array(state, x);
    PyObject *queue = queue_object == NULL ? array->queue : queue_object, *result = NULL;
    bool in_place = usmpy_moves_in_place(array, queue, copy);
    if (copy != 1 && in_place) {
        if (usmpy_queue_of(queue) == usmpy_queue_of(array->queue)) {
            return (PyObject *)array;
        }
        result = (PyObject *)usmpy_array_on_queue(array, queue);
    } else if (copy == 0) {
        PyErr_SetString(
            PyExc_BufferError,
            "copy=False, but the memory cannot be used on the device that was asked for without a copy");
    } else {
        usm_kind kind = in_place && !foreign ? (usm_kind)array->alloc->kind : USM_DEVICE;
        result = (PyObject *)usmpy_duplicate_from(state, x, array, queue, kind, (usm_dtype)array->dtype, 'K');
    }
    Py_DECREF(array);
    return result;
}

/*
 * Whether the pair names the device that the memory is on. Then the array stays where it is: several devices
 * may have memory of the same DLPack device (kDLCPU; kDLOneAPI of two drivers).
 */
static bool is_named(usmpy_array *array, DLDevice named)
{
    const usm_device_info *info = &usm_device_root(array->alloc->place->device)->info;
    DLDevice shown = usmpy_dlpack_device(array);
    return named.device_type != 0 &&
           ((named.device_type == shown.device_type && named.device_id == shown.device_id) ||
            ((int32_t)named.device_type == info->dlpack_type && named.device_id == info->dlpack_id));
}

static usmpy_array *view_of(usmpy_array *base)
{
    return usmpy_array_view(base, base->data, base->ndim, usmpy_shape(base), usmpy_strides(base));
}

PyObject *usmpy_import_to(usmpy_state *state, const char *function, PyObject *const *arguments,
                          usmpy_importer *importer)
{
    PyObject *x = arguments[0], *queue = NULL;
    DLDevice named = {(DLDeviceType)0, 0};
    int copy = usmpy_given(arguments[2]) ? usmpy_bool(arguments[2], -1, function, "copy") : -1;
    if (copy < 0 && PyErr_Occurred()) {
        return NULL;
    }
    if (usmpy_given(arguments[1])) {
        queue = queue_of_device(state, arguments[1], &named);
        if (queue == NULL) {
            return NULL;
        }
    }
    /* A pair may name the memory's own device: then the array stays on the queue of the import. */
    usmpy_array *array = usmpy_is_array(state, x) ? view_of((usmpy_array *)x)
                                                  : importer(state, x, named.device_type != 0 ? NULL : queue);
    if (array != NULL && is_named(array, named)) {
        Py_SETREF(queue, Py_NewRef(array->queue));
    }
    PyObject *result = array == NULL ? NULL : place_result(state, array, queue, copy, x);
    Py_XDECREF(queue);
    return result;
}

static usmpy_array *import(usmpy_state *state, PyObject *x, PyObject *queue_object)
{
    return usmpy_import_dlpack(state, x, queue_object, false);
}

USMPY_ENTRY(from_dlpack, usmpy_import_to(state, "from_dlpack", arguments, import))

/* The usual call needs no parser. */
static PyObject *from_dlpack(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    if (USM_UNLIKELY(kwnames != NULL || nargs != 1)) {
        return enter_from_dlpack(module, args, nargs, kwnames);
    }
    usmpy_state *state = usmpy_state_of_module(module);
    return (PyObject *)(usmpy_is_array(state, args[0]) ? view_of((usmpy_array *)args[0])
                                                       : import(state, args[0], NULL));
}

PyMethodDef usmpy_dlpack_functions[] = {
    USMPY_METHOD("from_dlpack", from_dlpack, USMPY_DOC_from_dlpack),
    {0},
};
