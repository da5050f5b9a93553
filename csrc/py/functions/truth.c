/*
 * Truth values, element by element: logical_and and the like, & | ^ ~ of arrays of bool, isnan and the
 * like.
 */
#include "compare.h"
#include "docstrings.h"
#include "py/args.h"
#include "py/arrays/hints.h"
#include "py/arrays/operands.h"
#include "py/objects/placement.h"

#include "core/ops/logic.h"

#define LOGIC(n, table)                                \
    {                                                  \
        n, 0, false, USM_BOOL, usm_logic_submit, table \
    }
#define CLASS(what)                                      \
    {                                                    \
        1, 0, false, USM_BOOL, usm_classify_submit, what \
    }

static const usmpy_elementwise and_row = LOGIC(2, USM_AND), or_row = LOGIC(2, USM_OR),
                               xor_row = LOGIC(2, USM_XOR), not_row = LOGIC(1, USM_NOR),
                               nan_row = CLASS(USM_IS_NAN), infinite_row = CLASS(USM_IS_INFINITE),
                               finite_row = CLASS(USM_IS_FINITE);

PyObject *usmpy_truth_of(usmpy_state *state, PyObject *argument, const char *function)
{
    usmpy_array *array = (usmpy_array *)argument;
    if (!usmpy_is_array(state, argument)) {
        PyObject *number;
        int found = usmpy_host_scalar(state, argument, &number);
        int truth = found > 0 ? PyObject_IsTrue(number) : found;
        if (found > 0) {
            Py_DECREF(number);
        }
        return truth < 0 ? NULL : found > 0 ? PyBool_FromLong(truth) : Py_NewRef(argument);
    }
    if (array->dtype == USM_BOOL) {
        return Py_NewRef(argument);
    }
    usmpy_array *truths =
        usmpy_check_computed(array, function) < 0
            ? NULL
            : usmpy_array_empty_like(array, array->queue, array->alloc->kind, USM_BOOL, 'K');
    if (truths != NULL && usmpy_truth(truths, array) < 0) {
        Py_CLEAR(truths);
    }
    return (PyObject *)truths;
}

/* arguments: one or two operands, of which any type counts as whether it is not 0, then out and order. */
static PyObject *logical(usmpy_state *state, const char *function, PyObject *const *arguments,
                         const usmpy_elementwise *row)
{
    PyObject *truths[2] = {NULL, NULL}, *result = NULL;
    usmpy_destination to;
    int status = usmpy_destination_parse(state, arguments[row->n], arguments[row->n + 1], function, &to);
    for (int i = 0; i < row->n && status == 0; i++) {
        truths[i] = usmpy_truth_of(state, arguments[i], function);
        status = truths[i] == NULL ? -1 : 0;
    }
    if (status == 0) {
        result = usmpy_elementwise_call(state, function, truths, row, &to);
    }
    Py_XDECREF(truths[0]);
    Py_XDECREF(truths[1]);
    return result;
}

static bool is_bool(usmpy_state *state, PyObject *object)
{
    return usmpy_is_array(state, object) ? ((usmpy_array *)object)->dtype == USM_BOOL : PyBool_Check(object);
}

/*
 * & | ^ of arrays of bool and of bools; in place, the result goes into `to`. Integers have no such
 * operator yet.
 */
static PyObject *operator(PyObject *a, PyObject *b, const char *sign, const usmpy_elementwise *row,
                          PyObject *to)
{
    usmpy_state *state = atomic_load_explicit(&usmpy_newest_state, memory_order_acquire);
    const usmpy_destination destination = {.out = (usmpy_array *)to, .order = 'K'};
    PyObject *const both[] = {a, b};
    if (!is_bool(state, a) || !is_bool(state, b)) {
        return usmpy_hint_bits(a, b, sign);
    }
    return to != NULL && usmpy_check_writable((usmpy_array *)to) < 0
               ? NULL
               : usmpy_elementwise_call(state, sign, both, row, &destination);
}

#define OPERATOR(name, sign)                                       \
    PyObject *usmpy_array_##name(PyObject *a, PyObject *b)         \
    {                                                              \
        return operator(a, b, sign, &name##_row, NULL);            \
    }                                                              \
    PyObject *usmpy_array_inplace_##name(PyObject *a, PyObject *b) \
    {                                                              \
        return operator(a, b, sign "=", &name##_row, a);           \
    }

OPERATOR(and, "&")
OPERATOR(or, "|")
OPERATOR(xor, "^")

PyObject *usmpy_array_invert(PyObject *self)
{
    static const usmpy_destination anywhere = {.order = 'K'};
    usmpy_state *state = ((usmpy_array *)self)->state;
    return is_bool(state, self) ? usmpy_elementwise_call(state, "~", &self, &not_row, &anywhere)
                                : usmpy_hint_bits(self, self, "~");
}

USMPY_FUNCTION_OF(logical_and, logical, &and_row)
USMPY_FUNCTION_OF(logical_or, logical, &or_row)
USMPY_FUNCTION_OF(logical_xor, logical, &xor_row)
USMPY_FUNCTION_OF(logical_not, logical, &not_row)
USMPY_FUNCTION_OF(isnan, usmpy_elementwise_function, &nan_row)
USMPY_FUNCTION_OF(isinf, usmpy_elementwise_function, &infinite_row)
USMPY_FUNCTION_OF(isfinite, usmpy_elementwise_function, &finite_row)

PyMethodDef usmpy_truth_functions[] = {
    USMPY_ROW(logical_and), USMPY_ROW(logical_or), USMPY_ROW(logical_xor), USMPY_ROW(logical_not),
    USMPY_ROW(isnan),       USMPY_ROW(isinf),      USMPY_ROW(isfinite),    {0},
};
