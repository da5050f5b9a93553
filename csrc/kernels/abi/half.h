/*
 * float16 and bfloat16 as bits, to and from float, rounding to nearest even, by integer arithmetic: for casts
 * in kernels (cast.cl) and on the host (core/layout/half.h, which defines as_float and as_uint for C).
 */
#ifndef USM_ABI_HALF_H
#define USM_ABI_HALF_H

static inline float usm_half_to_float(ushort half_bits)
{
    uint sign = (uint)(half_bits & 0x8000) << 16, magnitude = half_bits & 0x7fff;
    if (magnitude >= 0x7c00) {
        return as_float(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
    }
    if (magnitude < 0x400) { /* zero or subnormal: units of 2**-24 */
        return as_float(sign | as_uint((float)magnitude * 0x1p-24f));
    }
    return as_float(sign | ((magnitude << 13) + 0x38000000));
}

static inline ushort usm_float_to_half(float x)
{
    uint bits = as_uint(x);
    uint sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) {
        return (ushort)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff)); /* NaN stays NaN */
    }
    if (magnitude >= 0x477ff000) { /* 65520: half way to the next power of two */
        return (ushort)(sign | 0x7c00);
    }
    if (magnitude < 0x38800000) { /* below 2**-14: adding 0.5 lines the last bits up with a subnormal's */
        return (ushort)(sign | (as_uint(as_float(magnitude) + 0.5f) - 0x3f000000));
    }
    return (ushort)(sign | ((magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13));
}

static inline float usm_bfloat_to_float(ushort bits)
{
    return as_float((uint)bits << 16);
}

static inline ushort usm_float_to_bfloat(float x)
{
    uint bits = as_uint(x);
    if ((bits & 0x7fffffff) > 0x7f800000) {
        return (ushort)(bits >> 16 | 0x40);
    }
    return (ushort)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/*
 * A float that rounds on to a narrower type as the double itself would: truncated, with the last bit set
 * where anything was cut off (rounding to odd; Boldo and Melquiond, "Emulation of FMA and correctly rounded
 * sums", 2008).
 */
#ifdef USM_HAS_FP64
static inline float usm_double_to_odd_float(double x)
{
    float near = (float)x;
    uint bits = as_uint(near);
    if ((double)near == x || x != x || (bits & 0x7fffffff) == 0x7f800000) {
        return near;
    }
    if (((double)near > x) == (x > 0)) {
        bits -= 1; /* rounded away from zero: one step back */
    }
    return as_float(bits | 1);
}
#endif

#endif
