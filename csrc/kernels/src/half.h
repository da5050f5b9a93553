/* float16 and bfloat16 as bits, to and from float, by integer arithmetic: no device needs half precision. */
#ifndef USM_KERNELS_HALF_H
#define USM_KERNELS_HALF_H

static float usm_half_to_float(ushort half_bits)
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

static ushort usm_float_to_half(float x)
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

static float usm_bfloat_to_float(ushort bits)
{
    return as_float((uint)bits << 16);
}

static ushort usm_float_to_bfloat(float x)
{
    uint bits = as_uint(x);
    if ((bits & 0x7fffffff) > 0x7f800000) {
        return (ushort)(bits >> 16 | 0x40);
    }
    return (ushort)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#endif
