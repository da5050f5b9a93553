/* Turns statuses and failures of the core into exceptions, and exceptions of host tasks into failures. */
#include "errors.h"

#include "deferred.h"

#include "core/tasks/unretrieved.h"

#include <stddef.h>
#include <stdio.h>

/* The class of a status, borrowed. */
static PyObject *exception_class(const usmpy_state *state, usm_status status)
{
    PyObject *const classes[] = {
        [USM_MEMORY] = PyExc_MemoryError,
        [USM_VALUE] = PyExc_ValueError,
        [USM_TYPE] = PyExc_TypeError,
        [USM_INDEX] = PyExc_IndexError,
        [USM_BUFFER] = PyExc_BufferError,
        [USM_TIMEOUT] = PyExc_TimeoutError,
        [USM_FORKED] = PyExc_RuntimeError,
        [USM_INTERRUPTED] = PyExc_KeyboardInterrupt,
        [USM_PLACEMENT] = state->placement_error,
        [USM_BUILD] = state->build_error,
        [USM_UNAVAILABLE] = state->backend_unavailable,
        [USM_NOT_FOUND] = state->device_not_found,
    };
    bool listed = (size_t)status < sizeof classes / sizeof classes[0] && classes[status] != NULL;
    return listed ? classes[status] : state->usm_error;
}

/* A new exception: UsmError and its subclasses also keep backend, code and name. */
static PyObject *make_exception(usmpy_state *state, usm_status status, const char *text, const char *backend,
                                int code, const char *name)
{
    PyObject *class = exception_class(state, status);
    if (!PyObject_IsSubclass(class, state->usm_error)) {
        return PyObject_CallFunction(class, "s", text);
    }
    PyObject *args = Py_BuildValue("(s)", text);
    PyObject *kwargs = Py_BuildValue("{s:z,s:i,s:z}", "backend", backend[0] == '\0' ? NULL : backend, "code",
                                     code, "name", name[0] == '\0' ? NULL : name);
    PyObject *exception = args == NULL || kwargs == NULL ? NULL : PyObject_Call(class, args, kwargs);
    Py_XDECREF(args);
    Py_XDECREF(kwargs);
    return exception;
}

PyObject *usmpy_failure_exception(usmpy_state *state, usm_failure *failure)
{
    PyObject *original = failure->payload == NULL ? NULL : usmpy_deferred_object(failure->payload);
    if (original != NULL) {
        return Py_NewRef(original);
    }
    usm_status status = failure->status == USM_FAILED ? USM_DRIVER : failure->status;
    PyObject *exception =
        make_exception(state, status, failure->text, failure->backend, failure->code, failure->name);
    if (exception != NULL && failure->cause != NULL) {
        PyObject *cause = usmpy_failure_exception(state, failure->cause);
        if (cause == NULL) {
            Py_CLEAR(exception);
        } else {
            PyException_SetCause(exception, cause);
        }
    }
    return exception;
}

/*
 * The exception that a waiter gets: a copy of the host task's own. The failure keeps the original, which must
 * not reference the waiter's frame: the garbage collector cannot find the cycle of frame, queue and exception
 * (usmpy/_failure.py).
 */
static PyObject *raised_failure(usmpy_state *state, usm_failure *failure)
{
    PyObject *kept = usmpy_failure_exception(state, failure);
    if (kept == NULL || failure->payload == NULL) {
        return kept;
    }
    PyObject *copy = usmpy_call("usmpy._failure", "again", "(O)", kept);
    if (copy != NULL
            ? !PyExceptionInstance_Check(copy)
            : PyErr_ExceptionMatches(PyExc_Exception) && !PyErr_ExceptionMatches(PyExc_MemoryError)) {
        PyErr_Clear(); /* a class that cannot be copied: raise the original */
        Py_XDECREF(copy);
        return kept;
    }
    Py_DECREF(kept); /* raising the original would make the cycle, or lose Ctrl-C */
    return copy;
}

PyObject *usmpy_take_exception(void)
{
#if PY_VERSION_HEX >= 0x030C0000
    return PyErr_GetRaisedException();
#else
    PyObject *type, *exception, *traceback;
    PyErr_Fetch(&type, &exception, &traceback);
    PyErr_NormalizeException(&type, &exception, &traceback);
    if (exception != NULL && traceback != NULL) {
        (void)PyException_SetTraceback(exception, traceback);
    }
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return exception;
#endif
}

void usmpy_restore_exception(PyObject *exception)
{
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(exception);
#else
    PyObject *type = exception == NULL ? NULL : Py_NewRef(Py_TYPE(exception));
    PyErr_Restore(type, exception, exception == NULL ? NULL : PyException_GetTraceback(exception));
#endif
}

void usmpy_release_quietly(PyObject *object)
{
    PyObject *pending = usmpy_take_exception();
    Py_XDECREF(object);
    usmpy_restore_exception(pending);
}

void *usmpy_raise_object(PyObject *class, PyObject *object)
{
    if (object != NULL) {
        PyErr_SetObject(class != NULL ? class : (PyObject *)Py_TYPE(object), object);
        Py_DECREF(object);
    }
    return NULL;
}

void usmpy_set_cause(PyObject *cause)
{
    PyObject *exception = usmpy_take_exception();
    PyException_SetContext(exception, Py_NewRef(cause));
    PyException_SetCause(exception, cause);
    usmpy_restore_exception(exception);
}

void usmpy_prefix_message(PyObject *class, const char *format, ...)
{
    va_list values;
    PyObject *exception = usmpy_take_exception(), *cause = PyException_GetCause(exception);
    va_start(values, format);
    PyObject *prefix = PyUnicode_FromFormatV(format, values);
    va_end(values);
    if (prefix != NULL) {
        PyErr_Format(class, "%U: %S", prefix, exception);
        Py_DECREF(prefix);
    }
    if (cause != NULL) {
        usmpy_set_cause(cause);
    }
    Py_DECREF(exception);
}

void usmpy_name_argument(const char *name)
{
    PyObject *kind = PyErr_ExceptionMatches(PyExc_TypeError)     ? PyExc_TypeError
                     : PyErr_ExceptionMatches(PyExc_BufferError) ? PyExc_BufferError
                                                                 : NULL;
    if (kind != NULL) {
        usmpy_prefix_message(kind, "%s", name);
    }
}

void usmpy_chain_foreign(const char *what, PyObject *x)
{
    if (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_MemoryError)) {
        return;
    }
    PyObject *cause = usmpy_take_exception();
    usmpy_raise_object(PyExc_BufferError,
                       usmpy_call("usmpy._arrays.objects", "failure", "(sOO)", what, x, cause));
    usmpy_set_cause(cause);
}

void *usmpy_raise(usmpy_state *state, usm_status status, usm_error *error)
{
    if (status == USM_INTERRUPTED && PyErr_Occurred()) {
        usm_error_clear(error);
        return NULL;
    }
    PyObject *exception =
        status == USM_FAILED && error->failure != NULL
            ? raised_failure(state, error->failure)
            : make_exception(state, status, error->text, error->backend, error->code, error->name);
    usm_error_clear(error);
    return usmpy_raise_object(NULL, exception);
}

/* Sets the exception of a failure that nobody retrieved, with a traceback. */
static void set_unretrieved(usmpy_state *state, usm_failure *failure)
{
    PyObject *exception = usmpy_failure_exception(state, failure);
    PyObject *traceback = exception == NULL ? NULL : PyException_GetTraceback(exception);
    if (traceback != NULL) { /* PyErr_SetObject would chain it to an exception that this thread is handling */
        PyErr_Restore(Py_NewRef(Py_TYPE(exception)), exception, traceback);
        return;
    }
    if (exception != NULL) {
        usmpy_call("usmpy._failure", "raise_unretrieved", "(N)", exception);
    }
}

/* Reports one failure. Runs in a drain: no exception is set before or after. */
static void report(usm_deferred *node)
{
    usm_failure *failure = (usm_failure *)((char *)node - offsetof(usm_failure, report));
    usmpy_state *state = usmpy_find_state(); /* of the interpreter that drains */
    char text[200] =
        "in a task of usmpy: it failed and nobody asked for its result; call event.wait() or "
        "queue.wait()";
    if (failure->n_reported == 0) {
        snprintf(
            text, sizeof text,
            "where usmpy gives back memory or an object: the driver keeps it, or it is used again later");
    }
    if (failure->n_reported > 1 || failure->reports_more) {
        snprintf(text, sizeof text,
                 "in %s%u tasks of one queue of usmpy: they failed and nobody asked for their results; call "
                 "event.wait() or queue.wait(). The first error",
                 failure->reports_more ? "at least " : "", failure->n_reported);
    }
    if (state != NULL && !usm_failure_is_retrieved(failure)) {
        set_unretrieved(state, failure);
#if PY_VERSION_HEX >= 0x030D0000
        PyErr_FormatUnraisable("Exception ignored %s", text);
#else
        _PyErr_WriteUnraisableMsg(text, NULL);
#endif
    }
    usm_failure_release(failure);
}

void usmpy_errors_start(void)
{
    usm_unretrieved_set_reporter(report);
}

/* Clears the variables of the task's frames, which may reference the memory that will hold the failure. */
static void settle(PyObject *exception)
{
    PyObject *result = usmpy_call("usmpy._failure", "settle", "(O)", exception);
    if (result == NULL) { /* without memory, or while the interpreter finalizes, the frames live as long as
                             the failure */
        PyErr_Clear();
    }
    Py_XDECREF(result);
}

usm_status usmpy_capture_exception(usm_error *error)
{
    PyObject *exception = usmpy_take_exception();
    settle(exception);
    const char *type_name = Py_TYPE(exception)->tp_name;
    void *payload = usmpy_deferred_hold(exception);
    usm_failure *failure = payload == NULL ? NULL : usm_failure_from_payload(payload, usmpy_deferred_release);
    if (failure == NULL) {
        Py_XDECREF(payload == NULL ? exception : NULL);
        return usm_error_set(error, USM_MEMORY,
                             "a host task failed, and its exception was lost because memory was exhausted");
    }
    if (usm_deferred_has_many()) { /* for other interpreters, which cannot have the exception */
        snprintf(failure->text, sizeof failure->text, "a host task of another interpreter raised %s",
                 type_name);
    }
    failure->report.home = usm_deferred_here();
    usm_error_set(error, USM_FAILED, "%s", failure->text);
    error->failure = failure;
    return USM_FAILED;
}
