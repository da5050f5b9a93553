/* The true elements of masks: offsets for indexing, nonzero and count_nonzero. */
#include "mask.h"
#include "docstrings.h"

#include "few.h"
#include "gather.h"
#include "operands.h"
#include "py/args.h"
#include "py/deferred.h"
#include "py/errors.h"
#include "py/functions/compare.h"
#include "py/wait.h"

#include "core/program/builtin.h"
#include "kernels/abi/mask.h"

#include <string.h>

#define CHUNK 4096
#define MOST_CHUNKS 16384
/* Processors count so many bytes in the time in which they move one; one thread is enough for so many. */
#define COUNTED_AT_ONCE 16
#define CHUNK_OF_PROCESSOR ((int64_t)2 << 20)
#define FEW_ROWS 32 /* of a long axis each: a work-item for each row would leave most of a device idle */

/* Axes from the fastest to the slowest, merged where the steps allow it. False where they are too many. */
static bool lay_out(const usmpy_array *mask, const int64_t *steps, usm_mask *out)
{
    int n = 0;
    for (int i = mask->ndim - 1; i >= 0; i--) {
        int64_t length = mask->dims[i];
        if (length == 1) {
            continue;
        }
        if (n > 0 && steps[i] == out->steps[n - 1] * out->shape[n - 1]) {
            out->shape[n - 1] *= length;
            continue;
        }
        if (n == USM_MASK_AXES) {
            return false;
        }
        out->shape[n] = length;
        out->steps[n++] = steps[i];
    }
    out->ndim = n == 0 ? 1 : n;
    for (; n < USM_MASK_AXES; n++) {
        out->shape[n] = 1;
        out->steps[n] = 0;
    }
    return true;
}

static int submit(usmpy_state *state, const char *function, usmpy_array *const *arrays, int n, int64_t items,
                  const usm_mask *layout, size_t cost)
{
    usm_builtin builtin = {.module = "mask", .function = function, .n = {items, 1, 1}};
    usm_access accesses[3];
    usm_error error;
    for (int i = 0; i < n; i++) {
        usm_builtin_pointer(&builtin, arrays[i]->data);
        accesses[i] = (usm_access){arrays[i]->alloc, i == 0 ? USM_READ_WRITE : USM_READ};
    }
    usm_builtin_value(&builtin, layout, sizeof *layout);
    builtin.cost = cost;
    usm_status status =
        usm_builtin_submit(usmpy_queue_of(arrays[0]->queue), &builtin, accesses, (size_t)n, NULL, &error);
    if (status != USM_OK) {
        usmpy_raise(state, status, &error);
        return -1;
    }
    return 0;
}

static size_t count_cost(const usm_mask *layout)
{
    return (size_t)(layout->n / COUNTED_AT_ONCE + (layout->n < COUNTED_AT_ONCE));
}

/* Where the results of each chunk begin, and, behind these, how many there are. `bytes` is compact. */
static usmpy_array *count_chunks(usmpy_state *state, usmpy_array *bytes, usm_mask *layout)
{
    layout->n = bytes->size;
    layout->chunk = (bytes->size + MOST_CHUNKS - 1) / MOST_CHUNKS;
    layout->chunk = layout->chunk < CHUNK ? CHUNK : layout->chunk;
    layout->chunks = (layout->n + layout->chunk - 1) / layout->chunk;
    const int64_t size = layout->chunks + 1;
    usmpy_array *counts = usmpy_array_empty(state, bytes->queue, USM_DEVICE, USM_INT64, 1, &size, 'C', false);
    usmpy_array *const arrays[] = {counts, bytes};
    if (counts != NULL &&
        (submit(state, "usm_mask_count", arrays, 2, layout->chunks, layout, count_cost(layout)) < 0 ||
         submit(state, "usm_mask_scan", arrays, 1, 1, layout, (size_t)layout->chunks * 8) < 0)) {
        Py_CLEAR(counts);
    }
    return counts;
}

static usmpy_array *last_element(usmpy_state *state, usmpy_array *counts)
{
    return usmpy_array_view(state, counts, counts->data + (counts->size - 1) * (int64_t)sizeof(int64_t), 0,
                            NULL, NULL);
}

/* The last element, after a wait for it. -1 with an exception. */
static int64_t read_sum(usmpy_state *state, usmpy_array *counts)
{
    usmpy_array *last = last_element(state, counts);
    int64_t sum = last == NULL ? -1 : usmpy_read_int64(last);
    Py_XDECREF(last);
    return sum;
}

/* The truth values in row-major order: the array itself, or a copy. New reference. */
static usmpy_array *compact_bytes(usmpy_state *state, usmpy_array *array)
{
    if (array->dtype == USM_BOOL && (array->flags & USM_C_CONTIGUOUS) != 0) {
        return (usmpy_array *)Py_NewRef(array);
    }
    usmpy_array *bytes = usmpy_array_empty(state, array->queue, USM_DEVICE, USM_BOOL, array->ndim,
                                           usmpy_shape(array), 'C', false);
    if (bytes != NULL && usmpy_truth(state, bytes, array) < 0) {
        Py_CLEAR(bytes);
    }
    return bytes;
}

static usmpy_array *no_offsets(usmpy_state *state, PyObject *queue, usm_kind kind)
{
    const int64_t none = 0;
    return usmpy_array_empty(state, queue, kind, USM_INT64, 1, &none, 'C', false);
}

/* A few truth values of a processor, which the host reads: no kernel is worth its launch, three even less. */
static bool are_few(const usmpy_array *bytes)
{
    return bytes->size <= CHUNK && bytes->alloc->place->device->type == USM_CPU &&
           usm_alloc_host_reads(bytes->alloc);
}

static usmpy_array *few_offsets(usmpy_state *state, usmpy_array *bytes, const usm_mask *layout, usm_kind kind)
{
    int64_t at[USM_MASK_AXES] = {0}, sum = 0, offset = 0, n = 0;
    if (usmpy_wait_alloc(state, bytes->alloc, USM_READ, INT64_MAX) < 0) {
        return NULL;
    }
    for (int64_t i = 0; i < bytes->size; i++) {
        sum += bytes->data[i] != 0;
    }
    usmpy_array *offsets = usmpy_array_empty(state, bytes->queue, kind, USM_INT64, 1, &sum, 'C', false);
    if (offsets == NULL || sum == 0 ||
        usmpy_wait_alloc(state, offsets->alloc, USM_WRITE, INT64_MAX) < 0) { /* the block's earlier life */
        return sum == 0 ? offsets : (Py_XDECREF(offsets), NULL);
    }
    for (int64_t i = 0; i < bytes->size; i++) {
        if (bytes->data[i] != 0 && n < sum) { /* who writes at the same time gets some result, no more */
            ((int64_t *)offsets->data)[n++] = offset;
        }
        offset += layout->steps[0];
        for (int k = 0; ++at[k] == layout->shape[k] && k + 1 < USM_MASK_AXES; k++) {
            offset += layout->steps[k + 1] - at[k] * layout->steps[k];
            at[k] = 0;
        }
    }
    while (n < sum) {
        ((int64_t *)offsets->data)[n++] = 0;
    }
    return offsets;
}

usmpy_array *usmpy_mask_offsets(usmpy_state *state, usmpy_array *mask, const int64_t *steps, usm_kind kind)
{
    usm_mask layout;
    if (mask->size == 0) {
        return no_offsets(state, mask->queue, kind);
    }
    if (!lay_out(mask, steps, &layout)) {
        PyErr_Format(PyExc_ValueError, "the mask has more than %d axes that cannot be merged; copy it first",
                     USM_MASK_AXES);
        return NULL;
    }
    usmpy_array *bytes = compact_bytes(state, mask), *offsets = NULL;
    if (bytes != NULL && are_few(bytes)) {
        offsets = few_offsets(state, bytes, &layout, kind);
        Py_DECREF(bytes);
        return offsets;
    }
    usmpy_array *counts = bytes == NULL ? NULL : count_chunks(state, bytes, &layout);
    int64_t sum = counts == NULL ? -1 : read_sum(state, counts);
    if (sum >= 0) {
        offsets = usmpy_array_empty(state, mask->queue, kind, USM_INT64, 1, &sum, 'C', false);
    }
    usmpy_array *const arrays[] = {offsets, bytes, counts};
    if (offsets != NULL && sum > 0 &&
        submit(state, "usm_mask_place", arrays, 3, layout.chunks, &layout,
               (size_t)(layout.n + sum * (int64_t)sizeof(int64_t))) < 0) {
        Py_CLEAR(offsets);
    }
    Py_XDECREF(counts);
    Py_XDECREF(bytes);
    return offsets;
}

static usmpy_array *check(usmpy_state *state, PyObject *x, const char *function)
{
    if (!usmpy_is_array(state, x)) {
        PyErr_Format(PyExc_TypeError, "%s(): x is %s %s; a USMArray is allowed (asarray makes one)", function,
                     USMPY_A(x));
        return NULL;
    }
    return usmpy_check_computed((usmpy_array *)x, function) < 0 ? NULL : (usmpy_array *)x;
}

/* A long row in chunks. */
static int count_row(usmpy_state *state, usmpy_array *dst, usmpy_array *row)
{
    usm_mask layout = {0};
    usmpy_array *counts = count_chunks(state, row, &layout);
    usmpy_array *sum = counts == NULL ? NULL : last_element(state, counts);
    int status = sum == NULL ? -1 : usmpy_array_copy(state, dst, sum);
    Py_XDECREF(sum);
    Py_XDECREF(counts);
    return status;
}

int usmpy_count_rows(usmpy_state *state, usmpy_array *dst, usmpy_array *bytes)
{
    const int64_t rows = dst->size, length = bytes->size / rows, one = 1;
    bool processor = bytes->alloc->place->device->type == USM_CPU;
    if (rows > FEW_ROWS || length <= (processor ? CHUNK_OF_PROCESSOR : CHUNK)) {
        const usm_mask layout = {.n = bytes->size, .chunk = length, .chunks = rows};
        usmpy_array *const arrays[] = {dst, bytes};
        return submit(state, "usm_mask_count", arrays, 2, rows, &layout, count_cost(&layout));
    }
    int status = 0;
    for (int64_t i = 0; status == 0 && i < rows; i++) {
        usmpy_array *row = usmpy_array_view(state, bytes, bytes->data + i * length, 1, &length, &one);
        usmpy_array *count =
            usmpy_array_view(state, dst, dst->data + i * (int64_t)sizeof(int64_t), 0, NULL, NULL);
        status = row == NULL || count == NULL ? -1 : count_row(state, count, row);
        Py_XDECREF(count);
        Py_XDECREF(row);
    }
    return status;
}

PyObject *usmpy_nonzero(usmpy_state *state, PyObject *x, const char *function)
{
    int64_t steps[USM_MAX_NDIM];
    usmpy_array *array = check(state, x, function);
    if (array == NULL) {
        return NULL;
    }
    if (array->ndim == 0) {
        return PyErr_Format(PyExc_ValueError, "%s(): x has 0 dimensions; at least 1 is needed", function);
    }
    usmpy_deferred_poll();
    PyObject *few = usmpy_few_nonzero(state, array);
    if (few != NULL || PyErr_Occurred()) {
        return few;
    }
    usm_layout_compact(array->ndim, usmpy_shape(array), 'C', steps);
    usm_kind kind = array->ndim == 1 ? (usm_kind)array->alloc->kind : USM_DEVICE;
    usmpy_array *flat = usmpy_mask_offsets(state, array, steps, kind);
    if (flat != NULL && array->ndim == 1) { /* it is the only axis already */
        PyObject *one = PyTuple_Pack(1, flat);
        Py_DECREF(flat);
        return one;
    }
    PyObject *result = flat == NULL ? NULL : PyTuple_New(array->ndim);
    for (int i = 0; result != NULL && i < array->ndim; i++) {
        usmpy_array *axis =
            usmpy_unravel_axis(state, flat, steps[i], usmpy_shape(array)[i], (usm_kind)array->alloc->kind);
        if (axis == NULL) {
            Py_CLEAR(result);
        } else {
            PyTuple_SET_ITEM(result, i, (PyObject *)axis);
        }
    }
    Py_XDECREF(flat);
    return result;
}

static PyObject *nonzero(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const usmpy_signature signature = {"nonzero", 1, 1, 1, 1, {USMPY_x}};
    usmpy_state *state = usmpy_state_of_module(module);
    PyObject *x;
    return usmpy_parse(state, &signature, args, nargs, kwnames, &x) < 0 ? NULL
                                                                        : usmpy_nonzero(state, x, "nonzero");
}

PyMethodDef usmpy_mask_functions[] = {
    USMPY_METHOD("nonzero", nonzero, USMPY_DOC_nonzero),
    {0},
};
