/* Elementwise operations: one function for all rows of the table, and Python's operators. */
#include "operation.h"

#include "py/args.h"
#include "py/arrays/operands.h"
#include "py/deferred.h"
#include "py/errors.h"

#include "core/ops/operation.h"

static const char *const names[] = {"x1", "x2"}, *const alone[] = {"x"};

static PyObject *refuse_type(int operation, const usmpy_operands *operands)
{
    bool one = operands->n == 1;
    return PyErr_Format(PyExc_TypeError, "%s(): %s has dtype %s, for which the operation is not defined",
                        usm_operation_name(operation), one ? "x" : "the common type of x1 and x2",
                        usm_dtype_table[operands->dtype].name);
}

static PyObject *operate(usmpy_state *state, int operation, PyObject *const *arguments,
                         const usmpy_destination *to)
{
    usmpy_operands operands;
    int n = usm_operation_inputs(operation);
    usmpy_deferred_poll();
    if (usmpy_operands_take_uncast(state, usm_operation_name(operation), n == 1 ? alone : names, arguments, n,
                                   &operands) < 0) {
        return NULL;
    }
    const usm_operation_types types = usm_operation_types_of(operation, operands.dtype, operands.wide);
    usmpy_array *result = NULL;
    int status = -1;
    if (types.computed == USM_NO_DTYPE) {
        refuse_type(operation, &operands);
    } else {
        result = usmpy_operands_result(state, &operands, types.result, to);
    }
    if (result != NULL) {
        usm_view views[1 + USMPY_OPERANDS];
        usm_error error;
        views[0] = usmpy_view(result);
        for (int i = 0; i < n; i++) {
            views[1 + i] = usmpy_view(operands.arrays[i]);
        }
        status = usmpy_check(state,
                             usm_operation_submit(usmpy_queue_of(result->queue), operation, &types, views,
                                                  usmpy_is_only_ours(result), &error),
                             &error);
    }
    PyObject *delivered = usmpy_operands_deliver(state, to, result, status);
    usmpy_operands_drop(&operands);
    return delivered;
}

static PyObject *operation_function(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                    PyObject *kwnames, int operation)
{
    const usmpy_signature unary = {usm_operation_name(operation),    3, 1, 1, 1,
                                   {USMPY_x, USMPY_out, USMPY_order}};
    const usmpy_signature binary = {
        usm_operation_name(operation), 4, 2, 2, 2, {USMPY_x1, USMPY_x2, USMPY_out, USMPY_order}};
    usmpy_state *state = usmpy_state_of_module(module);
    int n = usm_operation_inputs(operation);
    PyObject *out[4];
    usmpy_destination to;
    return usmpy_parse(state, n == 1 ? &unary : &binary, args, nargs, kwnames, out) < 0 ||
                   usmpy_destination_parse(state, out + n, usm_operation_name(operation), &to) < 0
               ? NULL
               : operate(state, operation, out, &to);
}

#define FUNCTION(name, inputs, kinds, copies, modular, truth, promotes, result, costly)         \
    static PyObject *name##_function(PyObject *module, PyObject *const *args, Py_ssize_t nargs, \
                                     PyObject *kwnames)                                         \
    {                                                                                           \
        return operation_function(module, args, nargs, kwnames, USM_OP_##name);                 \
    }
USM_OPERATION_TABLE(FUNCTION)

#define METHOD(name, inputs, kinds, copies, modular, truth, promotes, result, costly) \
    USMPY_METHOD(#name, name##_function, NULL),
PyMethodDef usmpy_operation_functions[] = {USM_OPERATION_TABLE(METHOD){0}};

/* Arrays and numbers are operands; anything else may have an operator of its own. */
static bool is_operand(usmpy_state *state, PyObject *object)
{
    return usmpy_is_array(state, object) || PyLong_Check(object) || PyFloat_Check(object) ||
           PyComplex_Check(object);
}

static PyObject *binary_operator(int operation, PyObject *a, PyObject *b)
{
    static const usmpy_destination anywhere = {.order = 'K'};
    usmpy_state *state = atomic_load_explicit(&usmpy_newest_state, memory_order_acquire);
    PyObject *const arguments[] = {a, b};
    return is_operand(state, a) && is_operand(state, b) ? operate(state, operation, arguments, &anywhere)
                                                        : Py_NewRef(Py_NotImplemented);
}

static PyObject *unary_operator(int operation, PyObject *self)
{
    static const usmpy_destination anywhere = {.order = 'K'};
    return operate(((usmpy_array *)self)->state, operation, &self, &anywhere);
}

#define OPERATOR_2(name)                                   \
    PyObject *usmpy_array_##name(PyObject *a, PyObject *b) \
    {                                                      \
        return binary_operator(USM_OP_##name, a, b);       \
    }
#define OPERATOR_1(name)                            \
    PyObject *usmpy_array_##name(PyObject *self)    \
    {                                               \
        return unary_operator(USM_OP_##name, self); \
    }
OPERATOR_2(add)
OPERATOR_2(subtract)
OPERATOR_2(multiply)
OPERATOR_2(divide)
OPERATOR_2(floor_divide)
OPERATOR_2(remainder)
OPERATOR_1(negative)
OPERATOR_1(positive)
OPERATOR_1(abs)
