/*
 * Complex numbers, T with the parts re and im of type R: included by functions.h, once for each type. Never
 * C's _Complex, whose multiplication and division differ between compilers.
 *
 * +, -, *, /, abs, sqrt, sign and reciprocal give the same bits everywhere, as they consist of operations
 * that are rounded correctly; other functions are made of the libraries' real ones. Special values and branch
 * cuts are those of C23, Annex G: conjugates have conjugate results, and the sign of a zero says on which
 * side of a cut a number is.
 */
#define USM_LOG_2 USM_CONSTANT(0.693147180559945309417232)
#define USM_HALF_PI USM_CONSTANT(1.570796326794896619231322)

static inline T S(of)(R re, R im)
{
    T z;
    z.re = re;
    z.im = im;
    return z;
}

/* sinh(S(turned)(z)) == S(turned)(sin(z)), and so on: a rotation by a quarter turn on both sides. */
static inline T S(turned)(T z)
{
    return S(of)(z.im, z.re);
}

static inline T S(conj)(T z)
{
    return S(of)(z.re, -z.im);
}

static inline T S(negative)(T z)
{
    return S(of)(-z.re, -z.im);
}

static inline T S(real)(T z)
{
    return S(of)(z.re, 0);
}

static inline T S(imag)(T z)
{
    return S(of)(z.im, 0);
}

static inline T S(round)(T z)
{
    return S(of)(rint(z.re), rint(z.im));
}

static inline T S(abs)(T z)
{
    return S(of)(S(hypot)(z.re, z.im), 0);
}

static inline T S(add)(T x, T y)
{
    return S(of)(x.re + y.re, x.im + y.im);
}

static inline T S(subtract)(T x, T y)
{
    return S(of)(x.re - y.re, x.im - y.im);
}

static inline T S(multiply)(T x, T y)
{
    return S(of)(x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re);
}

/* R. Smith, "Algorithm 116: Complex division", 1962: by the larger part of y, without its square. */
static inline T S(divide)(T x, T y)
{
    if (fabs(y.re) >= fabs(y.im)) {
        R ratio = y.re == 0 ? y.re : y.im / y.re, by = y.re + y.im * ratio; /* 0 / 0: each part by a zero */
        return S(of)((x.re + x.im * ratio) / by, (x.im - x.re * ratio) / by);
    }
    R ratio = y.re / y.im, by = y.im + y.re * ratio;
    return S(of)((x.re * ratio + x.im) / by, (x.im * ratio - x.re) / by);
}

static inline T S(reciprocal)(T z)
{
    if (fabs(z.re) >= fabs(z.im)) {
        R ratio = z.re == 0 ? z.re : z.im / z.re, by = z.re + z.im * ratio;
        return S(of)(1 / by, -ratio / by);
    }
    R ratio = z.re / z.im, by = z.im + z.re * ratio;
    return S(of)(ratio / by, -1 / by);
}

/* Products of reductions: 1 leaves every number as it is, infinities and -0.0 too. */
static inline T S(product)(T x, T y)
{
    return x.re == 1 && x.im == 0 ? y : y.re == 1 && y.im == 0 ? x : S(multiply)(x, y);
}

/* z / abs(z); NaN where both parts are infinite. */
static inline T S(sign)(T z)
{
    R length = S(hypot)(z.re, z.im);
    if (length == INFINITY && USM_IS_FINITE(z.re) && USM_IS_FINITE(z.im)) {
        z = S(of)(z.re / 4, z.im / 4);
        length = S(hypot)(z.re, z.im);
    }
    if (length == 0) {
        return S(of)(0, 0);
    }
    if (length == INFINITY) { /* one part without, one with an infinity */
        R re = USM_IS_FINITE(z.re) ? (R)0 : copysign((R)1, z.re),
          im = USM_IS_FINITE(z.im) ? (R)0 : copysign((R)1, z.im);
        return re != 0 && im != 0 ? S(of)(z.re - z.re, z.im - z.im) : S(of)(re, im);
    }
    return S(of)(z.re / length, z.im / length);
}

/* Scaled by powers of two, so that hypot neither overflows nor loses digits. */
static inline T S(sqrt)(T z)
{
    R x = z.re, y = z.im, largest = fmax(fabs(x), fabs(y)), back = 1;
    if (fabs(y) == INFINITY) {
        return S(of)(INFINITY, y);
    }
    if (fabs(x) == INFINITY) {
        R none = y - y; /* 0, or NaN */
        return x > 0 ? S(of)(x, copysign(none, y)) : S(of)(fabs(none), copysign(-x, y));
    }
    if (x == 0 && y == 0) {
        return S(of)(0, y);
    }
    if (largest > USM_PICK(0x1p100f, 0x1p1000)) {
        x /= 16, y /= 16, back = 4;
    } else if (largest < USM_PICK(0x1p-60f, 0x1p-500)) {
        x *= USM_PICK(0x1p100f, 0x1p600), y *= USM_PICK(0x1p100f, 0x1p600);
        back = USM_PICK(0x1p-50f, 0x1p-300);
    }
    R root = sqrt((fabs(x) + S(hypot)(x, y)) / 2), other = y / (2 * root);
    return x >= 0 ? S(of)(root * back, other * back) : S(of)(fabs(other) * back, copysign(root, y) * back);
}

/* e**x * (re, im) * scale, where the exponential alone may overflow. */
static inline T S(stretched)(R x, R re, R im, R scale)
{
    if (x > USM_PICK(80, 700)) {
        R root = exp(x / 2), rest = root * scale;
        return S(of)(root * re * rest, root * im * rest);
    }
    R whole = exp(x) * scale;
    return S(of)(whole * re, whole * im);
}

static inline T S(exp)(T z)
{
    R x = z.re, y = z.im, none = y - y; /* 0, or NaN */
    if (y == 0) {
        return S(of)(exp(x), y);
    }
    if (none != 0) {
        return x == -INFINITY ? S(of)(0, copysign((R)0, y)) : S(of)(x == INFINITY ? x : none, none);
    }
    return S(stretched)(x, cos(y), sin(y), 1);
}

static inline T S(expm1)(T z)
{
    R x = z.re, y = z.im;
    if (y == 0) {
        return S(of)(x == 0 ? 0 : expm1(x), y); /* +0 of -0, too */
    }
    if (!USM_IS_FINITE(y) || x > USM_PICK(20, 40)) {
        T power = S(exp)(z);
        return x == -INFINITY ? S(of)(-1, power.im) : power;
    }
    R sine = sin(y / 2);
    return S(of)(expm1(x) * cos(y) - 2 * sine * sine, exp(x) * sin(y));
}

static inline T S(cosh)(T z)
{
    R x = z.re, y = z.im, none = y - y;
    if (y == 0) {
        return S(of)(cosh(x), copysign((R)1, x) * y);
    }
    if (none != 0) {
        return S(of)(fabs(x) == INFINITY ? fabs(x) : none, x == 0 ? x : none);
    }
    if (fabs(x) > USM_PICK(10, 20)) { /* the other exponential is below the last digit */
        return S(stretched)(fabs(x), cos(y), copysign((R)1, x) * sin(y), USM_CONSTANT(0.5));
    }
    return S(of)(cosh(x) * cos(y), sinh(x) * sin(y));
}

static inline T S(sinh)(T z)
{
    R x = z.re, y = z.im, none = y - y;
    if (y == 0) {
        return S(of)(sinh(x), y);
    }
    if (none != 0) {
        return S(of)(x == 0 || fabs(x) == INFINITY ? x : none, none);
    }
    if (fabs(x) > USM_PICK(10, 20)) {
        return S(stretched)(fabs(x), copysign((R)1, x) * cos(y), sin(y), USM_CONSTANT(0.5));
    }
    return S(of)(sinh(x) * cos(y), cosh(x) * sin(y));
}

/* With the tangent of y: W. Kahan, "Branch cuts for complex elementary functions", 1987. */
static inline T S(tanh)(T z)
{
    R x = z.re, y = z.im, none = y - y;
    if (y == 0) {
        return S(of)(tanh(x), y);
    }
    if (fabs(x) == INFINITY) {
        return S(of)(copysign((R)1, x), copysign((R)0, y));
    }
    if (none != 0) {
        return S(of)(x == 0 ? x : none, none);
    }
    if (fabs(x) > USM_PICK(11, 22)) {
        R small = exp(-fabs(x));
        return S(of)(copysign((R)1, x), 4 * sin(y) * cos(y) * small * small);
    }
    R tangent = tan(y), sine = sinh(x), slope = 1 + tangent * tangent, by = 1 + slope * sine * sine;
    return S(of)(slope * sqrt(1 + sine * sine) * sine / by, tangent / by);
}

static inline T S(cos)(T z)
{
    return S(cosh)(S(of)(z.im, -z.re));
}

static inline T S(sin)(T z)
{
    return S(turned)(S(sinh)(S(turned)(z)));
}

static inline T S(tan)(T z)
{
    return S(turned)(S(tanh)(S(turned)(z)));
}

/* log(abs((1 + p, q))): the sum below is kept in five terms, since it may be far smaller than its terms. */
static inline R S(log_beside_1)(R p, R q)
{
    R sums[5];
    sums[0] = 2 * p, sums[1] = p * p, sums[2] = q * q;
    sums[3] = S(square_error)(p, sums[1]), sums[4] = S(square_error)(q, sums[2]);
    for (int round = 0; round < 2; round++) {
        for (int i = 1; i < 5; i++) { /* exact: sums[i] takes both, sums[i - 1] the error */
            R both = sums[i] + sums[i - 1], part = both - sums[i];
            sums[i - 1] = (sums[i] - (both - part)) + (sums[i - 1] - part);
            sums[i] = both;
        }
    }
    return log1p(sums[4] + (sums[3] + (sums[2] + (sums[1] + sums[0])))) / 2;
}

static inline R S(log_abs)(R x, R y)
{
    R a = fmax(fabs(x), fabs(y)), b = fmin(fabs(x), fabs(y));
    if (x != x || y != y) {
        return a == INFINITY ? a : x + y;
    }
    if (a >= USM_CONSTANT(0.5) && a <= 2 && a * a + b * b <= 3) {
        return S(log_beside_1)(a - 1, b);
    }
    if (a > USM_PICK(0x1p126f, 0x1p1022)) {
        return log(S(hypot)(a / 4, b / 4)) + 2 * USM_LOG_2;
    }
    if (a < USM_PICK(0x1p-100f, 0x1p-960)) {
        return log(S(hypot)(a * USM_PICK(0x1p64f, 0x1p128), b * USM_PICK(0x1p64f, 0x1p128))) -
               USM_PICK(64, 128) * USM_LOG_2;
    }
    return log(S(hypot)(a, b));
}

static inline T S(log)(T z)
{
    return S(of)(S(log_abs)(z.re, z.im), atan2(z.im, z.re));
}

static inline T S(log2)(T z)
{
    T w = S(log)(z);
    return S(of)(w.re / USM_LOG_2, w.im / USM_LOG_2);
}

static inline T S(log10)(T z)
{
    T w = S(log)(z);
    return S(of)(w.re / USM_CONSTANT(2.302585092994045684017991),
                 w.im / USM_CONSTANT(2.302585092994045684017991));
}

static inline T S(log1p)(T z)
{
    if (fabs(z.re) < USM_CONSTANT(0.5) && fabs(z.im) < 2) {
        return S(of)(S(log_beside_1)(z.re, z.im), atan2(z.im, 1 + z.re));
    }
    return S(log)(S(of)(1 + z.re, z.im));
}

/* So far from 0 that the inverse functions are logarithms; infinities, too. */
static inline int S(is_far)(T z)
{
    return fabs(z.re) > USM_PICK(0x1p15f, 0x1p30) || fabs(z.im) > USM_PICK(0x1p15f, 0x1p30);
}

/*
 * The inverse functions as Kahan (1987) writes them, with the square roots of 1 - z and 1 + z: all sums are
 * of numbers of one sign, so that no digits are lost.
 */
static inline T S(acos)(T z)
{
    R x = z.re, y = z.im;
    if (S(is_far)(z)) {
        return S(of)(atan2(fabs(y), x), -copysign(S(log_abs)(x, y) + USM_LOG_2, y));
    }
    if (x != x || y != y) {
        return S(of)(x == 0 ? USM_HALF_PI : x + y, x + y);
    }
    T less = S(sqrt)(S(of)(1 - x, -y)), more = S(sqrt)(S(of)(1 + x, y));
    return S(of)(2 * atan2(less.re, more.re), asinh(more.re * less.im - more.im * less.re));
}

static inline T S(asin)(T z)
{
    R x = z.re, y = z.im;
    if (S(is_far)(z)) {
        return S(of)(copysign(atan2(fabs(x), fabs(y)), x), copysign(S(log_abs)(x, y) + USM_LOG_2, y));
    }
    if (x != x || y != y) {
        return S(of)(x == 0 ? x : x + y, x + y);
    }
    T less = S(sqrt)(S(of)(1 - x, -y)), more = S(sqrt)(S(of)(1 + x, y));
    return S(of)(atan2(x, less.re * more.re - less.im * more.im),
                 asinh(less.re * more.im - less.im * more.re));
}

static inline T S(acosh)(T z)
{
    T w = S(acos)(z);
    return S(of)(fabs(w.im), copysign(w.re, z.im));
}

static inline T S(asinh)(T z)
{
    return S(turned)(S(asin)(S(turned)(z)));
}

static inline T S(atanh)(T z)
{
    R x = z.re, y = z.im, a = fabs(x), b = fabs(y), re;
    if (S(is_far)(z)) { /* 1 / z and a quarter turn */
        T rest = a == INFINITY || b == INFINITY ? S(of)(0, 0) : S(reciprocal)(S(of)(a, -b));
        return S(of)(copysign(rest.re, x), y != y ? y : copysign(USM_HALF_PI - rest.im, y));
    }
    if (x != x || y != y) {
        return S(of)(x == 0 ? x : x + y, x + y);
    }
    if (a == 1 && b < USM_PICK(0x1p-30f, 0x1p-60)) { /* b * b would vanish */
        re = (USM_LOG_2 - log(b)) / 2;
    } else {
        re = log1p(4 * a / ((1 - a) * (1 - a) + b * b)) / 4;
    }
    return S(of)(copysign(re, x), atan2(2 * y, (1 - a) * (1 + a) - y * y) / 2);
}

static inline T S(atan)(T z)
{
    return S(turned)(S(atanh)(S(turned)(z)));
}

/* Small integer powers by squaring; others as exp(y * log(x)), whose error grows with abs(y * log(x)). */
static inline T S(pow)(T x, T y)
{
    if (y.re == 0 && y.im == 0) {
        return S(of)(1, 0);
    }
    if (x.re == 0 && x.im == 0) {
        R none = y.re > 0 ? (R)0 : (R)INFINITY - (R)INFINITY;
        return S(of)(none, none);
    }
    if (y.im == 0 && fabs(y.re) <= 64 && rint(y.re) == y.re) {
        T result = S(of)(1, 0), power = x;
        for (int n = (int)fabs(y.re); n != 0; n >>= 1) {
            result = (n & 1) != 0 ? S(product)(result, power) : result;
            power = n > 1 ? S(multiply)(power, power) : power;
        }
        return y.re < 0 ? S(reciprocal)(result) : result;
    }
    T w = S(log)(x);
    return S(exp)(y.im == 0 ? S(of)(y.re * w.re, y.re * w.im) : S(multiply)(y, w));
}
