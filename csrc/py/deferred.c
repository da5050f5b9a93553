/* Holds exceptions of failed tasks, schedules drains, and runs the end of the process. */
#include "deferred.h"

#include "docstrings.h"
#include "errors.h"
#include "interpreter.h"
#include "lock.h"
#include "thread.h"
#include "wait.h"

#include "core/base/heap.h"
#include "core/base/reclaimer.h"
#include "core/base/sync.h"
#include "core/tasks/pending.h"

#include <pthread.h>
#include <stddef.h>
#include <time.h>

typedef struct holder {
    usm_deferred deferred;
    PyObject *object;
    struct holder *previous, *next;
    usmpy_inherited *claims; /* holders_lock; the garbage collector reads them while no thread runs Python */
} holder;

static pthread_mutex_t holders_lock = PTHREAD_MUTEX_INITIALIZER; /* no lock is taken under it */
static holder *holders;                                          /* every holder, for their ends */

static void drop(usm_deferred *node)
{
    holder *holder = (struct holder *)node;
    pthread_mutex_lock(&holders_lock);
    *(holder->previous != NULL ? &holder->previous->next : &holders) = holder->next;
    if (holder->next != NULL) {
        holder->next->previous = holder->previous;
    }
    pthread_mutex_unlock(&holders_lock);
    if (usmpy_is_here(node->home)) { /* else its interpreter has ended */
        Py_XDECREF(holder->object);
    }
    free(holder);
}

void *usmpy_deferred_hold(PyObject *object)
{
    holder *holder = usm_malloc(sizeof *holder);
    if (holder == NULL) {
        return NULL;
    }
    holder->deferred.run = drop;
    holder->deferred.home = usm_deferred_here();
    holder->object = object;
    holder->previous = NULL;
    holder->claims = NULL;
    pthread_mutex_lock(&holders_lock);
    holder->next = holders;
    if (holders != NULL) {
        holders->previous = holder;
    }
    holders = holder;
    pthread_mutex_unlock(&holders_lock);
    return holder;
}

PyObject *usmpy_deferred_object(void *holder)
{
    const struct holder *self = holder;
    return usmpy_is_here(self->deferred.home) ? self->object : NULL;
}

void usmpy_deferred_release(void *holder)
{
    usm_deferred_push(&((struct holder *)holder)->deferred);
}

/* The failure of an event that has failed whose exception is held; NULL: none, or not here. */
static usm_failure *failure_of(const usm_event *event)
{
    usm_failure *failure = usm_event_get_state(event) == USM_EVENT_ERROR ? event->failure : NULL;
    if (failure != NULL && failure->payload == NULL) {
        failure = failure->cause;
    }
    return failure != NULL && failure->payload != NULL && usmpy_deferred_object(failure->payload) != NULL
               ? failure
               : NULL;
}

usmpy_inherited *usmpy_inherited_new(const usm_event *event)
{
    usm_failure *failure = failure_of(event);
    usmpy_inherited *claim = failure == NULL || failure == event->failure ? NULL : usm_malloc(sizeof *claim);
    if (claim != NULL) {
        holder *holder = failure->payload;
        claim->exception = Py_NewRef(holder->object);
        claim->event = event;
        claim->previous = NULL;
        pthread_mutex_lock(&holders_lock);
        claim->next = holder->claims;
        if (claim->next != NULL) {
            claim->next->previous = claim;
        }
        holder->claims = claim;
        pthread_mutex_unlock(&holders_lock);
    }
    return claim;
}

void usmpy_inherited_free(usmpy_inherited *claim)
{
    holder *holder = claim->event->failure->cause->payload;
    pthread_mutex_lock(&holders_lock);
    *(claim->previous != NULL ? &claim->previous->next : &holder->claims) = claim->next;
    if (claim->next != NULL) {
        claim->next->previous = claim->previous;
    }
    pthread_mutex_unlock(&holders_lock);
    Py_DECREF(claim->exception);
    free(claim);
}

/* Nobody but its Python object has the event, and nobody but the event its way to the failure. */
static bool is_sole(const usm_event *event, const usm_failure *failure)
{
    return usm_refcount_is(&event->refs, 1) &&
           (event->failure == failure || usm_refcount_is(&event->failure->refs, 1));
}

/*
 * The holder's reference belongs to all Events together, if they have all counts of the failure: one of them
 * visits it for all, beside its own. It does not matter which, since each keeps the exception reachable by
 * its own. Threads without the GIL may give counts back meanwhile, but not take any: that needs one.
 */
int usmpy_inherited_traverse(const usm_event *event, PyObject *cell, const usmpy_inherited *claim,
                             visitproc visit, void *arg)
{
    if (claim != NULL) {
        Py_VISIT(claim->exception);
    }
    const usm_failure *failure = failure_of(event);
    if (failure == NULL) {
        return 0;
    }
    const holder *holder = failure->payload;
    bool own = failure == event->failure;
    if (own ? cell == NULL || PyCell_GET(cell) != holder->object : claim == NULL || claim != holder->claims) {
        return 0;
    }
    int32_t n = own ? 1 : 0;
    bool sole = is_sole(event, failure);
    for (const usmpy_inherited *at = holder->claims; at != NULL && sole; at = at->next) {
        sole = is_sole(at->event, failure);
        n++;
    }
    if (sole && usm_refcount_is(&failure->refs, n)) {
        Py_VISIT(holder->object);
    }
    return 0;
}

static _Atomic bool scheduled;

void usmpy_deferred_drain(void)
{
    usm_deferred_drain(usm_deferred_here());
}

static int drain_pending(void *Py_UNUSED(unused))
{
    atomic_store(&scheduled, false);
    usmpy_deferred_drain();
    return 0;
}

/*
 * Called on the thread that pushed: without the GIL, perhaps with locks held. Py_AddPendingCall takes only a
 * lock of its own. If its queue is full, the next entry into this module drains.
 */
static void schedule(void)
{
    if (!atomic_load(&usmpy_interpreter_of(NULL)->ended) && !atomic_exchange(&scheduled, true) &&
        Py_AddPendingCall(drain_pending, NULL) != 0) {
        atomic_store(&scheduled, false);
    }
}

static bool is_ours(const holder *holder, const usmpy_interpreter *own)
{
    return holder->object != NULL && usmpy_interpreter_of(holder->deferred.home) == own;
}

/* A sub-interpreter's exceptions end with it: failures that outlive it have a text alone. */
static void forget_exceptions(const usmpy_interpreter *own)
{
    for (bool found = true; found;) {
        PyObject *object = NULL;
        pthread_mutex_lock(&holders_lock);
        for (holder *at = holders; at != NULL && object == NULL; at = at->next) {
            if (is_ours(at, own)) {
                object = at->object;
                at->object = NULL;
            }
        }
        pthread_mutex_unlock(&holders_lock);
        found = object != NULL;
        Py_XDECREF(object);
    }
}

/*
 * An exception that is never released references frames through its traceback, and thereby the globals of
 * their modules. The interpreter cannot see these references at its end, so they are cut.
 */
static void forget_frames(const usmpy_interpreter *own)
{
    PyObject *all = PyList_New(0);
    pthread_mutex_lock(&holders_lock);
    for (holder *at = holders; all != NULL && at != NULL; at = at->next) {
        if (is_ours(at, own) && PyExceptionInstance_Check(at->object) && PyList_Append(all, at->object) < 0) {
            Py_CLEAR(all);
        }
    }
    pthread_mutex_unlock(&holders_lock);
    for (Py_ssize_t i = 0; all != NULL && i < PyList_GET_SIZE(all); i++) {
        PyObject *exception = Py_NewRef(PyList_GET_ITEM(all, i));
        for (int depth = 0; exception != NULL && depth < 100; depth++) {
            (void)PyException_SetTraceback(exception, Py_None);
            Py_SETREF(exception, PyException_GetContext(exception));
        }
        Py_XDECREF(exception);
    }
    Py_XDECREF(all);
    PyErr_Clear();
}

/* How long the end of the process waits before it reports pending tasks; less after an interrupted wait. */
#define PATIENCE_NS INT64_C(5000000000)
#define PATIENCE_AFTER_INTERRUPT_NS INT64_C(500000000)

/*
 * Reports the pending tasks on stderr. -1 if the user answered with Ctrl-C: signal handlers run while
 * Python's file writes, and PySys_WriteStderr would drop their exception.
 */
static int say_what_is_pending(void)
{
    usm_device *device;
    char name[USM_DEVICE_TEXT];
    size_t n = usm_queues_pending(&device);
    PyObject *file = PySys_GetObject("stderr"); /* borrowed */
    if (n == 0 || file == NULL || file == Py_None) {
        return 0;
    }
    Py_INCREF(file);
    PyObject *text = PyUnicode_FromFormat(
        "usmpy: waiting for %zu task%s to complete before the process ends (%s on %s); press "
        "Ctrl-C to end it without waiting\n",
        n, n == 1 ? "" : "s", n == 1 ? "submitted" : "the oldest",
        usm_device_text(device, name, sizeof name));
    if (text != NULL) {
        (void)PyFile_WriteObject(text, file, Py_PRINT_RAW);
    }
    Py_XDECREF(text);
    Py_DECREF(file);
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
        return -1;
    }
    PyErr_Clear();
    return 0;
}

/* Waits for all tasks as if the caller had waited; after a while it says what is pending. USM_INTERRUPTED. */
static usm_status wait_for_all(void)
{
    usm_error error;
    int64_t patience_ns = usmpy_wait_was_interrupted() ? PATIENCE_AFTER_INTERRUPT_NS : PATIENCE_NS;
    PyThreadState *thread = PyEval_SaveThread();
    usm_status status = usm_queues_drain(USMPY_PATIENCE(usm_clock_ns() + patience_ns, &thread), &error);
    PyEval_RestoreThread(thread);
    if (status == USM_TIMEOUT && say_what_is_pending() < 0) {
        return USM_INTERRUPTED;
    }
    if (status == USM_TIMEOUT) {
        thread = PyEval_SaveThread();
        status = usm_queues_drain(USMPY_PATIENCE(INT64_MAX, &thread), &error);
        PyEval_RestoreThread(thread);
    }
    return status;
}

/* Reports what nobody retrieved. NULL for Ctrl-C: the user does not want to wait for the rest. */
static PyObject *report_all(usm_status status)
{
    usm_queues_report(NULL);
    usmpy_deferred_drain();
    return status == USM_INTERRUPTED && PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/*
 * Runs before the main interpreter finalizes: all tasks complete. Afterwards host tasks are refused
 * (usmpy_has_ended), so no thread of usmpy needs the interpreter any more. Later pushes are leaked on
 * purpose, since no thread could release them safely.
 */
static PyObject *end_main(usmpy_interpreter *own)
{
    usm_error error;
    usm_status status = wait_for_all();
    PyThreadState *thread = PyEval_SaveThread();
    usmpy_interpreters_set_ended(); /* sub-interpreters cannot outlive the main one */
    if (status == USM_OK) {         /* tasks that daemon threads submitted in the meantime */
        status = usm_queues_drain(USMPY_PATIENCE(INT64_MAX, &thread), &error);
    }
    PyEval_RestoreThread(thread);
    PyObject *result = report_all(status);
    if (!PyErr_Occurred()) {
        forget_frames(own);
    }
    return result;
}

static PyObject *finish(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    return report_all(wait_for_all());
}

PyMethodDef usmpy_deferred_functions[] = {
    {"_finish", finish, METH_NOARGS, USMPY_DOC__finish},
    {0},
};

/*
 * Waits for the tasks that need the sub-interpreter. While the main interpreter finalizes, which has waited
 * for them before, no thread gets the GIL back.
 */
static void wait_for_tasks(usmpy_interpreter *own)
{
    int64_t nap_ns = 20000, say_ns = usm_clock_ns() + PATIENCE_NS;
    usmpy_deferred_drain();
    while (atomic_load(&own->list->tasks) > 0 && !usmpy_is_finalizing()) {
        Py_BEGIN_ALLOW_THREADS
            const struct timespec nap = {.tv_nsec = (long)nap_ns};
            nanosleep(&nap, NULL);
        Py_END_ALLOW_THREADS
        nap_ns = nap_ns < 2000000 ? 2 * nap_ns : nap_ns;
        usmpy_deferred_drain();
        if (usm_clock_ns() > say_ns) {
            long long n = atomic_load(&own->list->tasks);
            PySys_WriteStderr(
                "usmpy: waiting for %lld task%s of a sub-interpreter to complete before it ends\n", n,
                n == 1 ? "" : "s");
            say_ns = INT64_MAX;
        }
    }
}

/*
 * Before a sub-interpreter finalizes, tasks that keep objects of it complete; other work goes on. Then its
 * functions are refused, and its exceptions are released. `module` is NULL where the main interpreter does
 * not have it.
 */
static PyObject *at_exit(PyObject *module, PyObject *Py_UNUSED(unused))
{
    usmpy_interpreter *own = usmpy_interpreter_here();
    if (own->id == 0) {
        return end_main(own);
    }
    wait_for_tasks(own);
    atomic_store(&own->ended, true);
    wait_for_tasks(own); /* what other threads of it submitted meanwhile */
    usmpy_thread_close(own);
    usm_queues_report(own->list);
    usmpy_deferred_drain();
    forget_exceptions(own);
    usmpy_drop_kept(usmpy_state_of_module(module));
    Py_RETURN_NONE;
}

static _Atomic bool closes; /* close_all is registered */

/* Runs after the interpreter: the drivers get back what contexts kept for reuse. */
static void close_all(void)
{
    atomic_store(&closes, false);
    usm_reclaimer_stop();
    usm_contexts_close();
}

bool usmpy_has_ended(void)
{
    return atomic_load(&usmpy_interpreter_here()->ended);
}

/* Makes the calling thread's interpreter call at_exit. 0, or -1 with an exception. */
static int register_exit(PyObject *module)
{
    static PyMethodDef exit_def = {"_at_exit", at_exit, METH_NOARGS, NULL};
    PyObject *result = usmpy_call("atexit", "register", "(N)", PyCFunction_New(&exit_def, module));
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/*
 * The main interpreter, which may never import usmpy, waits for all tasks at its end: afterwards those of
 * sub-interpreters that are left could not complete. GIL held.
 */
static void register_exit_of_main(void)
{
    usmpy_interpreter *main_one = usmpy_interpreter_of(NULL);
    PyThreadState *own = PyEval_SaveThread(), *thread = usmpy_thread_attach(main_one);
    if (thread != NULL) {
        if (register_exit(NULL) < 0) { /* without memory: as if the interpreter ended without its functions */
            PyErr_Clear();
        }
        usmpy_thread_detach(thread);
    }
    PyEval_RestoreThread(own);
}

int usmpy_deferred_start(PyObject *module)
{
    static _Atomic bool of_main;
    usmpy_interpreter *own = usmpy_interpreter_here();
    if (register_exit(module) < 0 || usmpy_thread_reserve(own) < 0) {
        return -1;
    }
    if (!atomic_exchange(&of_main, true) && own->id != 0 && !usmpy_is_finalizing()) {
        register_exit_of_main();
    }
    if (!atomic_exchange(&closes, true)) {
        (void)Py_AtExit(close_all); /* if it fails, the end of the process frees the memory */
    }
    atomic_store(&own->ended, atomic_load(&own->closed));
    usm_deferred_set_notifier(schedule);
    return 0;
}

void usmpy_deferred_poll_quietly(void)
{
    /* While the interpreter finalizes, objects may no longer be safe to release: they are leaked. */
    if (!usm_deferred_waiting() || usmpy_interpreter_of(NULL)->ended || usmpy_is_finalizing()) {
        return;
    }
    PyObject *pending = usmpy_take_exception();
    usmpy_deferred_drain();
    usmpy_restore_exception(pending);
}
