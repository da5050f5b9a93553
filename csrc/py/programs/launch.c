/* Launches of kernels: everything is checked before anything is enqueued. */
#include "argument.h"
#include "dispatch.h"

#include "py/args.h"
#include "py/arrays/array.h"
#include "py/deferred.h"
#include "py/keep.h"
#include "py/objects/placement.h"
#include "py/objects/queue_submit.h"

#include "core/memory/connection.h"

#include <string.h>

#define INLINE_ARGUMENTS 12

/*
 * Prefixes the message of the pending exception with "argument 2 (alpha) of scale". Exceptions of other
 * classes come from methods of the argument, and stay unchanged. i: the parameter; shown: its number.
 */
static void add_name(usmpy_state *state, const usm_kernel *kernel, size_t i, size_t shown)
{
    PyObject *class = PyErr_Occurred();
    const char *name = kernel->parameters[i].name;
    if (class == PyExc_TypeError || class == PyExc_ValueError || class == PyExc_OverflowError ||
        class == PyExc_BufferError || class == state->placement_error) {
        usmpy_prefix_message(class, "argument %zu (%s) of %s", shown, name != NULL ? name : "unnamed",
                             kernel->name);
    }
}

/* "x, y, a": the names of the parameters as a new str. */
static PyObject *parameter_names(const usm_kernel *kernel)
{
    PyObject *names = PyUnicode_FromString("");
    for (size_t i = 0; names != NULL && i < kernel->n_parameters; i++) {
        const char *name = kernel->parameters[i].name;
        PyUnicode_AppendAndDel(&names,
                               PyUnicode_FromFormat(i == 0 ? "%s" : ", %s", name != NULL ? name : "unnamed"));
    }
    return names;
}

/*
 * format: of the kernel's name, the count of its parameters, their names, and `word` (NULL: an exception is
 * set). -1
 */
static int refuse_call(const usm_kernel *kernel, const char *format, USM_TAKES PyObject *word)
{
    PyObject *names = word == NULL ? NULL : parameter_names(kernel);
    if (names != NULL) {
        PyErr_Format(PyExc_TypeError, format, kernel->name, kernel->n_parameters,
                     usmpy_plural((int64_t)kernel->n_parameters), names, word);
    }
    Py_XDECREF(names);
    Py_XDECREF(word);
    return -1;
}

static int check_count(const usm_kernel *kernel, Py_ssize_t n)
{
    if (USM_LIKELY((size_t)n == kernel->n_parameters)) {
        return 0;
    }
    return refuse_call(kernel, "%s takes %zu argument%s (%U), %U",
                       PyUnicode_FromFormat(n == 1 ? "%zd was given" : "%zd were given", n));
}

/* The parameter of that name; -1: there is none. */
static Py_ssize_t find_parameter(const usm_kernel *kernel, PyObject *name)
{
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(name, &length);
    if (text == NULL) { /* a lone surrogate, which is in no source */
        PyErr_Clear();
        return -1;
    }
    for (size_t i = 0; i < kernel->n_parameters; i++) {
        const char *own = kernel->parameters[i].name;
        if (own != NULL && strlen(own) == (size_t)length && memcmp(own, text, (size_t)length) == 0) {
            return (Py_ssize_t)i;
        }
    }
    return -1;
}

static int refuse_name(const usm_kernel *kernel, PyObject *name)
{
    for (size_t i = 0; i < kernel->n_parameters; i++) {
        if (kernel->parameters[i].name == NULL) {
            return usmpy_refuse(
                PyExc_TypeError,
                "%s was given %.60R by name, and the program does not tell the name of every parameter; pass "
                "arguments by position",
                kernel->name, name);
        }
    }
    return refuse_call(kernel, "%s takes %zu argument%s (%U), and none of the name %.60R", Py_NewRef(name));
}

/* Fills out with all arguments by position, borrowed. 0, or -1 with TypeError. */
static int put_in_order(const usm_kernel *kernel, PyObject *const *objects, Py_ssize_t n, PyObject *names,
                        PyObject **out)
{
    if ((size_t)n > kernel->n_parameters) {
        return check_count(kernel, n + PyTuple_GET_SIZE(names));
    }
    memcpy(out, objects, (size_t)n * sizeof *out);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        Py_ssize_t at = find_parameter(kernel, name);
        if (at < 0) {
            return refuse_name(kernel, name);
        }
        if (out[at] != NULL) {
            return refuse_call(kernel, "%s takes %zu argument%s (%U), and two were given for %.60R",
                               Py_NewRef(name));
        }
        out[at] = objects[n + i];
    }
    for (size_t i = 0; i < kernel->n_parameters; i++) {
        if (out[i] == NULL) {
            const char *own = kernel->parameters[i].name;
            return refuse_call(kernel, "%s takes %zu argument%s (%U), and %.60R is missing",
                               PyUnicode_FromString(own != NULL ? own : "unnamed"));
        }
    }
    return 0;
}

PyObject *usmpy_launch_by_name(usmpy_state *state, PyObject *kernel_object, const usm_range *range,
                               PyObject *const *objects, Py_ssize_t n, PyObject *names, PyObject *depends)
{
    const usm_kernel *kernel = ((usmpy_kernel *)kernel_object)->kernel;
    PyObject **ordered = PyMem_Calloc(kernel->n_parameters + 1, sizeof *ordered);
    if (ordered == NULL) {
        return PyErr_NoMemory();
    }
    PyObject *event = NULL;
    if (put_in_order(kernel, objects, n, names, ordered) == 0) {
        event = usmpy_launch(state, kernel_object, range, NULL, ordered, (Py_ssize_t)kernel->n_parameters,
                             depends);
    }
    PyMem_Free(ordered);
    return event;
}

/* The index of the i-th array's parameter. */
static size_t parameter_of(usmpy_state *state, const usmpy_arguments *taken, Py_ssize_t i)
{
    size_t at = 0;
    while (!usmpy_is_array(state, taken->objects[at]) || i-- > 0) {
        at++;
    }
    return at;
}

/*
 * The queue must be on the program's device, and its device must reach the arrays. 0, or -1
 * with ExecutionPlacementError.
 */
static int check_placement(usmpy_state *state, const usm_kernel *kernel, PyObject *queue_object,
                           const usmpy_arguments *taken)
{
    const usm_queue *queue = usmpy_queue_of(queue_object);
    const usm_place *place = kernel->program->place;
    if (place != queue->place &&
        !(kernel->program->any_place && kernel->program->backend == queue->backend)) {
        return usmpy_refuse(
            state->placement_error,
            "%s was built for %s %s in context %p, and the queue runs on %s %s in context %p; build the "
            "program with device=queue",
            kernel->name, usm_backend_name(place->context->backend), place->device->info.name,
            (void *)place->context, usm_backend_name(queue->backend), queue->device->info.name,
            (void *)queue->context);
    }
    for (Py_ssize_t i = 0; i < taken->n_arrays; i++) {
        const usm_alloc *alloc = taken->arrays[i]->alloc;
        if (taken->arrays[i]->queue != queue_object && !usm_place_reaches(queue->place, alloc)) {
            size_t at = parameter_of(state, taken, i);
            usmpy_refuse_array(
                state->placement_error, &kernel->parameters[at], taken->accesses[i].mode != USM_READ,
                PyUnicode_FromFormat("the memory is on %s %s in context %p, and the queue runs on %s %s in "
                                     "context %p",
                                     usm_backend_name(alloc->place->context->backend),
                                     alloc->place->device->info.name, (void *)alloc->context,
                                     usm_backend_name(queue->backend), queue->device->info.name,
                                     (void *)queue->context),
                "to_device(queue)", "usmpy.copyto(%s, t)");
            add_name(state, kernel, at, at);
            return -1;
        }
    }
    return 0;
}

/* Raises ExecutionPlacementError: the array `other` is not on the queue of the first one. */
static void refuse_queues(usmpy_state *state, const usm_kernel *kernel, const usmpy_arguments *taken,
                          Py_ssize_t other)
{
    char text[24];
    size_t at = parameter_of(state, taken, other);
    const char **names = PyMem_New(const char *, kernel->n_parameters);
    if (names == NULL) {
        PyErr_NoMemory();
        return;
    }
    for (size_t i = 0; i < kernel->n_parameters; i++) {
        names[i] = kernel->parameters[i].name;
    }
    PyObject *message = usmpy_placement_text(state, kernel->name, "args", taken->objects, names,
                                             (Py_ssize_t)kernel->n_parameters);
    if (message != NULL && taken->accesses[other].mode != USM_READ) {
        PyOS_snprintf(text, sizeof text, "args[%zu]", at);
        const char *name = names[at] != NULL ? names[at] : text;
        PyUnicode_AppendAndDel(
            &message, PyUnicode_FromFormat("\nto_device makes a copy unless both queues use the same memory, "
                                           "and the kernel may write to %s: keep the original, and bring the "
                                           "results back with usmpy.copyto(original, %s)",
                                           name, name));
    }
    usmpy_raise_object(state->placement_error, message);
    PyMem_Free(names);
}

/* The queue that all arrays are on, borrowed; NULL with ExecutionPlacementError. */
static PyObject *common_queue(usmpy_state *state, const usm_kernel *kernel, const usmpy_arguments *taken)
{
    if (taken->n_arrays == 0) {
        return PyErr_Format(
            state->placement_error,
            "no argument of %s is a USMArray, whose queue it would run in; use queue.submit(kernel, args, range)",
            kernel->name);
    }
    PyObject *queue = taken->arrays[0]->queue;
    for (Py_ssize_t i = 1; i < taken->n_arrays; i++) {
        if (usmpy_queue_of(taken->arrays[i]->queue) != usmpy_queue_of(queue)) {
            refuse_queues(state, kernel, taken, i);
            return NULL;
        }
    }
    return queue;
}

/* Sets the size of work-groups that the kernel requires, if the launch has none. 0, or -1 with ValueError. */
static int check_range(const usm_kernel *kernel, const usm_device *device, usm_range *range)
{
    const size_t *required = kernel->required_local;
    size_t most = kernel->max_local != 0 ? kernel->max_local : device->info.max_work_group_size;
    if (kernel->max_ndim != 0 && range->ndim > kernel->max_ndim) {
        return usmpy_refuse(PyExc_ValueError, "the range has %u dimensions; %s takes %u", range->ndim,
                            kernel->name, kernel->max_ndim);
    }
    if (!range->has_local) {
        if (required[0] == 0) {
            return 0;
        }
        range->has_local = true;
        memcpy(range->local, required, sizeof range->local);
        for (int i = 0; i < 3; i++) {
            if (range->global[i] % required[i] != 0) {
                return usmpy_refuse(
                    PyExc_ValueError,
                    "range[%d] is %zu, and %s requires work-groups of (%zu, %zu, %zu), which do not "
                    "divide it",
                    i, range->global[i], kernel->name, required[0], required[1], required[2]);
            }
        }
    }
    if (kernel->max_ndim != 0) {
        return usmpy_refuse(PyExc_ValueError, "%s has no work-groups; a Range or an int is allowed",
                            kernel->name);
    }
    size_t group = 0;
    if (__builtin_mul_overflow(range->local[0], range->local[1], &group) ||
        __builtin_mul_overflow(group, range->local[2], &group) || group > most) {
        return usmpy_refuse(
            PyExc_ValueError, "local_range (%zu, %zu, %zu) has more work-items than %s allows on %s: %zu",
            range->local[0], range->local[1], range->local[2], kernel->name, device->info.name, most);
    }
    if (required[0] != 0 && memcmp(required, range->local, sizeof range->local) != 0) {
        return usmpy_refuse(PyExc_ValueError,
                            "local_range is (%zu, %zu, %zu), and %s requires (%zu, %zu, %zu)",
                            range->local[0], range->local[1], range->local[2], kernel->name, required[0],
                            required[1], required[2]);
    }
    return 0;
}

/*
 * The LocalMemory of all arguments is that of one work-group. The launch must set the size of the groups,
 * since a driver could choose larger groups than the memory suffices for. 0, or -1 with ValueError.
 */
static int check_local_memory(const usm_kernel *kernel, const usm_device *device, const usm_range *range,
                              const usmpy_arguments *taken)
{
    if (USM_LIKELY(!taken->has_local)) {
        return 0;
    }
    if (!range->has_local) {
        return usmpy_refuse(
            PyExc_ValueError,
            "%s was given LocalMemory, and a range without the size of a work-group; LocalMemory needs "
            "NdRange(global, local)",
            kernel->name);
    }
    uint64_t total = 0;
    for (size_t i = 0; i < kernel->n_parameters; i++) {
        const usm_argument *argument = &taken->arguments[i];
        total += argument->kind == USM_PARAMETER_LOCAL ? argument->size : 0;
    }
    if (total > device->info.local_mem_size) {
        return usmpy_refuse(PyExc_ValueError, "%s was given %llu bytes of LocalMemory; %s has %llu",
                            kernel->name, (unsigned long long)total, device->info.name,
                            (unsigned long long)device->info.local_mem_size);
    }
    return 0;
}

static PyObject *submit(usmpy_state *state, usmpy_kernel *self, const usm_range *asked, PyObject *queue,
                        Py_ssize_t n, PyObject *depends, const usmpy_arguments *taken)
{
    usm_kernel *kernel = self->kernel;
    usm_range range = *asked;
    usm_keep *keeps = NULL;
    if (queue == NULL) {
        queue = common_queue(state, kernel, taken);
        if (queue == NULL) {
            return NULL;
        }
    }
    const usm_device *device = usmpy_queue_of(queue)->device;
    if (check_placement(state, kernel, queue, taken) < 0 || check_range(kernel, device, &range) < 0 ||
        check_local_memory(kernel, device, &range, taken) < 0 ||
        (self->owner != NULL && usmpy_keep_object(&keeps, self->owner) < 0)) {
        return NULL;
    }
    const usm_launch launch = {kernel, range, (size_t)n, taken->arguments, 0};
    bool is_empty = usm_range_items(&range) == 0; /* no driver takes a launch without work-items */
    usm_command command;
    command.kind = is_empty ? USM_COMMAND_MARKER : USM_COMMAND_LAUNCH;
    command.event = NULL;
    command.as.launch = &launch;
    return usmpy_submit(state, usmpy_queue_of(queue), &command, taken->accesses,
                        is_empty ? 0 : (size_t)taken->n_arrays, depends, keeps, false);
}

PyObject *usmpy_launch(usmpy_state *state, PyObject *kernel, const usm_range *range, PyObject *queue,
                       PyObject *const *objects, Py_ssize_t n, PyObject *depends)
{
    return USM_UNLIKELY(((usmpy_kernel *)kernel)->checked)
               ? usmpy_launch_checked(state, kernel, range, queue, objects, n, depends, NULL)
               : usmpy_launch_with(state, kernel, range, queue, objects, n, depends, NULL, NULL);
}

/* Argument i of a launch. 0, or -1 with an exception that speaks of the argument alone. */
static inline int take(usmpy_state *state, const usm_kernel *kernel, Py_ssize_t i,
                       const usmpy_expansion *expansion, usmpy_arguments *taken)
{
    usm_argument *out = &taken->arguments[i];
    if (USM_UNLIKELY(expansion != NULL) && expansion->slots[i].kind != USMPY_SLOT_ITSELF) {
        out->kind = USM_PARAMETER_VALUE;
        out->size = sizeof *expansion->sizes;
        memcpy(out->as.value, &expansion->sizes[i], sizeof *expansion->sizes);
        return 0;
    }
    return usmpy_take_argument(state, &kernel->parameters[i], taken->objects[i], out, taken);
}

static const usm_parameter record_parameter = {.kind = USM_PARAMETER_POINTER, .dtype = USM_INT64};

PyObject *usmpy_launch_with(usmpy_state *state, PyObject *kernel_object, const usm_range *range,
                            PyObject *queue, PyObject *const *objects, Py_ssize_t n, PyObject *depends,
                            PyObject *record, const usmpy_expansion *expansion)
{
    usm_kernel *kernel = ((usmpy_kernel *)kernel_object)->kernel;
    Py_ssize_t room = n + (record != NULL);
    struct {
        usm_argument arguments[INLINE_ARGUMENTS];
        usm_access accesses[INLINE_ARGUMENTS];
        usmpy_array *arrays[INLINE_ARGUMENTS];
        Py_buffer views[INLINE_ARGUMENTS];
    } few;
    usmpy_arguments taken = {objects, few.arguments, few.arrays,       few.accesses, 0, few.views,
                             0,       false,         expansion != NULL};
    Py_buffer *block = NULL;
    PyObject *event = NULL;
    usmpy_deferred_poll();
    if (check_count(kernel, n) < 0) {
        return NULL;
    }
    if (room > INLINE_ARGUMENTS) {
        block = PyMem_Malloc((size_t)room * (sizeof(Py_buffer) + sizeof(usm_argument) + sizeof(usm_access) +
                                             sizeof(usmpy_array *)));
        if (block == NULL) {
            return PyErr_NoMemory();
        }
        taken.views = block;
        taken.arguments = (usm_argument *)(taken.views + room);
        taken.accesses = (usm_access *)(taken.arguments + room);
        taken.arrays = (usmpy_array **)(taken.accesses + room);
    }
    Py_ssize_t i = 0;
    while (i < n && take(state, kernel, i, expansion, &taken) == 0) {
        i++;
    }
    if (i < n) {
        add_name(state, kernel, (size_t)i, expansion != NULL ? expansion->slots[i].argument : (size_t)i);
    } else if (record == NULL ||
               usmpy_take_argument(state, &record_parameter, record, &taken.arguments[n], &taken) == 0) {
        event = submit(state, (usmpy_kernel *)kernel_object, range, queue, room, depends, &taken);
    }
    while (taken.n_views > 0) {
        PyBuffer_Release(&taken.views[--taken.n_views]);
    }
    PyMem_Free(block);
    return event;
}

PyObject *usmpy_queue_submit(usmpy_state *state, PyObject *self, PyObject *const *out)
{
    usm_range range;
    bool written_in_c = Py_IS_TYPE(out[0], state->kernel_type);
    PyObject *dispatch = written_in_c ? NULL : usmpy_dispatch_of(state, out[0]), *event = NULL, *items = NULL;
    if (!written_in_c && dispatch == NULL) {
        return usmpy_wrong_type("kernel", out[0], "a Kernel or a PythonKernel is allowed");
    }
    if (usmpy_parse_range(state, out[2], &range, "range") == 0) {
        static const char allowed[] = "a sequence of arguments is allowed";
        items = PyUnicode_Check(out[1]) || PyBytes_Check(out[1])
                    ? usmpy_wrong_type("args", out[1], allowed)
                    : usmpy_items_of(out[1], "args", allowed, USMPY_MOST_ITEMS);
    }
    if (items != NULL) {
        PyObject **objects = ((PyTupleObject *)items)->ob_item;
        Py_ssize_t n = PyTuple_GET_SIZE(items);
        event = written_in_c ? usmpy_launch(state, out[0], &range, self, objects, n, out[3])
                             : usmpy_dispatch_launch(state, dispatch, &range, self, objects, n, NULL, out[3]);
        Py_DECREF(items);
    }
    Py_XDECREF(dispatch);
    return event;
}
