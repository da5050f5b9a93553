/*
 * Strided copies and casts, cut into parts for several threads. A part is a loop over outer axes around a
 * unit, and the unit goes by the way that its layout allows: runs of neighbours that are moved as they are,
 * rows of single elements, or squares of either where the source's fast axis is not the destination's.
 */
#include "cpu.h"
#include "parallel.h"
#include "processor.h"
#include "row.h"
#include "stream.h"

#include "core/layout/layout.h"

#include <stdlib.h>
#include <string.h>

/* Below this many bytes a second thread costs more than it saves. */
#define PARALLEL_BYTES ((int64_t)1 << 20)
/* Side of the square of elements in which a transposing copy proceeds; the second for single bytes. */
#define SIDE 32
#define SIDE_OF_BYTES 64
/* Bytes on either side of a square of runs that are shorter than a line. */
#define SQUARE_OF_RUNS 4096
/*
 * Longer runs: processors read long rows of src best, and several rows in turn fill more than a line of dst.
 */
#define RUNS_OF_ROW 256
#define ROWS_AT_ONCE 8
/* Runs that are not whole lines are stored past the caches from this length on. */
#define LONG_RUN 1024
/* How many bytes ahead the source is prefetched; the second where rows are read in turn. */
#define AHEAD 6144
#define AHEAD_IN_ROWS 2048
/* Runs below this length with gaps between them are prefetched at a distance that counts the gaps. */
#define SHORT_RUN 256
/*
 * Bytes that are converted before they are stored past the caches, and the prefetch distance of their
 * source.
 */
#define ROW_BYTES 512
#define AHEAD_OF_ROW 4096
/* Bytes of repeated elements that are made before they are moved to dst. */
#define COPIES_BYTES 8192
/* Rows of one element that have more bytes are filled one by one. */
#define MOST_REPEATED 1024

/* Elements along an axis, and the bytes from one to the next on both sides. */
typedef struct axis {
    int64_t length, dst, src;
} axis;

/* How one strided copy is done: the plan of usm_cpu_strided, which all its threads read. */
typedef struct work {
    char *dst;
    const char *src;
    axis outer[USM_MAX_NDIM]; /* walked one index at a time */
    int outer_ndim;
    int64_t outer_count; /* their product */
    bool tiled;
    axis across, along;  /* of the unit: squares over both where it is tiled, else `along` alone */
    int64_t side, depth; /* of a square: over `across`, over `along` */
    bool splits_along;   /* the unit into parts over `along`; else over its first axis */
    size_t run;          /* bytes moved at once for each index; 0: `row` does single elements */
    size_t repeats;      /* bytes that every element fills, one copy behind the other; 0: it is one copy */
    usm_cpu_row row;
    int dst_size, src_size;
    bool streams;  /* past the caches */
    bool gathers;  /* squares of elements are read along `across`, whose elements are neighbours in src */
    int64_t piece; /* of the split axis */
    bool split_unit;
} work;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* How many runs have this many bytes, at least one. */
static int64_t runs_of(const work *work, int64_t bytes)
{
    return (bytes + (int64_t)work->run - 1) / (int64_t)work->run;
}

/* n runs that are `to` and `from` apart; `ahead`: where the source goes on behind those that come next. */
static void move_runs(const work *work, char *dst, const char *src, int64_t n, int64_t to, int64_t from,
                      int64_t ahead)
{
    size_t run = work->run;
    bool lines = run % USM_CPU_LINE == 0 && usm_cpu_before_line(dst) == 0 && to % USM_CPU_LINE == 0;
    if (work->streams && lines) {
        bool is_near =
            !work->tiled && (from == (int64_t)run || (run <= 256 && from % 512 == 0)) && usm_cpu_asks_near();
        for (int64_t i = 0; i < n; i++, dst += to, src += from) {
            usm_cpu_stream_ahead(dst, src, run, ahead, is_near);
        }
    } else if (work->streams) {
        for (int64_t i = 0; i < n; i++, dst += to, src += from) {
            usm_cpu_stream_asking(dst, src, run, AHEAD);
        }
    } else {
        for (int64_t i = 0; i < n; i++, dst += to, src += from) {
            memcpy(dst, src, run);
        }
    }
}

/* Elements that lie side by side in dst, sent past the caches from where they are converted or made. */
static void stream_row(const work *work, char *dst, const char *src, int64_t n)
{
    _Alignas(USM_CPU_LINE) char made[ROW_BYTES];
    int64_t ds = work->along.dst, ss = work->along.src;
    int64_t head = (int64_t)usm_cpu_before_line(dst) / ds, room = ROW_BYTES / ds;
    if (head > 0) {
        head = least(head, n);
        work->row(dst, src, head, ds, ss);
    }
    bool is_near = usm_cpu_asks_near();
    for (int64_t i = head, count; i < n; i += count) {
        count = least(room, n - i);
        for (int64_t k = 0; ss == work->src_size && k < count * ss; k += USM_CPU_LINE) {
            usm_cpu_ask((uintptr_t)src + (uintptr_t)(i * ss + AHEAD_OF_ROW + k), is_near);
        }
        work->row(made, src + i * ss, count, ds, ss);
        size_t nbytes = (size_t)(count * ds), lines = nbytes / USM_CPU_LINE * USM_CPU_LINE;
        usm_cpu_stream_lines(dst + i * ds, made, lines);
        memcpy(dst + i * ds + lines, made + lines, nbytes - lines);
    }
}

/* n elements into rows of copies. Writes 16 bytes at a time, and so up to 15 behind the last row. */
static inline __attribute__((always_inline)) void repeat(char *dst, const char *src, int64_t n, int64_t step,
                                                         size_t bytes, size_t size)
{
    for (int64_t i = 0; i < n; i++, dst += bytes, src += step) {
        uint64_t pattern[2] = {0, 0};
        memcpy(pattern, src, size);
        pattern[0] *= size == 1   ? UINT64_C(0x0101010101010101)
                      : size == 2 ? UINT64_C(0x0001000100010001)
                      : size == 4 ? UINT64_C(0x0000000100000001)
                                  : 1;
        pattern[1] = size == 16 ? pattern[1] : pattern[0];
        for (size_t k = 0; k < bytes; k += 16) {
            memcpy(dst + k, pattern, 16);
        }
    }
}

/* Elements that appear several times in dst, made in the first-level cache. */
static void repeat_row(const work *work, char *dst, const char *src, int64_t n)
{
    _Alignas(USM_CPU_LINE) char made[COPIES_BYTES + 16];
    size_t bytes = work->repeats;
    int64_t room = (int64_t)(COPIES_BYTES / bytes), step = work->along.src;
    room = room > USM_CPU_LINE ? room / USM_CPU_LINE * USM_CPU_LINE : room; /* whole lines */
    for (int64_t count; n > 0; n -= count, src += count * step) {
        count = least(room, n);
        switch (work->dst_size) {
            case 1:
                repeat(made, src, count, step, bytes, 1);
                break;
            case 2:
                repeat(made, src, count, step, bytes, 2);
                break;
            case 4:
                repeat(made, src, count, step, bytes, 4);
                break;
            case 8:
                repeat(made, src, count, step, bytes, 8);
                break;
            default:
                repeat(made, src, count, step, bytes, 16);
        }
        if (work->streams) {
            usm_cpu_stream(dst, made, (size_t)count * bytes);
        } else {
            memcpy(dst, made, (size_t)count * bytes);
        }
        dst += (size_t)count * bytes;
    }
}

/* n elements or runs along the axis of a unit that is not tiled. */
static void move_along(const work *work, char *dst, const char *src, int64_t n)
{
    if (work->repeats > 0) {
        repeat_row(work, dst, src, n);
    } else if (work->run > 0) {
        int64_t from = work->along.src;
        bool gaps = work->run < SHORT_RUN && llabs(from) > (int64_t)work->run && !usm_cpu_asks_near();
        int64_t ahead = gaps ? (AHEAD + llabs(from) - 1) / llabs(from) * from : runs_of(work, AHEAD) * from;
        move_runs(work, dst, src, n, work->along.dst, from, ahead);
    } else if (work->streams && usm_cpu_before_line(dst) % (size_t)work->dst_size == 0) {
        stream_row(work, dst, src, n);
    } else {
        work->row(dst, src, n, work->along.dst, work->along.src);
    }
}

/*
 * A square of elements: rows of src are copied into the first-level cache, each once, and its columns become
 * rows of dst. Without this copy, rows that are a power of two apart evict each other from the cache.
 */
static void transpose(const work *work, char *dst, const char *src, int64_t rows, int64_t n)
{
    _Alignas(USM_CPU_LINE) char square[SIDE * SIDE * 16], made[SIDE_OF_BYTES * 16];
    int64_t pitch = work->side * work->src_size, ds = work->along.dst;
    bool streams = work->streams && n == work->side && usm_cpu_before_line(dst) == 0 &&
                   work->across.dst % USM_CPU_LINE == 0 && ds == work->dst_size;
    for (int64_t k = 0; k < n; k++) {
        memcpy(square + k * pitch, src + k * work->along.src, (size_t)(rows * work->src_size));
    }
    for (int64_t r = 0; r < rows; r++) {
        char *to = dst + r * work->across.dst;
        if (streams) {
            work->row(made, square + r * work->src_size, n, ds, pitch);
            usm_cpu_stream_lines(to, made, (size_t)(n * ds));
        } else {
            work->row(to, square + r * work->src_size, n, ds, pitch);
        }
    }
}

static int64_t unit_length(const work *work)
{
    return work->tiled && !work->splits_along ? work->across.length : work->along.length;
}

/* Indices from..to of the axis that unit_length() is of. */
static void run_unit(const work *work, char *dst, const char *src, int64_t from, int64_t to)
{
    const axis *across = &work->across, *along = &work->along;
    const axis *split = work->tiled && !work->splits_along ? across : along;
    dst += from * split->dst;
    src += from * split->src;
    if (!work->tiled) {
        move_along(work, dst, src, to - from);
        return;
    }
    int64_t rows = split == across ? to - from : across->length;
    int64_t columns = split == along ? to - from : along->length;
    int64_t ahead = work->run > 0 ? runs_of(work, AHEAD_IN_ROWS) * across->src : 0;
    for (int64_t i = 0; i < rows; i += work->side) {
        int64_t height = least(work->side, rows - i);
        for (int64_t k = 0; k < columns; k += work->depth) {
            int64_t width = least(work->depth, columns - k);
            char *row = dst + i * across->dst + k * along->dst;
            const char *from_row = src + i * across->src + k * along->src;
            if (work->gathers) {
                transpose(work, row, from_row, height, width);
                continue;
            }
            for (int64_t r = 0; r < height; r++, row += across->dst, from_row += across->src) {
                if (work->run > 0) {
                    move_runs(work, row, from_row, width, along->dst, along->src, ahead);
                } else {
                    work->row(row, from_row, width, along->dst, along->src);
                }
            }
        }
    }
}

/* Units number from..to of the outer axes, in row-major order. */
static void run_outer(const work *work, int64_t from, int64_t to)
{
    int64_t index[USM_MAX_NDIM], rest = from;
    char *dst = work->dst;
    const char *src = work->src;
    for (int i = work->outer_ndim - 1; i >= 0; i--) {
        const axis *axis = &work->outer[i];
        index[i] = rest % axis->length;
        rest /= axis->length;
        dst += index[i] * axis->dst;
        src += index[i] * axis->src;
    }
    int64_t length = unit_length(work);
    for (int64_t n = from; n < to; n++) {
        run_unit(work, dst, src, 0, length);
        for (int i = work->outer_ndim - 1; i >= 0; i--) {
            const axis *axis = &work->outer[i];
            dst += axis->dst;
            src += axis->src;
            if (++index[i] < axis->length) {
                break;
            }
            dst -= index[i] * axis->dst;
            src -= index[i] * axis->src;
            index[i] = 0;
        }
    }
}

/* Part i of the split axis, or of the outer axes: what usm_cpu_parallel calls. */
static void run_part(void *context, unsigned i)
{
    const work *work = context;
    int64_t all = work->split_unit ? unit_length(work) : work->outer_count;
    int64_t from = i * work->piece, to = least(from + work->piece, all);
    if (from >= to) {
        return;
    }
    if (!work->split_unit) {
        run_outer(work, from, to);
    } else {
        run_unit(work, work->dst, work->src, from, to);
    }
    if (work->streams) {
        usm_cpu_stream_end();
    }
}

/* Takes the outer axis out whose elements are nearest in src, if they are nearer than along `along`. */
static void choose_across(work *work)
{
    int best = -1;
    int64_t nearest = llabs(work->along.src);
    for (int i = 0; i < work->outer_ndim; i++) {
        int64_t src = llabs(work->outer[i].src);
        if (src != 0 && src < nearest && work->outer[i].length > 1) {
            nearest = src;
            best = i;
        }
    }
    work->tiled = best >= 0 && work->along.length > 1;
    if (work->tiled) {
        work->across = work->outer[best];
        work->outer_ndim -= 1;
        memmove(work->outer + best, work->outer + best + 1,
                (size_t)(work->outer_ndim - best) * sizeof *work->outer);
    }
}

/* Whether whole lines are written where elements or runs lie. */
static bool are_lines(const work *work)
{
    uintptr_t all = (uintptr_t)work->dst | (uintptr_t)work->run | (uintptr_t)work->along.dst;
    all |= work->tiled ? (uintptr_t)work->across.dst : 0;
    for (int i = 0; i < work->outer_ndim; i++) {
        all |= (uintptr_t)work->outer[i].dst;
    }
    return all % USM_CPU_LINE == 0;
}

/* Decides what a unit is: a run or a row of elements, repeated elements, or squares of either. */
static void choose_unit(work *work, const usm_strided *plan)
{
    work->outer_ndim = plan->ndim - 1;
    for (int i = 0; i < plan->ndim; i++) {
        work->outer[i] = (axis){plan->shape[i], plan->dst_strides[i], plan->src_strides[i]};
    }
    work->along = work->outer[plan->ndim - 1];
    bool moves = plan->dst_dtype == plan->src_dtype;
    if (moves && plan->ndim > 1 && work->along.dst == work->dst_size && work->along.src == work->src_size) {
        work->run = (size_t)(work->along.length * work->dst_size);
        work->outer_ndim -= 1;
        work->along = work->outer[plan->ndim - 2];
    }
    if (moves && plan->ndim > 1 && work->along.src == 0 && work->along.dst == work->dst_size &&
        work->along.length <= MOST_REPEATED / work->dst_size &&
        work->outer[plan->ndim - 2].dst == work->along.length * work->along.dst) {
        work->repeats = (size_t)(work->along.length * work->dst_size);
        work->outer_ndim -= 1;
        work->along = work->outer[plan->ndim - 2];
        work->tiled = work->gathers = false;
        return;
    }
    choose_across(work);
    int smallest = work->dst_size < work->src_size ? work->dst_size : work->src_size;
    work->side = work->depth = smallest == 1 ? SIDE_OF_BYTES : SIDE;
    work->splits_along = false;
    if (work->run > 0 && work->tiled) {
        work->side = work->run < USM_CPU_LINE ? runs_of(work, SQUARE_OF_RUNS) : RUNS_OF_ROW;
        work->depth = work->run < USM_CPU_LINE ? work->side : work->run < LONG_RUN ? ROWS_AT_ONCE : 1;
        work->splits_along = work->along.length / work->depth > work->across.length / work->side;
    }
    work->gathers = work->tiled && work->run == 0 && work->across.src == work->src_size &&
                    work->side * work->side * work->src_size <= SIDE * SIDE * 16;
}

/* Whether results of `bytes` in total are stored past the caches, which they would leave anyway. */
static bool chooses_stream(const work *work, int64_t bytes)
{
    if (bytes < (int64_t)USM_CPU_LARGE) {
        return false;
    }
    if (work->repeats > 0) {
        return work->along.length * work->along.dst >= LONG_RUN;
    }
    if (work->run > 0) {
        return work->run >= LONG_RUN || (work->run >= USM_CPU_LINE && are_lines(work));
    }
    return work->along.dst == work->dst_size && work->along.length * work->dst_size >= LONG_RUN;
}

void usm_cpu_strided(const usm_strided *plan, unsigned width)
{
    work work;
    work.dst = plan->dst;
    work.src = plan->src;
    work.run = work.repeats = 0;
    work.dst_size = usm_dtype_table[plan->dst_dtype].itemsize;
    work.src_size = usm_dtype_table[plan->src_dtype].itemsize;
    work.row = plan->dst_dtype == plan->src_dtype ? usm_cpu_move_row(work.dst_size)
                                                  : usm_cpu_cast_row(plan->dst_dtype, plan->src_dtype);
    choose_unit(&work, plan);
    int64_t bytes = (int64_t)usm_strided_count(plan) * work.dst_size;
    work.outer_count = 1;
    for (int i = 0; i < work.outer_ndim; i++) {
        work.outer_count *= work.outer[i].length;
    }
    work.streams = chooses_stream(&work, bytes);
    unsigned parts = bytes < PARALLEL_BYTES || width <= 1 ? 1 : width * 4;
    work.split_unit = work.outer_count == 1;
    int64_t all = work.split_unit ? unit_length(&work) : work.outer_count;
    work.piece = (all + parts - 1) / parts;
    if (work.split_unit && work.tiled) { /* whole squares */
        int64_t square = work.splits_along ? work.depth : work.side;
        work.piece = (work.piece + square - 1) / square * square;
    } else if (work.split_unit && work.run == 0) { /* whole lines */
        work.piece = (work.piece + USM_CPU_LINE - 1) / USM_CPU_LINE * USM_CPU_LINE;
    }
    usm_cpu_parallel(width, parts, (size_t)bytes, run_part, &work);
}
