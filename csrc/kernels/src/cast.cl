/*
 * Strided copy with a cast, for one pair of types a build: -D USM_DST=NAME -D USM_SRC=NAME, by their names in
 * usmpy. The results are those of the host (csrc/cpu/cast.c), bit for bit but for the payload of a
 * NaN.
 *
 * float16 and bfloat16 are converted by integer arithmetic. Nothing needs fp64 but float64 and complex128
 * themselves: without USM_HAS_FP64, they are names that the compiler does not know.
 */
#include "axes.h"
#include "kernels/abi/half.h"

#define USM_JOIN_TEXT(a, b) a##b
#define USM_JOIN(a, b) USM_JOIN_TEXT(a, b)
/* The same, where what comes out has USM_JOIN in it. */
#define USM_CHOOSE_TEXT(a, b) a##b
#define USM_CHOOSE(a, b) USM_CHOOSE_TEXT(a, b)

/* How each type lies in memory. */
typedef uchar usm_mem_bool;
typedef signed char usm_mem_int8;
typedef short usm_mem_int16;
typedef int usm_mem_int32;
typedef long usm_mem_int64;
typedef uchar usm_mem_uint8;
typedef ushort usm_mem_uint16;
typedef uint usm_mem_uint32;
typedef ulong usm_mem_uint64;
typedef ushort usm_mem_float16;
typedef ushort usm_mem_bfloat16;
typedef float usm_mem_float32;
typedef struct usm_mem_complex64 {
    float re, im;
} usm_mem_complex64;
#ifdef USM_HAS_FP64
typedef double usm_mem_float64;
typedef struct usm_mem_complex128 {
    double re, im;
} usm_mem_complex128;
#endif

/* As what numbers a source is computed: integers that a float holds, other ones, float, double. */
#define USM_NUMBER_bool narrow
#define USM_NUMBER_int8 narrow
#define USM_NUMBER_int16 narrow
#define USM_NUMBER_int32 integer
#define USM_NUMBER_int64 integer
#define USM_NUMBER_uint8 narrow
#define USM_NUMBER_uint16 narrow
#define USM_NUMBER_uint32 natural
#define USM_NUMBER_uint64 natural
#define USM_NUMBER_float16 single
#define USM_NUMBER_bfloat16 single
#define USM_NUMBER_float32 single
#define USM_NUMBER_float64 twofold
#define USM_NUMBER_complex64 single
#define USM_NUMBER_complex128 twofold

/*
 * A float that rounds on to a narrower type as the number itself would: cut to 24 bits, the last one set
 * where anything was cut off.
 */
static float usm_odd_natural(ulong x)
{
    int shift = 40 - (int)clz(x);
    shift = shift < 0 ? 0 : shift;
    ulong kept = x >> shift;
    kept |= kept << shift != x;
    return (float)(uint)kept * as_float((uint)(127 + shift) << 23);
}

static float usm_odd_integer(long x)
{
    return x < 0 ? -usm_odd_natural(0 - (ulong)x) : usm_odd_natural((ulong)x);
}

typedef USM_JOIN(usm_mem_, USM_SRC) usm_source;
typedef USM_JOIN(usm_mem_, USM_DST) usm_target;

/* From memory to a number: the real part of complex ones. */
#define USM_RE_bool(m) ((uchar)((m) != 0))
#define USM_RE_int8(m) (m)
#define USM_RE_int16(m) (m)
#define USM_RE_int32(m) (m)
#define USM_RE_int64(m) (m)
#define USM_RE_uint8(m) (m)
#define USM_RE_uint16(m) (m)
#define USM_RE_uint32(m) (m)
#define USM_RE_uint64(m) (m)
#define USM_RE_float16(m) usm_half_to_float(m)
#define USM_RE_bfloat16(m) usm_bfloat_to_float(m)
#define USM_RE_float32(m) (m)
#define USM_RE_float64(m) (m)
#define USM_RE_complex64(m) ((m).re)
#define USM_RE_complex128(m) ((m).re)

#define USM_IM_bool(m) 0
#define USM_IM_int8(m) 0
#define USM_IM_int16(m) 0
#define USM_IM_int32(m) 0
#define USM_IM_int64(m) 0
#define USM_IM_uint8(m) 0
#define USM_IM_uint16(m) 0
#define USM_IM_uint32(m) 0
#define USM_IM_uint64(m) 0
#define USM_IM_float16(m) 0
#define USM_IM_bfloat16(m) 0
#define USM_IM_float32(m) 0
#define USM_IM_float64(m) 0
#define USM_IM_complex64(m) ((m).im)
#define USM_IM_complex128(m) ((m).im)

/* A subnormal is not 0, also on a device that computes with it as if it were. */
#define USM_IS_narrow(v) ((v) != 0)
#define USM_IS_integer(v) ((v) != 0)
#define USM_IS_natural(v) ((v) != 0)
#define USM_IS_single(v) ((as_uint((float)(v)) & 0x7fffffff) != 0)
#define USM_IS_twofold(v) ((v) != 0)

/* Infinite long before an int runs out of bits, and exact until then. */
#define USM_HALF_narrow(v) usm_float_to_half((float)(v))
#define USM_HALF_integer(v) \
    usm_float_to_half((float)((v) > 0x20000 ? 0x20000 : (v) < -0x20000 ? -0x20000 : (int)(v)))
#define USM_HALF_natural(v) usm_float_to_half((float)((v) > 0x20000 ? 0x20000 : (int)(v)))
#define USM_HALF_single(v) usm_float_to_half(v)
#define USM_HALF_twofold(v) usm_float_to_half(usm_double_to_odd_float(v))

#define USM_BFLOAT_narrow(v) usm_float_to_bfloat((float)(v))
#define USM_BFLOAT_integer(v) usm_float_to_bfloat(usm_odd_integer(v))
#define USM_BFLOAT_natural(v) usm_float_to_bfloat(usm_odd_natural(v))
#define USM_BFLOAT_single(v) usm_float_to_bfloat(v)
#define USM_BFLOAT_twofold(v) usm_float_to_bfloat(usm_double_to_odd_float(v))

#define USM_INTEGER_narrow(v) ((usm_target)(v))
#define USM_INTEGER_integer(v) ((usm_target)(v))
#define USM_INTEGER_natural(v) ((usm_target)(v))
#define USM_INTEGER_single(v) usm_saturate(v)
#define USM_INTEGER_twofold(v) usm_saturate(v)

/* Cut towards 0, and saturated; NaN becomes 0. Every bound is exact as a float. */
#define USM_SATURATE_narrow
#define USM_SATURATE_integer
#define USM_SATURATE_natural
#define USM_SATURATE_single USM_SATURATE(float)
#define USM_SATURATE_twofold USM_SATURATE(double)
#define USM_SATURATE(real)                                                                      \
    static usm_target usm_saturate(real v)                                                      \
    {                                                                                           \
        int negative = (usm_target)-1 < (usm_target)1;                                          \
        int bits = 8 * (int)sizeof(usm_target) - negative;                                      \
        usm_target most = (usm_target)(0xffffffffffffffffUL >> (64 - bits));                    \
        usm_target least = negative ? (usm_target)(-most - 1) : (usm_target)0;                  \
        real beyond = (real)as_float((uint)(127 + bits) << 23);                                 \
        real low = negative ? -beyond : (real)0;                                                \
        return v >= beyond ? most : v >= low ? (usm_target)v : v < low ? least : (usm_target)0; \
    }

/* The function usm_convert, by the target. */
#define USM_NUMBER USM_JOIN(USM_NUMBER_, USM_SRC)
#define USM_RE USM_JOIN(USM_RE_, USM_SRC)
#define USM_IM USM_JOIN(USM_IM_, USM_SRC)
#define USM_CONVERT(expression)                 \
    static usm_target usm_convert(usm_source m) \
    {                                           \
        return expression;                      \
    }
#define USM_CONVERT_INTEGER             \
    USM_JOIN(USM_SATURATE_, USM_NUMBER) \
    USM_CONVERT(USM_JOIN(USM_INTEGER_, USM_NUMBER)(USM_RE(m)))
#define USM_CONVERT_COMPLEX(part)               \
    static usm_target usm_convert(usm_source m) \
    {                                           \
        usm_target r;                           \
        r.re = (part)USM_RE(m);                 \
        r.im = (part)USM_IM(m);                 \
        return r;                               \
    }
/* A complex number is true unless both parts are 0. */
#define USM_CONVERT_bool \
    USM_CONVERT(         \
        (usm_target)(USM_JOIN(USM_IS_, USM_NUMBER)(USM_RE(m)) || USM_JOIN(USM_IS_, USM_NUMBER)(USM_IM(m))))
#define USM_CONVERT_int8 USM_CONVERT_INTEGER
#define USM_CONVERT_int16 USM_CONVERT_INTEGER
#define USM_CONVERT_int32 USM_CONVERT_INTEGER
#define USM_CONVERT_int64 USM_CONVERT_INTEGER
#define USM_CONVERT_uint8 USM_CONVERT_INTEGER
#define USM_CONVERT_uint16 USM_CONVERT_INTEGER
#define USM_CONVERT_uint32 USM_CONVERT_INTEGER
#define USM_CONVERT_uint64 USM_CONVERT_INTEGER
#define USM_CONVERT_float16 USM_CONVERT(USM_JOIN(USM_HALF_, USM_NUMBER)(USM_RE(m)))
#define USM_CONVERT_bfloat16 USM_CONVERT(USM_JOIN(USM_BFLOAT_, USM_NUMBER)(USM_RE(m)))
#define USM_CONVERT_float32 USM_CONVERT((float)USM_RE(m))
#define USM_CONVERT_float64 USM_CONVERT((double)USM_RE(m))
#define USM_CONVERT_complex64 USM_CONVERT_COMPLEX(float)
#define USM_CONVERT_complex128 USM_CONVERT_COMPLEX(double)

USM_CHOOSE(USM_CONVERT_, USM_DST)

/* With USM_UNALIGNED, pointers and strides may be any. */
static usm_source usm_load(global const char *from)
{
#ifdef USM_UNALIGNED
    usm_source m;
    for (int i = 0; i < (int)sizeof(usm_source); i++) {
        ((char *)&m)[i] = from[i];
    }
    return m;
#else
    return *(global const usm_source *)from;
#endif
}

static void usm_store(global char *to, usm_source m)
{
#ifdef USM_UNALIGNED
    usm_target r = usm_convert(m);
    for (int i = 0; i < (int)sizeof(usm_target); i++) {
        to[i] = ((char *)&r)[i];
    }
#else
    *(global usm_target *)to = usm_convert(m);
#endif
}

USM_STRIDED_KERNEL(usm_cast, sizeof(usm_target), sizeof(usm_source), usm_load, usm_store)
