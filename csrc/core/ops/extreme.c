#include "extreme.h"

#include "axes.h"

#include "core/builtin/builtin.h"

/* By what a place knows the kernels of a type: texts that last. */
typedef struct names {
    const char *module, *function, *options;
} names;

#define NAMES(type, number)                                               \
    {                                                                     \
        "accumulate." type, "usm_extreme_" type, "-D USM_COMPUTE=" number \
    }
static const names kernels[USM_COMPUTED_DTYPES] = {USM_SIGNED_ROWS(NAMES), USM_REAL_ROWS(NAMES)};

#define PIECE ((int64_t)1 << 16)  /* elements that one thread of a processor looks at, or more */
#define CANDIDATES ((int64_t)64)  /* the same of a work-item on a GPU, where there are few results */
#define ENOUGH ((int64_t)1 << 16) /* work-items that keep a GPU busy */

/* How many parts the candidates are divided into; any number gives the same result. None is empty. */
static int64_t blocks_of(const usm_extremes *r, bool processor)
{
    int64_t results = r->outer * r->inner, blocks = 1;
    if (!processor) {
        blocks = results < ENOUGH ? (r->count + CANDIDATES - 1) / CANDIDATES : 1;
    } else if (r->count == r->reduced && r->outer < USM_EXTREMES) {
        blocks = results * r->count / PIECE / r->outer + 1;
        blocks = blocks < USM_EXTREMES ? blocks : USM_EXTREMES;
        int64_t most = (r->count + USM_LANES - 1) / USM_LANES; /* fewer than there are candidates */
        blocks = blocks < most ? blocks : most;
    }
    int64_t each = (r->count + blocks - 1) / blocks;
    return (r->count + each - 1) / each;
}

static usm_status launch(usm_queue *queue, const usm_view *dst, const usm_view *src,
                         const usm_view *candidates, const usm_extremes *r, bool processor, usm_error *error)
{
    const names *names = &kernels[src->dtype];
    usm_builtin builtin;
    const usm_view views[] = {*dst, *src, *candidates};
    usm_builtin_init(&builtin, names->module, names->function, names->options);
    builtin.n[0] = processor ? r->inner : r->inner * r->blocks;
    builtin.n[1] = processor ? r->blocks : 1;
    builtin.n[2] = r->outer;
    builtin.cost = (size_t)(r->outer * r->count * r->inner * usm_view_itemsize(src));
    return usm_builtin_submit_views(queue, &builtin, views, 3, USM_WRITE, r, sizeof *r, error);
}

/* Compact, in a type that there is a kernel for: parts, then parts of their results. */
static usm_status find(usm_queue *queue, const usm_view *dst, const usm_view *src, const usm_view *candidates,
                       usm_extremes r, usm_error *error)
{
    bool processor = queue->place->device->type == USM_CPU;
    usm_scratch part;
    r.blocks = blocks_of(&r, processor);
    if (r.blocks == 1) {
        return launch(queue, dst, src, candidates, &r, processor, error);
    }
    usm_status status = usm_scratch_vector(queue, USM_INT64, r.outer * r.blocks * r.inner, &part, error);
    if (status == USM_OK) {
        status = launch(queue, &part.view, src, candidates, &r, processor, error);
    }
    if (status == USM_OK) {
        r.count = r.blocks;
        status = find(queue, dst, src, &part.view, r, error);
    }
    usm_scratch_release(&part);
    return status;
}

usm_status usm_extreme_submit(usm_queue *queue, int op, const usm_view *dst, const usm_view *src,
                              uint64_t reduced_axes, usm_error *error)
{
    usm_axes_plan plan;
    usm_scratch copy;
    usm_view from;
    usm_dtype computed = usm_builtin_computed(queue, src->dtype == USM_BOOL ? USM_UINT8 : src->dtype);
    usm_axes_plan_make(src, reduced_axes, false, &plan);
    plan.any_order = false; /* elements are numbered in their order */
    if (plan.outer * plan.inner == 0) {
        return USM_OK;
    }
    usm_status status = usm_axes_operand(queue, src, reduced_axes, &plan, computed, &copy, &from, error);
    if (status == USM_OK) {
        const usm_extremes r = {plan.outer, plan.reduced, plan.inner, plan.reduced, 1, op};
        status = find(queue, dst, &from, &from, r, error);
    }
    usm_scratch_release(&copy);
    return status;
}
