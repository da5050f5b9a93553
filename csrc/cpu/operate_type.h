/* The loops of one type: included once for each, with T, U and USM_TYPE (its name); USM_KIND and
 * USM_ROWS are those of its kind. */
#define USM_NAMED_TEXT(name, type) usm_##name##_##type
#define USM_NAMED(name, type) USM_NAMED_TEXT(name, type)
#define S(name) USM_NAMED(name, USM_TYPE)

#include "kernels/src/functions.h"

#if USM_KIND == USM_REAL_KIND && defined(__x86_64__)
/* One vector, or the first `bytes` of one, by a function of libmvec. Lanes that are not read are 1. */
static inline __attribute__((always_inline)) void S(by_vector)(void *function, int inputs, T *r, const T *p,
                                                               const T *q, size_t bytes)
{
    typedef T vector __attribute__((vector_size(VECTOR_BYTES)));
    vector (*of_one)(vector), (*of_two)(vector, vector), x = (vector){0} + 1, y = x;
    memcpy(&of_one, &function, sizeof function);
    memcpy(&of_two, &function, sizeof function);
    memcpy(&x, p, bytes);
    if (inputs == 2) {
        memcpy(&y, q, bytes);
    }
    x = inputs == 1 ? of_one(x) : of_two(x, y);
    memcpy(r, &x, bytes);
}

/* False: libmvec has no such function. Results do not depend on where an element is. */
static bool S(by_vectors)(int operation, int inputs, T *r, const T *p, const T *q, int64_t n)
{
    const usm_vector_math *math = usm_cpu_vector_math(VECTOR_BYTES);
    void *function = math != NULL ? math->functions[sizeof(T) == sizeof(double)][operation] : NULL;
    int64_t lanes = VECTOR_BYTES / sizeof(T), i = 0;
    if (function == NULL) {
        return false;
    }
    for (; i + lanes <= n; i += lanes) {
        S(by_vector)(function, inputs, r + i, p + i, q + i, VECTOR_BYTES);
    }
    if (i < n) {
        S(by_vector)(function, inputs, r + i, p + i, q + i, (size_t)(n - i) * sizeof(T));
    }
    return true;
}
#define BY_VECTORS(name, n, costly) (costly && S(by_vectors)(USM_OP_##name, n, r, p, n == 2 ? q : p, count))
#else
#define BY_VECTORS(name, n, costly) false
#endif

#define EACH_LOOP(name, n, costly, load, expression)                                  \
    static void S(name##_loop)(void *to, const void *a, const void *b, int64_t count) \
    {                                                                                 \
        T *r = to;                                                                    \
        const T *p = a, *q = b;                                                       \
        (void)q;                                                                      \
        if (BY_VECTORS(name, n, costly)) {                                            \
            return;                                                                   \
        }                                                                             \
        USM_INDEPENDENT                                                               \
        for (int64_t i = 0; i < count; i++) {                                         \
            T x = p[i];                                                               \
            load r[i] = expression;                                                   \
        }                                                                             \
    }
#define LOOP_1(name, costly, expression) EACH_LOOP(name, 1, costly, , expression)
#define LOOP_2(name, costly, expression) EACH_LOOP(name, 2, costly, T y = q[i];, expression)
#define ROW(name, costly, expression) [USM_OP_##name] = S(name##_loop),

#if USM_KIND == USM_COMPLEX_KIND
LOOP_2(product, 0, USM_PRODUCT_OF(x, y))
#endif
USM_ROWS(1)
(LOOP_1) USM_ROWS(2)(LOOP_2)

    static const usm_cpu_loop S(loops)[USM_OPERATIONS] = {USM_ROWS(1)(ROW) USM_ROWS(2)(ROW)};

/*
 * Lanes of a vector's width each. Those of short rows beyond n are the identity, which is the same as left
 * out. Numbers of lanes are constants, so that they stay in registers.
 */
#define HALVE(combine, half)                           \
    for (int l = 0; l < (half); l++) {                 \
        lanes[l] = combine(lanes[l], lanes[l + half]); \
    }
#define FEW(combine, identity, width, halves) \
    for (int l = 0; l < (width); l++) {       \
        lanes[l] = l < n ? x[l] : (identity); \
    }                                         \
    halves
#define HALVES_8(combine) HALVE(combine, 4) HALVE(combine, 2) HALVE(combine, 1)
#define HALVES_16(combine) HALVE(combine, 8) HALVES_8(combine)
#define HALVES_32(combine) HALVE(combine, 16) HALVES_16(combine)
#define FOLD(name, combine, identity)                                                          \
    USM_PEELED static void S(name##_fold)(void *to, const void *from, int64_t n, int64_t rows) \
    {                                                                                          \
        const T *x = from;                                                                     \
        T *out = to;                                                                           \
        for (int64_t i = 0; i < rows; i++, x += n) {                                           \
            T lanes[USM_LANES];                                                                \
            if (n >= USM_LANES) {                                                              \
                int64_t k = USM_LANES;                                                         \
                memcpy(lanes, x, sizeof lanes);                                                \
                for (; k + USM_LANES <= n; k += USM_LANES) {                                   \
                    for (int l = 0; l < USM_LANES; l++) {                                      \
                        lanes[l] = combine(lanes[l], x[k + l]);                                \
                    }                                                                          \
                }                                                                              \
                for (int l = 0; l < n - k; l++) {                                              \
                    lanes[l] = combine(lanes[l], x[k + l]);                                    \
                }                                                                              \
                HALVES_32(combine)                                                             \
            } else if (n > 16) {                                                               \
                FEW(combine, identity, 32, HALVES_32(combine))                                 \
            } else if (n > 8) {                                                                \
                FEW(combine, identity, 16, HALVES_16(combine))                                 \
            } else {                                                                           \
                FEW(combine, identity, 8, HALVES_8(combine))                                   \
            }                                                                                  \
            out[i] = lanes[0];                                                                 \
        }                                                                                      \
    }
FOLD(sum, USM_SUM_OF, USM_ZERO)
FOLD(prod, USM_PRODUCT_OF, USM_UNIT)
#if USM_KIND != USM_COMPLEX_KIND
FOLD(max, USM_LARGER_OF, USM_LEAST)
FOLD(min, USM_SMALLER_OF, USM_GREATEST)
#endif
#undef FOLD
#undef FEW
#undef HALVE
#undef HALVES_8
#undef HALVES_16
#undef HALVES_32

static const usm_cpu_fold S(folds)[] = {
    [USM_SUM] = S(sum_fold),
    [USM_PROD] = S(prod_fold),
#if USM_KIND != USM_COMPLEX_KIND
    [USM_MAX] = S(max_fold),
    [USM_MIN] = S(min_fold),
#endif
};

#if USM_KIND != USM_COMPLEX_KIND /* they have no order */
#include "extreme_type.h"
#endif

#if USM_KIND != USM_SIGNED_KIND /* they wrap as unsigned ones do */
#include "kernels/src/groups.h"

#define WALK(r, lo, hi, call)                                                             \
    for (long o = (long)lo[2]; o < (long)hi[2]; o++) {                                    \
        for (long g = (long)lo[1]; g < (long)hi[1]; g++) {                                \
            long n = r->n - g * USM_GROUP < USM_GROUP ? r->n - g * USM_GROUP : USM_GROUP; \
            for (long i = (long)lo[0]; i < (long)hi[0]; i++) {                            \
                call;                                                                     \
            }                                                                             \
        }                                                                                 \
    }

static void S(totals)(void *to, const void *from, const usm_scan *r, const size_t *lo, const size_t *hi)
{
    T *dst = to;
    const T *src = from;
    WALK(r, lo, hi,
         dst[(o * r->groups + g) * r->inner + i] =
             S(total)(src + (o * r->n + g * USM_GROUP) * r->inner + i, n, r->inner, r->op))
}

static void S(scan_groups)(void *to, const void *from, const void *totals, const usm_scan *r,
                           const size_t *lo, const size_t *hi)
{
    T *dst = to, none = r->op == USM_SUM ? USM_ZERO : USM_UNIT;
    const T *src = from, *before = totals;
    WALK(r, lo, hi,
         S(scan_group)(dst + (o * (r->first + r->n) + r->first + g * USM_GROUP) * r->inner + i,
                       src + (o * r->n + g * USM_GROUP) * r->inner + i,
                       r->groups > 1 ? before[(o * r->groups + g) * r->inner + i] : none, n, r->inner, r->op,
                       r->exclusive))
}
#undef WALK

#if USM_KIND != USM_COMPLEX_KIND
#include "matmul_type.h"
#endif
#endif

#undef USM_SUM_OF
#undef USM_PRODUCT_OF
#undef USM_LARGER_OF
#undef USM_SMALLER_OF
#undef USM_IS_NAN
#undef USM_ZERO
#undef USM_UNIT
#undef USM_LEAST
#undef USM_GREATEST
#undef BY_VECTORS
#undef EACH_LOOP
#undef LOOP_1
#undef LOOP_2
#undef ROW
#undef USM_NAMED_TEXT
#undef USM_NAMED
#undef S
#undef T
#undef R
#undef U
#undef USM_TYPE
#undef USM_BITS
#undef USM_SHIFT
#undef USM_CONSTANT
#undef USM_PICK
