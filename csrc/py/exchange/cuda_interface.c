/*
 * __cuda_array_interface__, version 3 (Numba's documentation, "CUDA Array Interface"), both ways: a dict with
 * a pointer and the stream in which work on it may be pending. The consumer keeps the object alive.
 */
#include "dlpack.h"
#include "interface_dict.h"
#include "py/args.h"
#include "py/errors.h"
#include "py/objects/trace.h"
#include "py/wait.h"
#include "stream.h"

#include "core/device/registry.h"
#include "core/memory/connection.h"
#include "core/tasks/alloc_stream.h"

#define CUDA "__cuda_array_interface__"

/* Parses the dict's version and stream. 1; 0 for no stream, and for older versions, which have none; -1. */
static int parse_stream(PyObject *version, PyObject *value, void **stream)
{
    long number = PyLong_Check(version) ? PyLong_AsLong(version) : -1;
    if (number < 0) {
        PyErr_Format(PyExc_BufferError, CUDA " has the version %R; an int of 0 or more is allowed", version);
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
                        " has the stream 0, which it forbids; 1 is the legacy default stream, 2 that of the "
                        "calling thread");
        return -1;
    }
    return 1;
}

/* The stream, with its device, as parse_stream. */
static int find_origin(usmpy_state *state, PyObject *version, PyObject *value, usmpy_origin *origin)
{
    void *stream;
    int found = parse_stream(version, value, &stream);
    if (found <= 0) {
        return found;
    }
    PyObject *known = __atomic_load_n(&state->cuda_queues[0], __ATOMIC_ACQUIRE); /* then the backend was
                                                                                    started */
    const usm_backend *backend =
        known != NULL ? usmpy_queue_of(known)->backend : usmpy_backend_for(state, USM_INTERFACE_CUDA);
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
    static const usmpy_member members[] = {{USMPY_version, true}, {USMPY_stream, false}};
    PyObject *found[2],
        *dict = usmpy_interface_dict(object, state->names[USMPY___cuda_array_interface__], CUDA);
    if (dict == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    int status = usmpy_interface_members(state, dict, CUDA, members, 2, found);
    Py_DECREF(dict);
    if (status == 0) {
        status = find_origin(state, found[0], found[1], origin);
        usmpy_interface_clear(found, 2);
    }
    return status;
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
        PyErr_Format(PyExc_BufferError, CUDA " has %d strides but %d lengths; they must match", n,
                     claim->ndim);
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

/* Refuses masks and records. 0 or -1. */
static int check_plain(PyObject *mask, PyObject *descr, PyObject *typestr)
{
    if (mask != NULL && mask != Py_None) {
        PyErr_SetString(PyExc_BufferError, CUDA " has a mask; arrays without one are allowed");
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

enum { DATA, SHAPE, TYPESTR, VERSION, STRIDES, STREAM, MASK, DESCR, MEMBERS };

/* Fills the claim but for the queue and the owner. 0 or -1. */
static int parse(PyObject *const *members, usmpy_claim *claim)
{
    bool readonly;
    if (!PyTuple_Check(members[SHAPE])) {
        PyErr_Format(PyExc_BufferError, CUDA " has %R as 'shape'; a tuple of ints is needed", members[SHAPE]);
        return -1;
    }
    if (usmpy_parse_data(members[DATA], CUDA, &claim->address, &readonly) < 0 ||
        usmpy_parse_typestr(members[TYPESTR], CUDA, &claim->dtype) < 0 ||
        (claim->ndim = usmpy_parse_shape(members[SHAPE], claim->shape, "shape")) < 0 ||
        parse_strides(members[STRIDES], claim) < 0 ||
        check_plain(members[MASK], members[DESCR], members[TYPESTR]) < 0) {
        return -1;
    }
    claim->kind = -1;
    claim->writable = !readonly;
    claim->usm = false;
    claim->ordered = true;
    claim->refusal = USM_BUFFER;
    claim->how = CUDA;
    return 0;
}

static bool is_empty(const usmpy_claim *claim)
{
    bool empty = false;
    for (int i = 0; i < claim->ndim; i++) {
        empty = empty || claim->shape[i] == 0;
    }
    return empty;
}

/* The queue of the device that the memory is on. New reference. */
static PyObject *find_home(usmpy_state *state, usmpy_claim *claim)
{
    PyObject *held;
    if (is_empty(claim)) {
        claim->address = NULL;
        claim->kind = USM_DEVICE;
    }
    /* Pinned memory has the same address on all devices, so the driver is asked for the pointer's device. */
    PyObject *queue = usmpy_home_queue(state, kDLCUDAHost, 0, claim->address, &held);
    return held != NULL ? held : Py_XNewRef(queue);
}

usmpy_array *usmpy_array_from_cuda_interface(usmpy_state *state, PyObject *object, PyObject *queue_object)
{
    static const usmpy_member names[MEMBERS] = {
        [DATA] = {USMPY_data, true},
        [SHAPE] = {USMPY_shape, true},
        [TYPESTR] = {USMPY_typestr, true},
        [VERSION] = {USMPY_version, true},
        [STRIDES] = {USMPY_strides},
        [STREAM] = {USMPY_stream},
        [MASK] = {USMPY_mask},
        [DESCR] = {USMPY_descr},
    };
    usmpy_claim claim;
    usmpy_origin origin = {.stream = NULL};
    usmpy_array *array = NULL;
    PyObject *members[MEMBERS],
        *dict = usmpy_interface_dict(object, state->names[USMPY___cuda_array_interface__], CUDA);
    if (dict == NULL) {
        return NULL;
    }
    int status = usmpy_interface_members(state, dict, CUDA, names, MEMBERS, members);
    Py_DECREF(dict);
    if (status < 0) {
        return NULL;
    }
    if (parse(members, &claim) == 0 && find_origin(state, members[VERSION], members[STREAM], &origin) >= 0) {
        claim.owner = object;
        claim.queue = find_home(state, &claim);
        array = claim.queue == NULL ? NULL : usmpy_array_of_claim(state, &claim);
        Py_XDECREF(claim.queue);
    }
    usmpy_interface_clear(members, MEMBERS);
    if (array == NULL) {
        return NULL;
    }
    if (origin.stream != NULL && array->alloc->size > 0) {
        usm_alloc_stream_attach(array->alloc, origin.device, origin.stream);
        if (origin.stream != USM_STREAM_LEGACY) { /* the stream may be destroyed before the first use */
            (void)usm_alloc_order(array->alloc, usmpy_queue_of(array->queue), NULL);
        }
    }
    if (queue_object != NULL && usmpy_queue_of(queue_object) != usmpy_queue_of(array->queue) &&
        usm_place_reaches(usmpy_queue_of(queue_object)->place, array->alloc)) {
        Py_SETREF(array, usmpy_array_on_queue(array, queue_object));
    }
    return array;
}

/*
 * The stream after which a consumer must order its work, as a new int or None: if our work is pending, that
 * of the array's queue, which is ordered after all of it. NULL with an exception.
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
    if (ended || !usm_alloc_is_busy(array->alloc)) { /* it may hold a failure or be invalid, which raises */
        usm_access_mode mode = (array->flags & USMPY_WRITABLE) != 0 ? USM_READ_WRITE : USM_READ;
        return usmpy_peek_alloc(state, array->alloc, mode) < 0 ? NULL : Py_NewRef(Py_None);
    }
    if (queue->device != device || !usm_backend_has_streams(queue->backend)) {
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
                            usm_backend_name(array->alloc->context->backend));
    }
    PyObject *typestr = usmpy_typestr((usm_dtype)array->dtype);
    if (typestr == NULL) {
        return PyErr_Occurred()
                   ? NULL
                   : PyErr_Format(PyExc_AttributeError,
                                  "this array has no " CUDA ": NumPy has no type string for dtype %s",
                                  info->name);
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
