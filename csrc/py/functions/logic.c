/* Comparisons, truth values and choices, element by element; the comparisons of USMArray. */
#include "logic.h"

#include "docstrings.h"
#include "py/args.h"
#include "py/arrays/hints.h"
#include "py/arrays/mask.h"
#include "py/arrays/operands.h"
#include "py/objects/placement.h"

#include "core/ops/compare.h"
#include "core/ops/logic.h"

/* A function of n operands, which may be numbers. */
#define TRUTHS(n, ordered, submit, what)      \
    {                                         \
        n, 0, ordered, USM_BOOL, submit, what \
    }
#define RELATION(ordered, relation) TRUTHS(2, ordered, usm_compare_submit, relation)

/* By Py_LT to Py_GE, whose order is that of usm_relation. */
static const usmpy_elementwise relations[] = {
    RELATION(true, USM_RELATION_LESS),    RELATION(true, USM_RELATION_LESS_EQUAL),
    RELATION(false, USM_RELATION_EQUAL),  RELATION(false, USM_RELATION_NOT_EQUAL),
    RELATION(true, USM_RELATION_GREATER), RELATION(true, USM_RELATION_GREATER_EQUAL),
};
static const char *const functions[] = {"less",      "less_equal", "equal",
                                        "not_equal", "greater",    "greater_equal"};
_Static_assert((int)USM_RELATION_LESS == Py_LT && (int)USM_RELATION_EQUAL == Py_EQ &&
                   (int)USM_RELATION_GREATER_EQUAL == Py_GE,
               "Python's numbers of comparisons are usm_relation's");

/*
 * An integer array beside an int that its type cannot hold: every element is on the same side of it. NULL
 * without an exception for other arguments; the OverflowError of the attempt is set on entry.
 */
static PyObject *compare_beyond(usmpy_state *state, usm_relation relation, PyObject *const *arguments,
                                const usmpy_destination *to)
{
    bool first = usmpy_is_array(state, arguments[0]);
    PyObject *number = arguments[first];
    usmpy_array *array = (usmpy_array *)arguments[!first];
    usmpy_operands alone;
    int overflow;
    if (!PyErr_ExceptionMatches(PyExc_OverflowError) || !PyLong_Check(number) ||
        usm_dtype_table[array->dtype].kind > USM_DTYPE_KIND_UINT) {
        return NULL;
    }
    PyErr_Clear();
    bool above = PyLong_AsLongLongAndOverflow(number, &overflow) > 0 || overflow > 0;
    const unsigned char truth = usm_relation_holds(relation, above == first);
    if (usmpy_operands_take(state, functions[relation], &arguments[!first], 1, 0, USMPY_TAKE_CAST, &alone) <
        0) {
        return NULL;
    }
    alone.owner = first ? "x1" : "x2";
    usmpy_array *result = usmpy_operands_result(&alone, USM_BOOL, to);
    int status = result == NULL ? -1 : usmpy_array_fill(result, &truth);
    usmpy_operands_drop(&alone);
    return usmpy_operands_deliver(to, result, status);
}

/* uint64 beside a signed array: they have no common type, but they are compared by value. */
static bool differ_by_sign(usmpy_state *state, PyObject *const *arguments)
{
    return usmpy_is_array(state, arguments[0]) && usmpy_is_array(state, arguments[1]) &&
           usm_dtypes_differ_by_sign(((usmpy_array *)arguments[0])->dtype,
                                     ((usmpy_array *)arguments[1])->dtype);
}

static PyObject *compare(usmpy_state *state, usm_relation relation, PyObject *const *arguments,
                         const usmpy_destination *to)
{
    usmpy_elementwise row = relations[relation];
    row.n_free = differ_by_sign(state, arguments) ? 2 : 0;
    PyObject *result = usmpy_elementwise_call(state, functions[relation], arguments, &row, to);
    return result == NULL && row.n_free == 0 ? compare_beyond(state, relation, arguments, to) : result;
}

/*
 * Arrays and numbers are compared. For other objects with elements the answer "they differ" could be wrong,
 * so this raises. For any other object Python decides: it differs.
 */
PyObject *usmpy_array_richcompare(PyObject *self, PyObject *other, int op)
{
    static const usmpy_destination anywhere = {.order = 'K'};
    usmpy_state *state = ((usmpy_array *)self)->state;
    if (usmpy_is_array(state, other) || PyLong_Check(other) || PyFloat_Check(other) ||
        PyComplex_Check(other)) {
        return compare(state, (usm_relation)op, (PyObject *[]){self, other}, &anywhere);
    }
    PyObject *number = NULL;
    usm_dtype dtype;
    int found = PyUnicode_Check(other) ? 0 : usmpy_host_value(state, other, &number, &dtype);
    if (found > 0) {
        PyObject *result = compare(state, (usm_relation)op, (PyObject *[]){self, number}, &anywhere);
        Py_DECREF(number);
        return result;
    }
    if (found < 0 && PyErr_ExceptionMatches(PyExc_BufferError)) {
        PyObject *error = usmpy_take_exception();
        if (usmpy_has_protocol(other)) {
            usmpy_restore_exception(error);
            return NULL;
        }
        Py_DECREF(error);
        Py_RETURN_NOTIMPLEMENTED; /* pointers and structures of ctypes are no numbers */
    }
    if (found == 0 && !PyBytes_Check(other) && usmpy_has_elements(other)) {
        return PyErr_Format(PyExc_TypeError,
                            "a USMArray cannot be compared with %s %.80s, which has no queue; "
                            "asarray(other, device=x.device) makes an array on the queue of x",
                            USMPY_A(other));
    }
    return found < 0 ? NULL : Py_NewRef(Py_NotImplemented);
}

/* arguments: x1, x2, out, order. */
static PyObject *relation(usmpy_state *state, const char *function, PyObject *const *arguments,
                          usm_relation relation)
{
    usmpy_destination to;
    return usmpy_destination_parse(state, arguments[2], arguments[3], function, &to) < 0
               ? NULL
               : compare(state, relation, arguments, &to);
}

USMPY_FUNCTION_OF(equal, relation, USM_RELATION_EQUAL)
USMPY_FUNCTION_OF(not_equal, relation, USM_RELATION_NOT_EQUAL)
USMPY_FUNCTION_OF(less, relation, USM_RELATION_LESS)
USMPY_FUNCTION_OF(less_equal, relation, USM_RELATION_LESS_EQUAL)
USMPY_FUNCTION_OF(greater, relation, USM_RELATION_GREATER)
USMPY_FUNCTION_OF(greater_equal, relation, USM_RELATION_GREATER_EQUAL)

/*
 * An argument as truth values: a number as a bool, an array as one of bool, anything else as it is. New
 * reference; NULL with TypeError for types that are only stored.
 */
static PyObject *truth_of(usmpy_state *state, PyObject *argument, const char *function)
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
    if (truths == NULL) {
        return NULL;
    }
    const usm_view dst = usmpy_view(truths), src = usmpy_view(array);
    usm_queue *queue = usmpy_queue_of(array->queue);
    usm_error error;
    usm_status status = usm_truth_submit(queue, &dst, &src, usmpy_is_only_ours(truths), &error);
    return (PyObject *)usmpy_array_submitted(truths, status, &error);
}

/* arguments: one or two operands, of which any type counts as whether it is not 0, then out and order. */
static PyObject *logical(usmpy_state *state, const char *function, PyObject *const *arguments,
                         const usmpy_elementwise *row)
{
    PyObject *truths[2] = {NULL, NULL}, *result = NULL;
    usmpy_destination to;
    int status = usmpy_destination_parse(state, arguments[row->n], arguments[row->n + 1], function, &to);
    for (int i = 0; i < row->n && status == 0; i++) {
        truths[i] = truth_of(state, arguments[i], function);
        status = truths[i] == NULL ? -1 : 0;
    }
    if (status == 0) {
        result = usmpy_elementwise_call(state, function, truths, row, &to);
    }
    Py_XDECREF(truths[0]);
    Py_XDECREF(truths[1]);
    return result;
}

static const usmpy_elementwise and_row = TRUTHS(2, false, usm_logic_submit, USM_AND),
                               or_row = TRUTHS(2, false, usm_logic_submit, USM_OR),
                               xor_row = TRUTHS(2, false, usm_logic_submit, USM_XOR),
                               not_row = TRUTHS(1, false, usm_logic_submit, USM_NOR),
                               nan_row = TRUTHS(1, false, usm_classify_submit, USM_IS_NAN),
                               infinite_row = TRUTHS(1, false, usm_classify_submit, USM_IS_INFINITE),
                               finite_row = TRUTHS(1, false, usm_classify_submit, USM_IS_FINITE);

USMPY_FUNCTION_OF(logical_and, logical, &and_row)
USMPY_FUNCTION_OF(logical_or, logical, &or_row)
USMPY_FUNCTION_OF(logical_xor, logical, &xor_row)
USMPY_FUNCTION_OF(logical_not, logical, &not_row)
USMPY_FUNCTION_OF(isnan, usmpy_elementwise_function, &nan_row)
USMPY_FUNCTION_OF(isinf, usmpy_elementwise_function, &infinite_row)
USMPY_FUNCTION_OF(isfinite, usmpy_elementwise_function, &finite_row)

int usmpy_choose(usmpy_array *dst, usmpy_array *condition, usmpy_array *a, usmpy_array *b)
{
    const usm_view views[] = {usmpy_view(dst), usmpy_view(condition), usmpy_view(a), usmpy_view(b)};
    usm_error error;
    return usmpy_check(
        dst->state,
        usm_where_submit(usmpy_queue_of(dst->queue), 0, views, 4, usmpy_is_only_ours(dst), &error), &error);
}

/* arguments: condition, x1, x2, out, order. */
static PyObject *where(usmpy_state *state, PyObject *const *arguments)
{
    static const usmpy_elementwise row = {3, 1, false, USM_NO_DTYPE, usm_where_submit, 0};
    usmpy_destination to;
    if (usmpy_destination_parse(state, arguments[3], arguments[4], "where", &to) < 0) {
        return NULL;
    }
    PyObject *condition = usmpy_is_array(state, arguments[0]) ? truth_of(state, arguments[0], "where")
                                                              : Py_NewRef(arguments[0]);
    PyObject *const operands[] = {condition, arguments[1], arguments[2]};
    PyObject *result = condition == NULL ? NULL : usmpy_elementwise_call(state, "where", operands, &row, &to);
    Py_XDECREF(condition);
    return result;
}
USMPY_FUNCTION(where)

static PyObject *where_or_nonzero(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                  PyObject *kwnames)
{
    return nargs == 1 && kwnames == NULL ? usmpy_nonzero(usmpy_state_of_module(module), args[0], "where")
                                         : enter_where(module, args, nargs, kwnames);
}

PyMethodDef usmpy_logic_functions[] = {
    USMPY_ROW(equal),
    USMPY_ROW(not_equal),
    USMPY_ROW(less),
    USMPY_ROW(less_equal),
    USMPY_ROW(greater),
    USMPY_ROW(greater_equal),
    USMPY_ROW(logical_and),
    USMPY_ROW(logical_or),
    USMPY_ROW(logical_xor),
    USMPY_ROW(logical_not),
    USMPY_ROW(isnan),
    USMPY_ROW(isinf),
    USMPY_ROW(isfinite),
    USMPY_METHOD("where", where_or_nonzero, USMPY_DOC_where),
    {0},
};
