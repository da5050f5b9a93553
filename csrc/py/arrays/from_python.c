/* Arrays from Python numbers, and from nested sequences of numbers and arrays. */
#include "py/args.h"
#include "py/exchange/dlpack.h"
#include "py/exchange/stream.h"
#include "py/functions/creation.h"
#include "py/wait.h"

/*
 * 1, 0, or -1 with an exception. What another library calls its own array, a frame or a mapping is none: its
 * items are rows, labels or keys.
 */
static int is_sequence(usmpy_state *state, PyObject *object)
{
    static const usmpy_name others[] = {USMPY_shape, USMPY_keys, USMPY___dataframe__,
                                        USMPY___arrow_c_stream__};
    if (PyList_Check(object) || PyTuple_Check(object)) {
        return 1;
    }
    if (PyUnicode_Check(object) || PyBytes_Check(object) || PyType_Check(object)) { /* such as an enum */
        return 0;
    }
    int sequence = usmpy_has_length(object);
    for (size_t i = 0; sequence > 0 && i < sizeof others / sizeof others[0]; i++) {
        PyObject *attribute = usmpy_attribute(state, object, others[i]);
        sequence = attribute != NULL ? 0 : PyErr_Occurred() ? -1 : 1;
        Py_XDECREF(attribute);
    }
    return sequence;
}

/*
 * An object with __index__ as an int: new reference; NULL with TypeError. One that has items, too, and is no
 * sequence answers whatever it is asked, as mocks do.
 */
static PyObject *to_number(PyObject *object)
{
    if (PyIndex_Check(object) && !PySequence_Check(object)) {
        PyObject *number = PyNumber_Index(object);
        if (number != NULL || !PyErr_ExceptionMatches(PyExc_TypeError)) {
            return number;
        }
        PyErr_Clear(); /* such as one that stands for no value */
    }
    return usmpy_call("usmpy._arrays.objects", "refuse", "(O)", object);
}

/* Adds a leaf. Takes the references in any case. 0 or -1. */
static int add_leaf(usmpy_nested *nested, PyObject *value, PyObject *source)
{
    if (nested->n == nested->room) {
        Py_ssize_t room = nested->room == 0 ? 16 : 2 * nested->room;
        usmpy_leaf *leaves = PyMem_Realloc(nested->leaves, (size_t)room * sizeof *leaves);
        if (leaves == NULL) {
            Py_DECREF(value);
            Py_XDECREF(source);
            PyErr_NoMemory();
            return -1;
        }
        nested->leaves = leaves;
        nested->room = room;
    }
    nested->leaves[nested->n++] = (usmpy_leaf){value, source};
    return 0;
}

/* The path to an item of obj, such as "obj[1][0]". */
typedef struct position {
    int depth;
    Py_ssize_t at[USM_MAX_NDIM];
} position;

static void write_path(const position *position, char *path, size_t room)
{
    size_t length = (size_t)PyOS_snprintf(path, room, "obj");
    for (int i = 0; i < position->depth && length + 24 < room; i++) {
        length += (size_t)PyOS_snprintf(path + length, room - length, "[%zd]", position->at[i]);
    }
}

/* Lets the pending exception about an object speak of the item of obj that it is. */
static void name_item(const position *position)
{
    char path[200];
    if (position->depth == 0 ||
        !(PyErr_ExceptionMatches(PyExc_BufferError) || PyErr_ExceptionMatches(PyExc_TypeError))) {
        return;
    }
    write_path(position, path, sizeof path);
    PyObject *error = usmpy_take_exception();
    PyObject *done = usmpy_call("usmpy._arrays.objects", "name_item", "(Os)", error, path);
    if (done == NULL) {
        PyErr_Clear();
    }
    Py_XDECREF(done);
    usmpy_restore_exception(error);
}

/* Records the length that all items at this depth must have. 0, or -1 with ValueError. */
static int fit_length(usmpy_nested *nested, int depth, int64_t length)
{
    int64_t *known = &nested->shape[depth];
    if (*known >= 0 && *known != length) {
        return usmpy_refuse(
            PyExc_ValueError,
            "obj is ragged: at depth %d there are lengths of %lld and of %lld; asarray() takes each of them alone",
            depth, (long long)*known, (long long)length);
    }
    *known = length;
    return 0;
}

/* The same from `depth` on, below which nothing is nested. */
static int fit(usmpy_nested *nested, int depth, int ndim, const int64_t *shape)
{
    if (nested->ndim < 0) {
        nested->ndim = depth + ndim;
    }
    if (nested->ndim != depth + ndim) {
        return usmpy_refuse(
            PyExc_ValueError,
            "obj is ragged: at depth %d there are both sequences and numbers, or arrays of different numbers "
            "of dimensions; asarray() takes each of them alone",
            depth);
    }
    int status = 0;
    for (int i = 0; status == 0 && i < ndim; i++) {
        status = fit_length(nested, depth + i, shape[i]);
    }
    return status;
}

/* Adds an array to the leaves; takes the reference. It was imported from `object`, or is the same object. */
static int read_array(usmpy_state *state, usmpy_array *array, PyObject *object, const position *position,
                      usmpy_nested *nested)
{
    bool foreign = (PyObject *)array != object;
    if (position->depth + array->ndim > USM_MAX_NDIM) {
        PyErr_Format(PyExc_ValueError, "obj is nested deeper than %d levels", USM_MAX_NDIM);
    } else if (usmpy_check_unpacked(array, "asarray()") == 0 &&
               fit(nested, position->depth, array->ndim, usmpy_shape(array)) == 0) {
        usm_promotion_add(&nested->promotion, array->dtype);
        if (foreign && array->ndim == 0 && array->dtype < USM_COMPUTED_DTYPES &&
            usm_alloc_host_reads(array->alloc)) { /* such as a NumPy scalar */
            PyObject *number = PyObject_CallMethod((PyObject *)array, "item", NULL);
            Py_DECREF(array);
            return number == NULL ? -1 : add_leaf(nested, number, NULL);
        }
        if (!foreign ||
            array->queue != state->host_queue) { /* arrays of the host do not decide the placement */
            if (nested->near == NULL) {
                nested->near = array;
                write_path(position, nested->near_path, sizeof nested->near_path);
            } else if (nested->far == NULL &&
                       usmpy_queue_of(nested->near->queue) != usmpy_queue_of(array->queue)) {
                nested->far = array;
                write_path(position, nested->far_path, sizeof nested->far_path);
            }
            nested->kind = array->alloc->kind > nested->kind ? array->alloc->kind : nested->kind;
        }
        nested->has_arrays = true;
        return add_leaf(nested, (PyObject *)array, foreign ? Py_NewRef(object) : NULL);
    }
    Py_DECREF(array);
    return -1;
}

/* Adds a number; takes the reference. */
static int add_number(PyObject *number, int depth, usmpy_nested *nested)
{
    if (fit(nested, depth, 0, NULL) < 0) {
        Py_DECREF(number);
        return -1;
    }
    return add_leaf(nested, number, NULL);
}

/* The same of a Python number, which has no dtype of its own. */
static int read_number(PyObject *number, int depth, usmpy_nested *nested)
{
    usm_dtype_kind kind = usmpy_kind_of_number(number);
    nested->highest = kind > nested->highest ? kind : nested->highest;
    return add_number(number, depth, nested);
}

/* A number of NumPy, by its buffer. 1; 0 for any other object; -1 with an exception. */
static int read_scalar(usmpy_state *state, PyObject *object, int depth, usmpy_nested *nested)
{
    usmpy_type_entry entry;
    Py_buffer view;
    const usmpy_type_entry *known = usmpy_type_lookup(state, Py_TYPE(object), &entry);
    if (known == NULL) {
        return -1;
    }
    if (known->numpy != USMPY_NUMPY_SCALAR) {
        return 0;
    }
    if (PyObject_GetBuffer(object, &view, PyBUF_FULL_RO) < 0) {
        PyErr_Clear();
        return 0;
    }
    usm_dtype dtype = view.ndim == 0 ? usmpy_dtype_of_format(view.format, view.itemsize) : USM_NO_DTYPE;
    bool is_number = dtype != USM_NO_DTYPE && usm_dtype_table[dtype].itemsize == view.itemsize;
    PyObject *number = is_number ? usmpy_element_to_scalar(dtype, view.buf) : NULL;
    PyBuffer_Release(&view);
    if (number == NULL) {
        return is_number ? -1 : 0;
    }
    usm_promotion_add(&nested->promotion, dtype);
    return add_number(number, depth, nested) < 0 ? -1 : 1;
}

static int read_level(usmpy_state *state, PyObject *object, position *position, usmpy_nested *nested);

/* The object itself where it is a list or tuple, which may change; else its items, by its length at most. */
static PyObject *items_of(PyObject *object)
{
    if (PyList_CheckExact(object) || PyTuple_CheckExact(object)) {
        return Py_NewRef(object);
    }
    Py_ssize_t length = PySequence_Size(object);
    PyObject *items = length < 0 ? NULL : usmpy_tuple_of(object, "obj", length);
    if (items == NULL && !PyErr_Occurred()) {
        PyErr_SetString(PyExc_TypeError, "obj contains a sequence that cannot be iterated");
    }
    return items;
}

static int read_items(usmpy_state *state, PyObject *object, position *position, usmpy_nested *nested)
{
    int depth = position->depth;
    if (depth == USM_MAX_NDIM) {
        return usmpy_refuse(PyExc_ValueError, "obj is nested deeper than %d levels", USM_MAX_NDIM);
    }
    PyObject *items = items_of(object);
    if (items == NULL) {
        return -1;
    }
    const int64_t n = PySequence_Fast_GET_SIZE(items);
    bool deepest = n == 0 || (nested->ndim >= 0 && depth >= nested->ndim); /* as for a number before */
    int status = deepest ? fit(nested, depth, 1, &n) : fit_length(nested, depth, n);
    PyObject *item = items;
    for (Py_ssize_t i = 0; status == 0 && item != NULL && i < n; i++) {
        item = usmpy_item(items, i);
        position->at[depth] = i;
        position->depth = depth + 1;
        status = item == NULL ? 0 : read_level(state, item, position, nested);
        Py_XDECREF(item);
    }
    position->depth = depth;
    if (status == 0 && (item == NULL || PySequence_Fast_GET_SIZE(items) != n)) {
        status = usmpy_refuse(PyExc_RuntimeError, "obj changed its size while it was read");
    }
    Py_DECREF(items);
    return status;
}

static int read_level(usmpy_state *state, PyObject *object, position *position, usmpy_nested *nested)
{
    if (PyFloat_CheckExact(object) || PyLong_Check(object) || PyComplex_CheckExact(object)) {
        return read_number(Py_NewRef(object), position->depth, nested);
    }
    if (PyList_CheckExact(object) || PyTuple_CheckExact(object)) {
        return read_items(state, object, position, nested);
    }
    int scalar = read_scalar(state, object, position->depth, nested);
    if (scalar != 0) {
        return scalar < 0 ? -1 : 0;
    }
    /* bytes are not arrays of their characters, as a str is not. */
    PyObject *array = PyBytes_CheckExact(object) ? NULL : usmpy_import_any(state, object);
    if (array != NULL) {
        return read_array(state, (usmpy_array *)array, object, position, nested);
    }
    if (PyErr_Occurred()) {
        name_item(position);
        return -1;
    }
    if (PyFloat_Check(object) || PyComplex_Check(object)) {
        return read_number(Py_NewRef(object), position->depth, nested);
    }
    int sequence = is_sequence(state, object);
    if (sequence != 0) {
        return sequence < 0 ? -1 : read_items(state, object, position, nested);
    }
    PyObject *number = to_number(object);
    if (number == NULL) {
        name_item(position);
        return -1;
    }
    return read_number(number, position->depth, nested);
}

int usmpy_nested_read(usmpy_state *state, PyObject *object, usmpy_nested *nested)
{
    position position = {0};
    *nested = (usmpy_nested){.ndim = -1};
    for (int i = 0; i < USM_MAX_NDIM; i++) {
        nested->shape[i] = -1;
    }
    if (read_level(state, object, &position, nested) < 0) {
        return -1;
    }
    usm_promotion *promotion = &nested->promotion;
    nested->dtype = usm_promotion_result(promotion);
    if (nested->dtype == USM_NO_DTYPE && (promotion->any_integer || promotion->any_inexact)) {
        return usmpy_refuse(
            PyExc_TypeError,
            "obj has elements of dtype %s and %s, which have no common type; cast some with astype()",
            usm_dtype_table[promotion->first].name, usm_dtype_table[promotion->second].name);
    }
    return 0;
}

void usmpy_nested_drop(usmpy_nested *nested)
{
    for (Py_ssize_t i = 0; i < nested->n; i++) {
        Py_DECREF(nested->leaves[i].value);
        Py_XDECREF(nested->leaves[i].source);
    }
    PyMem_Free(nested->leaves);
}

usm_dtype usmpy_nested_dtype(const usmpy_nested *nested, const usm_device *device)
{
    usm_dtype own = nested->dtype != USM_NO_DTYPE ? nested->dtype : USM_BOOL;
    return nested->n == 0 ? usmpy_default_float(device)
                          : usm_dtype_with_number(own, nested->highest, device->info.has_fp64);
}

/* Tells of an integer that does not fit which type holds all of the sequence. -1 */
static int refuse_number(usmpy_state *state, const usmpy_nested *nested, PyObject *number, usm_dtype dtype)
{
    PyErr_Clear();
    PyObject *items = PyList_New(nested->n);
    for (Py_ssize_t i = 0; items != NULL && i < nested->n; i++) {
        PyList_SET_ITEM(items, i, Py_NewRef(nested->leaves[i].value));
    }
    PyObject *done = items == NULL ? NULL
                                   : usmpy_call("usmpy._arrays.objects", "refuse_number", "(OOO)", number,
                                                usmpy_dtype_object(state, dtype), items);
    Py_XDECREF(items);
    Py_XDECREF(done);
    return -1;
}

/* Writes the numbers from leaf `first` on, up to the next array, side by side. Their count, or -1. */
static Py_ssize_t write_numbers(usmpy_state *state, const usmpy_nested *nested, Py_ssize_t first,
                                usm_dtype dtype, char *element)
{
    Py_ssize_t i = first;
    for (; i < nested->n && !usmpy_is_array(state, nested->leaves[i].value); i++) {
        PyObject *number = nested->leaves[i].value;
        if (usmpy_scalar_to_element(number, dtype, element) < 0) {
            bool is_large = usm_dtype_table[dtype].kind < USM_DTYPE_KIND_FLOAT && dtype != USM_BOOL &&
                            nested->n > 1 && PyErr_ExceptionMatches(PyExc_OverflowError);
            return is_large ? refuse_number(state, nested, number, dtype) : -1;
        }
        element += usm_dtype_table[dtype].itemsize;
    }
    return i - first;
}

usmpy_array *usmpy_array_writable(usmpy_state *state, usm_dtype dtype, PyObject *queue, usm_kind kind,
                                  int ndim, const int64_t *shape)
{
    const usm_device_info *info = &usmpy_queue_of(queue)->device->info;
    bool direct = kind != USM_DEVICE || info->host_reads_device;
    PyObject *staging = direct || info->has_usm_host ? queue : usmpy_host_queue(state);
    usmpy_array *array = staging == NULL ? NULL
                                         : usmpy_array_empty(state, staging, direct ? kind : USM_HOST, dtype,
                                                             ndim, shape, 'C', false);
    /* For work on the block from before it was reused. */
    if (array != NULL && usmpy_wait_alloc(state, array->alloc, USM_WRITE, INT64_MAX) < 0) {
        Py_CLEAR(array);
    }
    return array;
}

static usmpy_array *numbers_alone(usmpy_state *state, const usmpy_nested *nested, usm_dtype dtype,
                                  PyObject *queue, usm_kind kind)
{
    usmpy_array *array = usmpy_array_writable(state, dtype, queue, kind, nested->ndim, nested->shape);
    if (array != NULL && write_numbers(state, nested, 0, dtype, array->data) < 0) {
        Py_CLEAR(array);
    }
    if (array != NULL && (array->alloc->kind != kind || array->queue != queue)) {
        Py_SETREF(array, usmpy_array_duplicate(array, queue, kind, dtype, 'C'));
    }
    return array;
}

/* The elements of the result from `offset` on, in row-major order, as a view of this shape. */
static usm_view part_of(usmpy_array *result, int64_t offset, int ndim, const int64_t *shape, int64_t *strides)
{
    usm_layout_compact(ndim, shape, 'C', strides);
    char *data =
        result->data == NULL ? NULL : result->data + offset * usm_dtype_table[result->dtype].itemsize;
    return (usm_view){result->alloc, data, result->dtype, ndim, shape, strides};
}

/* Copies the numbers from leaf `first` on into the result. Their count, or -1. */
static Py_ssize_t place_numbers(usmpy_state *state, const usmpy_nested *nested, Py_ssize_t first,
                                int64_t offset, usmpy_array *result)
{
    int64_t n = 0, stride;
    while (first + n < nested->n && !usmpy_is_array(state, nested->leaves[first + n].value)) {
        n++;
    }
    usmpy_array *numbers = usmpy_array_writable(state, result->dtype, result->queue, USM_DEVICE, 1, &n);
    if (numbers == NULL) {
        return -1;
    }
    Py_ssize_t written = write_numbers(state, nested, first, result->dtype, numbers->data);
    const usm_view to = part_of(result, offset, 1, &n, &stride), from = usmpy_view(numbers);
    if (written >= 0 && usmpy_submit_copy(state, result->queue, &to, &from) < 0) {
        written = -1;
    }
    Py_DECREF(numbers);
    return written;
}

/* Copies an array into the result. 1, the count of leaves, or -1. */
static int place_array(usmpy_state *state, const usmpy_leaf *leaf, int64_t offset, usmpy_array *result)
{
    usmpy_array *array = (usmpy_array *)leaf->value;
    int64_t strides[USM_MAX_NDIM];
    const usm_view to = part_of(result, offset, array->ndim, usmpy_shape(array), strides);
    const usm_view from = usmpy_view(array);
    if (leaf->source != NULL) {
        usmpy_mark_loaned(array);
    }
    if (usmpy_check_cast(array->dtype, result->dtype) < 0 ||
        usmpy_submit_copy(state, result->queue, &to, &from) < 0) {
        return -1;
    }
    /* The foreign owner may change its memory as soon as asarray returns. */
    return leaf->source == NULL || usmpy_give_back(state, leaf->source, array) == 0 ? 1 : -1;
}

usmpy_array *usmpy_nested_array(usmpy_state *state, const usmpy_nested *nested, usm_dtype dtype,
                                PyObject *queue, usm_kind kind)
{
    if (!nested->has_arrays) {
        return numbers_alone(state, nested, dtype, queue, kind);
    }
    usmpy_array *result =
        usmpy_array_empty(state, queue, kind, dtype, nested->ndim, nested->shape, 'C', false);
    int64_t offset = 0;
    for (Py_ssize_t i = 0; result != NULL && i < nested->n;) {
        const usmpy_leaf *leaf = &nested->leaves[i];
        bool is_array = usmpy_is_array(state, leaf->value);
        Py_ssize_t done = is_array ? place_array(state, leaf, offset, result)
                                   : place_numbers(state, nested, i, offset, result);
        offset += is_array ? ((usmpy_array *)leaf->value)->size : done;
        i += done;
        if (done < 0) {
            Py_CLEAR(result);
        }
    }
    return result;
}

PyObject *usmpy_array_from_python(usmpy_state *state, PyObject *object, usm_dtype dtype, PyObject *queue,
                                  usm_kind kind)
{
    usmpy_nested nested;
    usmpy_array *array = NULL;
    if (usmpy_nested_read(state, object, &nested) == 0) {
        if (dtype == USM_NO_DTYPE) {
            dtype = usmpy_nested_dtype(&nested, usmpy_queue_of(queue)->device);
        }
        array = usmpy_nested_array(state, &nested, dtype, queue, kind);
    }
    usmpy_nested_drop(&nested);
    return (PyObject *)array;
}
