#include "matmul.h"

#include "accumulate.h"
#include "operation.h"

#include "core/base/blas.h"
#include "core/base/detach.h"
#include "core/builtin/builtin.h"
#include "core/device/backend.h"

#include <string.h>

/* Blocks and tiles of the range: csrc/cpu/matmul.h, kernels/src/matmul.cl. */
enum { HOST_ROWS = 48, HOST_BYTES = 512, TILE_ROWS = 8, TILE_COLUMNS = 4 };

/* By what a place knows a kernel: texts that last. Signed integers wrap as unsigned ones do. */
typedef struct names {
    const char *module, *own, *blas, *options;
} names;

#define NAMES(type, number)                                                            \
    {                                                                                  \
        "matmul." type, "usm_matmul_" type, "usm_blas_" type, "-D USM_COMPUTE=" number \
    }
static const names kernels[USM_COMPUTED_DTYPES] = {USM_WRAPPING_ROWS(NAMES), USM_REAL_ROWS(NAMES)};

/* Several axes as one: its length, and whether its elements are evenly spaced, *stride apart. */
static bool join(const int64_t *shape, const int64_t *strides, int n, long *length, long *stride)
{
    bool even = true;
    *length = 1;
    *stride = 1;
    for (int i = n - 1; i >= 0; i--) {
        if (shape[i] == 1) {
            continue;
        }
        if (*length == 1) {
            *stride = strides[i];
        } else {
            even = even && strides[i] == *stride * *length;
        }
        *length *= shape[i];
    }
    return even;
}

/* The axes of the batch as USM_MATMUL_BATCH ones; false where they are too many. */
static bool join_batch(const usm_view *x1, const usm_view *x2, int n, usm_matmul *r)
{
    int at = USM_MATMUL_BATCH;
    for (int i = 0; i < USM_MATMUL_BATCH; i++) {
        r->batch[i] = 1;
        r->a_batch[i] = r->b_batch[i] = 0;
    }
    for (int i = n - 1; i >= 0; i--) {
        if (x1->shape[i] == 1) {
            continue;
        }
        if (at < USM_MATMUL_BATCH && x1->strides[i] == r->a_batch[at] * r->batch[at] &&
            x2->strides[i] == r->b_batch[at] * r->batch[at]) {
            r->batch[at] *= x1->shape[i];
            continue;
        }
        if (at-- == 0) {
            return false;
        }
        r->batch[at] = x1->shape[i];
        r->a_batch[at] = x1->strides[i];
        r->b_batch[at] = x2->strides[i];
    }
    return true;
}

/* Whether BLAS takes the matrix where it lies. Strides of axes without a second element do not matter: they
 * are set. */
static bool suits_blas(long rows, long columns, long *row, long *column)
{
    if (columns == 1 && *row >= 1) {
        *column = 1;
    }
    if (rows == 1) {
        *row = *column == 1 ? columns : 1;
    }
    return (*column == 1 && *row >= columns) || (*row == 1 && *column >= rows);
}

/* A library with integers of 32 bits takes lengths and strides below 2**31. */
static bool is_small(const usm_matmul *r)
{
    const long values[] = {r->m, r->n, r->k, r->a_row, r->a_column, r->b_row, r->b_column};
    bool small = true;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        small = small && values[i] <= INT32_MAX;
    }
    return small;
}

/* The library for a product of this type; NULL: none, of which *why may tell. */
static const char *find_library(const usm_queue *queue, usm_dtype computed, const usm_matmul *r,
                                const char **why)
{
    if (computed != USM_FLOAT32 && computed != USM_FLOAT64) {
        return NULL;
    }
    if (usm_builtin_is_on_host(queue)) {
        void *held = usm_detach();
        const usm_blas *blas = usm_blas_find();
        usm_attach(held);
        *why = blas->path[0] == '\0' ? blas->why : NULL;
        return blas->path[0] != '\0' && (blas->wide || is_small(r)) ? blas->path : NULL;
    }
    usm_builtin builtin;
    usm_builtin_init(&builtin, kernels[computed].module, kernels[computed].own, kernels[computed].options);
    const usm_kernel *kernel = usm_builtin_kernel_find(queue, &builtin);
    return kernel != NULL && is_small(r) ? kernel->computed_by.library : NULL;
}

/* Lengths and strides, and which argument has no even ones. */
static void set_strides(const usm_view *x1, const usm_view *x2, const usm_contraction *axes,
                        usm_matmul_plan *plan)
{
    usm_matmul *r = &plan->r;
    int batch = axes->batch;
    long k;
    bool rows = join(x1->shape + batch, x1->strides + batch, axes->rows, &r->m, &r->a_row);
    bool left = join(x1->shape + batch + axes->rows, x1->strides + batch + axes->rows, axes->inner, &r->k,
                     &r->a_column);
    bool right = join(x2->shape + batch, x2->strides + batch, axes->inner, &k, &r->b_row);
    bool columns = join(x2->shape + batch + axes->inner, x2->strides + batch + axes->inner, axes->columns,
                        &r->n, &r->b_column);
    bool together = join_batch(x1, x2, batch, r);
    plan->copies[0] = plan->copies[0] || !rows || !left || !together;
    plan->copies[1] = plan->copies[1] || !right || !columns || !together;
    r->c_row = r->n;
    r->c_column = 1;
}

/* The real parts (0) or the imaginary ones (1) of an array of a complex type, where they lie. */
static usm_view part_of(const usm_view *x, usm_dtype dtype, int part, int64_t *strides)
{
    usm_view view = *x;
    view.dtype = usm_operation_types_of(USM_OP_real, dtype, true).result;
    view.data += part * usm_dtype_table[view.dtype].itemsize;
    view.strides = strides;
    for (int i = 0; i < x->ndim; i++) {
        strides[i] = 2 * x->strides[i];
    }
    return view;
}

void usm_matmul_plan_make(const usm_queue *queue, usm_dtype dtype, const usm_view *x1, const usm_view *x2,
                          const usm_contraction *axes, usm_matmul_plan *plan)
{
    if (usm_dtype_table[dtype].kind == USM_DTYPE_KIND_COMPLEX) {
        int64_t strides[2][USM_MAX_NDIM];
        const usm_view a = part_of(x1, dtype, 0, strides[0]), b = part_of(x2, dtype, 0, strides[1]);
        usm_matmul_plan_make(queue, a.dtype, &a, &b, axes, plan);
        plan->parts = true;
        plan->copies[0] = plan->copies[0] || x1->dtype != dtype;
        plan->copies[1] = plan->copies[1] || x2->dtype != dtype;
        return;
    }
    plan->parts = false;
    plan->computed = dtype == USM_FLOAT16 || dtype == USM_BFLOAT16 ? USM_FLOAT32 : dtype;
    plan->dots = axes->rows == 0 && axes->columns == 0;
    plan->copies[0] = x1->dtype != plan->computed || !usm_view_is_aligned(x1);
    plan->copies[1] = x2->dtype != plan->computed || !usm_view_is_aligned(x2);
    plan->library = plan->why = NULL;
    set_strides(x1, x2, axes, plan);
    if (!plan->dots) {
        usm_matmul *r = &plan->r;
        plan->library = find_library(queue, plan->computed, r, &plan->why);
        if (plan->library != NULL) {
            plan->copies[0] = !suits_blas(r->m, r->k, &r->a_row, &r->a_column) || plan->copies[0];
            plan->copies[1] = !suits_blas(r->k, r->n, &r->b_row, &r->b_column) || plan->copies[1];
        }
    }
}

/* Bytes that take about as long to move as the products take. */
static size_t cost_of(const usm_matmul *r, int64_t batch, int size)
{
    double products = (double)r->m * (double)r->n * (double)r->k / 4;
    double elements = (double)r->m * (double)r->k + (double)r->k * (double)r->n + (double)r->m * (double)r->n;
    double bytes = (products + elements) * (double)batch * size;
    return bytes < (double)PTRDIFF_MAX ? (size_t)bytes : PTRDIFF_MAX;
}

static int64_t over(int64_t n, int64_t size)
{
    return (n + size - 1) / size;
}

/* The same product transposed: c' = b' * a'. The host's loops run along columns, which should be many. */
static void transpose(usm_matmul *r)
{
    const usm_matmul old = *r;
    r->m = old.n;
    r->n = old.m;
    r->a_row = old.b_column;
    r->a_column = old.b_row;
    r->b_row = old.a_column;
    r->b_column = old.a_row;
    r->c_row = old.c_column;
    r->c_column = old.c_row;
    memcpy(r->a_batch, old.b_batch, sizeof old.b_batch);
    memcpy(r->b_batch, old.a_batch, sizeof old.a_batch);
}

static usm_status launch(usm_queue *queue, const usm_matmul_plan *plan, const usm_view *dst,
                         const usm_view *x1, const usm_view *x2, usm_error *error)
{
    const names *names = &kernels[plan->computed];
    usm_matmul r = plan->r;
    usm_builtin builtin;
    int size = usm_dtype_table[plan->computed].itemsize;
    bool is_host = usm_builtin_is_on_host(queue), is_blas = is_host && plan->library != NULL;
    bool flips = is_host && !is_blas && r.n < r.m;
    const usm_view views[] = {*dst, flips ? *x2 : *x1, flips ? *x1 : *x2};
    if (flips) {
        transpose(&r);
    }
    const int64_t batch = r.batch[0] * r.batch[1] * r.batch[2];
    usm_builtin_init(&builtin, names->module, is_blas ? names->blas : names->own, names->options);
    builtin.fresh = true;
    builtin.cost = cost_of(&r, batch, size);
    builtin.n[0] = is_host ? 1 : over(r.n, TILE_COLUMNS);
    builtin.n[1] = !is_host  ? over(r.m, TILE_ROWS)
                   : is_blas ? 1
                             : over(r.m, HOST_ROWS) * over(r.n, HOST_BYTES / size);
    builtin.n[2] = is_blas ? 1 : batch;
    return usm_builtin_submit_views(queue, &builtin, views, 3, USM_WRITE, &r, sizeof r, error);
}

/* Products element by element, and their sums in the order of usm_accumulate_submit. */
static usm_status submit_dots(usm_queue *queue, usm_dtype computed, const usm_view *dst, const usm_view *x1,
                              const usm_view *x2, const usm_contraction *axes, usm_error *error)
{
    const usm_operation_types types =
        usm_operation_types_of(USM_OP_multiply, computed, queue->device->info.has_fp64);
    usm_scratch products;
    usm_status status = usm_scratch_create(queue, computed, x1->ndim, x1->shape, 'C', &products, error);
    if (status == USM_OK) {
        const usm_view operands[] = {products.view, *x1, *x2};
        status = usm_operation_submit(queue, USM_OP_multiply, &types, operands, true, error);
    }
    if (status == USM_OK) {
        uint64_t reduced_axes = ((UINT64_C(1) << axes->inner) - 1) << axes->batch;
        status = usm_accumulate_submit(queue, USM_ACCUMULATE_SUM, dst, &products.view, reduced_axes, error);
    }
    usm_scratch_release(&products);
    return status;
}

/* Complex numbers: a part of the result is the sum or the difference of two products of parts. */
static usm_status submit_parts(usm_queue *queue, const usm_view *dst, const usm_view *x1, const usm_view *x2,
                               const usm_contraction *axes, usm_error *error)
{
    int64_t strides[3][USM_MAX_NDIM];
    usm_status status = USM_OK;
    for (int part = 0; part < 2 && status == USM_OK; part++) {
        const usm_view to = part_of(dst, dst->dtype, part, strides[0]);
        usm_scratch terms[2];
        terms[0].view.alloc = terms[1].view.alloc = NULL;
        for (int i = 0; i < 2 && status == USM_OK; i++) {
            const usm_view a = part_of(x1, dst->dtype, i, strides[1]);
            const usm_view b = part_of(x2, dst->dtype, part ^ i, strides[2]);
            status = usm_scratch_create(queue, to.dtype, dst->ndim, dst->shape, 'C', &terms[i], error);
            if (status == USM_OK) {
                status = usm_matmul_submit(queue, &terms[i].view, &a, &b, axes, error);
            }
        }
        if (status == USM_OK) {
            int operation = (part == 0) == axes->conjugates ? USM_OP_add : USM_OP_subtract;
            const usm_operation_types types = usm_operation_types_of(operation, to.dtype, true);
            const usm_view operands[] = {to, terms[0].view, terms[1].view};
            status = usm_operation_submit(queue, operation, &types, operands, part == 0, error);
        }
        usm_scratch_release(&terms[0]);
        usm_scratch_release(&terms[1]);
    }
    return status;
}

static usm_status submit_complex(usm_queue *queue, const usm_view *dst, const usm_view *x1,
                                 const usm_view *x2, const usm_contraction *axes, usm_error *error)
{
    usm_view from[] = {*x1, *x2};
    usm_scratch copies[2];
    usm_status status = USM_OK;
    copies[0].view.alloc = copies[1].view.alloc = NULL;
    for (int i = 0; i < 2 && status == USM_OK; i++) {
        if (from[i].dtype != dst->dtype) {
            status = usm_scratch_copy(queue, &from[i], dst->dtype, from[i].ndim, from[i].shape, 'C',
                                      &copies[i], error);
            from[i] = copies[i].view;
        }
    }
    if (status == USM_OK) {
        status = submit_parts(queue, dst, &from[0], &from[1], axes, error);
    }
    usm_scratch_release(&copies[0]);
    usm_scratch_release(&copies[1]);
    return status;
}

usm_status usm_matmul_submit(usm_queue *queue, const usm_view *dst, const usm_view *x1, const usm_view *x2,
                             const usm_contraction *axes, usm_error *error)
{
    static const unsigned char zero[USM_MAX_PATTERN];
    usm_matmul_plan plan;
    usm_scratch copies[2], wide;
    usm_view from[] = {*x1, *x2}, to = *dst;
    usm_status status = USM_OK;
    if (usm_view_size(dst) == 0) {
        return USM_OK;
    }
    if (usm_view_size(x1) == 0 || usm_view_size(x2) == 0) {
        return usm_fill_submit(queue, dst, zero, NULL, error);
    }
    if (usm_dtype_table[dst->dtype].kind == USM_DTYPE_KIND_COMPLEX) {
        return submit_complex(queue, dst, x1, x2, axes, error);
    }
    usm_matmul_plan_make(queue, dst->dtype, x1, x2, axes, &plan);
    if (plan.dots) {
        return submit_dots(queue, plan.computed, dst, x1, x2, axes, error);
    }
    copies[0].view.alloc = copies[1].view.alloc = wide.view.alloc = NULL;
    /* One that was copied may no longer share its batch axes with the other, which is then copied, too. */
    while (status == USM_OK && (plan.copies[0] || plan.copies[1])) {
        for (int i = 0; i < 2 && status == USM_OK; i++) {
            if (plan.copies[i] && copies[i].view.alloc == NULL) {
                status = usm_scratch_copy(queue, &from[i], plan.computed, from[i].ndim, from[i].shape, 'C',
                                          &copies[i], error);
                from[i] = copies[i].view;
            }
        }
        usm_matmul_plan_make(queue, dst->dtype, &from[0], &from[1], axes, &plan);
    }
    if (status == USM_OK && plan.computed != dst->dtype) {
        status = usm_scratch_create(queue, plan.computed, dst->ndim, dst->shape, 'C', &wide, error);
        to = wide.view;
    }
    if (status == USM_OK) {
        status = launch(queue, &plan, &to, &from[0], &from[1], error);
    }
    if (status == USM_OK && plan.computed != dst->dtype) {
        status = usm_copy_submit(queue, dst, &to, NULL, error);
    }
    usm_scratch_release(&wide);
    usm_scratch_release(&copies[0]);
    usm_scratch_release(&copies[1]);
    return status;
}
