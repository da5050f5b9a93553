#include "reduce.h"

#include "axes.h"
#include "compare.h"
#include "mask.h"

#include "core/builtin/builtin.h"
#include "kernels/abi/reduce.h"

/* What one work-item goes through without a pause, in bytes. */
#define CHUNK ((int64_t)1 << 16)
#define MOST_CHUNKS 1024
/* The same of processors. */
#define CHUNK_OF_PROCESSOR ((int64_t)1 << 19)
/* And how many bytes they look at in the time in which they move one. */
#define SEEN_AT_ONCE 16

static bool on_processor(const usm_view *view)
{
    return view->alloc->place->device->type == USM_CPU;
}

/* Work-items along the inner axis. */
static int64_t parts_of(const usm_reduction *reduction, bool processor)
{
    return processor ? (reduction->inner + USM_REDUCE_WIDTH_OF_PROCESSOR - 1) / USM_REDUCE_WIDTH_OF_PROCESSOR
                     : reduction->inner;
}

/* One launch. */
static usm_status submit(usm_queue *queue, const usm_view *dst, const usm_view *src,
                         const usm_reduction *reduction, usm_error *error)
{
    usm_builtin builtin;
    const usm_view views[] = {*dst, *src};
    usm_builtin_init(&builtin, "reduce", "usm_reduce", NULL);
    builtin.n[0] = parts_of(reduction, on_processor(src));
    builtin.n[1] = reduction->chunks;
    builtin.n[2] = reduction->outer;
    builtin.cost = (size_t)(reduction->outer * reduction->reduced * reduction->inner / SEEN_AT_ONCE);
    builtin.cost += builtin.cost == 0;
    return usm_builtin_submit_views(queue, &builtin, views, 2, USM_WRITE, reduction, sizeof *reduction,
                                    error);
}

/*
 * One launch, or, where few results leave most of a device idle, one over chunks and one over what they gave.
 */
static usm_status reduce(usm_queue *queue, const usm_view *dst, const usm_view *src, usm_reduction whole,
                         usm_error *error)
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
        return submit(queue, dst, src, &whole, error);
    }
    usm_scratch partial;
    usm_status status =
        usm_scratch_create(queue, USM_BOOL, 1, &(int64_t){lanes * whole.chunks}, 'C', &partial, error);
    if (status == USM_OK) {
        status = submit(queue, &partial.view, src, &whole, error);
    }
    if (status == USM_OK) {
        const usm_reduction rest = {whole.outer, whole.chunks, whole.inner, whole.chunks, 1, whole.all};
        status = submit(queue, dst, &partial.view, &rest, error);
    }
    usm_scratch_release(&partial);
    return status;
}

/* How the truth values are to lie for a kernel. */
typedef struct plan {
    usm_reduction whole; /* (outer, reduced, inner) in row-major order */
    bool together;       /* the axes that go stand side by side: no axis has to move */
    bool any_order;      /* nothing stays: any order of the elements will do */
} plan;

/* `rows`: nothing may be in `inner`. */
static void make_plan(const usm_view *src, uint64_t reduced_axes, bool rows, plan *plan)
{
    usm_axes_plan axes;
    usm_axes_plan_make(src, reduced_axes, rows, &axes);
    plan->together = axes.together;
    plan->any_order = axes.any_order;
    plan->whole = (usm_reduction){axes.outer, axes.reduced, axes.inner, 0, 0, 0};
}

/* The truth values as the plan asks for them: where axes have to move, those that go come last. */
static usm_status copy_truths(usm_queue *queue, const usm_view *src, uint64_t reduced_axes, const plan *plan,
                              usm_scratch *out, usm_error *error)
{
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM];
    int order[USM_MAX_NDIM], n = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < src->ndim; i++) {
            bool last = !plan->together && (reduced_axes >> i & 1) != 0;
            if (last == (pass == 1)) {
                order[n++] = i;
            }
        }
    }
    for (int i = 0; i < n; i++) {
        shape[i] = src->shape[order[i]];
    }
    char letter = plan->any_order ? usm_view_letter(src) : 'C';
    usm_status status = usm_scratch_create(queue, USM_BOOL, src->ndim, shape, letter, out, error);
    if (status != USM_OK) {
        return status;
    }
    for (int i = 0; i < n; i++) { /* the same memory, seen along src's axes */
        strides[order[i]] = out->strides[i];
    }
    const usm_view view = {out->view.alloc, out->view.data, USM_BOOL, src->ndim, src->shape, strides};
    return usm_truth_submit(queue, &view, src, true, error);
}

/* The kernels can read the truth values where they are. */
static bool is_usable(const usm_view *src, const plan *plan)
{
    int64_t size;
    return src->dtype == USM_BOOL && plan->together &&
           (usm_view_is_row_major(src, &size) ||
            (plan->any_order && (usm_view_order(src) & USM_F_CONTIGUOUS) != 0));
}

usm_status usm_reduce_submit(usm_queue *queue, usm_reduce_kind what, const usm_view *dst, const usm_view *src,
                             uint64_t reduced_axes, usm_error *error)
{
    plan plan;
    usm_scratch copy;
    usm_view bytes = *src;
    usm_status status = USM_OK;
    make_plan(src, reduced_axes, what == USM_COUNT, &plan);
    int64_t rows = plan.whole.outer * plan.whole.inner;
    if (rows == 0) {
        return USM_OK;
    }
    if (plan.whole.reduced == 0) {
        const unsigned char none[8] = {what == USM_ALL};
        return usm_fill_submit(queue, dst, none, NULL, error);
    }
    copy.view.alloc = NULL;
    if (!is_usable(src, &plan)) {
        status = copy_truths(queue, src, reduced_axes, &plan, &copy, error);
        bytes = copy.view;
    }
    plan.whole.all = what == USM_ALL;
    if (status == USM_OK) {
        status = what == USM_COUNT
                     ? usm_count_rows_submit(queue, dst, &bytes, rows, plan.whole.reduced, error)
                     : reduce(queue, dst, &bytes, plan.whole, error);
    }
    usm_scratch_release(&copy);
    return status;
}
