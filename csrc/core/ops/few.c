#include "few.h"

#include <string.h>

#define FEW_BYTES 16384 /* of all rows */

/*
 * Whether the host may read the memory and no task writes it. If the user's own threads write it
 * meanwhile, some elements have the old values.
 */
static bool is_readable(const usm_view *view)
{
    return usm_alloc_host_reads(view->alloc) && usm_alloc_is_untouched(view->alloc);
}

bool usm_few_logic(usm_queue *queue, unsigned table, const usm_view views[3])
{
    const usm_view *dst = views, *a = views + 1, *b = views + 2;
    const usm_access accesses[] = {{a->alloc, USM_READ}, {b->alloc, USM_READ}};
    int64_t n, of_a, of_b;
    uint64_t held;
    if (!usm_view_is_row_major(dst, &n) || !usm_few_may_begin(queue, n) || !usm_view_is_row_major(a, &of_a) ||
        !usm_view_is_row_major(b, &of_b) || of_a != n || of_b != n || !usm_alloc_is_untouched(dst->alloc) ||
        !usm_queue_begin_now(queue, accesses, a->alloc == b->alloc ? 1 : 2, &held)) {
        return false;
    }
    for (int64_t i = 0; i < n; i++) {
        dst->data[i] = (char)(table >> (2 * (a->data[i] != 0) + (b->data[i] != 0)) & 1);
    }
    usm_queue_end_now(held);
    return true;
}

/* The rows where the mask is true. */
static bool locate_mask(const usm_view *array, const usm_view *mask, int64_t n, usm_few_rows *rows)
{
    int64_t size;
    if (mask->ndim == 0 || mask->ndim > array->ndim || !usm_view_is_row_major(array, &size) ||
        memcmp(mask->shape, array->shape, (size_t)mask->ndim * sizeof *mask->shape) != 0) {
        return false;
    }
    rows->ndim = mask->ndim;
    rows->size = size / n * usm_view_itemsize(array);
    rows->n = 0;
    for (int64_t i = 0; i < n; i++) { /* without a branch, which a random mask makes the processor guess */
        rows->offsets[rows->n] = i * rows->size;
        rows->n += mask->data[i] != 0;
    }
    return true;
}

/* The rows that integers name; false if one is out of range. */
static bool locate_integers(const usm_view *array, const usm_view *index, int64_t n, usm_few_rows *rows)
{
    int64_t length = array->ndim == 0 ? 0 : array->shape[0], itemsize = usm_view_itemsize(array), size;
    bool is_vector = array->ndim == 1;
    if (length == 0 || (!is_vector && !usm_view_is_row_major(array, &size))) {
        return false;
    }
    rows->ndim = 1;
    rows->size = is_vector ? itemsize : size / length * itemsize;
    rows->n = n;
    int64_t step = is_vector ? array->strides[0] * itemsize : rows->size;
    for (int64_t i = 0; i < n; i++) {
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

bool usm_few_locate(const usm_view *array, const usm_view *key, usm_few_rows *rows)
{
    int64_t n;
    if (!usm_view_is_row_major(key, &n) || usm_dtype_is_packed(array->dtype) || !is_readable(key)) {
        return false;
    }
    bool found = key->dtype == USM_BOOL                               ? locate_mask(array, key, n, rows)
                 : key->dtype == USM_INT64 || key->dtype == USM_INT32 ? locate_integers(array, key, n, rows)
                                                                      : false;
    return found && rows->n * rows->size <= FEW_BYTES;
}

/*
 * Rows of this size, which is a constant after inlining: each is one move. The other side's rows are
 * `step` bytes apart.
 */
static inline __attribute__((always_inline)) void move_of(const usm_few_rows *rows, char *array, char *other,
                                                          int64_t step, bool put, size_t size)
{
    for (int64_t i = 0; i < rows->n; i++) {
        char *here = array + rows->offsets[i];
        memcpy(put ? here : other + i * step, put ? other + i * step : here, size);
    }
}

static inline __attribute__((always_inline)) void move(const usm_few_rows *rows, char *array, char *other,
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

bool usm_few_read(usm_queue *queue, const usm_few_rows *rows, const usm_view *array, const usm_view *dst)
{
    const usm_access access = {array->alloc, USM_READ};
    uint64_t held;
    if (!is_readable(dst) || !usm_queue_begin_now(queue, &access, 1, &held)) {
        return false;
    }
    move(rows, array->data, dst->data, rows->size, false);
    usm_queue_end_now(held);
    return true;
}

bool usm_few_write(usm_queue *queue, const usm_few_rows *rows, const usm_view *array, const usm_view *value)
{
    const usm_access accesses[] = {{array->alloc, USM_WRITE}, {value->alloc, USM_READ}};
    uint64_t held;
    if (!usm_queue_begin_now(queue, accesses, value->alloc == NULL ? 1 : 2, &held)) {
        return false;
    }
    move(rows, array->data, value->data, value->ndim == 0 ? 0 : value->strides[0] * rows->size, true);
    usm_queue_end_now(held);
    return true;
}

bool usm_few_put(usm_queue *queue, const usm_view *one, const void *element)
{
    const usm_access access = {one->alloc, USM_WRITE};
    uint64_t held;
    if (!usm_queue_begin_now(queue, &access, 1, &held)) {
        return false;
    }
    memcpy(one->data, element, (size_t)usm_view_itemsize(one));
    usm_queue_end_now(held);
    return true;
}

/* The bits of an element that make it other than 0, in words of 8 bytes at most: all but its signs. */
static uint64_t magnitude_bits(usm_dtype dtype)
{
    const usm_dtype_info *info = &usm_dtype_table[dtype];
    unsigned part = usm_dtype_alignment(dtype);
    uint64_t sign = info->kind < USM_DTYPE_KIND_FLOAT ? 0 : UINT64_C(1) << (8 * part - 1);
    return ~(sign | (info->kind == USM_DTYPE_KIND_COMPLEX && part == 4 ? sign << 32 : 0));
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

bool usm_few_nonzero(usm_queue *queue, const usm_view *array, usm_few_found *found)
{
    uint64_t held, bits = magnitude_bits(array->dtype);
    const usm_access access = {array->alloc, USM_READ};
    int size = usm_view_itemsize(array);
    int64_t n;
    if (!usm_view_is_row_major(array, &n) || n == 0 || n > USM_FEW ||
        !usm_queue_begin_now(queue, &access, 1, &held)) {
        return false;
    }
    found->n = 0;
    for (int64_t i = 0; i < n; i++) {
        found->numbers[found->n] = (int32_t)i;
        found->n += is_true(array->data + i * size, size, bits);
    }
    usm_queue_end_now(held);
    return true;
}

bool usm_few_unravel(const usm_few_found *found, const usm_view *array, int axis, const usm_view *out)
{
    uint32_t step = 1, length = (uint32_t)array->shape[axis];
    for (int i = axis + 1; i < array->ndim; i++) {
        step *= (uint32_t)array->shape[i];
    }
    if (found->n > 0 && !is_readable(out)) {
        return false;
    }
    for (int64_t i = 0; i < found->n; i++) {
        ((int64_t *)out->data)[i] = (uint32_t)found->numbers[i] / step % length;
    }
    return true;
}
