/* asarray: an array from an array of any library, a buffer, numbers, or sequences of all these. */
#include "creation.h"
#include "docstrings.h"
#include "py/args.h"
#include "py/exchange/dlpack.h"
#include "py/exchange/stream.h"
#include "py/objects/placement.h"

static bool is_in_order(const usmpy_array *array, char order)
{
    unsigned contiguous = array->flags & (USM_C_CONTIGUOUS | USM_F_CONTIGUOUS);
    return order == 'K' || (order == 'A' && contiguous != 0) ||
           (contiguous & (order == 'F' ? USM_F_CONTIGUOUS : USM_C_CONTIGUOUS)) != 0;
}

/* The arguments of asarray after `obj`. */
typedef struct request {
    PyObject *const *options; /* dtype, device, queue, usm_type */
    int copy;                 /* 0 or 1; -1: only where one is needed */
    char order;
} request;

/* Nested sequences and numbers: new memory, on the queue of the arrays among them. */
static PyObject *from_nested(usmpy_state *state, PyObject *object, const request *request)
{
    usmpy_nested nested;
    usmpy_target target;
    usmpy_array *result = NULL;
    if (request->copy == 0) {
        return PyErr_Format(PyExc_ValueError,
                            "copy=False, but %s %.80s can only be copied into an array; leave copy out",
                            USMPY_A(object));
    }
    if (usmpy_nested_read(state, object, &nested) < 0) {
        usmpy_nested_drop(&nested);
        return NULL;
    }
    bool placed = usmpy_given(request->options[1]) || usmpy_given(request->options[2]);
    if (nested.far != NULL && !placed) {
        PyObject *const arrays[] = {(PyObject *)nested.near, (PyObject *)nested.far};
        const char *const names[] = {nested.near_path, nested.far_path};
        usmpy_raise_placement(state, "asarray", arrays, names, 2);
    } else if (usmpy_parse_target(state, request->options, nested.near, &target) == 0) {
        const usm_device *device = usmpy_queue_of(target.queue)->device;
        usm_dtype dtype = target.dtype != USM_NO_DTYPE ? target.dtype : usmpy_nested_dtype(&nested, device);
        if (nested.near != NULL && !usmpy_given(request->options[3])) {
            target.kind = usmpy_kind_on(device, nested.kind);
        }
        result = usmpy_nested_array(state, &nested, dtype, target.queue, target.kind);
        if (result != NULL && !is_in_order(result, request->order)) {
            Py_SETREF(result,
                      usmpy_array_duplicate(result, target.queue, target.kind, dtype, request->order));
        }
        Py_DECREF(target.queue);
    }
    usmpy_nested_drop(&nested);
    return (PyObject *)result;
}

/*
 * Memory of the host that another library owns, which may write it at any time: its writes are not ordered
 * with tasks. The queue of SYCL's memory orders it.
 */
static bool is_of_host(const usm_alloc *alloc)
{
    return alloc->place->device->info.dlpack_type == kDLCPU ||
           (alloc->kind == USM_HOST && usmpy_has_streams(alloc));
}

/* A USMArray, or one that was imported from `object`: itself if it is already as requested. */
static PyObject *from_array(usmpy_state *state, usmpy_array *array, PyObject *object, const request *request)
{
    usmpy_target target;
    bool foreign = (PyObject *)array != object, of_host = foreign && is_of_host(array->alloc);
    /* Arrays imported from the host go to the default placement; others stay on their device. */
    bool stays = !foreign || array->queue != state->host_queue;
    if (usmpy_parse_target(state, request->options, stays ? array : NULL, &target) < 0) {
        return NULL;
    }
    PyObject *result = NULL;
    bool named = usmpy_given(request->options[3]);
    usm_kind kind =
        named ? target.kind : usmpy_kind_on(usmpy_queue_of(target.queue)->device, array->alloc->kind);
    usm_dtype dtype = target.dtype != USM_NO_DTYPE ? target.dtype : array->dtype;
    bool in_place = usmpy_moves_in_place(array, target.queue, request->copy);
    bool copies = request->copy == 1 || (of_host && request->copy != 0);
    if (dtype == array->dtype && kind == array->alloc->kind && in_place && !copies &&
        is_in_order(array, request->order)) {
        result = usmpy_queue_of(target.queue) == usmpy_queue_of(array->queue)
                     ? Py_NewRef(array)
                     : (PyObject *)usmpy_array_on_queue(array, target.queue);
    } else if (request->copy == 0) {
        PyErr_SetString(
            PyExc_ValueError,
            "copy=False, but obj has another dtype, order, usm_type or placement; leave copy out to get a copy");
    } else if (dtype == array->dtype || usmpy_check_cast(array->dtype, dtype) == 0) {
        kind = named || (in_place && !of_host) ? kind : USM_DEVICE;
        result =
            (PyObject *)usmpy_duplicate_from(state, object, array, target.queue, kind, dtype, request->order);
    }
    Py_DECREF(target.queue);
    return result;
}

/* With the exception of the object that copy=False has met: what is to be left out, if that helps. NULL. */
static PyObject *refuse_sharing(usmpy_state *state, PyObject *object)
{
    if (!PyErr_ExceptionMatches(PyExc_BufferError) && !PyErr_ExceptionMatches(PyExc_TypeError)) {
        return NULL;
    }
    PyObject *cause = usmpy_take_exception(), *array = usmpy_import_any(state, object);
    if (array != NULL) {
        Py_DECREF(array);
        PyErr_SetString(
            PyExc_ValueError,
            "copy=False, but the elements of obj can only be copied; leave copy out to get a copy");
        usmpy_set_cause(Py_NewRef(cause));
    }
    Py_DECREF(cause);
    return NULL;
}

/* arguments: obj, dtype, device, queue, usm_type, copy, order. */
static PyObject *asarray(usmpy_state *state, PyObject *const *arguments)
{
    request request = {.options = arguments + 1, .copy = -1};
    if (usmpy_given(arguments[5])) {
        request.copy = usmpy_bool(arguments[5], -1, "asarray", "copy");
    }
    int order = request.copy < 0 && PyErr_Occurred() ? -1 : usmpy_parse_order(arguments[6], "CFAK", 'K');
    if (order < 0) {
        return NULL;
    }
    request.order = (char)order;
    PyObject *array =
        request.copy == 0 ? usmpy_import_shared(state, arguments[0]) : usmpy_import_any(state, arguments[0]);
    if (array == NULL && PyErr_Occurred()) {
        return request.copy == 0 ? refuse_sharing(state, arguments[0]) : NULL;
    }
    if (array == NULL) {
        return from_nested(state, arguments[0], &request);
    }
    PyObject *result = from_array(state, (usmpy_array *)array, arguments[0], &request);
    Py_DECREF(array);
    return result;
}
USMPY_FUNCTION(asarray)

/* A USMArray alone is returned at once: libraries call asarray on each of their arguments. */
static PyObject *same_or_asarray(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    return nargs == 1 && kwnames == NULL && usmpy_is_array(usmpy_state_of_module(module), args[0])
               ? Py_NewRef(args[0])
               : enter_asarray(module, args, nargs, kwnames);
}

PyMethodDef usmpy_asarray_functions[] = {
    USMPY_METHOD("asarray", same_or_asarray, USMPY_DOC_asarray),
    {0},
};
