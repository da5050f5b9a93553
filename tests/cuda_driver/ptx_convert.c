/* Conversions between all types, with the rounding that they ask for. */
#include "ptx.h"

#include <math.h>

float ptx_from_half(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 0x3ff,
             bits;
    float value;
    if (exponent == 31) {
        bits = sign | 0x7f800000 | fraction << 13;
    } else if (exponent != 0) {
        bits = sign | (exponent + 112) << 23 | fraction << 13;
    } else {
        value = (float)fraction * 0x1p-24f;
        return sign != 0 ? -value : value;
    }
    memcpy(&value, &bits, 4);
    return value;
}

/* A value without fraction, in this direction. */
static double integral_of(double value, ptx_round round)
{
    switch (round) {
        case ROUND_RZ:
            return trunc(value);
        case ROUND_RM:
            return floor(value);
        case ROUND_RP:
            return ceil(value);
        case ROUND_RA:
            return __builtin_round(value);
        default:
            return nearbyint(value);
    }
}

/* Rounded to `fraction` bits behind the leading one, with this least exponent and greatest value. */
static double narrow(double value, int fraction, int least, double greatest, ptx_round round)
{
    int exponent;
    if (value == 0 || !isfinite(value)) {
        return value;
    }
    frexp(value, &exponent);
    exponent = exponent - 1 < least ? least : exponent - 1;
    double unit = ldexp(1, exponent - fraction), rounded = integral_of(value / unit, round) * unit;
    if (fabs(rounded) > greatest) {
        bool stays =
            round == ROUND_RZ || (round == ROUND_RM && value > 0) || (round == ROUND_RP && value < 0);
        rounded = copysign(stays ? greatest : INFINITY, value);
    }
    return copysign(rounded, value);
}

uint16_t ptx_to_half(double value, ptx_round round)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    int exponent;
    if (isnan(value)) {
        return 0x7fff;
    }
    double magnitude = fabs(narrow(value, 10, -14, 65504, round));
    if (isinf(magnitude)) {
        return sign | 0x7c00;
    }
    if (magnitude < 0x1p-14) {
        return (uint16_t)(sign | (uint16_t)(magnitude * 0x1p24));
    }
    frexp(magnitude, &exponent);
    uint16_t fraction = (uint16_t)(ldexp(magnitude, 11 - exponent) - 1024);
    return (uint16_t)(sign | (uint16_t)((exponent + 14) << 10) | fraction);
}

static uint16_t to_bfloat(double value, ptx_round round)
{
    float single = (float)narrow(value, 7, -126, 0x1.fep127, round);
    uint32_t bits;
    memcpy(&bits, &single, 4);
    return isnan(value) ? 0x7fff : (uint16_t)(bits >> 16);
}

static double float_of(uint64_t bits, ptx_type type)
{
    float single;
    double wide;
    uint32_t low = (uint32_t)bits;
    switch (type) {
        case T_F16:
            return ptx_from_half((uint16_t)bits);
        case T_BF16:
            low = (uint32_t)(uint16_t)bits << 16;
            memcpy(&single, &low, 4);
            return single;
        case T_F32:
            memcpy(&single, &low, 4);
            return single;
        default:
            memcpy(&wide, &bits, 8);
            return wide;
    }
}

static uint64_t to_float(double value, ptx_type type, ptx_round round)
{
    uint64_t bits = 0;
    float single;
    switch (type) {
        case T_F16:
            return ptx_to_half(value, round);
        case T_BF16:
            return to_bfloat(value, round);
        case T_F32:
            single = round == ROUND_RN ? (float)value : (float)narrow(value, 23, -126, 0x1.fffffep127, round);
            memcpy(&bits, &single, 4);
            return bits;
        default:
            memcpy(&bits, &value, 8);
            return bits;
    }
}

static int64_t integer_of(uint64_t bits, ptx_type type)
{
    switch (type) {
        case T_U8:
            return (uint8_t)bits;
        case T_S8:
            return (int8_t)bits;
        case T_U16:
            return (uint16_t)bits;
        case T_S16:
            return (int16_t)bits;
        case T_U32:
            return (uint32_t)bits;
        case T_S32:
            return (int32_t)bits;
        default:
            return (int64_t)bits;
    }
}

static bool is_signed(ptx_type type)
{
    return type == T_S8 || type == T_S16 || type == T_S32 || type == T_S64;
}

/* Outside of the type's range: its end; no number: 0 */
static uint64_t to_integer(double value, ptx_type type)
{
    int bits = 8 * (int)ptx_size_of(type);
    double least = is_signed(type) ? -ldexp(1, bits - 1) : 0,
           end = ldexp(1, is_signed(type) ? bits - 1 : bits);
    if (isnan(value)) {
        return is_signed(type) || bits < 32 ? 0 : 0;
    }
    if (value < least) {
        return is_signed(type) ? (uint64_t)(INT64_MIN >> (64 - bits)) : 0;
    }
    if (value >= end) {
        return is_signed(type) ? (uint64_t)INT64_MAX >> (64 - bits) : UINT64_MAX >> (64 - bits);
    }
    return is_signed(type) ? (uint64_t)(int64_t)value : (uint64_t)value;
}

static uint64_t saturate(uint64_t bits, ptx_type from, ptx_type to)
{
    int64_t value = integer_of(bits, from);
    int width = 8 * (int)ptx_size_of(to);
    bool huge = from == T_U64 && value < 0;
    if (is_signed(to)) {
        int64_t most = INT64_MAX >> (64 - width), least = INT64_MIN >> (64 - width);
        return (uint64_t)(huge || value > most ? most : value < least ? least : value);
    }
    uint64_t most = UINT64_MAX >> (64 - width);
    return !huge && value < 0 ? 0 : (uint64_t)value > most ? most : (uint64_t)value;
}

uint64_t ptx_convert(uint64_t bits, int32_t code)
{
    ptx_type to = (ptx_type)(code & 15), from = (ptx_type)(code >> 4 & 15);
    ptx_round round = (ptx_round)(code >> 8 & 15);
    bool integral = code >> 12 & 1, saturates = code >> 13 & 1;
    bool from_integer = from <= T_S64, to_integer_type = to <= T_S64;
    if (from_integer && to_integer_type) {
        return saturate(bits, from, to);
    }
    if (from_integer) {
        int64_t value = integer_of(bits, from);
        long double wide = from == T_U64 ? (long double)(uint64_t)value : (long double)value;
        double rounded = (double)wide;
        /* A double does not hold all of 64 bits: its direction is found out by hand. */
        if (round == ROUND_RZ && fabsl(rounded) > fabsl(wide)) {
            rounded = nextafter(rounded, 0);
        } else if (round == ROUND_RM && rounded > wide) {
            rounded = nextafter(rounded, -INFINITY);
        } else if (round == ROUND_RP && rounded < wide) {
            rounded = nextafter(rounded, INFINITY);
        }
        return to_float(rounded, to, round);
    }
    double value = float_of(bits, from);
    if (to_integer_type) {
        return to_integer(integral_of(value, round), to);
    }
    if (integral) {
        value = isfinite(value) ? copysign(integral_of(value, round), value) : value;
        round = ROUND_RN;
    }
    if (saturates) {
        value = value > 0 ? (value < 1 ? value : 1) : 0;
    }
    return to_float(value, to, round);
}
