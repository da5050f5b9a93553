/* Python functions as tasks of a queue, and as callbacks of events. */
#include "host_task.h"

#include "objects.h"
#include "py/args.h"
#include "py/deferred.h"
#include "py/errors.h"
#include "py/keep.h"
#include "py/thread.h"
#include "py/wait.h"
#include "trace.h"

#include "core/base/heap.h"

typedef struct host_task {
    usm_keep keep;
    PyObject *result; /* the cell for the function's result; NULL: a callback, whose result is dropped */
    Py_ssize_t n;
    PyObject *items[]; /* the function, then its arguments; NULL once they are released */
} host_task;

static void drop_items(host_task *task)
{
    Py_CLEAR(task->result);
    for (Py_ssize_t i = 0; i < task->n; i++) {
        Py_CLEAR(task->items[i]);
    }
}

static void drop(usm_deferred *node)
{
    host_task *task = (host_task *)node;
    if (usmpy_is_here(node->home)) { /* else their interpreter has ended */
        drop_items(task);            /* not empty if the task did not run */
    }
    free(task);
}

/*
 * On the queue's thread. The arguments are released while the GIL is held, so that objects that only the task
 * held are freed here, and not later by another thread.
 */
static usm_status run(void *argument, usm_error *error)
{
    host_task *task = argument;
    usm_status status = USM_OK;
    usmpy_interpreter *own = usmpy_interpreter_of(task->keep.deferred.home);
    PyThreadState *thread = usmpy_thread_attach(own);
    if (thread == NULL && atomic_load(&own->closed)) {
        return usm_error_set(error, USM_FAILED, "the sub-interpreter of the function has ended");
    }
    if (thread == NULL) {
        return usm_error_memory(error, 4096, "a thread state");
    }
    PyObject *result = PyObject_Vectorcall(task->items[0], task->items + 1, (size_t)task->n - 1, NULL);
    if (result == NULL && task->result == NULL) {
        PyErr_WriteUnraisable(task->items[0]);
    } else if (result == NULL) {
        status = usmpy_capture_exception(error);
        if (status == USM_FAILED) { /* the garbage collector sees the exception there */
            (void)PyCell_Set(task->result, usmpy_deferred_object(error->failure->payload));
        }
    } else if (task->result != NULL) {
        (void)PyCell_Set(task->result, result); /* freed with the cell if the Event was freed */
    }
    Py_XDECREF(result);
    drop_items(task);
    if (own->id != 0) { /* no pending call comes to a sub-interpreter */
        usmpy_deferred_poll();
    }
    usmpy_thread_detach(thread);
    return status;
}

const char *usmpy_host_task_name(const usm_command *command, PyObject **owner)
{
    const host_task *task = command->as.host.argument;
    PyObject *name = PyObject_GetAttrString(task->items[0], "__name__");
    const char *text = name != NULL && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    if (text == NULL) {
        Py_CLEAR(name);
        PyErr_Clear();
    }
    *owner = name;
    return text != NULL ? text : Py_TYPE(task->items[0])->tp_name;
}

/* The task without a cell for its result; NULL with an exception. */
static host_task *new_task(PyObject *const *args, Py_ssize_t nargs, usm_command *command, usm_keep **keeps)
{
    if (usmpy_has_ended()) {
        return usmpy_error_format(
            PyExc_RuntimeError,
            "Python functions cannot be submitted as tasks or callbacks while the interpreter shuts "
            "down");
    }
    host_task *task = usm_malloc(sizeof *task + (size_t)nargs * sizeof(PyObject *));
    if (task == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    task->result = NULL;
    task->n = nargs;
    for (Py_ssize_t i = 0; i < nargs; i++) {
        task->items[i] = Py_NewRef(args[i]);
    }
    task->keep.deferred.run = drop;
    task->keep.deferred.home = usm_deferred_here();
    task->keep.next = *keeps;
    *keeps = &task->keep;
    command->kind = USM_COMMAND_HOST;
    command->as.host.run = run;
    command->as.host.argument = task;
    return task;
}

int usmpy_host_task_command(PyObject *const *args, Py_ssize_t nargs, usm_command *command, usm_keep **keeps,
                            PyObject **result)
{
    PyObject *cell = PyCell_New(NULL);
    host_task *task = cell == NULL ? NULL : new_task(args, nargs, command, keeps);
    if (task == NULL) {
        Py_XDECREF(cell);
        return -1;
    }
    task->result = Py_NewRef(cell);
    *result = cell;
    return 0;
}

static _Atomic(usm_queue *) callbacks; /* created on first use, never released */

/*
 * The queue on which callbacks run, borrowed: on the host device, out of order. Its threads start when they
 * are needed. It is drained at the exit as all queues are. NULL with an exception.
 */
static usm_queue *callback_queue(usmpy_state *state)
{
    usm_queue *queue = atomic_load_explicit(&callbacks, memory_order_acquire);
    PyObject *host = queue != NULL ? NULL : usmpy_host_queue(state);
    if (host == NULL) {
        return queue;
    }
    const usm_queue_options options = {.priority = USM_PRIORITY_NORMAL};
    usm_queue *other = NULL;
    usm_error error;
    usm_status status = usm_queue_create(usmpy_queue_of(host)->place, &options, &queue, &error);
    if (status != USM_OK) {
        return usmpy_raise(state, status, &error);
    }
    if (!atomic_compare_exchange_strong(&callbacks, &other, queue)) {
        usm_queue_release(queue);
        queue = other;
    }
    return queue;
}

int usmpy_callback_submit(usmpy_state *state, PyObject *fn, PyObject *event_object, usm_event *event,
                          usm_event *earlier, usm_event **out)
{
    PyObject *args[] = {fn, event_object};
    const usm_wait waits[] = {{event, false}, {earlier, false}};
    usm_keep *keeps = NULL;
    usm_command command;
    PyObject *name = NULL;
    usm_queue *queue = callback_queue(state);
    if (queue == NULL || new_task(args, 2, &command, &keeps) == NULL) {
        return -1;
    }
    usm_submission submission = {
        .command = &command, .waits = waits, .n_waits = earlier != NULL ? 2 : 1, .keeps = keeps};
    if (USM_UNLIKELY(usm_trace_is_on())) {
        submission.name = usmpy_host_task_name(&command, &name);
    }
    usm_error error;
    usm_status status = usm_queue_submit(queue, &submission, out, &error);
    Py_XDECREF(name);
    if (status != USM_OK) {
        usmpy_keep_drop(keeps);
    }
    return usmpy_check(state, status, &error);
}
