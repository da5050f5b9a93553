/* from_native and native_handle: devices, contexts and queues shared with other libraries on a driver. */
#include "native.h"

#include "py/args.h"
#include "py/deferred.h"
#include "py/errors.h"
#include "py/keep.h"
#include "stream.h"
#include "sycl.h"

#include "core/device/registry.h"
#include "core/exchange/native.h"

/* Parses backend=: a working backend with native objects. NULL with an exception. */
static const usm_backend *parse_backend(usmpy_state *state, PyObject *name)
{
    if (!PyUnicode_Check(name)) {
        return usmpy_wrong_type("from_native(): backend", name, "a name such as 'opencl' is allowed");
    }
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(name, &length);
    if (text == NULL) {
        return NULL;
    }
    int index = usm_backend_index(text, (size_t)length);
    if (index < 0) {
        return usmpy_error_format(
            PyExc_ValueError,
            "from_native(): backend is %.100R; 'opencl', 'level_zero' or 'cuda' is allowed (the host has no "
            "native objects)",
            name);
    }
    const usm_backend_report *report;
    USMPY_WITHOUT_GIL(report = usm_backend_start(index));
    const usm_backend *backend = usmpy_reported_backend(state, report);
    if (backend != NULL && !usm_backend_has_native(backend)) {
        return usmpy_error_format(
            PyExc_ValueError,
            "from_native(): backend %.100R has no native objects: its queues are threads of this process",
            name);
    }
    return backend;
}

/* Parses handle=: an int, or an object whose int_ptr is one (PyOpenCL's). 0 or -1 with an exception. */
static int parse_handle(usmpy_state *state, PyObject *object, bool zero, void **out)
{
    PyObject *number =
        PyIndex_Check(object) ? Py_NewRef(object) : usmpy_attribute(state, object, USMPY_int_ptr);
    if (number == NULL && PyErr_Occurred()) {
        return -1;
    }
    if (number == NULL || !PyIndex_Check(number)) {
        usmpy_wrong_type("from_native(): handle", object, "an int, or an object with an int_ptr, is allowed");
        Py_XDECREF(number);
        return -1;
    }
    int found = usmpy_address_of(number, "from_native(): handle", out);
    if (found == 0 || (found > 0 && *out == NULL && !zero)) {
        PyErr_Format(PyExc_ValueError,
                     "from_native(): handle is %.60S; the address of a driver's object is allowed", number);
        found = -1;
    }
    Py_DECREF(number);
    return found > 0 ? 0 : -1;
}

/* The parsed arguments of from_native. */
typedef struct request {
    const usm_backend *backend;
    usm_native what;
    void *handle;
    bool counted;    /* the handle has a count of its own, which end_request releases */
    usm_keep *keeps; /* of the owner and the SYCL object, for the result; owned until that takes them over */
} request;

static void end_request(const request *request)
{
    if (request->counted) {
        usm_native_count(request->backend, request->what, request->handle, false);
    }
}

/* Parses handle=: an object of dpctl, which the result keeps alive. 0 or -1. */
static int parse_sycl(usmpy_state *state, PyObject *object, request *request)
{
    usmpy_sycl_object found;
    if (usmpy_sycl_native(state, object, &found) < 0) {
        return -1;
    }
    if (found.backend != request->backend || found.what != request->what) {
        PyErr_Format(found.what != request->what ? PyExc_TypeError : PyExc_ValueError,
                     "from_native(): handle is %s %.80s, which is a %s of backend %s", USMPY_A(object),
                     found.what == USM_NATIVE_QUEUE ? "queue" : "context", usm_backend_name(found.backend));
        usmpy_sycl_release(&found);
        return -1;
    }
    request->handle = found.handle;
    request->counted = true;
    return usmpy_keep_object(&request->keeps, object);
}

/* 0, or -1 with an exception; then *request owns nothing. */
static int parse(usmpy_state *state, usm_native what, PyObject *const *out, request *request)
{
    bool has_owner = what != USM_NATIVE_DEVICE;
    usm_device *device;
    usmpy_deferred_poll();
    *request = (struct request){.what = what, .backend = parse_backend(state, out[0])};
    if (request->backend == NULL ||
        (has_owner && usmpy_given(out[2]) && usmpy_keep_object(&request->keeps, out[2]) < 0)) {
        return -1;
    }
    /* CUDA numbers its devices from 0. All other handles are addresses. */
    bool zero = !has_owner && usm_device_adopt(request->backend, NULL, &device, NULL) == USM_OK;
    int status = has_owner && usmpy_is_sycl(out[1]) ? parse_sycl(state, out[1], request)
                                                    : parse_handle(state, out[1], zero, &request->handle);
    if (status < 0) {
        usmpy_keep_drop(request->keeps);
        end_request(request);
    }
    return status;
}

PyObject *usmpy_device_from_native(usmpy_state *state, PyObject *Py_UNUSED(type), PyObject *const *arguments)
{
    request request;
    usm_device *device;
    usm_error error;
    if (parse(state, USM_NATIVE_DEVICE, arguments, &request) < 0) {
        return NULL;
    }
    usm_status status = usm_device_adopt(request.backend, request.handle, &device, &error);
    return status == USM_OK ? usmpy_device_wrap(state, device, NULL) : usmpy_raise(state, status, &error);
}

usm_context *usmpy_adopt_context(usmpy_state *state, const usm_backend *backend, void *handle,
                                 usm_keep *keeps)
{
    usm_context *context;
    usm_error error;
    usm_status status;
    USMPY_WITHOUT_GIL(status = usm_context_adopt(backend, handle, &context, &error));
    if (status != USM_OK || (keeps != NULL && !usm_context_keep(context, keeps, usmpy_keep_is_same))) {
        usmpy_keep_drop(keeps);
    }
    return status == USM_OK ? context : usmpy_raise(state, status, &error);
}

PyObject *usmpy_context_from_native(usmpy_state *state, PyObject *Py_UNUSED(type), PyObject *const *arguments)
{
    request request;
    if (parse(state, USM_NATIVE_CONTEXT, arguments, &request) < 0) {
        return NULL;
    }
    usm_context *context = usmpy_adopt_context(state, request.backend, request.handle, request.keeps);
    end_request(&request);
    if (context == NULL) {
        return NULL;
    }
    PyObject *self = usmpy_context_wrap(state, context);
    usm_context_release(context);
    return self;
}

PyObject *usmpy_queue_from_native(usmpy_state *state, PyObject *Py_UNUSED(type), PyObject *const *arguments)
{
    request request;
    usm_queue *queue;
    usm_error error;
    usm_status status;
    if (parse(state, USM_NATIVE_QUEUE, arguments, &request) < 0) {
        return NULL;
    }
    USMPY_WITHOUT_GIL(status =
                          usm_queue_adopt(request.backend, request.handle, request.keeps, &queue, &error));
    end_request(&request);
    if (status != USM_OK) {
        usmpy_keep_drop(request.keeps);
        return usmpy_raise(state, status, &error);
    }
    return usmpy_queue_wrap(state, queue);
}

PyObject *usmpy_native_handle(const usm_backend *backend, usm_native what, const void *object)
{
    return usm_backend_has_native(backend) ? PyLong_FromVoidPtr(usm_native_handle(backend, what, object))
                                           : Py_NewRef(Py_None);
}
