/* Copies and fills between random layouts against a loop over the elements. */
#include "check.h"
#include "support.h"

#include "core/layout/layout.h"

#include <stdlib.h>

/* The pairs whose results C gives without doubt; test_cast.c has them all. */
static void convert(usm_dtype to, char *dst, usm_dtype from, const char *src)
{
    if (to == from) {
        memcpy(dst, src, usm_dtype_table[to].itemsize);
    } else if (from == USM_INT16 && to == USM_INT64) {
        int16_t x;
        memcpy(&x, src, sizeof x);
        memcpy(dst, &(int64_t){x}, 8);
    } else if (from == USM_UINT8 && to == USM_FLOAT32) {
        memcpy(dst, &(float){(uint8_t)*src}, 4);
    } else if (from == USM_INT32 && to == USM_FLOAT32) {
        int32_t x;
        memcpy(&x, src, sizeof x);
        memcpy(dst, &(float){(float)x}, 4);
    } else if (from == USM_FLOAT32 && to == USM_COMPLEX128) {
        float x;
        memcpy(&x, src, sizeof x);
        memcpy(dst, (double[]){x, 0}, 16);
    } else {
        CHECK_FAIL("no such pair");
    }
}

static const usm_dtype pairs[][2] = {
    {USM_UINT8, USM_UINT8},
    {USM_BOOL, USM_BOOL},
    {USM_INT16, USM_INT16},
    {USM_FLOAT16, USM_FLOAT16},
    {USM_FLOAT32, USM_FLOAT32},
    {USM_FLOAT64, USM_FLOAT64},
    {USM_COMPLEX32, USM_COMPLEX32},
    {USM_COMPLEX128, USM_COMPLEX128},
    {USM_FLOAT8_E5M2, USM_FLOAT8_E5M2},
    {USM_INT16, USM_INT64},
    {USM_UINT8, USM_FLOAT32},
    {USM_INT32, USM_FLOAT32},
    {USM_FLOAT32, USM_COMPLEX128},
};

/* Bytes that are numbers in every type: no NaN, whose bits a cast may change. */
static void fill_bytes(uint64_t *seed, char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bytes[i] = (char)random_below(seed, 64);
    }
}

static void random_layouts(bool overlapping)
{
    uint64_t seed = overlapping ? 5 : 6;
    usm_queue *queues[] = {new_queue(true), new_queue(false)};
    usm_alloc *a = new_alloc(VIEW_BUFFER), *b = overlapping ? usm_alloc_retain(a) : new_alloc(VIEW_BUFFER);
    char *wanted = malloc(VIEW_BUFFER), *third = malloc(VIEW_BUFFER * 16);
    int64_t shape[VIEW_AXES];
    memset(a->pointer, 0, VIEW_BUFFER);
    memset(b->pointer, 0, VIEW_BUFFER);
    for (long round = 0; round < scaled(6000); round++) {
        CHECK_STEP(round, seed);
        random_view dst, src;
        int ndim = random_shape(&seed, shape);
        const usm_dtype *pair = pairs[random_below(&seed, sizeof pairs / sizeof *pairs)];
        fill_bytes(&seed, a->pointer, VIEW_BUFFER / 8);
        fill_bytes(&seed, b->pointer, VIEW_BUFFER / 8);
        random_view_make(&src, &seed, a, pair[0], ndim, shape, true);
        random_view_make(&dst, &seed, b, pair[1], ndim, shape, false);
        if (overlapping && random_below(&seed, 5) == 0) { /* onto itself */
            dst = src;
            dst.view.shape = dst.shape;
            dst.view.strides = dst.strides;
            if (usm_layout_repeats(ndim, dst.shape, dst.strides)) {
                continue;
            }
        }
        int64_t n = view_count(&dst.view);
        int size = usm_dtype_table[src.view.dtype].itemsize;
        memcpy(wanted, b->pointer, VIEW_BUFFER);
        for (int64_t i = 0; i < n; i++) {
            memcpy(third + i * size, view_element(&src.view, i), (size_t)size);
        }
        for (int64_t i = 0; i < n; i++) {
            convert(dst.view.dtype, wanted + (view_element(&dst.view, i) - (char *)b->pointer),
                    src.view.dtype, third + i * size);
        }
        usm_error error;
        usm_event *event = NULL;
        CHECK_OK(usm_copy_submit(queues[round % 2], &dst.view, &src.view, round % 3 ? &event : NULL, &error));
        if (event != NULL) {
            expect_end(event, USM_EVENT_COMPLETE);
        } else {
            CHECK_EQ(wait_alloc(b, USM_READ_WRITE), USM_OK);
        }
        CHECK_SAME(b->pointer, wanted, VIEW_BUFFER);
    }
    free(wanted);
    free(third);
    usm_alloc_release(a);
    usm_alloc_release(b);
    usm_queue_release(queues[0]);
    usm_queue_release(queues[1]);
}

static void copies_between_random_layouts(void)
{
    random_layouts(false);
}

static void copies_within_one_allocation(void)
{
    random_layouts(true);
}

static void fills_of_random_layouts(void)
{
    uint64_t seed = 7;
    usm_queue *queue = new_queue(true);
    usm_alloc *alloc = new_alloc(VIEW_BUFFER);
    char *wanted = malloc(VIEW_BUFFER), value[16];
    int64_t shape[VIEW_AXES];
    memset(alloc->pointer, 0, VIEW_BUFFER);
    for (long round = 0; round < scaled(4000); round++) {
        CHECK_STEP(round, seed);
        random_view dst;
        int ndim = random_shape(&seed, shape);
        usm_dtype dtype = pairs[random_below(&seed, sizeof pairs / sizeof *pairs)][0];
        fill_bytes(&seed, alloc->pointer, VIEW_BUFFER / 8);
        fill_bytes(&seed, value, sizeof value);
        random_view_make(&dst, &seed, alloc, dtype, ndim, shape, false);
        memcpy(wanted, alloc->pointer, VIEW_BUFFER);
        for (int64_t i = 0; i < view_count(&dst.view); i++) {
            convert(dtype, wanted + (view_element(&dst.view, i) - (char *)alloc->pointer), dtype, value);
        }
        usm_error error;
        usm_event *event;
        CHECK_OK(usm_fill_submit(queue, &dst.view, value, &event, &error));
        expect_end(event, USM_EVENT_COMPLETE);
        CHECK_SAME(alloc->pointer, wanted, VIEW_BUFFER);
    }
    free(wanted);
    usm_alloc_release(alloc);
    usm_queue_release(queue);
}

/* The form that backends rely on. */
static void plans(void)
{
    uint64_t seed = 8;
    usm_alloc *alloc = new_alloc(VIEW_BUFFER);
    int64_t shape[VIEW_AXES];
    for (int round = 0; round < 20000; round++) {
        CHECK_STEP(round, seed);
        random_view dst, src;
        usm_plan plan;
        int ndim = random_shape(&seed, shape);
        random_view_make(&src, &seed, alloc, USM_INT16, ndim, shape, true);
        random_view_make(&dst, &seed, alloc, USM_INT64, ndim, shape, false);
        int64_t n = view_count(&dst.view), elements = 1;
        if (n == 0) {
            continue;
        }
        usm_copy_plan(&plan, &dst.view, &src.view);
        const usm_strided *p = &plan.strided;
        CHECK(p->ndim >= 1 && p->ndim <= (ndim > 0 ? ndim : 1));
        CHECK(p->shape == plan.numbers && p->dst_strides == p->shape + p->ndim);
        CHECK(p->src_strides == p->shape + 2 * p->ndim);
        for (int i = 0; i < p->ndim; i++) {
            CHECK(p->shape[i] > 1 || p->ndim == 1);
            CHECK(p->dst_strides[i] > 0);
            CHECK(i == 0 || p->dst_strides[i - 1] > p->dst_strides[i]);
            CHECK(i == 0 || p->dst_strides[i - 1] != p->dst_strides[i] * p->shape[i] ||
                  p->src_strides[i - 1] != p->src_strides[i] * p->shape[i]);
            elements *= p->shape[i];
        }
        CHECK_EQ(elements, n);
        /* Each pair of elements once: the sum of dst times src offsets tells a mix-up. */
        uint64_t mine = 0, wanted = 0;
        for (int64_t i = 0; i < n; i++) {
            int64_t rest = i;
            const char *d = p->dst, *s = p->src;
            for (int k = p->ndim - 1; k >= 0; k--) {
                d += rest % p->shape[k] * p->dst_strides[k];
                s += rest % p->shape[k] * p->src_strides[k];
                rest /= p->shape[k];
            }
            mine += (uint64_t)(uintptr_t)d * ((uint64_t)(uintptr_t)s * 31 + 7);
            wanted += (uint64_t)(uintptr_t)view_element(&dst.view, i) *
                      ((uint64_t)(uintptr_t)view_element(&src.view, i) * 31 + 7);
        }
        CHECK_EQ(mine, wanted);
    }
    usm_alloc_release(alloc);
}

/* Sub-byte elements share bytes: what is copied is the bytes that they fill. */
static void packed_types(void)
{
    usm_queue *queue = new_queue(true);
    usm_alloc *a = new_alloc(64), *b = new_alloc(64);
    memset(a->pointer, 0x5a, 64);
    memset(b->pointer, 0, 64);
    const int64_t shape[] = {3, 3}, strides[] = {3, 1};
    const usm_view src = {a, a->pointer, USM_FLOAT4_E2M1FN, 2, shape, strides};
    const usm_view dst = {b, b->pointer, USM_FLOAT4_E2M1FN, 2, shape, strides};
    usm_error error;
    CHECK_OK(usm_copy_submit(queue, &dst, &src, NULL, &error));
    CHECK_EQ(wait_queue(queue), USM_OK);
    CHECK_EQ(((char *)b->pointer)[4], 0x5a);
    CHECK_EQ(((char *)b->pointer)[5], 0);
    usm_alloc_release(a);
    usm_alloc_release(b);
    usm_queue_release(queue);
}

/* Enough for several threads: transposed, with a cast, turned round, and with a gap between the rows. */
static void large_layouts(void)
{
    enum { ROWS = 1500, COLUMNS = 700 };
    usm_queue *queue = new_queue(true);
    usm_alloc *a = new_alloc(ROWS * (COLUMNS + 4) * 8), *b = new_alloc(ROWS * COLUMNS * 8);
    static const struct {
        usm_dtype from, to;
        int64_t first, strides[2]; /* of src */
    } cases[] = {
        {USM_INT32, USM_INT32, 0, {1, ROWS}},
        {USM_INT32, USM_FLOAT32, 0, {1, ROWS}},
        {USM_FLOAT64, USM_FLOAT64, (ROWS - 1) * (int64_t)COLUMNS, {-COLUMNS, 1}},
        {USM_INT16, USM_INT64, COLUMNS - 1, {COLUMNS, -1}},
        {USM_UINT8, USM_UINT8, 0, {COLUMNS + 4, 1}},
        {USM_FLOAT64, USM_FLOAT64, 0, {0, 1}},
        {USM_UINT8, USM_FLOAT32, 3, {1, 0}},
    };
    uint64_t seed = 9;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_STEP((long)i, seed);
        const int64_t shape[] = {ROWS, COLUMNS}, strides[] = {COLUMNS, 1};
        int size = usm_dtype_table[cases[i].from].itemsize, to_size = usm_dtype_table[cases[i].to].itemsize;
        fill_bytes(&seed, a->pointer, ROWS * (COLUMNS + 4) * 8);
        memset(b->pointer, 0xff, ROWS * COLUMNS * 8);
        const usm_view src = {
            a, (char *)a->pointer + cases[i].first * size, cases[i].from, 2, shape, cases[i].strides};
        const usm_view dst = {b, b->pointer, cases[i].to, 2, shape, strides};
        usm_error error;
        CHECK_OK(usm_copy_submit(queue, &dst, &src, NULL, &error));
        CHECK_EQ(wait_alloc(b, USM_READ), USM_OK);
        char wanted[16];
        for (int64_t n = 0; n < ROWS * COLUMNS; n++) {
            convert(cases[i].to, wanted, cases[i].from, view_element(&src, n));
            CHECK_SAME((char *)b->pointer + n * to_size, wanted, (size_t)to_size);
        }
    }
    usm_alloc_release(a);
    usm_alloc_release(b);
    usm_queue_release(queue);
}

/* An empty copy has an event, and does not make an unordered queue wait for it. */
static void empty_copies(void)
{
    usm_queue *queue = new_queue(false);
    usm_alloc *alloc = new_alloc(0), *some = new_alloc(64);
    const int64_t shape[] = {0}, one[] = {1};
    const usm_view empty = {alloc, alloc->pointer, USM_INT8, 1, shape, one};
    const usm_view into = {some, some->pointer, USM_INT8, 1, shape, one};
    gate held = GATE_CLOSED;
    _Atomic int ran = 0;
    usm_error error;
    usm_event *event;
    usm_event *stuck = submit_task(queue, task_gate, &held);
    CHECK_OK(usm_copy_submit(queue, &into, &empty, NULL, &error));
    CHECK_OK(usm_copy_submit(queue, &into, &empty, &event, &error));
    usm_event_release(event);
    CHECK_OK(usm_fill_submit(queue, &empty, "x", NULL, &error));
    CHECK_OK(usm_fill_submit(queue, &empty, "x", &event, &error));
    expect_end(submit_task(queue, task_count, &ran), USM_EVENT_COMPLETE);
    gate_open(&held);
    expect_end(event, USM_EVENT_COMPLETE);
    expect_end(stuck, USM_EVENT_COMPLETE);
    usm_alloc_release(alloc);
    usm_alloc_release(some);
    usm_queue_release(queue);
}

int main(void)
{
    watchdog(600);
    RUN_SETTLED(copies_between_random_layouts);
    RUN_SETTLED(copies_within_one_allocation);
    RUN_SETTLED(fills_of_random_layouts);
    RUN_SETTLED(plans);
    RUN_SETTLED(packed_types);
    RUN_SETTLED(large_layouts);
    RUN_SETTLED(empty_copies);
    return 0;
}
