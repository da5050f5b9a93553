#include "host_task.h"

#include "deferred.h"
#include "errors.h"
#include "thread.h"
#include "wait.h"

#include "../core/heap.h"
#include "../core/names.h"

typedef struct host_task {
    usm_keep keep;
    Py_ssize_t n;
    PyObject *items[]; /* the function, then its arguments; NULL once they were let go of */
} host_task;

static void drop_items(host_task *task)
{
    for (Py_ssize_t i = 0; i < task->n; i++) {
        Py_CLEAR(task->items[i]);
    }
}

static void drop(usm_deferred *node)
{
    host_task *task = (host_task *)node;
    drop_items(task); /* not empty where the task was never run */
    free(task);
}

/*
 * On the queue's thread. The arguments go before the GIL does: what the task held last is freed here, and not
 * by a later visit of some other thread.
 */
static usm_status run(void *argument, usm_error *error)
{
    host_task *task = argument;
    usm_status status = USM_OK;
    PyThreadState *thread = usmpy_thread_attach();
    if (thread == NULL) {
        return usm_error_memory(error, 4096, "a thread state");
    }
    PyObject *result = PyObject_Vectorcall(task->items[0], task->items + 1, (size_t)task->n - 1, NULL);
    if (result == NULL) {
        status = usmpy_capture_exception(error);
    }
    Py_XDECREF(result);
    drop_items(task);
    usmpy_thread_detach(thread);
    return status;
}

uint32_t usmpy_host_task_name(const usm_command *command)
{
    const host_task *task = command->as.host.argument;
    PyObject *name = PyObject_GetAttrString(task->items[0], "__name__");
    const char *text = name != NULL && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    uint32_t number = usm_name_number(text != NULL ? text : Py_TYPE(task->items[0])->tp_name);
    Py_XDECREF(name);
    PyErr_Clear();
    return number;
}

int usmpy_host_task_command(PyObject *const *args, Py_ssize_t nargs, usm_command *command, usm_keep **keeps)
{
    if (usmpy_has_ended()) {
        PyErr_SetString(PyExc_RuntimeError,
                        "a host task cannot be submitted while the interpreter shuts down");
        return -1;
    }
    host_task *task = usm_malloc(sizeof *task + (size_t)nargs * sizeof(PyObject *));
    if (task == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    task->n = nargs;
    for (Py_ssize_t i = 0; i < nargs; i++) {
        task->items[i] = Py_NewRef(args[i]);
    }
    task->keep.deferred.run = drop;
    task->keep.next = *keeps;
    *keeps = &task->keep;
    command->kind = USM_COMMAND_HOST;
    command->as.host.run = run;
    command->as.host.argument = task;
    return 0;
}
