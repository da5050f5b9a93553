/* Keys of indexing: which parts of a key are arrays, and the view that the other parts give. */
#include "py/args.h"
#include "py/exchange/dlpack.h"
#include "py/functions/creation.h"
#include "py/objects/placement.h"
#include "selection.h"

/* Ints that are no truth values, slices, Ellipsis and None: the keys of basic indexing. */
static bool is_basic(PyObject *item)
{
    return (PyLong_Check(item) && !PyBool_Check(item)) || PySlice_Check(item) || item == Py_Ellipsis ||
           item == Py_None;
}

usmpy_array *usmpy_index_array(usmpy_state *state, PyObject *object, PyObject *queue)
{
    if (usmpy_is_array(state, object)) {
        return (usmpy_array *)Py_NewRef(object);
    }
    usmpy_array *array = (usmpy_array *)usmpy_import_any(state, object);
    if (array != NULL && array->queue == state->host_queue &&
        usmpy_queue_of(queue) != usmpy_queue_of(array->queue)) {
        Py_SETREF(array, usmpy_duplicate_from(state, object, array, queue, USM_DEVICE, array->dtype, 'C'));
    }
    if (array != NULL || PyErr_Occurred() || !(PyBool_Check(object) || PySequence_Check(object)) ||
        PyUnicode_Check(object)) {
        return array;
    }
    usmpy_nested nested;
    if (usmpy_nested_read(state, object, &nested) == 0) {
        usm_dtype dtype =
            nested.n == 0 ? USM_INT64 : usmpy_nested_dtype(&nested, usmpy_queue_of(queue)->device);
        array = usmpy_nested_array(state, &nested, dtype, queue, USM_DEVICE);
    }
    usmpy_nested_drop(&nested);
    return array;
}

/*
 * An item of a key as an array: a new reference. NULL without an exception where it is a basic index, an
 * integer of 0 dimensions of any library, or nothing that can be one.
 */
static usmpy_array *item_array(usmpy_array *x, PyObject *item)
{
    if (is_basic(item)) {
        return NULL;
    }
    usmpy_array *array = usmpy_index_array(x->state, item, x->queue);
    if (array != NULL && array->ndim == 0 && array->dtype != USM_BOOL) {
        Py_CLEAR(array);
    }
    return array;
}

int usmpy_key_with_arrays(usmpy_array *array, PyObject *key, PyObject **own)
{
    *own = NULL;
    if (!PyTuple_Check(key)) {
        *own = (PyObject *)item_array(array, key);
        return *own != NULL ? 1 : PyErr_Occurred() ? -1 : 0;
    }
    Py_ssize_t n = PyTuple_GET_SIZE(key);
    for (Py_ssize_t i = 0; i < n; i++) {
        usmpy_array *index = item_array(array, PyTuple_GET_ITEM(key, i));
        if (index == NULL) {
            if (PyErr_Occurred()) {
                Py_CLEAR(*own);
                return -1;
            }
            continue;
        }
        if (*own == NULL) { /* in which arrays replace lists, truth values and foreign arrays */
            *own = PyTuple_New(n);
            for (Py_ssize_t k = 0; k < n; k++) {
                usmpy_set_item(own, k, Py_NewRef(PyTuple_GET_ITEM(key, k)));
            }
        }
        if (*own == NULL) {
            Py_DECREF(index);
            return -1;
        }
        Py_SETREF(((PyTupleObject *)*own)->ob_item[i], (PyObject *)index);
    }
    return *own != NULL;
}

/* A key that is being applied, item by item, and the view that it gives so far. */
typedef struct cut {
    usmpy_array *array;
    usmpy_array_keys *keys; /* where arrays of the key go; NULL: there are none */
    char *data;
    int axis; /* next axis of the array */
    int ndim; /* of the view so far */
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM];
} cut;

/* An integer of 0 dimensions of a library whose objects have no __index__, such as ctypes. As integer_key. */
static int integer_value(usmpy_state *state, PyObject *key, PyObject **index)
{
    PyObject *array = usmpy_import_any(state, key);
    if (array == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    bool is_integer = ((usmpy_array *)array)->ndim == 0 && usmpy_has_integers((usmpy_array *)array);
    *index = is_integer ? PyNumber_Index(array) : NULL;
    Py_DECREF(array);
    return *index != NULL ? 1 : is_integer ? -1 : 0;
}

/*
 * An int, or an object that represents one: NumPy's scalars, arrays of 0 dimensions. Not bool, which is a
 * mask, and not an array that merely has one element. 1 with a new int in *index, 0 for anything else, -1
 * with an exception.
 */
static int integer_key(usmpy_state *state, PyObject *key, PyObject **index)
{
    if (PyLong_Check(key)) {
        *index = key;
        return PyBool_Check(key) ? 0 : (Py_INCREF(key), 1);
    }
    if (!PyIndex_Check(key)) {
        return integer_value(state, key, index);
    }
    int sequence = usmpy_has_length(key);
    *index = sequence == 0 ? PyNumber_Index(key) : NULL;
    if (sequence == 0 && *index == NULL && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
    }
    return *index != NULL ? 1 : PyErr_Occurred() ? -1 : 0;
}

static int cut_integer(cut *cut, PyObject *key)
{
    int64_t length = usmpy_shape(cut->array)[cut->axis];
    PyObject *index;
    int found = integer_key(cut->array->state, key, &index);
    if (found <= 0) {
        PyObject *text = found == 0 ? usmpy_text_of(key) : NULL;
        if (text != NULL) {
            PyErr_Format(
                PyExc_IndexError,
                "%.100U is not an index; integers, slices, Ellipsis, None, and arrays or lists of integers "
                "or bool are allowed",
                text);
        }
        Py_XDECREF(text);
        return -1;
    }
    Py_ssize_t i = PyNumber_AsSsize_t(index, NULL); /* clipped: out of range */
    Py_DECREF(index);
    if (i < -length || i >= length) {
        return usmpy_refuse(PyExc_IndexError, "index %zd is out of range for axis %d with length %lld", i,
                            cut->axis, (long long)length);
    }
    if (cut->data != NULL) {
        cut->data += (i < 0 ? i + length : i) * usmpy_byte_stride(cut->array, cut->axis);
    }
    cut->axis++;
    return 0;
}

static int cut_slice(cut *cut, PyObject *key)
{
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(key, &start, &stop, &step) < 0) {
        return -1;
    }
    int axis = cut->axis++;
    Py_ssize_t length = PySlice_AdjustIndices((Py_ssize_t)usmpy_shape(cut->array)[axis], &start, &stop, step);
    /* An empty slice may start behind the end: it has no first element. */
    if (cut->data != NULL && length > 0) {
        cut->data += start * usmpy_byte_stride(cut->array, axis);
    }
    cut->shape[cut->ndim] = length;
    /* A step beyond the length leaves one element, whose stride has no meaning. */
    cut->strides[cut->ndim++] = length > 1 ? usmpy_strides(cut->array)[axis] * step : 1;
    return 0;
}

static int cut_whole(cut *cut, int axes)
{
    for (; axes > 0; axes--) {
        cut->shape[cut->ndim] = usmpy_shape(cut->array)[cut->axis];
        cut->strides[cut->ndim++] = usmpy_strides(cut->array)[cut->axis++];
    }
    return 0;
}

/* Integers of 0 dimensions are indices like ints; any other array is an array of indices, or a mask. */
static bool is_array_key(const cut *cut, PyObject *item)
{
    return cut->keys != NULL && usmpy_is_array(cut->array->state, item) &&
           (((usmpy_array *)item)->ndim > 0 || ((usmpy_array *)item)->dtype == USM_BOOL);
}

/* How many axes of the array an item other than Ellipsis uses. */
static int axes_of(const cut *cut, PyObject *item)
{
    return item == Py_None                                                       ? 0
           : is_array_key(cut, item) && ((usmpy_array *)item)->dtype == USM_BOOL ? ((usmpy_array *)item)->ndim
                                                                                 : 1;
}

/* 0, or -1 where the array cannot be an index for these axes. */
static int check_array(const cut *cut, usmpy_array *index, int axes)
{
    usmpy_array *array = cut->array;
    usm_dtype_kind kind = usm_dtype_table[index->dtype].kind;
    if (kind > USM_DTYPE_KIND_UINT) {
        return usmpy_refuse(PyExc_IndexError, "an index array has dtype %s; integers and bool are allowed",
                            usm_dtype_table[index->dtype].name);
    }
    if (usmpy_queue_of(index->queue) != usmpy_queue_of(array->queue)) {
        PyObject *const arguments[] = {(PyObject *)array, (PyObject *)index};
        static const char *const names[] = {"x", "index"};
        usmpy_raise_placement(array->state, "x[index]", arguments, names, 2);
        return -1;
    }
    for (int i = 0; kind == USM_DTYPE_KIND_BOOL && i < axes; i++) {
        /* The axis' length, or 0: then nothing is true (array API standard, boolean array indexing). */
        if (usmpy_shape(index)[i] != usmpy_shape(array)[cut->axis + i] && usmpy_shape(index)[i] != 0) {
            char mask[200], own[200];
            return usmpy_refuse(
                PyExc_IndexError,
                "a mask of shape %s does not fit axes %d to %d of an array of shape %s; their lengths must be "
                "equal",
                usm_layout_text(index->ndim, usmpy_shape(index), mask, sizeof mask), cut->axis,
                cut->axis + axes - 1, usm_layout_text(array->ndim, usmpy_shape(array), own, sizeof own));
        }
    }
    return 0;
}

/* The view has all of the axes that the array indexes. */
static int cut_array(cut *cut, PyObject *item)
{
    int axes = axes_of(cut, item);
    if (check_array(cut, (usmpy_array *)item, axes) < 0) {
        return -1;
    }
    cut->keys->arrays[cut->keys->n] = (usmpy_array *)Py_NewRef(item);
    cut->keys->axes[cut->keys->n++] = cut->ndim;
    return cut_whole(cut, axes);
}

/* How many axes the items of a key use; -1 with an exception. */
static int count_axes(const cut *cut, PyObject *const *items, Py_ssize_t n)
{
    int axes = 0, added = 0, ellipses = 0, ndim = cut->array->ndim;
    for (Py_ssize_t i = 0; i < n; i++) {
        ellipses += items[i] == Py_Ellipsis;
        axes += items[i] == Py_Ellipsis ? 0 : axes_of(cut, items[i]);
        /* Axes of the view that are not whole axes of the array. */
        added += items[i] == Py_None || PySlice_Check(items[i]) ||
                 (is_array_key(cut, items[i]) ? axes_of(cut, items[i]) : 0);
    }
    if (ellipses > 1) {
        PyErr_SetString(PyExc_IndexError, "the index has several Ellipses ('...'); one is allowed");
    } else if (axes > ndim || (cut->keys != NULL && n > USM_MAX_NDIM)) {
        PyErr_Format(PyExc_IndexError, "too many indices: %zd given, the array has %d dimension%s",
                     axes > ndim ? axes : n, ndim, usmpy_plural(ndim));
    } else if (ndim - axes + added > USM_MAX_NDIM) {
        PyErr_Format(PyExc_IndexError, "the result would have more than %d dimensions", USM_MAX_NDIM);
    } else {
        return axes;
    }
    return -1;
}

static int apply_item(cut *cut, PyObject *item, int ellipsis)
{
    if (PySlice_Check(item)) {
        return cut_slice(cut, item);
    }
    if (item == Py_Ellipsis) {
        return cut_whole(cut, ellipsis);
    }
    if (item == Py_None) {
        cut->shape[cut->ndim] = cut->strides[cut->ndim] = 1;
        cut->ndim++;
        return 0;
    }
    return is_array_key(cut, item) ? cut_array(cut, item) : cut_integer(cut, item);
}

/* Ints and arrays count for where the axes of the arrays come, as in NumPy. */
static bool is_advanced(PyObject *item)
{
    return item != Py_Ellipsis && item != Py_None && !PySlice_Check(item);
}

static int apply(cut *cut, PyObject *key)
{
    PyObject *const *items = PyTuple_Check(key) ? ((PyTupleObject *)key)->ob_item : &key;
    Py_ssize_t n = PyTuple_Check(key) ? PyTuple_GET_SIZE(key) : 1;
    int axes = count_axes(cut, items, n), runs = 0;
    for (Py_ssize_t i = 0; axes >= 0 && i < n; i++) {
        runs += is_advanced(items[i]) && (i == 0 || !is_advanced(items[i - 1]));
        if (apply_item(cut, items[i], cut->array->ndim - axes) < 0) {
            return -1;
        }
    }
    if (cut->keys != NULL) {
        cut->keys->adjacent = runs <= 1;
    }
    return axes < 0 ? -1 : cut_whole(cut, cut->array->ndim - cut->axis);
}

usmpy_array *usmpy_array_key_view(usmpy_array *array, PyObject *key, usmpy_array_keys *keys)
{
    cut cut;
    cut.array = array;
    cut.keys = keys;
    cut.data = array->data;
    cut.axis = cut.ndim = 0;
    bool refused = usm_dtype_is_packed(array->dtype) && key != Py_Ellipsis;
    if ((refused && usmpy_check_unpacked(array, "indexing") < 0) || apply(&cut, key) < 0) {
        return NULL;
    }
    return usmpy_array_view(array, cut.data, cut.ndim, cut.shape, cut.strides);
}
