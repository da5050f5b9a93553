// --- floordiv
static inline T F(T a, T b)
{
    if (b == 0) {
        return 0;
    }
    if (b == -1) {
        return (T)(0 - (U)a);
    }
    return (T)(a / b - ((a % b != 0) & ((a < 0) != (b < 0))));
}
// --- mod
static inline T F(T a, T b)
{
    if (b == 0 || b == -1) {
        return 0;
    }
    T r = (T)(a % b);
    return (T)(r + ((r != 0) & ((r < 0) != (b < 0)) ? b : 0));
}
// --- floordiv_real
static inline T F(T a, T b)
{
    T m = fmod(a, b), d = (a - m) / b;
    if (b == 0) {
        return a / b;
    }
    if (m != 0 && (b < 0) != (m < 0)) {
        d -= 1;
    }
    T f = floor(d);
    return d == 0 ? copysign((T)0, a / b) : d - f > (T)0.5f ? f + 1 : f;
}
// --- mod_real
static inline T F(T a, T b)
{
    T m = fmod(a, b);
    return m == 0 && b != 0 ? copysign((T)0, b) : m != 0 && b != 0 && (b < 0) != (m < 0) ? m + b : m;
}
// --- power
static inline T F(T a, long n)
{
    U result = n >= 0, base = (U)a;
    for (; n > 0; n >>= 1) {
        if (n & 1) {
            result = (U)(1u * result * base);
        }
        base = (U)(1u * base * base);
    }
    return (T)result;
}
// --- order
static inline int F(ulong a, long b)
{
    return b < 0 || a > (ulong)b ? 1 : a < (ulong)b ? -1 : 0;
}
// --- max
static inline T F(T a, T b)
{
    return b > a ? b : a;
}
// --- min
static inline T F(T a, T b)
{
    return b < a ? b : a;
}
// --- maximum
static inline T F(T a, T b)
{
    return a != a || a > b ? a : b;
}
// --- minimum
static inline T F(T a, T b)
{
    return a != a || a < b ? a : b;
}
// --- sign
static inline T F(T a)
{
    return a > 0 ? (T)1 : a < 0 ? (T)-1 : a;
}
// --- sign_uint
static inline T F(T a)
{
    return a > 0;
}
// --- abs
static inline T F(T a)
{
    return a < 0 ? (T)(0 - (U)a) : a;
}
// --- gcd
static inline T F(T a, T b)
{
    U x = a < 0 ? (U)(0 - (U)a) : (U)a, y = b < 0 ? (U)(0 - (U)b) : (U)b;
    while (y != 0) {
        U r = (U)(x % y);
        x = y;
        y = r;
    }
    return (T)x;
}
// --- logaddexp
static inline T F(T a, T b)
{
    T high = fmax(a, b), low = fmin(a, b);
    return a != a || b != b ? a + b : high == low ? high + log((T)2) : high + log1p(exp(low - high));
}
// --- bfloat16
static inline ushort F(float a)
{
    uint u = as_uint(a);
    return a != a ? (ushort)(u >> 16 | 64) : (ushort)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
// --- clog
static inline T F(T z)
{
    return T(log(hypot(z.real, z.imag)), atan2(z.imag, z.real));
}
// --- csqrt
static inline T F(T z)
{
    R m = hypot(z.real, z.imag), p = sqrt((m + fabs(z.real)) / 2);
    if (m == 0 || isinf(z.imag)) {
        return T(fabs(z.imag), z.imag);
    }
    R q = fabs(z.imag) / (2 * p);
    return T(z.real >= 0 ? p : q, copysign(z.real >= 0 ? q : p, z.imag));
}
// --- cdiv
static inline T F(T a, T b)
{
    if (b.real == 0 && b.imag == 0) {
        return T(a.real / fabs(b.real), a.imag / fabs(b.real));
    }
    if (fabs(b.real) >= fabs(b.imag)) {
        R ratio = b.imag / b.real, part = 1 / (b.real + b.imag * ratio);
        return T((a.real + a.imag * ratio) * part, (a.imag - a.real * ratio) * part);
    }
    R ratio = b.real / b.imag, part = 1 / (b.real * ratio + b.imag);
    return T((a.real * ratio + a.imag) * part, (a.imag * ratio - a.real) * part);
}
// --- csin
static inline T F(T z)
{
    return T(sin(z.real) * cosh(z.imag), cos(z.real) * sinh(z.imag));
}
// --- ccos
static inline T F(T z)
{
    return T(cos(z.real) * cosh(z.imag), -(sin(z.real) * sinh(z.imag)));
}
// --- csinh
static inline T F(T z)
{
    return T(sinh(z.real) * cos(z.imag), cosh(z.real) * sin(z.imag));
}
// --- ccosh
static inline T F(T z)
{
    return T(cosh(z.real) * cos(z.imag), sinh(z.real) * sin(z.imag));
}
// --- cpow
static inline T F(T a, T b)
{
    R m = hypot(a.real, a.imag), angle = atan2(a.imag, a.real);
    if (m == 0) {
        return b.real == 0 && b.imag == 0 ? T(1, 0) : T(0, 0);
    }
    R size = pow(m, b.real) * exp(-(b.imag * angle)), turn = b.imag * log(m) + b.real * angle;
    return T(size * cos(turn), size * sin(turn));
}
// --- cpown
static inline T F(T a, uint n)
{
    T result = T(1, 0), base = a;
    for (uint k = n; k > 0; k >>= 1) {
        if (k & 1) {
            result = result * base;
        }
        base = base * base;
    }
    return result;
}
