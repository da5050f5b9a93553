#include "few.h"

#include "selection.h"

#include "core/tasks/queue.h"

#include <string.h>

#define FEW 256
#define FEW_BYTES 16384 /* of the rows together */

/* The rows of an array that a key names. */
typedef struct few_rows {
    int64_t n, size;      /* of rows; bytes of each, which lie side by side */
    int ndim;             /* axes of the array that the key stands for */
    int64_t offsets[FEW]; /* bytes from the array's first element */
} few_rows;

/* The host may look at it now: no task writes it, and who writes it at the same time gets some result. */
static bool is_readable(usmpy_array *array)
{
    return usm_alloc_host_reads(array->alloc) && usm_alloc_is_untouched(array->alloc);
}

static bool locate_mask(usmpy_array *array, usmpy_array *mask, few_rows *rows)
{
    if (mask->ndim == 0 || mask->ndim > array->ndim || (array->flags & USM_C_CONTIGUOUS) == 0 ||
        memcmp(usmpy_shape(mask), usmpy_shape(array), (size_t)mask->ndim * sizeof(int64_t)) != 0) {
        return false;
    }
    rows->ndim = mask->ndim;
    rows->size = array->size / mask->size * usm_dtype_table[array->dtype].itemsize;
    rows->n = 0;
    for (int64_t i = 0; i < mask->size; i++) { /* without a branch: the mask is as good as random */
        rows->offsets[rows->n] = i * rows->size;
        rows->n += mask->data[i] != 0;
    }
    return true;
}

static bool locate_integers(usmpy_array *array, usmpy_array *index, few_rows *rows)
{
    int64_t length = array->ndim == 0 ? 0 : usmpy_shape(array)[0];
    bool is_vector = array->ndim == 1;
    if (length == 0 || (!is_vector && (array->flags & USM_C_CONTIGUOUS) == 0)) {
        return false;
    }
    int64_t size = usm_dtype_table[array->dtype].itemsize;
    rows->ndim = 1;
    rows->size = is_vector ? size : array->size / length * size;
    rows->n = index->size;
    int64_t step = is_vector ? usmpy_strides(array)[0] * size : rows->size;
    for (int64_t i = 0; i < index->size; i++) {
        int64_t wide;
        int32_t narrow;
        if (index->dtype == USM_INT64) {
            memcpy(&wide, index->data + i * 8, 8);
        } else {
            memcpy(&narrow, index->data + i * 4, 4);
            wide = narrow;
        }
        wide += wide < 0 ? length : 0;
        if (wide < 0 || wide >= length) {
            return false;
        }
        rows->offsets[i] = wide * step;
    }
    return true;
}

static bool locate(usmpy_array *array, usmpy_array *key, few_rows *rows)
{
    usm_queue *queue = usmpy_queue_of(array->queue);
    if (key->size > FEW || key->size == 0 || array->size == 0 || (key->flags & USM_C_CONTIGUOUS) == 0 ||
        usm_dtype_is_packed((usm_dtype)array->dtype) || usmpy_queue_of(key->queue) != queue ||
        !usm_queue_may_begin_now(queue) || !is_readable(key)) {
        return false;
    }
    bool found = key->dtype == USM_BOOL                               ? locate_mask(array, key, rows)
                 : key->dtype == USM_INT64 || key->dtype == USM_INT32 ? locate_integers(array, key, rows)
                                                                      : false;
    return found && rows->n * rows->size <= FEW_BYTES;
}

/* Rows of this size, the other side's `step` bytes apart. */
static inline __attribute__((always_inline)) void move_of(const few_rows *rows, char *array, char *other,
                                                          int64_t step, bool put, size_t size)
{
    for (int64_t i = 0; i < rows->n; i++) {
        char *here = array + rows->offsets[i];
        memcpy(put ? here : other + i * step, put ? other + i * step : here, size);
    }
}

static inline __attribute__((always_inline)) void move(const few_rows *rows, char *array, char *other,
                                                       int64_t step, bool put)
{
    switch (rows->size) {
        case 1:
            move_of(rows, array, other, step, put, 1);
            break;
        case 2:
            move_of(rows, array, other, step, put, 2);
            break;
        case 4:
            move_of(rows, array, other, step, put, 4);
            break;
        case 8:
            move_of(rows, array, other, step, put, 8);
            break;
        default:
            move_of(rows, array, other, step, put, (size_t)rows->size);
    }
}

usmpy_array *usmpy_few_select(usmpy_state *state, usmpy_array *array, usmpy_array *key)
{
    few_rows rows;
    int64_t shape[2 * USM_MAX_NDIM];
    uint64_t held;
    if (!locate(array, key, &rows)) {
        return NULL;
    }
    int of_key = key->dtype == USM_BOOL ? 1 : key->ndim, rest = array->ndim - rows.ndim;
    if (of_key + rest > USM_MAX_NDIM) {
        return NULL;
    }
    memcpy(shape, key->dtype == USM_BOOL ? &rows.n : usmpy_shape(key), (size_t)of_key * sizeof *shape);
    memcpy(shape + of_key, usmpy_shape(array) + rows.ndim, (size_t)rest * sizeof *shape);
    usmpy_array *result = usmpy_array_empty(state, array->queue, (usm_kind)array->alloc->kind,
                                            (usm_dtype)array->dtype, of_key + rest, shape, 'C', false);
    if (result == NULL || result->size == 0) {
        return result;
    }
    const usm_access access = {array->alloc, USM_READ};
    if (!is_readable(result) || !usm_queue_begin_now(usmpy_queue_of(array->queue), &access, 1, &held)) {
        Py_DECREF(result);
        return NULL;
    }
    move(&rows, array->data, result->data, rows.size, false);
    usm_queue_end_now(held);
    return result;
}

int usmpy_few_assign(usmpy_state *state, usmpy_array *array, usmpy_array *key, PyObject *value)
{
    few_rows rows;
    uint64_t held;
    char element[USM_MAX_PATTERN], *data = element;
    usm_access accesses[2] = {{array->alloc, USM_WRITE}};
    size_t n = 1;
    int64_t step = 0;
    if (!locate(array, key, &rows) || rows.size != usm_dtype_table[array->dtype].itemsize) {
        return 0;
    }
    if (usmpy_is_array(state, value)) {
        usmpy_array *source = (usmpy_array *)value;
        bool fits = source->ndim == 0 || (source->ndim == 1 && usmpy_shape(source)[0] == rows.n &&
                                          (key->ndim == 1 || key->dtype == USM_BOOL));
        if (!fits || source->dtype != array->dtype || source->alloc == array->alloc ||
            usmpy_queue_of(source->queue) != usmpy_queue_of(array->queue)) {
            return 0;
        }
        step = source->ndim == 0 ? 0 : usmpy_strides(source)[0] * rows.size;
        data = source->data;
        accesses[n++] = (usm_access){source->alloc, USM_READ};
    } else if (!PyLong_Check(value) && !PyFloat_Check(value) && !PyComplex_Check(value)) {
        return 0;
    } else if (usmpy_scalar_to_element(state, value, (usm_dtype)array->dtype, element) < 0) {
        return -1;
    }
    if (!usm_queue_begin_now(usmpy_queue_of(array->queue), accesses, n, &held)) {
        return 0;
    }
    move(&rows, array->data, data, step, true);
    usm_queue_end_now(held);
    return 1;
}

/* The bits that tell whether an element is 0, in words of its size, of 8 bytes at most: but for the signs. */
static uint64_t magnitude_bits(usm_dtype dtype)
{
    const usm_dtype_info *info = &usm_dtype_table[dtype];
    bool is_complex = info->kind == USM_KIND_COMPLEX;
    int part = is_complex ? info->itemsize / 2 : info->itemsize;
    uint64_t sign = info->kind < USM_KIND_FLOAT ? 0 : UINT64_C(1) << (8 * part - 1);
    return ~(sign | (is_complex && part == 4 ? sign << 32 : 0));
}

static bool is_true(const char *data, int size, uint64_t bits)
{
    uint64_t words[2] = {0, 0};
    switch (size) {
        case 1:
            memcpy(words, data, 1);
            break;
        case 2:
            memcpy(words, data, 2);
            break;
        case 4:
            memcpy(words, data, 4);
            break;
        case 8:
            memcpy(words, data, 8);
            break;
        default:
            memcpy(words, data, 16);
    }
    return ((words[0] | words[1]) & bits) != 0;
}

PyObject *usmpy_few_nonzero(usmpy_state *state, usmpy_array *array)
{
    int32_t found[FEW];
    int64_t n = 0, step = 1, shape;
    uint64_t held, bits = magnitude_bits((usm_dtype)array->dtype);
    usm_queue *queue = usmpy_queue_of(array->queue);
    const usm_access access = {array->alloc, USM_READ};
    int size = usm_dtype_table[array->dtype].itemsize;
    if (array->size > FEW || array->size == 0 || (array->flags & USM_C_CONTIGUOUS) == 0 ||
        !usm_queue_begin_now(queue, &access, 1, &held)) {
        return NULL;
    }
    for (int64_t i = 0; i < array->size; i++) {
        found[n] = (int32_t)i;
        n += is_true(array->data + i * size, size, bits);
    }
    usm_queue_end_now(held);
    PyObject *result = PyTuple_New(array->ndim);
    shape = n;
    for (int axis = array->ndim - 1; result != NULL && axis >= 0; axis--) {
        uint32_t length = (uint32_t)usmpy_shape(array)[axis];
        usmpy_array *indices = usmpy_array_empty(state, array->queue, (usm_kind)array->alloc->kind, USM_INT64,
                                                 1, &shape, 'C', false);
        if (indices == NULL || (n > 0 && !is_readable(indices))) {
            Py_XDECREF(indices);
            Py_CLEAR(result);
            break;
        }
        for (int64_t i = 0; i < n; i++) {
            ((int64_t *)indices->data)[i] = (uint32_t)found[i] / (uint32_t)step % length;
        }
        step *= length;
        PyTuple_SET_ITEM(result, axis, (PyObject *)indices);
    }
    return result;
}
