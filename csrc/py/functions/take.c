/* take and take_along_axis: elements by index, along one axis. */
#include "creation.h"
#include "docstrings.h"
#include "manipulation.h"
#include "py/args.h"
#include "py/arrays/operands.h"
#include "py/arrays/selection.h"
#include "py/objects/placement.h"
#include "py/wait.h"

#include "core/ops/indices.h"
#include "core/ops/take.h"

int usmpy_take(usmpy_array *dst, const usm_view *src, const usm_view *index, int64_t length, int64_t step)
{
    const usm_view to = usmpy_view(dst);
    usm_error error;
    return usmpy_check(dst->state,
                       usm_take_submit(usmpy_queue_of(dst->queue), &to, src, index, length, step, &error),
                       &error);
}

/* x and indices of both functions, which share one queue. */
typedef struct taken {
    const char *function;
    usmpy_array *x;       /* borrowed */
    usmpy_array *indices; /* one reference */
    usm_kind kind;
} taken;

/* Sets indices and kind; function and x are set. 0 or -1. */
static int parse_taken(PyObject *indices, taken *t)
{
    static const char *const names[] = {"x", "indices"};
    usmpy_state *state = t->x->state;
    t->indices = usmpy_index_array(state, indices, t->x->queue);
    if (t->indices == NULL && !PyErr_Occurred() && PyIndex_Check(indices)) { /* where the host checks it */
        usm_kind kind = usmpy_kind_on(usmpy_queue_of(t->x->queue)->device, USM_HOST);
        t->indices = (usmpy_array *)usmpy_array_from_python(state, indices, USM_INT64, t->x->queue, kind);
    }
    if (t->indices == NULL) {
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_TypeError,
                         "%s(): indices is %s %.80s; an int, or an array or a list of integers, is allowed",
                         t->function, USMPY_A(indices));
        } else {
            usmpy_name_argument("indices");
        }
        return -1;
    }
    t->kind = t->x->alloc->kind;
    if (usmpy_is_array(state, indices) && t->indices->alloc->kind > t->kind) { /* other indices are copies */
        t->kind = t->indices->alloc->kind;
    }
    if (!usmpy_has_integers(t->indices)) {
        PyErr_Format(PyExc_TypeError, "%s(): indices has dtype %s; an integer type is allowed", t->function,
                     usm_dtype_table[t->indices->dtype].name);
    } else if (usmpy_queue_of(t->x->queue) != usmpy_queue_of(t->indices->queue)) {
        PyObject *const both[] = {(PyObject *)t->x, (PyObject *)t->indices};
        usmpy_raise_placement(state, t->function, both, names, 2);
    } else {
        return 0;
    }
    Py_CLEAR(t->indices);
    return -1;
}

/* How the result of both functions is read: its shape, and strides of x and of the indices along its axes. */
typedef struct layout {
    int ndim;
    int64_t shape[USM_MAX_NDIM], x[USM_MAX_NDIM], indices[USM_MAX_NDIM];
} layout;

/* The elements of x along `axis`. The host has checked the indices, if it can read them. */
static PyObject *take_by(const taken *t, int axis, const layout *layout, const usmpy_destination *to)
{
    int64_t length = usmpy_shape(t->x)[axis];
    usmpy_operands operands = {.function = t->function,
                               .owner = "x",
                               .n = 2,
                               .arrays = {t->x, t->indices},
                               .queue = t->x->queue,
                               .kind = t->kind,
                               .ndim = layout->ndim};
    memcpy(operands.shape, layout->shape, (size_t)layout->ndim * sizeof *layout->shape);
    usmpy_array *result = usmpy_operands_result(&operands, t->x->dtype, to);
    int status = 0;
    if (result != NULL && result->size > 0) {
        if (length == 0) { /* only with indices that the host cannot read */
            PyErr_Format(PyExc_IndexError, "%s(): axis %d of x has length 0; no index is in range",
                         t->function, axis);
            status = -1;
        } else {
            const usm_view src = {t->x->alloc,  t->x->data,    t->x->dtype,
                                  layout->ndim, layout->shape, layout->x};
            const usm_view index = {t->indices->alloc, t->indices->data, t->indices->dtype,
                                    layout->ndim,      layout->shape,    layout->indices};
            status = usmpy_take(result, &src, &index, length, usmpy_strides(t->x)[axis]);
        }
    }
    return usmpy_operands_deliver(to, result, status);
}

/* take along an axis of x, whose place in the result the axes of the indices have. */
static PyObject *take_axis(const taken *t, int axis, const usmpy_destination *to)
{
    layout layout;
    int more = t->indices->ndim;
    layout.ndim = t->x->ndim - 1 + more;
    for (int i = 0; i < layout.ndim; i++) {
        bool indexed = i >= axis && i < axis + more;
        int of_x = i < axis ? i : i - more + 1;
        layout.shape[i] = indexed ? usmpy_shape(t->indices)[i - axis] : usmpy_shape(t->x)[of_x];
        layout.x[i] = indexed ? 0 : usmpy_strides(t->x)[of_x];
        layout.indices[i] = indexed ? usmpy_strides(t->indices)[i - axis] : 0;
    }
    return take_by(t, axis, &layout, to);
}

/* Makes the indices int32 or int64, which kernels take. 0 or -1. */
static int make_usable(taken *t)
{
    if (t->indices->dtype != USM_INT64 && t->indices->dtype != USM_INT32) {
        Py_SETREF(t->indices, usmpy_array_duplicate(t->indices, t->indices->queue, t->indices->alloc->kind,
                                                    USM_INT64, 'C'));
    }
    return t->indices == NULL ? -1 : 0;
}

int usmpy_take_rows(usmpy_array *x, usmpy_array *indices, PyObject **result)
{
    static const usmpy_destination anywhere = {.order = 'C'};
    *result = NULL;
    if (!usm_alloc_host_reads(indices->alloc) || usm_dtype_is_packed(x->dtype) ||
        x->ndim - 1 + indices->ndim > USM_MAX_NDIM) {
        return 0;
    }
    if (usmpy_wait_alloc(x->state, indices->alloc, USM_READ, INT64_MAX) < 0) {
        return -1;
    }
    const usm_view view = usmpy_view(indices);
    if (!usm_indices_in_range(&view, usmpy_shape(x)[0])) {
        return 0;
    }
    taken t = {"take", x, (usmpy_array *)Py_NewRef(indices), x->alloc->kind};
    if (make_usable(&t) == 0) {
        *result = take_axis(&t, 0, &anywhere);
    }
    Py_XDECREF(t.indices);
    return *result == NULL ? -1 : 0;
}

/*
 * 0 where every index is in [-length, length), or where the host cannot read them: kernels then take the
 * nearest element. -1 with IndexError, after a wait for what writes them.
 */
static int check_indices(usmpy_array *indices, int64_t length, const char *function)
{
    if (indices->size == 0 || !usm_alloc_host_reads(indices->alloc)) {
        return 0;
    }
    if (usmpy_wait_alloc(indices->state, indices->alloc, USM_READ, INT64_MAX) < 0) {
        return -1;
    }
    const usm_view view = usmpy_view(indices);
    if (!usm_indices_in_range(&view, length)) {
        return usmpy_refuse(
            PyExc_IndexError,
            "%s(): indices has an element out of range for an axis of length %lld; -%lld to %lld are "
            "allowed",
            function, (long long)length, (long long)length, (long long)(length - 1));
    }
    return 0;
}

/* The axis of take: -1 with an exception. */
static int axis_of_take(const taken *t, PyObject *argument)
{
    if (t->x->ndim != 1 && !usmpy_given(argument)) {
        return usmpy_refuse(
            PyExc_ValueError,
            "take(): x has %d dimensions and axis is None; only arrays of one dimension have a default",
            t->x->ndim);
    }
    int axis = usmpy_given(argument) ? usmpy_parse_axis(argument, t->x->ndim, "axis") : 0;
    if (axis >= 0 && t->x->ndim - 1 + t->indices->ndim > USM_MAX_NDIM) {
        return usmpy_refuse(PyExc_ValueError, "take(): the result would have more than %d dimensions",
                            USM_MAX_NDIM);
    }
    return axis;
}

/* arguments: x, indices, axis, out. */
static PyObject *take(usmpy_array *x, PyObject *const *arguments)
{
    PyObject *result = NULL;
    usmpy_destination to;
    taken t = {.function = "take", .x = x};
    if (usmpy_destination_parse(x->state, arguments[3], NULL, "take", &to) < 0 ||
        parse_taken(arguments[1], &t) < 0) {
        return NULL;
    }
    to.order = 'C';
    to.apart = true;
    int axis = axis_of_take(&t, arguments[2]);
    if (axis >= 0 && check_indices(t.indices, usmpy_shape(x)[axis], "take") == 0 && make_usable(&t) == 0) {
        result = take_axis(&t, axis, &to);
    }
    Py_XDECREF(t.indices);
    return result;
}
USMPY_ARRAY_FUNCTION(take)

/* The lengths of both, broadcast against each other but for the axis: the result's shape. 0 or -1. */
static int along_shape(const taken *t, int axis, int64_t *shape)
{
    for (int i = 0; i < t->x->ndim; i++) {
        int64_t a = usmpy_shape(t->x)[i], b = usmpy_shape(t->indices)[i];
        shape[i] = i == axis ? b : a == 1 ? b : a;
        if (i != axis && a != b && a != 1 && b != 1) {
            char x[200], indices[200];
            return usmpy_refuse(
                PyExc_ValueError,
                "take_along_axis(): x of shape %s and indices of shape %s do not broadcast; they may differ along axis %d only",
                usm_layout_text(t->x->ndim, usmpy_shape(t->x), x, sizeof x),
                usm_layout_text(t->x->ndim, usmpy_shape(t->indices), indices, sizeof indices), axis);
        }
    }
    return 0;
}

/* take_along_axis of parsed x and indices. */
static PyObject *take_along(taken *t, PyObject *axis_argument)
{
    static const usmpy_destination anywhere = {.order = 'C'};
    layout layout;
    int ndim = layout.ndim = t->x->ndim;
    if (ndim == 0 || t->indices->ndim != ndim) {
        return PyErr_Format(
            PyExc_ValueError,
            "take_along_axis(): x has %d dimension%s and indices %d; they must be equal, and at least 1",
            ndim, usmpy_plural(ndim), t->indices->ndim);
    }
    int axis = axis_argument == NULL ? ndim - 1 : usmpy_parse_axis(axis_argument, ndim, "axis");
    if (axis < 0 || along_shape(t, axis, layout.shape) < 0 ||
        check_indices(t->indices, usmpy_shape(t->x)[axis], "take_along_axis") < 0 || make_usable(t) < 0) {
        return NULL;
    }
    for (int i = 0; i < ndim; i++) {
        layout.x[i] = i == axis || usmpy_shape(t->x)[i] == 1 ? 0 : usmpy_strides(t->x)[i];
        layout.indices[i] = usmpy_shape(t->indices)[i] == 1 ? 0 : usmpy_strides(t->indices)[i];
    }
    return take_by(t, axis, &layout, &anywhere);
}

/* arguments: x, indices, axis. */
static PyObject *take_along_axis(usmpy_array *x, PyObject *const *arguments)
{
    taken t = {.function = "take_along_axis", .x = x};
    if (parse_taken(arguments[1], &t) < 0) {
        return NULL;
    }
    PyObject *result = take_along(&t, arguments[2]);
    Py_XDECREF(t.indices);
    return result;
}
USMPY_ARRAY_FUNCTION(take_along_axis)

PyMethodDef usmpy_take_functions[] = {
    USMPY_ROW(take),
    USMPY_ROW(take_along_axis),
    {0},
};
