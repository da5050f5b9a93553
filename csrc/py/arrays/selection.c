#include "selection.h"

#include "few.h"
#include "mask.h"
#include "operands.h"
#include "py/args.h"
#include "py/errors.h"
#include "py/functions/creation.h"
#include "py/functions/where.h"
#include "py/objects/placement.h"

#include "core/ops/rows.h"

#include <string.h>

/*
 * A key taken apart: the view that its basic indices give, in which every array index has whole axes, and the
 * arrays, each with the first of its axes in the view.
 */
typedef struct selection {
    usmpy_array *view;
    int n;
    usmpy_array *arrays[USM_MAX_NDIM]; /* one reference each */
    int axes[USM_MAX_NDIM];
    bool adjacent; /* the array indices stand side by side: their axes come in their place, else first */
    int ndim;      /* of the arrays together */
    int64_t shape[USM_MAX_NDIM];
    usmpy_array *offsets; /* of the rows, from the view's first element, in bytes */
} selection;

static void drop(selection *s)
{
    for (int i = 0; i < s->n; i++) {
        Py_CLEAR(s->arrays[i]);
    }
    Py_CLEAR(s->view);
    Py_CLEAR(s->offsets);
}

/* Axes that an index uses up: a mask as many as it has. */
static int axes_of(usmpy_state *state, PyObject *item)
{
    if (usmpy_is_array(state, item) && ((usmpy_array *)item)->dtype == USM_BOOL) {
        return ((usmpy_array *)item)->ndim;
    }
    return item != Py_None;
}

static int check_index(usmpy_state *state, usmpy_array *array, usmpy_array *index)
{
    usm_dtype_kind kind = (usm_dtype_kind)usm_dtype_table[index->dtype].kind;
    if (kind != USM_KIND_BOOL && kind != USM_KIND_INT && kind != USM_KIND_UINT) {
        PyErr_Format(PyExc_IndexError, "an index array has dtype %s; integers and bool are allowed",
                     usm_dtype_table[index->dtype].name);
        return -1;
    }
    if (usmpy_queue_of(index->queue) != usmpy_queue_of(array->queue)) {
        PyObject *const arguments[] = {(PyObject *)array, (PyObject *)index};
        static const char *const names[] = {"x", "index"};
        usmpy_raise_placement(state, "x[index]", arguments, names, 2);
        return -1;
    }
    return 0;
}

/* Lengths are those of the axes, or 0: then nothing is true (array API standard, boolean array indexing). */
static bool mask_fits(usmpy_array *mask, const int64_t *lengths)
{
    for (int i = 0; i < mask->ndim; i++) {
        if (usmpy_shape(mask)[i] != lengths[i] && usmpy_shape(mask)[i] != 0) {
            return false;
        }
    }
    return true;
}

/*
 * The key with whole slices for its arrays, as a new tuple, and the arrays with their axes of the view.
 * Lengths of masks are checked against the array's.
 */
static PyObject *take_apart(usmpy_state *state, usmpy_array *array, PyObject *const *items, Py_ssize_t n,
                            selection *s)
{
    PyObject *whole = PySlice_New(NULL, NULL, NULL), *basic = PyList_New(0);
    int used = 0, axis = 0, at = 0; /* axes of the key; next axis of the array, of the view */
    bool open = false, closed = false;
    for (Py_ssize_t i = 0; i < n; i++) {
        used += items[i] == Py_Ellipsis ? 0 : axes_of(state, items[i]);
    }
    s->adjacent = true;
    if (used > array->ndim) {
        PyErr_Format(PyExc_IndexError, "too many indices: %d given, the array has %d dimension%s", used,
                     array->ndim, array->ndim == 1 ? "" : "s");
        goto failed;
    }
    for (Py_ssize_t i = 0; whole != NULL && basic != NULL && i < n; i++) {
        PyObject *item = items[i];
        bool is_array = usmpy_is_array(state, item);
        int axes = item == Py_Ellipsis ? array->ndim - used : axes_of(state, item);
        /* Integers count as arrays of 0 dimensions, as NumPy has it. */
        bool advanced = is_array || !(item == Py_Ellipsis || item == Py_None || PySlice_Check(item));
        s->adjacent = s->adjacent && !(advanced && closed);
        closed = closed || (open && !advanced);
        open = open || advanced;
        if (!is_array || (axes == 1 && ((usmpy_array *)item)->ndim == 0)) {
            if (PyList_Append(basic, item) < 0) {
                goto failed;
            }
            at += item == Py_Ellipsis ? axes : item == Py_None || PySlice_Check(item);
            axis += axes;
            continue;
        }
        usmpy_array *index = (usmpy_array *)item;
        if (check_index(state, array, index) < 0) {
            goto failed;
        }
        if (index->dtype == USM_BOOL && !mask_fits(index, usmpy_shape(array) + axis)) {
            char mask[200], own[200];
            PyErr_Format(
                PyExc_IndexError,
                "a mask of shape %s does not fit axes %d to %d of an array of shape %s; their lengths must be "
                "equal",
                usm_layout_text(index->ndim, usmpy_shape(index), mask, sizeof mask), axis, axis + axes - 1,
                usm_layout_text(array->ndim, usmpy_shape(array), own, sizeof own));
            goto failed;
        }
        s->arrays[s->n] = (usmpy_array *)Py_NewRef(item);
        s->axes[s->n++] = at;
        for (int k = 0; k < axes; k++) {
            if (PyList_Append(basic, whole) < 0) {
                goto failed;
            }
        }
        at += axes;
        axis += axes;
    }
    if (whole != NULL && basic != NULL) {
        PyObject *key = PyList_AsTuple(basic);
        Py_DECREF(whole);
        Py_DECREF(basic);
        return key;
    }
failed:
    Py_XDECREF(whole);
    Py_XDECREF(basic);
    return NULL;
}

static int64_t byte_step(usmpy_array *view, int axis)
{
    return usmpy_strides(view)[axis] * usm_dtype_table[view->dtype].itemsize;
}

static usm_view element_of(usmpy_array *array, int64_t i)
{
    return (usm_view){array->alloc,
                      array->data + i * usm_dtype_table[array->dtype].itemsize,
                      (usm_dtype)array->dtype,
                      0,
                      usmpy_shape(array),
                      usmpy_strides(array)};
}

/* IndexError if anything was out of range. Waits. */
static int check_range(usmpy_state *state, usmpy_array *bad, const selection *s)
{
    for (int i = 0; i < s->n; i++) {
        usm_view element = element_of(bad, i);
        int64_t found = usmpy_read_count(state, bad->queue, &element);
        if (found == 0) {
            continue;
        }
        if (found > 0) {
            const usm_view index = usmpy_view(s->arrays[i]);
            element = usm_view_element(&index, s->ndim, s->shape, found - 1);
            PyObject *value = usmpy_read_integer(state, bad->queue, &element);
            if (value != NULL) {
                PyErr_Format(PyExc_IndexError,
                             "index %R in an index array is out of range for an axis of length %lld", value,
                             (long long)usmpy_shape(s->view)[s->axes[i]]);
                Py_DECREF(value);
            }
        }
        return -1;
    }
    return 0;
}

/* Enqueues what fills the offsets from all index arrays. 0 or -1. */
static int submit_locate(usmpy_state *state, const selection *s, usmpy_array *offsets, usmpy_array *bad)
{
    const usm_view out = usmpy_view(offsets);
    usm_queue *queue = usmpy_queue_of(s->view->queue);
    usm_error error;
    usm_status status = USM_OK;
    for (int i = 0; i < s->n && status == USM_OK; i++) {
        const usm_view index = usmpy_view(s->arrays[i]), one = element_of(bad, i);
        status =
            usm_locate_submit(queue, &out, &index, s->ndim, s->shape, &one, usmpy_shape(s->view)[s->axes[i]],
                              byte_step(s->view, s->axes[i]), i == 0, &error);
    }
    return usmpy_check(state, status, &error);
}

/* Offsets for integer arrays, which are checked first: a wait on the host. */
static usmpy_array *locate(usmpy_state *state, const selection *s)
{
    const int64_t n = s->n;
    int64_t size = 1, zero = 0;
    for (int i = 0; i < s->ndim; i++) {
        size *= s->shape[i];
    }
    PyObject *queue = s->view->queue;
    usmpy_array *offsets = NULL,
                *bad = usmpy_array_empty(state, queue, USM_DEVICE, USM_INT64, 1, &n, 'C', false);
    if (bad != NULL && usmpy_array_fill(state, bad, &zero) == 0) {
        offsets = usmpy_array_empty(state, queue, USM_DEVICE, USM_INT64, 1, &size, 'C', false);
    }
    if (offsets != NULL && size > 0 &&
        (submit_locate(state, s, offsets, bad) < 0 || check_range(state, bad, s) < 0)) {
        Py_CLEAR(offsets);
    }
    Py_XDECREF(bad);
    return offsets;
}

/* One mask: its offsets tell how many there are. */
static int resolve_mask(usmpy_state *state, selection *s)
{
    usmpy_array *mask = s->arrays[0];
    int64_t steps[USM_MAX_NDIM];
    for (int i = 0; i < mask->ndim; i++) {
        steps[i] = byte_step(s->view, s->axes[0] + i);
    }
    s->offsets = usmpy_mask_offsets(state, mask, steps, USM_DEVICE);
    s->ndim = 1;
    s->shape[0] = s->offsets == NULL ? 0 : s->offsets->size;
    return s->offsets == NULL ? -1 : 0;
}

static int resolve_integers(usmpy_state *state, selection *s)
{
    s->ndim = s->arrays[0]->ndim;
    memcpy(s->shape, usmpy_shape(s->arrays[0]), (size_t)s->ndim * sizeof *s->shape);
    for (int i = 1; i < s->n; i++) {
        usmpy_array *index = s->arrays[i];
        if (!usmpy_broadcast_shape(&s->ndim, s->shape, index->ndim, usmpy_shape(index))) {
            char a[200], b[200];
            PyErr_Format(PyExc_IndexError, "index arrays of shapes %s and %s do not broadcast",
                         usm_layout_text(s->arrays[0]->ndim, usmpy_shape(s->arrays[0]), a, sizeof a),
                         usm_layout_text(index->ndim, usmpy_shape(index), b, sizeof b));
            return -1;
        }
    }
    s->offsets = locate(state, s);
    return s->offsets == NULL ? -1 : 0;
}

/* A mask beside other arrays is as the indices of its true elements. */
static int expand_masks(usmpy_state *state, selection *s)
{
    for (int i = 0; i < s->n; i++) {
        usmpy_array *mask = s->arrays[i];
        if (mask->dtype != USM_BOOL) {
            continue;
        }
        int64_t steps[USM_MAX_NDIM];
        int ndim = mask->ndim;
        if (ndim == 0) {
            PyErr_SetString(
                PyExc_IndexError,
                "the index has a mask of 0 dimensions beside other arrays; a bool alone is allowed");
            return -1;
        }
        if (s->n + ndim - 1 > USM_MAX_NDIM) {
            PyErr_Format(PyExc_IndexError, "the arrays of the index have more than %d axes together",
                         USM_MAX_NDIM);
            return -1;
        }
        usm_layout_compact(ndim, usmpy_shape(mask), 'C', steps);
        usmpy_array *flat = usmpy_mask_offsets(state, mask, steps, USM_DEVICE);
        if (flat == NULL) {
            return -1;
        }
        size_t behind = (size_t)(s->n - i - 1);
        memmove(s->arrays + i + ndim, s->arrays + i + 1, behind * sizeof *s->arrays);
        memmove(s->axes + i + ndim, s->axes + i + 1, behind * sizeof *s->axes);
        s->n += ndim - 1;
        int axis = s->axes[i];
        for (int k = 0; k < ndim; k++) {
            s->arrays[i + k] = NULL;
            s->axes[i + k] = axis + k;
        }
        bool made = true;
        for (int k = 0; k < ndim && made; k++) {
            s->arrays[i + k] = usmpy_unravel_axis(state, flat, steps[k], usmpy_shape(mask)[k], USM_DEVICE);
            made = s->arrays[i + k] != NULL;
        }
        Py_DECREF(flat);
        Py_DECREF(mask);
        if (!made) {
            for (int k = 0; k < s->n; k++) { /* drop() meets no hole */
                if (s->arrays[k] == NULL) {
                    memmove(s->arrays + k, s->arrays + k + 1, (size_t)(s->n - k - 1) * sizeof *s->arrays);
                    s->n--;
                    k--;
                }
            }
            return -1;
        }
        i += ndim - 1;
    }
    return 0;
}

/* Views the array; the offsets come from resolve. 0 or -1; drop() in any case. */
static int parse(usmpy_state *state, usmpy_array *array, PyObject *key, selection *s)
{
    PyObject *const *items = PyTuple_Check(key) ? ((PyTupleObject *)key)->ob_item : &key;
    Py_ssize_t n = PyTuple_Check(key) ? PyTuple_GET_SIZE(key) : 1;
    s->view = s->offsets = NULL;
    s->n = 0;
    if (usmpy_check_unpacked(array, "indexing") < 0) {
        return -1;
    }
    if (n > USM_MAX_NDIM) {
        PyErr_Format(PyExc_IndexError, "too many indices: %zd given, the array has %d dimension%s", n,
                     array->ndim, usmpy_plural(array->ndim));
        return -1;
    }
    PyObject *basic = take_apart(state, array, items, n, s);
    s->view = basic == NULL ? NULL : usmpy_array_basic_view(state, array, basic);
    Py_XDECREF(basic);
    return s->view == NULL ? -1 : 0;
}

static int resolve(usmpy_state *state, selection *s)
{
    if (s->n == 1 && s->arrays[0]->dtype == USM_BOOL) {
        return resolve_mask(state, s);
    }
    return expand_masks(state, s) < 0 ? -1 : resolve_integers(state, s);
}

/*
 * The result's shape, and what of it is in a row: the view's axes without those of the arrays. *place is
 * where the arrays' axes come.
 */
static int shape_result(const selection *s, usm_rows *rows, int64_t *shape, int *place)
{
    bool taken[USM_MAX_NDIM] = {false};
    int ndim = 0;
    for (int i = 0; i < s->n; i++) {
        int axes = s->arrays[i]->dtype == USM_BOOL ? s->arrays[i]->ndim : 1;
        for (int k = 0; k < axes; k++) {
            taken[s->axes[i] + k] = true;
        }
    }
    *place = s->adjacent ? s->axes[0] : 0;
    rows->offsets = usmpy_view(s->offsets);
    rows->ndim = 0;
    for (int i = 0; i <= s->view->ndim; i++) {
        if (ndim == *place) {
            memcpy(shape + ndim, s->shape, (size_t)s->ndim * sizeof *shape);
            ndim += s->ndim;
            *place = -1 - *place; /* once */
        }
        if (i < s->view->ndim && !taken[i]) {
            shape[ndim++] = usmpy_shape(s->view)[i];
            rows->shape[rows->ndim] = usmpy_shape(s->view)[i];
            rows->strides[rows->ndim++] = usmpy_strides(s->view)[i];
        }
    }
    *place = -1 - *place;
    return ndim;
}

/* Strides of a row's axes in a compact array of the result's shape, and, as the result, from row to row. */
static int64_t row_strides(int place, int taken, usmpy_array *array, int64_t *inner)
{
    int64_t step = 1;
    int n = 0;
    for (int i = 0; i < array->ndim; i++) {
        if (i < place || i >= place + taken) {
            inner[n++] = usmpy_strides(array)[i];
        }
        step *= i < place + taken ? 1 : usmpy_shape(array)[i]; /* strides of axes of length 1 say nothing */
    }
    return step;
}

/* Copies between the view's rows and `whole`, which is compact; its axes from `place` on are the rows. */
static int move_rows(usmpy_state *state, const selection *s, const usm_rows *rows, usmpy_array *whole,
                     int place, bool put)
{
    int64_t inner[USM_MAX_NDIM], stride = row_strides(place, s->ndim, whole, inner);
    const usm_view array = usmpy_view(s->view), other = usmpy_view(whole);
    usm_error error;
    return usmpy_check(
        state, usm_rows_move(usmpy_queue_of(whole->queue), &array, rows, &other, stride, inner, put, &error),
        &error);
}

/* x[integers], the commonest key: 1 with the result or an exception, 0 where the general way is due. */
static int take_rows(usmpy_state *state, usmpy_array *array, PyObject *key, PyObject **result)
{
    if (!usmpy_is_array(state, key) || array->ndim == 0) {
        return 0;
    }
    usmpy_array *index = (usmpy_array *)key;
    usm_dtype_kind kind = (usm_dtype_kind)usm_dtype_table[index->dtype].kind;
    if ((kind != USM_KIND_INT && kind != USM_KIND_UINT) ||
        usmpy_queue_of(index->queue) != usmpy_queue_of(array->queue)) {
        return 0;
    }
    return usmpy_take_rows(state, array, index, result) < 0 || *result != NULL;
}

PyObject *usmpy_select(usmpy_state *state, usmpy_array *array, PyObject *key)
{
    selection s;
    usm_rows rows;
    PyObject *taken = NULL;
    usmpy_array *result = NULL;
    int64_t shape[2 * USM_MAX_NDIM];
    int place;
    if (usmpy_is_array(state, key)) {
        result = usmpy_few_select(state, array, (usmpy_array *)key);
        if (result != NULL || PyErr_Occurred()) {
            return (PyObject *)result;
        }
    }
    if (take_rows(state, array, key, &taken)) {
        return taken;
    }
    if (parse(state, array, key, &s) == 0 && resolve(state, &s) == 0) {
        int ndim = shape_result(&s, &rows, shape, &place);
        if (ndim > USM_MAX_NDIM) {
            PyErr_Format(PyExc_IndexError, "the result would have more than %d dimensions", USM_MAX_NDIM);
        } else {
            result = usmpy_array_empty(state, array->queue, (usm_kind)array->alloc->kind,
                                       (usm_dtype)array->dtype, ndim, shape, 'C', false);
        }
    }
    if (result != NULL && result->size > 0) {
        if (move_rows(state, &s, &rows, result, place, false) < 0) {
            Py_CLEAR(result);
        }
    }
    drop(&s);
    return (PyObject *)result;
}

/* x[mask] = number: every element is asked, none is counted. */
static int assign_number(usmpy_state *state, const selection *s, usmpy_array *number)
{
    usmpy_array *view = s->view, *mask = s->arrays[0], *own = mask;
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM];
    for (int i = 0; i < view->ndim; i++) {
        bool inside = i >= s->axes[0] && i < s->axes[0] + mask->ndim;
        shape[i] = usmpy_shape(view)[i];
        strides[i] = inside ? usmpy_strides(mask)[i - s->axes[0]] : 0;
    }
    if (mask->size == 0) {
        return 0;
    }
    if (mask->alloc == view->alloc) { /* it may be what is written */
        own = usmpy_array_duplicate(state, mask, mask->queue, USM_DEVICE, USM_BOOL, 'C');
        if (own == NULL) {
            return -1;
        }
        for (int i = 0; i < mask->ndim; i++) {
            strides[s->axes[0] + i] = usmpy_strides(own)[i];
        }
    }
    usmpy_array *wide = usmpy_array_view(state, own, own->data, view->ndim, shape, strides);
    int status = wide == NULL ? -1 : usmpy_choose(state, view, wide, number, view);
    Py_XDECREF(wide);
    if (own != mask) {
        Py_DECREF(own);
    }
    return status;
}

/*
 * The value in the result's shape, compact and of the array's type: nothing of it is in the array's own
 * memory.
 */
static int assign_array(usmpy_state *state, const selection *s, usmpy_array *value)
{
    usm_rows rows;
    int64_t shape[2 * USM_MAX_NDIM];
    int place, ndim = shape_result(s, &rows, shape, &place);
    if (ndim > USM_MAX_NDIM) {
        PyErr_Format(PyExc_IndexError, "the index would give more than %d dimensions", USM_MAX_NDIM);
        return -1;
    }
    usmpy_array *whole = usmpy_array_empty(state, s->view->queue, USM_DEVICE, (usm_dtype)s->view->dtype, ndim,
                                           shape, 'C', false);
    int status = whole == NULL ? -1 : usmpy_array_copy_broadcast(state, whole, value, "the value");
    if (status == 0 && whole->size > 0) {
        status = move_rows(state, s, &rows, whole, place, true);
    }
    Py_XDECREF(whole);
    return status;
}

int usmpy_assign(usmpy_state *state, usmpy_array *array, PyObject *key, PyObject *value)
{
    selection s;
    unsigned char element[USM_MAX_PATTERN];
    usmpy_array *source = NULL;
    int few = usmpy_is_array(state, key) ? usmpy_few_assign(state, array, (usmpy_array *)key, value) : 0;
    if (few != 0) {
        return few < 0 ? -1 : 0;
    }
    int status = parse(state, array, key, &s);
    if (status == 0) {
        source = usmpy_assigned_value(state, array, value, element);
        status = source == NULL && PyErr_Occurred() ? -1 : 0;
    }
    if (status == 0 && source == NULL) { /* a number */
        source =
            usmpy_array_empty(state, array->queue, USM_DEVICE, (usm_dtype)array->dtype, 0, NULL, 'C', false);
        status = source == NULL ? -1 : usmpy_array_fill(state, source, element);
    }
    if (status == 0) {
        bool one = source->ndim == 0 && s.n == 1 && s.arrays[0]->dtype == USM_BOOL;
        if (one && source->dtype == array->dtype && source->alloc != array->alloc) {
            status = assign_number(state, &s, source);
        } else {
            status = resolve(state, &s) < 0 ? -1 : assign_array(state, &s, source);
        }
    }
    Py_XDECREF(source);
    drop(&s);
    return status;
}
