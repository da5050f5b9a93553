/* Event: a task as Python sees it: waiting, its result, callbacks. */
#include "docstrings.h"
#include "host_task.h"
#include "objects.h"
#include "py/args.h"
#include "py/deferred.h"
#include "py/errors.h"
#include "py/lock.h"
#include "py/wait.h"

#include <stddef.h>
#include <structmember.h>

PyObject *usmpy_event_wrap(usmpy_state *state, usm_event *event)
{
    usmpy_event *self;
    if (state->n_spare_events > 0) {
        self = (usmpy_event *)state->spare_events[--state->n_spare_events];
        usmpy_revive_object((PyObject *)self, state->event_type);
    } else {
        self = PyObject_GC_New(usmpy_event, state->event_type);
        if (self == NULL) {
            usm_event_release(event);
            return NULL;
        }
    }
    self->event = event;
    self->callback = NULL;
    self->result = NULL;
    self->claim = NULL;
    self->weakrefs = NULL;
    return (PyObject *)self;
}

void usmpy_event_set_result(PyObject *event, PyObject *cell)
{
    ((usmpy_event *)event)->result = cell;
    PyObject_GC_Track(event);
}

/* No tp_clear is needed: every cycle contains the cell or an exception, whose types have one. */
static int event_traverse(PyObject *self, visitproc visit, void *arg)
{
    const usmpy_event *event = (const usmpy_event *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(event->result);
    return usmpy_inherited_traverse(event->event, event->result, event->claim, visit, arg);
}

/* Called once the caller learns of the failure: an inherited exception may lead back to the Event. */
static void claim_exception(PyObject *self)
{
    usmpy_event *event = (usmpy_event *)self;
    if (USM_LIKELY(usm_event_get_state(event->event) != USM_EVENT_ERROR)) {
        return;
    }
    USMPY_BEGIN_CRITICAL_SECTION(self)
        if (event->claim == NULL) {
            event->claim = usmpy_inherited_new(event->event);
            if (event->claim != NULL && !PyObject_GC_IsTracked(self)) {
                PyObject_GC_Track(self);
            }
        }
    USMPY_END_CRITICAL_SECTION();
}

/* Frees an untracked object without a result, a claim and a callback, or keeps it for reuse. */
static inline void free_event(PyObject *self)
{
    usmpy_event *event = (usmpy_event *)self;
    PyTypeObject *type = Py_TYPE(self);
    if (event->weakrefs != NULL) {
        PyObject_ClearWeakRefs(self);
    }
    atomic_store_explicit(&event->event->has_python_object, false, memory_order_relaxed);
    usm_event_release(event->event);
    usmpy_state *state = usmpy_state_of_freed(type);
    if (USM_LIKELY(state != NULL) && state->n_spare_events < USMPY_SPARE_EVENTS) {
        state->spare_events[state->n_spare_events++] = self;
    } else {
        PyObject_GC_Del(self);
    }
    Py_DECREF(type);
}

static void event_dealloc(PyObject *self)
{
    usmpy_event *event = (usmpy_event *)self;
    if (USM_LIKELY(event->result == NULL && event->callback == NULL && event->claim == NULL)) {
        free_event(self);
        return;
    }
    PyObject_GC_UnTrack(self);
    Py_TRASHCAN_BEGIN(self, event_dealloc) /* results may be a long chain of events */
        Py_CLEAR(event->result);
    if (event->claim != NULL) {
        usmpy_inherited_free(event->claim);
    }
    if (event->callback != NULL) {
        usm_event_release(event->callback);
    }
    free_event(self);
    Py_TRASHCAN_END
}

static usm_event *core(PyObject *self)
{
    return ((usmpy_event *)self)->event;
}

static const char *const state_names[] = {"submitted", "running", "complete", "error"};

static PyObject *event_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<Event %s at %p>", state_names[usm_event_get_state(core(self))],
                                (void *)core(self));
}

static PyObject *get_status(PyObject *self, void *Py_UNUSED(unused))
{
    usm_event_state state = usm_event_ask_state(core(self));
    claim_exception(self);
    return PyUnicode_FromString(state_names[state]);
}

static PyObject *get_done(PyObject *self, void *Py_UNUSED(unused))
{
    usmpy_deferred_poll();
    bool ended = usm_event_has_ended(core(self));
    claim_exception(self);
    return PyBool_FromLong(ended);
}

/* The time of submission exists at once; the others are waited for. */
static PyObject *get_time(PyObject *self, void *which)
{
    usm_event *event = core(self);
    usmpy_state *state = usmpy_state_of(self);
    if (!event->profiled) {
        usm_error error;
        usm_error_set(&error, USM_DRIVER,
                      "this event has no times: its queue was made without profiling=True");
        return usmpy_raise(state, USM_DRIVER, &error);
    }
    if (which == (void *)0) {
        return PyLong_FromLongLong(event->submit_ns);
    }
    return usmpy_wait_event_end(state, event, INT64_MAX) < 0
               ? NULL
               : PyLong_FromLongLong(which == (void *)1 ? event->start_ns : event->end_ns);
}

/* Waits; a failure of the task is raised. The result of a host task; None for other tasks. */
static PyObject *event_result(usmpy_state *state, PyObject *self, PyObject *const *arguments)
{
    int64_t deadline_ns;
    if (usmpy_deadline(arguments[0], &deadline_ns) < 0) {
        return NULL;
    }
    int status = usmpy_wait_event(state, core(self), deadline_ns);
    claim_exception(self);
    if (status < 0) {
        return NULL;
    }
    PyObject *cell = ((usmpy_event *)self)->result, *value = cell == NULL ? NULL : PyCell_Get(cell);
    return value == NULL ? Py_NewRef(Py_None) : value;
}

static PyObject *wait_until(usmpy_state *state, PyObject *self, PyObject *const *arguments)
{
    PyObject *value = event_result(state, self, arguments);
    Py_XDECREF(value);
    return value == NULL ? NULL : Py_NewRef(Py_None);
}

USMPY_MEMBER(Event_wait, wait_until)
USMPY_MEMBER(Event_result, event_result)

static PyObject *event_wait(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    if (nargs == 0 && kwnames == NULL && usm_event_get_state(core(self)) == USM_EVENT_COMPLETE) {
        usmpy_deferred_poll();
        Py_RETURN_NONE; /* most calls: a driver answers them in 15 ns */
    }
    return enter_Event_wait(self, args, nargs, kwnames);
}

/* For a callback of an event that has ended, as have the callbacks that were added before. */
static PyObject *call_now(PyObject *self, PyObject *fn)
{
    PyObject *result = PyObject_CallOneArg(fn, self);
    if (result == NULL && !PyErr_ExceptionMatches(PyExc_Exception)) {
        return NULL; /* Ctrl-C */
    }
    if (result == NULL) {
        PyErr_WriteUnraisable(fn);
    }
    Py_XDECREF(result);
    Py_RETURN_NONE;
}

static PyObject *event_add_done_callback(PyObject *self, PyObject *fn)
{
    usmpy_event *event = (usmpy_event *)self;
    if (!PyCallable_Check(fn)) {
        return usmpy_wrong_type("fn", fn, "a callable is allowed");
    }
    usmpy_deferred_poll();
    usm_event *earlier = NULL, *added = NULL;
    USMPY_BEGIN_CRITICAL_SECTION(self)
        earlier = event->callback != NULL ? usm_event_retain(event->callback) : NULL;
    USMPY_END_CRITICAL_SECTION();
    int status = 0;
    if (!usm_event_has_ended(event->event) || (earlier != NULL && !usm_event_ended(earlier))) {
        status = usmpy_callback_submit(usmpy_state_of(self), fn, self, event->event, earlier, &added);
    }
    if (earlier != NULL) {
        usm_event_release(earlier);
    }
    if (status < 0 || added == NULL) {
        return status < 0 ? NULL : call_now(self, fn);
    }
    USMPY_BEGIN_CRITICAL_SECTION(self)
        earlier = event->callback;
        event->callback = added;
    USMPY_END_CRITICAL_SECTION();
    if (earlier != NULL) {
        usm_event_release(earlier);
    }
    Py_RETURN_NONE;
}

static PyObject *event_exception(PyObject *self, PyObject *Py_UNUSED(unused))
{
    usm_event *event = core(self);
    if (usm_event_get_state(event) != USM_EVENT_ERROR) {
        Py_RETURN_NONE;
    }
    usm_failure_deliver(event->failure);
    usm_queue_prune(event->queue);
    claim_exception(self);
    return usmpy_failure_exception(usmpy_state_of(self), event->failure);
}

/* Waits for every event, also after failures; then raises the first error in the order of the tuple. */
static int wait_all(usmpy_state *state, PyObject *items, int64_t deadline_ns)
{
    usm_event *first = NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(items);
    if (usmpy_check_items(items, state->event_type, "events", "Events are allowed") < 0) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        if (usmpy_wait_event_end(state, core(PyTuple_GET_ITEM(items, i)), deadline_ns) < 0) {
            return -1;
        }
    }
    for (Py_ssize_t i = 0; i < n; i++) { /* the call retrieves all of their failures, and raises one */
        usm_event *event = core(PyTuple_GET_ITEM(items, i));
        if (usm_event_get_state(event) == USM_EVENT_ERROR) {
            usm_failure_cover(event->failure);
            usm_queue_prune(event->queue);
            claim_exception(PyTuple_GET_ITEM(items, i));
            first = first == NULL ? event : first;
        }
    }
    return first == NULL ? 0 : usmpy_wait_event(state, first, INT64_MAX);
}

static PyObject *event_wait_all(usmpy_state *state, PyObject *Py_UNUSED(type), PyObject *const *arguments)
{
    int64_t deadline_ns;
    if (usmpy_deadline(arguments[1], &deadline_ns) < 0) {
        return NULL;
    }
    PyObject *items =
        usmpy_items_of(arguments[0], "events", "a sequence of Events is allowed", USMPY_MOST_ITEMS);
    int status = items == NULL ? -1 : wait_all(state, items, deadline_ns);
    Py_XDECREF(items);
    return status < 0 ? NULL : Py_NewRef(Py_None);
}

USMPY_CLASS_MEMBER(Event_wait_all, event_wait_all)

static PyObject *event_await(PyObject *self)
{
    return usmpy_call("usmpy._asyncio", "wait_for_event", "(O)", self);
}

static PyObject *event_reduce(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(unused))
{
    return PyErr_Format(
        PyExc_TypeError,
        "cannot pickle an Event: it stands for work of this process, for which no other can wait. "
        "Wait for it here, or pickle the arrays: that waits for the work on them");
}

static PyGetSetDef event_getset[] = {
    {"status", get_status, NULL, USMPY_DOC_Event_status, NULL},
    {"done", get_done, NULL, USMPY_DOC_Event_done, NULL},
    {"submit_time_ns", get_time, NULL, USMPY_DOC_Event_submit_time_ns, (void *)0},
    {"start_time_ns", get_time, NULL, USMPY_DOC_Event_start_time_ns, (void *)1},
    {"end_time_ns", get_time, NULL, USMPY_DOC_Event_end_time_ns, (void *)2},
    {0},
};

static PyMethodDef event_methods[] = {
    USMPY_METHOD("wait", event_wait, USMPY_DOC_Event_wait),
    USMPY_MEMBER_ROW(Event, result),
    {"__reduce__", event_reduce, METH_NOARGS, USMPY_DOC_Event___reduce__},
    {"add_done_callback", event_add_done_callback, METH_O, USMPY_DOC_Event_add_done_callback},
    {"exception", event_exception, METH_NOARGS, USMPY_DOC_Event_exception},
    USMPY_CLASS_MEMBER_ROW(Event, wait_all),
    {0},
};

static PyMemberDef event_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(usmpy_event, weakrefs), READONLY, NULL},
    {0},
};

static PyType_Slot event_slots[] = {
    {Py_tp_doc, USMPY_DOC_Event},     {Py_tp_dealloc, event_dealloc}, {Py_tp_repr, event_repr},
    {Py_tp_getset, event_getset},     {Py_tp_methods, event_methods}, {Py_tp_members, event_members},
    {Py_tp_traverse, event_traverse}, {Py_am_await, event_await},     {0, NULL},
};

USMPY_SPEC(event, "usmpy.Event", usmpy_event, Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_HAVE_GC)
