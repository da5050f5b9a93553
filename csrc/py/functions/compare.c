/* Comparisons, element by element, as functions and as operators of USMArray. */
#include "compare.h"

#include "docstrings.h"
#include "py/args.h"
#include "py/arrays/hints.h"
#include "py/arrays/operands.h"
#include "py/objects/placement.h"

#include "core/ops/compare.h"

#define RELATION(ordered, relation)                           \
    {                                                         \
        2, 0, ordered, USM_BOOL, usm_compare_submit, relation \
    }

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
    if (usmpy_operands_take(state, functions[relation], &arguments[!first], 1, 0, &alone) < 0) {
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

int usmpy_truth(usmpy_array *dst, usmpy_array *array)
{
    const usm_view to = usmpy_view(dst), from = usmpy_view(array);
    usm_error error;
    return usmpy_check(
        dst->state, usm_truth_submit(usmpy_queue_of(dst->queue), &to, &from, usmpy_is_only_ours(dst), &error),
        &error);
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
        PyObject *type, *error, *traceback;
        PyErr_Fetch(&type, &error, &traceback);
        if (usmpy_has_protocol(other)) {
            PyErr_Restore(type, error, traceback);
            return NULL;
        }
        Py_XDECREF(type);
        Py_XDECREF(error);
        Py_XDECREF(traceback);
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

PyMethodDef usmpy_compare_functions[] = {
    USMPY_ROW(equal),
    USMPY_ROW(not_equal),
    USMPY_ROW(less),
    USMPY_ROW(less_equal),
    USMPY_ROW(greater),
    USMPY_ROW(greater_equal),
    {0},
};
