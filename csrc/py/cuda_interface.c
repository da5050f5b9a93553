/*
 * __cuda_array_interface__, version 3 (Numba's documentation, "CUDA Array Interface"): a dict with a pointer
 * and the stream in which work on it may be pending, both ways. Whoever takes it keeps the object alive.
 */
#include "args.h"
#include "dlpack.h"
#include "errors.h"
#include "native.h"
#include "stream.h"
#include "trace.h"
#include "wait.h"

#include "../core/connection.h"

#define CUDA "__cuda_array_interface__"

/* The dict; NULL without an exception where the object has none. New reference. */
static PyObject *get_dict(usmpy_state *state, PyObject *object)
{
    PyObject *dict = PyObject_GetAttr(object, state->names[USMPY___cuda_array_interface__]);
    if (dict == NULL) {
        if (PyErr_ExceptionMatches(PyExc_AttributeError)) {
            PyErr_Clear();
        }
        return NULL;
    }
    if (!PyDict_Check(dict)) {
        PyErr_Format(PyExc_BufferError, CUDA " is a %s; a dict is needed", Py_TYPE(dict)->tp_name);
        Py_CLEAR(dict);
    }
    return dict == NULL ? NULL : usmpy_interface_own(dict);
}

/* The member `stream`, which only version 3 has. 1; 0 for None and older versions; -1 with an exception. */
static int get_stream(usmpy_state *state, PyObject *dict, void **stream)
{
    PyObject *version = PyDict_GetItemWithError(dict, state->names[USMPY_version]);
    PyObject *value = PyErr_Occurred() ? NULL : PyDict_GetItemWithError(dict, state->names[USMPY_stream]);
    if (version == NULL && !PyErr_Occurred()) {
        PyErr_SetString(PyExc_BufferError, CUDA " has no 'version'");
    }
    if (PyErr_Occurred()) {
        return -1;
    }
    long number = PyLong_Check(version) ? PyLong_AsLong(version) : -1;
    if (number < 0) {
        PyErr_Format(PyExc_BufferError, CUDA " has the version %R", version);
        return -1;
    }
    if (number < 3 || value == NULL || value == Py_None) {
        return 0;
    }
    if (usmpy_parse_address(value, stream) < 0) {
        return -1;
    }
    if (*stream == NULL) {
        PyErr_SetString(PyExc_ValueError, CUDA
                        " has the stream 0, which it forbids: 1 is the legacy default stream, 2 that of the "
                        "calling thread");
        return -1;
    }
    return 1;
}

/* The stream, with its device, as get_stream. */
static int find_origin(usmpy_state *state, PyObject *dict, usmpy_origin *origin)
{
    void *stream;
    int found = get_stream(state, dict, &stream);
    if (found <= 0) {
        return found;
    }
    PyObject *known = __atomic_load_n(&state->cuda_queues[0], __ATOMIC_ACQUIRE); /* then it was started */
    const usm_backend *backend =
        known != NULL ? usmpy_queue_of(known)->backend : usmpy_backend_named(state, "cuda");
    if (backend == NULL) {
        return -1;
    }
    usm_device *device = usmpy_device_of_handle(state, backend, stream);
    if (device == NULL) {
        return -1;
    }
    origin->stream = stream;
    origin->device = device;
    return 1;
}

int usmpy_cuda_interface_stream(usmpy_state *state, PyObject *object, usmpy_origin *origin)
{
    PyObject *dict = get_dict(state, object);
    if (dict == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    int found = find_origin(state, dict, origin);
    Py_DECREF(dict);
    return found;
}

/* strides in bytes. 0 or -1. */
static int parse_strides(PyObject *strides, usmpy_claim *claim)
{
    int itemsize = usm_dtype_table[claim->dtype].itemsize;
    if (strides == NULL || strides == Py_None) {
        usm_layout_compact(claim->ndim, claim->shape, 'C', claim->strides);
        return 0;
    }
    int n = usmpy_parse_shape(strides, claim->strides, "strides");
    if (n >= 0 && n != claim->ndim) {
        PyErr_Format(PyExc_BufferError, CUDA " has %d strides and %d lengths", n, claim->ndim);
        n = -1;
    }
    for (int i = 0; i < n; i++) {
        if (claim->strides[i] % itemsize != 0) {
            if (claim->shape[i] > 1) {
                PyErr_Format(PyExc_BufferError,
                             CUDA " has a stride of %lld bytes, which is no multiple of the item size %d",
                             (long long)claim->strides[i], itemsize);
                return -1;
            }
            claim->strides[i] = 0;
        }
        claim->strides[i] /= itemsize;
    }
    return n < 0 ? -1 : 0;
}

/* Refuses what is more than an array of plain elements. 0 or -1. */
static int check_plain(PyObject *dict, PyObject *typestr)
{
    PyObject *mask, *descr;
    if (usmpy_interface_member(dict, CUDA, "mask", false, &mask) < 0 ||
        usmpy_interface_member(dict, CUDA, "descr", false, &descr) < 0) {
        return -1;
    }
    if (mask != NULL && mask != Py_None) {
        PyErr_SetString(PyExc_BufferError, CUDA " has a mask; masked arrays cannot be taken");
        return -1;
    }
    if (descr == NULL || descr == Py_None) {
        return 0;
    }
    PyObject *field = PyList_Check(descr) && PyList_GET_SIZE(descr) == 1 ? usmpy_item(descr, 0) : NULL;
    int same = 0;
    if (field != NULL && PyTuple_Check(field) && PyTuple_GET_SIZE(field) == 2) {
        same = PyObject_RichCompareBool(PyTuple_GET_ITEM(field, 1), typestr, Py_EQ);
    }
    Py_XDECREF(field);
    if (same == 0) {
        PyErr_Format(PyExc_BufferError,
                     CUDA " has the descr %R beside the typestr %R; records cannot be taken", descr, typestr);
    }
    return same > 0 ? 0 : -1;
}

/* Fills the claim but for the queue, the kind and the owner. 0 or -1. */
static int parse(PyObject *dict, usmpy_claim *claim)
{
    PyObject *data, *shape, *strides, *typestr;
    if (usmpy_interface_member(dict, CUDA, "data", true, &data) < 0 ||
        usmpy_interface_member(dict, CUDA, "shape", true, &shape) < 0 ||
        usmpy_interface_member(dict, CUDA, "typestr", true, &typestr) < 0 ||
        usmpy_interface_member(dict, CUDA, "strides", false, &strides) < 0) {
        return -1;
    }
    if (!PyTuple_Check(data) || PyTuple_GET_SIZE(data) != 2) {
        PyErr_Format(PyExc_BufferError, CUDA " has %R as 'data'; (pointer, read-only) is needed", data);
        return -1;
    }
    if (!PyTuple_Check(shape)) {
        PyErr_Format(PyExc_BufferError, CUDA " has %R as 'shape'; a tuple of ints is needed", shape);
        return -1;
    }
    int readonly = PyObject_IsTrue(PyTuple_GET_ITEM(data, 1));
    if (readonly < 0 || usmpy_parse_address(PyTuple_GET_ITEM(data, 0), &claim->address) < 0 ||
        usmpy_parse_typestr(typestr, CUDA, &claim->dtype) < 0 ||
        (claim->ndim = usmpy_parse_shape(shape, claim->shape, "shape")) < 0 ||
        parse_strides(strides, claim) < 0) {
        return -1;
    }
    claim->writable = readonly == 0;
    claim->usm = false;
    return check_plain(dict, typestr);
}

static bool is_empty(const usmpy_claim *claim)
{
    bool empty = false;
    for (int i = 0; i < claim->ndim; i++) {
        empty = empty || claim->shape[i] == 0;
    }
    return empty;
}

/* All elements lie in the allocation. */
static usm_status check_bounds(const usmpy_claim *claim, const usm_pointer_info *info, usm_error *error)
{
    int64_t low, high;
    uintptr_t address = (uintptr_t)claim->address, base = (uintptr_t)info->base;
    if (info->size == 0 || !usm_layout_span(claim->ndim, claim->shape, claim->strides,
                                            usm_dtype_table[claim->dtype].itemsize, &low, &high)) {
        return USM_OK; /* the driver does not say; or it is refused with the reason */
    }
    if (address + (uintptr_t)low >= base && address + (uintptr_t)high <= base + info->size) {
        return USM_OK;
    }
    return usm_error_set(error, USM_BUFFER,
                         CUDA " has elements from byte %lld to byte %lld of an allocation of %zu bytes",
                         (long long)(address - base) + (long long)low,
                         (long long)(address - base) + (long long)high, info->size);
}

/* The queue of the device that the memory is on, and its kind there. New reference. */
static PyObject *find_home(usmpy_state *state, usmpy_claim *claim)
{
    PyObject *held;
    usm_pointer_info info = {.device = NULL};
    usm_error error;
    bool empty = is_empty(claim);
    /* Pinned memory has one name on all devices, so that the driver is asked for the pointer's. */
    PyObject *queue = usmpy_home_queue(state, kDLCUDAHost, 0, empty ? NULL : claim->address, &held);
    if (queue == NULL) {
        return NULL;
    }
    held = held != NULL ? held : Py_NewRef(queue);
    claim->kind = USM_DEVICE;
    if (empty) {
        claim->address = NULL;
        return held;
    }
    const usm_queue *home = usmpy_queue_of(queue);
    usm_status status = home->backend->memory_query(home->context, claim->address, &info, &error);
    if (status == USM_OK && info.device == NULL) {
        status =
            usm_error_set(&error, USM_BUFFER,
                          CUDA " has the pointer %p, which the %s driver does not know as memory of its own",
                          claim->address, home->backend->name);
    }
    if (status == USM_OK) {
        status = check_bounds(claim, &info, &error);
    }
    if (status != USM_OK) {
        Py_DECREF(held);
        return usmpy_raise(state, status, &error);
    }
    claim->kind = (int)info.kind;
    return held;
}

usmpy_array *usmpy_array_from_cuda_interface(usmpy_state *state, PyObject *object, PyObject *queue_object)
{
    usmpy_claim claim;
    usmpy_origin origin = {.stream = NULL};
    usmpy_array *array = NULL;
    PyObject *dict = get_dict(state, object);
    if (dict == NULL) {
        return NULL;
    }
    if (parse(dict, &claim) == 0 && find_origin(state, dict, &origin) >= 0) {
        claim.known = true;
        claim.owner = object;
        claim.how = CUDA;
        claim.queue = find_home(state, &claim);
        array = claim.queue == NULL ? NULL : usmpy_array_of_claim(state, &claim);
        Py_XDECREF(claim.queue);
    }
    Py_DECREF(dict);
    if (array == NULL) {
        return NULL;
    }
    if (origin.stream != NULL && array->alloc->size > 0) {
        usm_alloc_follows(array->alloc, origin.device, origin.stream);
        if (origin.stream != USM_STREAM_LEGACY) { /* it may not live until the first use */
            (void)usm_alloc_order(array->alloc, usmpy_queue_of(array->queue), NULL);
        }
    }
    if (queue_object != NULL && usmpy_queue_of(queue_object) != usmpy_queue_of(array->queue) &&
        usm_place_reaches(usmpy_queue_of(queue_object)->place, array->alloc)) {
        Py_SETREF(array, usmpy_array_on_queue(state, array, queue_object));
    }
    return array;
}

/*
 * The stream that a consumer must come after, as a new int or None: where work of ours is pending, that of
 * the array's queue, which then comes after all of it. NULL with an exception.
 */
static PyObject *stream_of(usmpy_state *state, usmpy_array *array)
{
    usm_queue *queue = usmpy_queue_of(array->queue);
    usm_device *device = array->alloc->place->device;
    bool ended = (atomic_load_explicit(&array->alloc->flags, memory_order_relaxed) & USM_ALLOC_ENDED) != 0;
    if (usm_alloc_is_clean(array->alloc) && !ended) {
        Py_RETURN_NONE;
    }
    usm_alloc_settle(array->alloc);
    if (ended || !usm_alloc_is_busy(array->alloc)) { /* it may hold a failure, or be over, which is told */
        usm_access_mode mode = (array->flags & USMPY_WRITABLE) != 0 ? USM_READ_WRITE : USM_READ;
        return usmpy_peek_alloc(state, array->alloc, mode) < 0 ? NULL : Py_NewRef(Py_None);
    }
    if (queue->device != device || queue->backend->stream_inspect == NULL) {
        queue = usmpy_current_queue(state, (DLDevice){kDLCUDA, device->info.dlpack_id});
    }
    if (queue == NULL || usmpy_stream_follow(state, device, usm_queue_stream(queue), array) < 0) {
        return NULL;
    }
    return PyLong_FromVoidPtr(usm_queue_stream(queue));
}

PyObject *usmpy_array_cuda_interface(PyObject *self, void *unused)
{
    (void)unused;
    usmpy_array *array = (usmpy_array *)self;
    usmpy_state *state = array->state;
    const usm_device_info *device = &array->alloc->place->device->info;
    const usm_dtype_info *info = &usm_dtype_table[array->dtype];
    if (!usmpy_has_streams(array->alloc) || device->dlpack_type != kDLCUDA) {
        return PyErr_Format(PyExc_AttributeError,
                            "this array has no " CUDA ": its memory is of backend %s, not CUDA's",
                            array->alloc->context->backend->name);
    }
    PyObject *typestr = usmpy_typestr((usm_dtype)array->dtype);
    if (typestr == NULL) {
        return PyErr_Occurred()
                   ? NULL
                   : PyErr_Format(PyExc_AttributeError,
                                  "this array has no " CUDA ", which has no word for dtype %s", info->name);
    }
    int64_t bytes[USM_MAX_NDIM];
    for (int i = 0; i < array->ndim; i++) {
        bytes[i] = usmpy_strides(array)[i] * info->itemsize;
    }
    bool c_contiguous = (array->flags & USM_C_CONTIGUOUS) != 0;
    PyObject *stream = array->size == 0 ? Py_NewRef(Py_None) : stream_of(state, array);
    PyObject *shape = stream == NULL ? NULL : usmpy_int_tuple(array->ndim, usmpy_shape(array));
    PyObject *strides = shape == NULL  ? NULL
                        : c_contiguous ? Py_NewRef(Py_None)
                                       : usmpy_int_tuple(array->ndim, bytes);
    PyObject *dict = NULL;
    if (strides != NULL) {
        dict = Py_BuildValue("{s:O,s:O,s:(NO),s:i,s:O,s:[(sO)],s:O}", "shape", shape, "typestr", typestr,
                             "data", PyLong_FromVoidPtr(array->size == 0 ? NULL : (void *)array->data),
                             (array->flags & USMPY_WRITABLE) != 0 ? Py_False : Py_True, "version", 3,
                             "strides", strides, "descr", "", typestr, "stream", stream);
        usmpy_trace_export(array, CUDA);
    }
    Py_XDECREF(stream);
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    Py_DECREF(typestr);
    return dict;
}
