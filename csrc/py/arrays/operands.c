/* Functions element by element: arguments, results, and what all of them do between the two. */
#include "operands.h"

#include "hints.h"

#include "py/args.h"
#include "py/objects/placement.h"

int usmpy_check_computed(usmpy_array *array, const char *function)
{
    if (array->dtype >= USM_COMPUTED_DTYPES) {
        return usmpy_refuse(
            PyExc_TypeError,
            "%s(): dtype %s is only stored and exchanged; nothing is computed with its values", function,
            usm_dtype_table[array->dtype].name);
    }
    return 0;
}

bool usmpy_broadcast_shape(int *ndim, int64_t *shape, int other_ndim, const int64_t *other)
{
    for (int i = 1; i <= *ndim && i <= other_ndim; i++) { /* from the last axis on */
        int64_t a = shape[*ndim - i], b = other[other_ndim - i];
        if (a != b && a != 1 && b != 1) {
            return false;
        }
    }
    int more = other_ndim - *ndim;
    if (more > 0) {
        memmove(shape + more, shape, (size_t)*ndim * sizeof *shape);
        memcpy(shape, other, (size_t)more * sizeof *shape);
        *ndim = other_ndim;
    }
    for (int i = 1; i <= other_ndim; i++) {
        int64_t *length = &shape[*ndim - i];
        *length = *length == 1 ? other[other_ndim - i] : *length;
    }
    return true;
}

/* An array of 0 dimensions with this number, on the queue. NULL with TypeError or OverflowError. */
static usmpy_array *number_array(usmpy_state *state, PyObject *number, usm_dtype dtype, PyObject *queue)
{
    unsigned char element[USM_MAX_PATTERN];
    if (usmpy_scalar_to_element(number, dtype, element) < 0) {
        return NULL;
    }
    usmpy_array *array = usmpy_array_empty(state, queue, USM_DEVICE, dtype, 0, NULL, 'C', false);
    if (array != NULL && usmpy_array_fill(array, element) < 0) {
        Py_CLEAR(array);
    }
    return array;
}

void usmpy_operands_drop(usmpy_operands *operands)
{
    for (int i = 0; i < operands->n; i++) {
        Py_CLEAR(operands->arrays[i]);
    }
}

/* What messages call the arguments of a function of n. */
static const char *const *names_of(int n)
{
    static const char *const names[USMPY_OPERANDS][USMPY_OPERANDS] = {
        {"x"}, {"x1", "x2"}, {"condition", "x1", "x2"}};
    return names[n - 1];
}

/* The arrays among the arguments: in out->arrays, where numbers leave NULL; queue, kind and type. */
static int take_arrays(usmpy_state *state, PyObject *const *arguments, int n_free, usmpy_operands *out)
{
    usm_promotion promotion = {0};
    bool same = true;
    for (int i = 0; i < out->n; i++) {
        if (!usmpy_is_array(state, arguments[i])) {
            continue;
        }
        usmpy_array *array = (usmpy_array *)arguments[i];
        out->arrays[i] = (usmpy_array *)Py_NewRef(array);
        same = same && (out->queue == NULL || usmpy_queue_of(out->queue) == usmpy_queue_of(array->queue));
        if (out->queue == NULL) {
            out->queue = array->queue;
            out->owner = names_of(out->n)[i];
            out->first = i;
        }
        out->kind = array->alloc->kind > out->kind ? array->alloc->kind : out->kind;
        if (i < n_free) {
            continue;
        }
        if (i > n_free && out->arrays[i - 1] != NULL && out->arrays[i - 1]->dtype == array->dtype) {
            continue; /* the promotion has this type already */
        }
        if (usmpy_check_computed(array, out->function) < 0) {
            return -1;
        }
        usm_promotion_add(&promotion, array->dtype);
        out->dtype = usm_promotion_result(&promotion);
        out->wide = out->wide || array->dtype == USM_FLOAT64 || array->dtype == USM_COMPLEX128;
        if (out->dtype == USM_NO_DTYPE) { /* a third array cannot give two of them a common type */
            return usmpy_refuse(
                PyExc_TypeError,
                "%s(): %s has dtype %s, and there is no common type of it and %s; cast one with astype()",
                out->function, names_of(out->n)[i], usm_dtype_table[array->dtype].name,
                usm_dtype_table[promotion.first].name);
        }
    }
    out->wide = out->wide || (out->queue != NULL && usmpy_queue_of(out->queue)->device->info.has_fp64);
    if (!same) {
        usmpy_raise_placement(state, out->function, arguments, names_of(out->n), out->n);
    }
    return same ? 0 : -1;
}

/*
 * An argument that is no array, as a Python number: new reference, or NULL with TypeError. *dtype: its own,
 * USM_NO_DTYPE for Python's numbers.
 */
static PyObject *take_number(usmpy_state *state, const char *name, PyObject *argument, bool free,
                             const usmpy_operands *out, usm_dtype *dtype)
{
    PyObject *number;
    int found = free ? 0 : usmpy_host_value(state, argument, &number, dtype);
    if (found == 0) {
        return usmpy_refuse_operand(out->function, name, argument,
                                    free ? "a USMArray is" : "a USMArray or a number is");
    }
    if (found < 0) {
        usmpy_name_argument(name);
        return NULL;
    }
    if (out->queue == NULL) {
        PyErr_Format(PyExc_TypeError, "%s(): at least one argument must be a USMArray; %s is %s %.80s",
                     out->function, name, USMPY_A(argument));
        Py_CLEAR(number);
    }
    return number;
}

/* Numbers follow the type of the arrays; without any, those of other libraries have their own. */
static void promote_numbers(PyObject *const *numbers, const usm_dtype *dtypes, usmpy_operands *out)
{
    usm_promotion promotion = {0};
    for (int i = 0; i < out->n && out->dtype == USM_NO_DTYPE; i++) {
        if (numbers[i] != NULL && dtypes[i] != USM_NO_DTYPE) {
            usm_promotion_add(&promotion, dtypes[i]);
        }
    }
    usm_dtype own = usm_promotion_result(&promotion);
    for (int i = 0; i < out->n; i++) {
        if (numbers[i] != NULL) {
            usm_dtype before = out->dtype != USM_NO_DTYPE ? out->dtype : own != USM_NO_DTYPE ? own : USM_BOOL;
            bool weak = own == USM_NO_DTYPE || dtypes[i] == USM_NO_DTYPE;
            out->dtype =
                weak ? usm_dtype_with_number(before, usmpy_kind_of_number(numbers[i]), out->wide) : before;
        }
    }
}

/* Numbers as arrays of the common type, and arrays, but for the first n_free. */
static int convert(usmpy_state *state, PyObject *const *numbers, int n_free, usmpy_operands *out)
{
    out->dtype = out->wide ? out->dtype : usm_dtype_without_fp64(out->dtype);
    for (int i = 0; i < out->n; i++) {
        if (numbers[i] != NULL) {
            out->arrays[i] = number_array(state, numbers[i], out->dtype, out->queue);
        } else if (i >= n_free && out->arrays[i]->dtype != out->dtype) {
            PyObject *cast = usmpy_cast(out->arrays[i], out->dtype, false, out->queue, 'K');
            Py_SETREF(out->arrays[i], (usmpy_array *)cast);
        }
        if (out->arrays[i] == NULL) {
            if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
                usmpy_prefix_message(PyExc_OverflowError, "%s(): %s", out->function, names_of(out->n)[i]);
            }
            return -1;
        }
    }
    out->queue = out->arrays[0]->queue; /* of an array that `out` owns */
    return 0;
}

static int broadcast(usmpy_operands *out)
{
    out->ndim = out->arrays[0]->ndim;
    for (int i = 0; i < out->ndim; i++) {
        out->shape[i] = usmpy_shape(out->arrays[0])[i];
    }
    for (int i = 1; i < out->n; i++) {
        usmpy_array *array = out->arrays[i];
        if (!usmpy_broadcast_shape(&out->ndim, out->shape, array->ndim, usmpy_shape(array))) {
            char texts[USMPY_OPERANDS][100];
            for (int k = 0; k < out->n; k++) {
                usm_layout_text(out->arrays[k]->ndim, usmpy_shape(out->arrays[k]), texts[k], sizeof texts[k]);
            }
            return usmpy_refuse(PyExc_ValueError, "%s(): shapes %s%s%s%s%s do not broadcast", out->function,
                                texts[0], out->n > 2 ? ", " : " and ", texts[1], out->n > 2 ? " and " : "",
                                out->n > 2 ? texts[2] : "");
        }
    }
    return 0;
}

int usmpy_operands_take(usmpy_state *state, const char *function, PyObject *const *arguments, int n,
                        int n_free, usmpy_taking how, usmpy_operands *out)
{
    PyObject *numbers[USMPY_OPERANDS] = {NULL};
    usm_dtype dtypes[USMPY_OPERANDS];
    out->function = function;
    out->n = n;
    out->queue = NULL;
    out->kind = USM_DEVICE;
    out->dtype = USM_NO_DTYPE;
    out->wide = false;
    memset(out->arrays, 0, sizeof out->arrays);
    int status = take_arrays(state, arguments, n_free, out);
    for (int i = 0; i < n && status == 0; i++) {
        if (out->arrays[i] == NULL) {
            bool no_number = how == USMPY_TAKE_ARRAYS || i < n_free;
            numbers[i] = take_number(state, names_of(n)[i], arguments[i], no_number, out, &dtypes[i]);
            status = numbers[i] == NULL ? -1 : 0;
        }
    }
    if (status == 0) {
        promote_numbers(numbers, dtypes, out);
        status = convert(state, numbers, how == USMPY_TAKE_CAST ? n_free : n, out);
    }
    if (status == 0 && how != USMPY_TAKE_ARRAYS) {
        status = broadcast(out);
    }
    for (int i = 0; i < n; i++) {
        Py_XDECREF(numbers[i]);
    }
    if (status < 0) {
        usmpy_operands_drop(out);
    }
    return status;
}

int usmpy_destination_parse(usmpy_state *state, PyObject *out, PyObject *order, const char *function,
                            usmpy_destination *to)
{
    int letter = usmpy_parse_order(order, "CFAK", 'K');
    *to = (usmpy_destination){.order = (char)letter};
    if (letter < 0 || !usmpy_given(out)) {
        return letter < 0 ? -1 : 0;
    }
    if (!usmpy_is_array(state, out)) {
        return usmpy_refuse(PyExc_TypeError, "%s(): out is %s %.80s; a USMArray is allowed", function,
                            USMPY_A(out));
    }
    to->out = (usmpy_array *)out;
    if ((to->out->flags & USMPY_WRITABLE) == 0) {
        return usmpy_refuse(PyExc_ValueError, "%s(): out is read-only; pass an array that can be written",
                            function);
    }
    return 0;
}

/* 0 where `out` is an array for a result of this shape and type in this queue; else -1. */
static int check_out(const usmpy_operands *operands, usm_dtype dtype, const usmpy_destination *to)
{
    const char *function = operands->function, *name = to->in_place ? "x1" : "out";
    usmpy_array *out = to->out;
    if (usmpy_queue_of(out->queue) != usmpy_queue_of(operands->queue)) {
        PyObject *const arrays[] = {(PyObject *)operands->arrays[operands->first], (PyObject *)out};
        const char *const names[] = {operands->owner, "out"};
        usmpy_raise_placement(out->state, function, arrays, names, 2);
        return -1;
    }
    if (to->in_place && !usm_dtype_can_cast(dtype, (usm_dtype)out->dtype, USM_CAST_SAME_KIND)) {
        return usmpy_refuse(
            PyExc_TypeError,
            "%s(): the result has dtype %s, which casting='same_kind' does not cast to %s, the dtype "
            "of x1, in place; use the operator that makes a new array",
            function, usm_dtype_table[dtype].name, usm_dtype_table[out->dtype].name);
    }
    if (!to->in_place && out->dtype != dtype) {
        return usmpy_refuse(PyExc_TypeError, "%s(): out has dtype %s; %s is needed", function,
                            usm_dtype_table[out->dtype].name, usm_dtype_table[dtype].name);
    }
    if (!usmpy_has_shape(out, operands->ndim, operands->shape)) {
        char own[200], needed[200];
        return usmpy_refuse(PyExc_ValueError, "%s(): %s has shape %s; %s is needed", function, name,
                            usm_layout_text(out->ndim, usmpy_shape(out), own, sizeof own),
                            usm_layout_text(operands->ndim, operands->shape, needed, sizeof needed));
    }
    return 0;
}

/* The same elements in the same order: each is read before it is written. */
static bool is_same_view(const usmpy_array *a, const usmpy_array *b)
{
    return a->data == b->data && a->ndim == b->ndim &&
           usm_dtype_table[a->dtype].itemsize == usm_dtype_table[b->dtype].itemsize &&
           memcmp(a->dims, b->dims, 2 * (size_t)a->ndim * sizeof *a->dims) == 0;
}

/* By the bytes that each spans: imported memory may belong to several allocations. */
static bool share_memory(usmpy_array *a, usmpy_array *b)
{
    usmpy_array *const arrays[] = {a, b};
    int64_t low[2], high[2];
    for (int i = 0; i < 2; i++) {
        if (!usm_layout_span(arrays[i]->ndim, usmpy_shape(arrays[i]), usmpy_strides(arrays[i]),
                             usm_dtype_table[arrays[i]->dtype].itemsize, &low[i], &high[i])) {
            return true;
        }
    }
    return a->data + low[0] < b->data + high[1] && b->data + low[1] < a->data + high[0];
}

usmpy_array *usmpy_operands_result(const usmpy_operands *operands, usm_dtype dtype,
                                   const usmpy_destination *to)
{
    usmpy_array *first = operands->arrays[0];
    if (to->out != NULL) {
        if (check_out(operands, dtype, to) < 0) {
            return NULL;
        }
        bool safe = to->out->dtype == dtype;
        for (int i = 0; i < operands->n && safe; i++) {
            usmpy_array *array = operands->arrays[i];
            safe = !share_memory(array, to->out) || (!to->apart && is_same_view(array, to->out));
        }
        if (safe) {
            return (usmpy_array *)Py_NewRef(to->out);
        }
    }
    char order = to->order == 'F' ||
                         (to->order != 'C' && first->ndim == operands->ndim && usmpy_contiguity(first) == 'F')
                     ? 'F'
                     : 'C';
    return usmpy_array_empty(first->state, operands->queue, operands->kind, dtype, operands->ndim,
                             operands->shape, order, false);
}

PyObject *usmpy_operands_deliver(const usmpy_destination *to, usmpy_array *result, int status)
{
    if (result == NULL) {
        return NULL;
    }
    if (status == 0 && to->out != NULL && result != to->out) {
        status = usmpy_array_copy(to->out, result);
        Py_SETREF(result, (usmpy_array *)Py_NewRef(to->out));
    }
    if (status < 0) {
        Py_CLEAR(result);
    }
    return (PyObject *)result;
}

PyObject *usmpy_elementwise_call(usmpy_state *state, const char *function, PyObject *const *arguments,
                                 const usmpy_elementwise *row, const usmpy_destination *to)
{
    usmpy_operands operands;
    usmpy_array *result = NULL;
    int status = -1;
    usmpy_deferred_poll();
    if (usmpy_operands_take(state, function, arguments, row->n, row->n_free, USMPY_TAKE_CAST, &operands) <
        0) {
        return NULL;
    }
    if (row->ordered && operands.dtype != USM_NO_DTYPE &&
        usm_dtype_table[operands.dtype].kind == USM_DTYPE_KIND_COMPLEX) {
        PyErr_Format(PyExc_TypeError,
                     "%s(): the common type of x1 and x2 is %s, and complex numbers have no order", function,
                     usm_dtype_table[operands.dtype].name);
    } else {
        result =
            usmpy_operands_result(&operands, row->dtype == USM_NO_DTYPE ? operands.dtype : row->dtype, to);
    }
    if (result != NULL) {
        usm_view views[1 + USMPY_OPERANDS];
        usm_error error;
        views[0] = usmpy_view(result);
        for (int i = 0; i < operands.n; i++) {
            views[1 + i] = usmpy_view(operands.arrays[i]);
        }
        status = usmpy_check(state,
                             row->compute(usmpy_queue_of(result->queue), row->what, views, 1 + operands.n,
                                          usmpy_is_only_ours(result), &error),
                             &error);
    }
    usmpy_operands_drop(&operands);
    return usmpy_operands_deliver(to, result, status);
}

PyObject *usmpy_elementwise_function(usmpy_state *state, const char *function, PyObject *const *arguments,
                                     const usmpy_elementwise *row)
{
    usmpy_destination to;
    return usmpy_destination_parse(state, arguments[row->n], arguments[row->n + 1], function, &to) < 0
               ? NULL
               : usmpy_elementwise_call(state, function, arguments, row, &to);
}
