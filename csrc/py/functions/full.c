/* Arrays of one value: a number, or an array that is broadcast. */
#include "creation.h"

#include "docstrings.h"
#include "py/args.h"
#include "py/exchange/dlpack.h"
#include "py/objects/placement.h"

/* fill_value as a Python number: new reference; NULL with TypeError. */
static PyObject *fill_number(usmpy_state *state, PyObject *value)
{
    PyObject *number;
    int found = usmpy_host_scalar(state, value, &number);
    if (found == 0) {
        PyErr_Format(PyExc_TypeError, "fill_value is %s %s; a number or an array is allowed", USMPY_A(value));
    }
    return found > 0 ? number : NULL;
}

static usm_dtype dtype_of_number(PyObject *number, const usm_device *device)
{
    return usm_dtype_with_number(USM_BOOL, usmpy_kind_of_number(number), device->info.has_fp64);
}

/* Every element of the new array becomes this number. Takes the reference. */
static PyObject *fill_with(usmpy_state *state, usmpy_array *array, PyObject *number)
{
    unsigned char element[USM_MAX_PATTERN];
    if (array != NULL && (usmpy_scalar_to_element(state, number, (usm_dtype)array->dtype, element) < 0 ||
                          usmpy_array_fill(state, array, element) < 0)) {
        Py_CLEAR(array);
    }
    return (PyObject *)array;
}

/* fill_value as an array that is broadcast: a USMArray, or another library's of more than 0 dimensions. */
static usmpy_array *fill_array(usmpy_state *state, PyObject *value)
{
    usmpy_array *array = (usmpy_array *)usmpy_import_any(state, value);
    if (array != NULL && !usmpy_is_array(state, value) && array->ndim == 0) {
        Py_CLEAR(array); /* a number of the host */
    }
    return array;
}

/* The new array with the elements of `source`, broadcast. Takes the reference of `array`. */
static PyObject *fill_from(usmpy_state *state, usmpy_array *array, usmpy_array *source, PyObject *value)
{
    if (array != NULL && (usmpy_check_cast((usm_dtype)source->dtype, (usm_dtype)array->dtype) < 0 ||
                          usmpy_array_copy_broadcast(state, array, source, "fill_value") < 0 ||
                          (!usmpy_is_array(state, value) && usmpy_give_back(state, value, source) < 0))) {
        Py_CLEAR(array);
    }
    return (PyObject *)array;
}

static PyObject *full(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {
        "full",
        7,
        2,
        0,
        2,
        {USMPY_shape, USMPY_fill_value, USMPY_dtype, USMPY_device, USMPY_queue, USMPY_usm_type, USMPY_order}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[7], *number = NULL, *result = NULL;
    int64_t shape[USM_MAX_NDIM];
    usmpy_target target;
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    int ndim = usmpy_parse_shape(out[0], shape, "shape");
    int order = ndim < 0 ? -1 : usmpy_parse_order(out[6], "CF", 'C');
    usmpy_array *source = order < 0 ? NULL : fill_array(state, out[1]);
    if (source == NULL && !PyErr_Occurred()) {
        number = fill_number(state, out[1]);
    }
    /* Compute follows data: a USMArray decides where the result is. Memory of the host does not. */
    bool decides = source != NULL && (usmpy_is_array(state, out[1]) || source->queue != state->host_queue);
    if (!PyErr_Occurred() && usmpy_parse_target(state, out + 2, decides ? source : NULL, &target) == 0) {
        usm_dtype dtype = target.dtype != USM_NO_DTYPE ? target.dtype
                          : source != NULL             ? (usm_dtype)source->dtype
                                           : dtype_of_number(number, usmpy_queue_of(target.queue)->device);
        usmpy_array *array =
            usmpy_array_empty(state, target.queue, target.kind, dtype, ndim, shape, (char)order, false);
        result = source != NULL ? fill_from(state, array, source, out[1]) : fill_with(state, array, number);
        Py_DECREF(target.queue);
    }
    Py_XDECREF(source);
    Py_XDECREF(number);
    return result;
}

static PyObject *full_like(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {
        "full_like",
        7,
        2,
        1,
        2,
        {USMPY_x, USMPY_fill_value, USMPY_dtype, USMPY_device, USMPY_queue, USMPY_usm_type, USMPY_order}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[7], *number = NULL, *result = NULL;
    usmpy_target target;
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_array *like = usmpy_check_like(state, out[0], "full_like");
    int order = like == NULL ? -1 : usmpy_parse_order(out[6], "CFAK", 'K');
    usmpy_array *source = order < 0 ? NULL : fill_array(state, out[1]);
    if (source == NULL && !PyErr_Occurred()) {
        number = fill_number(state, out[1]);
    }
    if (!PyErr_Occurred() && usmpy_parse_target(state, out + 2, like, &target) == 0) {
        usmpy_array *array = usmpy_make_like_unset(state, like, &target, (char)order);
        result = source != NULL ? fill_from(state, array, source, out[1]) : fill_with(state, array, number);
        Py_DECREF(target.queue);
    }
    Py_XDECREF(source);
    Py_XDECREF(number);
    return result;
}

PyMethodDef usmpy_full_functions[] = {
    USMPY_METHOD("full", full, USMPY_DOC_full),
    USMPY_METHOD("full_like", full_like, USMPY_DOC_full_like),
    {0},
};
