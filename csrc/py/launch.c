/* From Python arguments to a launch: everything is checked before anything is enqueued. */
#include "launch.h"

#include "args.h"
#include "array.h"
#include "deferred.h"
#include "keep.h"
#include "placement.h"
#include "queue_submit.h"

#include "../core/copy.h"
#include "../core/number.h"

#include <math.h>
#include <string.h>

#define INLINE_ARGUMENTS 12
/* Views of values (NumPy and ctypes scalars, bytes) that the launch borrows from. */
#define INLINE_VIEWS 4

typedef struct pending {
    usm_argument *arguments;
    usm_access *accesses;
    usmpy_array **arrays;
    Py_ssize_t n_arrays;
    Py_buffer *views;
    Py_ssize_t n_views;
    bool has_local;
} pending;

/*
 * "argument 2 (alpha) of scale" in front of the message of the pending exception, which keeps its class.
 * Others than those that are raised here are the caller's own, from methods of the argument.
 */
static void add_name(const usm_kernel *kernel, size_t i)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (type != PyExc_TypeError && type != PyExc_ValueError && type != PyExc_OverflowError &&
        type != PyExc_BufferError) {
        PyErr_Restore(type, value, traceback);
        return;
    }
    const char *name = kernel->parameters[i].name;
    PyErr_Format(type, "argument %zu (%s) of %s: %S", i, name != NULL ? name : "unnamed", kernel->name,
                 value != NULL ? value : Py_None);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
}

static const char *type_of(const usm_parameter *parameter)
{
    return parameter->type != NULL ? parameter->type : "a type that the program does not tell";
}

/* A pointer to bool, complex or narrow floating-point elements has no type of its own in OpenCL C. */
static bool points_to(usm_dtype parameter, usm_dtype array)
{
    const usm_dtype_info *to = &usm_dtype_table[parameter], *from = &usm_dtype_table[array];
    if (parameter == array) {
        return true;
    }
    if (to->kind == USM_KIND_FLOAT && from->kind == USM_KIND_COMPLEX) {
        return 2 * to->bits == from->bits; /* (re, im) side by side */
    }
    return to->kind == USM_KIND_UINT || to->kind == USM_KIND_INT
               ? to->itemsize == from->itemsize &&
                     (from->kind == USM_KIND_BOOL || array >= USM_COMPUTED_DTYPES || array == USM_BFLOAT16 ||
                      (array == USM_FLOAT16 && parameter == USM_UINT16))
               : false;
}

static int take_array(const usm_parameter *parameter, usmpy_array *array, usm_argument *out, pending *pending)
{
    if (parameter->kind != USM_PARAMETER_POINTER &&
        (parameter->kind != USM_PARAMETER_UNKNOWN ||
         (parameter->size != 0 && parameter->size != sizeof(void *)))) {
        PyErr_Format(PyExc_TypeError, "a USMArray was given for %s", type_of(parameter));
        return -1;
    }
    if (parameter->kind == USM_PARAMETER_POINTER && parameter->dtype != USM_NO_DTYPE &&
        !points_to((usm_dtype)parameter->dtype, (usm_dtype)array->dtype)) {
        PyErr_Format(PyExc_TypeError, "a USMArray of %s was given for %s; its astype('%s') is allowed",
                     usm_dtype_table[array->dtype].name, type_of(parameter),
                     usm_dtype_table[parameter->dtype].name);
        return -1;
    }
    bool writes = parameter->kind == USM_PARAMETER_POINTER && !parameter->read_only;
    if (writes && (array->flags & USMPY_WRITABLE) == 0) {
        PyErr_Format(PyExc_ValueError,
                     "a read-only USMArray was given for %s, which is not a pointer to const",
                     type_of(parameter));
        return -1;
    }
    if ((array->flags & (USM_C_CONTIGUOUS | USM_F_CONTIGUOUS)) == 0) {
        PyErr_SetString(PyExc_BufferError,
                        "a USMArray that is not contiguous was given, and a kernel sees no strides; its "
                        "copy() is allowed");
        return -1;
    }
    /* Where the program tells nothing, what can be written counts as written. */
    bool reads_only = parameter->kind == USM_PARAMETER_POINTER ? parameter->read_only
                                                               : (array->flags & USMPY_WRITABLE) == 0;
    out->kind = USM_PARAMETER_POINTER;
    out->size = sizeof(void *);
    out->as.pointer = array->data;
    pending->accesses[pending->n_arrays] = (usm_access){array->alloc, reads_only ? USM_READ : USM_READ_WRITE};
    pending->arrays[pending->n_arrays++] = array;
    return 0;
}

/* Integers must stay what they are, floats finite. 0, or -1 with OverflowError. */
static int check_exact(usmpy_state *state, PyObject *number, usm_dtype dtype, const void *element)
{
    if (usm_dtype_table[dtype].kind < USM_KIND_FLOAT) {
        return 0;
    }
    double re, im;
    usm_number_load(dtype, element, &re, &im);
    bool same = true;
    if (PyLong_Check(number) && !PyBool_Check(number)) {
        if (fabs(re) <= 2048) { /* whole in every floating-point type */
            return 0;
        }
        PyObject *stored = usmpy_element_to_scalar(state, dtype, element);
        int equal = stored == NULL ? -1 : PyObject_RichCompareBool(number, stored, Py_EQ);
        Py_XDECREF(stored);
        if (equal < 0) {
            return -1;
        }
        same = equal;
    } else if (PyFloat_Check(number)) {
        same = isfinite(re) || !isfinite(PyFloat_AS_DOUBLE(number));
    } else if (PyComplex_Check(number)) {
        Py_complex value = PyComplex_AsCComplex(number);
        same = (isfinite(re) || !isfinite(value.real)) && (isfinite(im) || !isfinite(value.imag));
    }
    if (!same) {
        PyErr_Format(PyExc_OverflowError, "%R does not fit into %s without loss", number,
                     usm_dtype_table[dtype].name);
        return -1;
    }
    return 0;
}

/* Of a parameter whose width alone is known: an integer that fits, signed or not. 0, or -1. */
static int take_by_width(const usm_parameter *parameter, PyObject *number, usm_argument *out)
{
    unsigned bits = 8 * parameter->size;
    int overflow;
    long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    unsigned long long natural = (unsigned long long)value;
    bool fits = overflow == 0 && (bits == 64 || (value >= -(1LL << (bits - 1)) && value < 1LL << bits));
    if (value == -1 && PyErr_Occurred()) {
        return -1;
    }
    if (overflow > 0 && bits == 64) {
        natural = PyLong_AsUnsignedLongLong(number);
        fits = !PyErr_Occurred();
        PyErr_Clear();
    }
    if (!fits) {
        PyErr_Format(PyExc_OverflowError, "%R does not fit into an integer of %u bits", number, bits);
        return -1;
    }
    out->kind = USM_PARAMETER_VALUE;
    out->size = parameter->size;
    memcpy(out->as.value, &natural, sizeof natural);
    return 0;
}

/* An int that a parameter of integers has room for, without a word about others. */
static bool take_small(const usm_parameter *parameter, PyObject *object, usm_argument *out)
{
    int64_t value;
    if (parameter->kind != USM_PARAMETER_VALUE || parameter->dtype == USM_NO_DTYPE ||
        !usmpy_small_int(object, &value)) {
        return false;
    }
    const usm_dtype_info *info = &usm_dtype_table[parameter->dtype];
    bool is_signed = info->kind == USM_KIND_INT;
    if ((!is_signed && info->kind != USM_KIND_UINT) || parameter->dtype >= USM_COMPUTED_DTYPES ||
        (!is_signed && value < 0)) {
        return false;
    }
    unsigned bits = info->bits - is_signed;
    if (bits < 30 && (value >> bits) != 0 && (value >> bits) != -1) {
        return false;
    }
    out->kind = USM_PARAMETER_VALUE;
    out->size = parameter->size;
    memcpy(out->as.value, &value, sizeof value);
    return true;
}

static int take_number(usmpy_state *state, const usm_parameter *parameter, PyObject *number,
                       usm_argument *out)
{
    if (parameter->kind == USM_PARAMETER_UNKNOWN && PyLong_Check(number) &&
        (parameter->size == 1 || parameter->size == 2 || parameter->size == 4 || parameter->size == 8)) {
        return take_by_width(parameter, number, out);
    }
    if (parameter->kind == USM_PARAMETER_UNKNOWN) {
        PyErr_Format(PyExc_TypeError,
                     "a %s was given, and the program does not tell the parameter's type; a NumPy scalar, a "
                     "ctypes value or bytes are allowed",
                     Py_TYPE(number)->tp_name);
        return -1;
    }
    if (parameter->kind != USM_PARAMETER_VALUE || parameter->dtype == USM_NO_DTYPE) {
        PyErr_Format(PyExc_TypeError, "a %s was given for %s%s", Py_TYPE(number)->tp_name, type_of(parameter),
                     parameter->kind == USM_PARAMETER_POINTER ? "; a USMArray is allowed"
                     : parameter->kind == USM_PARAMETER_LOCAL ? "; LocalMemory(nbytes) is allowed"
                                                              : "; bytes or a ctypes value are allowed");
        return -1;
    }
    usm_dtype dtype = (usm_dtype)parameter->dtype;
    out->kind = USM_PARAMETER_VALUE;
    out->size = parameter->size;
    return usmpy_scalar_to_element(state, number, dtype, out->as.value) < 0 ||
                   check_exact(state, number, dtype, out->as.value) < 0
               ? -1
               : 0;
}

/* The bytes are borrowed from the view where they are many. */
static void put_bytes(const void *bytes, size_t size, usm_argument *out)
{
    out->kind = USM_PARAMETER_VALUE;
    out->size = (uint32_t)size;
    if (size <= USM_INLINE_VALUE) {
        memcpy(out->as.value, bytes, size);
    } else {
        out->as.data = bytes;
    }
}

static int take_bytes(const usm_parameter *parameter, const Py_buffer *view, usm_argument *out)
{
    if (parameter->size != 0 && parameter->size != (size_t)view->len) {
        PyErr_Format(PyExc_ValueError, "%zd bytes were given for %s, which has %u", view->len,
                     type_of(parameter), parameter->size);
        return -1;
    }
    if (view->len < 1 || view->len > INT32_MAX) {
        PyErr_Format(PyExc_ValueError, "%zd bytes were given; 1 to %d are allowed", view->len, INT32_MAX);
        return -1;
    }
    put_bytes(view->buf, (size_t)view->len, out);
    return 0;
}

/* A value with memory of its own: NumPy's scalars, ctypes' values, bytes. */
static int take_view(usmpy_state *state, const usm_parameter *parameter, PyObject *object,
                     const Py_buffer *view, usm_argument *out)
{
    usm_dtype dtype = PyBytes_Check(object) || PyByteArray_Check(object) || PyMemoryView_Check(object)
                          ? USM_NO_DTYPE
                          : usmpy_dtype_of_format(view->format, view->itemsize);
    if (parameter->kind == USM_PARAMETER_POINTER || parameter->kind == USM_PARAMETER_LOCAL) {
        PyErr_Format(PyExc_TypeError, "a %s was given for %s; %s is allowed", Py_TYPE(object)->tp_name,
                     type_of(parameter),
                     parameter->kind == USM_PARAMETER_LOCAL ? "LocalMemory(nbytes)" : "a USMArray");
        return -1;
    }
    if (parameter->kind == USM_PARAMETER_VALUE && parameter->dtype == USM_NO_DTYPE) {
        return take_bytes(parameter, view, out); /* a struct, or a vector such as float4 */
    }
    if (PyUnicode_Check(object)) { /* np.str_ has a buffer */
        PyErr_Format(PyExc_TypeError, "a %s was given for %s", Py_TYPE(object)->tp_name, type_of(parameter));
        return -1;
    }
    if (dtype != USM_NO_DTYPE && (view->ndim > 0 || view->len != usm_dtype_table[dtype].itemsize)) {
        PyErr_Format(PyExc_TypeError,
                     "an object of %zd elements was given for %s; a USMArray or a scalar is allowed",
                     view->len / usm_dtype_table[dtype].itemsize, type_of(parameter));
        return -1;
    }
    if (dtype == USM_NO_DTYPE || parameter->kind == USM_PARAMETER_UNKNOWN || (int)dtype == parameter->dtype) {
        return take_bytes(parameter, view, out);
    }
    PyObject *number = usmpy_element_to_scalar(state, dtype, view->buf);
    int status = number == NULL ? -1 : take_number(state, parameter, number, out);
    Py_XDECREF(number);
    return status;
}

/* 0-dimensional arrays and scalars of libraries without the buffer protocol. */
static int take_foreign(usmpy_state *state, const usm_parameter *parameter, PyObject *object,
                        usm_argument *out)
{
    PyObject *number;
    int found = usmpy_host_scalar(state, object, &number);
    if (found < 0) {
        return -1;
    }
    if (found == 0) {
        PyErr_Format(PyExc_TypeError,
                     "a %s was given for %s; a USMArray, a number, a NumPy or ctypes scalar, bytes, "
                     "LocalMemory, or None for a null pointer is allowed",
                     Py_TYPE(object)->tp_name, type_of(parameter));
        return -1;
    }
    int status = take_number(state, parameter, number, out);
    Py_DECREF(number);
    return status;
}

static int take_local(const usm_parameter *parameter, PyObject *object, usm_argument *out, pending *pending)
{
    if (parameter->kind != USM_PARAMETER_LOCAL &&
        (parameter->kind != USM_PARAMETER_UNKNOWN || parameter->size != 0)) {
        PyErr_Format(PyExc_TypeError, "LocalMemory was given for %s", type_of(parameter));
        return -1;
    }
    pending->has_local = true;
    out->kind = USM_PARAMETER_LOCAL;
    out->size = (uint32_t)((usmpy_local *)object)->nbytes;
    return 0;
}

static int take(usmpy_state *state, const usm_parameter *parameter, PyObject *object, usm_argument *out,
                pending *pending)
{
    if (usmpy_is_array(state, object)) {
        return take_array(parameter, (usmpy_array *)object, out, pending);
    }
    if (take_small(parameter, object, out)) {
        return 0;
    }
    if (PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyBool_Check(object) ||
        PyComplex_CheckExact(object)) {
        return take_number(state, parameter, object, out);
    }
    if (Py_IS_TYPE(object, state->local_type)) {
        return take_local(parameter, object, out, pending);
    }
    if (object == Py_None &&
        (parameter->kind == USM_PARAMETER_POINTER ||
         (parameter->kind == USM_PARAMETER_UNKNOWN && parameter->size == sizeof(void *)))) {
        out->kind = USM_PARAMETER_POINTER;
        out->size = sizeof(void *);
        out->as.pointer = NULL;
        return 0;
    }
    Py_buffer *view = &pending->views[pending->n_views];
    if (PyObject_CheckBuffer(object)) {
        if (PyObject_GetBuffer(object, view, PyBUF_FORMAT | PyBUF_ND) == 0) {
            pending->n_views++;
            return take_view(state, parameter, object, view, out);
        }
        /* What its type has no format for (NumPy's dates: ValueError), and arrays with gaps. */
        if (!PyErr_ExceptionMatches(PyExc_BufferError) && !PyErr_ExceptionMatches(PyExc_ValueError)) {
            return -1;
        }
        PyErr_Clear();
    }
    return take_foreign(state, parameter, object, out);
}

static int check_count(const usm_kernel *kernel, Py_ssize_t n)
{
    if ((size_t)n == kernel->n_parameters) {
        return 0;
    }
    PyObject *names = PyUnicode_FromString("");
    for (size_t i = 0; names != NULL && i < kernel->n_parameters; i++) {
        const char *name = kernel->parameters[i].name;
        PyUnicode_AppendAndDel(&names,
                               PyUnicode_FromFormat(i == 0 ? "%s" : ", %s", name != NULL ? name : "unnamed"));
    }
    if (names != NULL) {
        PyErr_Format(PyExc_TypeError, "%s takes %zu arguments (%U), %zd were given", kernel->name,
                     kernel->n_parameters, names, n);
        Py_DECREF(names);
    }
    return -1;
}

/* The queue runs on the program's device, and reaches the arrays. 0, or -1 with ExecutionPlacementError. */
static int check_placement(usmpy_state *state, const usm_kernel *kernel, PyObject *queue_object,
                           const pending *pending)
{
    const usm_queue *queue = usmpy_queue_of(queue_object);
    const usm_place *place = kernel->program->place;
    if (place != queue->place &&
        !(kernel->program->any_place && kernel->program->backend == queue->backend)) {
        PyErr_Format(
            state->placement_error,
            "%s was built for %s %s in context %p, and the queue runs on %s %s in context %p; build the "
            "program with device=queue",
            kernel->name, place->context->backend->name, place->device->info.name, (void *)place->context,
            queue->backend->name, queue->device->info.name, (void *)queue->context);
        return -1;
    }
    for (Py_ssize_t i = 0; i < pending->n_arrays; i++) {
        const usm_alloc *alloc = pending->arrays[i]->alloc;
        if (pending->arrays[i]->queue != queue_object && !usm_place_reaches(queue->place, alloc)) {
            PyErr_Format(
                state->placement_error,
                "array argument %zd of %s lives on %s %s in context %p, and the queue runs on %s %s in "
                "context %p; pass its to_device(queue)",
                i, kernel->name, alloc->place->context->backend->name, alloc->place->device->info.name,
                (void *)alloc->context, queue->backend->name, queue->device->info.name,
                (void *)queue->context);
            return -1;
        }
    }
    return 0;
}

/* A kernel that requires a work-group gets it where none was asked for. 0, or -1 with ValueError. */
static int check_range(const usm_kernel *kernel, const usm_device *device, usm_range *range)
{
    const size_t *required = kernel->required_local;
    size_t most = kernel->max_local != 0 ? kernel->max_local : device->info.max_work_group_size;
    if (kernel->max_ndim != 0 && range->ndim > kernel->max_ndim) {
        PyErr_Format(PyExc_ValueError, "%s runs on a range of %u dimension; %u were given", kernel->name,
                     kernel->max_ndim, range->ndim);
        return -1;
    }
    if (!range->has_local) {
        if (required[0] == 0) {
            return 0;
        }
        range->has_local = true;
        memcpy(range->local, required, sizeof range->local);
        for (int i = 0; i < 3; i++) {
            if (range->global[i] % required[i] != 0) {
                PyErr_Format(PyExc_ValueError,
                             "range[%d] is %zu, and %s requires work-groups of (%zu, %zu, %zu), which do not "
                             "divide it",
                             i, range->global[i], kernel->name, required[0], required[1], required[2]);
                return -1;
            }
        }
    }
    if (kernel->max_ndim != 0) {
        PyErr_Format(PyExc_ValueError, "%s knows no work-groups; a Range is allowed", kernel->name);
        return -1;
    }
    size_t group = 0;
    if (__builtin_mul_overflow(range->local[0], range->local[1], &group) ||
        __builtin_mul_overflow(group, range->local[2], &group) || group > most) {
        PyErr_Format(
            PyExc_ValueError, "local_range (%zu, %zu, %zu) has more work-items than %s allows on %s: %zu",
            range->local[0], range->local[1], range->local[2], kernel->name, device->info.name, most);
        return -1;
    }
    if (required[0] != 0 && memcmp(required, range->local, sizeof range->local) != 0) {
        PyErr_Format(PyExc_ValueError, "local_range is (%zu, %zu, %zu), and %s requires (%zu, %zu, %zu)",
                     range->local[0], range->local[1], range->local[2], kernel->name, required[0],
                     required[1], required[2]);
        return -1;
    }
    return 0;
}

/* Of a work-group, all arguments together. 0, or -1 with ValueError. */
static int check_local_memory(const usm_kernel *kernel, const usm_device *device, const pending *pending)
{
    uint64_t total = 0;
    for (size_t i = 0; pending->has_local && i < kernel->n_parameters; i++) {
        const usm_argument *argument = &pending->arguments[i];
        total += argument->kind == USM_PARAMETER_LOCAL ? argument->size : 0;
    }
    if (total > device->info.local_mem_size) {
        PyErr_Format(PyExc_ValueError, "%s was given %llu bytes of LocalMemory; %s has %llu", kernel->name,
                     (unsigned long long)total, device->info.name,
                     (unsigned long long)device->info.local_mem_size);
        return -1;
    }
    return 0;
}

static PyObject *submit(usmpy_state *state, usmpy_kernel *self, const usm_range *asked, PyObject *queue,
                        Py_ssize_t n, PyObject *depends, const pending *pending)
{
    usm_kernel *kernel = self->kernel;
    usm_range range = *asked;
    usm_keep *keeps = NULL;
    if (queue == NULL) {
        usm_kind kind;
        if (pending->n_arrays == 0) {
            PyErr_Format(state->placement_error,
                         "no argument of %s is a USMArray, which would say in which queue it runs; use "
                         "queue.submit(kernel, args, range)",
                         kernel->name);
            return NULL;
        }
        queue = usmpy_common_queue(state, kernel->name, "args", pending->arrays, pending->n_arrays, &kind);
        if (queue == NULL) {
            return NULL;
        }
    }
    const usm_device *device = usmpy_queue_of(queue)->device;
    if (check_placement(state, kernel, queue, pending) < 0 || check_range(kernel, device, &range) < 0 ||
        check_local_memory(kernel, device, pending) < 0 ||
        (self->owner != NULL && usmpy_keep_object(&keeps, self->owner) < 0)) {
        return NULL;
    }
    const usm_launch launch = {kernel, range, (size_t)n, pending->arguments, 0};
    usm_command command;
    command.kind = USM_COMMAND_LAUNCH;
    command.as.launch = &launch;
    return usmpy_submit(state, usmpy_queue_of(queue), &command, pending->accesses, (size_t)pending->n_arrays,
                        depends, keeps);
}

PyObject *usmpy_launch(usmpy_state *state, PyObject *kernel_object, const usm_range *range, PyObject *queue,
                       PyObject *const *arguments, Py_ssize_t n, PyObject *depends)
{
    usm_kernel *kernel = ((usmpy_kernel *)kernel_object)->kernel;
    struct {
        usm_argument arguments[INLINE_ARGUMENTS];
        usm_access accesses[INLINE_ARGUMENTS];
        usmpy_array *arrays[INLINE_ARGUMENTS];
    } few;
    Py_buffer few_views[INLINE_VIEWS];
    pending pending = {few.arguments, few.accesses, few.arrays, 0, few_views, 0, false};
    char *block = NULL;
    PyObject *event = NULL;
    usmpy_deferred_poll();
    if (check_count(kernel, n) < 0) {
        return NULL;
    }
    if (n > INLINE_VIEWS) {
        size_t size = sizeof(usm_argument) + sizeof(usm_access) + sizeof(usmpy_array *);
        size = (size_t)n * (sizeof(Py_buffer) + (n > INLINE_ARGUMENTS ? size : 0));
        block = PyMem_Malloc(size);
        if (block == NULL) {
            return PyErr_NoMemory();
        }
        pending.views = (Py_buffer *)block;
        if (n > INLINE_ARGUMENTS) {
            pending.arguments = (usm_argument *)(pending.views + n);
            pending.accesses = (usm_access *)(pending.arguments + n);
            pending.arrays = (usmpy_array **)(pending.accesses + n);
        }
    }
    Py_ssize_t i = 0;
    while (i < n && take(state, &kernel->parameters[i], arguments[i], &pending.arguments[i], &pending) == 0) {
        i++;
    }
    if (i < n) {
        add_name(kernel, (size_t)i);
    } else {
        event = submit(state, (usmpy_kernel *)kernel_object, range, queue, n, depends, &pending);
    }
    while (pending.n_views > 0) {
        PyBuffer_Release(&pending.views[--pending.n_views]);
    }
    PyMem_Free(block);
    return event;
}

PyObject *usmpy_queue_submit(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {
        "submit", 4, 3, 0, 3, {USMPY_kernel, USMPY_args, USMPY_range, USMPY_depends}};
    usmpy_state *state = usmpy_state_of(self);
    PyObject *out[4];
    usm_range range;
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    if (!Py_IS_TYPE(out[0], state->kernel_type)) {
        return PyErr_Format(PyExc_TypeError, "kernel is a %s; a Kernel is allowed", Py_TYPE(out[0])->tp_name);
    }
    if (usmpy_parse_range(state, out[2], &range, "range") < 0) {
        return NULL;
    }
    PyObject *items = PyUnicode_Check(out[1]) || PyBytes_Check(out[1]) ? NULL : usmpy_tuple_of(out[1]);
    if (items == NULL) {
        return PyErr_Occurred()
                   ? NULL
                   : PyErr_Format(PyExc_TypeError, "args is a %s; a sequence of arguments is allowed",
                                  Py_TYPE(out[1])->tp_name);
    }
    PyObject *event = usmpy_launch(state, out[0], &range, self, ((PyTupleObject *)items)->ob_item,
                                   PyTuple_GET_SIZE(items), out[3]);
    Py_DECREF(items);
    return event;
}
