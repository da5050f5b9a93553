/*
 * What the table of operations (csrc/kernels/operations.py) names as S(function): for one type T a build,
 * whose suffix S adds. USM_KIND is the kind of T; R is the real type of a complex T, or a real T itself,
 * USM_CONSTANT(x) a constant of it, and USM_PICK(single, twofold) the one of two that fits it. On the host,
 * it is included once for each type.
 */
#define USM_SIGNED_KIND 1
#define USM_UNSIGNED_KIND 2
#define USM_REAL_KIND 3
#define USM_COMPLEX_KIND 4

#define USM_IS_FINITE(x) ((x) - (x) == 0)

/* What reductions do with two numbers, and what they begin with. */
#if USM_KIND == USM_REAL_KIND
#define USM_SUM_OF(x, y) ((x) + (y))
#define USM_PRODUCT_OF(x, y) ((x) * (y))
#define USM_LARGER_OF(x, y) ((x) >= (y) || (x) != (x) ? (x) : (y))
#define USM_SMALLER_OF(x, y) ((x) <= (y) || (x) != (x) ? (x) : (y))
#define USM_IS_NAN(x) ((x) != (x))
#define USM_ZERO ((T)-0.0f)
#define USM_LEAST ((T)-INFINITY)
#define USM_GREATEST ((T)INFINITY)
#define USM_UNIT ((T)1)
#elif USM_KIND == USM_COMPLEX_KIND
#define USM_SUM_OF(x, y) S(add)(x, y)
#define USM_PRODUCT_OF(x, y) S(product)(x, y)
#define USM_ZERO S(of)(-0.0f, -0.0f)
#define USM_UNIT S(of)(1, 0)
#else
#define USM_SUM_OF(x, y) ((T)((U)(x) + (U)(y)))
#define USM_PRODUCT_OF(x, y) ((T)((U)(x) * (U)(y)))
#define USM_LARGER_OF(x, y) ((x) > (y) ? (x) : (y))
#define USM_SMALLER_OF(x, y) ((x) < (y) ? (x) : (y))
#define USM_IS_NAN(x) 0
#define USM_ZERO ((T)0)
#define USM_UNIT ((T)1)
#if USM_KIND == USM_SIGNED_KIND
#define USM_LEAST ((T)((U)1 << (8 * sizeof(T) - 1)))
#else
#define USM_LEAST ((T)0)
#endif
#define USM_GREATEST ((T)((U)USM_LEAST - 1))
#endif

#if USM_KIND == USM_SIGNED_KIND || USM_KIND == USM_UNSIGNED_KIND
#define USM_BITS ((int)sizeof(T) * 8)
#define USM_SHIFT(y) ((U)(y) & (U)(sizeof(U) * 8 - 1)) /* defined for every y */

/* By repeated squaring, modulo 2**bits. A negative exponent gives 0, but for the bases 1 and -1. */
static inline T S(power)(T x, T y)
{
    U base = (U)x, result = 1;
#if USM_KIND == USM_SIGNED_KIND
    if (y < 0) {
        return x == 1 ? (T)1 : x == -1 ? (y & 1 ? (T)-1 : (T)1) : (T)0;
    }
#endif
    for (; y != 0; y = (T)(y >> 1)) {
        result = y & 1 ? result * base : result;
        base *= base;
    }
    return (T)result;
}

/*
 * Shifts by the number of bits and more are undefined in C, and taken modulo that number by OpenCL C. A
 * negative number is a large one in U.
 */
static inline T S(left_shift)(T x, T y)
{
    return (U)y >= (U)USM_BITS ? (T)0 : (T)((U)x << USM_SHIFT(y));
}

static inline T S(right_shift)(T x, T y)
{
#if USM_KIND == USM_SIGNED_KIND
    return (U)y >= (U)USM_BITS ? (T)(x < 0 ? -1 : 0) : (T)(x >> USM_SHIFT(y));
#else
    return (U)y >= (U)USM_BITS ? (T)0 : (T)(x >> USM_SHIFT(y));
#endif
}
#endif

#if USM_KIND == USM_SIGNED_KIND
/* Division by 0 gives 0. Division by -1 is a negation: the smallest number has no positive counterpart. */
static inline T S(floor_divide)(T x, T y)
{
    if (y == 0) {
        return 0;
    }
    if (y == -1) {
        return (T)(0 - (U)x);
    }
    T quotient =
        (T)(x / y); /* one division: llvm-spirv knows no code that joins it with that of a remainder */
    return (T)(quotient - (quotient * y != x && (x < 0) != (y < 0)));
}

static inline T S(remainder)(T x, T y)
{
    if (y == 0 || y == -1) {
        return 0;
    }
    T rest = (T)(x % y);
    return (T)(rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest);
}
#endif

#if USM_KIND == USM_REAL_KIND || USM_KIND == USM_COMPLEX_KIND
/*
 * x * x less the rounded square, exactly (T. Dekker, "A floating-point technique for extending the available
 * precision", 1971): fma would do, but is slow where processors lack it.
 */
static inline R S(square_error)(R x, R square)
{
    R split = x * USM_PICK(4097, 134217729), high = split - (split - x), low = x - high;
    return ((high * high - square) + 2 * high * low) + low * low;
}

/* The rounded root is corrected by the exact error of its square. The same bits everywhere. */
static inline R S(hypot)(R x, R y)
{
    R a = fabs(x), b = fabs(y), larger = a < b ? b : a, smaller = a < b ? a : b;
    R scale = larger > USM_PICK(0x1p50f, 0x1p500)     ? USM_PICK(0x1p-100f, 0x1p-600)
              : larger < USM_PICK(0x1p-50f, 0x1p-500) ? USM_PICK(0x1p100f, 0x1p600)
                                                      : (R)1;
    if (a == INFINITY || b == INFINITY) {
        return INFINITY;
    }
    larger *= scale;
    smaller *= scale;
    R of_larger = larger * larger, of_smaller = smaller * smaller, root = sqrt(of_larger + of_smaller);
    R square = root * root, rest = (square - of_larger) - of_smaller;
    rest += (S(square_error)(root, square) - S(square_error)(larger, of_larger)) -
            S(square_error)(smaller, of_smaller);
    root -= root == 0 ? root : rest / (2 * root);
    return scale < 1   ? root * USM_PICK(0x1p100f, 0x1p600)
           : scale > 1 ? root * USM_PICK(0x1p-100f, 0x1p-600)
                       : root;
}
#endif

#if USM_KIND == USM_COMPLEX_KIND
#include "complex.h"
#endif

#if USM_KIND == USM_REAL_KIND
/* fmod is exact. The remainder has the sign of y, and the quotient is the integer that belongs to it. */
static inline T S(remainder)(T x, T y)
{
    T rest = fmod(x, y);
    if (y == 0) {
        return rest; /* NaN */
    }
    if (rest == 0) {
        return copysign((T)0, y);
    }
    return (rest < 0) != (y < 0) ? rest + y : rest;
}

/*
 * Of infinite operands, the floor of the quotient, as the array API standard prefers; Python's results are
 * NaN and -1.
 */
static inline T S(floor_divide)(T x, T y)
{
    if (y == 0 || fabs(x) == INFINITY || fabs(y) == INFINITY) {
        return floor(x / y);
    }
    T rest = fmod(x, y), quotient = (x - rest) / y;
    if (rest != 0 && (rest < 0) != (y < 0)) {
        quotient -= 1;
    }
    if (quotient == 0) {
        return copysign((T)0, x / y);
    }
    T whole = floor(quotient);
    return quotient - whole > (T)0.5f ? whole + 1 : whole;
}

static inline T S(logaddexp)(T x, T y)
{
    T larger = x > y ? x : y, difference = x > y ? y - x : x - y;
    if (x == y) { /* infinities of one sign, too */
        return x + USM_CONSTANT(0.693147180559945309417232);
    }
    return difference != difference ? x + y : larger + log1p(exp(difference));
}

/* nextafter of numbers that are float16 and bfloat16 in memory. */
static inline T S(next_half)(T x, T y)
{
    if (!(x < y) && !(x > y)) {
        return x == y ? y : x + y;
    }
    int step = (x < y) == (x > 0) ? 1 : -1;
    return x == 0 ? copysign((T)0x1p-24f, y)
                  : (T)usm_half_to_float((ushort)(usm_float_to_half((float)x) + step));
}

static inline T S(next_bfloat)(T x, T y)
{
    if (!(x < y) && !(x > y)) {
        return x == y ? y : x + y;
    }
    int step = (x < y) == (x > 0) ? 1 : -1;
    return x == 0 ? copysign((T)0x1p-133f, y)
                  : (T)usm_bfloat_to_float((ushort)(usm_float_to_bfloat((float)x) + step));
}

static inline T S(signbit)(T x)
{
    return copysign((T)1, x) < 0 ? (T)1 : (T)0;
}
#endif
