/* full and full_like: new arrays of one value, a number or an array that is broadcast. */
#include "creation.h"

#include "docstrings.h"
#include "py/args.h"
#include "py/exchange/dlpack.h"

/* fill_value: an array that is broadcast, or a number. The other one is NULL. */
typedef struct value {
    PyObject *argument;  /* borrowed */
    usmpy_array *source; /* one reference; NULL until read_nested() */
    bool is_nested;      /* sequences, whose numbers must fit the type of the result */
    PyObject *number; /* one reference: a Python number, also for another library's value of 0 dimensions */
    usm_dtype dtype;  /* of the source or the other library's value; USM_NO_DTYPE for Python's numbers */
} value;

/* The source, on the host: numbers in sequences do not say where they are. 0 or -1. */
static int read_nested(usmpy_state *state, value *value, usm_dtype dtype)
{
    PyObject *host = usmpy_host_queue(state); /* borrowed */
    PyObject *source =
        host == NULL ? NULL : usmpy_array_from_python(state, value->argument, dtype, host, USM_DEVICE);
    if (source == NULL) {
        usmpy_name_argument("fill_value");
        return -1;
    }
    value->source = (usmpy_array *)source;
    value->dtype = (usm_dtype)value->source->dtype;
    return 0;
}

static int parse_value(usmpy_state *state, PyObject *argument, value *value)
{
    *value = (struct value){.argument = argument, .dtype = USM_NO_DTYPE};
    if (!PyLong_CheckExact(argument) && !PyFloat_CheckExact(argument) && !PyBool_Check(argument) &&
        !PyComplex_CheckExact(argument)) {
        value->source = (usmpy_array *)usmpy_import_any(state, argument);
    }
    if (value->source == NULL && PyErr_Occurred()) {
        usmpy_name_argument("fill_value");
        return -1;
    }
    if (value->source == NULL) {
        bool is_number = PyLong_Check(argument) || PyFloat_Check(argument) || PyComplex_Check(argument);
        value->number = is_number ? Py_NewRef(argument) : NULL;
        value->is_nested = !is_number;
        return 0;
    }
    value->dtype = (usm_dtype)value->source->dtype;
    if (!usmpy_is_array(state, argument) && value->source->ndim == 0 &&
        value->dtype < USM_COMPUTED_DTYPES) { /* a number of the host */
        value->number = PyObject_CallMethod((PyObject *)value->source, "item", NULL);
        Py_CLEAR(value->source);
        return value->number == NULL ? -1 : 0;
    }
    return 0;
}

/* Every element of the new array becomes the value. Takes the references of the array and of the value. */
static PyObject *fill(usmpy_array *array, value *value)
{
    int status = -1;
    if (array != NULL && value->number != NULL) {
        unsigned char element[USM_MAX_PATTERN];
        status = usmpy_scalar_to_element(value->number, array->dtype, element);
        status = status < 0 ? -1 : usmpy_array_fill(array, element);
    } else if (array != NULL) {
        bool is_read = value->source != NULL || read_nested(array->state, value, array->dtype) == 0;
        status = !is_read || usmpy_check_cast(value->source->dtype, array->dtype) < 0
                     ? -1
                     : usmpy_copy_from(array->state, value->argument, array, value->source, "fill_value");
    }
    if (status < 0) {
        Py_CLEAR(array);
    }
    Py_XDECREF(value->source);
    Py_XDECREF(value->number);
    return (PyObject *)array;
}

/* The dtype that a value gives an array on a device. */
static usm_dtype dtype_of(const value *value, const usm_device *device)
{
    bool wide = device->info.has_fp64;
    return value->dtype == USM_NO_DTYPE
               ? usm_dtype_with_number(USM_BOOL, usmpy_kind_of_number(value->number), wide)
           : wide || value->source != NULL ? value->dtype
                                           : usm_dtype_without_fp64(value->dtype);
}

/* arguments: shape, fill_value, dtype, device, queue, usm_type, order. */
static PyObject *full(usmpy_state *state, PyObject *const *arguments)
{
    int64_t shape[USM_MAX_NDIM];
    usmpy_array *array = NULL;
    usmpy_target target;
    value value;
    int ndim = usmpy_parse_shape(arguments[0], shape, "shape");
    int order = ndim < 0 ? -1 : usmpy_parse_order(arguments[6], "CF", 'C');
    if (order < 0 || parse_value(state, arguments[1], &value) < 0) {
        return NULL;
    }
    /* Compute follows data: an array decides where the result is, unless it was imported from the host. */
    bool decides = value.source != NULL &&
                   (usmpy_is_array(state, arguments[1]) || value.source->queue != state->host_queue);
    if (usmpy_parse_target(state, arguments + 2, decides ? value.source : NULL, &target) == 0) {
        usm_dtype dtype = target.dtype;
        if (dtype == USM_NO_DTYPE && (!value.is_nested || read_nested(state, &value, dtype) == 0)) {
            dtype = dtype_of(&value, usmpy_queue_of(target.queue)->device);
        }
        if (dtype != USM_NO_DTYPE) {
            array =
                usmpy_array_empty(state, target.queue, target.kind, dtype, ndim, shape, (char)order, false);
        }
        Py_DECREF(target.queue);
    }
    return fill(array, &value);
}
USMPY_FUNCTION(full)

/* arguments: x, fill_value, dtype, device, queue, usm_type, order. */
static PyObject *full_like(usmpy_state *state, PyObject *const *arguments)
{
    value value;
    return parse_value(state, arguments[1], &value) < 0
               ? NULL
               : fill(usmpy_make_like(state, "full_like", arguments, 2), &value);
}
USMPY_FUNCTION(full_like)

PyMethodDef usmpy_full_functions[] = {
    USMPY_ROW(full),
    USMPY_ROW(full_like),
    {0},
};
