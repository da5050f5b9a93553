/* Comparisons, element by element. */
#include "compare.h"

#include "docstrings.h"
#include "py/args.h"
#include "py/arrays/operands.h"
#include "py/deferred.h"
#include "py/objects/placement.h"

#include "kernels/abi/compare.h"

#include <string.h>

typedef struct relation {
    const char *function;
    uint8_t true_for; /* relations */
    uint8_t truths;   /* the table of logic.cl for bool */
    bool ordered;     /* complex numbers have none of these */
} relation;

/* By Py_LT, Py_LE, Py_EQ, Py_NE, Py_GT, Py_GE. */
static const relation relations[] = {
    {"less", USM_LESS, 2, true},       {"less_equal", USM_LESS | USM_EQUAL, 11, true},
    {"equal", USM_EQUAL, 9, false},    {"not_equal", USM_LESS | USM_GREATER | USM_UNORDERED, 6, false},
    {"greater", USM_GREATER, 4, true}, {"greater_equal", USM_GREATER | USM_EQUAL, 13, true},
};

static const char *const names[] = {"x1", "x2"};

/* Numbers come second, where the kernels have a loop for one that stays the same. */
static uint8_t mirrored(uint8_t true_for)
{
    return (uint8_t)((true_for & (USM_EQUAL | USM_UNORDERED)) | (true_for & USM_LESS ? USM_GREATER : 0) |
                     (true_for & USM_GREATER ? USM_LESS : 0));
}

static int submit_relation(usmpy_state *state, usmpy_array *dst, usmpy_array *a, usmpy_array *b,
                           const relation *relation)
{
    static const usmpy_elements_kernel kernels[USM_COMPUTED_DTYPES] = {
        [USM_BOOL] = {"logic", "usm_logic", NULL},
        [USM_INT8] = {"compare", "usm_compare_int8", "-D USM_ONLY=1"},
        [USM_INT16] = {"compare", "usm_compare_int16", "-D USM_ONLY=2"},
        [USM_INT32] = {"compare", "usm_compare_int32", "-D USM_ONLY=3"},
        [USM_INT64] = {"compare", "usm_compare_int64", "-D USM_ONLY=4"},
        [USM_UINT8] = {"compare", "usm_compare_uint8", "-D USM_ONLY=5"},
        [USM_UINT16] = {"compare", "usm_compare_uint16", "-D USM_ONLY=6"},
        [USM_UINT32] = {"compare", "usm_compare_uint32", "-D USM_ONLY=7"},
        [USM_UINT64] = {"compare", "usm_compare_uint64", "-D USM_ONLY=8"},
        [USM_FLOAT16] = {"compare", "usm_compare_float16", "-D USM_ONLY=9"},
        [USM_FLOAT32] = {"compare", "usm_compare_float32", "-D USM_ONLY=10"},
        [USM_FLOAT64] = {"compare", "usm_compare_float64", "-D USM_ONLY=11"},
        [USM_COMPLEX64] = {"compare", "usm_compare_complex64", "-D USM_ONLY=12"},
        [USM_COMPLEX128] = {"compare", "usm_compare_complex128", "-D USM_ONLY=13"},
        [USM_BFLOAT16] = {"compare", "usm_compare_bfloat16", "-D USM_ONLY=14"},
    };
    bool swap = a->ndim == 0 && b->ndim > 0;
    usmpy_array *sources[] = {swap ? b : a, swap ? a : b};
    uint8_t op = swap ? mirrored(relation->true_for) : relation->true_for;
    if (a->dtype == USM_BOOL) { /* bits 1 and 2 change places */
        op = relation->truths;
        op = swap ? (uint8_t)((op & 9) | (op & 2) << 1 | (op & 4) >> 1) : op;
    }
    return usmpy_elements_submit(state, &kernels[a->dtype], dst, sources, 2, op, 0);
}

/*
 * An integer array beside an int that its type does not hold: every element is on the same side of it. NULL
 * without an exception where that is not so; the OverflowError of the attempt is set on entry.
 */
static PyObject *compare_beyond(usmpy_state *state, const relation *relation, PyObject *const *arguments,
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
    uint8_t holds =
        (above != 0) == first ? USM_LESS : USM_GREATER; /* of the first argument beside the second */
    const unsigned char truth = (relation->true_for & holds) != 0;
    usmpy_operands alone = {.function = relation->function,
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

/* a ? b of a uint64 and a signed array, into dst: by the bits of b, and by its sign, which decides alone. */
static int submit_signs(usmpy_state *state, usmpy_array *dst, usmpy_array *a, usmpy_array *b,
                        const relation *relation)
{
    /* Of a non-negative b, its bits say it; beside a negative one, a is greater. */
    bool true_beside_negative = (relation->true_for & USM_GREATER) != 0;
    usmpy_array *wide = usmpy_array_duplicate(state, b, b->queue, USM_DEVICE, USM_INT64, 'K');
    usmpy_array *sign =
        wide == NULL ? NULL : usmpy_array_empty_like(state, wide, wide->queue, USM_DEVICE, USM_BOOL, 'K');
    usmpy_array *zero = sign == NULL ? NULL : usmpy_number_array(state, Py_False, USM_INT64, b->queue);
    int status = -1;
    if (zero != NULL &&
        submit_relation(state, sign, wide, zero, &relations[true_beside_negative ? Py_LT : Py_GE]) == 0) {
        wide->dtype = USM_UINT64; /* nobody else has it */
        static const usmpy_elements_kernel logic = {"logic", "usm_logic", NULL};
        usmpy_array *sources[] = {dst, sign};
        status = submit_relation(state, dst, a, wide, relation);
        status = status < 0 ? -1
                            : usmpy_elements_submit(state, &logic, dst, sources, 2,
                                                    true_beside_negative ? 14 : 8, 0); /* or, and */
    }
    Py_XDECREF(zero);
    Py_XDECREF(sign);
    Py_XDECREF(wide);
    return status;
}

static bool is_signed(const usmpy_array *array)
{
    return usm_dtype_table[array->dtype].kind == USM_KIND_INT;
}

/* Integers that no integer type has all of are compared by value all the same. */
static PyObject *compare_signs(usmpy_state *state, const relation *relation, PyObject *const *arguments,
                               const usmpy_destination *to)
{
    usmpy_operands operands;
    if (usmpy_operands_take(state, relation->function, names, arguments, 2, 2, &operands) < 0) {
        return NULL;
    }
    struct relation turned = *relation;
    bool turn = operands.arrays[1]->dtype == USM_UINT64;
    turned.true_for = turn ? mirrored(relation->true_for) : relation->true_for;
    usmpy_array *result = usmpy_operands_result(state, &operands, USM_BOOL, to);
    int status = result == NULL
                     ? -1
                     : submit_signs(state, result, operands.arrays[turn], operands.arrays[!turn], &turned);
    usmpy_operands_drop(&operands);
    return usmpy_operands_deliver(state, to, result, status);
}

static bool differ_by_sign(usmpy_state *state, PyObject *const *arguments)
{
    const usmpy_array *a = (usmpy_array *)arguments[0], *b = (usmpy_array *)arguments[1];
    return usmpy_is_array(state, arguments[0]) && usmpy_is_array(state, arguments[1]) &&
           ((a->dtype == USM_UINT64 && is_signed(b)) || (b->dtype == USM_UINT64 && is_signed(a)));
}

static PyObject *compare(usmpy_state *state, const relation *relation, PyObject *const *arguments,
                         const usmpy_destination *to)
{
    usmpy_operands operands;
    usmpy_deferred_poll();
    if (differ_by_sign(state, arguments)) {
        return compare_signs(state, relation, arguments, to);
    }
    if (usmpy_operands_take(state, relation->function, names, arguments, 2, 0, &operands) < 0) {
        return compare_beyond(state, relation, arguments, to);
    }
    usmpy_array *result = NULL;
    int status = -1;
    if (relation->ordered && usm_dtype_table[operands.dtype].kind == USM_KIND_COMPLEX) {
        PyErr_Format(PyExc_TypeError,
                     "%s(): the common type of x1 and x2 is %s, and complex numbers have no order",
                     relation->function, usm_dtype_table[operands.dtype].name);
    } else {
        result = usmpy_operands_result(state, &operands, USM_BOOL, to);
    }
    if (result != NULL) {
        status = submit_relation(state, result, operands.arrays[0], operands.arrays[1], relation);
    }
    usmpy_operands_drop(&operands);
    return usmpy_operands_deliver(state, to, result, status);
}

int usmpy_truth(usmpy_state *state, usmpy_array *dst, usmpy_array *array)
{
    if (array->dtype == USM_BOOL) {
        return usmpy_array_copy(state, dst, array);
    }
    usmpy_array *zero = usmpy_number_array(state, Py_False, (usm_dtype)array->dtype, array->queue);
    int status = zero == NULL ? -1 : submit_relation(state, dst, array, zero, &relations[Py_NE]);
    Py_XDECREF(zero);
    return status;
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
        return compare(state, &relations[op], (PyObject *[]){self, other}, &anywhere);
    }
    PyObject *number = NULL;
    int found = PyUnicode_Check(other) ? 0 : usmpy_host_scalar(state, other, &number);
    if (found > 0) {
        PyObject *result = compare(state, &relations[op], (PyObject *[]){self, number}, &anywhere);
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
        relations[op].function, 4, 2, 2, 2, {USMPY_x1, USMPY_x2, USMPY_out, USMPY_order}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[4];
    usmpy_destination to;
    return usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0 ||
                   usmpy_destination_parse(state, out + 2, signature.function, &to) < 0
               ? NULL
               : compare(state, &relations[op], out, &to);
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
