/* Native handles: devices, contexts and queues of other libraries on the same driver, and ours for them. */
#include "native.h"

#include "py/args.h"
#include "py/deferred.h"
#include "py/errors.h"
#include "py/keep.h"
#include "sycl.h"

#include "core/device/registry.h"
#include "core/exchange/native.h"

/* backend= : a backend that works and has native objects. NULL with an exception. */
static const usm_backend *parse_backend(usmpy_state *state, PyObject *name, const char *function)
{
    if (!PyUnicode_Check(name)) {
        return (const usm_backend *)PyErr_Format(PyExc_TypeError,
                                                 "%s(): backend is %s %s; a name such as 'opencl' is allowed",
                                                 function, USMPY_A(name));
    }
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(name, &length);
    if (text == NULL) {
        return NULL;
    }
    int index = usm_backend_index(text, (size_t)length);
    if (index < 0) {
        PyErr_Format(PyExc_ValueError,
                     "%s(): backend is %R; 'opencl', 'level_zero' or 'cuda' is allowed (the host has no "
                     "native objects)",
                     function, name);
        return NULL;
    }
    const usm_backend_report *report;
    Py_BEGIN_ALLOW_THREADS
        report = usm_backend_start(index);
    Py_END_ALLOW_THREADS
    if (report->absent != NULL) {
        PyErr_SetString(report->broken ? state->usm_error : state->backend_unavailable, report->absent);
        return NULL;
    }
    if (!usm_backend_has_native(report->backend)) {
        PyErr_Format(PyExc_ValueError,
                     "%s(): backend %R has no native objects: its queues are threads of this process",
                     function, name);
        return NULL;
    }
    return report->backend;
}

/* Whether the driver's devices are numbers, with 0 a valid one. All other handles are addresses. */
static bool has_device_zero(const usm_backend *backend)
{
    usm_device *device;
    return usm_device_adopt(backend, NULL, &device, NULL) == USM_OK;
}

/* handle= : an int, or an object whose int_ptr is one (PyOpenCL's). 0 or -1 with an exception. */
static int parse_handle(usmpy_state *state, PyObject *object, bool zero, const char *function, void **out)
{
    PyObject *number = PyIndex_Check(object) ? PyNumber_Index(object) : NULL;
    if (number == NULL && !PyErr_Occurred()) {
        number = PyObject_GetAttr(object, state->names[USMPY_int_ptr]);
        if (number == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
            PyErr_Clear();
        }
    }
    if (number == NULL || !PyLong_Check(number)) {
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_TypeError,
                         "%s(): handle is %s %s; an int, or an object with an int_ptr, is allowed", function,
                         USMPY_A(object));
        }
        Py_XDECREF(number);
        return -1;
    }
    unsigned long long value = PyLong_AsUnsignedLongLong(number);
    bool fits = !PyErr_Occurred();
    if (!fits && PyErr_ExceptionMatches(PyExc_OverflowError)) {
        PyErr_Clear();
    }
    if (!PyErr_Occurred() && (!fits || (value == 0 && !zero))) {
        PyErr_Format(PyExc_ValueError, "%s(): handle is %S; the address of a driver's object is allowed",
                     function, number);
    }
    Py_DECREF(number);
    *out = (void *)(uintptr_t)value;
    return PyErr_Occurred() ? -1 : 0;
}

typedef struct request {
    const usm_backend *backend;
    void *handle;
    PyObject *owner;        /* borrowed; NULL for none */
    usmpy_sycl_object sycl; /* backend NULL: the handle is not an object of SYCL; otherwise it is ... */
    PyObject *object;       /* ... this one's; borrowed */
} request;

static void end(const request *request)
{
    if (request->sycl.backend != NULL) {
        usmpy_sycl_release(&request->sycl);
    }
}

/* handle= : an object of dpctl, kept alive by the result. 0 or -1. */
static int parse_sycl(usmpy_state *state, PyObject *object, usm_native what, const char *function,
                      request *request)
{
    usmpy_sycl_object found;
    if (usmpy_sycl_native(state, object, &found) < 0) {
        return -1;
    }
    if (found.backend != request->backend || found.what != what) {
        PyErr_Format(found.what != what ? PyExc_TypeError : PyExc_ValueError,
                     "%s(): handle is %s %s, which is a %s of backend %s", function, USMPY_A(object),
                     found.what == USM_NATIVE_QUEUE ? "queue" : "context", usm_backend_name(found.backend));
        usmpy_sycl_release(&found);
        return -1;
    }
    request->sycl = found;
    request->handle = found.handle;
    request->object = object;
    return 0;
}

static int parse(usmpy_state *state, const usmpy_signature *signature, usm_native what, PyObject *const *args,
                 Py_ssize_t nargs, PyObject *kwnames, request *request)
{
    PyObject *out[3] = {NULL, NULL, NULL};
    if (usmpy_parse(state, signature, args, nargs, kwnames, out) < 0) {
        return -1;
    }
    usmpy_deferred_poll();
    request->backend = parse_backend(state, out[0], signature->function);
    request->owner = usmpy_given(out[2]) ? out[2] : NULL;
    if (request->backend == NULL) {
        return -1;
    }
    request->sycl.backend = NULL;
    if (what != USM_NATIVE_DEVICE && usmpy_is_sycl(out[1])) {
        return parse_sycl(state, out[1], what, signature->function, request);
    }
    bool zero = what == USM_NATIVE_DEVICE && has_device_zero(request->backend);
    return parse_handle(state, out[1], zero, signature->function, &request->handle);
}

PyObject *usmpy_device_from_native(PyObject *type, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"from_native", 2, 2, 0, 2, {USMPY_backend, USMPY_handle}};
    usmpy_state *state = usmpy_state_of_type((PyTypeObject *)type);
    request request;
    usm_device *device;
    usm_error error;
    if (parse(state, &signature, USM_NATIVE_DEVICE, args, nargs, kwnames, &request) < 0) {
        return NULL;
    }
    usm_status status = usm_device_adopt(request.backend, request.handle, &device, &error);
    return status == USM_OK ? usmpy_device_wrap(state, device, NULL) : usmpy_raise(state, status, &error);
}

typedef struct adopted {
    usm_context *context; /* one of the two, with a count */
    usm_queue *queue;
    usm_keep *keeps; /* of the owner; owned by the caller for a context, by the queue for a queue */
} adopted;

/* A context or a queue. 0, or -1 with an exception. */
static int adopt(usmpy_state *state, usm_native what, PyObject *const *args, Py_ssize_t nargs,
                 PyObject *kwnames, adopted *out)
{
    static const usmpy_signature signature = {
        "from_native", 3, 2, 0, 2, {USMPY_backend, USMPY_handle, USMPY_owner}};
    request request;
    usm_error error;
    usm_status status;
    *out = (adopted){NULL, NULL, NULL};
    if (parse(state, &signature, what, args, nargs, kwnames, &request) < 0) {
        return -1;
    }
    if ((request.owner != NULL && usmpy_keep_object(&out->keeps, request.owner) < 0) ||
        (request.sycl.backend != NULL && usmpy_keep_object(&out->keeps, request.object) < 0)) {
        usmpy_keep_drop(out->keeps);
        end(&request);
        return -1;
    }
    Py_BEGIN_ALLOW_THREADS
        status = what == USM_NATIVE_CONTEXT
                     ? usm_context_adopt(request.backend, request.handle, &out->context, &error)
                     : usm_queue_adopt(request.backend, request.handle, out->keeps, &out->queue, &error);
    Py_END_ALLOW_THREADS
    end(&request);
    if (status != USM_OK) {
        usmpy_keep_drop(out->keeps);
        usmpy_raise(state, status, &error);
        return -1;
    }
    return 0;
}

PyObject *usmpy_context_from_native(PyObject *type, PyObject *const *args, Py_ssize_t nargs,
                                    PyObject *kwnames)
{
    usmpy_state *state = usmpy_state_of_type((PyTypeObject *)type);
    adopted found;
    if (adopt(state, USM_NATIVE_CONTEXT, args, nargs, kwnames, &found) < 0) {
        return NULL;
    }
    if (found.keeps != NULL && !usm_context_keep(found.context, found.keeps, usmpy_keep_is_same)) {
        usmpy_keep_drop(found.keeps);
    }
    PyObject *self = usmpy_context_wrap(state, found.context);
    usm_context_release(found.context);
    return self;
}

PyObject *usmpy_queue_from_native(PyObject *type, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    usmpy_state *state = usmpy_state_of_type((PyTypeObject *)type);
    adopted found;
    return adopt(state, USM_NATIVE_QUEUE, args, nargs, kwnames, &found) < 0
               ? NULL
               : usmpy_queue_wrap(state, found.queue);
}

static PyObject *handle_of(const usm_backend *backend, usm_native what, const void *object)
{
    if (!usm_backend_has_native(backend)) {
        Py_RETURN_NONE;
    }
    return PyLong_FromVoidPtr(usm_native_handle(backend, what, object));
}

PyObject *usmpy_device_native_handle(PyObject *self, void *unused)
{
    (void)unused;
    const usm_device *device = ((usmpy_device *)self)->device;
    return handle_of(device->backend, USM_NATIVE_DEVICE, device);
}

PyObject *usmpy_context_native_handle(PyObject *self, void *unused)
{
    (void)unused;
    const usm_context *context = ((usmpy_context *)self)->context;
    return handle_of(context->backend, USM_NATIVE_CONTEXT, context);
}

PyObject *usmpy_queue_native_handle(PyObject *self, void *unused)
{
    (void)unused;
    void *handle = usm_queue_handle(usmpy_queue_of(self));
    if (handle == NULL) {
        Py_RETURN_NONE;
    }
    return PyLong_FromVoidPtr(handle);
}
