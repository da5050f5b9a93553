/* Operations element by element, on random layouts, against a loop over the elements. */
#include "support.h"

#include "core/ops/compare.h"
#include "core/ops/few.h"
#include "core/ops/logic.h"

#include <math.h>
#include <stdlib.h>

/* Buffers of the result and of three operands. */
typedef struct bench {
    uint64_t seed;
    usm_queue *queue;
    usm_alloc *dst, *sources[3];
    char *wanted;
} bench;

static void begin(bench *bench, uint64_t seed)
{
    bench->seed = seed;
    bench->queue = new_queue(true);
    bench->dst = new_alloc(VIEW_BUFFER);
    for (int i = 0; i < 3; i++) {
        bench->sources[i] = new_alloc(VIEW_BUFFER);
        memset(bench->sources[i]->pointer, 0, VIEW_BUFFER);
    }
    memset(bench->dst->pointer, 0, VIEW_BUFFER);
    bench->wanted = malloc(VIEW_BUFFER);
}

static void end(bench *bench)
{
    usm_alloc_release(bench->dst);
    for (int i = 0; i < 3; i++) {
        usm_alloc_release(bench->sources[i]);
    }
    usm_queue_release(bench->queue);
    free(bench->wanted);
}

static double number(usm_dtype dtype, const char *data)
{
    union {
        bool b;
        int8_t i8;
        int64_t i64;
        uint64_t u64;
        float f32;
        double f64;
    } x;
    memcpy(&x, data, usm_dtype_table[dtype].itemsize);
    switch (dtype) {
        case USM_BOOL:
            return x.b;
        case USM_INT8:
            return x.i8;
        case USM_INT64:
            return (double)x.i64;
        case USM_UINT64:
            return (double)x.u64;
        case USM_FLOAT32:
            return x.f32;
        case USM_FLOAT64:
            return x.f64;
        default:
            CHECK_FAIL("no such type");
    }
}

static void put(usm_dtype dtype, char *data, uint64_t *seed)
{
    static const double values[] = {0, 1, 2, 3, -1, -2, NAN, 100};
    int size = usm_dtype_table[dtype].itemsize;
    usm_dtype_kind kind = (usm_dtype_kind)usm_dtype_table[dtype].kind;
    double x;
    do {
        x = values[random_below(seed, 8)];
    } while (kind != USM_DTYPE_KIND_FLOAT &&
             (isnan(x) || (x < 0 && kind != USM_DTYPE_KIND_INT) || (x > 1 && kind == USM_DTYPE_KIND_BOOL)));
    float single = (float)x;
    int64_t integer = isnan(x) ? 0 : (int64_t)x;
    memcpy(data,
           dtype == USM_FLOAT64   ? (void *)&x
           : dtype == USM_FLOAT32 ? (void *)&single
                                  : (void *)&integer,
           (size_t)size);
}

/* A random operand of this shape, or of 0 dimensions, with values. */
static void make_operand(bench *bench, int i, usm_dtype dtype, int ndim, const int64_t *shape,
                         random_view *out)
{
    int own = random_below(&bench->seed, 5) == 0 ? 0 : ndim;
    random_view_make(out, &bench->seed, bench->sources[i], dtype, own, shape, true);
    for (int64_t k = 0, n = view_count(&out->view); k < n; k++) {
        put(dtype, view_element(&out->view, k), &bench->seed);
    }
}

static const char *operand(const random_view *view, int64_t i)
{
    return view_element(&view->view, view->view.ndim == 0 ? 0 : i);
}

static bool relate(usm_relation relation, double a, double b)
{
    switch (relation) {
        case USM_RELATION_LESS:
            return a < b;
        case USM_RELATION_LESS_EQUAL:
            return a <= b;
        case USM_RELATION_EQUAL:
            return a == b;
        case USM_RELATION_NOT_EQUAL:
            return a != b;
        case USM_RELATION_GREATER:
            return a > b;
        default:
            return a >= b;
    }
}

static void expect(bench *bench)
{
    CHECK_EQ(wait_alloc(bench->dst, USM_READ_WRITE), USM_OK);
    CHECK_SAME(bench->dst->pointer, bench->wanted, VIEW_BUFFER);
}

static char *wanted_at(bench *bench, const usm_view *dst, int64_t i)
{
    return bench->wanted + (view_element(dst, i) - (char *)bench->dst->pointer);
}

static void comparisons(void)
{
    static const usm_dtype pairs[][2] = {
        {USM_BOOL, USM_BOOL},     {USM_INT8, USM_INT8},       {USM_INT64, USM_INT64},
        {USM_UINT64, USM_UINT64}, {USM_FLOAT32, USM_FLOAT32}, {USM_FLOAT64, USM_FLOAT64},
        {USM_UINT64, USM_INT8},   {USM_INT64, USM_UINT64},
    };
    bench bench;
    begin(&bench, 11);
    for (long round = 0; round < scaled(3000); round++) {
        CHECK_STEP(round, bench.seed);
        random_view dst, a, b;
        int64_t shape[VIEW_AXES];
        int ndim = random_shape(&bench.seed, shape);
        const usm_dtype *pair = pairs[random_below(&bench.seed, sizeof pairs / sizeof *pairs)];
        usm_relation relation = (usm_relation)random_below(&bench.seed, 6);
        usm_error error;
        make_operand(&bench, 0, pair[0], ndim, shape, &a);
        make_operand(&bench, 1, pair[1], ndim, shape, &b);
        random_view_make(&dst, &bench.seed, bench.dst, USM_BOOL, ndim, shape, false);
        memcpy(bench.wanted, bench.dst->pointer, VIEW_BUFFER);
        for (int64_t i = 0, n = view_count(&dst.view); i < n; i++) {
            *wanted_at(&bench, &dst.view, i) =
                relate(relation, number(pair[0], operand(&a, i)), number(pair[1], operand(&b, i)));
        }
        const usm_view views[] = {dst.view, a.view, b.view};
        CHECK_OK(usm_compare_submit(bench.queue, relation, views, 3, false, &error));
        expect(&bench);
    }
    end(&bench);
}

static void relations_beyond_a_type(void)
{
    for (int relation = USM_RELATION_LESS; relation <= USM_RELATION_GREATER_EQUAL; relation++) {
        CHECK_EQ(usm_relation_holds((usm_relation)relation, true), relate((usm_relation)relation, 1, 2));
        CHECK_EQ(usm_relation_holds((usm_relation)relation, false), relate((usm_relation)relation, 2, 1));
    }
}

static void truth_values(void)
{
    static const usm_dtype dtypes[] = {USM_BOOL, USM_INT8, USM_INT64, USM_FLOAT32, USM_FLOAT64};
    bench bench;
    begin(&bench, 12);
    for (long round = 0; round < scaled(1500); round++) {
        CHECK_STEP(round, bench.seed);
        random_view dst, a;
        int64_t shape[VIEW_AXES];
        int ndim = random_shape(&bench.seed, shape);
        usm_dtype dtype = dtypes[random_below(&bench.seed, sizeof dtypes / sizeof *dtypes)];
        usm_error error;
        random_view_make(&a, &bench.seed, bench.sources[0], dtype, ndim, shape, true);
        random_view_make(&dst, &bench.seed, bench.dst, USM_BOOL, ndim, shape, false);
        for (int64_t i = 0, n = view_count(&a.view); i < n; i++) {
            put(dtype, view_element(&a.view, i), &bench.seed);
        }
        memcpy(bench.wanted, bench.dst->pointer, VIEW_BUFFER);
        for (int64_t i = 0, n = view_count(&dst.view); i < n; i++) {
            *wanted_at(&bench, &dst.view, i) = number(dtype, view_element(&a.view, i)) != 0;
        }
        CHECK_OK(usm_truth_submit(bench.queue, &dst.view, &a.view, false, &error));
        expect(&bench);
    }
    end(&bench);
}

static void tables_of_truth_values(void)
{
    bench bench;
    begin(&bench, 13);
    for (long round = 0; round < scaled(1500); round++) {
        CHECK_STEP(round, bench.seed);
        random_view dst, a, b;
        int64_t shape[VIEW_AXES];
        int ndim = random_shape(&bench.seed, shape);
        unsigned table = (unsigned)random_below(&bench.seed, 16);
        usm_error error;
        make_operand(&bench, 0, USM_BOOL, ndim, shape, &a);
        make_operand(&bench, 1, USM_BOOL, ndim, shape, &b);
        random_view_make(&dst, &bench.seed, bench.dst, USM_BOOL, ndim, shape, false);
        memcpy(bench.wanted, bench.dst->pointer, VIEW_BUFFER);
        for (int64_t i = 0, n = view_count(&dst.view); i < n; i++) {
            *wanted_at(&bench, &dst.view, i) = (char)(table >> (2 * *operand(&a, i) + *operand(&b, i)) & 1);
        }
        const usm_view views[] = {dst.view, a.view, b.view};
        CHECK_OK(usm_logic_submit(bench.queue, table, views, 3, false, &error));
        expect(&bench);
    }
    end(&bench);
}

/* The same by the calling thread. */
static void few_truth_values(void)
{
    usm_queue *queue = new_queue(true);
    usm_alloc *memory = new_alloc(3 * USM_FEW);
    char *at = memory->pointer;
    const int64_t n = USM_FEW, one = 1;
    uint64_t seed = 14;
    const usm_view views[] = {{memory, at, USM_BOOL, 1, &n, &one},
                              {memory, at + n, USM_BOOL, 1, &n, &one},
                              {memory, at + 2 * n, USM_BOOL, 1, &n, &one}};
    for (int64_t i = n; i < 3 * n; i++) {
        at[i] = (char)random_below(&seed, 2);
    }
    CHECK(usm_few_may_begin(queue, n) && !usm_few_may_begin(queue, n + 1) && !usm_few_may_begin(queue, 0));
    CHECK(usm_few_logic(queue, USM_XOR, views));
    for (int64_t i = 0; i < n; i++) {
        CHECK_EQ(at[i], at[n + i] ^ at[2 * n + i]);
    }
    gate gate = GATE_CLOSED; /* what is pending is not overtaken */
    usm_event *event = submit_access(queue, task_gate, &gate, memory, USM_WRITE);
    CHECK(!usm_few_logic(queue, USM_OR, views));
    gate_open(&gate);
    expect_end(event, USM_EVENT_COMPLETE);
    usm_alloc_release(memory);
    usm_queue_release(queue);
}

static void classes_of_numbers(void)
{
    static const double values[] = {0, -1.5, INFINITY, -INFINITY, NAN, 1e30};
    enum { N = sizeof values / sizeof *values };
    usm_queue *queue = new_queue(true);
    usm_alloc *from = new_alloc(256), *to = new_alloc(N);
    const int64_t n = N, one = 1;
    const usm_view dst = {to, to->pointer, USM_BOOL, 1, &n, &one};
    usm_error error;
    for (int what = USM_IS_NAN; what <= USM_IS_FINITE; what++) {
        for (int parts = 1; parts <= 2; parts++) {
            usm_view src = {from, from->pointer, parts == 1 ? USM_FLOAT64 : USM_COMPLEX128, 1, &n, &one};
            for (int i = 0; i < N; i++) {
                ((double *)from->pointer)[i * parts] = 1;
                ((double *)from->pointer)[i * parts + parts - 1] = values[i];
            }
            const usm_view views[] = {dst, src};
            CHECK_OK(usm_classify_submit(queue, (usm_float_class)what, views, 2, false, &error));
            CHECK_EQ(wait_alloc(to, USM_READ), USM_OK);
            for (int i = 0; i < N; i++) {
                bool wanted = what == USM_IS_NAN        ? isnan(values[i])
                              : what == USM_IS_INFINITE ? isinf(values[i])
                                                        : isfinite(values[i]);
                CHECK_EQ(((char *)to->pointer)[i], wanted);
            }
        }
        const usm_view integers[] = {dst, {from, from->pointer, USM_INT64, 1, &n, &one}};
        CHECK_OK(usm_classify_submit(queue, (usm_float_class)what, integers, 2, false, &error));
        CHECK_EQ(wait_alloc(to, USM_READ), USM_OK);
        CHECK_EQ(((char *)to->pointer)[N - 1], what == USM_IS_FINITE);
    }
    usm_alloc_release(from);
    usm_alloc_release(to);
    usm_queue_release(queue);
}

static void choices(void)
{
    static const usm_dtype dtypes[] = {USM_UINT8, USM_FLOAT16, USM_INT32, USM_FLOAT64, USM_COMPLEX128};
    bench bench;
    begin(&bench, 15);
    for (long round = 0; round < scaled(1500); round++) {
        CHECK_STEP(round, bench.seed);
        random_view dst, views[3];
        int64_t shape[VIEW_AXES];
        int ndim = random_shape(&bench.seed, shape);
        usm_dtype dtype = dtypes[random_below(&bench.seed, sizeof dtypes / sizeof *dtypes)];
        size_t size = usm_dtype_table[dtype].itemsize;
        usm_error error;
        make_operand(&bench, 0, USM_BOOL, ndim, shape, &views[0]);
        for (int k = 1; k < 3; k++) {
            random_view_make(&views[k], &bench.seed, bench.sources[k], dtype, ndim, shape, true);
            for (int64_t i = 0, n = view_count(&views[k].view); i < n; i++) {
                memset(view_element(&views[k].view, i), (int)random_below(&bench.seed, 250), size);
            }
        }
        random_view_make(&dst, &bench.seed, bench.dst, dtype, ndim, shape, false);
        memcpy(bench.wanted, bench.dst->pointer, VIEW_BUFFER);
        for (int64_t i = 0, n = view_count(&dst.view); i < n; i++) {
            memcpy(wanted_at(&bench, &dst.view, i),
                   view_element(&views[*operand(&views[0], i) ? 1 : 2].view, i), size);
        }
        const usm_view operands[] = {dst.view, views[0].view, views[1].view, views[2].view};
        CHECK_OK(usm_where_submit(bench.queue, 0, operands, 4, false, &error));
        expect(&bench);
    }
    end(&bench);
}

/* A call whose scratch memory cannot be allocated fails, and leaves no allocation behind. */
static void failures_of_scratch_memory(void)
{
    usm_queue *queue = new_queue(true);
    usm_alloc *memory = new_alloc(64);
    const int64_t n = 2, one = 1, huge[] = {INT64_MAX / 4, 2};
    const int64_t none[] = {0, 0};
    const usm_view views[] = {{memory, memory->pointer, USM_BOOL, 2, huge, none},
                              {memory, memory->pointer, USM_UINT64, 2, huge, none},
                              {memory, memory->pointer, USM_INT64, 2, huge, none}};
    usm_error error;
    CHECK_EQ(usm_compare_submit(queue, USM_RELATION_LESS, views, 3, false, &error), USM_VALUE);
    usm_error_clear(&error);
    const usm_view small = {memory, memory->pointer, USM_BOOL, 1, &n, &one};
    CHECK_OK(usm_truth_submit(queue, &small, &small, false, &error));
    CHECK_EQ(wait_queue(queue), USM_OK);
    usm_alloc_release(memory);
    usm_queue_release(queue);
}

int main(void)
{
    watchdog(600);
    RUN_SETTLED(comparisons);
    RUN_SETTLED(relations_beyond_a_type);
    RUN_SETTLED(truth_values);
    RUN_SETTLED(tables_of_truth_values);
    RUN_SETTLED(few_truth_values);
    RUN_SETTLED(classes_of_numbers);
    RUN_SETTLED(choices);
    RUN_SETTLED(failures_of_scratch_memory);
    return 0;
}
