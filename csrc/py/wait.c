/* Waits without the GIL, deadlines, and the hooks by which the core releases the GIL. */
#include "wait.h"

#include "deferred.h"
#include "errors.h"
#include "interpreter.h"
#include "lock.h"
#include "py/args.h"
#include "py/objects/placement.h"

#include "core/base/detach.h"
#include "core/base/sync.h"
#include "core/device/rule.h"

static _Atomic bool interrupted;

bool usmpy_wait_was_interrupted(void)
{
    return atomic_load_explicit(&interrupted, memory_order_relaxed);
}

bool usmpy_wait_poll(void *argument)
{
    PyThreadState **thread = argument;
    PyEval_RestoreThread(*thread);
    usmpy_deferred_poll();
    bool stop = PyErr_CheckSignals() != 0;
    if (stop) {
        atomic_store_explicit(&interrupted, true, memory_order_relaxed);
    }
    *thread = PyEval_SaveThread();
    return stop;
}

/*
 * The exception of a signal handler that the buffer protocol raised, until it is known whether a consumer
 * dropped it, as NumPy does before it tries the next protocol. Signal handlers run on the main thread alone,
 * and so does what is here; other threads read `kept` and `kept_thread`.
 */
static _Atomic(PyObject *) kept;
static PyObject *kept_traceback; /* of the handler; compared alone */
static _Atomic unsigned long kept_thread;

/*
 * Raises the kept exception if it was dropped. One that a frame of Python has seen has another traceback by
 * then, and one that is still raised or handled has a second reference.
 */
static bool raise_dropped(void)
{
    if (atomic_load_explicit(&kept, memory_order_relaxed) == NULL ||
        kept_thread != PyThread_get_thread_ident()) {
        return false;
    }
    PyObject *exception = atomic_exchange(&kept, NULL);
    PyObject *traceback = PyException_GetTraceback(exception);
    Py_XDECREF(traceback);
    if (Py_REFCNT(exception) == 1 && traceback == kept_traceback) {
        usmpy_restore_exception(exception);
        return true;
    }
    Py_DECREF(exception);
    return false;
}

/* Runs on the main thread, between two steps of Python code. */
static int look_for_dropped(void *Py_UNUSED(unused))
{
    return raise_dropped() ? -1 : 0;
}

/* Keeps the exception that is set. */
static void keep_interrupt(void)
{
    PyObject *exception = usmpy_take_exception();
    kept_traceback = PyException_GetTraceback(exception);
    Py_XDECREF(kept_traceback); /* the exception has it */
    kept_thread = PyThread_get_thread_ident();
    Py_XDECREF(atomic_exchange(&kept, Py_NewRef(exception)));
    usmpy_restore_exception(exception);
    (void)Py_AddPendingCall(look_for_dropped, NULL); /* if it fails, the next wait looks */
}

/* While it finalizes, no other thread waits for the GIL. */
static bool is_attached(void)
{
    return !usmpy_is_finalizing() && usmpy_is_attached();
}

/* Called during submissions, on threads with and without the GIL. */
static void *detach(void)
{
    return is_attached() ? PyEval_SaveThread() : NULL;
}

static void attach(void *thread)
{
    PyEval_RestoreThread(thread);
}

void usmpy_wait_start(void)
{
    usm_detach_set(detach, attach, usmpy_wait_poll);
#ifdef USM_TESTING
    usm_rule_set(is_attached);
#endif
}

int usmpy_deadline(PyObject *timeout, int64_t *deadline_ns)
{
    if (timeout == NULL || timeout == Py_None) {
        *deadline_ns = INT64_MAX;
        return 0;
    }
    PyObject *number = NULL;
    usmpy_state *state = usmpy_current_state();
    int found = state == NULL ? -1 : usmpy_host_scalar(state, timeout, &number);
    double seconds = found < 0 ? -1.0 : PyFloat_AsDouble(found > 0 ? number : timeout);
    Py_XDECREF(number);
    if (seconds == -1.0 && PyErr_Occurred()) {
        if (PyErr_ExceptionMatches(PyExc_TypeError)) {
            usmpy_error_format(PyExc_TypeError,
                               "timeout is %.100R; seconds as a number, or None, are allowed", timeout);
        }
        return -1;
    }
    if (!(seconds >= 0)) { /* also NaN */
        return usmpy_refuse(PyExc_ValueError, "timeout is %.100R; it must be 0 or more seconds, or None",
                            timeout);
    }
    *deadline_ns = seconds > 9e9 ? INT64_MAX : usm_clock_ns() + (int64_t)(seconds * 1e9);
    return 0;
}

/* Takes the GIL back after a wait and turns its status into 0, or -1 with an exception. */
static int end_wait(usmpy_state *state, PyThreadState *thread, usm_status status, usm_error *error)
{
    PyEval_RestoreThread(thread);
    if (status != USM_INTERRUPTED) { /* else the exception of a signal handler is set */
        usmpy_deferred_poll();
    }
    return usmpy_check(state, status, error);
}

int usmpy_wait_event(usmpy_state *state, usm_event *event, int64_t deadline_ns)
{
    if (usm_event_get_state(event) == USM_EVENT_COMPLETE) {
        usmpy_deferred_poll();
        return 0;
    }
    usm_error error;
    PyThreadState *thread = PyEval_SaveThread();
    usm_status status = usm_event_wait(event, USMPY_PATIENCE(deadline_ns, &thread), &error);
    return end_wait(state, thread, status, &error);
}

int usmpy_wait_event_end(usmpy_state *state, usm_event *event, int64_t deadline_ns)
{
    if (usm_event_ended(event)) {
        return 0;
    }
    usm_error error;
    PyThreadState *thread = PyEval_SaveThread();
    usm_status status = usm_event_wait_end(event, USMPY_PATIENCE(deadline_ns, &thread), &error);
    return end_wait(state, thread, status, &error);
}

int usmpy_wait_queue(usmpy_state *state, usm_queue *queue, int64_t deadline_ns)
{
    usm_error error;
    PyThreadState *thread = PyEval_SaveThread();
    usm_status status = usm_queue_wait(queue, USMPY_PATIENCE(deadline_ns, &thread), &error);
    return end_wait(state, thread, status, &error);
}

int usmpy_wait_native_queue(usmpy_state *state, usm_queue *queue, void **handle)
{
    usm_error error;
    PyThreadState *thread = PyEval_SaveThread();
    usm_status status = usm_queue_enter(queue, handle, USMPY_PATIENCE(INT64_MAX, &thread), &error);
    return end_wait(state, thread, status, &error);
}

typedef enum purpose {
    DELIVER, /* the caller raises what this raises */
    DISPLAY, /* a failure still counts as not retrieved */
    BUFFER   /* the same; the consumer may drop any exception and try the next protocol */
} purpose;

static int wait_for_alloc(usmpy_state *state, usm_alloc *alloc, usm_access_mode mode, purpose purpose,
                          int64_t deadline_ns)
{
    bool ended = usm_alloc_has(alloc, USM_ALLOC_ENDED);
    if (usm_alloc_is_clean(alloc) && !ended) {
        return 0;
    }
    if (raise_dropped()) {
        return -1;
    }
    usm_error error;
    PyThreadState *thread = PyEval_SaveThread();
    usm_status status =
        usm_alloc_wait(alloc, mode, purpose == DELIVER, USMPY_PATIENCE(deadline_ns, &thread), &error);
    int result = end_wait(state, thread, status, &error);
    if (status == USM_INTERRUPTED && purpose == BUFFER) {
        keep_interrupt();
    }
    return result;
}

int usmpy_wait_alloc(usmpy_state *state, usm_alloc *alloc, usm_access_mode mode, int64_t deadline_ns)
{
    return wait_for_alloc(state, alloc, mode, DELIVER, deadline_ns);
}

int usmpy_peek_alloc(usmpy_state *state, usm_alloc *alloc, usm_access_mode mode)
{
    return wait_for_alloc(state, alloc, mode, DISPLAY, INT64_MAX);
}

int usmpy_wait_buffer(usmpy_state *state, usm_alloc *alloc, usm_access_mode mode)
{
    return wait_for_alloc(state, alloc, mode, BUFFER, INT64_MAX);
}
