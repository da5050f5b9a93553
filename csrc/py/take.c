/* take and take_along_axis: elements by index, along one axis. */
#include "args.h"
#include "array.h"
#include "deferred.h"
#include "docstrings.h"
#include "errors.h"
#include "manipulation.h"
#include "placement.h"
#include "selection.h"
#include "wait.h"

#include "../core/take.h"

#include <string.h>

/*
 * Whether all of a row are in [-length, length): the sign of index + length, or of length - 1 - index, says
 * what is not, and that of an unsigned index beyond 63 bits. Without a branch, so that it vectorises.
 */
#define OUTSIDE(type, i)                                  \
    memcpy(&value, data + (i), sizeof value);             \
    outside |= ((uint64_t)length - 1 - (uint64_t)value) | \
               ((uint64_t)value + ((type)-1 > 0 ? 0 : (uint64_t)length));

#define IN_RANGE(name, type)                                                                 \
    static bool in_range_##name(const char *data, int64_t n, int64_t stride, int64_t length) \
    {                                                                                        \
        uint64_t outside = 0;                                                                \
        type value;                                                                          \
        if (stride == sizeof(type)) {                                                        \
            for (int64_t i = 0; i < n; i++) {                                                \
                OUTSIDE(type, i *(int64_t)sizeof(type))                                      \
            }                                                                                \
        } else {                                                                             \
            for (int64_t i = 0; i < n; i++) {                                                \
                OUTSIDE(type, i *stride)                                                     \
            }                                                                                \
        }                                                                                    \
        return outside >> 63 == 0;                                                           \
    }

IN_RANGE(int8, int8_t)
IN_RANGE(int16, int16_t)
IN_RANGE(int32, int32_t)
IN_RANGE(int64, int64_t)
IN_RANGE(uint8, uint8_t)
IN_RANGE(uint16, uint16_t)
IN_RANGE(uint32, uint32_t)
IN_RANGE(uint64, uint64_t)

typedef bool (*row_check)(const char *data, int64_t n, int64_t stride, int64_t length);

static bool all_in_range(usmpy_array *indices, int64_t length)
{
    static const row_check checks[] = {
        [USM_INT8] = in_range_int8,     [USM_INT16] = in_range_int16,   [USM_INT32] = in_range_int32,
        [USM_INT64] = in_range_int64,   [USM_UINT8] = in_range_uint8,   [USM_UINT16] = in_range_uint16,
        [USM_UINT32] = in_range_uint32, [USM_UINT64] = in_range_uint64,
    };
    const usm_view view = usmpy_view(indices);
    usm_plan plan;
    if (indices->size == 0) {
        return true;
    }
    usm_copy_plan(&plan, &view, &view);
    const usm_strided *rows = &plan.strided;
    int last = rows->ndim - 1;
    int64_t at[USM_MAX_NDIM] = {0};
    const char *data = rows->src;
    for (;;) {
        if (!checks[indices->dtype](data, rows->shape[last], rows->src_strides[last], length)) {
            return false;
        }
        int i = last - 1;
        for (; i >= 0 && at[i] == rows->shape[i] - 1; i--) {
            data -= at[i] * rows->src_strides[i];
            at[i] = 0;
        }
        if (i < 0) {
            return true;
        }
        at[i]++;
        data += rows->src_strides[i];
    }
}

int usmpy_check_indices(usmpy_state *state, usmpy_array *indices, int64_t length, const char *function)
{
    if (!usm_alloc_host_reads(indices->alloc)) {
        return 0;
    }
    if (usmpy_wait_alloc(state, indices->alloc, USM_READ, INT64_MAX) < 0) {
        return -1;
    }
    if (!all_in_range(indices, length)) {
        PyErr_Format(
            PyExc_IndexError,
            "%s(): indices has an element out of range for an axis of length %lld; -%lld to %lld are "
            "allowed",
            function, (long long)length, (long long)length, (long long)(length - 1));
        return -1;
    }
    return 0;
}

usmpy_array *usmpy_usable_indices(usmpy_state *state, usmpy_array *indices)
{
    if (indices->dtype == USM_INT64 || indices->dtype == USM_INT32) {
        return (usmpy_array *)Py_NewRef(indices);
    }
    return usmpy_array_duplicate(state, indices, indices->queue, (usm_kind)indices->alloc->kind, USM_INT64,
                                 'C');
}

/* A compact copy of a view of fewer elements than its shape says: repeated axes stay repeated. */
static usmpy_array *compact(usmpy_state *state, PyObject *queue, const usm_view *view, int64_t *strides,
                            usm_view *out)
{
    int64_t shape[USM_MAX_NDIM];
    for (int i = 0; i < view->ndim; i++) {
        shape[i] = view->strides[i] == 0 ? 1 : view->shape[i];
    }
    usm_view source = *view;
    source.shape = shape;
    usmpy_array *copy =
        usmpy_array_empty(state, queue, USM_DEVICE, view->dtype, view->ndim, shape, 'C', false);
    if (copy == NULL) {
        return NULL;
    }
    const usm_view to = usmpy_view(copy);
    if (usmpy_submit_copy(state, queue, &to, &source) < 0) {
        Py_CLEAR(copy);
        return NULL;
    }
    for (int i = 0; i < view->ndim; i++) {
        strides[i] = view->strides[i] == 0 ? 0 : usmpy_strides(copy)[i];
    }
    *out = (usm_view){copy->alloc, copy->data, view->dtype, view->ndim, view->shape, strides};
    return copy;
}

/* The axis that is indexed comes with the copy of src, as one that the shape lacks. */
static int take_compact(usmpy_state *state, usmpy_array *dst, const usm_view *src, const usm_view *index,
                        int64_t length, int64_t step, usm_take_plan *plan)
{
    int64_t shape[USM_MAX_NDIM + 1], from[USM_MAX_NDIM + 1], strides[USM_MAX_NDIM],
        index_strides[USM_MAX_NDIM];
    int ndim = dst->ndim;
    if (ndim == USM_MAX_NDIM) {
        PyErr_Format(PyExc_ValueError, "take(): arrays of %d dimensions cannot be brought together", ndim);
        return -1;
    }
    memcpy(shape, src->shape, (size_t)ndim * sizeof *shape);
    memcpy(from, src->strides, (size_t)ndim * sizeof *from);
    shape[ndim] = length;
    from[ndim] = step;
    const usm_view whole = {src->alloc, src->data, src->dtype, ndim + 1, shape, from};
    usm_view source, indices;
    int64_t whole_strides[USM_MAX_NDIM + 1];
    int status = -1;
    usmpy_array *second = NULL, *first = compact(state, dst->queue, &whole, whole_strides, &source);
    if (first != NULL) {
        second = compact(state, dst->queue, index, index_strides, &indices);
    }
    if (second != NULL) {
        memcpy(strides, whole_strides, (size_t)ndim * sizeof *strides);
        source.ndim = ndim;
        source.shape = dst->dims;
        source.strides = strides;
        const usm_view to = usmpy_view(dst);
        if (usm_take_plan_make(plan, &to, &source, &indices, length, 1)) {
            usm_error error;
            usm_status code =
                usm_take_submit(usmpy_queue_of(dst->queue), plan, &to, &source, &indices, &error);
            status = code == USM_OK ? 0 : -1;
            if (code != USM_OK) {
                usmpy_raise(state, code, &error);
            }
        } else {
            PyErr_SetString(PyExc_ValueError,
                            "these arrays are broadcast along too many axes for one take; copy them first");
        }
    }
    Py_XDECREF(first);
    Py_XDECREF(second);
    return status;
}

int usmpy_take(usmpy_state *state, usmpy_array *dst, const usm_view *src, const usm_view *index,
               int64_t length, int64_t step)
{
    usm_take_plan plan;
    usm_error error;
    const usm_view to = usmpy_view(dst);
    if (!usm_take_plan_make(&plan, &to, src, index, length, step)) {
        return take_compact(state, dst, src, index, length, step, &plan);
    }
    usm_status status = usm_take_submit(usmpy_queue_of(dst->queue), &plan, &to, src, index, &error);
    if (status != USM_OK) {
        usmpy_raise(state, status, &error);
        return -1;
    }
    return 0;
}

/* x and indices of both functions, and the queue that they share. */
typedef struct taken {
    usmpy_array *x, *indices; /* borrowed */
    PyObject *queue;          /* borrowed */
    usm_kind kind;
} taken;

static int parse_taken(usmpy_state *state, PyObject *x, PyObject *indices, const char *function, taken *out)
{
    out->x = usmpy_check_argument(state, x, function);
    if (out->x == NULL) {
        return -1;
    }
    if (!usmpy_is_array(state, indices)) {
        PyErr_Format(PyExc_TypeError, "%s(): indices is a %s; a USMArray is allowed (asarray makes one)",
                     function, Py_TYPE(indices)->tp_name);
        return -1;
    }
    out->indices = (usmpy_array *)indices;
    const usm_dtype_info *info = &usm_dtype_table[out->indices->dtype];
    if (info->kind != USM_KIND_INT && info->kind != USM_KIND_UINT) {
        PyErr_Format(PyExc_TypeError, "%s(): indices has dtype %s; an integer type is allowed", function,
                     info->name);
        return -1;
    }
    static const char *const names[] = {"x", "indices"};
    usm_kind kinds[2] = {(usm_kind)out->x->alloc->kind, (usm_kind)out->indices->alloc->kind};
    out->queue = out->x->queue;
    out->kind = kinds[0] > kinds[1] ? kinds[0] : kinds[1];
    if (usmpy_queue_of(out->x->queue) != usmpy_queue_of(out->indices->queue)) {
        PyObject *const both[] = {x, indices};
        usmpy_raise_placement(state, function, both, names, 2);
        return -1;
    }
    return 0;
}

/* The host has seen that the indices are in range, if it can. */
static PyObject *take_checked(usmpy_state *state, const taken *t, int axis)
{
    int64_t shape[USM_MAX_NDIM], from[USM_MAX_NDIM], along[USM_MAX_NDIM];
    int more = t->indices->ndim, ndim = t->x->ndim - 1 + more;
    for (int i = 0; i < ndim; i++) {
        bool indexed = i >= axis && i < axis + more;
        int of_x = i < axis ? i : i - more + 1;
        shape[i] = indexed ? usmpy_shape(t->indices)[i - axis] : usmpy_shape(t->x)[of_x];
        from[i] = indexed ? 0 : usmpy_strides(t->x)[of_x];
        along[i] = 0;
    }
    int64_t length = usmpy_shape(t->x)[axis];
    usmpy_array *result =
        usmpy_array_empty(state, t->queue, t->kind, (usm_dtype)t->x->dtype, ndim, shape, 'C', false);
    if (result == NULL || result->size == 0) {
        return (PyObject *)result;
    }
    if (length == 0) { /* of indices that the host cannot read */
        Py_DECREF(result);
        return PyErr_Format(PyExc_IndexError, "take(): axis %d of x has length 0; no index is in range",
                            axis);
    }
    usmpy_array *indices = usmpy_usable_indices(state, t->indices);
    int status = -1;
    if (indices != NULL) {
        memcpy(along + axis, usmpy_strides(indices), (size_t)more * sizeof *along);
        const usm_view src = {t->x->alloc, t->x->data, (usm_dtype)t->x->dtype, ndim, shape, from};
        const usm_view index = {indices->alloc, indices->data, (usm_dtype)indices->dtype, ndim, shape, along};
        status = usmpy_take(state, result, &src, &index, length, usmpy_strides(t->x)[axis]);
        Py_DECREF(indices);
    }
    if (status < 0) {
        Py_CLEAR(result);
    }
    return (PyObject *)result;
}

int usmpy_take_rows(usmpy_state *state, usmpy_array *x, usmpy_array *indices, PyObject **result)
{
    const taken t = {x, indices, x->queue, (usm_kind)x->alloc->kind};
    *result = NULL;
    if (!usm_alloc_host_reads(indices->alloc) || usm_dtype_is_packed((usm_dtype)x->dtype) ||
        x->ndim - 1 + indices->ndim > USM_MAX_NDIM) {
        return 0;
    }
    if (usmpy_wait_alloc(state, indices->alloc, USM_READ, INT64_MAX) < 0) {
        return -1;
    }
    if (all_in_range(indices, usmpy_shape(x)[0])) {
        *result = take_checked(state, &t, 0);
        return *result == NULL ? -1 : 0;
    }
    return 0;
}

static PyObject *take(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"take", 3, 2, 2, 2, {USMPY_x, USMPY_indices, USMPY_axis}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[3];
    taken t;
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_deferred_poll();
    if (parse_taken(state, out[0], out[1], "take", &t) < 0) {
        return NULL;
    }
    int axis = 0;
    if (usmpy_given(out[2])) {
        axis = usmpy_parse_axis(out[2], t.x->ndim, "axis");
        if (axis < 0) {
            return NULL;
        }
    } else if (t.x->ndim != 1) {
        return PyErr_Format(
            PyExc_ValueError,
            "take(): x has %d dimensions and axis is None; only arrays of one dimension have a "
            "default",
            t.x->ndim);
    }
    if (t.x->ndim - 1 + t.indices->ndim > USM_MAX_NDIM) {
        return PyErr_Format(PyExc_ValueError, "take(): the result would have more than %d dimensions",
                            USM_MAX_NDIM);
    }
    if (t.indices->size > 0 && usmpy_check_indices(state, t.indices, usmpy_shape(t.x)[axis], "take") < 0) {
        return NULL;
    }
    return take_checked(state, &t, axis);
}

/* Lengths of both without the axis, broadcast against each other: the result's shape. 0 or -1. */
static int along_shape(const taken *t, int axis, int64_t *shape)
{
    for (int i = 0; i < t->x->ndim; i++) {
        int64_t a = usmpy_shape(t->x)[i], b = usmpy_shape(t->indices)[i];
        shape[i] = i == axis ? b : a == 1 ? b : a;
        if (i != axis && a != b && a != 1 && b != 1) {
            char x[200], indices[200];
            PyErr_Format(
                PyExc_ValueError,
                "take_along_axis(): x of shape %s and indices of shape %s do not broadcast beside axis %d",
                usm_layout_text(t->x->ndim, usmpy_shape(t->x), x, sizeof x),
                usm_layout_text(t->x->ndim, usmpy_shape(t->indices), indices, sizeof indices), axis);
            return -1;
        }
    }
    return 0;
}

static PyObject *take_along_axis(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {
        "take_along_axis", 3, 2, 2, 2, {USMPY_x, USMPY_indices, USMPY_axis}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[3];
    taken t;
    int64_t shape[USM_MAX_NDIM], from[USM_MAX_NDIM], along[USM_MAX_NDIM];
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    usmpy_deferred_poll();
    if (parse_taken(state, out[0], out[1], "take_along_axis", &t) < 0) {
        return NULL;
    }
    int ndim = t.x->ndim;
    if (ndim == 0 || t.indices->ndim != ndim) {
        return PyErr_Format(
            PyExc_ValueError,
            "take_along_axis(): x has %d dimensions and indices %d; the same number, 1 at least, "
            "is needed",
            ndim, t.indices->ndim);
    }
    int axis = out[2] == NULL ? ndim - 1 : usmpy_parse_axis(out[2], ndim, "axis");
    if (axis < 0 || along_shape(&t, axis, shape) < 0) {
        return NULL;
    }
    int64_t length = usmpy_shape(t.x)[axis];
    if (t.indices->size > 0 && usmpy_check_indices(state, t.indices, length, "take_along_axis") < 0) {
        return NULL;
    }
    usmpy_array *result =
        usmpy_array_empty(state, t.queue, t.kind, (usm_dtype)t.x->dtype, ndim, shape, 'C', false);
    if (result == NULL || result->size == 0) {
        return (PyObject *)result;
    }
    if (length == 0) {
        Py_DECREF(result);
        return PyErr_Format(PyExc_IndexError,
                            "take_along_axis(): axis %d of x has length 0; no index is in range", axis);
    }
    usmpy_array *indices = usmpy_usable_indices(state, t.indices);
    int status = -1;
    if (indices != NULL) {
        for (int i = 0; i < ndim; i++) {
            bool repeats_x = i == axis || usmpy_shape(t.x)[i] == 1;
            from[i] = repeats_x ? 0 : usmpy_strides(t.x)[i];
            along[i] = usmpy_shape(indices)[i] == 1 ? 0 : usmpy_strides(indices)[i];
        }
        const usm_view src = {t.x->alloc, t.x->data, (usm_dtype)t.x->dtype, ndim, shape, from};
        const usm_view index = {indices->alloc, indices->data, (usm_dtype)indices->dtype, ndim, shape, along};
        status = usmpy_take(state, result, &src, &index, length, usmpy_strides(t.x)[axis]);
        Py_DECREF(indices);
    }
    if (status < 0) {
        Py_CLEAR(result);
    }
    return (PyObject *)result;
}

PyMethodDef usmpy_take_functions[] = {
    USMPY_METHOD("take", take, USMPY_DOC_take),
    USMPY_METHOD("take_along_axis", take_along_axis, USMPY_DOC_take_along_axis),
    {0},
};
