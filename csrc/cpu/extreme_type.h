/* Where the largest and smallest elements of one type are: included once for each, by operate_type.h. */

/* The number of the first element that is `value`, or NaN where that is NaN. There is one. */
static int64_t S(find)(const T *x, T value)
{
    int64_t k = 0;
    while (x[k] != value && !(USM_IS_NAN(value) && USM_IS_NAN(x[k]))) {
        k++;
    }
    return k;
}

/* That of the first extreme of n elements: one pass over memory finds its value, and its block. */
static int64_t S(find_extreme)(const T *x, int64_t n, long op)
{
    T best = x[0], next;
    int64_t block = 0;
    if (n <= USM_LANES) { /* a short row: two passes would take longer */
        for (int64_t k = 1; k < n; k++) {
            bool beyond = op == USM_MAX ? x[k] > best : x[k] < best;
            if (beyond || (USM_IS_NAN(x[k]) && !USM_IS_NAN(best))) {
                best = x[k];
                block = k;
            }
        }
        return block;
    }
    for (int64_t k = 0; k < n && !USM_IS_NAN(best); k += USM_BLOCK) {
        S(folds)[op](&next, x + k, n - k < USM_BLOCK ? n - k : USM_BLOCK, 1);
        if ((op == USM_MAX ? next > best : next < best) || USM_IS_NAN(next)) {
            best = next;
            block = k;
        }
    }
    return block + S(find)(x + block, best);
}

/* n extremes so far, and their numbers, with the elements of row `number`, which follows theirs. */
#define FOLLOW(name, before)                                                                  \
    static void S(follow_##name)(T *restrict best, int64_t *restrict at, const T *restrict x, \
                                 int64_t number, int64_t n)                                   \
    {                                                                                         \
        for (int64_t i = 0; i < n; i++) {                                                     \
            T y = best[i];                                                                    \
            bool wins = (x[i] before y) | (USM_IS_NAN(x[i]) & !USM_IS_NAN(y));                \
            best[i] = wins ? x[i] : y;                                                        \
            at[i] = wins ? number : at[i];                                                    \
        }                                                                                     \
    }
FOLLOW(max, >)
FOLLOW(min, <)
#undef FOLLOW

/* `rows` rows of `width` elements, `step` elements apart: the number of the extreme of each column, from
 * `first` on. */
static void S(extreme_columns)(int64_t *to, const T *x, int64_t first, int64_t rows, int64_t step,
                               int64_t width, long op)
{
    T best[USM_EXTREMES];
    for (int64_t i = 0; i < width; i += USM_EXTREMES) {
        int64_t n = width - i < USM_EXTREMES ? width - i : USM_EXTREMES;
        memcpy(best, x + i, (size_t)n * sizeof(T));
        for (int64_t j = 0; j < n; j++) {
            to[i + j] = first;
        }
        for (int64_t k = 1; k < rows; k++) {
            (op == USM_MAX ? S(follow_max) : S(follow_min))(best, to + i, x + k * step + i, first + k, n);
        }
    }
}

/* The one of `count` candidates, `step` numbers apart, that is the extreme of a column. */
static int64_t S(extreme_of)(const T *column, const int64_t *candidates, int64_t count, int64_t step, long op)
{
    T values[USM_EXTREMES];
    for (int64_t k = 0; k < count; k++) {
        values[k] = column[candidates[k * step] * step];
    }
    return candidates[S(find_extreme)(values, count, op) * step];
}

static void S(extremes)(int64_t *to, const void *from, const int64_t *candidates, const usm_extremes *r,
                        const size_t *lo, const size_t *hi)
{
    int64_t each = (r->count + r->blocks - 1) / r->blocks, width = (int64_t)(hi[0] - lo[0]);
    for (int64_t o = (int64_t)lo[2]; o < (int64_t)hi[2]; o++) {
        const T *x = (const T *)from + o * r->reduced * r->inner;
        for (int64_t b = (int64_t)lo[1]; b < (int64_t)hi[1]; b++) {
            int64_t first = b * each, rows = r->count - first < each ? r->count - first : each;
            int64_t *out = to + (o * r->blocks + b) * r->inner + lo[0];
            if (r->count < r->reduced) {
                for (int64_t i = (int64_t)lo[0]; i < (int64_t)hi[0]; i++) {
                    *out++ =
                        S(extreme_of)(x + i, candidates + o * r->count * r->inner + i, rows, r->inner, r->op);
                }
            } else if (r->inner == 1) {
                *out = first + S(find_extreme)(x + first, rows, r->op);
            } else {
                S(extreme_columns)(out, x + first * r->inner + lo[0], first, rows, r->inner, width, r->op);
            }
        }
    }
}
