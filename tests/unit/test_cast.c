/*
 * Casts between all pairs of types against a slow scalar reference: exact values in long double, rounded by
 * arithmetic instead of by bits.
 */
#include "check.h"
#include "support.h"

#include "core/layout/half.h"
#include "cpu/row.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#if LDBL_MANT_DIG < 64
#error "the reference needs a long double that holds every 64-bit integer"
#endif

/* Significand bits (the hidden one counted) and the exponent of the smallest normal number. */
typedef struct format {
    int precision, least_exponent, bits;
    long double largest;
} format;

static const format half = {11, -14, 16, 65504.0L}, bfloat = {8, -126, 16, 0x1.fep127L};

/* To nearest, ties to even; infinity from half way to the next power of two on. */
static long double round_to(const format *format, long double x)
{
    if (x == 0 || isnan(x) || isinf(x)) {
        return x;
    }
    int exponent;
    frexpl(x, &exponent);
    exponent -= 1;
    int last =
        (exponent < format->least_exponent ? format->least_exponent : exponent) - format->precision + 1;
    long double rounded = ldexpl(rintl(ldexpl(x, -last)), last);
    return fabsl(rounded) > format->largest ? copysignl(INFINITY, x) : rounded;
}

/* The value of 16 bits. */
static long double value_of(const format *format, uint16_t bits)
{
    int fraction_bits = format->precision - 1;
    int exponent = (bits & 0x7fff) >> fraction_bits, all = (1 << (15 - fraction_bits)) - 1;
    long double fraction = bits & ((1 << fraction_bits) - 1), sign = bits & 0x8000 ? -1 : 1;
    if (exponent == all) {
        return fraction != 0 ? NAN : sign * INFINITY;
    }
    if (exponent == 0) {
        return sign * ldexpl(fraction, format->least_exponent - fraction_bits);
    }
    return sign *
           ldexpl(fraction + (1 << fraction_bits), format->least_exponent + exponent - 1 - fraction_bits);
}

static bool same(long double a, long double b)
{
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static void every_half_and_bfloat(void)
{
    for (uint32_t bits = 0; bits < 65536; bits++) {
        float h = usm_half_to_float((uint16_t)bits), b = usm_bfloat_to_float((uint16_t)bits);
        CHECK(same(h, value_of(&half, (uint16_t)bits)));
        CHECK(same(b, value_of(&bfloat, (uint16_t)bits)));
        CHECK(isnan(h) || usm_float_to_half(h) == bits);
        CHECK(isnan(b) || usm_float_to_bfloat(b) == bits);
        CHECK(!isnan(h) || isnan(usm_half_to_float(usm_float_to_half(h))));
        CHECK(!isnan(b) || isnan(usm_bfloat_to_float(usm_float_to_bfloat(b))));
    }
}

static void check_float(float x)
{
    CHECK(same(value_of(&half, usm_float_to_half(x)), round_to(&half, x)));
    CHECK(same(value_of(&bfloat, usm_float_to_bfloat(x)), round_to(&bfloat, x)));
}

static void check_double(double x)
{
    float odd = usm_double_to_odd_float(x);
    CHECK(same(value_of(&half, usm_float_to_half(odd)), round_to(&half, x)));
    CHECK(same(value_of(&bfloat, usm_float_to_bfloat(odd)), round_to(&bfloat, x)));
}

/* Random bits, and every number half way between two neighbours with what lies just beside it. */
static void rounding(void)
{
    uint64_t seed = 11;
    for (long i = 0; i < scaled(300000); i++) {
        CHECK_STEP(i, seed);
        uint64_t bits = random_next(&seed);
        float f = as_float((uint32_t)bits);
        double d;
        check_float(f);
        memcpy(&d, &bits, sizeof d);
        check_double(d);
        check_double((double)f);
    }
    const format *const formats[] = {&half, &bfloat};
    for (int k = 0; k < 2; k++) {
        for (uint32_t bits = 0; bits < 0x7fff; bits++) {
            long double low = value_of(formats[k], (uint16_t)bits),
                        high = value_of(formats[k], (uint16_t)(bits + 1));
            if (isnan(low) || isinf(low) || isnan(high)) {
                continue;
            }
            long double middle =
                isinf(high) ? low + (low - value_of(formats[k], (uint16_t)(bits - 1))) / 2 : (low + high) / 2;
            for (int sign = -1; sign <= 1; sign += 2) {
                double d = (double)(middle * sign);
                float f = (float)d;
                check_double(d);
                check_double(nextafter(d, INFINITY));
                check_double(nextafter(d, -INFINITY));
                check_float(f);
                check_float(nextafterf(f, INFINITY));
                check_float(nextafterf(f, -INFINITY));
            }
        }
    }
}

/* An element of any type as exact numbers. */
typedef struct number {
    long double re, im;
} number;

static number load(usm_dtype dtype, const char *from)
{
    union {
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        uint8_t u8;
        uint16_t u16;
        uint32_t u32;
        uint64_t u64;
        float f[2];
        double d[2];
    } u;
    memcpy(&u, from, usm_dtype_table[dtype].itemsize);
    switch (dtype) {
        case USM_BOOL:
            return (number){u.u8 != 0, 0};
        case USM_INT8:
            return (number){u.i8, 0};
        case USM_INT16:
            return (number){u.i16, 0};
        case USM_INT32:
            return (number){u.i32, 0};
        case USM_INT64:
            return (number){u.i64, 0};
        case USM_UINT8:
            return (number){u.u8, 0};
        case USM_UINT16:
            return (number){u.u16, 0};
        case USM_UINT32:
            return (number){u.u32, 0};
        case USM_UINT64:
            return (number){u.u64, 0};
        case USM_FLOAT16:
            return (number){value_of(&half, u.u16), 0};
        case USM_BFLOAT16:
            return (number){value_of(&bfloat, u.u16), 0};
        case USM_FLOAT32:
            return (number){u.f[0], 0};
        case USM_FLOAT64:
            return (number){u.d[0], 0};
        case USM_COMPLEX64:
            return (number){u.f[0], u.f[1]};
        default:
            return (number){u.d[0], u.d[1]};
    }
}

/* Integers wrap, floating-point numbers are cut and saturate, NaN becomes 0. */
static long double to_integer(usm_dtype dtype, bool from_integer, long double x)
{
    int bits = usm_dtype_table[dtype].bits;
    bool is_signed = usm_dtype_table[dtype].kind == USM_DTYPE_KIND_INT;
    long double low = is_signed ? -ldexpl(1, bits - 1) : 0, high = ldexpl(1, is_signed ? bits - 1 : bits) - 1;
    if (isnan(x)) {
        return 0;
    }
    x = truncl(x) + 0; /* no negative zero */
    if (!from_integer) {
        return x < low ? low : x > high ? high : x;
    }
    x = fmodl(x, ldexpl(1, bits)) + 0; /* exact */
    return x < low ? x + ldexpl(1, bits) : x > high ? x - ldexpl(1, bits) : x;
}

static long double to_real(usm_dtype dtype, long double x)
{
    switch (dtype) {
        case USM_FLOAT16:
            return round_to(&half, x);
        case USM_BFLOAT16:
            return round_to(&bfloat, x);
        case USM_FLOAT32:
        case USM_COMPLEX64:
            return (float)x;
        default:
            return (double)x;
    }
}

static number convert(usm_dtype to, usm_dtype from, number x)
{
    const usm_dtype_info *info = &usm_dtype_table[to];
    if (info->kind == USM_DTYPE_KIND_BOOL) {
        return (number){x.re != 0 || x.im != 0, 0};
    }
    if (info->kind <= USM_DTYPE_KIND_UINT) {
        return (number){to_integer(to, usm_dtype_table[from].kind <= USM_DTYPE_KIND_UINT, x.re), 0};
    }
    return (number){to_real(to, x.re), info->kind == USM_DTYPE_KIND_COMPLEX ? to_real(to, x.im) : 0};
}

static void check_element(usm_dtype to, usm_dtype from, const char *dst, const char *src)
{
    number source = load(from, src), got = load(to, dst), wanted = convert(to, from, source);
    if (!same(got.re, wanted.re) || !same(got.im, wanted.im)) {
        CHECK_FAIL("%s (%.21Lg, %.21Lg) to %s is (%.21Lg, %.21Lg), not (%.21Lg, %.21Lg)",
                   usm_dtype_table[from].name, source.re, source.im, usm_dtype_table[to].name, got.re, got.im,
                   wanted.re, wanted.im);
    }
    CHECK(to != USM_BOOL || *(const uint8_t *)dst <= 1);
}

/* Values where types end, and half way between the neighbours of narrower ones. */
static const double corners[] = {
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -1.5,
    127.0,
    127.5,
    128.0,
    -128.0,
    -128.9,
    -129.0,
    255.0,
    255.99,
    256.0,
    257.0,
    32767.0,
    32768.0,
    -32768.0,
    -32769.0,
    65504.0,
    65519.99,
    65520.0,
    65535.0,
    65536.0,
    2147483647.0,
    2147483648.0,
    -2147483648.0,
    -2147483649.0,
    4294967295.0,
    4294967296.0,
    16777217.0,
    0x1p62,
    0x1p63,
    -0x1p63,
    -0x1.0000000000001p63,
    0x1p64,
    0x1.fffffffffffffp63,
    1e30,
    -1e30,
    1e300,
    -1e300,
    1e-8,
    5.9604644775390625e-8,
    2.98e-8,
    1e-40,
    1e-300,
    0x1p-149,
    0x1p-150,
    3.4028235e38,
    3.4028235677973366e38,
    INFINITY,
    -INFINITY,
    NAN,
};

static const uint64_t integer_corners[] = {
    0,
    1,
    127,
    128,
    255,
    256,
    32767,
    32768,
    65535,
    65536,
    0x7fffffff,
    0x80000000,
    0xffffffff,
    0x100000000,
    /* Near half way between two bfloat16: a first rounding to double would land on the middle. */
    0x1010000000000001,
    0x1030000000000001,
    0x102fffffffffffff,
    0x1010000000000000,
    0x7f80000000000001,
    0x0020000000000001,
    0x7fffffffffffffff,
    0x8000000000000000,
    0x8000000000000001,
    0xffffffffffffffff,
    UINT64_C(0) - 0x1010000000000001,
    0x8080000000000001,
};

static void store(usm_dtype dtype, char *to, double x)
{
    float f[2] = {(float)x, (float)-x};
    double d[2] = {x, -x};
    uint16_t h = usm_float_to_half(f[0]), b = usm_float_to_bfloat(f[0]);
    switch (dtype) {
        case USM_FLOAT16:
            memcpy(to, &h, 2);
            break;
        case USM_BFLOAT16:
            memcpy(to, &b, 2);
            break;
        case USM_FLOAT32:
        case USM_COMPLEX64:
            memcpy(to, f, usm_dtype_table[dtype].itemsize);
            break;
        default:
            memcpy(to, d, usm_dtype_table[dtype].itemsize);
            break;
    }
}

enum { N = 700 };

static void make_values(uint64_t *seed, usm_dtype dtype, char *values)
{
    int size = usm_dtype_table[dtype].itemsize;
    for (size_t i = 0; i < N; i++) {
        uint64_t bits[2] = {random_next(seed), random_next(seed)};
        if (random_below(seed, 2) == 0) {
            bits[0] >>= random_below(seed, 64);
        }
        memcpy(values + i * (size_t)size, bits, (size_t)size);
        if (dtype == USM_BOOL) {
            values[i] &= 1;
        }
    }
    bool real = usm_dtype_table[dtype].kind >= USM_DTYPE_KIND_FLOAT;
    size_t n = real ? sizeof corners / sizeof *corners : sizeof integer_corners / sizeof *integer_corners;
    for (size_t i = 0; i < n && dtype != USM_BOOL; i++) {
        if (real) {
            store(dtype, values + i * (size_t)size, corners[i]);
        } else {
            memcpy(values + i * (size_t)size, &integer_corners[i], (size_t)size);
        }
    }
}

/* Side by side, and with gaps at addresses that suit no type. */
static void every_pair(void)
{
    uint64_t seed = 12;
    char *src = malloc(N * 16), *dst = malloc(N * 16 + 1);
    char *wide_src = malloc(N * 19 + 1), *wide_dst = malloc(N * 21 + 1);
    for (usm_dtype from = 0; from < USM_COMPUTED_DTYPES; from++) {
        CHECK_STEP(from, seed);
        make_values(&seed, from, src);
        int size = usm_dtype_table[from].itemsize;
        for (int i = 0; i < N; i++) {
            memcpy(wide_src + 1 + i * 19, src + i * size, (size_t)size);
        }
        for (usm_dtype to = 0; to < USM_COMPUTED_DTYPES; to++) {
            int to_size = usm_dtype_table[to].itemsize;
            usm_cpu_row row = usm_cpu_cast_row(to, from);
            row(dst, src, N, to_size, size);
            row(wide_dst + 1, wide_src + 1, N, 21, 19);
            for (int i = 0; i < N; i++) {
                check_element(to, from, dst + i * to_size, src + i * size);
                CHECK_SAME(wide_dst + 1 + i * 21, dst + i * to_size, (size_t)to_size);
            }
            /* One element read again and again, as a broadcast does. */
            row(dst, src + 7 * size, 10, to_size, 0);
            for (int i = 0; i < 10; i++) {
                check_element(to, from, dst + i * to_size, src + 7 * size);
            }
        }
    }
    free(src);
    free(dst);
    free(wide_src);
    free(wide_dst);
}

/* In place, which the planner allows for types of one size. */
static void in_place(void)
{
    uint64_t seed = 13;
    char *values = malloc(N * 16), *old = malloc(N * 16);
    for (usm_dtype from = 0; from < USM_COMPUTED_DTYPES; from++) {
        for (usm_dtype to = 0; to < USM_COMPUTED_DTYPES; to++) {
            int size = usm_dtype_table[from].itemsize;
            if (size != usm_dtype_table[to].itemsize) {
                continue;
            }
            CHECK_STEP(from * USM_COMPUTED_DTYPES + to, seed);
            make_values(&seed, from, values);
            memcpy(old, values, (size_t)(N * size));
            usm_cpu_cast_row(to, from)(values, values, N, size, size);
            for (int i = 0; i < N; i++) {
                check_element(to, from, values + i * size, old + i * size);
            }
        }
    }
    free(values);
    free(old);
}

static void safe_casts_keep_every_value(void)
{
    uint64_t seed = 14;
    char *values = malloc(N * 16);
    for (usm_dtype from = 0; from < USM_COMPUTED_DTYPES; from++) {
        CHECK_STEP(from, seed);
        make_values(&seed, from, values);
        for (usm_dtype to = 0; to < USM_COMPUTED_DTYPES; to++) {
            char there[16], back[16];
            int size = usm_dtype_table[from].itemsize;
            for (int i = 0; i < N && usm_dtype_can_cast(from, to, USM_CAST_SAFE); i++) {
                usm_cpu_cast_row(to, from)(there, values + i * size, 1, 16, 16);
                usm_cpu_cast_row(from, to)(back, there, 1, 16, 16);
                number a = load(from, values + i * size), b = load(from, back);
                CHECK(same(a.re, b.re) && same(a.im, b.im));
            }
        }
    }
    free(values);
}

int main(void)
{
    watchdog(600);
    RUN(every_half_and_bfloat);
    RUN(rounding);
    RUN(every_pair);
    RUN(in_place);
    RUN(safe_casts_keep_every_value);
    return 0;
}
