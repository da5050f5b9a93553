/*
 * The DLPackExchangeAPI of USMArray (DLPack 1.3): one static table for the process. Its functions do not
 * synchronise with a stream of the consumer: they order the memory with the stream that current_work_stream
 * names, that of the device's cached queue. CPU memory has no stream, so they wait for pending work on it: a
 * CPU consumer gets finished data.
 */
#include "dlpack.h"
#include "py/args.h"
#include "py/errors.h"
#include "py/objects/trace.h"
#include "py/wait.h"
#include "stream.h"

#include "core/streams/lend.h"

/*
 * The array of a call; NULL with TypeError. Checked by a slot, since each loaded instance of the module has
 * its own type.
 */
static usmpy_array *check_array(PyObject *object)
{
    if (USM_LIKELY(Py_TYPE(object)->tp_as_buffer != NULL &&
                   Py_TYPE(object)->tp_as_buffer->bf_getbuffer == usmpy_array_getbuffer)) {
        return (usmpy_array *)object;
    }
    return usmpy_error_format(PyExc_TypeError, "the exchange table of USMArray was given %s %.80s",
                              USMPY_A(object));
}

usm_queue *usmpy_current_queue(usmpy_state *state, DLDevice device)
{
    PyObject *home = usmpy_home_queue(state, device, NULL);
    if (home == NULL) {
        return NULL;
    }
    usm_queue *queue = usmpy_queue_of(home); /* cached queues of default contexts are immortal */
    Py_DECREF(home);
    return queue;
}

/*
 * Makes the memory of an array ready for a call of the table. *queue: the queue whose stream the consumer
 * works in or orders its work after; NULL for memory without streams. The array, or NULL with an exception.
 */
static usmpy_array *prepare(PyObject *object, DLDevice *device, usm_queue **queue)
{
    usmpy_array *array = check_array(object);
    *queue = NULL;
    if (array == NULL) {
        return NULL;
    }
    *device = usmpy_dlpack_device(array);
    int status = usmpy_check_context(array, device);
    if (USM_LIKELY(device->device_type == kDLCPU || !usmpy_has_streams(array->alloc))) {
        status = status < 0 ? -1 : usmpy_finish_for_export(array->state, array);
    } else if (status == 0) {
        *queue = usmpy_current_queue(array->state, *device);
        status = *queue == NULL
                     ? -1
                     : usmpy_stream_follow(array->state, (*queue)->device, usm_queue_stream(*queue), array);
    }
    return status < 0 ? NULL : array;
}

static int from_py_object(void *object, DLManagedTensorVersioned **out)
{
    usm_queue *queue;
    DLDevice device;
    usmpy_array *array = prepare(object, &device, &queue);
    *out = NULL;
    if (array == NULL) {
        return -1;
    }
    usm_view view = usmpy_view(array);
    uint64_t flags = (array->flags & USMPY_WRITABLE) == 0 ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
    *out = usm_export_versioned(&view, device, flags, NULL);
    if (*out == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if (queue != NULL) {
        usm_export_in_queue(*out, queue);
    }
    return 0;
}

static int to_py_object(DLManagedTensorVersioned *tensor, void **out)
{
    usmpy_state *state = usmpy_current_state();
    usmpy_tensor owned = {tensor, NULL};
    *out = NULL;
    if (state == NULL || tensor->version.major != 1) {
        usmpy_tensor_delete(&owned);
        if (state != NULL) {
            PyErr_SetString(PyExc_BufferError, "the tensor is not of DLPack version 1");
        }
        return -1;
    }
    /* The producer works in the stream that we name. */
    const DLDevice device = tensor->dl_tensor.device;
    usmpy_origin origin = {.stream = NULL};
    if (device.device_type != kDLCPU) {
        usm_queue *queue = usmpy_current_queue(state, device);
        if (queue == NULL) {
            usmpy_tensor_delete(&owned);
            return -1;
        }
        origin = (usmpy_origin){.stream = usm_queue_stream(queue), .device = queue->device};
    }
    *out = usmpy_array_from_tensor(state, &owned, &origin, NULL);
    return *out == NULL ? -1 : 0;
}

/*
 * The consumer may work on a loan in our stream after this returns, and does not report when it has finished.
 * The next use of the memory elsewhere, and its release, are ordered after the work that is in the stream at
 * that time.
 */
static int lend_dltensor(void *object, DLTensor *out)
{
    usm_queue *queue;
    DLDevice device;
    usmpy_array *array = prepare(object, &device, &queue);
    if (array == NULL) {
        return -1;
    }
    usm_error error;
    if (queue != NULL &&
        usmpy_check(array->state,
                    usm_alloc_lend(array->alloc, queue->device, usm_queue_stream(queue), &error),
                    &error) < 0) {
        return -1;
    }
    usm_view view = usmpy_view(array);
    usm_dltensor_fill(out, &view, device);
    usmpy_trace_export(array, "DLPack loan");
    return 0;
}

static int current_work_stream(DLDeviceType type, int32_t id, void **out)
{
    *out = NULL;
    if (type == kDLCPU) {
        return 0;
    }
    usmpy_state *state = usmpy_current_state();
    usm_queue *queue = state == NULL ? NULL : usmpy_current_queue(state, (DLDevice){type, id});
    if (queue == NULL) {
        return -1;
    }
    /* Other libraries may enqueue work in it from now on, which waits for the queue include. */
    return usm_backend_has_streams(queue->backend) ? usmpy_wait_native_queue(state, queue, out) : 0;
}

/* Uses no Python: the caller may not hold the GIL (dlpack.h). */
static usm_status allocate(const DLTensor *prototype, DLManagedTensorVersioned **out, usm_error *error)
{
    usm_dtype dtype;
    usm_place *place;
    usm_alloc *alloc;
    int64_t size, strides[USM_MAX_NDIM];
    usm_status status = usm_dltensor_check(prototype, 0, &dtype, error);
    if (status != USM_OK) {
        return status;
    }
    usm_device *device = usm_device_from_dlpack((int32_t)prototype->device.device_type,
                                                (int32_t)prototype->device.device_id, NULL);
    if (device == NULL) {
        char text[48];
        return usm_error_set(error, USM_BUFFER, "no backend of this process has the DLPack device %s, id %d",
                             usm_dldevice_text((int32_t)prototype->device.device_type, text, sizeof text),
                             (int)prototype->device.device_id);
    }
    status =
        usm_layout_size(prototype->ndim, prototype->shape, usm_dtype_table[dtype].itemsize, &size, error);
    if (status == USM_OK) {
        status = usm_context_place(NULL, device, &place, error);
    }
    if (status == USM_OK) {
        status =
            usm_alloc_create(place, USM_DEVICE, (size_t)usm_dtype_nbytes(dtype, size), false, &alloc, error);
    }
    if (status != USM_OK) {
        return status;
    }
    usm_layout_compact(prototype->ndim, prototype->shape, 'C', strides);
    usm_layout_normalize(prototype->ndim, prototype->shape, strides);
    usm_view view = {alloc, alloc->pointer, dtype, prototype->ndim, prototype->shape, strides};
    *out = usm_export_versioned(&view, prototype->device, 0, NULL);
    usm_alloc_release(alloc);
    return *out == NULL ? usm_error_memory(error, sizeof(DLManagedTensorVersioned), "a DLPack tensor")
                        : USM_OK;
}

static int tensor_allocator(DLTensor *prototype, DLManagedTensorVersioned **out, void *error_context,
                            void (*set_error)(void *error_context, const char *kind, const char *message))
{
    usm_error error;
    *out = NULL;
    usm_status status = allocate(prototype, out, &error);
    if (status == USM_OK) {
        return 0;
    }
    if (status == USM_INTERRUPTED) {
        PyErr_Clear(); /* the caller raises what it is told */
    }
    set_error(error_context,
              status == USM_MEMORY        ? "MemoryError"
              : status == USM_VALUE       ? "ValueError"
              : status == USM_INTERRUPTED ? "KeyboardInterrupt"
                                          : "BufferError",
              error.text);
    usm_error_clear(&error);
    return -1;
}

static const DLPackExchangeAPI exchange_api = {
    .header = {.version = {1, 3}, .prev_api = NULL},
    .managed_tensor_allocator = tensor_allocator,
    .managed_tensor_from_py_object_no_sync = from_py_object,
    .managed_tensor_to_py_object_no_sync = to_py_object,
    .dltensor_from_py_object_no_sync = lend_dltensor,
    .current_work_stream = current_work_stream,
};

/* The type is immutable for users. Its dict may be changed here, before the type is published. */
int usmpy_array_add_exchange_api(usmpy_state *state)
{
    PyObject *capsule = PyCapsule_New((void *)&exchange_api, "dlpack_exchange_api", NULL);
    if (capsule == NULL) {
        return -1;
    }
    PyObject *dict = state->array_type->tp_dict;
    int status = PyDict_SetItem(dict, state->names[USMPY___dlpack_c_exchange_api__], capsule);
    if (status == 0) { /* the name in the draft, which older consumers look up */
        status = PyDict_SetItemString(dict, "__c_dlpack_exchange_api__", capsule);
    }
    Py_DECREF(capsule);
    PyType_Modified(state->array_type);
    return status;
}
