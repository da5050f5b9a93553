/* Comparisons and functions of truth values, element by element. */
#include "compare.h"

#include "args.h"
#include "deferred.h"
#include "docstrings.h"
#include "operands.h"
#include "placement.h"

#include "../core/queue.h"

#include <string.h>

#define FEW 256 /* elements */

/* csrc/kernels/compare.cl: the relations that make a comparison true. */
enum { LESS = 1, EQUAL = 2, GREATER = 4, UNORDERED = 8 };

typedef struct relation {
    const char *function;
    uint8_t true_for; /* relations */
    uint8_t truths;   /* csrc/kernels/logic.cl: the table for bool, bit 2 * a + b */
    bool ordered;     /* complex numbers have none of these */
} relation;

/* By Py_LT, Py_LE, Py_EQ, Py_NE, Py_GT, Py_GE. */
static const relation relations[] = {
    {"less", LESS, 2, true},       {"less_equal", LESS | EQUAL, 11, true},
    {"equal", EQUAL, 9, false},    {"not_equal", LESS | GREATER | UNORDERED, 6, false},
    {"greater", GREATER, 4, true}, {"greater_equal", GREATER | EQUAL, 13, true},
};

enum { AND = 8, OR = 14, XOR = 6, NOT = 1 };

static const char *const names[] = {"x1", "x2"};

/* Numbers come second, where the kernels have a loop for one that stays the same. */
static uint8_t mirrored(uint8_t true_for)
{
    return (uint8_t)((true_for & (EQUAL | UNORDERED)) | (true_for & LESS ? GREATER : 0) |
                     (true_for & GREATER ? LESS : 0));
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

static PyObject *compare(usmpy_state *state, const relation *relation, PyObject *const *arguments)
{
    usmpy_operands operands;
    usmpy_deferred_poll();
    if (usmpy_operands_take(state, relation->function, names, arguments, 2, 0, &operands) < 0) {
        return NULL;
    }
    usmpy_array *result = NULL;
    if (relation->ordered && usm_dtype_table[operands.dtype].kind == USM_KIND_COMPLEX) {
        PyErr_Format(PyExc_TypeError, "%s(): x1 and x2 are joined as %s, and complex numbers have no order",
                     relation->function, usm_dtype_table[operands.dtype].name);
    } else {
        result = usmpy_operands_result(state, &operands, USM_BOOL);
    }
    if (result != NULL &&
        submit_relation(state, result, operands.arrays[0], operands.arrays[1], relation) < 0) {
        Py_CLEAR(result);
    }
    usmpy_operands_drop(&operands);
    return (PyObject *)result;
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

/*
 * Only what can be joined with an array: for anything else Python asks the other operand, or says that it
 * differs.
 */
PyObject *usmpy_array_richcompare(PyObject *self, PyObject *other, int op)
{
    usmpy_state *state = ((usmpy_array *)self)->state;
    if (!usmpy_is_array(state, other) && !PyLong_Check(other) && !PyFloat_Check(other) &&
        !PyComplex_Check(other)) {
        PyObject *number = NULL;
        int found = PyUnicode_Check(other) ? 0 : usmpy_host_scalar(state, other, &number);
        if (found <= 0) {
            return found < 0 ? NULL : Py_NewRef(Py_NotImplemented);
        }
        PyObject *result = compare(state, &relations[op], (PyObject *[]){self, number});
        Py_DECREF(number);
        return result;
    }
    return compare(state, &relations[op], (PyObject *[]){self, other});
}

static PyObject *relation_function(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                   PyObject *kwnames, int op)
{
    const usmpy_signature signature = {relations[op].function, 2, 2, 2, 2, {USMPY_x1, USMPY_x2}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[2];
    return usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0
               ? NULL
               : compare(state, &relations[op], out);
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

/*
 * A few truth values that lie side by side, on an idle queue of the host: a kernel's launch would take
 * longer. NULL without an exception where the general way is due.
 */
static usmpy_array *few_truths(usmpy_state *state, PyObject *const *arguments, unsigned truths)
{
    usmpy_array *a = (usmpy_array *)arguments[0], *b = (usmpy_array *)arguments[1];
    uint64_t held;
    if (!usmpy_is_array(state, arguments[0]) || !usmpy_is_array(state, arguments[1]) ||
        a->dtype != USM_BOOL || b->dtype != USM_BOOL || (a->flags & b->flags & USM_C_CONTIGUOUS) == 0 ||
        a->size > FEW || a->size == 0 || a->ndim != b->ndim ||
        memcmp(usmpy_shape(a), usmpy_shape(b), (size_t)a->ndim * sizeof(int64_t)) != 0) {
        return NULL;
    }
    usm_queue *queue = usmpy_queue_of(a->queue);
    const usm_access accesses[] = {{a->alloc, USM_READ}, {b->alloc, USM_READ}};
    if (usmpy_queue_of(b->queue) != queue || !usm_queue_may_begin_now(queue)) {
        return NULL;
    }
    usm_kind kind = (usm_kind)(a->alloc->kind > b->alloc->kind ? a->alloc->kind : b->alloc->kind);
    usmpy_array *result =
        usmpy_array_empty(state, a->queue, kind, USM_BOOL, a->ndim, usmpy_shape(a), 'C', false);
    if (result == NULL) {
        return NULL;
    }
    if (!usm_alloc_is_untouched(result->alloc) ||
        !usm_queue_begin_now(queue, accesses, a == b ? 1 : 2, &held)) {
        Py_DECREF(result);
        return NULL;
    }
    for (int64_t i = 0; i < a->size; i++) {
        result->data[i] = (char)(truths >> (2 * (a->data[i] != 0) + (b->data[i] != 0)) & 1);
    }
    usm_queue_end_now(held);
    return result;
}

/* and, or, xor of two; `not` of one, as a table of x and x. */
static PyObject *logical(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                         const usmpy_signature *signature, uint8_t truths)
{
    static const usmpy_elements_kernel logic = {"logic", "usm_logic", NULL};
    static const char *const one[] = {"x"};
    const char *function = signature->function;
    int n = signature->n;
    usmpy_state *state = usmpy_state_of_module(module);
    usmpy_operands operands;
    PyObject *out[2];
    if (usmpy_parse(state, signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_deferred_poll();
    out[1] = out[n - 1];
    usmpy_array *result = few_truths(state, out, truths);
    if (result != NULL || PyErr_Occurred() ||
        usmpy_operands_take(state, function, n == 1 ? one : names, out, n, 0, &operands) < 0) {
        return (PyObject *)result;
    }
    if (operands.dtype != USM_BOOL) {
        PyErr_Format(PyExc_TypeError,
                     "%s(): %s dtype %s; bool is allowed (array API standard; astype(x, bool) makes it)",
                     function, n == 1 ? "x has" : "x1 and x2 are joined as",
                     usm_dtype_table[operands.dtype].name);
    } else {
        result = usmpy_operands_result(state, &operands, USM_BOOL);
    }
    usmpy_array *sources[] = {operands.arrays[0], operands.arrays[n - 1]};
    if (result != NULL && usmpy_elements_submit(state, &logic, result, sources, 2, truths, 0) < 0) {
        Py_CLEAR(result);
    }
    usmpy_operands_drop(&operands);
    return (PyObject *)result;
}

#define LOGICAL(name, truths, n, ...)                                                                   \
    static PyObject *name(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) \
    {                                                                                                   \
        static const usmpy_signature own = {#name, n, n, n, n, {__VA_ARGS__}};                          \
        return logical(module, args, nargs, kwnames, &own, truths);                                     \
    }

LOGICAL(logical_and, AND, 2, USMPY_x1, USMPY_x2)
LOGICAL(logical_or, OR, 2, USMPY_x1, USMPY_x2)
LOGICAL(logical_xor, XOR, 2, USMPY_x1, USMPY_x2)
LOGICAL(logical_not, NOT, 1, USMPY_x)

/* csrc/kernels/logic.cl */
enum { IS_NAN = 0, IS_INFINITE = 1, IS_FINITE = 2 };

static int submit_classify(usmpy_state *state, usmpy_array *dst, usmpy_array *x, int what)
{
    static const struct {
        usmpy_elements_kernel kernel;
        int64_t infinity;
    } kinds[USM_COMPUTED_DTYPES] = {
        [USM_FLOAT16] = {{"classify", "usm_classify_2", "-D USM_ONLY=2"}, 0x7c00},
        [USM_BFLOAT16] = {{"classify", "usm_classify_2", "-D USM_ONLY=2"}, 0x7f80},
        [USM_FLOAT32] = {{"classify", "usm_classify_4", "-D USM_ONLY=4"}, 0x7f800000},
        [USM_COMPLEX64] = {{"classify", "usm_classify_4_4", "-D USM_ONLY=44"}, 0x7f800000},
        [USM_FLOAT64] = {{"classify", "usm_classify_8", "-D USM_ONLY=8"}, 0x7ff0000000000000},
        [USM_COMPLEX128] = {{"classify", "usm_classify_8_8", "-D USM_ONLY=88"}, 0x7ff0000000000000},
    };
    if (kinds[x->dtype].kernel.function == NULL) { /* integers: all finite */
        const unsigned char one = what == IS_FINITE;
        return usmpy_array_fill(state, dst, &one);
    }
    return usmpy_elements_submit(state, &kinds[x->dtype].kernel, dst, &x, 1, what, kinds[x->dtype].infinity);
}

static PyObject *classify(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                          const char *function, int what)
{
    static const char *const one[] = {"x"};
    const usmpy_signature signature = {function, 1, 1, 1, 1, {USMPY_x}};
    usmpy_state *state = usmpy_state_of_module(module);
    usmpy_operands operands;
    PyObject *x;
    if (usmpy_parse(state, &signature, args, nargs, kwnames, &x) < 0) {
        return NULL;
    }
    usmpy_deferred_poll();
    if (usmpy_operands_take(state, function, one, &x, 1, 0, &operands) < 0) {
        return NULL;
    }
    usmpy_array *result = NULL;
    if (operands.dtype == USM_BOOL) {
        PyErr_Format(PyExc_TypeError,
                     "%s(): x has dtype bool; a numeric type is allowed (array API standard)", function);
    } else {
        result = usmpy_operands_result(state, &operands, USM_BOOL);
    }
    if (result != NULL && submit_classify(state, result, operands.arrays[0], what) < 0) {
        Py_CLEAR(result);
    }
    usmpy_operands_drop(&operands);
    return (PyObject *)result;
}

/* isnan and its like are macros of the C library. */
#define CLASSIFY(name, function, what)                                                                  \
    static PyObject *name(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) \
    {                                                                                                   \
        return classify(module, args, nargs, kwnames, function, what);                                  \
    }

CLASSIFY(is_nan, "isnan", IS_NAN)
CLASSIFY(is_infinite, "isinf", IS_INFINITE)
CLASSIFY(is_finite, "isfinite", IS_FINITE)

PyMethodDef usmpy_compare_functions[] = {
    USMPY_METHOD("equal", equal, USMPY_DOC_equal),
    USMPY_METHOD("not_equal", not_equal, USMPY_DOC_not_equal),
    USMPY_METHOD("less", less, USMPY_DOC_less),
    USMPY_METHOD("less_equal", less_equal, USMPY_DOC_less_equal),
    USMPY_METHOD("greater", greater, USMPY_DOC_greater),
    USMPY_METHOD("greater_equal", greater_equal, USMPY_DOC_greater_equal),
    USMPY_METHOD("logical_and", logical_and, USMPY_DOC_logical_and),
    USMPY_METHOD("logical_or", logical_or, USMPY_DOC_logical_or),
    USMPY_METHOD("logical_xor", logical_xor, USMPY_DOC_logical_xor),
    USMPY_METHOD("logical_not", logical_not, USMPY_DOC_logical_not),
    USMPY_METHOD("isnan", is_nan, USMPY_DOC_isnan),
    USMPY_METHOD("isinf", is_infinite, USMPY_DOC_isinf),
    USMPY_METHOD("isfinite", is_finite, USMPY_DOC_isfinite),
    {0},
};
