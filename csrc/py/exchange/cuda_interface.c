/*
 * __cuda_array_interface__, version 3 (Numba's documentation, "CUDA Array Interface"), both ways: a dict with
 * a pointer and the stream in which work on it may be pending. The consumer keeps the object alive.
 */
#include "dlpack.h"
#include "interface_dict.h"
#include "py/args.h"
#include "py/objects/trace.h"
#include "py/wait.h"
#include "stream.h"

#include "core/device/registry.h"
#include "core/streams/lend.h"

#define CUDA "__cuda_array_interface__"

/*
 * The dict's stream and its device: 1; 0 without a stream, and for versions before 3, which have none; -1
 * with an exception.
 */
static int find_origin(usmpy_state *state, PyObject *version, PyObject *value, usmpy_origin *origin)
{
    void *stream;
    long number = PyLong_Check(version) ? PyLong_AsLong(version) : -1;
    if (number < 0) {
        return usmpy_refuse(PyExc_BufferError, CUDA " has the version %.100R; an int of 0 or more is allowed",
                            version);
    }
    if (number < 3 || !usmpy_given(value)) {
        return 0;
    }
    if (usmpy_parse_address(value, &stream) < 0) {
        return -1;
    }
    if (stream == NULL) {
        PyErr_SetString(PyExc_ValueError, CUDA
                        " has the stream 0, which it forbids; 1 is the legacy default stream, 2 that of the "
                        "calling thread");
        return -1;
    }
    PyObject *known =
        __atomic_load_n(&state->device_queues[0], __ATOMIC_ACQUIRE); /* set after the backend was started */
    const usm_backend *backend = known != NULL && usmpy_queue_of(known)->device->info.dlpack_type == kDLCUDA
                                     ? usmpy_queue_of(known)->backend
                                     : usmpy_backend_for(state, USM_INTERFACE_CUDA);
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

/* The first two are all that usmpy_cuda_interface_stream reads. */
enum { VERSION, STREAM, DATA, SHAPE, TYPESTR, STRIDES, MASK, DESCR, MEMBERS };

static const usmpy_interface cuda = {
    .attribute = USMPY___cuda_array_interface__,
    .text = CUDA,
    .version = 3,
    .members = {[VERSION] = {USMPY_version, true},
                [STREAM] = {USMPY_stream, false},
                [DATA] = {USMPY_data, true},
                [SHAPE] = {USMPY_shape, true},
                [TYPESTR] = {USMPY_typestr, true},
                [STRIDES] = {USMPY_strides, false},
                [MASK] = {USMPY_mask, false},
                [DESCR] = {USMPY_descr, false}},
};

int usmpy_cuda_interface_stream(usmpy_state *state, PyObject *object, usmpy_origin *origin)
{
    PyObject *members[STREAM + 1];
    int found = usmpy_interface_read(state, object, &cuda, STREAM + 1, members);
    if (found > 0) {
        found = find_origin(state, members[VERSION], members[STREAM], origin);
        usmpy_interface_clear(members, STREAM + 1);
    }
    return found;
}

/* Parses strides, which are in bytes. 0 or -1. */
static int parse_strides(PyObject *strides, usmpy_claim *claim)
{
    int itemsize = usm_dtype_table[claim->dtype].itemsize;
    if (!usmpy_given(strides)) {
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
                return usmpy_refuse(PyExc_BufferError,
                                    CUDA
                                    " has a stride of %lld bytes, which is no multiple of the item size %d",
                                    (long long)claim->strides[i], itemsize);
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
    if (usmpy_given(mask)) {
        PyErr_SetString(PyExc_BufferError, CUDA " has a mask; arrays without one are allowed");
        return -1;
    }
    if (!usmpy_given(descr)) {
        return 0;
    }
    PyObject *field = PyList_Check(descr) && PyList_GET_SIZE(descr) == 1 ? usmpy_item(descr, 0) : NULL;
    int same = 0;
    if (field != NULL && PyTuple_Check(field) && PyTuple_GET_SIZE(field) == 2) {
        same = PyObject_RichCompareBool(PyTuple_GET_ITEM(field, 1), typestr, Py_EQ);
    }
    Py_XDECREF(field);
    if (same == 0) {
        usmpy_error_format(PyExc_BufferError,
                           CUDA " has the descr %.100R beside the typestr %.100R; records cannot be taken",
                           descr, typestr);
    }
    return same > 0 ? 0 : -1;
}

/* Fills the claim but for the queue and the owner. 0 or -1. */
static int parse(PyObject *const *members, usmpy_claim *claim)
{
    if (!PyTuple_Check(members[SHAPE])) {
        return usmpy_refuse(PyExc_BufferError, CUDA " has %.100R as 'shape'; a tuple of ints is needed",
                            members[SHAPE]);
    }
    claim->usm = false;
    claim->ordered = true;
    return usmpy_interface_parse(&cuda, members[DATA], members[SHAPE], members[TYPESTR], claim) < 0 ||
                   parse_strides(members[STRIDES], claim) < 0 ||
                   check_plain(members[MASK], members[DESCR], members[TYPESTR]) < 0
               ? -1
               : 0;
}

/* The cached queue of the device that the memory is on: new reference. */
static PyObject *find_home(usmpy_state *state, usmpy_claim *claim)
{
    for (int i = 0; i < claim->ndim; i++) {
        if (claim->shape[i] == 0) { /* an empty array may have any address */
            claim->address = NULL;
            claim->kind = USM_DEVICE;
        }
    }
    /* Pinned memory has one address on all devices, so the driver finds the device of the pointer. */
    return usmpy_home_queue(state, (DLDevice){kDLCUDAHost, 0}, claim->address);
}

usmpy_array *usmpy_array_from_cuda_interface(usmpy_state *state, PyObject *object, PyObject *queue_object)
{
    usmpy_claim claim;
    usmpy_origin origin = {.stream = NULL};
    usmpy_array *array = NULL;
    PyObject *members[MEMBERS];
    if (usmpy_interface_read(state, object, &cuda, MEMBERS, members) <= 0) {
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
        usmpy_attach_stream(array, usmpy_queue_of(array->queue), &origin);
    }
    usmpy_array_prefer_queue(array, queue_object);
    return array;
}

/*
 * The stream after which a consumer must order its work, as a new int or None. If tasks on the memory are
 * pending, it is that of the array's queue, which is ordered after all of them. NULL with an exception.
 */
static PyObject *stream_of(usmpy_state *state, usmpy_array *array)
{
    usm_queue *queue = usmpy_queue_of(array->queue);
    usm_device *device = array->alloc->place->device;
    bool ended = usm_alloc_has(array->alloc, USM_ALLOC_ENDED);
    if (usm_alloc_is_clean(array->alloc) && !ended) {
        Py_RETURN_NONE;
    }
    usm_alloc_settle(array->alloc);
    if (ended || !usm_alloc_is_busy(array->alloc)) { /* a failure or the end of a borrow raises */
        return usmpy_peek_alloc(state, array->alloc, usmpy_foreign_access(array)) < 0 ? NULL
                                                                                      : Py_NewRef(Py_None);
    }
    if (queue->device != device || !usm_backend_has_streams(queue->backend)) {
        queue = usmpy_current_queue(state, (DLDevice){kDLCUDA, device->info.dlpack_id});
    }
    if (queue == NULL || usmpy_stream_follow_alloc(state, device, usm_queue_stream(queue), array->alloc,
                                                   usmpy_foreign_access(array), false) < 0) {
        return NULL;
    }
    return PyLong_FromVoidPtr(usm_queue_stream(queue));
}

PyObject *usmpy_array_cuda_interface(PyObject *self, void *Py_UNUSED(unused))
{
    usmpy_array *array = (usmpy_array *)self;
    if (!usmpy_has_streams(array->alloc) || array->alloc->place->device->info.dlpack_type != kDLCUDA) {
        return PyErr_Format(PyExc_AttributeError,
                            "this array has no " CUDA ": its memory is of backend %s, not CUDA's",
                            usm_backend_name(array->alloc->context->backend));
    }
    PyObject *dict = usmpy_interface_export(array, &cuda, usm_dtype_table[array->dtype].itemsize);
    if (dict == NULL) {
        return NULL;
    }
    PyObject *typestr = PyDict_GetItemString(dict, "typestr"); /* borrowed */
    usmpy_put(&dict, "descr", Py_BuildValue("[(sO)]", "", typestr));
    if (dict != NULL) {
        usmpy_put(&dict, "stream", array->size == 0 ? Py_NewRef(Py_None) : stream_of(array->state, array));
    }
    if (dict != NULL) {
        usmpy_trace_export(array, CUDA);
    }
    return dict;
}
