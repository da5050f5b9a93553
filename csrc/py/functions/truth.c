/* Truth values, element by element: logical_and and its like, isnan and its like. */
#include "compare.h"
#include "docstrings.h"
#include "py/args.h"
#include "py/arrays/hints.h"
#include "py/arrays/operands.h"
#include "py/deferred.h"
#include "py/errors.h"
#include "py/objects/placement.h"

#include "core/ops/few.h"
#include "core/ops/logic.h"

#include <string.h>

static const char *const names[] = {"x1", "x2"};
static const char *const one_name[] = {"x"};

/*
 * A few truth values that lie side by side, on an idle queue of the host: a kernel's launch would take
 * longer. NULL without an exception where the general way is due.
 */
static usmpy_array *few_truths(usmpy_state *state, PyObject *const *arguments, unsigned truths)
{
    usmpy_array *a = (usmpy_array *)arguments[0], *b = (usmpy_array *)arguments[1];
    if (!usmpy_is_array(state, arguments[0]) || !usmpy_is_array(state, arguments[1]) ||
        a->dtype != USM_BOOL || b->dtype != USM_BOOL || (a->flags & b->flags & USM_C_CONTIGUOUS) == 0 ||
        a->ndim != b->ndim ||
        memcmp(usmpy_shape(a), usmpy_shape(b), (size_t)a->ndim * sizeof(int64_t)) != 0) {
        return NULL;
    }
    usm_queue *queue = usmpy_queue_of(a->queue);
    if (usmpy_queue_of(b->queue) != queue || !usm_few_may_begin(queue, a->size)) {
        return NULL;
    }
    usm_kind kind = (usm_kind)(a->alloc->kind > b->alloc->kind ? a->alloc->kind : b->alloc->kind);
    usmpy_array *result =
        usmpy_array_empty(state, a->queue, kind, USM_BOOL, a->ndim, usmpy_shape(a), 'C', false);
    if (result == NULL) {
        return NULL;
    }
    const usm_view dst = usmpy_view(result), x1 = usmpy_view(a), x2 = usmpy_view(b);
    if (!usm_few_logic(queue, truths, a->size, &dst, &x1, &x2)) {
        Py_CLEAR(result);
    }
    return result;
}

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
            : usmpy_array_empty_like(state, array, array->queue, (usm_kind)array->alloc->kind, USM_BOOL, 'K');
    if (truths != NULL && usmpy_truth(state, truths, array) < 0) {
        Py_CLEAR(truths);
    }
    return (PyObject *)truths;
}

/* and, or, xor of two; `not` of one, as a table of x and x. */
static PyObject *join(usmpy_state *state, const char *function, PyObject *const *arguments, int n,
                      uint8_t truths, const usmpy_destination *to)
{
    usmpy_operands operands;
    usmpy_array *result = NULL;
    PyObject *const both[] = {arguments[0], arguments[n - 1]};
    PyObject *own[2] = {NULL, NULL};
    int status = -1;
    usmpy_deferred_poll();
    if (to->out == NULL) {
        result = few_truths(state, both, truths);
        if (result != NULL || PyErr_Occurred()) {
            return (PyObject *)result;
        }
    }
    for (int i = 0; i < n && !PyErr_Occurred(); i++) {
        own[i] = usmpy_truth_of(state, arguments[i], function);
    }
    if (!PyErr_Occurred() &&
        usmpy_operands_take(state, function, n == 1 ? one_name : names, own, n, 0, &operands) == 0) {
        result = usmpy_operands_result(state, &operands, USM_BOOL, to);
        if (result != NULL) {
            const usm_view dst = usmpy_view(result), x1 = usmpy_view(operands.arrays[0]),
                           x2 = usmpy_view(operands.arrays[n - 1]);
            usm_error error;
            status = usmpy_check(state,
                                 usm_logic_submit(usmpy_queue_of(result->queue), truths, &dst, &x1, &x2,
                                                  usmpy_is_only_ours(result), &error),
                                 &error);
        }
        usmpy_operands_drop(&operands);
    }
    Py_XDECREF(own[0]);
    Py_XDECREF(own[1]);
    return usmpy_operands_deliver(state, to, result, status);
}

static PyObject *logical(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                         const usmpy_signature *signature, uint8_t truths)
{
    int n = signature->n_positional;
    usmpy_state *state = usmpy_state_of_module(module);
    usmpy_destination to;
    PyObject *out[4];
    return usmpy_parse(state, signature, args, nargs, kwnames, out) < 0 ||
                   usmpy_destination_parse(state, out + n, signature->function, &to) < 0
               ? NULL
               : join(state, signature->function, out, n, truths, &to);
}

static bool is_bool(usmpy_state *state, PyObject *object)
{
    return usmpy_is_array(state, object) ? ((usmpy_array *)object)->dtype == USM_BOOL : PyBool_Check(object);
}

/* & | ^ of arrays of bool, with each other and with bools; in place, into `to`. Integers have none yet. */
static PyObject *operator(PyObject *a, PyObject *b, const char *sign, uint8_t truths, PyObject *to)
{
    usmpy_state *state = atomic_load_explicit(&usmpy_newest_state, memory_order_acquire);
    const usmpy_destination destination = {.out = (usmpy_array *)to, .order = 'K'};
    PyObject *const both[] = {a, b};
    if (!is_bool(state, a) || !is_bool(state, b)) {
        return usmpy_hint_bits(a, b, sign);
    }
    return to != NULL && usmpy_check_writable((usmpy_array *)to) < 0
               ? NULL
               : join(state, sign, both, 2, truths, &destination);
}

#define OPERATOR(name, sign, truths)                               \
    PyObject *usmpy_array_##name(PyObject *a, PyObject *b)         \
    {                                                              \
        return operator(a, b, sign, truths, NULL);                 \
    }                                                              \
    PyObject *usmpy_array_inplace_##name(PyObject *a, PyObject *b) \
    {                                                              \
        return operator(a, b, sign "=", truths, a);                \
    }

OPERATOR(and, "&", USM_AND)
OPERATOR(or, "|", USM_OR)
OPERATOR(xor, "^", USM_XOR)

PyObject *usmpy_array_invert(PyObject *self)
{
    static const usmpy_destination anywhere = {.order = 'K'};
    usmpy_state *state = ((usmpy_array *)self)->state;
    return is_bool(state, self) ? join(state, "~", &self, 1, USM_NOR, &anywhere)
                                : usmpy_hint_bits(self, self, "~");
}

#define LOGICAL(name, truths, n, ...)                                                                      \
    static PyObject *name(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)    \
    {                                                                                                      \
        static const usmpy_signature own = {#name, n + 2, n, n, n, {__VA_ARGS__, USMPY_out, USMPY_order}}; \
        return logical(module, args, nargs, kwnames, &own, truths);                                        \
    }

LOGICAL(logical_and, USM_AND, 2, USMPY_x1, USMPY_x2)
LOGICAL(logical_or, USM_OR, 2, USMPY_x1, USMPY_x2)
LOGICAL(logical_xor, USM_XOR, 2, USMPY_x1, USMPY_x2)
LOGICAL(logical_not, USM_NOR, 1, USMPY_x)

static PyObject *classify(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                          const char *function, usm_float_class what)
{
    const usmpy_signature signature = {function, 3, 1, 1, 1, {USMPY_x, USMPY_out, USMPY_order}};
    usmpy_state *state = usmpy_state_of_module(module);
    usmpy_operands operands;
    usmpy_destination to;
    PyObject *out[3];
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0 ||
        usmpy_destination_parse(state, out + 1, function, &to) < 0) {
        return NULL;
    }
    usmpy_deferred_poll();
    if (usmpy_operands_take(state, function, one_name, out, 1, 0, &operands) < 0) {
        return NULL;
    }
    usmpy_array *result = usmpy_operands_result(state, &operands, USM_BOOL, &to);
    int status = -1;
    if (result != NULL) {
        const usm_view dst = usmpy_view(result), x = usmpy_view(operands.arrays[0]);
        usm_error error;
        status = usmpy_check(state,
                             usm_classify_submit(usmpy_queue_of(result->queue), what, &dst, &x,
                                                 usmpy_is_only_ours(result), &error),
                             &error);
    }
    usmpy_operands_drop(&operands);
    return usmpy_operands_deliver(state, &to, result, status);
}

/* isnan and its like are macros of the C library. */
#define CLASSIFY(name, function, what)                                                                  \
    static PyObject *name(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) \
    {                                                                                                   \
        return classify(module, args, nargs, kwnames, function, what);                                  \
    }

CLASSIFY(is_nan, "isnan", USM_IS_NAN)
CLASSIFY(is_infinite, "isinf", USM_IS_INFINITE)
CLASSIFY(is_finite, "isfinite", USM_IS_FINITE)

PyMethodDef usmpy_truth_functions[] = {
    USMPY_METHOD("logical_and", logical_and, USMPY_DOC_logical_and),
    USMPY_METHOD("logical_or", logical_or, USMPY_DOC_logical_or),
    USMPY_METHOD("logical_xor", logical_xor, USMPY_DOC_logical_xor),
    USMPY_METHOD("logical_not", logical_not, USMPY_DOC_logical_not),
    USMPY_METHOD("isnan", is_nan, USMPY_DOC_isnan),
    USMPY_METHOD("isinf", is_infinite, USMPY_DOC_isinf),
    USMPY_METHOD("isfinite", is_finite, USMPY_DOC_isfinite),
    {0},
};
