/* Strided copies and casts: rows of the fastest axis, over the other axes, cut into parts
 * for several threads. */
#include "host.h"

#include "../../core/layout.h"

#include <stdlib.h>
#include <string.h>

/* Below this many bytes a second thread costs more than it saves. */
#define PARALLEL_BYTES ((int64_t)1 << 20)
/* Side of the square that a transposing copy works through: reads and writes both stay in
 * the first-level cache. */
#define TILE 32

typedef struct work {
    const usm_strided *plan;
    usm_host_row row;
    int outer_ndim; /* axes that are walked one index at a time */
    int64_t outer;  /* their product */
    bool tiled;     /* the last two axes together are one unit */
    unsigned parts;
    int64_t piece; /* of the split axis: outer where it is enough, else the unit's first axis */
    bool split_unit;
} work;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Rows of the unit's first axis from `from` to `to`. */
static void run_unit(const work *work, char *dst, const char *src, int64_t from, int64_t to)
{
    const usm_strided *plan = work->plan;
    int last = plan->ndim - 1;
    int64_t n = plan->shape[last], ds = plan->dst_strides[last], ss = plan->src_strides[last];
    if (!work->tiled) {
        work->row(dst + from * ds, src + from * ss, to - from, ds, ss);
        return;
    }
    int64_t row_ds = plan->dst_strides[last - 1], row_ss = plan->src_strides[last - 1];
    for (int64_t i = from; i < to; i += TILE) {
        int64_t i_end = least(i + TILE, to);
        for (int64_t k = 0; k < n; k += TILE) {
            int64_t width = least(TILE, n - k);
            for (int64_t r = i; r < i_end; r++) {
                work->row(dst + r * row_ds + k * ds, src + r * row_ss + k * ss, width, ds, ss);
            }
        }
    }
}

/* Units number from..to of the outer axes, in row-major order. */
static void run_outer(const work *work, int64_t from, int64_t to)
{
    const usm_strided *plan = work->plan;
    int64_t index[USM_MAX_NDIM];
    char *dst = plan->dst;
    const char *src = plan->src;
    int64_t rest = from;
    for (int i = work->outer_ndim - 1; i >= 0; i--) {
        index[i] = rest % plan->shape[i];
        rest /= plan->shape[i];
        dst += index[i] * plan->dst_strides[i];
        src += index[i] * plan->src_strides[i];
    }
    int64_t rows = plan->shape[work->outer_ndim];
    for (int64_t n = from; n < to; n++) {
        run_unit(work, dst, src, 0, rows);
        for (int i = work->outer_ndim - 1; i >= 0; i--) {
            dst += plan->dst_strides[i];
            src += plan->src_strides[i];
            if (++index[i] < plan->shape[i]) {
                break;
            }
            dst -= index[i] * plan->dst_strides[i];
            src -= index[i] * plan->src_strides[i];
            index[i] = 0;
        }
    }
}

static void run_part(void *context, unsigned i)
{
    const work *work = context;
    const usm_strided *plan = work->plan;
    int64_t all = work->split_unit ? plan->shape[work->outer_ndim] : work->outer;
    int64_t from = i * work->piece, to = least(from + work->piece, all);
    if (from >= to) {
        return;
    }
    if (!work->split_unit) {
        run_outer(work, from, to);
    } else {
        run_unit(work, plan->dst, plan->src, from, to);
    }
}

void usm_host_strided(const usm_strided *plan, unsigned width)
{
    int last = plan->ndim - 1;
    int size = usm_dtype_table[plan->dst_dtype].itemsize;
    work work = {.plan = plan, .outer = 1};
    work.row = plan->dst_dtype == plan->src_dtype ? usm_host_move_row(size)
                                                  : usm_host_cast_row(plan->dst_dtype, plan->src_dtype);
    /* The source's fastest axis is not the destination's: go through the two of them in squares. */
    work.tiled = last > 0 && plan->shape[last] > 1 && plan->shape[last - 1] > 1 &&
                 llabs(plan->src_strides[last]) > llabs(plan->src_strides[last - 1]) &&
                 plan->src_strides[last - 1] != 0;
    work.outer_ndim = last - work.tiled;
    int64_t bytes = size;
    for (int i = 0; i < plan->ndim; i++) {
        bytes *= plan->shape[i];
        work.outer *= i < work.outer_ndim ? plan->shape[i] : 1;
    }
    work.parts = bytes < PARALLEL_BYTES || width <= 1 ? 1 : width * 4;
    work.split_unit = work.outer == 1;
    int64_t all = work.split_unit ? plan->shape[work.outer_ndim] : work.outer;
    work.piece = (all + work.parts - 1) / work.parts;
    usm_host_parallel(width, work.parts, run_part, &work);
}
