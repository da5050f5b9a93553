/* concat and stack: one strided copy an array, on the queue that they share. */
#include "docstrings.h"
#include "manipulation.h"
#include "py/args.h"
#include "py/arrays/hints.h"
#include "py/objects/placement.h"

int usmpy_parse_joined(usmpy_state *state, PyObject *argument, const char *function, const char *list,
                       usmpy_joined *joined)
{
    joined->items = usmpy_is_array(state, argument) ? NULL : usmpy_tuple_of(argument, list, USMPY_MOST_ITEMS);
    joined->queue = NULL;
    if (joined->items == NULL) {
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_TypeError, "%s(): %s is %s %.80s; a sequence of USMArrays is allowed",
                         function, list, USMPY_A(argument));
        }
        return -1;
    }
    joined->n = PyTuple_GET_SIZE(joined->items);
    joined->arrays = (usmpy_array **)((PyTupleObject *)joined->items)->ob_item;
    for (Py_ssize_t i = 0; i < joined->n; i++) {
        PyObject *item = PyTuple_GET_ITEM(joined->items, i);
        if (!usmpy_is_array(state, item)) {
            char name[60];
            PyOS_snprintf(name, sizeof name, "%s[%zd]", list, i);
            usmpy_refuse_operand(function, name, item, "USMArrays are");
            break;
        }
        if (usmpy_check_unpacked((usmpy_array *)item, function) < 0) {
            break;
        }
    }
    if (!PyErr_Occurred() && joined->n > 0) {
        joined->queue = usmpy_common_queue(state, function, list, joined->arrays, joined->n, &joined->kind);
    }
    if (PyErr_Occurred()) {
        Py_CLEAR(joined->items);
        return -1;
    }
    return 0;
}

/* A type to which all arrays promote, of which there is at least one; USM_NO_DTYPE with TypeError. */
static usm_dtype promote(const usmpy_joined *joined, const char *function)
{
    usm_promotion promotion = {0};
    bool wide = usmpy_queue_of(joined->queue)->device->info.has_fp64;
    for (Py_ssize_t i = 0; i < joined->n; i++) {
        usm_dtype next = joined->arrays[i]->dtype;
        usm_promotion_add(&promotion, next);
        wide = wide || next == USM_FLOAT64 || next == USM_COMPLEX128;
    }
    usm_dtype dtype = usm_promotion_result(&promotion);
    if (dtype == USM_NO_DTYPE) {
        Py_ssize_t i = joined->n - 1;
        while (i > 0 && joined->arrays[i]->dtype != promotion.second) {
            i--;
        }
        PyErr_Format(
            PyExc_TypeError,
            "%s(): arrays[%zd] has dtype %s, and there is no common type of it and %s; cast one with astype()",
            function, i, usm_dtype_table[promotion.second].name, usm_dtype_table[promotion.first].name);
        return USM_NO_DTYPE;
    }
    return wide ? dtype : usm_dtype_without_fp64(dtype);
}

/* A result to which the arrays are copied one after the other. */
typedef struct plan {
    int ndim;                    /* of the result */
    int64_t shape[USM_MAX_NDIM]; /* of the result */
    int axis;                    /* along which the arrays lie; -1: each is a row-major piece of a vector */
    bool is_new;                 /* the arrays do not have the axis */
} plan;

/* Each array is copied to its piece of the result. NULL with an exception. */
static usmpy_array *join(usmpy_state *state, const usmpy_joined *joined, usm_dtype dtype, const plan *plan)
{
    usmpy_array *result =
        usmpy_array_empty(state, joined->queue, joined->kind, dtype, plan->ndim, plan->shape, 'C', false);
    int64_t offset = 0; /* elements of the result, or indices along the axis */
    for (Py_ssize_t i = 0; result != NULL && i < joined->n; i++) {
        usmpy_array *array = joined->arrays[i];
        int64_t strides[USM_MAX_NDIM];
        if (plan->axis < 0) {
            usm_layout_compact(array->ndim, usmpy_shape(array), 'C', strides);
        }
        for (int k = 0; plan->axis >= 0 && k < array->ndim; k++) {
            strides[k] = usmpy_strides(result)[k + (plan->is_new && k >= plan->axis)];
        }
        const usm_view from = usmpy_view(array);
        const usm_view to = {result->alloc,
                             usmpy_address(result, plan->axis < 0 ? 0 : plan->axis, offset),
                             dtype,
                             array->ndim,
                             usmpy_shape(array),
                             strides};
        offset += plan->axis < 0 ? array->size : plan->is_new ? 1 : usmpy_shape(array)[plan->axis];
        if (usmpy_submit_copy(state, joined->queue, &to, &from) < 0) {
            Py_CLEAR(result);
        }
    }
    return result;
}

/* Adds to a length of the result of concat. 0, or -1 with ValueError. */
static int add_length(int64_t *length, int64_t more)
{
    if (__builtin_add_overflow(*length, more, length)) {
        return usmpy_refuse(PyExc_ValueError, "concat(): the result would have more than 2**63 - 1 elements");
    }
    return 0;
}

/* The array's shape is that of the first, but for one axis (-1: for none). 0, or -1 with ValueError. */
static int check_shape(const usmpy_joined *joined, Py_ssize_t i, int but, const char *function)
{
    usmpy_array *first = joined->arrays[0], *array = joined->arrays[i];
    bool fits = array->ndim == first->ndim;
    for (int k = 0; k < first->ndim && fits; k++) {
        fits = k == but || usmpy_shape(array)[k] == usmpy_shape(first)[k];
    }
    if (fits) {
        return 0;
    }
    char a[200], b[200], axis[40] = "must be equal";
    if (but >= 0) {
        PyOS_snprintf(axis, sizeof axis, "may differ along axis %d only", but);
    }
    return usmpy_refuse(PyExc_ValueError, "%s(): arrays[%zd] has shape %s and arrays[0] has %s; they %s",
                        function, i, usm_layout_text(array->ndim, usmpy_shape(array), a, sizeof a),
                        usm_layout_text(first->ndim, usmpy_shape(first), b, sizeof b), axis);
}

/* axis=None: every array as a vector. */
static int plan_concat_flat(const usmpy_joined *joined, plan *plan)
{
    *plan = (struct plan){.ndim = 1, .axis = -1};
    for (Py_ssize_t i = 0; i < joined->n; i++) {
        if (add_length(plan->shape, joined->arrays[i]->size) < 0) {
            return -1;
        }
    }
    return 0;
}

static int plan_concat(const usmpy_joined *joined, PyObject *axis, plan *plan)
{
    usmpy_array *first = joined->arrays[0];
    if (axis == Py_None) {
        return plan_concat_flat(joined, plan);
    }
    if (first->ndim == 0) {
        return usmpy_refuse(PyExc_ValueError,
                            "concat(): arrays of 0 dimensions have no axis; use stack, or axis=None");
    }
    plan->ndim = first->ndim;
    plan->is_new = false;
    plan->axis = axis == NULL ? 0 : usmpy_parse_axis(axis, first->ndim, "axis");
    memcpy(plan->shape, usmpy_shape(first), (size_t)first->ndim * sizeof *plan->shape);
    for (Py_ssize_t i = 1; plan->axis >= 0 && i < joined->n; i++) {
        if (check_shape(joined, i, plan->axis, "concat") < 0 ||
            add_length(&plan->shape[plan->axis], usmpy_shape(joined->arrays[i])[plan->axis]) < 0) {
            return -1;
        }
    }
    return plan->axis < 0 ? -1 : 0;
}

static int plan_stack(const usmpy_joined *joined, PyObject *axis, plan *plan)
{
    usmpy_array *first = joined->arrays[0];
    if (first->ndim == USM_MAX_NDIM) {
        return usmpy_refuse(PyExc_ValueError, "stack(): the result would have more than %d dimensions",
                            USM_MAX_NDIM);
    }
    plan->ndim = first->ndim + 1;
    plan->is_new = true;
    plan->axis = axis == NULL ? 0 : usmpy_parse_axis(axis, plan->ndim, "axis");
    if (plan->axis < 0) {
        return -1;
    }
    for (Py_ssize_t i = 1; i < joined->n; i++) {
        if (check_shape(joined, i, -1, "stack") < 0) {
            return -1;
        }
    }
    for (int i = 0; i < plan->ndim; i++) {
        plan->shape[i] = i == plan->axis ? joined->n : usmpy_shape(first)[i - (i > plan->axis)];
    }
    return 0;
}

typedef int (*planner)(const usmpy_joined *joined, PyObject *axis, plan *plan);

/* arguments: arrays, axis. */
static PyObject *join_by(usmpy_state *state, const char *function, PyObject *const *arguments,
                         planner planner)
{
    usmpy_joined joined;
    usmpy_array *result = NULL;
    plan plan;
    if (usmpy_parse_joined(state, arguments[0], function, "arrays", &joined) < 0) {
        return NULL;
    }
    if (joined.n == 0) {
        PyErr_Format(PyExc_ValueError, "%s(): arrays is empty; at least one array is needed", function);
    } else {
        usm_dtype dtype = promote(&joined, function);
        if (dtype != USM_NO_DTYPE && planner(&joined, arguments[1], &plan) == 0) {
            result = join(state, &joined, dtype, &plan);
        }
    }
    Py_DECREF(joined.items);
    return (PyObject *)result;
}

USMPY_FUNCTION_OF(concat, join_by, plan_concat)
USMPY_FUNCTION_OF(stack, join_by, plan_stack)

PyMethodDef usmpy_joining_functions[] = {
    USMPY_ROW(concat),
    USMPY_ROW(stack),
    {0},
};
