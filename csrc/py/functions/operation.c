/* Elementwise operations: one function for all rows of the table, and Python's operators. */
#include "operation.h"

#include "docstrings.h"
#include "py/args.h"
#include "py/arrays/operands.h"
#include "py/deferred.h"
#include "py/errors.h"

#include "core/ops/operation.h"

static PyObject *refuse_type(const usmpy_operands *operands)
{
    return PyErr_Format(PyExc_TypeError, "%s(): %s has dtype %s, for which the operation is not defined",
                        operands->function, operands->n == 1 ? "x" : "the common type of x1 and x2",
                        usm_dtype_table[operands->dtype].name);
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
        refuse_type(&operands);
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
