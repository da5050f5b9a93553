/* arange and linspace: Python numbers of any size become the sequences that the core computes. */
#include "creation.h"
#include "docstrings.h"
#include "py/args.h"
#include "py/arrays/hints.h"
#include "py/objects/placement.h"

#include "core/ops/sequence.h"

/* 0, or -1 with TypeError where no sequence has this type. */
static int check_dtype(const char *function, usm_dtype dtype)
{
    if (dtype == USM_BOOL || dtype >= USM_COMPUTED_DTYPES) {
        return usmpy_refuse(PyExc_TypeError,
                            "%s(): dtype is %s; an integer, floating-point or complex type is allowed",
                            function, usm_dtype_table[dtype].name);
    }
    return 0;
}

/*
 * An int, float or complex from anything that represents one number: Python's own, values of 0 dimensions of
 * any library, and objects with __index__ or __float__. New reference; NULL with TypeError that names the
 * parameter, or with what the object itself raised.
 */
static PyObject *to_number(usmpy_state *state, PyObject *argument, const char *parameter)
{
    PyObject *number;
    usm_dtype dtype;
    int found = usmpy_host_value(state, argument, &number, &dtype);
    if (found > 0) {
        return number;
    }
    if (found < 0 && !PyErr_ExceptionMatches(PyExc_BufferError)) {
        usmpy_name_argument(parameter);
        return NULL;
    }
    PyErr_Clear(); /* numbers of a type that is not exchanged, such as numpy.longdouble, convert below */
    if (usmpy_has_protocol(argument)) { /* it is an array */
        return usmpy_wrong_type(parameter, argument, "a number is allowed");
    }
    number = PyIndex_Check(argument) ? usmpy_index_of(argument, parameter, -1, "a number is allowed")
             : PyNumber_Check(argument) && !PySequence_Check(argument) ? PyNumber_Float(argument)
                                                                       : NULL;
    if (number == NULL && !PyIndex_Check(argument) &&
        (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_TypeError) ||
         PyErr_ExceptionMatches(PyExc_ValueError))) { /* texts and records of NumPy */
        PyErr_Clear();
        usmpy_error_format(PyExc_TypeError, "%s is %.100R; a number is allowed", parameter, argument);
    }
    return number;
}

/* An int whose sums with others of the kind do not overflow. */
static bool is_small(PyObject *number, int64_t *value)
{
    int overflow;
    *value = PyLong_AsLongLongAndOverflow(number, &overflow);
    return overflow == 0 && *value < INT64_C(1) << 60 && *value > -(INT64_C(1) << 60);
}

/* ceil((stop - start) / step) for Python ints of any size; -1 with an exception. */
static int64_t count_integers(PyObject *const *numbers)
{
    int64_t count = -1, from, to, by;
    if (is_small(numbers[0], &from) && is_small(numbers[1], &to) && is_small(numbers[2], &by)) {
        count = by > 0 ? (to - from + by - 1) / by : (from - to - by - 1) / -by;
        return count > 0 ? count : 0;
    }
    PyObject *range = PyObject_Vectorcall((PyObject *)&PyRange_Type, numbers, 3, NULL);
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
        return usmpy_refuse(
            PyExc_ValueError,
            "arange(): start and stop must be finite, with fewer than 2**63 steps between them");
    }
    int64_t whole = count <= 0 ? 0 : (int64_t)count;
    return whole + ((double)whole < count);
}

/* The sequence of integers. The first and the last element must fit the dtype: the others then do too. */
static int set_integers(PyObject *const *numbers, usm_dtype dtype, usm_sequence *sequence)
{
    unsigned char element[USM_MAX_PATTERN];
    PyObject *start = numbers[0], *step = numbers[2], *last = NULL;
    PyObject *steps = PyLong_FromLongLong(sequence->count > 0 ? sequence->count - 1 : 0);
    if (steps != NULL) {
        Py_SETREF(steps, PyNumber_Multiply(steps, step));
        last = steps == NULL ? NULL : PyNumber_Add(start, steps);
    }
    int status = last == NULL ? -1 : 0;
    for (int i = 0; status == 0 && sequence->count > 0 && i < 2; i++) {
        status = usmpy_scalar_to_element(i == 0 ? start : last, dtype, element);
    }
    Py_XDECREF(steps);
    Py_XDECREF(last);
    /* Sequences are computed modulo 2**64. */
    sequence->istart = (int64_t)PyLong_AsUnsignedLongLongMask(start);
    sequence->istep = (int64_t)PyLong_AsUnsignedLongLongMask(step);
    return status;
}

/* The sequence from numbers[0] to numbers[1] by numbers[2], all ints (`integral`) or some floats. 0 or -1. */
static int set_sequence(PyObject *const *numbers, bool integral, usm_dtype dtype, const usm_device *device,
                        usm_sequence *sequence)
{
    *sequence = (usm_sequence){.dtype = usm_sequence_dtype(dtype, device)};
    bool integer_type = usm_dtype_table[sequence->dtype].kind <= USM_DTYPE_KIND_UINT;
    int zero = PyObject_Not(numbers[2]);
    if (zero != 0) {
        return zero < 0 ? -1 : usmpy_refuse(PyExc_ValueError, "step is 0; any other number is allowed");
    }
    if (integral && integer_type) {
        sequence->count = count_integers(numbers);
        return sequence->count < 0 ? -1 : set_integers(numbers, dtype, sequence);
    }
    sequence->start = PyFloat_AsDouble(numbers[0]);
    sequence->step = PyFloat_AsDouble(numbers[2]);
    double stop = PyFloat_AsDouble(numbers[1]);
    if (PyErr_Occurred()) {
        return -1;
    }
    if (integer_type) { /* fractions are computed in double precision, then truncated */
        sequence->dtype = USM_FLOAT64;
    }
    sequence->count =
        integral ? count_integers(numbers) : count_floats(sequence->start, stop, sequence->step);
    return sequence->count < 0 ? -1 : 0;
}

/* start, stop and step as Python numbers: new references, NULL where none was made. 0 or -1. */
static int parse_numbers(usmpy_state *state, PyObject *const *arguments, PyObject **numbers, bool *integral)
{
    static const char *const parameters[] = {"start", "stop", "step"};
    bool only_stop = !usmpy_given(arguments[1]); /* then the first argument is where to stop */
    PyObject *const given[] = {only_stop ? NULL : arguments[0], arguments[!only_stop], arguments[2]};
    *integral = true;
    for (int i = 0; i < 3; i++) {
        numbers[i] =
            usmpy_given(given[i]) ? to_number(state, given[i], parameters[i]) : PyLong_FromLong(i == 2);
        if (numbers[i] == NULL) {
            return -1;
        }
        if (PyComplex_Check(numbers[i])) {
            return usmpy_refuse(PyExc_TypeError, "%s is %.100R; a real number is allowed", parameters[i],
                                given[i]);
        }
        *integral = *integral && PyLong_Check(numbers[i]);
    }
    return 0;
}

/* arguments: start, stop, step, dtype, device, queue, usm_type. */
static PyObject *arange(usmpy_state *state, PyObject *const *arguments)
{
    PyObject *numbers[3] = {NULL, NULL, NULL};
    usmpy_array *array = NULL;
    bool integral;
    usmpy_target target;
    if (parse_numbers(state, arguments, numbers, &integral) == 0 &&
        usmpy_parse_target(state, arguments + 3, NULL, &target) == 0) {
        const usm_device *device = usmpy_queue_of(target.queue)->device;
        usm_dtype dtype = integral && target.dtype == USM_NO_DTYPE ? USM_INT64 : usmpy_target_float(&target);
        usm_sequence sequence;
        if (check_dtype("arange", dtype) == 0 &&
            set_sequence(numbers, integral, dtype, device, &sequence) == 0) {
            array =
                usmpy_array_empty(state, target.queue, target.kind, dtype, 1, &sequence.count, 'C', false);
        }
        if (array != NULL) {
            const usm_view dst = usmpy_view(array);
            usm_error error;
            usm_status status = usm_sequence_submit(usmpy_queue_of(target.queue), &dst, &sequence, &error);
            array = usmpy_array_submitted(array, status, &error);
        }
        Py_DECREF(target.queue);
    }
    for (int i = 0; i < 3; i++) {
        Py_XDECREF(numbers[i]);
    }
    return (PyObject *)array;
}
USMPY_FUNCTION(arange)

/* A limit of a linspace, real and imaginary part; *is_complex becomes true for complex numbers. 0 or -1. */
static int parse_limit(usmpy_state *state, PyObject *argument, const char *parameter, double *limit,
                       bool *is_complex)
{
    PyObject *number = to_number(state, argument, parameter);
    if (number == NULL) {
        return -1;
    }
    *is_complex = *is_complex || PyComplex_Check(number);
    Py_complex value = PyComplex_AsCComplex(number);
    Py_DECREF(number);
    limit[0] = value.real;
    limit[1] = value.imag;
    return value.real == -1.0 && PyErr_Occurred() ? -1 : 0;
}

/* The type of a linspace; USM_NO_DTYPE with TypeError. */
static usm_dtype dtype_of_linspace(const usmpy_target *target, bool is_complex)
{
    usm_dtype dtype = usmpy_target_float(target);
    if (is_complex && target->dtype == USM_NO_DTYPE) {
        dtype = dtype == USM_FLOAT64 ? USM_COMPLEX128 : USM_COMPLEX64;
    }
    if (check_dtype("linspace", dtype) < 0) {
        return USM_NO_DTYPE;
    }
    if (is_complex && usm_dtype_table[dtype].kind != USM_DTYPE_KIND_COMPLEX) {
        PyErr_Format(PyExc_TypeError, "start or stop is complex and dtype is %s; a complex type is needed",
                     usm_dtype_table[dtype].name);
        return USM_NO_DTYPE;
    }
    return dtype;
}

/* arguments: start, stop, num, dtype, endpoint, device, queue, usm_type. */
static PyObject *linspace(usmpy_state *state, PyObject *const *arguments)
{
    double start[2], stop[2];
    bool is_complex = false;
    int64_t count;
    usmpy_target target;
    if (parse_limit(state, arguments[0], "start", start, &is_complex) < 0 ||
        parse_limit(state, arguments[1], "stop", stop, &is_complex) < 0 ||
        usmpy_parse_int(arguments[2], "num", &count) < 0) {
        return NULL;
    }
    if (count < 0) {
        return usmpy_error_format(PyExc_ValueError, "num is %.100R; 0 or more is allowed", arguments[2]);
    }
    int endpoint = usmpy_bool(arguments[4], 1, "linspace", "endpoint");
    PyObject *const options[] = {arguments[3], arguments[5], arguments[6], arguments[7]};
    if (endpoint < 0 || usmpy_parse_target(state, options, NULL, &target) < 0) {
        return NULL;
    }
    usm_dtype dtype = dtype_of_linspace(&target, is_complex);
    usmpy_array *array = dtype == USM_NO_DTYPE ? NULL
                                               : usmpy_array_empty(state, target.queue, target.kind, dtype, 1,
                                                                   &count, 'C', false);
    if (array != NULL) {
        const usm_view dst = usmpy_view(array);
        usm_error error;
        usm_status status =
            usm_linspace_submit(usmpy_queue_of(target.queue), &dst, start, stop, endpoint, &error);
        array = usmpy_array_submitted(array, status, &error);
    }
    Py_DECREF(target.queue);
    return (PyObject *)array;
}
USMPY_FUNCTION(linspace)

PyMethodDef usmpy_sequence_functions[] = {
    USMPY_ROW(arange),
    USMPY_ROW(linspace),
    {0},
};
