/* arange and linspace. */
#include "docstrings.h"
#include "py/args.h"
#include "py/arrays/array.h"
#include "py/deferred.h"
#include "py/errors.h"
#include "py/objects/placement.h"

#include "core/ops/sequence.h"

/* A new array of the sequence's elements. */
static PyObject *make_sequence(usmpy_state *state, const usm_sequence *sequence, usm_dtype dtype,
                               PyObject *queue, usm_kind kind)
{
    usmpy_array *array = usmpy_array_empty(state, queue, kind, dtype, 1, &sequence->count, 'C', false);
    if (array != NULL) {
        const usm_view dst = usmpy_view(array);
        usm_error error;
        if (usmpy_check(state, usm_sequence_submit(usmpy_queue_of(queue), &dst, sequence, &error), &error) <
            0) {
            Py_CLEAR(array);
        }
    }
    return (PyObject *)array;
}

static int refuse_dtype(const char *function, usm_dtype dtype)
{
    PyErr_Format(PyExc_TypeError, "%s(): dtype is %s; an integer, floating-point or complex type is allowed",
                 function, usm_dtype_table[dtype].name);
    return -1;
}

/*
 * An int, float or complex from whatever stands for one number: Python's own, values of 0 dimensions of any
 * library, and what has __index__ or __float__. New reference; NULL with TypeError that names the parameter,
 * or with what the object itself raised.
 */
static PyObject *to_number(usmpy_state *state, PyObject *argument, const char *parameter)
{
    PyObject *number;
    int found = usmpy_host_scalar(state, argument, &number);
    if (found > 0) {
        return number;
    }
    if (found < 0) {
        if (!PyErr_ExceptionMatches(PyExc_BufferError)) {
            return NULL;
        }
        PyErr_Clear(); /* a type that is not exchanged, such as numpy.longdouble, is a number all the same */
    }
    if (PyIndex_Check(argument)) {
        number = PyNumber_Index(argument);
    } else if (PyNumber_Check(argument)) {
        number = PyNumber_Float(argument);
    } else {
        return PyErr_Format(PyExc_TypeError, "%s is %R; a number is allowed", parameter, argument);
    }
    if (number == NULL && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Format(PyExc_TypeError, "%s is %R; a number is allowed", parameter, argument);
    }
    return number;
}

/* A real Python number: 0 for an int, 1 for a float, -1 with an exception. *number is new. */
static int real_number(usmpy_state *state, PyObject *argument, const char *parameter, PyObject **number)
{
    *number = to_number(state, argument, parameter);
    if (*number != NULL && PyComplex_Check(*number)) {
        Py_CLEAR(*number);
        PyErr_Format(PyExc_TypeError, "%s is %R; a real number is allowed", parameter, argument);
    }
    return *number == NULL ? -1 : !PyLong_Check(*number);
}

/* A limit of a linspace; *is_complex becomes true where it has an imaginary part. 0 or -1. */
static int parse_limit(usmpy_state *state, PyObject *argument, const char *parameter, Py_complex *limit,
                       bool *is_complex)
{
    PyObject *number = to_number(state, argument, parameter);
    if (number == NULL) {
        return -1;
    }
    *is_complex = *is_complex || PyComplex_Check(number);
    *limit = PyComplex_AsCComplex(number);
    Py_DECREF(number);
    return limit->real == -1.0 && PyErr_Occurred() ? -1 : 0;
}

/* An int whose sums with others of the kind do not overflow. */
static bool is_small(PyObject *number, int64_t *value)
{
    int overflow;
    *value = PyLong_AsLongLongAndOverflow(number, &overflow);
    return overflow == 0 && *value < INT64_C(1) << 60 && *value > -(INT64_C(1) << 60);
}

/* ceil((stop - start) / step) for Python ints of any size; -1 with an exception. */
static int64_t count_integers(PyObject *start, PyObject *stop, PyObject *step)
{
    int64_t count = -1, from, to, by;
    if (is_small(start, &from) && is_small(stop, &to) && is_small(step, &by)) {
        count = by > 0 ? (to - from + by - 1) / by : (from - to - by - 1) / -by;
        return count > 0 ? count : 0;
    }
    PyObject *range = PyObject_CallFunctionObjArgs((PyObject *)&PyRange_Type, start, stop, step, NULL);
    if (range != NULL) {
        count = PyObject_Size(range);
    }
    Py_XDECREF(range);
    if (count == -1 && PyErr_ExceptionMatches(PyExc_OverflowError)) {
        PyErr_SetString(PyExc_ValueError, "arange() would have more than 2**63 - 1 elements");
    }
    return count;
}

static int64_t count_floats(double start, double stop, double step)
{
    double count = (stop - start) / step;
    if (!(count < 9.2e18)) { /* also NaN */
        PyErr_Format(PyExc_ValueError,
                     "arange(): start and stop must be finite, with fewer than 2**63 steps between them");
        return -1;
    }
    if (count <= 0) {
        return 0;
    }
    int64_t whole = (int64_t)count;
    return whole + ((double)whole < count);
}

/* Fits an int into the 64 bits that the wrapping arithmetic of a sequence works in. */
static int wrap_integer(PyObject *number, int64_t *value)
{
    *value = (int64_t)PyLong_AsUnsignedLongLongMask(number);
    return PyErr_Occurred() ? -1 : 0;
}

/* The first and the last element must fit the dtype: everything between does then. */
static int check_range(usmpy_state *state, PyObject *start, PyObject *step, int64_t count, usm_dtype dtype)
{
    unsigned char element[USM_MAX_PATTERN];
    PyObject *last = NULL, *steps = count > 0 ? PyLong_FromLongLong(count - 1) : NULL;
    if (steps != NULL) {
        Py_SETREF(steps, PyNumber_Multiply(steps, step));
        last = steps == NULL ? NULL : PyNumber_Add(start, steps);
    }
    int status = count == 0 ? 0 : -1;
    if (last != NULL && usmpy_scalar_to_element(state, start, dtype, element) == 0) {
        status = usmpy_scalar_to_element(state, last, dtype, element);
    }
    Py_XDECREF(steps);
    Py_XDECREF(last);
    return status;
}

static PyObject *arange_numbers(usmpy_state *state, PyObject *start, PyObject *stop, PyObject *step,
                                bool integral, usm_dtype dtype, PyObject *queue, usm_kind kind)
{
    const usm_device *device = usmpy_queue_of(queue)->device;
    usm_sequence sequence = {.count = 0};
    if (dtype == USM_NO_DTYPE) {
        dtype = integral ? USM_INT64 : usmpy_default_float(device);
    }
    if (dtype == USM_BOOL || dtype >= USM_COMPUTED_DTYPES) {
        refuse_dtype("arange", dtype);
        return NULL;
    }
    int zero = PyObject_Not(step);
    if (zero != 0) {
        return zero < 0 ? NULL : PyErr_Format(PyExc_ValueError, "step is 0; any other number is allowed");
    }
    sequence.dtype = usm_sequence_dtype(dtype, device);
    bool integer_type = usm_dtype_table[sequence.dtype].kind <= USM_KIND_UINT;
    double end = 0;
    if (!integral || !integer_type) {
        sequence.start = PyFloat_AsDouble(start);
        sequence.step = PyFloat_AsDouble(step);
        end = PyFloat_AsDouble(stop);
        if (PyErr_Occurred()) {
            return NULL;
        }
    }
    sequence.count =
        integral ? count_integers(start, stop, step) : count_floats(sequence.start, end, sequence.step);
    if (sequence.count < 0) {
        return NULL;
    }
    if (integral && integer_type) {
        if (check_range(state, start, step, sequence.count, dtype) < 0 ||
            wrap_integer(start, &sequence.istart) < 0 || wrap_integer(step, &sequence.istep) < 0) {
            return NULL;
        }
    } else if (integer_type) { /* fractions on the way to an integer type: computed in double, then truncated
                                */
        sequence.dtype = USM_FLOAT64;
    }
    return make_sequence(state, &sequence, dtype, queue, kind);
}

static PyObject *arange(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {
        "arange",
        7,
        3,
        1,
        1,
        {USMPY_start, USMPY_stop, USMPY_step, USMPY_dtype, USMPY_device, USMPY_queue, USMPY_usm_type}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[7], *numbers[3] = {NULL, NULL, NULL}, *queue = NULL, *result = NULL;
    static const char *const parameters[] = {"start", "stop", "step"};
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_deferred_poll();
    bool integral = true;
    if (!usmpy_given(out[1])) { /* one number is where to stop */
        out[1] = out[0];
        out[0] = NULL;
    }
    for (int i = 0; i < 3; i++) {
        int real;
        if (usmpy_given(out[i])) {
            real = real_number(state, out[i], parameters[i], &numbers[i]);
        } else {
            numbers[i] = PyLong_FromLong(i == 2);
            real = numbers[i] == NULL ? -1 : 0;
        }
        if (real < 0) {
            goto done;
        }
        integral = integral && real == 0;
    }
    usm_dtype dtype = USM_NO_DTYPE;
    int kind = usmpy_kind(out[6], USM_DEVICE);
    if (kind < 0 || (usmpy_given(out[3]) && usmpy_dtype_convert(state, out[3], &dtype) < 0)) {
        goto done;
    }
    queue = usmpy_placement(state, out[4], out[5]);
    if (queue != NULL) {
        result =
            arange_numbers(state, numbers[0], numbers[1], numbers[2], integral, dtype, queue, (usm_kind)kind);
    }
done:
    for (int i = 0; i < 3; i++) {
        Py_XDECREF(numbers[i]);
    }
    Py_XDECREF(queue);
    return result;
}

/* Real and imaginary parts are sequences of their own, each every second number of the array. */
static PyObject *complex_line(usmpy_state *state, Py_complex start, Py_complex stop, int64_t count,
                              bool endpoint, usm_dtype dtype, PyObject *queue, usm_kind kind)
{
    usm_dtype real = dtype == USM_COMPLEX64 ? USM_FLOAT32 : USM_FLOAT64;
    usmpy_array *array = usmpy_array_empty(state, queue, kind, dtype, 1, &count, 'C', false);
    const int64_t stride = 2;
    for (int part = 0; array != NULL && part < 2 && count > 0; part++) {
        const usm_sequence sequence =
            part == 0 ? usm_sequence_between(start.real, stop.real, count, endpoint, real)
                      : usm_sequence_between(start.imag, stop.imag, count, endpoint, real);
        const usm_view dst = {
            array->alloc, array->data + part * usm_dtype_table[real].itemsize, real, 1, &count, &stride};
        usm_error error;
        if (usmpy_check(state, usm_sequence_submit(usmpy_queue_of(queue), &dst, &sequence, &error), &error) <
            0) {
            Py_CLEAR(array);
        }
    }
    return (PyObject *)array;
}

static PyObject *linspace_numbers(usmpy_state *state, Py_complex start, Py_complex stop, bool is_complex,
                                  int64_t count, bool endpoint, usm_dtype dtype, PyObject *queue,
                                  usm_kind kind)
{
    usm_dtype real = usmpy_default_float(usmpy_queue_of(queue)->device);
    if (dtype == USM_NO_DTYPE) {
        dtype = !is_complex ? real : real == USM_FLOAT64 ? USM_COMPLEX128 : USM_COMPLEX64;
    }
    if (dtype == USM_BOOL || dtype >= USM_COMPUTED_DTYPES) {
        refuse_dtype("linspace", dtype);
        return NULL;
    }
    if (usm_dtype_table[dtype].kind == USM_KIND_COMPLEX) {
        return complex_line(state, start, stop, count, endpoint, dtype, queue, kind);
    }
    if (is_complex) {
        return PyErr_Format(PyExc_TypeError,
                            "start or stop is complex and dtype is %s; a complex type is needed",
                            usm_dtype_table[dtype].name);
    }
    /* Integers are truncated from numbers in double precision. */
    bool is_integer = usm_dtype_table[dtype].kind <= USM_KIND_UINT;
    const usm_sequence sequence = usm_sequence_between(
        start.real, stop.real, count, endpoint,
        is_integer ? USM_FLOAT64 : usm_sequence_dtype(dtype, usmpy_queue_of(queue)->device));
    return make_sequence(state, &sequence, dtype, queue, kind);
}

/* 0 or more; -1 with TypeError or ValueError. */
static int64_t parse_num(PyObject *num)
{
    if (!PyIndex_Check(num)) {
        PyErr_Format(PyExc_TypeError, "num is %R; an int is allowed", num);
        return -1;
    }
    int64_t count = PyNumber_AsSsize_t(num, NULL);
    if (count < 0 && !PyErr_Occurred()) {
        PyErr_Format(PyExc_ValueError, "num is %R; 0 or more is allowed", num);
    }
    return count < 0 ? -1 : count;
}

static PyObject *linspace(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"linspace",
                                              8,
                                              3,
                                              2,
                                              3,
                                              {USMPY_start, USMPY_stop, USMPY_num, USMPY_dtype,
                                               USMPY_endpoint, USMPY_device, USMPY_queue, USMPY_usm_type}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[8];
    usm_dtype dtype = USM_NO_DTYPE;
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_deferred_poll();
    Py_complex start, stop;
    bool is_complex = false;
    if (parse_limit(state, out[0], "start", &start, &is_complex) < 0 ||
        parse_limit(state, out[1], "stop", &stop, &is_complex) < 0) {
        return NULL;
    }
    int64_t count = parse_num(out[2]);
    int endpoint = count < 0 ? -1 : usmpy_bool(out[4], 1, "linspace", "endpoint");
    int kind = endpoint < 0 ? -1 : usmpy_kind(out[7], USM_DEVICE);
    if (kind < 0 || (usmpy_given(out[3]) && usmpy_dtype_convert(state, out[3], &dtype) < 0)) {
        return NULL;
    }
    PyObject *queue = usmpy_placement(state, out[5], out[6]);
    if (queue == NULL) {
        return NULL;
    }
    PyObject *result =
        linspace_numbers(state, start, stop, is_complex, count, endpoint, dtype, queue, (usm_kind)kind);
    Py_DECREF(queue);
    return result;
}

PyMethodDef usmpy_sequence_functions[] = {
    USMPY_METHOD("arange", arange, USMPY_DOC_arange),
    USMPY_METHOD("linspace", linspace, USMPY_DOC_linspace),
    {0},
};
