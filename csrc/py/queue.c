/* Queue: its life, its properties, waiting. What is submitted to it is in queue_submit.c. */
#include "args.h"
#include "array.h"
#include "deferred.h"
#include "errors.h"
#include "launch.h"
#include "native.h"
#include "objects.h"
#include "queue_submit.h"
#include "stream.h"
#include "sycl.h"
#include "wait.h"

#include <stddef.h>
#include <structmember.h>

/* Cached queues of default contexts never go, and neither does their object: q is q, not only q == q. */
static PyObject *cached_object(usmpy_state *state, usm_queue *queue, PyObject *fresh)
{
    PyObject *key = PyLong_FromVoidPtr(queue), *object = NULL;
    if (key != NULL && fresh != NULL) {
        object = Py_XNewRef(PyDict_SetDefault(state->queue_objects, key, fresh));
    } else if (key != NULL) {
        object = Py_XNewRef(PyDict_GetItemWithError(state->queue_objects, key));
    }
    Py_XDECREF(key);
    return object;
}

PyObject *usmpy_queue_wrap(usmpy_state *state, usm_queue *queue)
{
    bool immortal = queue->cached && queue->context->is_default;
    if (immortal) {
        PyObject *known = cached_object(state, queue, NULL);
        if (known != NULL || PyErr_Occurred()) {
            return known;
        }
    }
    usmpy_queue *self = (usmpy_queue *)state->queue_type->tp_alloc(state->queue_type, 0);
    if (self == NULL) {
        usm_queue_release(queue);
        return NULL;
    }
    self->queue = queue;
    if (!immortal) {
        return (PyObject *)self;
    }
    PyObject *object = cached_object(state, queue, (PyObject *)self);
    Py_DECREF(self);
    return object;
}

static void queue_dealloc(PyObject *self)
{
    usmpy_queue *queue = (usmpy_queue *)self;
    if (queue->weakrefs != NULL) {
        PyObject_ClearWeakRefs(self);
    }
    if (queue->queue != NULL) {
        usm_queue_release(queue->queue);
        usmpy_deferred_poll_quietly(); /* its owner goes with it */
    }
    usmpy_free_object(self);
}

static const char *const priorities[] = {"low", "normal", "high"};

static int parse_priority(PyObject *priority)
{
    if (priority == NULL) {
        return USM_PRIORITY_NORMAL;
    }
    for (int i = 0; PyUnicode_Check(priority) && i < 3; i++) {
        if (PyUnicode_CompareWithASCIIString(priority, priorities[i]) == 0) {
            return i;
        }
    }
    PyErr_Format(PyUnicode_Check(priority) ? PyExc_ValueError : PyExc_TypeError,
                 "priority is %R; 'low', 'normal' or 'high' is allowed", priority);
    return -1;
}

static PyObject *queue_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static const usmpy_signature signature = {
        "Queue", 5, 1, 0, 0, {USMPY_device, USMPY_context, USMPY_in_order, USMPY_profiling, USMPY_priority}};
    usmpy_state *state = usmpy_state_of_type(type);
    PyObject *out[5];
    if (usmpy_parse_tuple(state, &signature, args, kwargs, out) < 0) {
        return NULL;
    }
    int in_order = usmpy_bool(out[2], 1, "Queue", "in_order");
    int profiling = in_order < 0 ? -1 : usmpy_bool(out[3], 0, "Queue", "profiling");
    int priority = profiling < 0 ? -1 : parse_priority(out[4]);
    if (priority < 0) {
        return NULL;
    }
    if (usmpy_given(out[1]) && !Py_IS_TYPE(out[1], state->context_type)) {
        return PyErr_Format(PyExc_TypeError, "context is a %s; a Context is allowed",
                            Py_TYPE(out[1])->tp_name);
    }
    PyObject *beside = usmpy_queue_from(state, out[0] == NULL ? Py_None : out[0], "device");
    if (beside == NULL) {
        return NULL;
    }
    usm_queue *model = usmpy_queue_of(beside), *queue;
    usm_context *context = usmpy_given(out[1]) ? ((usmpy_context *)out[1])->context : model->context;
    const usm_queue_options options = {
        .in_order = in_order, .profiling = profiling, .priority = (usm_priority)priority};
    usm_place *place;
    usm_error error;
    usm_status status;
    Py_BEGIN_ALLOW_THREADS
        status = usm_context_place(context, model->device, &place, &error);
        if (status == USM_OK) {
            status = usm_queue_create(place, &options, &queue, &error);
        }
    Py_END_ALLOW_THREADS
    Py_DECREF(beside);
    return status == USM_OK ? usmpy_queue_wrap(state, queue) : usmpy_raise(state, status, &error);
}

static PyObject *queue_richcompare(PyObject *self, PyObject *other, int operation)
{
    if ((operation != Py_EQ && operation != Py_NE) || !Py_IS_TYPE(other, Py_TYPE(self))) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    return PyBool_FromLong((usmpy_queue_of(self) == usmpy_queue_of(other)) == (operation == Py_EQ));
}

static Py_hash_t queue_hash(PyObject *self)
{
    return (Py_hash_t)((uintptr_t)usmpy_queue_of(self) >> 4);
}

static PyObject *queue_repr(PyObject *self)
{
    const usm_queue *queue = usmpy_queue_of(self);
    char device[USM_DEVICE_TEXT];
    return PyUnicode_FromFormat("<Queue %p on %s%s%s%s>", (void *)queue,
                                usm_device_text(queue->device, device, sizeof device),
                                queue->cached ? ", cached" : "", queue->in_order ? "" : ", out of order",
                                queue->profiling ? ", profiling" : "");
}

static PyObject *get_device(PyObject *self, void *unused)
{
    (void)unused;
    usm_queue *queue = usmpy_queue_of(self);
    return usmpy_device_wrap(usmpy_state_of(self), queue->device, queue);
}

static PyObject *get_context(PyObject *self, void *unused)
{
    (void)unused;
    return usmpy_context_wrap(usmpy_state_of(self), usmpy_queue_of(self)->context);
}

static PyObject *get_backend(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(usmpy_queue_of(self)->backend->name);
}

static PyObject *get_in_order(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(usmpy_queue_of(self)->in_order);
}

static PyObject *get_profiling(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(usmpy_queue_of(self)->profiling);
}

static PyObject *get_priority(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(priorities[usmpy_queue_of(self)->priority]);
}

static PyObject *queue_wait(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"wait", 1, 1, 0, 0, {USMPY_timeout}};
    usmpy_state *state = usmpy_state_of(self);
    PyObject *timeout;
    int64_t deadline_ns;
    if (usmpy_parse(state, &signature, args, nargs, kwnames, &timeout) < 0 ||
        usmpy_deadline(timeout, &deadline_ns) < 0 ||
        usmpy_wait_queue(state, usmpy_queue_of(self), deadline_ns) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* A custom context has no name that another process could use. */
static PyObject *queue_reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    PyObject *function = usmpy_import("usmpy._pickle", "reduce_queue");
    PyObject *result = NULL;
    if (function != NULL) {
        const usm_queue *queue = usmpy_queue_of(self);
        result = PyObject_CallFunction(function, "OOO", self, queue->cached ? Py_True : Py_False,
                                       queue->context->is_default ? Py_True : Py_False);
    }
    Py_XDECREF(function);
    return result;
}

static PyGetSetDef queue_getset[] = {
    {"device", get_device, NULL, "The Device, with this queue: arrays made on it get this queue.", NULL},
    {"context", get_context, NULL, "The Context of its device and memory.", NULL},
    {"backend", get_backend, NULL, "Name of the backend: 'host', 'opencl', 'level_zero' or 'cuda'.", NULL},
    {"in_order", get_in_order, NULL,
     "Work runs in the order of submission (SYCL 2020, property::queue::in_order).", NULL},
    {"profiling", get_profiling, NULL, "Events have times (SYCL 2020, property::queue::enable_profiling).",
     NULL},
    {"priority", get_priority, NULL, "Priority of its work: 'low', 'normal' or 'high'.", NULL},
    {"native_handle", usmpy_queue_native_handle, NULL,
     "The driver's queue or stream as an int, for other libraries to enqueue in: a cl_command_queue; None\n"
     "on the host, whose queues are threads, and for queues over Level Zero's plain lists. It is valid as\n"
     "long as this queue; who keeps it longer must take a count of it (PyOpenCL's from_int_ptr does).",
     NULL},
    {0},
};

static PyMethodDef queue_methods[] = {
    {"from_native", (PyCFunction)(void (*)(void))usmpy_queue_from_native,
     METH_FASTCALL | METH_KEYWORDS | METH_CLASS,
     "from_native($type, backend, handle, *, owner=None)\n--\n\n"
     "A queue over a driver's queue that another library made: work goes into that one.\n\n"
     "backend: 'opencl'. handle: a cl_command_queue as an int, or an object whose int_ptr is one, such\n"
     "as PyOpenCL's CommandQueue, or a SyclQueue of dpctl, which is kept alive. owner: any object, kept\n"
     "alive as long as the handle is used here\n"
     "(it must not lead to this queue: the cycle would never be found). The driver says what device,\n"
     "context and properties are. The handle is counted up here and down in the end, never destroyed.\n"
     "Like Queue(), always a new queue, equal to itself alone, also for a handle that was given\n"
     "before; two of them are in one order as far as the driver's queue is. What other libraries\n"
     "enqueue and what is submitted here run in the order of the calls, but for host tasks and what\n"
     "waits for them or for other drivers, which is enqueued when that has ended. wait(), wait_for()\n"
     "and barrier() count the work of others, too.\n\n"
     "Raises ValueError for a handle of 0 and a backend without native queues, TypeError for arguments\n"
     "of a wrong type, UsmError where it is no queue as far as the driver can tell\n"
     "(CL_INVALID_COMMAND_QUEUE), DeviceNotFound for one on a device that usmpy does not list,\n"
     "BackendUnavailable, MemoryError when memory runs out."},
    {"from_stream", (PyCFunction)(void (*)(void))usmpy_queue_from_stream,
     METH_FASTCALL | METH_KEYWORDS | METH_CLASS,
     "from_stream($type, stream)\n--\n\n"
     "A queue that enqueues in a CUDA stream of another library, on the device that the stream is of.\n\n"
     "stream: an object with __cuda_stream__ (cuda.core, PyTorch, CuPy), a stream of CuPy, PyTorch or\n"
     "Numba, or an int: the address of a stream, 1 (the legacy default stream) or 2 (the calling\n"
     "thread's). The object is kept alive as long as the stream is used here, and the stream is never\n"
     "destroyed. Otherwise as from_native; a Queue comes back as it is.\n\n"
     "Raises TypeError for anything else, ValueError for 0 and a stream of no device's primary context,\n"
     "UsmError where it is no stream as far as the driver can tell, BackendUnavailable without CUDA."},
    {"__cuda_stream__", usmpy_queue_cuda_stream, METH_NOARGS,
     "__cuda_stream__($self)\n--\n\n"
     "(0, the driver's stream as an int), by which other libraries enqueue here.\n\n"
     "Raises TypeError where the queue is no CUDA stream."},
    USMPY_METHOD(
        "memcpy", usmpy_queue_memcpy,
        "memcpy($self, dst, src, nbytes=None, *, depends=())\n--\n\n"
        "Copy bytes; returns an Event (SYCL 2020, 4.6.5, memcpy).\n\n"
        "dst, src: contiguous USMArrays or objects with the buffer protocol (PEP 3118), kept alive\n"
        "until the copy has ended. They may overlap. nbytes: how many bytes; None is all, and the\n"
        "sizes must be equal. depends: an Event, or Events, to wait for.\n\n"
        "Raises ValueError for sizes that do not fit and for a read-only dst, BufferError for what is\n"
        "not contiguous (use copyto), TypeError for anything else, MemoryError when memory runs out."),
    USMPY_METHOD(
        "fill", usmpy_queue_fill,
        "fill($self, dst, value, *, depends=())\n--\n\n"
        "Set every element of contiguous memory; returns an Event (SYCL 2020, 4.6.5, fill).\n\n"
        "dst: a USMArray, or a writable object with the buffer protocol, whose elements are bytes.\n"
        "value: a number that fits dst's dtype, or bytes of one element. depends: an Event, or\n"
        "Events, to wait for.\n\n"
        "Raises ValueError for a read-only dst and bytes of another size, OverflowError and TypeError\n"
        "for a number that the dtype cannot hold, BufferError for what is not contiguous, TypeError\n"
        "for anything else, MemoryError when memory runs out."),
    USMPY_METHOD("submit", usmpy_queue_submit,
                 "submit($self, kernel, args, range, *, depends=())\n--\n\n"
                 "Launch a kernel in this queue; returns its Event at once.\n\n"
                 "kernel: a Kernel that was built for this queue's device. args: a sequence with one item a\n"
                 "parameter (see Kernel). range: a Range, an NdRange, an int or a sequence of ints.\n"
                 "depends: an Event or a sequence of Events. The arrays may belong to other queues whose\n"
                 "memory this one reaches; work on the same memory is ordered.\n\n"
                 "Raises what Kernel says, before anything is enqueued."),
    USMPY_METHOD("prefetch", usmpy_queue_prefetch,
                 "prefetch($self, x)\n--\n\n"
                 "Bring memory near the queue's device; returns an Event (SYCL 2020, 4.6.5, prefetch).\n\n"
                 "x: a USMArray. A hint: on the host nothing moves.\n\n"
                 "Raises TypeError for anything else, MemoryError when memory runs out."),
    USMPY_METHOD("barrier", usmpy_queue_barrier,
                 "barrier($self, depends=())\n--\n\n"
                 "An Event that later work in this queue waits for (SYCL, ext_oneapi_submit_barrier).\n\n"
                 "depends: an Event, or Events, after which it ends; where there are none, after all work\n"
                 "submitted so far.\n\n"
                 "Raises TypeError for anything else, MemoryError when memory runs out."),
    {"host_task", (PyCFunction)(void (*)(void))usmpy_queue_host_task, METH_FASTCALL | METH_KEYWORDS,
     "host_task($self, fn, /, *args, depends=())\n--\n\n"
     "Run fn(*args) on a thread of the queue once earlier work has ended; returns an Event (SYCL\n"
     "2020, 4.10).\n\n"
     "fn: something callable; what it raises comes out of wait(), what it returns is dropped.\n"
     "args: its arguments; USMArrays among them count as read and written. depends: an Event, or\n"
     "Events, to wait for, besides earlier work in an in-order queue and on the same memory. A\n"
     "wait inside fn never waits for this task or what waits for it. What fn submits on its own\n"
     "arguments (x[0] = 1 too) runs after it; to use their memory at once, take a view of it:\n"
     "numpy.from_dlpack(x), memoryview(x).\n\n"
     "Raises TypeError for what cannot be called and for a depends of anything else, RuntimeError\n"
     "while the interpreter ends, MemoryError when memory runs out."},
    USMPY_METHOD("keep_alive", usmpy_queue_keep_alive,
                 "keep_alive($self, objects, depends=())\n--\n\n"
                 "Hold objects until work has ended; returns an Event.\n\n"
                 "objects: anything. depends: an Event, or Events, that must end (and in an in-order queue,\n"
                 "earlier work); where there are none, all work submitted so far. memcpy, host_task and the\n"
                 "like do this for their own arguments.\n\n"
                 "Raises TypeError for a depends of anything else, MemoryError when memory runs out."),
    USMPY_METHOD(
        "wait", queue_wait,
        "wait($self, timeout=None)\n--\n\n"
        "Block until all work submitted so far has ended (SYCL 2020, 4.6.5, wait_and_throw).\n\n"
        "timeout: seconds; None waits for as long as it takes. Inside a host task of this queue, only\n"
        "earlier work counts.\n\n"
        "Raises the first error of asynchronous work since the last call, once; TimeoutError when the\n"
        "time runs out, ValueError for a negative timeout, TypeError for what is no number."),
    USMPY_METHOD(
        "wait_for", usmpy_queue_wait_for,
        "wait_for($self, other, /)\n--\n\n"
        "Make later work in this queue wait for what is in another so far. Does not block.\n\n"
        "other: a Queue, an Event, or a CUDA stream: an object as from_stream takes it, or an int, of\n"
        "which 1 and 2 are the default streams of this queue's device. Its failures stay its own.\n\n"
        "Raises TypeError for anything else, ValueError for the stream 0, BufferError for a stream that\n"
        "is being captured into a graph, MemoryError when memory runs out."),
    {"_get_capsule", usmpy_queue_get_capsule, METH_NOARGS,
     "_get_capsule($self)\n--\n\n"
     "A capsule 'SyclQueueRef', as dpctl takes it: a SYCL queue that enqueues where this one does.\n\n"
     "For queues of backend opencl, in a process that has dpctl, and for what from_native made of a\n"
     "SyclQueue.\n\n"
     "Raises BufferError where there can be none."},
    {"__reduce__", queue_reduce, METH_NOARGS,
     "__reduce__($self)\n--\n\n"
     "Pickled by device and properties; the cached queue of a device stays the cached one.\n\n"
     "PicklingError for a queue in a context of its own."},
    {0},
};

static PyMemberDef queue_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(usmpy_queue, weakrefs), READONLY, NULL},
    {0},
};

static PyType_Slot queue_slots[] = {
    {Py_tp_doc,
     "Queue(device=None, *, context=None, in_order=True, profiling=False, priority='normal')\n--\n\n"
     "Where work is submitted: always a new queue, equal to itself alone (SYCL 2020, 4.6.5).\n\n"
     "device: anything that Device.create_device takes. context: a Context that holds the device;\n"
     "None is the device's. in_order: work runs in the order of submission; with False, only as\n"
     "`depends` and the memory it uses order it. profiling: events have times. priority: 'low',\n"
     "'normal' or 'high'; on the host 'low' lowers the thread's, and 'high' is 'normal', since\n"
     "raising it needs a privilege. Each submission returns an Event at once, keeps what it uses\n"
     "alive and waits for earlier work on the same memory, also in other queues.\n\n"
     "Raises ValueError for a context without the device and for another priority, TypeError for\n"
     "arguments of a wrong type, MemoryError when memory runs out, UsmError where the driver\n"
     "refuses, and what Device() raises."},
    {Py_tp_new, queue_new},
    {Py_tp_dealloc, queue_dealloc},
    {Py_tp_repr, queue_repr},
    {Py_tp_hash, queue_hash},
    {Py_tp_richcompare, queue_richcompare},
    {Py_tp_getset, queue_getset},
    {Py_tp_methods, queue_methods},
    {Py_tp_members, queue_members},
    {0, NULL},
};

static PyType_Spec queue_spec = {
    .name = "usmpy.Queue",
    .basicsize = sizeof(usmpy_queue),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = queue_slots,
};

int usmpy_queue_add_type(PyObject *module, usmpy_state *state)
{
    return usmpy_add_type(module, &queue_spec, &state->queue_type);
}
