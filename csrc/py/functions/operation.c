/* Elementwise operations: one function for all rows of the table, and Python's operators. */
#include "operation.h"

#include "docstrings.h"
#include "py/args.h"
#include "py/arrays/hints.h"
#include "py/arrays/operands.h"
#include "py/objects/placement.h"

#include "core/ops/operation.h"

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
    char allowed[80] = "", later[sizeof allowed];
    int count = 0;
    for (int i = (int)(sizeof samples / sizeof *samples) - 1; i >= 0; i--) {
        if (usm_operation_types_of(operation, samples[i].dtype, true).computed != USM_NO_DTYPE) {
            memcpy(later, allowed, sizeof later);
            PyOS_snprintf(allowed, sizeof allowed, "%s%s%s", samples[i].kind,
                          count == 0   ? ""
                          : count == 1 ? " and "
                                       : ", ",
                          later);
            count++;
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
    if (usmpy_operands_take(state, usm_operation_name(operation), arguments, usm_operation_inputs(operation),
                            0, USMPY_TAKE_UNCAST, &operands) < 0) {
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

/* Functions of one argument that are no rows of the table, and the built-in kernels of each. */
static const struct other {
    const char *name, *module;
    bool adds; /* small integers are added up in wide ones */
} others[] = {
    {"sum", "accumulate", true},      {"prod", "accumulate", true},      {"max", "accumulate", false},
    {"min", "accumulate", false},     {"argmax", "accumulate", false},   {"argmin", "accumulate", false},
    {"cumulative_sum", "scan", true}, {"cumulative_prod", "scan", true}, {"sort", "sort", false},
    {"argsort", "sort", false},
};
enum { OTHERS = sizeof others / sizeof *others };

/* How one of them computes. -1 with TypeError: it does not take x. */
static int plan_other(const struct other *other, const usmpy_operands *operands, usm_operation_types *types,
                      usm_operation_plan *plan)
{
    usm_dtype own = operands->dtype;
    const usm_dtype_info *info = &usm_dtype_table[own];
    const usm_queue *queue = usmpy_queue_of(operands->queue);
    if (!other->adds && info->kind == USM_DTYPE_KIND_COMPLEX) {
        return usmpy_refuse(PyExc_TypeError, "%s(): x has dtype %s; complex numbers have no order",
                            other->name, info->name);
    }
    types->result = !other->adds || info->kind > USM_DTYPE_KIND_UINT ? own
                    : info->kind == USM_DTYPE_KIND_UINT              ? USM_UINT64
                                                                     : USM_INT64;
    usm_dtype computed = own == USM_FLOAT16 || own == USM_BFLOAT16 ? USM_FLOAT32 : types->result;
    types->computed = strcmp(other->module, "sort") == 0 ? own : computed; /* sorts read the bits */
    types->result = strncmp(other->name, "arg", 3) == 0 ? USM_INT64 : types->result;
    *plan = (usm_operation_plan){.module = other->module};
    usm_operation_loops(queue, computed, plan);
    return 0;
}

/* What the plan says, in one line. */
static PyObject *describe_plan(const usm_operation_plan *plan)
{
    if (plan->copies) {
        return PyUnicode_FromString("a copy");
    }
    if (plan->instructions != NULL) {
        bool sorts = strcmp(plan->module, "sort") == 0; /* not compiled for sets of instructions */
        return PyUnicode_FromFormat("loops of the host%s%s%s%s", sorts ? "" : ", ",
                                    sorts ? "" : plan->instructions,
                                    plan->library != NULL ? ", with functions of "
                                    : plan->scalar        ? ", with scalar functions of the C library"
                                                          : "",
                                    plan->library != NULL ? plan->library : "");
    }
    return PyUnicode_FromFormat("built-in kernels of %s", plan->module);
}

static PyObject *describe(const usmpy_operands *operands, const usm_operation_types *types,
                          const usm_operation_plan *plan)
{
    PyObject *by = describe_plan(plan), *text = NULL;
    if (by != NULL) {
        text = PyUnicode_FromFormat(
            "%s of %s%s%s, computed in %s, result in %s\nby: %U", operands->function,
            usm_dtype_table[operands->arrays[0]->dtype].name, operands->n == 2 ? " and " : "",
            operands->n == 2 ? usm_dtype_table[operands->arrays[1]->dtype].name : "",
            usm_dtype_table[types->computed].name, usm_dtype_table[types->result].name, by);
    }
    Py_XDECREF(by);
    return text;
}

static PyObject *explain(usmpy_state *state, const char *name, PyObject *const *arguments)
{
    usmpy_operands operands;
    usm_operation_types types;
    usm_operation_plan plan;
    PyObject *text = NULL;
    int operation = usm_operation_named(name), n = operation < 0 ? 1 : usm_operation_inputs(operation);
    int other = 0;
    while (operation < 0 && other < OTHERS && strcmp(others[other].name, name) != 0) {
        other++;
    }
    if (other == OTHERS) {
        return PyErr_Format(
            PyExc_ValueError,
            "explain_operation(): function is '%.100s'; functions of arithmetic and mathematics, reductions, scans, "
            "sort, argsort and matmul are allowed",
            name);
    }
    if ((arguments[1] != NULL) != (n == 2)) {
        return PyErr_Format(PyExc_TypeError, "explain_operation(): %s takes %d array%s", name, n,
                            usmpy_plural(n));
    }
    if (usmpy_operands_take(state, name, arguments, n, 0, USMPY_TAKE_UNCAST, &operands) < 0) {
        return NULL;
    }
    if (operation < 0) {
        text = plan_other(&others[other], &operands, &types, &plan) < 0 ? NULL
                                                                        : describe(&operands, &types, &plan);
    } else {
        types = usm_operation_types_of(operation, operands.dtype, operands.wide);
        if (types.computed == USM_NO_DTYPE) {
            refuse_type(operation, &operands);
        } else {
            usm_operation_plan_make(usmpy_queue_of(operands.queue), operation, &types, &plan);
            text = describe(&operands, &types, &plan);
        }
    }
    usmpy_operands_drop(&operands);
    return text;
}

/* arguments: a function of usmpy or its name, x1, and x2 where the function takes two. */
static PyObject *explain_operation(usmpy_state *state, PyObject *const *arguments)
{
    PyObject *name = PyUnicode_Check(arguments[0]) ? Py_NewRef(arguments[0])
                                                   : PyObject_GetAttrString(arguments[0], "__name__");
    const char *utf8 = name == NULL ? NULL : PyUnicode_AsUTF8(name);
    PyObject *text = NULL;
    if (utf8 == NULL) {
        PyErr_Clear();
        usmpy_wrong_type("function", arguments[0], "a function of usmpy or its name is allowed");
    } else if (strcmp(utf8, "matmul") == 0 && arguments[2] != NULL) {
        text = usmpy_explain_matmul(state, arguments + 1);
    } else {
        text = explain(state, utf8, arguments + 1);
    }
    Py_XDECREF(name);
    return text;
}
USMPY_FUNCTION(explain_operation)

#define FUNCTION(name, inputs, kinds, copies, modular, truth, promotes, result, costly) \
    USMPY_FUNCTION_OF(name, operation_function, USM_OP_##name)
USM_OPERATION_TABLE(FUNCTION)

#define ROW(name, inputs, kinds, copies, modular, truth, promotes, result, costly) USMPY_ROW(name),
PyMethodDef usmpy_operation_functions[] = {USM_OPERATION_TABLE(ROW) USMPY_ROW(explain_operation), {0}};

/* 1: an array or a number, also a scalar of NumPy or ctypes; 0: neither; -1 with an exception. */
static int is_operand(usmpy_state *state, PyObject *object)
{
    PyObject *number = NULL;
    usm_dtype dtype;
    if (usmpy_is_array(state, object) || PyLong_Check(object) || PyFloat_Check(object)) {
        return 1;
    }
    int found = PyUnicode_Check(object) ? 0 : usmpy_host_value(state, object, &number, &dtype);
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
    usmpy_state *state = usmpy_find_state();
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
        return PyErr_Format(PyExc_TypeError,
                            "pow(): a modulus is not supported for USMArrays; use pow(x, y) %% modulus");
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
