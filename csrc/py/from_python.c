/* Arrays from Python numbers and nested sequences of them. */
#include "args.h"
#include "creation.h"
#include "dlpack.h"
#include "errors.h"
#include "placement.h"
#include "wait.h"

/* What a walk over the nested sequences finds out. */
typedef struct survey {
    int ndim;
    int64_t shape[USM_MAX_NDIM];
    usm_dtype_kind highest; /* of the numbers; meaningless while there are none */
    bool any;
} survey;

static bool is_sequence(PyObject *object)
{
    return PyList_Check(object) || PyTuple_Check(object) ||
           (PySequence_Check(object) && !PyUnicode_Check(object) && !PyBytes_Check(object) &&
            PySequence_Size(object) >= 0);
}

/* A number in one of Python's own types: new reference; NULL with TypeError. */
static PyObject *to_number(usmpy_state *state, PyObject *object)
{
    PyObject *scalar;
    int found = usmpy_host_scalar(state, object, &scalar);
    if (found != 0) {
        return found < 0 ? NULL : scalar;
    }
    if (PyIndex_Check(object)) {
        return PyNumber_Index(object);
    }
    return PyErr_Format(
        PyExc_TypeError,
        "%R is neither an array nor a number nor a sequence of these; obj cannot be made into an array",
        object);
}

static int survey_number(usmpy_state *state, PyObject *object, survey *survey)
{
    PyObject *number = to_number(state, object);
    if (number == NULL) {
        return -1;
    }
    usm_dtype_kind kind = PyBool_Check(number)    ? USM_KIND_BOOL
                          : PyLong_Check(number)  ? USM_KIND_INT
                          : PyFloat_Check(number) ? USM_KIND_FLOAT
                                                  : USM_KIND_COMPLEX;
    survey->highest = survey->any && survey->highest > kind ? survey->highest : kind;
    survey->any = true;
    Py_DECREF(number);
    return 0;
}

/* The i-th of `items`: new reference; NULL with RuntimeError where the sequence became shorter. */
static PyObject *item_of(PyObject *items, Py_ssize_t i)
{
    PyObject *item = usmpy_item(items, i);
    if (item == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "obj changed its size while it was read");
    }
    return item;
}

static int survey_level(usmpy_state *state, PyObject *object, int depth, survey *survey)
{
    bool sequence = is_sequence(object);
    PyErr_Clear(); /* an array of 0 dimensions has no length: it is a number */
    if (survey->ndim < 0 && !sequence) {
        survey->ndim = depth;
    }
    if (sequence == (depth == survey->ndim)) {
        PyErr_Format(PyExc_ValueError, "obj is ragged: at depth %d there are both numbers and sequences",
                     depth);
        return -1;
    }
    if (!sequence) {
        return survey_number(state, object, survey);
    }
    if (depth == USM_MAX_NDIM) {
        PyErr_Format(PyExc_ValueError, "obj is nested deeper than %d levels", USM_MAX_NDIM);
        return -1;
    }
    PyObject *items = PySequence_Fast(object, "");
    if (items == NULL) {
        return -1;
    }
    Py_ssize_t n = PySequence_Fast_GET_SIZE(items);
    int status = 0;
    if (survey->shape[depth] < 0) {
        survey->shape[depth] = n;
    } else if (survey->shape[depth] != n) {
        PyErr_Format(PyExc_ValueError, "obj is ragged: at depth %d there are sequences of %lld and of %zd",
                     depth, (long long)survey->shape[depth], n);
        status = -1;
    }
    if (n == 0 && survey->ndim < 0) {
        survey->ndim = depth + 1; /* nothing lies deeper */
    }
    for (Py_ssize_t i = 0; status == 0 && i < n; i++) {
        PyObject *item = item_of(items, i);
        status = item == NULL ? -1 : survey_level(state, item, depth + 1, survey);
        Py_XDECREF(item);
    }
    Py_DECREF(items);
    return status;
}

/* Row-major; a sequence that changed its length meanwhile is caught. */
static int write_level(usmpy_state *state, PyObject *object, int depth, const survey *survey, usm_dtype dtype,
                       char **element)
{
    if (depth == survey->ndim) {
        PyObject *number = to_number(state, object);
        int status = number == NULL ? -1 : usmpy_scalar_to_element(state, number, dtype, *element);
        *element += usm_dtype_table[dtype].itemsize;
        Py_XDECREF(number);
        return status;
    }
    PyObject *items = PySequence_Fast(object, "obj changed while it was read");
    if (items == NULL) {
        return -1;
    }
    int status = 0;
    if (PySequence_Fast_GET_SIZE(items) != survey->shape[depth]) {
        PyErr_SetString(PyExc_RuntimeError, "obj changed its size while it was read");
        status = -1;
    }
    for (Py_ssize_t i = 0; status == 0 && i < survey->shape[depth]; i++) {
        PyObject *item = item_of(items, i);
        status = item == NULL ? -1 : write_level(state, item, depth + 1, survey, dtype, element);
        Py_XDECREF(item);
    }
    Py_DECREF(items);
    return status;
}

static usm_dtype default_dtype(const survey *survey, const usm_device *device)
{
    usm_dtype real = usmpy_default_float(device);
    if (!survey->any || survey->highest == USM_KIND_FLOAT) {
        return real;
    }
    if (survey->highest == USM_KIND_COMPLEX) {
        return real == USM_FLOAT64 ? USM_COMPLEX128 : USM_COMPLEX64;
    }
    return survey->highest == USM_KIND_BOOL ? USM_BOOL : USM_INT64;
}

PyObject *usmpy_array_from_python(usmpy_state *state, PyObject *object, usm_dtype dtype, PyObject *queue,
                                  usm_kind kind)
{
    survey survey = {.ndim = -1};
    for (int i = 0; i < USM_MAX_NDIM; i++) {
        survey.shape[i] = -1;
    }
    if (survey_level(state, object, 0, &survey) < 0) {
        return NULL;
    }
    if (dtype == USM_NO_DTYPE) {
        dtype = default_dtype(&survey, usmpy_queue_of(queue)->device);
    }
    /* Elements are written by the host, so into memory that it reaches, and moved from there if need be. */
    const usm_device_info *info = &usmpy_queue_of(queue)->device->info;
    bool direct = kind != USM_DEVICE || info->host_reads_device;
    PyObject *staging = direct || info->has_usm_host ? queue : usmpy_host_queue(state);
    usmpy_array *array = staging == NULL ? NULL
                                         : usmpy_array_empty(state, staging, direct ? kind : USM_HOST, dtype,
                                                             survey.ndim, survey.shape, 'C', false);
    if (array == NULL) {
        return NULL;
    }
    char *element = array->data;
    unsigned char unused[USM_MAX_PATTERN];
    if (element == NULL) {
        element = (char *)unused;
    }
    if (write_level(state, object, 0, &survey, dtype, &element) < 0) {
        Py_CLEAR(array);
    } else if (!direct) {
        Py_SETREF(array, usmpy_array_duplicate(state, array, queue, kind, dtype, 'C'));
    }
    return (PyObject *)array;
}
