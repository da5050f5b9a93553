/* Comparisons, element by element. */
#include "compare.h"

#include "docstrings.h"
#include "py/args.h"
#include "py/arrays/operands.h"
#include "py/deferred.h"
#include "py/errors.h"
#include "py/objects/placement.h"

#include "core/ops/compare.h"

#include <string.h>

/* By usm_relation, whose order is that of Py_LT, Py_LE, Py_EQ, Py_NE, Py_GT and Py_GE. */
static const char *const functions[] = {"less",      "less_equal", "equal",
                                        "not_equal", "greater",    "greater_equal"};
_Static_assert((int)USM_RELATION_LESS == Py_LT && (int)USM_RELATION_EQUAL == Py_EQ &&
                   (int)USM_RELATION_GREATER_EQUAL == Py_GE,
               "Python's numbers of comparisons are usm_relation's");

static const char *const names[] = {"x1", "x2"};

/*
 * An integer array beside an int that its type does not hold: every element is on the same side of it. NULL
 * without an exception where that is not so; the OverflowError of the attempt is set on entry.
 */
static PyObject *compare_beyond(usmpy_state *state, usm_relation relation, PyObject *const *arguments,
                                const usmpy_destination *to)
{
    bool first = usmpy_is_array(state, arguments[0]);
    PyObject *number = arguments[first], *zero;
    usmpy_array *array = (usmpy_array *)arguments[!first];
    if (!PyErr_ExceptionMatches(PyExc_OverflowError) || !PyLong_Check(number) ||
        usm_dtype_table[array->dtype].kind > USM_KIND_UINT) {
        return NULL;
    }
    PyErr_Clear();
    zero = PyLong_FromLong(0);
    int above = zero == NULL ? -1 : PyObject_RichCompareBool(number, zero, Py_GT);
    Py_XDECREF(zero);
    if (above < 0) {
        return NULL;
    }
    const unsigned char truth = usm_relation_holds(relation, (above != 0) == first);
    usmpy_operands alone = {.function = functions[relation],
                            .owner = names[!first],
                            .n = 1,
                            .arrays = {array},
                            .queue = array->queue};
    alone.kind = (usm_kind)array->alloc->kind;
    alone.ndim = array->ndim;
    memcpy(alone.shape, usmpy_shape(array), (size_t)array->ndim * sizeof *alone.shape);
    usmpy_array *result = usmpy_operands_result(state, &alone, USM_BOOL, to);
    int status = result == NULL ? -1 : usmpy_array_fill(state, result, &truth);
    return usmpy_operands_deliver(state, to, result, status);
}

/* uint64 beside a signed array: they have no common type, and are compared by value all the same. */
static bool differ_by_sign(usmpy_state *state, PyObject *const *arguments)
{
    return usmpy_is_array(state, arguments[0]) && usmpy_is_array(state, arguments[1]) &&
           usm_dtypes_differ_by_sign((usm_dtype)((usmpy_array *)arguments[0])->dtype,
                                     (usm_dtype)((usmpy_array *)arguments[1])->dtype);
}

static PyObject *compare(usmpy_state *state, usm_relation relation, PyObject *const *arguments,
                         const usmpy_destination *to)
{
    usmpy_operands operands;
    usmpy_deferred_poll();
    bool by_sign = differ_by_sign(state, arguments);
    if (usmpy_operands_take(state, functions[relation], names, arguments, 2, by_sign ? 2 : 0, &operands) <
        0) {
        return by_sign ? NULL : compare_beyond(state, relation, arguments, to);
    }
    usmpy_array *result = NULL;
    int status = -1;
    if (!by_sign && usm_relation_needs_order(relation) &&
        usm_dtype_table[operands.dtype].kind == USM_KIND_COMPLEX) {
        PyErr_Format(PyExc_TypeError,
                     "%s(): the common type of x1 and x2 is %s, and complex numbers have no order",
                     functions[relation], usm_dtype_table[operands.dtype].name);
    } else {
        result = usmpy_operands_result(state, &operands, USM_BOOL, to);
    }
    if (result != NULL) {
        const usm_view dst = usmpy_view(result), a = usmpy_view(operands.arrays[0]),
                       b = usmpy_view(operands.arrays[1]);
        usm_error error;
        status = usmpy_check(state,
                             usm_compare_submit(usmpy_queue_of(result->queue), relation, &dst, &a, &b,
                                                usmpy_is_only_ours(result), &error),
                             &error);
    }
    usmpy_operands_drop(&operands);
    return usmpy_operands_deliver(state, to, result, status);
}

int usmpy_truth(usmpy_state *state, usmpy_array *dst, usmpy_array *array)
{
    const usm_view to = usmpy_view(dst), from = usmpy_view(array);
    usm_error error;
    return usmpy_check(
        state, usm_truth_submit(usmpy_queue_of(dst->queue), &to, &from, usmpy_is_only_ours(dst), &error),
        &error);
}

/* What might be meant as an array: not None, a str or another object without elements. */
static bool has_elements(PyObject *object)
{
    return !PyUnicode_Check(object) && !PyBytes_Check(object) && !PyType_Check(object) &&
           (PySequence_Check(object) || PyObject_CheckBuffer(object) ||
            PyObject_HasAttrString(object, "__dlpack__"));
}

/*
 * Arrays and numbers are compared; what has elements of another kind is no operand, and to say that it
 * differs would be wrong as often as right. Anything else is up to Python: it differs.
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
    int found = PyUnicode_Check(other) ? 0 : usmpy_host_scalar(state, other, &number);
    if (found > 0) {
        PyObject *result = compare(state, (usm_relation)op, (PyObject *[]){self, number}, &anywhere);
        Py_DECREF(number);
        return result;
    }
    if (found == 0 && has_elements(other)) {
        return PyErr_Format(PyExc_TypeError,
                            "a USMArray cannot be compared with %s %s, which has no queue; "
                            "asarray(other, device=x.device) makes an array on the queue of x",
                            USMPY_A(other));
    }
    return found < 0 ? NULL : Py_NewRef(Py_NotImplemented);
}

static PyObject *relation_function(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                   PyObject *kwnames, int op)
{
    const usmpy_signature signature = {
        functions[op], 4, 2, 2, 2, {USMPY_x1, USMPY_x2, USMPY_out, USMPY_order}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[4];
    usmpy_destination to;
    return usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0 ||
                   usmpy_destination_parse(state, out + 2, signature.function, &to) < 0
               ? NULL
               : compare(state, (usm_relation)op, out, &to);
}

#define RELATION(name, op)                                                                              \
    static PyObject *name(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) \
    {                                                                                                   \
        return relation_function(module, args, nargs, kwnames, op);                                     \
    }

RELATION(equal, Py_EQ)
RELATION(not_equal, Py_NE)
RELATION(less, Py_LT)
RELATION(less_equal, Py_LE)
RELATION(greater, Py_GT)
RELATION(greater_equal, Py_GE)

PyMethodDef usmpy_compare_functions[] = {
    USMPY_METHOD("equal", equal, USMPY_DOC_equal),
    USMPY_METHOD("not_equal", not_equal, USMPY_DOC_not_equal),
    USMPY_METHOD("less", less, USMPY_DOC_less),
    USMPY_METHOD("less_equal", less_equal, USMPY_DOC_less_equal),
    USMPY_METHOD("greater", greater, USMPY_DOC_greater),
    USMPY_METHOD("greater_equal", greater_equal, USMPY_DOC_greater_equal),
    {0},
};
