/* Placements: the queue that an argument stands for, and the one that several arrays share. */
#include "placement.h"
#include "docstrings.h"

#include "py/args.h"
#include "py/arrays/hints.h"
#include "py/errors.h"
#include "py/exchange/dlpack.h"
#include "py/functions/creation.h"

#include "core/device/registry.h"
#include "core/exchange/native.h"
#include "core/memory/connection.h"

#include <string.h>

int usmpy_kind(PyObject *usm_type, int otherwise)
{
    if (!usmpy_given(usm_type)) {
        return otherwise;
    }
    for (int kind = 0; PyUnicode_Check(usm_type) && kind < USM_KINDS; kind++) {
        if (PyUnicode_CompareWithASCIIString(usm_type, usm_kind_name((usm_kind)kind)) == 0) {
            return kind;
        }
    }
    return usmpy_refuse(PyUnicode_Check(usm_type) ? PyExc_ValueError : PyExc_TypeError,
                        "usm_type is %.100R; 'device', 'shared' or 'host' is allowed", usm_type);
}

PyObject *usmpy_cached_queue(usmpy_state *state, usm_context *context, usm_device *device)
{
    usm_place *place;
    usm_queue *queue;
    usm_error error;
    usm_status status;
    Py_BEGIN_ALLOW_THREADS
        status = usm_context_place(context, device, &place, &error);
        if (status == USM_OK) {
            status = usm_place_queue(place, &queue, &error);
        }
    Py_END_ALLOW_THREADS
    return status == USM_OK ? usmpy_queue_wrap(state, queue) : usmpy_raise(state, status, &error);
}

/*
 * Stores the queue in a slot that is set once and then read without a lock: the object lives as long as the
 * module. Takes the reference. Borrowed: the queue of the thread that came first; NULL if `queue` is.
 */
static PyObject *publish(PyObject **slot, PyObject *queue)
{
    PyObject *first = NULL;
    if (queue != NULL &&
        !__atomic_compare_exchange_n(slot, &first, queue, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        Py_DECREF(queue);
        return first;
    }
    return queue;
}

PyObject *usmpy_host_queue(usmpy_state *state)
{
    PyObject *queue = __atomic_load_n(&state->host_queue, __ATOMIC_ACQUIRE);
    if (USM_LIKELY(queue != NULL)) {
        return queue;
    }
    const usm_backend_report *report = usm_backend_start_for(USM_INTERFACE_PROCESS);
    if (report->absent != NULL) {
        PyErr_SetString(state->backend_unavailable, report->absent);
        return NULL;
    }
    return publish(&state->host_queue, usmpy_cached_queue(state, NULL, report->devices[0]));
}

PyObject *usmpy_default_queue(usmpy_state *state)
{
    PyObject *queue = __atomic_load_n(&state->default_queue, __ATOMIC_ACQUIRE);
    if (USM_LIKELY(queue != NULL)) {
        return queue;
    }
    return publish(&state->default_queue, usmpy_queue_from(state, Py_None, "device"));
}

PyObject *usmpy_home_queue(usmpy_state *state, DLDevice name, const void *pointer)
{
    int32_t type = (int32_t)name.device_type, id = name.device_id;
    if (USM_LIKELY(type == kDLCPU)) {
        return Py_XNewRef(usmpy_host_queue(state)); /* whatever the id says: a CPU has one */
    }
    PyObject **slot = id >= 0 && id < USMPY_DEVICE_QUEUES ? &state->device_queues[id] : NULL;
    PyObject *queue = slot != NULL ? __atomic_load_n(slot, __ATOMIC_ACQUIRE) : NULL;
    if (USM_LIKELY(queue != NULL && usmpy_queue_of(queue)->device->info.dlpack_type == type)) {
        return Py_NewRef(queue);
    }
    usm_device *device;
    USMPY_WITHOUT_GIL(device = usm_device_from_dlpack(type, id, pointer));
    if (device == NULL) {
        char text[48];
        return PyErr_Format(
            PyExc_BufferError,
            "the memory is on DLPack device type %s, id %d, and no backend of this process has such a "
            "device; see usmpy.diagnose()",
            usm_dldevice_text(type, text, sizeof text), (int)id);
    }
    queue = usmpy_cached_queue(state, NULL, device);
    if (queue != NULL && slot != NULL && device->info.dlpack_type == type &&
        !usm_dlpack_type_of(type)->is_of_default_context) {
        (void)publish(slot, Py_NewRef(queue)); /* the queue of a device of another type stays */
    }
    return queue;
}

/* The Queue object of a Queue or a USMArray, borrowed; NULL without an exception for anything else. */
static PyObject *own_queue(usmpy_state *state, PyObject *object)
{
    return Py_IS_TYPE(object, state->queue_type) ? object
           : usmpy_is_array(state, object)       ? ((usmpy_array *)object)->queue
                                                 : NULL;
}

PyObject *usmpy_device_from(usmpy_state *state, PyObject *placement, const char *parameter)
{
    if (Py_IS_TYPE(placement, state->device_type)) {
        return Py_NewRef(placement);
    }
    if (placement == Py_None) { /* filter strings and the default choice are written in Python */
        return usmpy_call("usmpy.selectors", "select_default_device", "()");
    }
    if (PyUnicode_Check(placement)) {
        return usmpy_call("usmpy.selectors", "select_device", "(O)", placement);
    }
    PyObject *queue = own_queue(state, placement);
    if (queue == NULL) {
        return usmpy_wrong_type(parameter, placement,
                                "None, a filter string such as 'gpu' or 'host:cpu:0', a Device, a Queue or a "
                                "USMArray is allowed");
    }
    return usmpy_device_wrap(state, usmpy_queue_of(queue)->device, usmpy_queue_of(queue));
}

PyObject *usmpy_device_queue(usmpy_state *state, PyObject *device_object)
{
    usmpy_device *device = (usmpy_device *)device_object;
    return device->queue != NULL ? usmpy_queue_wrap(state, usm_queue_retain(device->queue))
                                 : usmpy_cached_queue(state, NULL, device->device);
}

PyObject *usmpy_queue_from(usmpy_state *state, PyObject *placement, const char *parameter)
{
    PyObject *queue = own_queue(state, placement);
    PyObject *device = queue != NULL ? NULL : usmpy_device_from(state, placement, parameter);
    queue = queue != NULL ? Py_NewRef(queue) : device != NULL ? usmpy_device_queue(state, device) : NULL;
    Py_XDECREF(device);
    return queue;
}

PyObject *usmpy_placement(usmpy_state *state, PyObject *device, PyObject *queue)
{
    if (!usmpy_given(queue)) {
        return usmpy_given(device) ? usmpy_queue_from(state, device, "device")
                                   : Py_XNewRef(usmpy_default_queue(state));
    }
    if (!Py_IS_TYPE(queue, state->queue_type)) {
        return usmpy_wrong_type("queue", queue, "a Queue is allowed (device= takes other placements)");
    }
    if (usmpy_given(device)) {
        PyObject *other = usmpy_queue_from(state, device, "device");
        if (other == NULL) {
            return NULL;
        }
        bool same = usmpy_queue_of(other) == usmpy_queue_of(queue);
        if (!same) {
            usmpy_error_format(
                PyExc_ValueError,
                "queue and device disagree: device=%.100R has the queue %.100R, and queue=%.100R was given; leave one "
                "of them out",
                device, other, queue);
        }
        Py_DECREF(other);
        if (!same) {
            return NULL;
        }
    }
    return Py_NewRef(queue);
}

/* names[i], or "list[i]" in `text` without one. */
static const char *argument_name(const char *list, const char *const *names, Py_ssize_t i, char text[48])
{
    if (names != NULL && names[i] != NULL) {
        return names[i];
    }
    PyOS_snprintf(text, 48, "%s[%zd]", list, i);
    return text;
}

PyObject *usmpy_placement_text(usmpy_state *state, const char *function, const char *list,
                               PyObject *const *arguments, const char *const *names, Py_ssize_t n)
{
    PyObject *text = PyUnicode_FromFormat("%s: the arguments do not share one queue", function);
    Py_ssize_t first = -1, other = -1; /* the array that stays, and the first on another queue */
    Py_ssize_t by_default = -1;        /* the first on the queue of calls that name no place */
    PyObject *default_queue = __atomic_load_n(&state->default_queue, __ATOMIC_ACQUIRE);
    const usm_queue *common = NULL, *standard = default_queue == NULL ? NULL : usmpy_queue_of(default_queue);
    const usm_device *elsewhere = NULL;
    char name[48], own[48], shape[200], device[USM_DEVICE_TEXT];
    for (Py_ssize_t i = 0; text != NULL && i < n; i++) {
        if (!usmpy_is_array(state, arguments[i])) {
            continue;
        }
        usmpy_array *array = (usmpy_array *)arguments[i];
        const usm_queue *queue = usmpy_queue_of(array->queue);
        if (common == NULL) {
            common = queue;
            first = i;
        }
        other = other < 0 && queue != common ? i : other;
        by_default = by_default < 0 && queue == standard ? i : by_default;
        elsewhere = standard != NULL && queue->device != standard->device ? queue->device : elsewhere;
        usm_layout_text(array->ndim, usmpy_shape(array), shape, sizeof shape);
        usm_device_text(queue->device, device, sizeof device);
        PyUnicode_AppendAndDel(
            &text, PyUnicode_FromFormat("\n  %s: shape %s, device %s, queue %p, context %p",
                                        argument_name(list, names, i, name), shape, device, (void *)queue,
                                        (void *)queue->context));
    }
    if (text != NULL && by_default >= 0 && elsewhere != NULL) {
        usm_device_text(elsewhere, device, sizeof device);
        PyUnicode_AppendAndDel(
            &text,
            PyUnicode_FromFormat("\n%s is on the default device, as are arrays that a library makes without "
                                 "a device; to change it: os.environ[\"USMPY_DEVICE\"] = \"%s\"; "
                                 "usmpy.select_default_device()",
                                 argument_name(list, names, by_default, name), device));
    }
    if (text != NULL && other >= 0) {
        const char *moved = argument_name(list, names, other, name);
        PyUnicode_AppendAndDel(
            &text, PyUnicode_FromFormat("\nto bring them together: %s = %s.to_device(%s.queue)", moved, moved,
                                        argument_name(list, names, first, own)));
    }
    return text;
}

void usmpy_raise_placement(usmpy_state *state, const char *function, PyObject *const *arguments,
                           const char *const *names, Py_ssize_t n)
{
    usmpy_raise_object(state->placement_error,
                       usmpy_placement_text(state, function, NULL, arguments, names, n));
}

PyObject *usmpy_common_queue(usmpy_state *state, const char *function, const char *list,
                             usmpy_array *const *arrays, Py_ssize_t n, usm_kind *kind)
{
    PyObject *queue = arrays[0]->queue;
    *kind = (usm_kind)arrays[0]->alloc->kind;
    bool same = true;
    for (Py_ssize_t i = 1; i < n; i++) {
        same = same && usmpy_queue_of(arrays[i]->queue) == usmpy_queue_of(queue);
        *kind = arrays[i]->alloc->kind > *kind ? (usm_kind)arrays[i]->alloc->kind : *kind;
    }
    return same ? queue
                : usmpy_raise_object(
                      state->placement_error,
                      usmpy_placement_text(state, function, list, (PyObject *const *)arrays, NULL, n));
}

bool usmpy_is_number_in_memory(PyObject *value)
{
    Py_buffer view;
    if (!PyObject_CheckBuffer(value)) {
        return false;
    }
    if (PyObject_GetBuffer(value, &view, PyBUF_ND) < 0) {
        PyErr_Clear();
        return false;
    }
    bool is_number = view.ndim == 0;
    PyBuffer_Release(&view);
    return is_number;
}

/*
 * A number of C's long double, which no array holds, rounded to double: numpy.longdouble, numpy.clongdouble,
 * ctypes.c_longdouble. New reference; NULL without an exception for anything else.
 */
static PyObject *long_double_of(PyObject *value)
{
    Py_buffer view;
    PyObject *number = NULL;
    if (PyObject_GetBuffer(value, &view, PyBUF_FULL_RO) < 0) {
        PyErr_Clear();
        return NULL;
    }
    long double parts[2];
    const char *format = view.format == NULL ? "B" : view.format + strspn(view.format, "@=<");
    if (view.ndim == 0 && view.len <= (Py_ssize_t)sizeof parts) {
        memcpy(parts, view.buf, (size_t)view.len);
        number = strcmp(format, "g") == 0    ? PyFloat_FromDouble((double)parts[0])
                 : strcmp(format, "Zg") == 0 ? PyComplex_FromDoubles((double)parts[0], (double)parts[1])
                                             : NULL;
    }
    PyBuffer_Release(&view);
    return number;
}

/* usmpy_host_value() for a value that may be importable as an array of 0 dimensions. */
static int item_of(usmpy_state *state, PyObject *value, PyObject **scalar, usm_dtype *dtype)
{
    PyObject *array = usmpy_import_any(state, value);
    if (array == NULL) {
        PyObject *refusal = usmpy_take_exception();
        if (refusal == NULL) {
            return 0;
        }
        *scalar = long_double_of(value);
        if (*scalar == NULL) {
            usmpy_restore_exception(refusal);
            return -1;
        }
        *dtype = PyComplex_Check(*scalar) ? USM_COMPLEX128 : USM_FLOAT64;
        Py_DECREF(refusal);
        return 1;
    }
    bool is_number = ((usmpy_array *)array)->ndim == 0;
    if (is_number && ((usmpy_array *)array)->dtype < USM_COMPUTED_DTYPES) {
        *dtype = (usm_dtype)((usmpy_array *)array)->dtype;
        *scalar = PyObject_CallMethod(array, "item", NULL);
    } else {
        *scalar = is_number ? PyNumber_Float(value) : NULL; /* of a type that is only stored here */
    }
    Py_DECREF(array);
    return *scalar != NULL ? 1 : is_number ? -1 : 0;
}

/*
 * Objects without `ndim`: those of 0 dimensions by a protocol that has such, and those with __index__ alone.
 */
static int bare_number(usmpy_state *state, PyObject *value, PyObject **scalar, usm_dtype *dtype)
{
    if (PySequence_Check(value) || PyUnicode_Check(value)) {
        return 0;
    }
    if (usmpy_has_protocol(value)) {
        return item_of(state, value, scalar, dtype);
    }
    if (PyIndex_Check(value)) {
        *scalar = PyNumber_Index(value);
        return *scalar == NULL ? -1 : 1;
    }
    return 0;
}

/* NumPy's float64 and complex128 are Python numbers, too. */
static usm_dtype dtype_of_number(usmpy_state *state, PyObject *value)
{
    usmpy_type_entry entry;
    const usmpy_type_entry *known = usmpy_type_lookup(state, Py_TYPE(value), &entry);
    if (known == NULL) {
        PyErr_Clear();
    }
    return known == NULL || known->numpy != USMPY_NUMPY_SCALAR ? USM_NO_DTYPE
           : PyFloat_Check(value)                              ? USM_FLOAT64
           : PyComplex_Check(value)                            ? USM_COMPLEX128
                                                               : USM_NO_DTYPE;
}

/* `bare`: also an object without `ndim`, which has to be read to know. */
static int read_value(usmpy_state *state, PyObject *value, bool bare, PyObject **scalar, usm_dtype *dtype)
{
    *dtype = USM_NO_DTYPE;
    if (PyLong_Check(value) || PyFloat_Check(value) || PyComplex_Check(value)) {
        bool exact = PyLong_CheckExact(value) || PyFloat_CheckExact(value) || PyBool_Check(value) ||
                     PyComplex_CheckExact(value);
        *dtype = exact ? USM_NO_DTYPE : dtype_of_number(state, value);
        *scalar = Py_NewRef(value);
        return 1;
    }
    if (PyList_CheckExact(value) || PyTuple_CheckExact(value)) {
        return 0;
    }
    PyObject *ndim = PyObject_GetAttrString(value, "ndim"); /* NumPy's scalars and arrays, and their like */
    if (ndim == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError)) {
            return -1;
        }
        PyErr_Clear();
        bool stored = usmpy_is_number_in_memory(value);
        return stored ? item_of(state, value, scalar, dtype)
               : bare ? bare_number(state, value, scalar, dtype)
                      : 0;
    }
    int is_zero = PyLong_Check(ndim) && PyLong_AsLong(ndim) == 0;
    Py_DECREF(ndim);
    if (!is_zero || PyErr_Occurred()) {
        return PyErr_Occurred() ? -1 : 0;
    }
    return item_of(state, value, scalar, dtype);
}

int usmpy_host_scalar(usmpy_state *state, PyObject *value, PyObject **scalar)
{
    usm_dtype dtype;
    return read_value(state, value, false, scalar, &dtype);
}

int usmpy_host_value(usmpy_state *state, PyObject *value, PyObject **scalar, usm_dtype *dtype)
{
    return read_value(state, value, true, scalar, dtype);
}

PyObject *usmpy_operand(usmpy_state *state, PyObject *value, PyObject *queue)
{
    if (usmpy_is_array(state, value)) {
        return Py_NewRef(value);
    }
    PyObject *imported = usmpy_import_any(state, value);
    return imported != NULL || PyErr_Occurred()
               ? imported
               : usmpy_array_from_python(state, value, USM_NO_DTYPE, queue, USM_DEVICE);
}

static PyObject *get_execution_queue(usmpy_state *state, PyObject *const *arguments)
{
    PyObject *queues = arguments[0];
    PyObject *items =
        usmpy_is_array(state, queues) ? NULL : usmpy_sequence_of(queues, "queues", USMPY_MOST_ITEMS);
    if (items == NULL) {
        return PyErr_Occurred()
                   ? NULL
                   : usmpy_wrong_type("queues", queues, "a tuple or list of Queues and USMArrays is allowed");
    }
    PyObject *common = NULL;
    bool same = true;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items); i++) {
        PyObject *item = PyTuple_GET_ITEM(items, i), *queue = own_queue(state, item);
        if (queue == NULL) {
            PyErr_Format(PyExc_TypeError, "queues[%zd] is %s %.80s; Queues and USMArrays are allowed", i,
                         USMPY_A(item));
            Py_DECREF(items);
            return NULL;
        }
        common = common == NULL ? queue : common;
        same = same && usmpy_queue_of(queue) == usmpy_queue_of(common);
    }
    PyObject *result = Py_NewRef(same && common != NULL ? common : Py_None);
    Py_DECREF(items);
    return result;
}

static PyObject *memory_connection(usmpy_state *state, PyObject *const *arguments)
{
    PyObject *first = usmpy_queue_from(state, arguments[0], "a"), *result = NULL;
    PyObject *second = first == NULL ? NULL : usmpy_queue_from(state, arguments[1], "b");
    if (second != NULL) {
        const usm_place *memory = usmpy_queue_of(first)->place, *user = usmpy_queue_of(second)->place;
        usm_kind kind = USM_DEVICE;
        if (usmpy_is_array(state, arguments[0])) {
            const usm_alloc *alloc = ((usmpy_array *)arguments[0])->alloc;
            memory = alloc->place; /* of an array over foreign memory not that of its queue */
            kind = (usm_kind)alloc->kind;
        }
        int value = (int)usm_connection(memory, kind, user) - USM_CONNECTION_NONE; /* NONE is 0 in Python */
        result = usmpy_call("usmpy._enums", "MemoryConnection", "(i)", value);
    }
    Py_XDECREF(first);
    Py_XDECREF(second);
    return result;
}

/*
 * select_default_device() found an answer: creation functions follow it from now on. The queue is the
 * device's cached one, whose object lives as long as the module: threads may still use the earlier one as a
 * borrowed reference.
 */
static PyObject *set_default_device(PyObject *module, PyObject *device)
{
    usmpy_state *state = usmpy_state_of_module(module);
    if (!Py_IS_TYPE(device, state->device_type)) {
        return usmpy_wrong_type("device", device, "a Device is allowed");
    }
    PyObject *queue = usmpy_cached_queue(state, NULL, ((usmpy_device *)device)->device);
    if (queue == NULL) {
        return NULL;
    }
    Py_XDECREF(__atomic_exchange_n(&state->default_queue, queue, __ATOMIC_ACQ_REL));
    Py_RETURN_NONE;
}

static PyObject *raise_placement_of(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                    PyObject *kwnames)
{
    if (nargs != 1 || kwnames == NULL) {
        return PyErr_Format(PyExc_TypeError, "_raise_placement() takes a name, and arrays by their names");
    }
    Py_ssize_t n = PyTuple_GET_SIZE(kwnames);
    const char *function = PyUnicode_AsUTF8(args[0]);
    const char **names = function == NULL ? NULL : PyMem_New(const char *, (size_t)n);
    if (names == NULL) {
        return function == NULL ? NULL : PyErr_NoMemory();
    }
    bool is_text = true;
    for (Py_ssize_t i = 0; i < n && is_text; i++) {
        names[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(kwnames, i));
        is_text = names[i] != NULL;
    }
    if (is_text) {
        usmpy_raise_placement(usmpy_state_of_module(module), function, &args[nargs], names, n);
    }
    PyMem_Free(names);
    return NULL;
}

static PyObject *number(PyObject *module, PyObject *value)
{
    PyObject *result = NULL;
    usmpy_state *state = usmpy_state_of_module(module);
    usm_dtype dtype;
    int found = usmpy_is_array(state, value) ? 0 : usmpy_host_value(state, value, &result, &dtype);
    return found == 0 ? Py_NewRef(Py_None) : result;
}

USMPY_FUNCTION(get_execution_queue)
USMPY_FUNCTION(memory_connection)

PyMethodDef usmpy_placement_functions[] = {
    {"_number", number, METH_O, USMPY_DOC__number},
    USMPY_METHOD("_raise_placement", raise_placement_of, USMPY_DOC__raise_placement),
    USMPY_ROW(get_execution_queue),
    USMPY_ROW(memory_connection),
    {"_set_default_device", set_default_device, METH_O, USMPY_DOC__set_default_device},
    {0},
};
