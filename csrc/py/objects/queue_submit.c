/* Methods of Queue that submit work other than copies, and the submission that all methods share. */
#include "queue_submit.h"

#include "host_task.h"
#include "py/args.h"
#include "py/arrays/array.h"
#include "py/deferred.h"
#include "py/errors.h"
#include "py/exchange/stream.h"
#include "py/keep.h"
#include "py/wait.h"
#include "trace.h"

#include "core/builtin/kernel_command.h"

#define INLINE_DEPENDS 8

/* depends= as explicit waits. */
typedef struct depends {
    usm_wait *waits; /* from PyMem_Malloc if they are not `few` */
    size_t n;
    PyObject *held; /* a reference to the Event, or to a tuple of all Events; NULL: there is none */
    usm_wait few[INLINE_DEPENDS];
} depends;

static void free_depends(depends *self)
{
    if (self->waits != self->few) {
        PyMem_Free(self->waits);
    }
    Py_XDECREF(self->held);
}

/* The caller frees *out, also on failure. 0 or -1. */
static int parse_depends(usmpy_state *state, PyObject *object, depends *out)
{
    out->waits = out->few;
    out->n = 0;
    out->held = NULL;
    if (!usmpy_given(object)) {
        return 0;
    }
    if (Py_IS_TYPE(object, state->event_type)) {
        out->held = Py_NewRef(object);
        out->few[out->n++] = (usm_wait){((usmpy_event *)object)->event, true};
        return 0;
    }
    /* A new tuple: an iterator may own the only references, and another thread may change a list. */
    PyObject *items =
        usmpy_items_of(object, "depends", "an Event or a sequence of Events is allowed", USMPY_MOST_ITEMS);
    out->held = items;
    if (items == NULL || usmpy_check_items(items, state->event_type, "depends", "Events are allowed") < 0) {
        return -1;
    }
    out->n = (size_t)PyTuple_GET_SIZE(items);
    if (out->n > INLINE_DEPENDS) {
        out->waits = PyMem_New(usm_wait, out->n);
    }
    if (out->waits == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < out->n; i++) {
        out->waits[i] = (usm_wait){((usmpy_event *)PyTuple_GET_ITEM(items, i))->event, true};
    }
    return 0;
}

PyObject *usmpy_finish_event(usmpy_state *state, PyObject *event)
{
    if (event != NULL && usmpy_wait_event(state, ((usmpy_event *)event)->event, INT64_MAX) < 0) {
        Py_CLEAR(event);
    }
    return event;
}

PyObject *usmpy_submit(usmpy_state *state, usm_queue *queue, const usm_command *command,
                       const usm_access *accesses, size_t n_accesses, PyObject *events, usm_keep *keeps,
                       bool blocking)
{
    usm_submission submission = {
        .command = command, .accesses = accesses, .n_accesses = n_accesses, .keeps = keeps};
    usm_event *event;
    usm_error error;
    depends depends;
    PyObject *name = NULL;
    if (parse_depends(state, events, &depends) < 0) {
        free_depends(&depends);
        usmpy_keep_drop(keeps);
        return NULL;
    }
    submission.waits = depends.waits;
    submission.n_waits = depends.n;
    if (USM_UNLIKELY(usm_trace_is_on()) && command->kind == USM_COMMAND_HOST) {
        submission.name = usmpy_host_task_name(command, &name);
    }
    usm_status status = blocking ? usm_queue_check_wait(queue, &submission, &error) : USM_OK;
    status = status == USM_OK ? usm_command_submit(queue, &submission, &event, &error) : status;
    Py_XDECREF(name);
    free_depends(&depends);
    usmpy_deferred_poll();
    if (status != USM_OK) {
        usmpy_keep_drop(keeps);
        return usmpy_raise(state, status, &error);
    }
    PyObject *wrapped = usmpy_event_wrap(state, event);
    return blocking ? usmpy_finish_event(state, wrapped) : wrapped;
}

PyObject *usmpy_queue_prefetch(usmpy_state *state, PyObject *self, PyObject *const *arguments)
{
    if (!usmpy_is_array(state, arguments[0])) {
        return usmpy_wrong_type("x", arguments[0], "a USMArray is allowed");
    }
    usmpy_array *array = (usmpy_array *)arguments[0];
    const usm_access access = {array->alloc, USM_READ};
    usm_command command = {.kind = USM_COMMAND_PREFETCH};
    command.as.prefetch.pointer = array->alloc->pointer;
    command.as.prefetch.nbytes = array->alloc->size;
    return usmpy_submit(state, usmpy_queue_of(self), &command, &access, 1, NULL, NULL, false);
}

PyObject *usmpy_queue_barrier(usmpy_state *state, PyObject *self, PyObject *const *arguments)
{
    return usmpy_submit(state, usmpy_queue_of(self), USM_BARRIER, NULL, 0, arguments[0], NULL, false);
}

PyObject *usmpy_queue_keep_alive(usmpy_state *state, PyObject *self, PyObject *const *arguments)
{
    usm_keep *keeps = NULL;
    return usmpy_keep_object(&keeps, arguments[0]) < 0
               ? NULL
               : usmpy_submit(state, usmpy_queue_of(self), USM_MARKER, NULL, 0, arguments[1], keeps, false);
}

PyObject *usmpy_queue_wait_for(usmpy_state *state, PyObject *self, PyObject *const *arguments)
{
    PyObject *other = arguments[0];
    usm_queue *queue = usmpy_queue_of(self), *earlier = NULL;
    usm_wait_list waits; /* for order alone: a failure is not propagated */
    usm_wait_list_init(&waits);
    if (Py_IS_TYPE(other, state->event_type)) {
        (void)usm_wait_list_add(&waits, ((usmpy_event *)other)->event, false); /* which has room for it */
    } else if (Py_IS_TYPE(other, state->queue_type)) {
        earlier = usm_queue_retain(usmpy_queue_of(other));
    } else {
        usmpy_stream stream;
        int found = usmpy_stream_parse(state, other, queue->device, &stream);
        if (found == 0) {
            usmpy_wrong_type("other", other,
                             "a Queue, an Event, a stream of any library or the address of one is allowed");
        }
        earlier = found > 0 ? usmpy_stream_queue(state, &stream, queue->device, "other") : NULL;
    }
    if (PyErr_Occurred()) {
        return NULL;
    }
    usm_error error;
    usm_status status = USM_OK;
    if (earlier != NULL) {
        status = usm_queue_snapshot(earlier, &waits, &error);
        usm_queue_release(earlier);
    }
    if (status == USM_OK && waits.n > 0) {
        const usm_submission submission = {.command = USM_BARRIER, .waits = waits.items, .n_waits = waits.n};
        status = usm_queue_submit(queue, &submission, NULL, &error);
    }
    usm_wait_list_clear(&waits);
    if (status != USM_OK) {
        return usmpy_raise(state, status, &error);
    }
    Py_RETURN_NONE;
}

PyObject *usmpy_queue_host_task(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    usmpy_state *state = usmpy_state_of(self);
    PyObject *depends = NULL;
    for (Py_ssize_t i = 0; kwnames != NULL && i < PyTuple_GET_SIZE(kwnames); i++) {
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), "depends") != 0) {
            return PyErr_Format(PyExc_TypeError, "host_task() got an unexpected keyword argument '%.60U'",
                                PyTuple_GET_ITEM(kwnames, i));
        }
        depends = args[nargs + i];
    }
    if (nargs < 1) {
        return PyErr_Format(PyExc_TypeError, "host_task() missing required argument 'fn'");
    }
    if (!PyCallable_Check(args[0])) {
        return usmpy_wrong_type("fn", args[0], "a callable is allowed");
    }
    usm_access *accesses = PyMem_New(usm_access, nargs);
    if (accesses == NULL) {
        return PyErr_NoMemory();
    }
    size_t n = 0;
    for (Py_ssize_t i = 1; i < nargs; i++) {
        if (usmpy_is_array(state, args[i])) {
            usmpy_array *array = (usmpy_array *)args[i];
            accesses[n++] = (usm_access){array->alloc, usmpy_foreign_access(array)};
        }
    }
    usm_keep *keeps = NULL;
    usm_command command;
    PyObject *event = NULL, *result = NULL;
    if (usmpy_host_task_command(args, nargs, &command, &keeps, &result) == 0) {
        event = usmpy_submit(state, usmpy_queue_of(self), &command, accesses, n, depends, keeps, false);
    }
    if (event != NULL) {
        usmpy_event_set_result(event, Py_NewRef(result));
    }
    Py_XDECREF(result);
    PyMem_Free(accesses);
    return event;
}
