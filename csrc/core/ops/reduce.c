#include "reduce.h"

#include "compare.h"
#include "mask.h"

#include "core/program/builtin.h"
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

static usm_status submit(usm_queue *queue, const usm_view *dst, const usm_view *src,
                         const usm_reduction *reduction, usm_error *error)
{
    usm_builtin builtin;
    const usm_access accesses[] = {{dst->alloc, USM_WRITE}, {src->alloc, USM_READ}};
    usm_builtin_init(&builtin, "reduce", "usm_reduce", NULL);
    usm_builtin_pointer(&builtin, dst->data);
    usm_builtin_pointer(&builtin, src->data);
    usm_builtin_value(&builtin, reduction, sizeof *reduction);
    builtin.n[0] = parts_of(reduction, on_processor(src));
    builtin.n[1] = reduction->chunks;
    builtin.n[2] = reduction->outer;
    builtin.cost = (size_t)(reduction->outer * reduction->reduced * reduction->inner / SEEN_AT_ONCE);
    builtin.cost += builtin.cost == 0;
    return usm_builtin_submit(queue, &builtin, accesses, 2, NULL, error);
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

/* The axes that remain, then those that go, each in their order; *kept of the first. */
static void order_axes(int ndim, uint64_t gone, int *order, int *kept)
{
    int n = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < ndim; i++) {
            if ((int)(gone >> i & 1) == pass) {
                order[n++] = i;
            }
        }
        *kept = pass == 0 ? n : *kept;
    }
}

/* How the truth values are to lie for a kernel. */
typedef struct plan {
    usm_reduction whole;     /* (outer, reduced, inner) in row-major order */
    bool together;           /* the axes that go stand side by side: no axis has to move */
    bool any_order;          /* nothing stays: any order of the elements will do */
    int order[USM_MAX_NDIM]; /* the axes of the copy, if one is made */
} plan;

/* `rows`: nothing may be in `inner`. */
static void make_plan(const usm_view *src, uint64_t gone, bool rows, plan *plan)
{
    int first = 0, last = src->ndim, kept;
    while (first < src->ndim && (gone >> first & 1) == 0) {
        first++;
    }
    while (last > first && (gone >> (last - 1) & 1) == 0) {
        last--;
    }
    plan->together = !rows || last == src->ndim;
    for (int i = 0; i < src->ndim; i++) {
        plan->together = plan->together && (gone >> i & 1) == (i >= first && i < last);
    }
    plan->any_order = plan->together && last - first == src->ndim;
    order_axes(src->ndim, plan->together ? 0 : gone, plan->order, &kept);
    if (!plan->together) {
        first = kept;
        last = src->ndim;
    }
    plan->whole = (usm_reduction){.outer = 1, .reduced = 1, .inner = 1};
    for (int i = 0; i < src->ndim; i++) {
        int64_t *part = i < first ? &plan->whole.outer : i < last ? &plan->whole.reduced : &plan->whole.inner;
        *part *= src->shape[plan->order[i]];
    }
}

/* The truth values as the plan asks for them. */
static usm_status copy_truths(usm_queue *queue, const usm_view *src, const plan *plan, usm_scratch *out,
                              usm_error *error)
{
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM];
    for (int i = 0; i < src->ndim; i++) {
        shape[i] = src->shape[plan->order[i]];
    }
    char letter = plan->any_order ? usm_view_letter(src) : 'C';
    usm_status status = usm_scratch_create(queue, USM_BOOL, src->ndim, shape, letter, out, error);
    if (status != USM_OK) {
        return status;
    }
    for (int i = 0; i < src->ndim; i++) { /* the same memory, seen along src's axes */
        strides[plan->order[i]] = out->strides[i];
    }
    const usm_view view = {out->view.alloc, out->view.data, USM_BOOL, src->ndim, src->shape, strides};
    return usm_truth_submit(queue, &view, src, true, error);
}

usm_status usm_reduce_submit(usm_queue *queue, usm_reduce_kind what, const usm_view *dst, const usm_view *src,
                             uint64_t gone, usm_error *error)
{
    if (usm_view_size(dst) == 0) {
        return USM_OK;
    }
    if (usm_view_size(src) == 0) {
        const unsigned char none[8] = {what == USM_ALL};
        return usm_fill_submit(queue, dst, none, NULL, error);
    }
    plan plan;
    usm_scratch copy;
    usm_view bytes = *src;
    usm_status status = USM_OK;
    make_plan(src, gone, what == USM_COUNT, &plan);
    unsigned order = usm_view_order(src), usable = plan.any_order ? ~0u : USM_C_CONTIGUOUS;
    copy.view.alloc = NULL;
    if (src->dtype != USM_BOOL || !plan.together || (order & usable) == 0) {
        status = copy_truths(queue, src, &plan, &copy, error);
        bytes = copy.view;
    }
    plan.whole.all = what == USM_ALL;
    if (status == USM_OK) {
        status = what == USM_COUNT ? usm_count_rows_submit(queue, dst, &bytes, error)
                                   : reduce(queue, dst, &bytes, plan.whole, error);
    }
    usm_scratch_release(&copy);
    return status;
}
