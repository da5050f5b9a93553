/* Rows of elements: moved bit for bit, or converted. One function for each pair of types, made by macros. */
#include "processor.h"
#include "row.h"

#include "core/layout/half.h"

#include <stddef.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* Throughout: memcpy of a constant size is one move, and rows may have any alignment. */

typedef struct u128 {
    uint64_t half[2];
} u128;

/* Strides that are constants give the compiler loops that it makes vectors of. */
#define MOVE_ROW(name, type)                                                                              \
    static inline __attribute__((always_inline)) void move_each_##name(char *dst, const char *src,        \
                                                                       int64_t n, int64_t ds, int64_t ss) \
    {                                                                                                     \
        for (int64_t i = 0; i < n; i++) {                                                                 \
            type value;                                                                                   \
            memcpy(&value, src + i * ss, sizeof value);                                                   \
            memcpy(dst + i * ds, &value, sizeof value);                                                   \
        }                                                                                                 \
    }                                                                                                     \
    static void move_##name(char *dst, const char *src, int64_t n, int64_t ds, int64_t ss)                \
    {                                                                                                     \
        const int64_t size = sizeof(type);                                                                \
        if (ds == size && ss == size) {                                                                   \
            memcpy(dst, src, (size_t)(n * size));                                                         \
        } else if (ss == 0) {                                                                             \
            type value;                                                                                   \
            memcpy(&value, src, sizeof value);                                                            \
            for (int64_t i = 0; i < n; i++) {                                                             \
                memcpy(dst + i * ds, &value, sizeof value);                                               \
            }                                                                                             \
        } else if (ds == size && ss == -size) {                                                           \
            move_each_##name(dst, src, n, size, -size);                                                   \
        } else if (ds == size && ss == 2 * size) {                                                        \
            move_each_##name(dst, src, n, size, 2 * size);                                                \
        } else if (ds == size) {                                                                          \
            move_each_##name(dst, src, n, size, ss);                                                      \
        } else {                                                                                          \
            move_each_##name(dst, src, n, ds, ss);                                                        \
        }                                                                                                 \
    }

MOVE_ROW(1, uint8_t)
MOVE_ROW(2, uint16_t)
MOVE_ROW(4, uint32_t)
MOVE_ROW(8, uint64_t)
MOVE_ROW(16, u128)

usm_cpu_row usm_cpu_move_row(int itemsize)
{
    static const usm_cpu_row rows[] = {move_1, move_2, move_4, move_8, move_16};
    return rows[__builtin_ctz((unsigned)itemsize)];
}

/* How each type lies in memory, and as what it is computed with. */
typedef uint8_t mem_bool8;
typedef int8_t mem_int8;
typedef int16_t mem_int16;
typedef int32_t mem_int32;
typedef int64_t mem_int64;
typedef uint8_t mem_uint8;
typedef uint16_t mem_uint16;
typedef uint32_t mem_uint32;
typedef uint64_t mem_uint64;
typedef uint16_t mem_float16;
typedef float mem_float32;
typedef double mem_float64;
typedef uint16_t mem_bfloat16;
typedef struct mem_complex64 {
    float re, im;
} mem_complex64;
typedef struct mem_complex128 {
    double re, im;
} mem_complex128;

/* From memory to a C number; the real part of complex ones. */
#define FROM_bool8(m) ((uint8_t)((m) != 0))
#define FROM_int8(m) (m)
#define FROM_int16(m) (m)
#define FROM_int32(m) (m)
#define FROM_int64(m) (m)
#define FROM_uint8(m) (m)
#define FROM_uint16(m) (m)
#define FROM_uint32(m) (m)
#define FROM_uint64(m) (m)
#define FROM_float16(m) usm_half_to_float(m)
#define FROM_float32(m) (m)
#define FROM_float64(m) (m)
#define FROM_bfloat16(m) usm_bfloat_to_float(m)
#define FROM_complex64(m) ((m).re)
#define FROM_complex128(m) ((m).re)

/*
 * C leaves floating-point values that do not fit undefined, so they are saturated, and NaN becomes 0.
 * Integers wrap: modulo arithmetic on uint64_t gives the same bits for every source.
 */
#define WRAP(name, type)                       \
    static inline type wrap_##name(uint64_t v) \
    {                                          \
        return (type)v;                        \
    }

/*
 * Without branches, so that loops vectorise: NaN becomes 0, then the value is cut to the range. Every bound
 * of these is exact in the floating-point type, and the range fits in int32_t.
 */
#define NARROW_FROM(name, type, min, max, suffix, real) \
    static inline type narrow_##name##suffix(real v)    \
    {                                                   \
        real c = v == v ? v : (real)0;                  \
        c = c < (real)(min) ? (real)(min) : c;          \
        c = c > (real)(max) ? (real)(max) : c;          \
        return (type)(int32_t)c;                        \
    }

#define NARROW(name, type, min, max)                    \
    NARROW_FROM(name, type, min, max, _single, float)   \
    NARROW_FROM(name, type, min, max, _twofold, double) \
    WRAP(name, type)

/* The largest float below 2**31 converts; what is above is the largest integer. */
static inline int32_t narrow_int32_single(float v)
{
    float c = v == v ? v : 0.0f;
    c = c < -0x1p31f ? -0x1p31f : c;
    c = c > 0x1.fffffep30f ? 0x1.fffffep30f : c;
    int32_t r = (int32_t)c;
    return v >= 0x1p31f ? INT32_MAX : r;
}

#define WIDE(name, type, min, max)                                            \
    static inline type saturate_##name(double v)                              \
    {                                                                         \
        return v > (double)(min)-1.0 && v < (double)(max) + 1.0 ? (type)v     \
               : v > 0                                          ? (type)(max) \
               : v < 0                                          ? (type)(min) \
                                                                : (type)0;                                             \
    }                                                                         \
    WRAP(name, type)

NARROW(int8, int8_t, INT8_MIN, INT8_MAX)
NARROW(int16, int16_t, INT16_MIN, INT16_MAX)
NARROW(uint8, uint8_t, 0, UINT8_MAX)
NARROW(uint16, uint16_t, 0, UINT16_MAX)
NARROW_FROM(int32, int32_t, INT32_MIN, INT32_MAX, _twofold, double)
WRAP(int32, int32_t)
WIDE(int64, int64_t, INT64_MIN, INT64_MAX)
WIDE(uint32, uint32_t, 0, UINT32_MAX)
WIDE(uint64, uint64_t, 0, UINT64_MAX)

#define TO_NARROW(name, v) \
    _Generic((v), float : narrow_##name##_single, double : narrow_##name##_twofold, default : wrap_##name)(v)
#define TO_INTEGER(name, v) \
    _Generic((v), float : saturate_##name, double : saturate_##name, default : wrap_##name)(v)

/* From a C number to memory. */
#define TO_bool8(v) ((mem_bool8)((v) != 0))
#define TO_int8(v) TO_NARROW(int8, v)
#define TO_int16(v) TO_NARROW(int16, v)
#define TO_int32(v) TO_NARROW(int32, v)
#define TO_int64(v) TO_INTEGER(int64, v)
#define TO_uint8(v) TO_NARROW(uint8, v)
#define TO_uint16(v) TO_NARROW(uint16, v)
#define TO_uint32(v) TO_INTEGER(uint32, v)
#define TO_uint64(v) TO_INTEGER(uint64, v)
#define TO_float16(v)                                 \
    _Generic((v), float                               \
             : usm_float_to_half((float)(v)), default \
             : usm_float_to_half(usm_double_to_odd_float((double)(v))))
#define TO_float32(v) ((float)(v))
#define TO_float64(v) ((double)(v))
/* float16 is infinite long before a double runs out of bits for integers; bfloat16 is not. */
#define TO_bfloat16(v)                                                                                       \
    _Generic((v), float                                                                                      \
             : usm_float_to_bfloat((float)(v)), int64_t                                                      \
             : usm_float_to_bfloat(usm_double_to_odd_float(usm_int64_to_odd_double((int64_t)(v)))), uint64_t \
             : usm_float_to_bfloat(usm_double_to_odd_float(usm_uint64_to_odd_double((uint64_t)(v)))),        \
               default                                                                                       \
             : usm_float_to_bfloat(usm_double_to_odd_float((double)(v))))

#define CONVERT_REAL(to, from, m) TO_##to(FROM_##from(m))

#define ROW(to, from, expression)                                                                    \
    static void from_##from##_to_##to(char *dst, const char *src, int64_t n, int64_t ds, int64_t ss) \
    {                                                                                                \
        if (ds == sizeof(mem_##to) && ss == sizeof(mem_##from)) {                                    \
            for (int64_t i = 0; i < n; i++) {                                                        \
                mem_##from m;                                                                        \
                memcpy(&m, src + i * (int64_t)sizeof m, sizeof m);                                   \
                mem_##to r = expression;                                                             \
                memcpy(dst + i * (int64_t)sizeof r, &r, sizeof r);                                   \
            }                                                                                        \
            return;                                                                                  \
        }                                                                                            \
        for (int64_t i = 0; i < n; i++) {                                                            \
            mem_##from m;                                                                            \
            memcpy(&m, src + i * ss, sizeof m);                                                      \
            mem_##to r = expression;                                                                 \
            memcpy(dst + i * ds, &r, sizeof r);                                                      \
        }                                                                                            \
    }

#define FOR_EACH_REAL(X, other) \
    X(bool8, other)             \
    X(int8, other)              \
    X(int16, other)             \
    X(int32, other)             \
    X(int64, other)             \
    X(uint8, other)             \
    X(uint16, other)            \
    X(uint32, other)            \
    X(uint64, other)            \
    X(float16, other)           \
    X(float32, other)           \
    X(float64, other)           \
    X(bfloat16, other)

/* Every real target from one source, then the two complex targets. */
#define REAL_FROM_REAL(to, from) ROW(to, from, CONVERT_REAL(to, from, m))
#define ROWS_FROM_REAL(from)                                               \
    FOR_EACH_REAL(REAL_FROM_REAL, from)                                    \
    ROW(complex64, from, ((mem_complex64){TO_float32(FROM_##from(m)), 0})) \
    ROW(complex128, from, ((mem_complex128){TO_float64(FROM_##from(m)), 0}))

ROWS_FROM_REAL(bool8)
ROWS_FROM_REAL(int8)
ROWS_FROM_REAL(int16)
ROWS_FROM_REAL(int32)
ROWS_FROM_REAL(int64)
ROWS_FROM_REAL(uint8)
ROWS_FROM_REAL(uint16)
ROWS_FROM_REAL(uint32)
ROWS_FROM_REAL(uint64)
ROWS_FROM_REAL(float16)
ROWS_FROM_REAL(float32)
ROWS_FROM_REAL(float64)
ROWS_FROM_REAL(bfloat16)
#undef TO_bool8
#define TO_bool8(v) \
    ((mem_bool8)((v) != 0 || m.im != 0)) /* a complex number is true unless both parts are 0 */
FOR_EACH_REAL(REAL_FROM_REAL, complex64)
FOR_EACH_REAL(REAL_FROM_REAL, complex128)
ROW(complex64, complex64, m)
ROW(complex128, complex128, m)
ROW(complex128, complex64, ((mem_complex128){m.re, m.im}))
ROW(complex64, complex128, ((mem_complex64){(float)m.re, (float)m.im}))

/* In the order of usm_dtype: the float types before the complex ones, bfloat16 last. */
#define COLUMN(from)                                                                                   \
    {                                                                                                  \
        from_##from##_to_bool8, from_##from##_to_int8, from_##from##_to_int16, from_##from##_to_int32, \
            from_##from##_to_int64, from_##from##_to_uint8, from_##from##_to_uint16,                   \
            from_##from##_to_uint32, from_##from##_to_uint64, from_##from##_to_float16,                \
            from_##from##_to_float32, from_##from##_to_float64, from_##from##_to_complex64,            \
            from_##from##_to_complex128, from_##from##_to_bfloat16                                     \
    }

#if defined(__SSE2__)
/* The instruction gives INT32_MIN for what does not fit: two masks make it what TO_int32 gives. */
static void float32_to_int32(char *dst, const char *src, int64_t n, int64_t ds, int64_t ss)
{
    int64_t i = 0, whole = ds == 4 && ss == 4 ? n / 4 * 4 : 0;
    for (; i < whole; i += 4) {
        __m128 v = _mm_loadu_ps((const float *)(src + 4 * i));
        __m128i r =
            _mm_xor_si128(_mm_cvttps_epi32(v), _mm_castps_si128(_mm_cmpge_ps(v, _mm_set1_ps(0x1p31f))));
        r = _mm_and_si128(r, _mm_castps_si128(_mm_cmpord_ps(v, v)));
        _mm_storeu_si128((__m128i *)(dst + 4 * i), r);
    }
    from_float32_to_int32(dst + i * ds, src + i * ss, n - i, ds, ss);
}
#endif

#if defined(__x86_64__) && defined(__GNUC__)
/*
 * Integers of 64 bits to floating point. AVX-512 has vector instructions for it; the baseline converts
 * one element at a time, which takes 1.3 to 1.6 times as long where memory is not the limit.
 */
#define HAS_WIDE_ROWS (USM_CPU_HAS("avx512dq") && USM_CPU_HAS("avx512vl"))
#define WIDE_ROW(to, from)                                                          \
    __attribute__((target("avx512dq,avx512vl"))) static void wide_##from##_to_##to( \
        char *dst, const char *src, int64_t n, int64_t ds, int64_t ss)              \
    {                                                                               \
        if (ds != sizeof(mem_##to) || ss != sizeof(mem_##from)) {                   \
            from_##from##_to_##to(dst, src, n, ds, ss);                             \
            return;                                                                 \
        }                                                                           \
        for (int64_t i = 0; i < n; i++) {                                           \
            mem_##from m;                                                           \
            memcpy(&m, src + i * (int64_t)sizeof m, sizeof m);                      \
            mem_##to r = (mem_##to)m;                                               \
            memcpy(dst + i * (int64_t)sizeof r, &r, sizeof r);                      \
        }                                                                           \
    }
WIDE_ROW(float32, int64)
WIDE_ROW(float64, int64)
WIDE_ROW(float32, uint64)
WIDE_ROW(float64, uint64)

static const usm_cpu_row wide_rows[2][2] = {
    {wide_int64_to_float32, wide_int64_to_float64},
    {wide_uint64_to_float32, wide_uint64_to_float64},
};
#endif

usm_cpu_row usm_cpu_cast_row(usm_dtype dst, usm_dtype src)
{
    static const usm_cpu_row rows[USM_COMPUTED_DTYPES][USM_COMPUTED_DTYPES] = {
        [USM_BOOL] = COLUMN(bool8),          [USM_INT8] = COLUMN(int8),
        [USM_INT16] = COLUMN(int16),         [USM_INT32] = COLUMN(int32),
        [USM_INT64] = COLUMN(int64),         [USM_UINT8] = COLUMN(uint8),
        [USM_UINT16] = COLUMN(uint16),       [USM_UINT32] = COLUMN(uint32),
        [USM_UINT64] = COLUMN(uint64),       [USM_FLOAT16] = COLUMN(float16),
        [USM_FLOAT32] = COLUMN(float32),     [USM_FLOAT64] = COLUMN(float64),
        [USM_COMPLEX64] = COLUMN(complex64), [USM_COMPLEX128] = COLUMN(complex128),
        [USM_BFLOAT16] = COLUMN(bfloat16),
    };
#if defined(__SSE2__)
    if (src == USM_FLOAT32 && dst == USM_INT32) {
        return float32_to_int32;
    }
#endif
#if defined(__x86_64__) && defined(__GNUC__)
    bool from_wide = src == USM_INT64 || src == USM_UINT64,
         to_real = dst == USM_FLOAT32 || dst == USM_FLOAT64;
    if (from_wide && to_real && HAS_WIDE_ROWS) {
        return wide_rows[src == USM_UINT64][dst == USM_FLOAT64];
    }
#endif
    return rows[src][dst];
}
