"""Philox4x32-10 and the distributions over it, in the portable kernel language.

The functions use integer arithmetic, and additions, multiplications, divisions and square roots that are
correctly rounded, so that they give the same bits on every device. Division and square root of float may be
off by a few units in the last place on OpenCL devices: the float functions divide nowhere, and correct the
square root by integers.

The polynomials are near-minimax fits (Chebyshev) of log(1 + f), sin and cos on the reduced ranges.
"""

from __future__ import annotations

__all__ = ["PHILOX"]

PHILOX = """\
/* Four words from a counter of four words and a key of two (Salmon et al., 2011). */
static void philox4x32_10(uint c0, uint c1, uint c2, uint c3, uint k0, uint k1, uint *out)
{
    for (int round = 0; round < 10; round++) {
        const uint high0 = mul_hi(0xD2511F53u, c0), low0 = 0xD2511F53u * c0;
        const uint high1 = mul_hi(0xCD9E8D57u, c2), low1 = 0xCD9E8D57u * c2;
        c0 = high1 ^ c1 ^ k0;
        c1 = low1;
        c2 = high0 ^ c3 ^ k1;
        c3 = low0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}
/* A multiple of 2**-24 in [0, 1). */
static float philox_uniform_float(uint x)
{
    return (float)(x >> 8) * 0x1p-24f;
}
/* The correctly rounded square root of a normal number or 0. */
static float philox_sqrt(float x)
{
    const uint bits = as_uint(x);
    int e = (int)(bits >> 23) - 173;
    ulong q = (ulong)((bits & 0x7fffffu) | 0x800000u) << 23;
    if (x == 0.0f)
        return 0.0f;
    if ((e & 1) != 0) {
        q <<= 1;
        e -= 1;
    }
    ulong r = (ulong)sqrt((float)q);
    while (r * r > q)
        r--;
    while ((r + 1) * (r + 1) <= q)
        r++;
    if (q - r * r > r)
        r++;
    return (float)r * as_float((uint)(e / 2 + 127) << 23);
}
/* -log((x + 1) / 2**32). */
static float philox_exponential_float(uint x)
{
    const uint w = 0xffffffffu - x;
    float f, k = 0.0f;
    if (w < 0x4afb0cccu) {
        f = -((float)w * 0x1p-32f);
    } else {
        const uint bits = as_uint((float)(x + 1u));
        float m = as_float((bits & 0x7fffffu) | 0x3f800000u);
        k = (float)((int)(bits >> 23) - 159);
        if (m > 1.4142135f) {
            m *= 0.5f;
            k += 1.0f;
        }
        f = m - 1.0f;
    }
    float p = 0.06971612f;
    p = p * f - 0.11479734f;
    p = p * f + 0.1168542f;
    p = p * f - 0.12425687f;
    p = p * f + 0.14249058f;
    p = p * f - 0.16667803f;
    p = p * f + 0.20000716f;
    p = p * f - 0.24999997f;
    p = p * f + 0.3333333f;
    const float square = f * f;
    const float tail = f * square * p + k * -2.12194440e-4f;
    return -(k * 0.693359375f + (f - (0.5f * square - tail)));
}
/* The octant of an angle of x / 2**32 turns: whether sine and cosine are exchanged, and their signs. */
static bool philox_exchanged(uint octant) { return (((octant + 1u) >> 1) & 1u) != 0u; }
static bool philox_cosine_negative(uint octant) { return octant >= 2u && octant < 6u; }
static bool philox_sine_negative(uint octant) { return octant >= 4u; }
/* Two normal numbers (Box and Muller). */
static void philox_normal_float(uint x, uint y, float *a, float *b)
{
    const float radius = philox_sqrt(2.0f * philox_exponential_float(x));
    const uint octant = y >> 29, rest = y & 0x1fffffffu;
    const float t = (float)((octant & 1u) != 0u ? 0x20000000u - rest : rest) * 0x1p-29f;
    const float w = t * t;
    float s = -3.595429e-05f;
    s = s * w + 0.0024900069f;
    s = s * w - 0.080745436f;
    s = (s * w + 0.7853982f) * t;
    float c = 3.5419528e-06f;
    c = c * w - 0.0003259614f;
    c = c * w + 0.015854338f;
    c = c * w - 0.30842513f;
    c = c * w + 1.0f;
    const bool exchanged = philox_exchanged(octant);
    const float cosine = exchanged ? s : c, sine = exchanged ? c : s;
    *a = radius * (philox_cosine_negative(octant) ? -cosine : cosine);
    *b = radius * (philox_sine_negative(octant) ? -sine : sine);
}
#if defined(cl_khr_fp64) || defined(__opencl_c_fp64)
/* A multiple of 2**-53 in [0, 1). */
static double philox_uniform_double(ulong x)
{
    return (double)(x >> 11) * 0x1p-53;
}
/* -log((x + 1) / 2**64). */
static double philox_exponential_double(ulong x)
{
    const ulong w = 0xffffffffffffffffUL - x;
    double f, k = 0.0;
    if (w < 0x4afb0ccc06219b7cUL) {
        f = -((double)w * 0x1p-64);
    } else {
        const ulong bits = as_ulong((double)(x + 1UL));
        double m = as_double((bits & 0xfffffffffffffUL) | 0x3ff0000000000000UL);
        k = (double)((int)(bits >> 52) - 1087);
        if (m > 1.4142135623730951) {
            m *= 0.5;
            k += 1.0;
        }
        f = m - 1.0;
    }
    const double s = f / (2.0 + f), z = s * s, half_square = 0.5 * f * f;
    double p = 0.14616449685043406;
    p = p * z + 0.15331721600556042;
    p = p * z + 0.18182889125261723;
    p = p * z + 0.2222221113479508;
    p = p * z + 0.28571428625975487;
    p = p * z + 0.39999999999899505;
    p = p * z + 0.666666666666667;
    p = p * z;
    const double tail = s * (half_square + p) + k * 1.90821492927058770002e-10;
    return -(k * 6.93147180369123816490e-01 + (f - (half_square - tail)));
}
/* Two normal numbers (Box and Muller). */
static void philox_normal_double(ulong x, ulong y, double *a, double *b)
{
    const double radius = sqrt(2.0 * philox_exponential_double(x));
    const uint octant = (uint)(y >> 61);
    const ulong rest = y & 0x1fffffffffffffffUL;
    const double t = (double)((octant & 1u) != 0u ? 0x2000000000000000UL - rest : rest) * 0x1p-61;
    const double w = t * t;
    double s = -2.0225906185890113e-14;
    s = s * w + 6.948154114367228e-12;
    s = s * w - 1.7572474204808876e-09;
    s = s * w + 3.133616889192818e-07;
    s = s * w - 3.6576204182147085e-05;
    s = s * w + 0.0024903945701927163;
    s = s * w - 0.08074551218828079;
    s = (s * w + 0.7853981633974483) * t;
    double c = 9.93838917174196e-16;
    c = c * w - 3.8979425640286355e-13;
    c = c * w + 1.1501158023513504e-10;
    c = c * w - 2.461136949976664e-08;
    c = c * w + 3.590860448590193e-06;
    c = c * w - 0.00032599188692738985;
    c = c * w + 0.015854344243815502;
    c = c * w - 0.30842513753404244;
    c = c * w + 1.0;
    const bool exchanged = philox_exchanged(octant);
    const double cosine = exchanged ? s : c, sine = exchanged ? c : s;
    *a = radius * (philox_cosine_negative(octant) ? -cosine : cosine);
    *b = radius * (philox_sine_negative(octant) ? -sine : sine);
}
#endif
"""
