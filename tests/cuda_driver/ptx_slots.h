/* Slots as values of all types, and operations that C has no operator for: the interpreter's alone. */
#ifndef SIM_PTX_SLOTS_H
#define SIM_PTX_SLOTS_H

#include "ptx.h"

typedef uint8_t u8;
typedef int8_t s8;
typedef uint16_t u16;
typedef int16_t s16;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;
typedef float f32;
typedef double f64;
typedef float f16; /* computed as float, kept as half */
typedef bool pred;

#define INTEGER_SLOT(type)                               \
    static inline type get_##type(const u64 *slot)       \
    {                                                    \
        return (type)*slot;                              \
    }                                                    \
    static inline void put_##type(u64 *slot, type value) \
    {                                                    \
        *slot = (u64)value;                              \
    }
INTEGER_SLOT(u8)
INTEGER_SLOT(s8)
INTEGER_SLOT(u16)
INTEGER_SLOT(s16)
INTEGER_SLOT(u32)
INTEGER_SLOT(s32)
INTEGER_SLOT(u64)
INTEGER_SLOT(s64)

static inline pred get_pred(const u64 *slot)
{
    return *slot != 0;
}

static inline void put_pred(u64 *slot, pred value)
{
    *slot = value;
}

static inline f32 get_f32(const u64 *slot)
{
    f32 value;
    memcpy(&value, slot, 4);
    return value;
}

static inline void put_f32(u64 *slot, f32 value)
{
    u32 bits;
    memcpy(&bits, &value, 4);
    *slot = bits;
}

static inline f64 get_f64(const u64 *slot)
{
    f64 value;
    memcpy(&value, slot, 8);
    return value;
}

static inline void put_f64(u64 *slot, f64 value)
{
    memcpy(slot, &value, 8);
}

static inline f16 get_f16(const u64 *slot)
{
    return ptx_from_half((u16)*slot);
}

static inline void put_f16(u64 *slot, double value)
{
    *slot = ptx_to_half(value, ROUND_RN);
}

static u64 reverse(u64 value)
{
    u64 result = 0;
    for (int i = 0; i < 64; i++) {
        result |= (value >> i & 1) << (63 - i);
    }
    return result;
}

static u32 top_bit(u64 value)
{
    return value == 0 ? UINT32_MAX : 63 - (u32)__builtin_clzll(value);
}

/* bfe: `n` bits from `at` on; a signed value is extended with its top bit. */
static u64 field(u64 value, u32 at, u32 n, u32 width, bool is_signed)
{
    at &= 255;
    n &= 255;
    u64 sign = 0, result = at >= width ? 0 : (width == 32 ? (u64)(u32)value : value) >> at;
    if (n == 0) {
        return 0;
    }
    if (is_signed) {
        u32 top = at + n - 1 < width - 1 ? at + n - 1 : width - 1;
        sign = value >> top & 1;
    }
    if (n < 64) {
        result &= (UINT64_C(1) << n) - 1;
    }
    u32 filled = at >= width ? 0 : width - at < n ? width - at : n;
    return sign != 0 && filled < 64 ? result | UINT64_MAX << filled : result;
}

static u64 insert(u64 a, u64 b, u32 at, u32 n, u32 width)
{
    at &= 255;
    n &= 255;
    if (at >= width || n == 0) {
        return b;
    }
    u64 mask = n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
    return (b & ~(mask << at)) | (a & mask) << at;
}

static u32 permute(u32 a, u32 b, u32 c, int mode)
{
    u64 bytes = (u64)b << 32 | a;
    u32 result = 0, select = c & 3;
    static const u16 fixed[7][4] = {{0},
                                    {0x3210, 0x4321, 0x5432, 0x6543},
                                    {0x5670, 0x6701, 0x7012, 0x0123},
                                    {0x0000, 0x1111, 0x2222, 0x3333},
                                    {0x3210, 0x3211, 0x3222, 0x3333},
                                    {0x0000, 0x1110, 0x2210, 0x3210},
                                    {0x1010, 0x3232, 0x1010, 0x3232}};
    u32 selectors = mode == 0 ? c : fixed[mode][select];
    for (int i = 0; i < 4; i++) {
        u32 selector = selectors >> (4 * i) & 15;
        u32 byte = (u32)(bytes >> (8 * (selector & 7))) & 255;
        if (mode == 0 && selector & 8) {
            byte = byte & 0x80 ? 255 : 0;
        }
        result |= byte << (8 * i);
    }
    return result;
}

static u32 logic(u32 a, u32 b, u32 c, int table)
{
    u32 result = 0;
    for (int i = 0; i < 8; i++) {
        if (table >> i & 1) {
            result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
        }
    }
    return result;
}

/*
 * imm: 1 64 bits, 2 subtracts, 4 takes the carry, 8 leaves one. As in the hardware, a difference is a sum
 * with the complement: it leaves a carry where nothing was borrowed, and NVRTC's code relies on that.
 */
static u64 carry(ptx_fiber *fiber, u64 a, u64 b, int imm)
{
    u64 mask = imm & 1 ? UINT64_MAX : UINT32_MAX, in = imm & 4 ? fiber->carry : (imm & 2) != 0;
    a &= mask;
    b = (imm & 2 ? ~b : b) & mask;
    unsigned __int128 sum = (unsigned __int128)a + b + in;
    if (imm & 8) {
        fiber->carry = sum > mask;
    }
    return (u64)sum & mask;
}

#endif
