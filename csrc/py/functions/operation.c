/* Elementwise operations: one function for all rows of the table, and Python's operators. */
#include "operation.h"

#include "docstrings.h"
#include "py/args.h"
#include "py/arrays/hints.h"
#include "py/arrays/operands.h"
#include "py/deferred.h"
#include "py/errors.h"
#include "py/objects/placement.h"

#include "core/ops/operation.h"

#include <string.h>

/* TypeError with the kinds of numbers that the operation takes. */
static void refuse_type(int operation, const usmpy_operands *operands)
{
    static const struct {
        usm_dtype dtype;
        const char *kind;
    } samples[] = {{USM_BOOL, "bool"},
                   {USM_INT32, "integers"},
                   {USM_FLOAT32, "real numbers"},
                   {USM_COMPLEX64, "complex numbers"}};
    enum { SAMPLES = sizeof samples / sizeof *samples };
    char allowed[80] = "";
    bool takes[SAMPLES];
    int count = 0;
    for (int i = 0; i < SAMPLES; i++) {
        takes[i] = usm_operation_types_of(operation, samples[i].dtype, true).computed != USM_NO_DTYPE;
        count += takes[i];
    }
    for (int i = 0, left = count; i < SAMPLES; i++) {
        if (takes[i]) {
            strcat(allowed, left == count ? "" : left == 1 ? " and " : ", ");
            strcat(allowed, samples[i].kind);
            left--;
        }
    }
    PyErr_Format(PyExc_TypeError,
                 "%s() is not defined for dtype %s%s; %s are allowed (astype() casts an array)",
                 operands->function, usm_dtype_table[operands->dtype].name,
                 operands->n == 1 ? ", which x has" : ", the common type of x1 and x2", allowed);
}

static PyObject *operate(usmpy_state *state, int operation, PyObject *const *arguments,
                         const usmpy_destination *to)
{
    usmpy_operands operands;
    usmpy_deferred_poll();
    if (usmpy_operands_take_uncast(state, usm_operation_name(operation), arguments,
                                   usm_operation_inputs(operation), &operands) < 0) {
        return NULL;
    }
    const usm_operation_types types = usm_operation_types_of(operation, operands.dtype, operands.wide);
    usmpy_array *result = NULL;
    int status = -1;
    if (types.computed == USM_NO_DTYPE) {
        refuse_type(operation, &operands);
    } else {
        result = usmpy_operands_result(&operands, types.result, to);
    }
    if (result != NULL) {
        usm_view views[1 + USMPY_OPERANDS];
        usm_error error;
        views[0] = usmpy_view(result);
        for (int i = 0; i < operands.n; i++) {
            views[1 + i] = usmpy_view(operands.arrays[i]);
        }
        status = usmpy_check(state,
                             usm_operation_submit(usmpy_queue_of(result->queue), operation, &types, views,
                                                  usmpy_is_only_ours(result), &error),
                             &error);
    }
    usmpy_operands_drop(&operands);
    return usmpy_operands_deliver(to, result, status);
}

/* The arguments of a call, then out and order. */
static PyObject *operation_function(usmpy_state *state, const char *function, PyObject *const *arguments,
                                    int operation)
{
    int n = usm_operation_inputs(operation);
    usmpy_destination to;
    return usmpy_destination_parse(state, arguments[n], arguments[n + 1], function, &to) < 0
               ? NULL
               : operate(state, operation, arguments, &to);
}

#define FUNCTION(name, inputs, kinds, copies, modular, truth, promotes, result, costly) \
    USMPY_FUNCTION_OF(name, operation_function, USM_OP_##name)
USM_OPERATION_TABLE(FUNCTION)

#define ROW(name, inputs, kinds, copies, modular, truth, promotes, result, costly) USMPY_ROW(name),
PyMethodDef usmpy_operation_functions[] = {USM_OPERATION_TABLE(ROW){0}};

/* 1: an array or a number, also a scalar of NumPy or ctypes; 0: neither; -1 with an exception. */
static int is_operand(usmpy_state *state, PyObject *object)
{
    PyObject *number = NULL;
    if (usmpy_is_array(state, object) || PyLong_Check(object) || PyFloat_Check(object)) {
        return 1;
    }
    int found = PyUnicode_Check(object) ? 0 : usmpy_host_scalar(state, object, &number);
    Py_XDECREF(number);
    return found;
}

/* x ** 2 is x * x: the same value for integers, and at most as far from the exact one for other numbers. */
static bool is_square(usmpy_state *state, int operation, PyObject *a, PyObject *b)
{
    int64_t exponent;
    return operation == USM_OP_pow && usmpy_is_array(state, a) && ((usmpy_array *)a)->dtype != USM_BOOL &&
           usmpy_small_int(b, &exponent) && exponent == 2;
}

/*
 * One of Python's operators: a + b, or a += b. In place, the result is in `a`, or this raises: NotImplemented
 * would let Python bind the name to another object.
 */
static PyObject *binary_operator(int operation, PyObject *a, PyObject *b, bool in_place)
{
    usmpy_state *state = atomic_load_explicit(&usmpy_newest_state, memory_order_acquire);
    const usmpy_destination to = {
        .out = in_place ? (usmpy_array *)a : NULL, .order = 'K', .in_place = in_place};
    PyObject *const arguments[] = {a, b};
    bool left = usmpy_is_array(state, a);
    PyObject *other = left ? b : a;
    int found = is_operand(state, other);
    if (found == 0) {
        return usmpy_hint_operand(usm_operation_name(operation), other, left && !in_place);
    }
    if (found < 0 || (in_place && usmpy_check_writable((usmpy_array *)a) < 0)) {
        return NULL;
    }
    return operate(state, is_square(state, operation, a, b) ? USM_OP_square : operation, arguments, &to);
}

static PyObject *unary_operator(int operation, PyObject *self)
{
    static const usmpy_destination anywhere = {.order = 'K'};
    return operate(((usmpy_array *)self)->state, operation, &self, &anywhere);
}

#define OPERATOR_1(name)                            \
    PyObject *usmpy_array_##name(PyObject *self)    \
    {                                               \
        return unary_operator(USM_OP_##name, self); \
    }
#define OPERATOR_2(name)                                           \
    PyObject *usmpy_array_##name(PyObject *a, PyObject *b)         \
    {                                                              \
        return binary_operator(USM_OP_##name, a, b, false);        \
    }                                                              \
    PyObject *usmpy_array_inplace_##name(PyObject *a, PyObject *b) \
    {                                                              \
        return binary_operator(USM_OP_##name, a, b, true);         \
    }
USMPY_OPERATORS_1(OPERATOR_1)
USMPY_OPERATORS_2(OPERATOR_2)

static PyObject *power(PyObject *a, PyObject *b, PyObject *modulus, bool in_place)
{
    if (modulus != Py_None) {
        PyErr_SetString(PyExc_TypeError,
                        "pow(): a modulus is not supported for USMArrays; use pow(x, y) % modulus");
        return NULL;
    }
    return binary_operator(USM_OP_pow, a, b, in_place);
}

PyObject *usmpy_array_power(PyObject *a, PyObject *b, PyObject *modulus)
{
    return power(a, b, modulus, false);
}

PyObject *usmpy_array_inplace_power(PyObject *a, PyObject *b, PyObject *modulus)
{
    return power(a, b, modulus, true);
}

PyObject *usmpy_array_divmod(PyObject *a, PyObject *b)
{
    PyObject *quotient = binary_operator(USM_OP_floor_divide, a, b, false);
    if (quotient == NULL || quotient == Py_NotImplemented) {
        return quotient;
    }
    PyObject *rest = binary_operator(USM_OP_remainder, a, b, false);
    PyObject *both = rest == NULL ? NULL : PyTuple_Pack(2, quotient, rest);
    Py_DECREF(quotient);
    Py_XDECREF(rest);
    return both;
}
