/* The C API of usmpy.h, which documents the functions: a static table in a capsule. */
#include "c_api.h"

#include "dlpack.h"
#include "py/args.h"
#include "py/arrays/array.h"
#include "py/deferred.h"
#include "py/errors.h"
#include "py/interpreter.h"
#include "py/wait.h"

#include "core/base/heap.h"
#include "core/base/sync.h"

#include <math.h>
#include <usmpy.h>

/* The constants of usmpy.h are equal to the core's. */
_Static_assert((int)USMPY_KIND_DEVICE == (int)USM_DEVICE && (int)USMPY_KIND_SHARED == (int)USM_SHARED &&
                   (int)USMPY_KIND_HOST == (int)USM_HOST,
               "kinds of memory");
_Static_assert((int)USMPY_MODE_READ == (int)USM_READ && (int)USMPY_MODE_WRITE == (int)USM_WRITE &&
                   (int)USMPY_MODE_READ_WRITE == (int)USM_READ_WRITE,
               "modes of access");

static int is_of(const PyObject *object, PyTypeObject *type)
{
    return object != NULL && Py_IS_TYPE(object, type);
}

static int array_check(PyObject *object)
{
    const usmpy_state *state = usmpy_find_state();
    return state != NULL && is_of(object, state->array_type);
}

static int queue_check(PyObject *object)
{
    const usmpy_state *state = usmpy_find_state();
    return state != NULL && is_of(object, state->queue_type);
}

static int event_check(PyObject *object)
{
    const usmpy_state *state = usmpy_find_state();
    return state != NULL && is_of(object, state->event_type);
}

/* The state for a call whose argument must be of the type; NULL with TypeError. */
static usmpy_state *demand(int (*check)(PyObject *), PyObject *object, const char *what)
{
    if (USM_UNLIKELY(!check(object))) {
        return usmpy_error_format(PyExc_TypeError, "the argument is %s%s%.80s; %s %s is allowed",
                                  object == NULL ? "NULL" : usmpy_article(Py_TYPE(object)->tp_name),
                                  object == NULL ? "" : " ", object == NULL ? "" : Py_TYPE(object)->tp_name,
                                  usmpy_article(what), what);
    }
    return usmpy_current_state();
}

static int array_info(PyObject *object, UsmpyArrayInfo *info)
{
    if (demand(array_check, object, "USMArray") == NULL) {
        return -1;
    }
    usmpy_array *array = (usmpy_array *)object;
    DLDevice device = usmpy_dlpack_device(array);
    const usm_dtype_info *dtype = &usm_dtype_table[array->dtype];
    *info = (UsmpyArrayInfo){
        .data = array->data,
        .shape = usmpy_shape(array),
        .strides = usmpy_strides(array),
        .size = array->size,
        .ndim = array->ndim,
        .device_type = (int32_t)device.device_type,
        .device_id = device.device_id,
        .dtype = {dtype->code, dtype->bits},
        .kind = (UsmpyKind)array->alloc->kind,
        .writable = (array->flags & USMPY_WRITABLE) != 0,
        .c_contiguous = (array->flags & USM_C_CONTIGUOUS) != 0,
        .host_reads = usm_alloc_host_reads(array->alloc),
    };
    return 0;
}

static PyObject *array_empty(int ndim, const int64_t *shape, UsmpyDType type, UsmpyKind kind, PyObject *queue)
{
    usmpy_state *state = queue == NULL ? usmpy_current_state() : demand(queue_check, queue, "Queue");
    if (state == NULL) {
        return NULL;
    }
    usm_dtype dtype = usm_dtype_from_dlpack(type.code, type.bits);
    if (dtype == USM_NO_DTYPE) {
        return PyErr_Format(PyExc_TypeError, "usmpy holds no data type of DLPack's code %d and %d bits",
                            type.code, type.bits);
    }
    if (ndim < 0 || ndim > USM_MAX_NDIM) {
        return PyErr_Format(PyExc_ValueError, "ndim is %d; 0 to %d are allowed", ndim, USM_MAX_NDIM);
    }
    for (int i = 0; i < ndim; i++) {
        if (shape[i] < 0) {
            return PyErr_Format(PyExc_ValueError, "shape[%d] is %lld; 0 and above are allowed", i,
                                (long long)shape[i]);
        }
    }
    if ((unsigned)kind > USMPY_KIND_HOST) {
        return PyErr_Format(PyExc_ValueError, "kind is %d; one of UsmpyKind is allowed", (int)kind);
    }
    queue = queue != NULL ? queue : usmpy_default_queue(state);
    return queue == NULL
               ? NULL
               : (PyObject *)usmpy_array_empty(state, queue, (usm_kind)kind, dtype, ndim, shape, 'C', false);
}

static PyObject *array_queue(PyObject *array)
{
    return demand(array_check, array, "USMArray") == NULL ? NULL : Py_NewRef(((usmpy_array *)array)->queue);
}

static int array_wait(PyObject *array, UsmpyMode mode)
{
    usmpy_state *state = demand(array_check, array, "USMArray");
    if (state == NULL) {
        return -1;
    }
    if ((mode & USM_READ_WRITE) == 0) {
        return usmpy_refuse(PyExc_ValueError, "mode is %d; one of UsmpyMode is allowed", (int)mode);
    }
    return usmpy_wait_alloc(state, ((usmpy_array *)array)->alloc, (usm_access_mode)(mode & USM_READ_WRITE),
                            INT64_MAX);
}

static UsmpyMemory *memory_hold(PyObject *array)
{
    return demand(array_check, array, "USMArray") == NULL
               ? NULL
               : (UsmpyMemory *)usm_alloc_retain(((usmpy_array *)array)->alloc);
}

static void memory_release(UsmpyMemory *memory)
{
    /* Deferred: the owner of imported memory may need the GIL, and the caller may hold a lock. */
    usm_alloc_release_deferred((usm_alloc *)memory);
}

static const char *queue_backend(PyObject *queue)
{
    return demand(queue_check, queue, "Queue") == NULL ? NULL
                                                       : usm_backend_name(usmpy_queue_of(queue)->backend);
}

static void *queue_native(PyObject *queue)
{
    return demand(queue_check, queue, "Queue") == NULL ? NULL : usm_queue_handle(usmpy_queue_of(queue));
}

/* Checks a submission's accesses. 0 or -1. */
static int parse_accesses(usmpy_state *state, const UsmpyAccess *accesses, size_t n, usm_access *out)
{
    for (size_t i = 0; i < n; i++) {
        usmpy_array *array = (usmpy_array *)accesses[i].array;
        usm_access_mode mode = (usm_access_mode)(accesses[i].mode & USM_READ_WRITE);
        if (!is_of(accesses[i].array, state->array_type) || mode == 0) {
            return usmpy_refuse(PyExc_TypeError, "accesses[%zu]: a USMArray and one of UsmpyMode are allowed",
                                i);
        }
        if ((mode & USM_WRITE) != 0 && usmpy_check_writable(array) < 0) {
            return -1;
        }
        out[i] = mode == USM_WRITE
                     ? usm_write(array->alloc, (size_t)usm_dtype_nbytes(array->dtype, array->size))
                     : (usm_access){array->alloc, mode};
    }
    return 0;
}

/* The same for its dependencies. */
static int parse_depends(usmpy_state *state, PyObject *const *depends, size_t n, usm_wait *out)
{
    for (size_t i = 0; i < n; i++) {
        if (!is_of(depends[i], state->event_type)) {
            return usmpy_refuse(PyExc_TypeError, "depends[%zu] is not an Event; only Events are allowed", i);
        }
        out[i] = (usm_wait){((usmpy_event *)depends[i])->event, true};
    }
    return 0;
}

/* Submits; *event may be NULL if no event is wanted. 0 or -1; on failure the caller still owns `keeps`. */
static int submit(usmpy_state *state, usm_queue *queue, const usm_command *command,
                  const UsmpyAccess *accesses, size_t n_accesses, PyObject *const *depends, size_t n_depends,
                  usm_keep *keeps, usm_event **event)
{
    usm_access *parsed = PyMem_New(usm_access, n_accesses);
    usm_wait *waits = PyMem_New(usm_wait, n_depends);
    int status = -1;
    usmpy_deferred_poll();
    if (parsed == NULL || waits == NULL) {
        PyErr_NoMemory();
    } else if (parse_accesses(state, accesses, n_accesses, parsed) == 0 &&
               parse_depends(state, depends, n_depends, waits) == 0) {
        const usm_submission submission = {.command = command,
                                           .accesses = parsed,
                                           .n_accesses = n_accesses,
                                           .waits = waits,
                                           .n_waits = n_depends,
                                           .keeps = keeps};
        usm_error error;
        status = usmpy_check(state, usm_queue_submit(queue, &submission, event, &error), &error);
    }
    PyMem_Free(parsed);
    PyMem_Free(waits);
    return status;
}

/* A C function of another extension as a host task. */
typedef struct foreign_task {
    usm_keep keep;
    UsmpyFunction function;
    void *argument;
    UsmpyRelease release; /* NULL after the call */
} foreign_task;

static void release_argument(foreign_task *task)
{
    if (task->release != NULL) {
        task->release(task->argument);
        task->release = NULL;
    }
}

static void drop_task(usm_deferred *node)
{
    foreign_task *task = (foreign_task *)node;
    if (usmpy_is_here(node->home)) {
        release_argument(task); /* if the task never ran */
    }
    free(task);
}

/* Releases the argument here, not with the keep: earlier, and on a thread that no caller waits for. */
static usm_status run_task(void *argument, usm_error *error)
{
    foreign_task *task = argument;
    char message[512] = "";
    int code = task->function(task->argument, message, sizeof message);
    message[sizeof message - 1] = '\0';
    release_argument(task);
    return code == 0 ? USM_OK
                     : usm_error_driver(error, USM_DRIVER, "", code, "", "%s",
                                        message[0] != '\0' ? message : "a function of an extension failed");
}

static PyObject *queue_submit(PyObject *queue, UsmpyFunction function, void *argument, UsmpyRelease release,
                              const UsmpyAccess *accesses, size_t n_accesses, PyObject *const *depends,
                              size_t n_depends)
{
    usmpy_state *state = demand(queue_check, queue, "Queue");
    usm_event *event;
    if (state == NULL) {
        return NULL;
    }
    if (usmpy_has_ended()) {
        return PyErr_Format(PyExc_RuntimeError,
                            "a task cannot be submitted while the interpreter shuts down");
    }
    foreign_task *task = usm_malloc(sizeof *task);
    if (task == NULL) {
        return PyErr_NoMemory();
    }
    *task = (foreign_task){.keep = {.deferred = {.run = drop_task, .home = usm_deferred_here()}},
                           .function = function,
                           .argument = argument,
                           .release = release};
    usm_command command = {.kind = USM_COMMAND_HOST};
    command.as.host.run = run_task;
    command.as.host.argument = task;
    if (submit(state, usmpy_queue_of(queue), &command, accesses, n_accesses, depends, n_depends, &task->keep,
               &event) < 0) {
        free(task);
        return NULL;
    }
    return usmpy_event_wrap(state, event);
}

static usmpy_state *demand_native(PyObject *queue)
{
    usmpy_state *state = demand(queue_check, queue, "Queue");
    if (state != NULL && usm_queue_handle(usmpy_queue_of(queue)) == NULL) {
        return usmpy_error_format(
            PyExc_ValueError, "a queue of the %s backend has no native queue to enqueue in; use queue_submit",
            usm_backend_name(usmpy_queue_of(queue)->backend));
    }
    return state;
}

static int queue_begin(PyObject *queue_object, const UsmpyAccess *accesses, size_t n_accesses)
{
    usmpy_state *state = demand_native(queue_object);
    usm_event *event;
    if (state == NULL || submit(state, usmpy_queue_of(queue_object), USM_BARRIER, accesses, n_accesses, NULL,
                                0, NULL, &event) < 0) {
        return -1;
    }
    /* The barrier must be in the driver's queue before the caller enqueues work of its own there. */
    bool in_driver = usm_event_ended(event) || usm_event_in_driver(event);
    int status = in_driver ? 0 : usmpy_wait_event(state, event, INT64_MAX);
    usm_event_release(event);
    return status;
}

static PyObject *queue_end(PyObject *queue, const UsmpyAccess *accesses, size_t n_accesses)
{
    usmpy_state *state = demand_native(queue);
    usm_event *event;
    return state == NULL || submit(state, usmpy_queue_of(queue), USM_MARKER, accesses, n_accesses, NULL, 0,
                                   NULL, &event) < 0
               ? NULL
               : usmpy_event_wrap(state, event);
}

static int deadline_of(double timeout, int64_t *deadline_ns)
{
    if (isnan(timeout)) {
        return usmpy_refuse(PyExc_ValueError,
                            "timeout is NaN; seconds are allowed, or less than 0 for no limit");
    }
    int64_t now = usm_clock_ns();
    bool limited = timeout >= 0 && timeout < 1e9; /* about 30 years */
    *deadline_ns = limited ? now + (int64_t)(timeout * 1e9) : INT64_MAX;
    return 0;
}

static int queue_wait(PyObject *queue, double timeout)
{
    usmpy_state *state = demand(queue_check, queue, "Queue");
    int64_t deadline_ns;
    return state == NULL || deadline_of(timeout, &deadline_ns) < 0
               ? -1
               : usmpy_wait_queue(state, usmpy_queue_of(queue), deadline_ns);
}

static int event_done(PyObject *object)
{
    return demand(event_check, object, "Event") == NULL ? -1
                                                        : usm_event_has_ended(((usmpy_event *)object)->event);
}

static int event_wait(PyObject *event, double timeout)
{
    usmpy_state *state = demand(event_check, event, "Event");
    int64_t deadline_ns;
    return state == NULL || deadline_of(timeout, &deadline_ns) < 0
               ? -1
               : usmpy_wait_event(state, ((usmpy_event *)event)->event, deadline_ns);
}

static const UsmpyApi table = {
    .major = USMPY_API_MAJOR,
    .minor = USMPY_API_MINOR,
    .size = sizeof table,
    .array_check = array_check,
    .array_info = array_info,
    .array_empty = array_empty,
    .array_queue = array_queue,
    .array_wait = array_wait,
    .memory_hold = memory_hold,
    .memory_release = memory_release,
    .queue_check = queue_check,
    .queue_backend = queue_backend,
    .queue_native = queue_native,
    .queue_submit = queue_submit,
    .queue_begin = queue_begin,
    .queue_end = queue_end,
    .queue_wait = queue_wait,
    .event_check = event_check,
    .event_done = event_done,
    .event_wait = event_wait,
};

int usmpy_add_c_api(PyObject *module)
{
    PyObject *capsule = PyCapsule_New((void *)&table, USMPY_API_CAPSULE, NULL);
    int status = capsule == NULL ? -1 : PyModule_AddObjectRef(module, "_C_API", capsule);
    Py_XDECREF(capsule);
    return status;
}
