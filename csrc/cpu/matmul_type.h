/*
 * Products of matrices in one type: included once for each by operate_type.h, if it is unsigned or real. A
 * block of c is computed from pieces of a and b that are packed, so that a tile of c stays in vector
 * registers; every element is summed up in the order of the inner axis, as in kernels/src/matmul.cl, with the
 * same bits.
 */
#define STRIP 6 /* rows of a tile */
#define LANES ((int)(VECTOR_BYTES / sizeof(T)))
#define TILE (2 * LANES) /* its columns */
#define DEPTH 64         /* of a piece along the inner axis */
#define BLOCK_COLUMNS ((int)(USM_MATMUL_BLOCK_BYTES / sizeof(T)))

typedef T S(vector) __attribute__((vector_size(VECTOR_BYTES)));

/* c += a * b: STRIP x TILE elements, from `depth` columns of a and rows of b. All of them are aligned. */
static void S(tile)(T *c, const T *a, const T *b, int64_t depth)
{
    S(vector) sums[STRIP][2];
    USM_UNROLLED
    for (int i = 0; i < STRIP; i++) {
        sums[i][0] = *(const S(vector) *)(c + i * TILE);
        sums[i][1] = *(const S(vector) *)(c + i * TILE + LANES);
    }
    for (int64_t p = 0; p < depth; p++, a += STRIP, b += TILE) {
        S(vector) left = *(const S(vector) *)b, right = *(const S(vector) *)(b + LANES);
        USM_UNROLLED
        for (int i = 0; i < STRIP; i++) {
            sums[i][0] += left * a[i];
            sums[i][1] += right * a[i];
        }
    }
    USM_UNROLLED
    for (int i = 0; i < STRIP; i++) {
        *(S(vector) *)(c + i * TILE) = sums[i][0];
        *(S(vector) *)(c + i * TILE + LANES) = sums[i][1];
    }
}

/*
 * n lines of `depth` elements, `width` lines at a time: to[line / width][p][line % width]. Zeros fill the
 * last of them. `line` and `step`: strides of from, in elements.
 */
static void S(pack)(T *to, const T *from, int64_t n, int64_t line, int64_t depth, int64_t step, int width)
{
    for (int64_t first = 0; first < n; first += width) {
        int64_t here = n - first < width ? n - first : width;
        for (int64_t p = 0; p < depth; p++, to += width) {
            const T *x = from + first * line + p * step;
            if (line == 1) {
                memcpy(to, x, (size_t)here * sizeof(T));
            } else {
                for (int64_t i = 0; i < here; i++) {
                    to[i] = x[i * line];
                }
            }
            memset(to + here, 0, (size_t)(width - here) * sizeof(T));
        }
    }
}

/* rows x columns elements of c, from (i0, j0) on. */
static void S(matmul_block)(T *c, const T *a, const T *b, const usm_matmul *r, int64_t i0, int64_t j0)
{
    alignas(64) T left[USM_MATMUL_BLOCK_ROWS * DEPTH], right[DEPTH * BLOCK_COLUMNS];
    alignas(64) T sums[USM_MATMUL_BLOCK_ROWS * BLOCK_COLUMNS];
    int64_t rows = r->m - i0 < USM_MATMUL_BLOCK_ROWS ? r->m - i0 : USM_MATMUL_BLOCK_ROWS;
    int64_t columns = r->n - j0 < BLOCK_COLUMNS ? r->n - j0 : BLOCK_COLUMNS;
    int64_t tiles = (columns + TILE - 1) / TILE, strips = (rows + STRIP - 1) / STRIP;
    memset(sums, 0, (size_t)(strips * tiles) * STRIP * TILE * sizeof(T));
    for (int64_t p = 0; p < r->k; p += DEPTH) {
        int64_t depth = r->k - p < DEPTH ? r->k - p : DEPTH;
        S(pack)(left, a + i0 * r->a_row + p * r->a_column, rows, r->a_row, depth, r->a_column, STRIP);
        S(pack)(right, b + p * r->b_row + j0 * r->b_column, columns, r->b_column, depth, r->b_row, TILE);
        for (int64_t t = 0; t < tiles; t++) {
            for (int64_t s = 0; s < strips; s++) {
                S(tile)
                (sums + (t * strips + s) * STRIP * TILE, left + s * STRIP * depth, right + t * TILE * depth,
                 depth);
            }
        }
    }
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            const T *tile = sums + (j / TILE * strips + i / STRIP) * STRIP * TILE;
            c[(i0 + i) * r->c_row + (j0 + j) * r->c_column] = tile[i % STRIP * TILE + j % TILE];
        }
    }
}

static void S(matmul)(void *c, const void *a, const void *b, const usm_matmul *r, const size_t *lo,
                      const size_t *hi)
{
    int64_t across = (r->n + BLOCK_COLUMNS - 1) / BLOCK_COLUMNS;
    for (int64_t o = (int64_t)lo[2]; o < (int64_t)hi[2]; o++) {
        int64_t o2 = o % r->batch[2], o1 = o / r->batch[2] % r->batch[1], o0 = o / r->batch[2] / r->batch[1];
        const T *x = (const T *)a + o0 * r->a_batch[0] + o1 * r->a_batch[1] + o2 * r->a_batch[2];
        const T *y = (const T *)b + o0 * r->b_batch[0] + o1 * r->b_batch[1] + o2 * r->b_batch[2];
        for (int64_t block = (int64_t)lo[1]; block < (int64_t)hi[1]; block++) {
            S(matmul_block)
            ((T *)c + o * r->m * r->n, x, y, r, block / across * USM_MATMUL_BLOCK_ROWS,
             block % across * BLOCK_COLUMNS);
        }
    }
}

#undef STRIP
#undef LANES
#undef TILE
#undef DEPTH
#undef BLOCK_COLUMNS
