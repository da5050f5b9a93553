/* float16 and bfloat16 as bits, to and from float and double, rounding to nearest even. */
#ifndef USM_CORE_HALF_H
#define USM_CORE_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t usm_float_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float usm_bits_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/*
 * A float that rounds on to a narrower type as the double itself would: truncated, with the last bit set
 * where anything was cut off (rounding to odd; Boldo and Melquiond, "Emulation of FMA and correctly rounded
 * sums", 2008).
 */
static inline float usm_double_to_odd_float(double x)
{
    float near = (float)x;
    uint32_t bits = usm_float_bits(near);
    if ((double)near == x || x != x || (bits & 0x7fffffff) == 0x7f800000) {
        return near;
    }
    if (((double)near > x) == (x > 0)) {
        bits -= 1; /* rounded away from zero: one step back */
    }
    return usm_bits_float(bits | 1);
}

/* The same one step earlier, for integers that a double does not hold. */
static inline double usm_uint64_to_odd_double(uint64_t x)
{
    return x >> 53 == 0 ? (double)x : (double)(x >> 11 | ((x & 0x7ff) != 0)) * 2048.0;
}

static inline double usm_int64_to_odd_double(int64_t x)
{
    return x < 0 ? -usm_uint64_to_odd_double(-(uint64_t)x) : usm_uint64_to_odd_double((uint64_t)x);
}

static inline uint16_t usm_float_to_half(float x)
{
    uint32_t bits = usm_float_bits(x);
    uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) {
        return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff)); /* NaN stays NaN */
    }
    if (magnitude >= 0x477ff000) { /* 65520: half way to the next power of two */
        return (uint16_t)(sign | 0x7c00);
    }
    if (magnitude < 0x38800000) { /* below 2**-14: adding 0.5 lines the last bits up with a subnormal's */
        return (uint16_t)(sign | (usm_float_bits(usm_bits_float(magnitude) + 0.5f) - 0x3f000000));
    }
    return (uint16_t)(sign | ((magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13));
}

static inline float usm_half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, magnitude = half & 0x7fff;
    if (magnitude >= 0x7c00) {
        return usm_bits_float(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
    }
    if (magnitude < 0x400) { /* zero or subnormal: units of 2**-24 */
        float value = (float)magnitude * 0x1p-24f;
        return usm_bits_float(sign | usm_float_bits(value));
    }
    return usm_bits_float(sign | ((magnitude << 13) + 0x38000000));
}

static inline uint16_t usm_float_to_bfloat(float x)
{
    uint32_t bits = usm_float_bits(x);
    if ((bits & 0x7fffffff) > 0x7f800000) {
        return (uint16_t)(bits >> 16 | 0x40);
    }
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline float usm_bfloat_to_float(uint16_t bits)
{
    return usm_bits_float((uint32_t)bits << 16);
}

#endif
