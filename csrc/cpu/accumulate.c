/* Blocks of reductions (kernels/abi/accumulate.h) by the loops of the elementwise operations, in one order
 * for all. */
#include "operate.h"

#include "row.h"

#include <stdalign.h>
#include <string.h>

#define TILE_BYTES 512 /* of one lane: all of them stay in the first cache */

typedef struct work {
    const usm_accumulation *r;
    usm_cpu_loop combine; /* lanes */
    usm_cpu_fold fold;    /* blocks side by side */
    usm_cpu_row convert;  /* NULL: memory has the type of the computation */
    int64_t from_size, size;
} work;

/* n elements in the type of the computation: where they are, or in the buffer. */
static const char *load(const work *work, const char *from, int64_t n, char *buffer)
{
    if (work->convert == NULL) {
        return from;
    }
    work->convert(buffer, from, n, work->size, work->from_size);
    return buffer;
}

/* One block of rows whose elements are side by side: lanes are runs of `width` elements. */
static void fold_lanes(const work *work, char *lanes, int64_t used, int64_t width)
{
    for (int64_t half = USM_LANES / 2; half > 0; half /= 2) {
        int64_t both = used - half < half ? used - half : half; /* the other lanes are without elements */
        if (both > 0) {
            work->combine(lanes, lanes, lanes + half * width * work->size, both * width);
        }
        used = used < half ? used : half;
    }
}

/* A narrow inner axis: whole rows, USM_LANES of them at a time. */
static void narrow_block(const work *work, char *dst, const char *from, int64_t rows)
{
    alignas(64) char lanes[USM_LANES * TILE_BYTES], buffer[USM_LANES * TILE_BYTES];
    int64_t inner = work->r->inner, used = rows < USM_LANES ? rows : USM_LANES, step = used * inner;
    const char *first = load(work, from, step, lanes);
    if (first == from) {
        memcpy(lanes, from, (size_t)(step * work->size));
    }
    for (int64_t k = used; k < rows; k += used) {
        int64_t n = (rows - k < used ? rows - k : used) * inner;
        work->combine(lanes, lanes, load(work, from + k * inner * work->from_size, n, buffer), n);
    }
    fold_lanes(work, lanes, used, inner);
    memcpy(dst, lanes, (size_t)(inner * work->size));
}

/* A wide one, or a part of it: `width` elements of each row. */
static void wide_block(const work *work, char *dst, const char *from, int64_t rows, int64_t width)
{
    alignas(64) char lanes[USM_LANES * TILE_BYTES], buffer[TILE_BYTES];
    int64_t used = rows < USM_LANES ? rows : USM_LANES, row = work->r->inner * work->from_size;
    for (int64_t k = 0; k < rows; k++) {
        char *lane = lanes + k % USM_LANES * width * work->size;
        const char *next = load(work, from + k * row, width, k < used ? lane : buffer);
        if (k >= used) {
            work->combine(lane, lane, next, width);
        } else if (next != lane) {
            memcpy(lane, next, (size_t)(width * work->size));
        }
    }
    fold_lanes(work, lanes, used, width);
    memcpy(dst, lanes, (size_t)(width * work->size));
}

static void block(const work *work, char *dst, const char *from, int64_t rows, int64_t lo, int64_t hi)
{
    alignas(64) char buffer[USM_BLOCK * 16];
    int64_t tile = TILE_BYTES / work->size;
    if (work->r->inner == 1) {
        work->fold(dst, load(work, from, rows, buffer), rows, 1);
    } else if (work->r->inner <= tile && hi - lo == work->r->inner) {
        narrow_block(work, dst, from, rows);
    } else {
        for (int64_t i = lo; i < hi; i += tile) {
            int64_t width = hi - i < tile ? hi - i : tile;
            wide_block(work, dst + i * work->size, from + i * work->from_size, rows, width);
        }
    }
}

void usm_cpu_accumulate(char *dst, const char *src, int computed, const usm_accumulation *r, const size_t *lo,
                        const size_t *hi)
{
    static const uint8_t operations[] = {[USM_SUM] = USM_OP_add,
                                         [USM_PROD] = USM_OP_multiply,
                                         [USM_MAX] = USM_OP_maximum,
                                         [USM_MIN] = USM_OP_minimum};
    /* Signed integers wrap as unsigned ones do, and have no such loops of their own. */
    bool wraps =
        usm_dtype_table[computed].kind == USM_DTYPE_KIND_INT && (r->op == USM_SUM || r->op == USM_PROD);
    const usm_cpu_type_loops *loops = usm_cpu_loops_of(computed);
    usm_cpu_loop product = r->op == USM_PROD ? loops->product : NULL;
    const work work = {
        .r = r,
        .combine = product != NULL ? product
                                   : usm_cpu_loop_of(wraps ? computed + USM_UINT8 - USM_INT8 : computed,
                                                     operations[r->op]),
        .fold = loops->folds[r->op],
        .convert = r->type == computed ? NULL : usm_cpu_cast_row((usm_dtype)computed, (usm_dtype)r->type),
        .from_size = usm_dtype_table[r->type].itemsize,
        .size = usm_dtype_table[computed].itemsize,
    };
    if (r->inner == 1 && r->blocks == 1 && work.convert == NULL) { /* whole rows, side by side */
        work.fold(dst + (int64_t)lo[2] * work.size, src + (int64_t)lo[2] * r->reduced * work.size, r->reduced,
                  (int64_t)(hi[2] - lo[2]));
        return;
    }
    for (int64_t o = (int64_t)lo[2]; o < (int64_t)hi[2]; o++) {
        for (int64_t b = (int64_t)lo[1]; b < (int64_t)hi[1]; b++) {
            int64_t first = b * r->block,
                    rows = r->reduced - first < r->block ? r->reduced - first : r->block;
            block(&work, dst + (o * r->blocks + b) * r->inner * work.size,
                  src + (o * r->reduced + first) * r->inner * work.from_size, rows, (int64_t)lo[0],
                  (int64_t)hi[0]);
        }
    }
}
