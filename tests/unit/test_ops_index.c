/* Operations by index and along axes, on random layouts, against a loop over the elements. */
#include "support.h"

#include "core/ops/few.h"
#include "core/ops/indices.h"
#include "core/ops/mask.h"
#include "core/ops/reduce.h"
#include "core/ops/rows.h"
#include "core/ops/sequence.h"
#include "core/ops/take.h"
#include "core/ops/tile.h"
#include "core/ops/triangle.h"

#include <stdlib.h>

static usm_view vector(usm_alloc *alloc, usm_dtype dtype, const int64_t *n)
{
    static const int64_t one = 1;
    return (usm_view){alloc, alloc->pointer, dtype, 1, n, &one};
}

/* About every `rarely`-th element is 1, the others 0. */
static void scatter_ones(const usm_view *view, uint64_t *seed, uint64_t rarely)
{
    for (int64_t i = 0, n = view_count(view); i < n; i++) {
        memset(view_element(view, i), 0, usm_dtype_table[view->dtype].itemsize);
        *view_element(view, i) = random_below(seed, rarely) == 0;
    }
}

static int64_t index_of(const usm_view *view, int64_t number, int axis)
{
    for (int i = view->ndim - 1; i > axis; i--) {
        number /= view->shape[i];
    }
    return number % view->shape[axis];
}

static void place_and_compare(usm_queue *queue, const usm_view *mask, const int64_t *steps, usm_alloc *out)
{
    usm_true_elements found;
    usm_error error;
    CHECK_OK(usm_mask_begin(queue, mask, steps, &found, &error));
    int64_t sum, seen = 0;
    if (found.total.alloc == NULL) {
        CHECK_EQ(wait_alloc(found.bytes.alloc, USM_READ), USM_OK);
        sum = usm_mask_sum(&found);
    } else {
        CHECK_EQ(wait_alloc(found.total.alloc, USM_READ), USM_OK);
        sum = *(const int64_t *)found.total.data;
    }
    const usm_view offsets = vector(out, USM_INT64, &sum);
    if (sum > 0) {
        CHECK_OK(usm_mask_place(queue, &found, &offsets, sum, &error));
        CHECK_EQ(wait_alloc(out, USM_READ_WRITE), USM_OK);
    }
    usm_mask_end(&found);
    for (int64_t i = 0, n = view_count(mask); i < n; i++) {
        if (*view_element(mask, i) != 0) {
            int64_t wanted = 0;
            for (int axis = 0; axis < mask->ndim; axis++) {
                wanted += index_of(mask, i, axis) * steps[axis];
            }
            CHECK(seen < sum);
            CHECK_EQ(((int64_t *)out->pointer)[seen], wanted);
            seen++;
        }
    }
    CHECK_EQ(seen, sum);
}

/* Masks that the calling thread counts, and larger ones for the kernels. */
static void masks(void)
{
    static const usm_dtype dtypes[] = {USM_BOOL, USM_INT32};
    usm_queue *queue = new_queue(true);
    usm_alloc *memory = new_alloc(VIEW_BUFFER), *out = new_alloc(VIEW_BUFFER * 8);
    uint64_t seed = 21;
    int64_t shape[VIEW_AXES], steps[VIEW_AXES];
    for (long round = 0; round < scaled(1000); round++) {
        CHECK_STEP(round, seed);
        random_view mask;
        int ndim = random_shape(&seed, shape);
        random_view_make(&mask, &seed, memory, dtypes[round % 2], ndim, shape, true);
        if (view_count(&mask.view) == 0) {
            continue;
        }
        scatter_ones(&mask.view, &seed, 1 + random_below(&seed, 4));
        for (int i = 0; i < ndim; i++) {
            steps[i] = 1 + (int64_t)random_below(&seed, 100);
        }
        place_and_compare(queue, &mask.view, steps, out);
    }
    const int64_t large[] = {50, 3, 400}, strides[] = {1200, 400, 1}, wide[] = {5000, 0, 8};
    for (int i = 0; i < 2; i++) {
        const usm_view mask = {memory, memory->pointer, USM_BOOL, 3, large, strides};
        scatter_ones(&mask, &seed, 3);
        place_and_compare(queue, &mask, i == 0 ? strides : wide, out);
    }
    usm_alloc_release(memory);
    usm_alloc_release(out);
    usm_queue_release(queue);
}

static void masks_of_too_many_axes(void)
{
    usm_queue *queue = new_queue(true);
    usm_alloc *memory = new_alloc(1024);
    int64_t shape[USM_MASK_AXES + 1], strides[USM_MASK_AXES + 1], steps[USM_MASK_AXES + 1];
    for (int i = 0; i <= USM_MASK_AXES; i++) {
        shape[i] = 2;
        steps[i] = 1;
    }
    usm_layout_compact(USM_MASK_AXES + 1, shape, 'C', strides);
    const usm_view mask = {memory, memory->pointer, USM_BOOL, USM_MASK_AXES + 1, shape, strides};
    usm_true_elements found;
    usm_error error;
    CHECK_EQ(usm_mask_begin(queue, &mask, steps, &found, &error), USM_VALUE);
    usm_error_clear(&error);
    usm_alloc_release(memory);
    usm_queue_release(queue);
}

/* Whether an element of the result stands for this one: they agree in the axes that stay. */
static int64_t result_of(const usm_view *src, int64_t number, uint64_t gone)
{
    int64_t at = 0;
    for (int axis = 0; axis < src->ndim; axis++) {
        if ((gone >> axis & 1) == 0) {
            at = at * src->shape[axis] + index_of(src, number, axis);
        }
    }
    return at;
}

static void reduce_and_compare(usm_queue *queue, usm_reduce_kind what, const usm_view *src, uint64_t gone,
                               usm_alloc *out)
{
    int64_t shape[VIEW_AXES], strides[VIEW_AXES], size = 1;
    int ndim = 0;
    for (int i = 0; i < src->ndim; i++) {
        if ((gone >> i & 1) == 0) {
            shape[ndim++] = src->shape[i];
            size *= src->shape[i];
        }
    }
    usm_layout_compact(ndim, shape, 'C', strides);
    const usm_view dst = {out, out->pointer, what == USM_COUNT ? USM_INT64 : USM_BOOL, ndim, shape, strides};
    int64_t n = view_count(src), *sums = calloc((size_t)size + 1, sizeof *sums);
    usm_error error;
    memset(out->pointer, 0x55, 64);
    CHECK_OK(usm_reduce_submit(queue, what, &dst, src, gone, &error));
    CHECK_EQ(wait_alloc(out, USM_READ_WRITE), USM_OK);
    for (int64_t i = 0; i < n; i++) {
        sums[result_of(src, i, gone)] += *view_element(src, i) != 0;
    }
    for (int64_t i = 0; i < size; i++) {
        int64_t each = n / size;
        if (what == USM_COUNT) {
            CHECK_EQ(((int64_t *)out->pointer)[i], sums[i]);
        } else {
            CHECK_EQ(((char *)out->pointer)[i], what == USM_ANY ? sums[i] > 0 : sums[i] == each);
        }
    }
    free(sums);
}

static void reductions(void)
{
    static const usm_dtype dtypes[] = {USM_BOOL, USM_BOOL, USM_INT16};
    usm_queue *queue = new_queue(true);
    usm_alloc *memory = new_alloc(VIEW_BUFFER), *out = new_alloc(VIEW_BUFFER);
    uint64_t seed = 22;
    int64_t shape[VIEW_AXES];
    for (long round = 0; round < scaled(3000); round++) {
        CHECK_STEP(round, seed);
        random_view src;
        int ndim = random_shape(&seed, shape);
        random_view_make(&src, &seed, memory, dtypes[round % 3], ndim, shape, true);
        scatter_ones(&src.view, &seed, 1 + random_below(&seed, 3) * random_below(&seed, 9));
        reduce_and_compare(queue, (usm_reduce_kind)random_below(&seed, 3), &src.view,
                           random_below(&seed, UINT64_C(1) << ndim), out);
    }
    usm_alloc_release(memory);
    usm_alloc_release(out);
    usm_queue_release(queue);
}

/* Large enough for chunks, of which a second launch takes the results. */
static void large_reductions(void)
{
    enum { N = 9 << 20 };
    usm_queue *queue = new_queue(true);
    usm_alloc *memory = new_alloc(N), *out = new_alloc(64);
    const int64_t shape[] = {2, N / 2}, strides[] = {N / 2, 1};
    const usm_view src = {memory, memory->pointer, USM_BOOL, 2, shape, strides};
    for (int round = 0; round < 2; round++) {
        memset(memory->pointer, round, N);
        ((char *)memory->pointer)[N - 5] = (char)!round;
        for (int what = USM_ANY; what <= USM_COUNT; what++) {
            reduce_and_compare(queue, (usm_reduce_kind)what, &src, 2, out);
            reduce_and_compare(queue, (usm_reduce_kind)what, &src, 3, out);
        }
    }
    usm_alloc_release(memory);
    usm_alloc_release(out);
    usm_queue_release(queue);
}

/* x[a, b] of a matrix by two index arrays that broadcast, read and written. */
static void rows_at_indices(void)
{
    enum { ROWS = 7, COLUMNS = 5, DEPTH = 3 };
    usm_queue *queue = new_queue(true);
    usm_alloc *memory = new_alloc(ROWS * COLUMNS * DEPTH * 4), *indices = new_alloc(64),
              *offsets = new_alloc(8 * 6), *bad = new_alloc(8), *whole = new_alloc(6 * DEPTH * 4);
    int32_t *x = memory->pointer, *picked = whole->pointer;
    for (int i = 0; i < ROWS * COLUMNS * DEPTH; i++) {
        x[i] = i;
    }
    int8_t *i = indices->pointer;
    int64_t *k = (int64_t *)((char *)indices->pointer + 8);
    memcpy(i, (int8_t[]){6, -7, 3}, 3);
    k[0] = 4;
    k[1] = -2;
    const int64_t shape[] = {3, 2}, column[] = {3, 1}, one[] = {1, 1}, two[] = {2}, n = 6, single = 1;
    const usm_view first = {indices, (char *)i, USM_INT8, 2, column, one},
                   second = {indices, (char *)k, USM_INT64, 1, two, one};
    const usm_view all = vector(offsets, USM_INT64, &n), fault = vector(bad, USM_INT64, &single);
    const int64_t x_shape[] = {ROWS, COLUMNS, DEPTH}, x_strides[] = {COLUMNS * DEPTH, DEPTH, 1};
    const usm_view array = {memory, memory->pointer, USM_INT32, 3, x_shape, x_strides};
    const int64_t w_shape[] = {3, 2, DEPTH}, w_strides[] = {2 * DEPTH, DEPTH, 1};
    const usm_view other = {whole, whole->pointer, USM_INT32, 3, w_shape, w_strides};
    usm_error error;
    memset(bad->pointer, 0, 8);
    CHECK_OK(
        usm_locate_submit(queue, &all, &first, 2, shape, &fault, ROWS, COLUMNS * DEPTH * 4, true, &error));
    CHECK_OK(usm_locate_submit(queue, &all, &second, 2, shape, &fault, COLUMNS, DEPTH * 4, false, &error));
    const usm_rows rows = {.offsets = all, .ndim = 1, .shape = {DEPTH}, .strides = {1}};
    CHECK_OK(usm_rows_move(queue, &array, &rows, &other, false, &error));
    CHECK_EQ(wait_alloc(whole, USM_READ_WRITE), USM_OK);
    CHECK_EQ(wait_alloc(bad, USM_READ_WRITE), USM_OK);
    CHECK_EQ(*(int64_t *)bad->pointer, 0);
    for (int r = 0; r < 6; r++) {
        int row = (i[r / 2] + ROWS) % ROWS, at = (int)(k[r % 2] + COLUMNS) % COLUMNS;
        for (int d = 0; d < DEPTH; d++) {
            CHECK_EQ(picked[r * DEPTH + d], (row * COLUMNS + at) * DEPTH + d);
            picked[r * DEPTH + d] = -1 - r;
        }
    }
    CHECK_OK(usm_rows_move(queue, &array, &rows, &other, true, &error));
    CHECK_EQ(wait_alloc(memory, USM_READ_WRITE), USM_OK);
    for (int r = 0; r < 6; r++) {
        int row = (i[r / 2] + ROWS) % ROWS, at = (int)(k[r % 2] + COLUMNS) % COLUMNS;
        CHECK_EQ(x[(row * COLUMNS + at) * DEPTH], -1 - r);
    }
    /* Out of range: the number of the element, and its value through the broadcast. */
    CHECK_OK(usm_locate_submit(queue, &all, &second, 2, shape, &fault, 4, 1, true, &error));
    CHECK_EQ(wait_alloc(bad, USM_READ_WRITE), USM_OK);
    int64_t found = *(int64_t *)bad->pointer;
    CHECK(found == 1 || found == 3 || found == 5);
    const usm_view element = usm_view_element(&second, 2, shape, found - 1);
    CHECK_EQ(*(int64_t *)element.data, 4);
    /* One axis of row-major numbers. */
    const usm_view out = vector(whole, USM_INT64, &n);
    memcpy(offsets->pointer, (int64_t[]){0, 1, 13, 14, 29, 59}, 48);
    CHECK_OK(usm_unravel_submit(queue, &out, &all, 5, 4, &error));
    CHECK_EQ(wait_alloc(whole, USM_READ_WRITE), USM_OK);
    CHECK(memcmp(whole->pointer, (int64_t[]){0, 0, 2, 2, 1, 3}, 48) == 0);
    usm_alloc *used[] = {memory, indices, offsets, bad, whole};
    for (int j = 0; j < 5; j++) {
        usm_alloc_release(used[j]);
    }
    usm_queue_release(queue);
}

/* take along a random axis, with the index along that axis alone. */
static void elements_by_index(void)
{
    static const usm_dtype dtypes[] = {USM_UINT8, USM_INT16, USM_FLOAT32, USM_FLOAT64, USM_COMPLEX128};
    usm_queue *queue = new_queue(true);
    usm_alloc *memory = new_alloc(VIEW_BUFFER), *numbers = new_alloc(256), *out = new_alloc(VIEW_BUFFER);
    uint64_t seed = 23;
    int64_t shape[VIEW_AXES], from[VIEW_AXES], along[VIEW_AXES], compact[VIEW_AXES];
    for (long round = 0; round < scaled(2000); round++) {
        CHECK_STEP(round, seed);
        random_view x;
        int ndim = random_shape(&seed, shape);
        usm_dtype dtype = dtypes[random_below(&seed, 5)], type = round % 2 ? USM_INT64 : USM_INT32;
        random_view_make(&x, &seed, memory, dtype, ndim, shape, true);
        if (ndim == 0 || view_count(&x.view) == 0) {
            continue;
        }
        for (size_t i = 0; i < VIEW_BUFFER / 8; i++) {
            ((uint64_t *)memory->pointer)[i] = random_next(&seed);
        }
        int axis = (int)random_below(&seed, (uint64_t)ndim), shift = (int)random_below(&seed, 2);
        int64_t length = shape[axis], n = 1 + (int64_t)random_below(&seed, 8), indices[8];
        char *at = (char *)numbers->pointer + shift; /* not always aligned */
        for (int64_t i = 0; i < n; i++) {
            indices[i] = (int64_t)random_below(&seed, (uint64_t)(2 * length)) - length;
            int32_t narrow = (int32_t)indices[i];
            memcpy(at + i * (type == USM_INT64 ? 8 : 4), type == USM_INT64 ? (void *)&indices[i] : &narrow,
                   type == USM_INT64 ? 8 : 4);
        }
        shape[axis] = n;
        for (int i = 0; i < ndim; i++) {
            from[i] = i == axis ? 0 : x.strides[i];
            along[i] = i == axis;
        }
        usm_layout_compact(ndim, shape, 'C', compact);
        const usm_view dst = {out, out->pointer, dtype, ndim, shape, compact};
        const usm_view src = {memory, x.view.data, dtype, ndim, shape, from};
        const usm_view index = {numbers, at, type, ndim, shape, along};
        size_t size = usm_dtype_table[dtype].itemsize;
        usm_error error;
        CHECK_OK(usm_take_submit(queue, &dst, &src, &index, length, x.strides[axis], &error));
        CHECK_EQ(wait_alloc(out, USM_READ_WRITE), USM_OK);
        for (int64_t i = 0, all = view_count(&dst); i < all; i++) {
            int64_t k = indices[index_of(&dst, i, axis)];
            const char *wanted = x.view.data + (k < 0 ? k + length : k) * x.strides[axis] * (int64_t)size;
            for (int a = 0; a < ndim; a++) {
                wanted += index_of(&dst, i, a) * from[a] * (int64_t)size;
            }
            CHECK_SAME(view_element(&dst, i), wanted, size);
        }
    }
    usm_alloc_release(memory);
    usm_alloc_release(numbers);
    usm_alloc_release(out);
    usm_queue_release(queue);
}

static void indices_and_counts_of_the_host(void)
{
    usm_alloc *memory = new_alloc(256);
    const int64_t n = 5;
    int64_t begins[6];
    usm_error error;
    int64_t *x = memory->pointer;
    usm_view view = vector(memory, USM_INT64, &n);
    memcpy(x, (int64_t[]){0, -4, 3, 2, 1}, 40);
    CHECK(usm_indices_in_range(&view, 4) && !usm_indices_in_range(&view, 3));
    x[4] = INT64_MIN;
    CHECK(!usm_indices_in_range(&view, INT64_MAX));
    view.dtype = USM_UINT64;
    x[1] = 0;
    CHECK(!usm_indices_in_range(&view, INT64_MAX));
    x[4] = 3;
    CHECK(usm_indices_in_range(&view, 4));
    view.dtype = USM_INT64;
    memcpy(x, (int64_t[]){2, 0, 3, 1, 0}, 40);
    CHECK_OK(usm_indices_of_counts(&view, n, begins, &error));
    CHECK(memcmp(begins, (int64_t[]){0, 2, 2, 5, 6, 6}, sizeof begins) == 0);
    const int64_t one = 1;
    const usm_view single = vector(memory, USM_INT64, &one);
    CHECK_OK(usm_indices_of_counts(&single, n, begins, &error));
    CHECK(memcmp(begins, (int64_t[]){0, 2, 4, 6, 8, 10}, sizeof begins) == 0);
    x[3] = -1;
    CHECK_EQ(usm_indices_of_counts(&view, n, begins, &error), USM_VALUE);
    CHECK(strstr(error.text, "repeats[3] is below 0") != NULL);
    x[3] = INT64_MAX;
    CHECK_EQ(usm_indices_of_counts(&view, n, begins, &error), USM_VALUE);
    CHECK(strstr(error.text, "more than 2**63 - 1 elements") != NULL);
    usm_alloc_release(memory);
}

static void triangles(void)
{
    enum { MATRICES = 2, ROWS = 4, COLUMNS = 6 };
    usm_queue *queue = new_queue(true);
    usm_alloc *memory = new_alloc(MATRICES * ROWS * COLUMNS * 16);
    static const usm_dtype dtypes[] = {USM_INT8, USM_INT32, USM_COMPLEX128};
    for (int variant = 0; variant < 3 * 2 * 2; variant++) {
        usm_dtype dtype = dtypes[variant / 4];
        bool upper = variant & 1, by_column = variant & 2;
        size_t size = usm_dtype_table[dtype].itemsize;
        const int64_t shape[] = {MATRICES, ROWS, COLUMNS};
        int64_t strides[3];
        int skip = by_column; /* one matrix alone may be column-major */
        usm_layout_compact(3 - skip, shape + skip, by_column ? 'F' : 'C', strides + skip);
        const usm_view array = {memory, memory->pointer, dtype, 3 - skip, shape + skip, strides + skip};
        for (int64_t k = -6; k <= 8; k++) {
            usm_error error;
            memset(memory->pointer, 1, memory->size);
            CHECK_OK(usm_triangle_submit(queue, &array, k, upper, &error));
            CHECK_EQ(wait_alloc(memory, USM_READ_WRITE), USM_OK);
            for (int64_t i = 0, n = view_count(&array); i < n; i++) {
                int64_t row = index_of(&array, i, array.ndim - 2),
                        column = index_of(&array, i, array.ndim - 1);
                bool stays = upper ? column >= row + k : column <= row + k;
                CHECK_EQ(*view_element(&array, i), stays);
                CHECK_EQ(view_element(&array, i)[size - 1], stays);
            }
        }
        usm_error error;
        CHECK_OK(usm_triangle_submit(queue, &array, upper ? INT64_MAX : INT64_MIN, upper, &error));
        CHECK_EQ(wait_alloc(memory, USM_READ_WRITE), USM_OK);
        CHECK_EQ(*(char *)memory->pointer, 0);
    }
    usm_alloc_release(memory);
    usm_queue_release(queue);
}

/* repeat, tile and roll of random layouts. */
static void repetitions(void)
{
    usm_queue *queue = new_queue(true);
    usm_alloc *memory = new_alloc(VIEW_BUFFER), *out = new_alloc(VIEW_BUFFER * 8);
    uint64_t seed = 24;
    int64_t shape[VIEW_AXES], whole[VIEW_AXES], strides[VIEW_AXES], shifts[VIEW_AXES];
    for (size_t i = 0; i < VIEW_BUFFER / 8; i++) {
        ((uint64_t *)memory->pointer)[i] = random_next(&seed);
    }
    for (long round = 0; round < scaled(3000); round++) {
        CHECK_STEP(round, seed);
        random_view x;
        int ndim = random_shape(&seed, shape), what = (int)(round % 3), n = 0, axes[VIEW_AXES];
        random_view_make(&x, &seed, memory, USM_INT32, ndim, shape, true);
        if (ndim == 0 || view_count(&x.view) == 0) {
            continue;
        }
        int axis = (int)random_below(&seed, (uint64_t)ndim);
        for (int i = 0; i < ndim; i++) {
            bool more = what == 1 || (what == 0 && i == axis);
            whole[i] = shape[i] * (more ? 1 + (int64_t)random_below(&seed, 3) : 1);
            if (what == 2 && shape[i] > 1 && random_below(&seed, 4) != 0) {
                axes[n] = i;
                shifts[n++] = 1 + (int64_t)random_below(&seed, (uint64_t)shape[i] - 1);
            }
        }
        usm_layout_compact(ndim, whole, 'C', strides);
        const usm_view dst = {out, out->pointer, USM_INT32, ndim, whole, strides};
        usm_error error;
        CHECK_OK(what == 0 ? usm_repeat_elements_submit(queue, &dst, &x.view, axis, whole[axis] / shape[axis],
                                                        &error)
                 : what == 1 ? usm_tile_submit(queue, &dst, &x.view, &error)
                             : usm_roll_submit(queue, &dst, &x.view, n, axes, shifts, &error));
        CHECK_EQ(wait_alloc(out, USM_READ_WRITE), USM_OK);
        for (int64_t i = 0, all = view_count(&dst); i < all; i++) {
            const char *wanted = x.view.data;
            for (int a = 0; a < ndim; a++) {
                int64_t at = index_of(&dst, i, a);
                at = what == 0 ? (a == axis ? at / (whole[a] / shape[a]) : at) : at % shape[a];
                for (int k = 0; k < n; k++) {
                    at = axes[k] == a ? (at + shape[a] - shifts[k]) % shape[a] : at;
                }
                wanted += at * x.strides[a] * 4;
            }
            CHECK_SAME(view_element(&dst, i), wanted, 4);
        }
    }
    usm_alloc_release(memory);
    usm_alloc_release(out);
    usm_queue_release(queue);
}

static void sequences(void)
{
    usm_queue *queue = new_queue(true);
    usm_alloc *memory = new_alloc(1024);
    const int64_t n = 5, two = 2;
    const double *x = memory->pointer;
    const int16_t *narrow = memory->pointer;
    usm_error error;
    static const double zero[2], one[2] = {1}, three[2] = {3}, five[2] = {5};
    usm_view dst = vector(memory, USM_FLOAT64, &n);
    CHECK_OK(usm_linspace_submit(queue, &dst, one, three, true, &error));
    CHECK_EQ(wait_alloc(memory, USM_READ_WRITE), USM_OK);
    CHECK(x[0] == 1 && x[1] == 1.5 && x[4] == 3);
    dst.strides = &two; /* every second element, which the others do not notice */
    CHECK_OK(usm_linspace_submit(queue, &dst, zero, five, false, &error));
    CHECK_EQ(wait_alloc(memory, USM_READ_WRITE), USM_OK);
    CHECK(x[0] == 0 && x[1] == 1.5 && x[2] == 1 && x[8] == 4);
    const usm_sequence integers = {.count = n, .dtype = USM_INT16, .istart = 7, .istep = -3};
    dst = vector(memory, USM_INT16, &n);
    CHECK_OK(usm_sequence_submit(queue, &dst, &integers, &error));
    CHECK_EQ(wait_alloc(memory, USM_READ_WRITE), USM_OK);
    CHECK(narrow[0] == 7 && narrow[4] == -5);
    CHECK_OK(usm_linspace_submit(queue, &dst, zero, five, false, &error)); /* with a cast */
    CHECK_EQ(wait_alloc(memory, USM_READ_WRITE), USM_OK);
    CHECK(narrow[0] == 0 && narrow[4] == 4);
    usm_device single = *host_device();
    single.info.has_fp64 = false;
    CHECK_EQ(usm_sequence_dtype(USM_UINT8, &single), USM_UINT8);
    CHECK_EQ(usm_sequence_dtype(USM_FLOAT16, &single), USM_FLOAT32);
    CHECK_EQ(usm_sequence_dtype(USM_COMPLEX64, &single), USM_FLOAT32);
    CHECK_EQ(usm_sequence_dtype(USM_FLOAT64, &single), USM_FLOAT64);
    CHECK_EQ(usm_sequence_dtype(USM_FLOAT32, host_device()), USM_FLOAT32);
    CHECK_EQ(usm_sequence_dtype(USM_FLOAT16, host_device()), USM_FLOAT64);
    usm_alloc_release(memory);
    usm_queue_release(queue);
}

/* What the calling thread does agrees with the tasks above, and does nothing while work is pending. */
static void few_rows(void)
{
    usm_queue *queue = new_queue(true);
    usm_alloc *memory = new_alloc(64 * 4), *keys = new_alloc(64), *out = new_alloc(64 * 4);
    int32_t *x = memory->pointer, *y = out->pointer;
    const int64_t shape[] = {8, 8}, strides[] = {8, 1}, three = 3, eight = 8, one = 1;
    const usm_view array = {memory, memory->pointer, USM_INT32, 2, shape, strides};
    const usm_view dst = {out, out->pointer, USM_INT32, 2, shape, strides};
    usm_few_rows rows;
    for (int i = 0; i < 64; i++) {
        x[i] = i;
    }
    memcpy(keys->pointer, (int64_t[]){-1, 0, 7}, 24);
    const usm_view integers = vector(keys, USM_INT64, &three);
    CHECK(usm_few_locate(&array, &integers, &rows));
    CHECK_EQ(rows.n, 3);
    CHECK_EQ(rows.size, 32);
    CHECK(usm_few_read(queue, &rows, &array, &dst));
    CHECK(y[0] == 56 && y[8] == 0 && y[23] == 63);
    ((int64_t *)keys->pointer)[1] = 8; /* out of range: the general way tells of it */
    CHECK(!usm_few_locate(&array, &integers, &rows));
    memcpy(keys->pointer, "\0\1\0\0\0\0\2\0", 8);
    const usm_view mask = vector(keys, USM_BOOL, &eight);
    CHECK(usm_few_locate(&array, &mask, &rows));
    CHECK_EQ(rows.n, 2);
    CHECK(rows.offsets[0] == 32 && rows.offsets[1] == 6 * 32);
    const usm_view row = {memory, memory->pointer, USM_INT32, 1, &eight, &one};
    CHECK(usm_few_locate(&row, &mask, &rows));
    const usm_view value = {NULL, (char *)&(int32_t){-9}, USM_INT32, 0, &one, &one};
    CHECK(usm_few_write(queue, &rows, &row, &value));
    CHECK(x[0] == 0 && x[1] == -9 && x[5] == 5 && x[6] == -9);
    usm_few_found found;
    memset(memory->pointer, 0, 64 * 4);
    x[11] = 5;
    x[63] = -1;
    CHECK(usm_few_nonzero(queue, &array, &found));
    CHECK_EQ(found.n, 2);
    const int64_t two = 2;
    const usm_view indices = vector(out, USM_INT64, &two);
    CHECK(usm_few_unravel(&found, &array, 0, &indices));
    CHECK(((int64_t *)out->pointer)[0] == 1 && ((int64_t *)out->pointer)[1] == 7);
    CHECK(usm_few_unravel(&found, &array, 1, &indices));
    CHECK(((int64_t *)out->pointer)[0] == 3 && ((int64_t *)out->pointer)[1] == 7);
    gate gate = GATE_CLOSED;
    usm_event *event = submit_access(queue, task_gate, &gate, memory, USM_WRITE);
    CHECK(!usm_few_nonzero(queue, &array, &found));
    CHECK(!usm_few_read(queue, &rows, &row, &dst));
    CHECK(!usm_few_write(queue, &rows, &row, &value));
    gate_open(&gate);
    expect_end(event, USM_EVENT_COMPLETE);
    usm_alloc_release(memory);
    usm_alloc_release(keys);
    usm_alloc_release(out);
    usm_queue_release(queue);
}

int main(void)
{
    watchdog(600);
    RUN_SETTLED(masks);
    RUN_SETTLED(masks_of_too_many_axes);
    RUN_SETTLED(reductions);
    RUN_SETTLED(large_reductions);
    RUN_SETTLED(rows_at_indices);
    RUN_SETTLED(elements_by_index);
    RUN_SETTLED(indices_and_counts_of_the_host);
    RUN_SETTLED(triangles);
    RUN_SETTLED(repetitions);
    RUN_SETTLED(sequences);
    RUN_SETTLED(few_rows);
    return 0;
}
