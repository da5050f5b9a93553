/* where, all, any and count_nonzero: choices and conclusions from truth values. */
#include "where.h"
#include "compare.h"
#include "docstrings.h"
#include "py/args.h"
#include "py/arrays/mask.h"
#include "py/arrays/operands.h"
#include "py/deferred.h"
#include "py/errors.h"

#include "core/ops/logic.h"
#include "core/program/builtin.h"
#include "kernels/abi/reduce.h"

#include <string.h>

int usmpy_choose(usmpy_state *state, usmpy_array *dst, usmpy_array *condition, usmpy_array *a, usmpy_array *b)
{
    const usm_view to = usmpy_view(dst), chooser = usmpy_view(condition), x1 = usmpy_view(a),
                   x2 = usmpy_view(b);
    usm_error error;
    return usmpy_check(state,
                       usm_where_submit(usmpy_queue_of(dst->queue), &to, &chooser, &x1, &x2,
                                        usmpy_is_only_ours(dst), &error),
                       &error);
}

static PyObject *where(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {
        "where", 5, 3, 3, 3, {USMPY_condition, USMPY_x1, USMPY_x2, USMPY_out, USMPY_order}};
    static const char *const names[] = {"condition", "x1", "x2"};
    usmpy_state *state = usmpy_state_of_module(module);
    usmpy_operands operands;
    usmpy_destination to;
    usmpy_array *result = NULL;
    PyObject *out[5];
    int status = -1;
    if (nargs == 1 && kwnames == NULL) {
        return usmpy_nonzero(state, args[0], "where");
    }
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0 ||
        usmpy_destination_parse(state, out + 3, "where", &to) < 0) {
        return NULL;
    }
    usmpy_deferred_poll();
    PyObject *condition =
        usmpy_is_array(state, out[0]) ? usmpy_truth_of(state, out[0], "where") : Py_NewRef(out[0]);
    if (condition == NULL) {
        return NULL;
    }
    PyObject *const arguments[] = {condition, out[1], out[2]};
    if (usmpy_operands_take(state, "where", names, arguments, 3, 1, &operands) == 0) {
        result = usmpy_operands_result(state, &operands, operands.dtype, &to);
        status = result == NULL ? -1
                                : usmpy_choose(state, result, operands.arrays[0], operands.arrays[1],
                                               operands.arrays[2]);
        usmpy_operands_drop(&operands);
    }
    Py_DECREF(condition);
    return usmpy_operands_deliver(state, &to, result, status);
}

/* What one work-item goes through without a pause, in bytes. */
#define CHUNK ((int64_t)1 << 16)
#define MOST_CHUNKS 1024
/* The same of processors. */
#define CHUNK_OF_PROCESSOR ((int64_t)1 << 19)
/* And how many bytes they look at in the time in which they move one. */
#define SEEN_AT_ONCE 16

static bool on_processor(const usmpy_array *array)
{
    return array->alloc->place->device->type == USM_CPU;
}

/* Work-items along the inner axis. */
static int64_t parts_of(const usm_reduction *reduction, bool processor)
{
    return processor ? (reduction->inner + USM_REDUCE_WIDTH_OF_PROCESSOR - 1) / USM_REDUCE_WIDTH_OF_PROCESSOR
                     : reduction->inner;
}

static int submit_reduction(usmpy_state *state, usmpy_array *dst, usmpy_array *src,
                            const usm_reduction *reduction)
{
    usm_builtin builtin;
    const usm_access accesses[] = {{dst->alloc, USM_WRITE}, {src->alloc, USM_READ}};
    usm_error error;
    usm_builtin_init(&builtin, "reduce", "usm_reduce", NULL);
    usm_builtin_pointer(&builtin, dst->data);
    usm_builtin_pointer(&builtin, src->data);
    usm_builtin_value(&builtin, reduction, sizeof *reduction);
    builtin.n[0] = parts_of(reduction, on_processor(src));
    builtin.n[1] = reduction->chunks;
    builtin.n[2] = reduction->outer;
    builtin.cost = (size_t)(reduction->outer * reduction->reduced * reduction->inner / SEEN_AT_ONCE);
    builtin.cost += builtin.cost == 0;
    usm_status status = usm_builtin_submit(usmpy_queue_of(dst->queue), &builtin, accesses, 2, NULL, &error);
    if (status != USM_OK) {
        usmpy_raise(state, status, &error);
        return -1;
    }
    return 0;
}

/*
 * One launch, or, where few results leave most of a device idle, one over chunks and one over what they gave.
 */
static int reduce(usmpy_state *state, usmpy_array *dst, usmpy_array *src, usm_reduction whole)
{
    int64_t lanes = whole.outer * whole.inner, items = whole.outer * parts_of(&whole, on_processor(src));
    whole.chunk = whole.reduced;
    whole.chunks = 1;
    int64_t chunk = on_processor(src) ? CHUNK_OF_PROCESSOR : CHUNK;
    int64_t least = on_processor(src) ? 8 * chunk : 2 * chunk;
    if (items < MOST_CHUNKS / 4 && lanes * whole.reduced > least) {
        int64_t most = MOST_CHUNKS / items, wanted = lanes * whole.reduced / chunk;
        most = most < whole.reduced ? most : whole.reduced;
        wanted = wanted < most ? wanted : most;
        whole.chunk = (whole.reduced + wanted - 1) / wanted;
        whole.chunks = (whole.reduced + whole.chunk - 1) / whole.chunk;
    }
    if (whole.chunks == 1) {
        return submit_reduction(state, dst, src, &whole);
    }
    const int64_t size = lanes * whole.chunks;
    usmpy_array *partial = usmpy_array_empty(state, src->queue, USM_DEVICE, USM_BOOL, 1, &size, 'C', false);
    int status = partial == NULL ? -1 : submit_reduction(state, partial, src, &whole);
    if (status == 0) {
        const usm_reduction rest = {whole.outer, whole.chunks, whole.inner, whole.chunks, 1, whole.all};
        status = submit_reduction(state, dst, partial, &rest);
    }
    Py_XDECREF(partial);
    return status;
}

/* The axes that remain, then those that go, each in their order; *kept of the first. */
static void order_axes(const usmpy_array *array, uint64_t gone, int *order, int *kept)
{
    int n = 0;
    for (int i = 0; i < array->ndim; i++) {
        if ((gone >> i & 1) == 0) {
            order[n++] = i;
        }
    }
    *kept = n;
    for (int i = 0; i < array->ndim; i++) {
        if ((gone >> i & 1) != 0) {
            order[n++] = i;
        }
    }
}

/*
 * The truth values of an array as bytes in row-major order, (outer, reduced, inner), with nothing in `inner`
 * where rows are wanted: the array itself where it is that already. New reference.
 */
static usmpy_array *truths(usmpy_state *state, usmpy_array *array, uint64_t gone, bool rows,
                           usm_reduction *out)
{
    int first = 0, last = array->ndim, order[USM_MAX_NDIM], kept;
    while (first < array->ndim && (gone >> first & 1) == 0) {
        first++;
    }
    while (last > first && (gone >> (last - 1) & 1) == 0) {
        last--;
    }
    bool together = !rows || last == array->ndim, bytes = array->dtype == USM_BOOL;
    *out = (usm_reduction){.outer = 1, .reduced = 1, .inner = 1};
    for (int i = 0; i < array->ndim; i++) {
        together = together && (gone >> i & 1) == (i >= first && i < last);
        int64_t *part = i < first ? &out->outer : i < last ? &out->reduced : &out->inner;
        *part *= usmpy_shape(array)[i];
    }
    bool whole =
        together && last - first == array->ndim; /* nothing stays: any order of the elements will do */
    if (bytes && together &&
        ((array->flags & USM_C_CONTIGUOUS) != 0 || (whole && (array->flags & USM_F_CONTIGUOUS) != 0))) {
        return (usmpy_array *)Py_NewRef(array);
    }
    int64_t shape[USM_MAX_NDIM], compact[USM_MAX_NDIM], strides[USM_MAX_NDIM];
    order_axes(array, together ? 0 : gone, order, &kept);
    for (int i = 0; i < array->ndim; i++) {
        shape[i] = usmpy_shape(array)[order[i]];
    }
    if (!together) {
        *out = (usm_reduction){.outer = 1, .reduced = 1, .inner = 1};
        for (int i = 0; i < array->ndim; i++) {
            *(i < kept ? &out->outer : &out->reduced) *= shape[i];
        }
    }
    char letter =
        whole && (array->flags & USM_C_CONTIGUOUS) == 0 && (array->flags & USM_F_CONTIGUOUS) != 0 ? 'F' : 'C';
    usmpy_array *made =
        usmpy_array_empty(state, array->queue, USM_DEVICE, USM_BOOL, array->ndim, shape, letter, false);
    if (made == NULL) {
        return NULL;
    }
    usm_layout_compact(array->ndim, shape, letter, compact);
    for (int i = 0; i < array->ndim; i++) { /* the same memory, seen along the array's axes */
        strides[order[i]] = compact[i];
    }
    usmpy_array *view = usmpy_array_view(state, made, made->data, array->ndim, usmpy_shape(array), strides);
    if (view == NULL || usmpy_truth(state, view, array) < 0) {
        Py_CLEAR(made);
    }
    Py_XDECREF(view);
    return made;
}

enum { ANY, ALL, COUNT };

static PyObject *conclude(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                          const char *function, int what)
{
    const usmpy_signature signature = {function, 3, 2, 1, 1, {USMPY_x, USMPY_axis, USMPY_keepdims}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *out[3];
    if (usmpy_parse(state, &signature, args, nargs, kwnames, out) < 0) {
        return NULL;
    }
    if (!usmpy_is_array(state, out[0])) {
        return PyErr_Format(PyExc_TypeError, "%s(): x is %s %s; a USMArray is allowed (asarray makes one)",
                            function, USMPY_A(out[0]));
    }
    usmpy_array *array = (usmpy_array *)out[0];
    int axes[USM_MAX_NDIM], n = array->ndim, keepdims = usmpy_bool(out[2], 0, function, "keepdims"), ndim = 0;
    uint64_t gone = array->ndim == 64 ? ~UINT64_C(0) : (UINT64_C(1) << array->ndim) - 1;
    if (keepdims < 0 || usmpy_check_computed(array, function) < 0) {
        return NULL;
    }
    if (usmpy_given(out[1])) {
        n = usmpy_parse_axes(out[1], array->ndim, axes, "axis");
        if (n < 0) {
            return NULL;
        }
        gone = 0;
        for (int i = 0; i < n; i++) {
            gone |= UINT64_C(1) << axes[i];
        }
    }
    usmpy_deferred_poll();
    int64_t shape[USM_MAX_NDIM];
    for (int i = 0; i < array->ndim; i++) {
        bool goes = (gone >> i & 1) != 0;
        if (!goes || keepdims) {
            shape[ndim++] = goes ? 1 : usmpy_shape(array)[i];
        }
    }
    usmpy_array *result = usmpy_array_empty(state, array->queue, (usm_kind)array->alloc->kind,
                                            what == COUNT ? USM_INT64 : USM_BOOL, ndim, shape, 'C', false);
    if (result == NULL || result->size == 0) {
        return (PyObject *)result;
    }
    int status;
    if (array->size == 0) {
        const unsigned char none[8] = {what == ALL};
        status = usmpy_array_fill(state, result, none);
    } else {
        usm_reduction whole;
        usmpy_array *bytes = truths(state, array, gone, what == COUNT, &whole);
        whole.all = what;
        status = bytes == NULL   ? -1
                 : what == COUNT ? usmpy_count_rows(state, result, bytes)
                                 : reduce(state, result, bytes, whole);
        Py_XDECREF(bytes);
    }
    if (status < 0) {
        Py_CLEAR(result);
    }
    return (PyObject *)result;
}

static PyObject *all(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    return conclude(module, args, nargs, kwnames, "all", ALL);
}

static PyObject *any(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    return conclude(module, args, nargs, kwnames, "any", ANY);
}

static PyObject *count_nonzero(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    return conclude(module, args, nargs, kwnames, "count_nonzero", COUNT);
}

PyMethodDef usmpy_where_functions[] = {
    USMPY_METHOD("where", where, USMPY_DOC_where),
    USMPY_METHOD("all", all, USMPY_DOC_all),
    USMPY_METHOD("any", any, USMPY_DOC_any),
    USMPY_METHOD("count_nonzero", count_nonzero, USMPY_DOC_count_nonzero),
    {0},
};
