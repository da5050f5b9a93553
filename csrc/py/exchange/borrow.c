/*
 * Memory for the time of a with block, for kernels: borrow() imports an array of another library, and
 * USMArray.lend() exports one of usmpy's. On entry and exit, both order the work of the block with the
 * owner's.
 */
#include "dlpack.h"
#include "docstrings.h"
#include "py/args.h"
#include "py/arrays/array.h"
#include "py/deferred.h"
#include "py/errors.h"
#include "py/objects/trace.h"
#include "py/wait.h"
#include "stream.h"

#include "core/memory/connection.h"
#include "core/streams/lend.h"

typedef enum phase { FRESH, ENTERED, EXITED } phase;

typedef struct usmpy_borrow {
    PyObject_HEAD
    PyObject *object;             /* the array of another library, or a USMArray */
    PyObject *queue;              /* Queue object; NULL: the memory's own queue */
    _Atomic(usmpy_array *) array; /* set at the end of __enter__; __exit__ takes it */
    _Atomic phase phase;
} usmpy_borrow;

typedef struct usmpy_lend {
    PyObject_HEAD
    usmpy_array *array;
    PyObject *stream;     /* None, a Queue, an Event or a stream of another library */
    usmpy_stream foreign; /* handle NULL: not a stream of another library */
    _Atomic phase phase;
} usmpy_lend;

/* Enters the block: one of several concurrent threads succeeds. 0, or -1 with RuntimeError. */
static int enter(_Atomic phase *at, const char *what)
{
    phase fresh = FRESH;
    if (!atomic_compare_exchange_strong(at, &fresh, ENTERED)) {
        return usmpy_refuse(PyExc_RuntimeError,
                            "%s can be entered only once; call it again for another block", what);
    }
    return 0;
}

/* Submits a marker that accesses both allocations: later work on either is ordered after it. 0 or -1. */
static int join_allocs(usmpy_state *state, PyObject *queue, usm_alloc *a, usm_alloc *b)
{
    const usm_access both[] = {{a, USM_READ_WRITE}, {b, USM_READ_WRITE}};
    return usmpy_submit_point(state, usmpy_queue_of(queue), USM_COMMAND_MARKER, both, 2, NULL, NULL);
}

static void release_alloc(void *owner)
{
    usm_alloc_release(owner);
}

/*
 * Checks that the queue can access the memory: borrow() never copies, since it would have to copy back what
 * the block wrote. 0 or -1.
 */
static int check_reach(const usm_queue *queue, const usmpy_array *array)
{
    if (usm_place_reaches(queue->place, array->alloc)) {
        return 0;
    }
    return usmpy_refuse(
        PyExc_BufferError,
        "borrow(): %s cannot use memory of %s in place; from_dlpack(x, device=queue) makes a copy there",
        queue->device->info.name, array->alloc->place->device->info.name);
}

/*
 * A USMArray is borrowed through a second allocation over the same memory, so that the end of the borrow
 * invalidates only that one. Markers that access both order the two.
 */
static usmpy_array *borrow_own(usmpy_state *state, usmpy_array *base, PyObject *queue)
{
    const usm_alloc *memory = base->alloc;
    usm_alloc *alloc;
    usm_error error;
    if (check_reach(usmpy_queue_of(queue), base) < 0) {
        return NULL;
    }
    usmpy_array *array = usmpy_array_on_queue(base, queue); /* holds a count of base->alloc */
    if (array == NULL) {
        return NULL;
    }
    usm_status status = usm_alloc_import(memory->place, (usm_kind)memory->kind, memory->pointer, memory->size,
                                         array->alloc, release_alloc, &alloc, &error);
    if (status != USM_OK) {
        Py_DECREF(array);
        return usmpy_raise(state, status, &error);
    }
    usm_alloc_end_anywhere(alloc);
    array->alloc = alloc; /* whose deleter releases the count of base->alloc */
    if (join_allocs(state, queue, base->alloc, alloc) < 0) {
        Py_CLEAR(array);
    }
    return array;
}

/* An object without an exchange protocol may have CUDA's interface or be a buffer. */
static usmpy_array *import_borrowed(usmpy_state *state, PyObject *object, PyObject *queue)
{
    usmpy_type_entry room;
    const usmpy_type_entry *entry = usmpy_type_lookup(state, Py_TYPE(object), &room);
    if (entry == NULL) {
        return NULL;
    }
    if (entry->route != USMPY_ROUTE_NONE) {
        return usmpy_import_dlpack(state, object, queue, true);
    }
    usmpy_array *array = usmpy_array_from_cuda_interface(state, object, queue);
    if (array != NULL || PyErr_Occurred()) {
        return array;
    }
    return PyObject_CheckBuffer(object) ? (usmpy_array *)usmpy_array_from_buffer(state, object)
                                        : usmpy_import_dlpack(state, object, queue, true);
}

static PyObject *borrow_enter(PyObject *self, PyObject *Py_UNUSED(unused))
{
    usmpy_borrow *borrow = (usmpy_borrow *)self;
    usmpy_state *state = usmpy_state_of(self);
    usmpy_deferred_poll();
    if (enter(&borrow->phase, "borrow()") < 0) {
        return NULL;
    }
    usmpy_array *array;
    if (usmpy_is_array(state, borrow->object)) {
        usmpy_array *base = (usmpy_array *)borrow->object;
        array = borrow_own(state, base, borrow->queue != NULL ? borrow->queue : base->queue);
    } else {
        array = import_borrowed(state, borrow->object, borrow->queue);
        if (array != NULL && borrow->queue != NULL) {
            if (check_reach(usmpy_queue_of(borrow->queue), array) < 0) {
                Py_CLEAR(array);
            } else {
                Py_SETREF(array->queue, Py_NewRef(borrow->queue));
            }
        }
    }
    Py_XINCREF(array);
    atomic_store(&borrow->array, array); /* from here on another thread may call __exit__ */
    return (PyObject *)array;
}

/*
 * Makes the owner's stream wait on the device for our work; without a stream, waits here. Work on a USMArray
 * is ordered by a marker in the queue. In every case the borrowed array becomes invalid.
 */
static PyObject *borrow_exit(PyObject *self, PyObject *const *Py_UNUSED(args), Py_ssize_t Py_UNUSED(nargs))
{
    usmpy_borrow *borrow = (usmpy_borrow *)self;
    usmpy_state *state = usmpy_state_of(self);
    usmpy_array *array = atomic_exchange(&borrow->array, NULL);
    if (array == NULL) {
        return PyErr_Format(PyExc_RuntimeError, "borrow() is not entered");
    }
    int status = usmpy_is_array(state, borrow->object)
                     ? join_allocs(state, array->queue, array->alloc, ((usmpy_array *)borrow->object)->alloc)
                     : usmpy_give_back(state, borrow->object, array);
    atomic_fetch_or_explicit(&array->alloc->flags, USM_ALLOC_ENDED, memory_order_relaxed);
    Py_DECREF(array);
    Py_CLEAR(borrow->object);
    return status < 0 ? NULL : Py_NewRef(Py_False);
}

static PyObject *borrow_new(usmpy_state *state, PyTypeObject *type, PyObject *const *out)
{
    if (usmpy_given(out[1]) && !Py_IS_TYPE(out[1], state->queue_type)) {
        return usmpy_wrong_type("borrow(): queue", out[1], "a Queue or None is allowed");
    }
    usmpy_borrow *self = (usmpy_borrow *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->object = Py_NewRef(out[0]);
        self->queue = usmpy_given(out[1]) ? Py_NewRef(out[1]) : NULL;
    }
    return (PyObject *)self;
}

USMPY_NEW(borrow, borrow_new)

static int borrow_traverse(PyObject *self, visitproc visit, void *arg)
{
    usmpy_borrow *borrow = (usmpy_borrow *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(borrow->object); /* any object, so it may be part of a cycle */
    return 0;
}

static int borrow_clear(PyObject *self)
{
    Py_CLEAR(((usmpy_borrow *)self)->object);
    return 0;
}

static void borrow_dealloc(PyObject *self)
{
    usmpy_borrow *borrow = (usmpy_borrow *)self;
    PyObject_GC_UnTrack(self);
    Py_XDECREF(borrow->object);
    Py_XDECREF(borrow->queue);
    Py_XDECREF(atomic_load(&borrow->array));
    usmpy_free_object(self);
}

static PyMethodDef borrow_methods[] = {
    {"__enter__", borrow_enter, METH_NOARGS, USMPY_DOC_borrow___enter__},
    {"__exit__", (PyCFunction)(void (*)(void))borrow_exit, METH_FASTCALL, USMPY_DOC_borrow___exit__},
    {0},
};

static PyType_Slot borrow_slots[] = {
    {Py_tp_doc, USMPY_DOC_borrow},
    {Py_tp_new, enter_borrow},
    {Py_tp_dealloc, borrow_dealloc},
    {Py_tp_traverse, borrow_traverse},
    {Py_tp_clear, borrow_clear},
    {Py_tp_methods, borrow_methods},
    {0, NULL},
};

USMPY_SPEC(borrow, "usmpy.borrow", usmpy_borrow, Py_TPFLAGS_HAVE_GC)

/* Parses the stream= argument of lend(). 0, or -1 with TypeError or BufferError. */
static int parse_lend(usmpy_state *state, usmpy_array *array, PyObject *stream, usmpy_stream *foreign)
{
    *foreign = (usmpy_stream){.handle = NULL};
    if (!usmpy_given(stream) || Py_IS_TYPE(stream, state->queue_type) ||
        Py_IS_TYPE(stream, state->event_type)) {
        return 0;
    }
    bool has_streams = usmpy_has_streams(array->alloc);
    if (!has_streams &&
        (PyLong_Check(stream) || PyObject_HasAttr(stream, state->names[USMPY___cuda_stream__]))) {
        return usmpy_refuse(
            PyExc_BufferError,
            "lend(): stream is %.100R, but memory of backend %s has no such streams; a Queue, an Event "
            "or None is allowed",
            stream, usm_backend_name(array->alloc->context->backend));
    }
    int found = has_streams ? usmpy_stream_parse(state, stream, array->alloc->place->device, foreign) : 0;
    if (found == 0) {
        usmpy_wrong_type("lend(): stream", stream,
                         has_streams ? "a Queue, an Event, a stream of any library, the address of one, "
                                       "or None is allowed"
                                     : "a Queue, an Event or None is allowed");
    }
    return found > 0 ? 0 : -1;
}

PyObject *usmpy_array_lend(usmpy_state *state, PyObject *self, PyObject *const *arguments)
{
    PyObject *stream = arguments[0];
    usmpy_stream foreign;
    if (parse_lend(state, (usmpy_array *)self, stream, &foreign) < 0) {
        return NULL;
    }
    usmpy_lend *lend = (usmpy_lend *)state->lend_type->tp_alloc(state->lend_type, 0);
    if (lend != NULL) {
        lend->array = (usmpy_array *)Py_NewRef(self);
        lend->stream = Py_NewRef(stream == NULL ? Py_None : stream);
        lend->foreign = foreign;
    }
    return (PyObject *)lend;
}

/* Orders later work in the queue, also that of other libraries, after pending work on the memory. 0 or -1. */
static int begin_in_queue(usmpy_state *state, usm_queue *queue, const usm_access *access)
{
    usm_event *event;
    if (usmpy_submit_point(state, queue, USM_COMMAND_BARRIER, access, 1, NULL, &event) < 0) {
        return -1;
    }
    /* A barrier that is not in the driver yet does not hold back work that others enqueue there. */
    bool is_late = usm_queue_is_shared(queue) && !usm_event_in_driver(event) && !usm_event_ended(event);
    usm_event_release(event);
    return is_late ? usmpy_wait_alloc(state, access->alloc, access->mode, INT64_MAX) : 0;
}

static PyObject *lend_enter(PyObject *self, PyObject *Py_UNUSED(unused))
{
    usmpy_lend *lend = (usmpy_lend *)self;
    usmpy_state *state = usmpy_state_of(self);
    const usm_access access = {lend->array->alloc, usmpy_foreign_access(lend->array)};
    usmpy_deferred_poll();
    if (enter(&lend->phase, "lend()") < 0) {
        return NULL;
    }
    int status;
    if (lend->foreign.handle != NULL) {
        usm_device *device =
            usmpy_stream_device(state, &lend->foreign, access.alloc->place->device, "stream");
        status = device == NULL ? -1 : usmpy_stream_follow(state, device, lend->foreign.handle, lend->array);
    } else if (Py_IS_TYPE(lend->stream, state->queue_type)) {
        status = begin_in_queue(state, usmpy_queue_of(lend->stream), &access);
    } else { /* the host, or work that was submitted before and cannot be made to wait */
        status = usmpy_finish_for_export(state, lend->array);
    }
    if (status < 0) {
        return NULL;
    }
    usmpy_trace_export(lend->array, "lend");
    return PyLong_FromVoidPtr(lend->array->data);
}

static PyObject *lend_exit(PyObject *self, PyObject *const *Py_UNUSED(args), Py_ssize_t Py_UNUSED(nargs))
{
    usmpy_lend *lend = (usmpy_lend *)self;
    usmpy_state *state = usmpy_state_of(self);
    const usm_access access = {lend->array->alloc, usmpy_foreign_access(lend->array)};
    int status = 0;
    phase entered = ENTERED;
    if (!atomic_compare_exchange_strong(&lend->phase, &entered, EXITED)) {
        return PyErr_Format(PyExc_RuntimeError, "lend() is not entered");
    }
    if (lend->foreign.handle != NULL) { /* the stream's present work becomes a task on the memory */
        usm_error error;
        usm_device *device =
            usmpy_stream_device(state, &lend->foreign, access.alloc->place->device, "stream");
        if (device == NULL) {
            return NULL;
        }
        status = usmpy_check(
            state, usm_alloc_stream_retain(access.alloc, access.mode, device, lend->foreign.handle, &error),
            &error);
    } else if (Py_IS_TYPE(lend->stream, state->queue_type)) {
        status = usmpy_submit_point(state, usmpy_queue_of(lend->stream), USM_COMMAND_BARRIER, &access, 1,
                                    NULL, NULL);
    } else if (Py_IS_TYPE(lend->stream, state->event_type)) {
        const usm_wait wait = {((usmpy_event *)lend->stream)->event, true};
        status = usmpy_submit_point(state, usmpy_queue_of(lend->array->queue), USM_COMMAND_MARKER, &access, 1,
                                    &wait, NULL);
    }
    return status < 0 ? NULL : Py_NewRef(Py_False);
}

static void lend_dealloc(PyObject *self)
{
    Py_XDECREF(((usmpy_lend *)self)->array);
    Py_XDECREF(((usmpy_lend *)self)->stream);
    usmpy_free_object(self);
}

static PyMethodDef lend_methods[] = {
    {"__enter__", lend_enter, METH_NOARGS, USMPY_DOC__Loan___enter__},
    {"__exit__", (PyCFunction)(void (*)(void))lend_exit, METH_FASTCALL, USMPY_DOC__Loan___exit__},
    {0},
};

static PyType_Slot lend_slots[] = {
    {Py_tp_doc, USMPY_DOC__Loan},
    {Py_tp_dealloc, lend_dealloc},
    {Py_tp_methods, lend_methods},
    {0, NULL},
};

USMPY_SPEC(lend, "usmpy._core._Loan", usmpy_lend, Py_TPFLAGS_DISALLOW_INSTANTIATION)
