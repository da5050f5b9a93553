#include "reduce.h"

#include "axes.h"
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
    bool processor = on_processor(src);
    int64_t lanes = whole.outer * whole.inner, items = whole.outer * parts_of(&whole, processor);
    whole.chunk = whole.reduced;
    whole.chunks = 1;
    int64_t chunk = processor ? CHUNK_OF_PROCESSOR : CHUNK, least = (processor ? 8 : 2) * chunk;
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
    usm_status status = usm_scratch_vector(queue, USM_BOOL, lanes * whole.chunks, &partial, error);
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

usm_status usm_reduce_submit(usm_queue *queue, usm_reduce_kind what, const usm_view *dst, const usm_view *src,
                             uint64_t reduced_axes, usm_error *error)
{
    usm_axes_plan plan;
    usm_scratch copy;
    usm_view bytes;
    usm_axes_plan_make(src, reduced_axes, what == USM_COUNT, &plan);
    int64_t rows = plan.outer * plan.inner;
    if (rows == 0) {
        return USM_OK;
    }
    if (plan.reduced == 0) {
        const unsigned char none[8] = {what == USM_ALL};
        return usm_fill_submit(queue, dst, none, NULL, error);
    }
    usm_status status = usm_axes_operand(queue, src, reduced_axes, &plan, USM_BOOL, &copy, &bytes, error);
    if (status == USM_OK && what == USM_COUNT) {
        status = usm_count_rows_submit(queue, dst, &bytes, rows, plan.reduced, error);
    } else if (status == USM_OK) {
        const usm_reduction whole = {plan.outer, plan.reduced, plan.inner, 0, 0, what == USM_ALL};
        status = reduce(queue, dst, &bytes, whole, error);
    }
    usm_scratch_release(&copy);
    return status;
}
