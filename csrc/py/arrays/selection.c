/* x[key] and x[key] = value, where arrays are part of the key. */
#include "selection.h"

#include "few.h"
#include "mask.h"
#include "operands.h"
#include "py/args.h"
#include "py/exchange/dlpack.h"
#include "py/functions/logic.h"

#include "core/ops/rows.h"

/*
 * A key that was applied: the view that its basic indices give, in which arrays have whole axes, and the rows
 * of that view that the arrays name.
 */
typedef struct selection {
    usmpy_array *view;
    usmpy_array_keys keys;
    int ndim; /* of the arrays together */
    int64_t shape[USM_MAX_NDIM];
    usmpy_array *offsets; /* of the rows, from the view's first element, in bytes */
} selection;

static void drop(selection *s)
{
    for (int i = 0; i < s->keys.n; i++) {
        Py_DECREF(s->keys.arrays[i]);
    }
    Py_CLEAR(s->view);
    Py_CLEAR(s->offsets);
}

/* Views the array; the offsets come from resolve. 0 or -1; drop() in either case. */
static int parse(usmpy_array *array, PyObject *key, selection *s)
{
    s->offsets = NULL;
    s->keys.n = 0;
    s->view = usmpy_array_key_view(array, key, &s->keys);
    return s->view == NULL ? -1 : 0;
}

static usm_view element_of(usmpy_array *array, int64_t i)
{
    return (usm_view){array->alloc,       array->data + i * usm_dtype_table[array->dtype].itemsize,
                      array->dtype,       0,
                      usmpy_shape(array), usmpy_strides(array)};
}

/* IndexError if anything was out of range. Waits. */
static int check_range(usmpy_array *bad, const selection *s)
{
    usmpy_state *state = bad->state;
    for (int i = 0; i < s->keys.n; i++) {
        usm_view element = element_of(bad, i);
        int64_t found = usmpy_read_count(state, bad->queue, &element);
        if (found == 0) {
            continue;
        }
        if (found > 0) {
            const usm_view index = usmpy_view(s->keys.arrays[i]);
            element = usm_view_element(&index, s->ndim, s->shape, found - 1);
            PyObject *value = usmpy_read_integer(state, bad->queue, &element);
            if (value != NULL) {
                usmpy_error_format(
                    PyExc_IndexError,
                    "index %.100R in an index array is out of range for an axis of length %lld", value,
                    (long long)usmpy_shape(s->view)[s->keys.axes[i]]);
                Py_DECREF(value);
            }
        }
        return -1;
    }
    return 0;
}

/* Enqueues what fills the offsets from all index arrays. 0 or -1. */
static int submit_locate(const selection *s, usmpy_array *offsets, usmpy_array *bad)
{
    const usm_view out = usmpy_view(offsets);
    usm_queue *queue = usmpy_queue_of(s->view->queue);
    usm_error error;
    usm_status status = USM_OK;
    for (int i = 0; i < s->keys.n && status == USM_OK; i++) {
        const usm_view index = usmpy_view(s->keys.arrays[i]), one = element_of(bad, i);
        status = usm_locate_submit(queue, &out, &index, s->ndim, s->shape, &one,
                                   usmpy_shape(s->view)[s->keys.axes[i]],
                                   usmpy_byte_stride(s->view, s->keys.axes[i]), i == 0, &error);
    }
    return usmpy_check(offsets->state, status, &error);
}

/* Offsets for integer arrays, which are checked first: a wait on the host. */
static usmpy_array *locate(const selection *s)
{
    const int64_t n = s->keys.n;
    int64_t size = 1, zero = 0;
    for (int i = 0; i < s->ndim; i++) {
        size *= s->shape[i];
    }
    usmpy_state *state = s->view->state;
    PyObject *queue = s->view->queue;
    usmpy_array *offsets = NULL,
                *bad = usmpy_array_empty(state, queue, USM_DEVICE, USM_INT64, 1, &n, 'C', false);
    if (bad != NULL && usmpy_array_fill(bad, &zero) == 0) {
        offsets = usmpy_array_empty(state, queue, USM_DEVICE, USM_INT64, 1, &size, 'C', false);
    }
    if (offsets != NULL && size > 0 && (submit_locate(s, offsets, bad) < 0 || check_range(bad, s) < 0)) {
        Py_CLEAR(offsets);
    }
    Py_XDECREF(bad);
    return offsets;
}

/* One mask: the number of its true elements is the number of rows. */
static int resolve_mask(selection *s)
{
    usmpy_array *mask = s->keys.arrays[0];
    int64_t steps[USM_MAX_NDIM];
    for (int i = 0; i < mask->ndim; i++) {
        steps[i] = usmpy_byte_stride(s->view, s->keys.axes[0] + i);
    }
    s->offsets = usmpy_mask_offsets(mask, steps, USM_DEVICE);
    s->ndim = 1;
    s->shape[0] = s->offsets == NULL ? 0 : s->offsets->size;
    return s->offsets == NULL ? -1 : 0;
}

static int resolve_integers(selection *s)
{
    usmpy_array *first = s->keys.arrays[0];
    s->ndim = 0;
    for (int i = 0; i < s->keys.n; i++) {
        usmpy_array *index = s->keys.arrays[i];
        if (!usmpy_broadcast_shape(&s->ndim, s->shape, index->ndim, usmpy_shape(index))) {
            char a[200], b[200];
            return usmpy_refuse(PyExc_IndexError, "index arrays of shapes %s and %s do not broadcast",
                                usm_layout_text(first->ndim, usmpy_shape(first), a, sizeof a),
                                usm_layout_text(index->ndim, usmpy_shape(index), b, sizeof b));
        }
    }
    s->offsets = locate(s);
    return s->offsets == NULL ? -1 : 0;
}

/* Adds to `keys` the indices of a mask's true elements, an array for each axis. 0 or -1. */
static int add_indices(usmpy_array *mask, int axis, usmpy_array_keys *keys)
{
    if (mask->ndim == 0) {
        return usmpy_refuse(
            PyExc_IndexError,
            "the index has a mask of 0 dimensions beside other arrays; a bool alone is allowed");
    }
    if (usmpy_mask_indices(mask, USM_DEVICE, keys->arrays + keys->n) < 0) {
        return -1;
    }
    for (int i = 0; i < mask->ndim; i++) {
        keys->axes[keys->n++] = axis + i;
    }
    return 0;
}

/* A mask beside other arrays is replaced by the indices of its true elements. */
static int expand_masks(selection *s)
{
    const usmpy_array_keys old = s->keys;
    int status = 0;
    s->keys.n = 0;
    for (int i = 0; i < old.n; i++) {
        if (status == 0 && old.arrays[i]->dtype == USM_BOOL) {
            status = add_indices(old.arrays[i], old.axes[i], &s->keys);
        } else if (status == 0) {
            s->keys.arrays[s->keys.n] = (usmpy_array *)Py_NewRef(old.arrays[i]);
            s->keys.axes[s->keys.n++] = old.axes[i];
        }
        Py_DECREF(old.arrays[i]);
    }
    return status;
}

static int resolve(selection *s)
{
    if (s->keys.n == 1 && s->keys.arrays[0]->dtype == USM_BOOL) {
        return resolve_mask(s);
    }
    return expand_masks(s) < 0 ? -1 : resolve_integers(s);
}

/*
 * The result's shape, and its rows: the view's axes that no array indexes. Returns the number of dimensions,
 * or -1 with IndexError where they are too many.
 */
static int shape_result(const selection *s, usm_rows *rows, int64_t *shape)
{
    bool indexed[USM_MAX_NDIM] = {false};
    for (int i = 0; i < s->keys.n; i++) {
        usmpy_array *array = s->keys.arrays[i];
        int axes = array->dtype == USM_BOOL ? array->ndim : 1;
        memset(indexed + s->keys.axes[i], true, (size_t)axes * sizeof *indexed);
    }
    rows->offsets = usmpy_view(s->offsets);
    rows->ndim = 0;
    for (int i = 0; i < s->view->ndim; i++) {
        if (!indexed[i]) {
            rows->shape[rows->ndim] = usmpy_shape(s->view)[i];
            rows->strides[rows->ndim++] = usmpy_strides(s->view)[i];
        }
    }
    if (s->ndim + rows->ndim > USM_MAX_NDIM) {
        return usmpy_refuse(PyExc_IndexError, "the result would have more than %d dimensions", USM_MAX_NDIM);
    }
    /* The axes of arrays side by side come where the first of them was (all axes before it are in rows). */
    int place = rows->place = s->keys.adjacent ? s->keys.axes[0] : 0;
    memcpy(shape, rows->shape, (size_t)place * sizeof *shape);
    memcpy(shape + place, s->shape, (size_t)s->ndim * sizeof *shape);
    memcpy(shape + place + s->ndim, rows->shape + place, (size_t)(rows->ndim - place) * sizeof *shape);
    return s->ndim + rows->ndim;
}

/* Copies between the view's rows and `whole`, which is compact and of the result's shape. */
static int move_rows(const selection *s, const usm_rows *rows, usmpy_array *whole, bool put)
{
    const usm_view array = usmpy_view(s->view), other = usmpy_view(whole);
    usm_error error;
    return usmpy_check(
        whole->state, usm_rows_move(usmpy_queue_of(whole->queue), &array, rows, &other, put, &error), &error);
}

/* x[integers], the commonest key: 1 with the result or an exception, 0 where the key is not of this form. */
static int take_rows(usmpy_array *array, usmpy_array *index, PyObject **result)
{
    if (array->ndim == 0 || !usmpy_has_integers(index) ||
        usmpy_queue_of(index->queue) != usmpy_queue_of(array->queue)) {
        return 0;
    }
    return usmpy_take_rows(array, index, result) < 0 || *result != NULL;
}

PyObject *usmpy_select(usmpy_array *array, PyObject *key)
{
    selection s;
    usm_rows rows;
    PyObject *taken = NULL;
    usmpy_array *result = NULL;
    int64_t shape[USM_MAX_NDIM];
    if (usmpy_is_array(array->state, key)) {
        result = usmpy_few_select(array, (usmpy_array *)key);
        if (result != NULL || PyErr_Occurred()) {
            return (PyObject *)result;
        }
        if (take_rows(array, (usmpy_array *)key, &taken)) {
            return taken;
        }
    }
    if (parse(array, key, &s) == 0 && resolve(&s) == 0) {
        int ndim = shape_result(&s, &rows, shape);
        result = ndim < 0 ? NULL : usmpy_array_beside(array, array->dtype, ndim, shape);
    }
    if (result != NULL && result->size > 0 && move_rows(&s, &rows, result, false) < 0) {
        Py_CLEAR(result);
    }
    drop(&s);
    return (PyObject *)result;
}

/* x[mask] = number: a choice for every element, so that nothing has to be counted. */
static int assign_number(const selection *s, usmpy_array *number)
{
    usmpy_array *view = s->view, *mask = s->keys.arrays[0], *own = mask;
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM];
    for (int i = 0; i < view->ndim; i++) {
        bool inside = i >= s->keys.axes[0] && i < s->keys.axes[0] + mask->ndim;
        shape[i] = usmpy_shape(view)[i];
        strides[i] = inside ? usmpy_strides(mask)[i - s->keys.axes[0]] : 0;
    }
    if (mask->size == 0) {
        return 0;
    }
    if (mask->alloc == view->alloc) { /* it may be what is written */
        own = usmpy_array_duplicate(mask, mask->queue, USM_DEVICE, USM_BOOL, 'C');
        if (own == NULL) {
            return -1;
        }
        for (int i = 0; i < mask->ndim; i++) {
            strides[s->keys.axes[0] + i] = usmpy_strides(own)[i];
        }
    }
    usmpy_array *wide = usmpy_array_view(own, own->data, view->ndim, shape, strides);
    int status = wide == NULL ? -1 : usmpy_choose(view, wide, number, view);
    Py_XDECREF(wide);
    if (own != mask) {
        Py_DECREF(own);
    }
    return status;
}

/* Puts an array, from a compact copy in other memory that has the result's shape and the array's type. */
static int assign_array(const selection *s, usmpy_array *value)
{
    usm_rows rows;
    int64_t shape[USM_MAX_NDIM];
    int ndim = shape_result(s, &rows, shape);
    usmpy_array *whole = ndim < 0 ? NULL
                                  : usmpy_array_empty(value->state, s->view->queue, USM_DEVICE,
                                                      s->view->dtype, ndim, shape, 'C', false);
    int status = whole == NULL ? -1 : usmpy_array_copy_broadcast(whole, value, "the value");
    if (status == 0 && whole->size > 0) {
        status = move_rows(s, &rows, whole, true);
    }
    Py_XDECREF(whole);
    return status;
}

int usmpy_assign(usmpy_array *array, PyObject *key, PyObject *value)
{
    usmpy_state *state = array->state;
    selection s;
    unsigned char element[USM_MAX_PATTERN];
    usmpy_array *source = NULL;
    int few = usmpy_is_array(state, key) ? usmpy_few_assign(array, (usmpy_array *)key, value) : 0;
    if (few != 0) {
        return few < 0 ? -1 : 0;
    }
    int status = parse(array, key, &s) < 0 ? -1 : usmpy_assigned_value(array, value, &source, element);
    if (status == 0) {
        source = usmpy_array_empty(state, array->queue, USM_DEVICE, array->dtype, 0, NULL, 'C', false);
        status = source == NULL ? -1 : usmpy_array_fill(source, element);
    } else if (status > 0 && (!usmpy_is_array(state, value) ||
                              usmpy_queue_of(source->queue) != usmpy_queue_of(array->queue))) {
        /* The owner of a foreign value may change it as soon as the assignment returns: it is copied now. */
        Py_SETREF(source,
                  usmpy_duplicate_from(state, value, source, array->queue, USM_DEVICE, source->dtype, 'C'));
        status = source == NULL ? -1 : 0;
    }
    if (status >= 0) {
        bool one = source->ndim == 0 && s.keys.n == 1 && s.keys.arrays[0]->dtype == USM_BOOL;
        if (one && source->dtype == array->dtype && source->alloc != array->alloc) {
            status = assign_number(&s, source);
        } else {
            status = resolve(&s) < 0 ? -1 : assign_array(&s, source);
        }
    }
    Py_XDECREF(source);
    drop(&s);
    return status;
}
