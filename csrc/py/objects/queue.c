/* Queue: its life, its properties, waiting. What is submitted to it is in queue_submit.c. */
#include "docstrings.h"
#include "objects.h"
#include "py/args.h"
#include "py/arrays/array.h"
#include "py/deferred.h"
#include "py/errors.h"
#include "py/exchange/native.h"
#include "py/exchange/stream.h"
#include "py/exchange/sycl.h"
#include "py/programs/launch.h"
#include "py/wait.h"
#include "queue_submit.h"

#include <stddef.h>
#include <structmember.h>

/* Cached queues of default contexts live as long as the process, and each keeps one object. */
static PyObject *cached_object(usmpy_state *state, usm_queue *queue, PyObject *fresh)
{
    PyObject *key = PyLong_FromVoidPtr(queue), *object = NULL;
    if (key != NULL) {
        object = Py_XNewRef(fresh != NULL ? PyDict_SetDefault(state->queue_objects, key, fresh)
                                          : PyDict_GetItemWithError(state->queue_objects, key));
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
    PyObject_ClearWeakRefs(self);
    if (queue->queue != NULL) {
        usm_queue_release(queue->queue);
        usmpy_deferred_poll_quietly(); /* the owner of a native queue is released with it */
    }
    usmpy_free_object(self);
}

static const char *const priorities[] = {"low", "normal", "high", NULL};

static PyObject *queue_new(usmpy_state *state, PyTypeObject *Py_UNUSED(type), PyObject *const *out)
{
    int in_order = usmpy_bool(out[2], 1, "Queue", "in_order");
    int profiling = in_order < 0 ? -1 : usmpy_bool(out[3], 0, "Queue", "profiling");
    int priority = profiling < 0 ? -1
                                 : usmpy_word(out[4], priorities, USM_PRIORITY_NORMAL, "priority",
                                              "'low', 'normal' or 'high'");
    if (priority < 0) {
        return NULL;
    }
    if (usmpy_given(out[1]) && !Py_IS_TYPE(out[1], state->context_type)) {
        return usmpy_wrong_type("context", out[1], "a Context is allowed");
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

USMPY_EQUALITY(queue_richcompare, usmpy_queue, a->queue == b->queue)

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

#define ATTRIBUTES(EACH)                                                                              \
    EACH(device,                                                                                      \
         usmpy_device_wrap(usmpy_state_of(self), usmpy_queue_of(self)->device, usmpy_queue_of(self))) \
    EACH(context, usmpy_context_wrap(usmpy_state_of(self), usmpy_queue_of(self)->context))            \
    EACH(backend, PyUnicode_FromString(usm_backend_name(usmpy_queue_of(self)->backend)))              \
    EACH(in_order, PyBool_FromLong(usmpy_queue_of(self)->in_order))                                   \
    EACH(profiling, PyBool_FromLong(usmpy_queue_of(self)->profiling))                                 \
    EACH(priority, PyUnicode_FromString(priorities[usmpy_queue_of(self)->priority]))
ATTRIBUTES(USMPY_GETTER)

static PyObject *get_native_handle(PyObject *self, void *Py_UNUSED(unused))
{
    void *handle = usm_queue_handle(usmpy_queue_of(self));
    return handle == NULL ? Py_NewRef(Py_None) : PyLong_FromVoidPtr(handle);
}

static PyObject *queue_wait(usmpy_state *state, PyObject *self, PyObject *const *arguments)
{
    int64_t deadline_ns;
    return usmpy_deadline(arguments[0], &deadline_ns) < 0 ||
                   usmpy_wait_queue(state, usmpy_queue_of(self), deadline_ns) < 0
               ? NULL
               : Py_NewRef(Py_None);
}

/* A custom context has no name that another process could use. */
static PyObject *queue_reduce(PyObject *self, PyObject *Py_UNUSED(unused))
{
    const usm_queue *queue = usmpy_queue_of(self);
    return usmpy_call("usmpy._processes.pickles", "reduce_queue", "(OOO)", self,
                      queue->cached ? Py_True : Py_False, queue->context->is_default ? Py_True : Py_False);
}

USMPY_NEW(Queue, queue_new)
USMPY_CLASS_MEMBER(Queue_from_native, usmpy_queue_from_native)
USMPY_CLASS_MEMBER(Queue_from_stream, usmpy_queue_from_stream)
USMPY_MEMBER(Queue_memcpy, usmpy_queue_memcpy)
USMPY_MEMBER(Queue_fill, usmpy_queue_fill)
USMPY_MEMBER(Queue_submit, usmpy_queue_submit)
USMPY_MEMBER(Queue_prefetch, usmpy_queue_prefetch)
USMPY_MEMBER(Queue_barrier, usmpy_queue_barrier)
USMPY_MEMBER(Queue_keep_alive, usmpy_queue_keep_alive)
USMPY_MEMBER(Queue_wait, queue_wait)
USMPY_MEMBER(Queue_wait_for, usmpy_queue_wait_for)

#define ROW(name, value) USMPY_GETTER_ROW(Queue, name),
static PyGetSetDef queue_getset[] = {
    USMPY_GETTER_ROW(Queue, native_handle),
    ATTRIBUTES(ROW){0},
};

static PyMethodDef queue_methods[] = {
    USMPY_CLASS_MEMBER_ROW(Queue, from_native),
    USMPY_CLASS_MEMBER_ROW(Queue, from_stream),
    {"__cuda_stream__", usmpy_queue_cuda_stream, METH_NOARGS, USMPY_DOC_Queue___cuda_stream__},
    USMPY_MEMBER_ROW(Queue, memcpy),
    USMPY_MEMBER_ROW(Queue, fill),
    USMPY_MEMBER_ROW(Queue, submit),
    USMPY_MEMBER_ROW(Queue, prefetch),
    USMPY_MEMBER_ROW(Queue, barrier),
    USMPY_METHOD("host_task", usmpy_queue_host_task, USMPY_DOC_Queue_host_task),
    USMPY_MEMBER_ROW(Queue, keep_alive),
    USMPY_MEMBER_ROW(Queue, wait),
    USMPY_MEMBER_ROW(Queue, wait_for),
    {"_get_capsule", usmpy_queue_get_capsule, METH_NOARGS, USMPY_DOC_Queue__get_capsule},
    {"__reduce__", queue_reduce, METH_NOARGS, USMPY_DOC_Queue___reduce__},
    {0},
};

static PyMemberDef queue_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(usmpy_queue, weakrefs), READONLY, NULL},
    {0},
};

static PyType_Slot queue_slots[] = {
    {Py_tp_doc, USMPY_DOC_Queue},   {Py_tp_new, enter_Queue},
    {Py_tp_dealloc, queue_dealloc}, {Py_tp_repr, queue_repr},
    {Py_tp_hash, queue_hash},       {Py_tp_richcompare, queue_richcompare},
    {Py_tp_getset, queue_getset},   {Py_tp_methods, queue_methods},
    {Py_tp_members, queue_members}, {0, NULL},
};

USMPY_SPEC(queue, "usmpy.Queue", usmpy_queue, 0)
