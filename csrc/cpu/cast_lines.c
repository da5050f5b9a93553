/*
 * Casts straight into whole lines that go past the caches, for processors with vectors of a line (AVX-512):
 * what is converted is never stored twice. Pairs of types for which one instruction does what cast.c does:
 * integers wrap, numbers become floating point. Others, and other processors, make rows in the first cache
 * (strided.c).
 */
#include "features.h"
#include "row.h"
#include "stream.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

/* How far ahead the source is asked for: what comes in order comes late here, where it is twice what goes. */
#define AHEAD 4096
#define WIDE __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))

/* A line from the source at s, any alignment, or from a part of it. */
#define WHOLE(s) _mm512_loadu_si512((const void *)(s))
#define HALF(s) _mm256_loadu_si256((const __m256i *)(s))
#define QUARTER(s) _mm_loadu_si128((const __m128i *)(s))
#define EIGHTH(s) _mm_loadl_epi64((const __m128i *)(s))
/* Two halves of a line. */
#define PAIR(low, high) _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1)
#define NUMBERS(line) _mm512_castps_si512(line)
#define DOUBLES(line) _mm512_castpd_si512(line)
#define HALF_NUMBERS(line) _mm256_castps_si256(line)

/* `bytes` of the source, `count` elements, make a line. */
#define LINES(from, to, count, bytes, line)                                          \
    WIDE static void from##_to_##to(char *dst, const char *s, int64_t n)             \
    {                                                                                \
        for (; n >= (count); n -= (count), dst += USM_CPU_LINE, s += (bytes)) {      \
            for (unsigned i = 0; i < (bytes); i += USM_CPU_LINE) {                   \
                _mm_prefetch((const char *)((uintptr_t)s + AHEAD + i), _MM_HINT_T0); \
            }                                                                        \
            _mm512_stream_si512((void *)dst, line);                                  \
        }                                                                            \
    }

LINES(uint8, int32, 16, 16, _mm512_cvtepu8_epi32(QUARTER(s)))
LINES(int8, int32, 16, 16, _mm512_cvtepi8_epi32(QUARTER(s)))
LINES(uint16, int32, 16, 32, _mm512_cvtepu16_epi32(HALF(s)))
LINES(int16, int32, 16, 32, _mm512_cvtepi16_epi32(HALF(s)))
LINES(int64, int32, 16, 128, PAIR(_mm512_cvtepi64_epi32(WHOLE(s)), _mm512_cvtepi64_epi32(WHOLE(s + 64))))

LINES(uint8, int64, 8, 8, _mm512_cvtepu8_epi64(EIGHTH(s)))
LINES(int8, int64, 8, 8, _mm512_cvtepi8_epi64(EIGHTH(s)))
LINES(uint16, int64, 8, 16, _mm512_cvtepu16_epi64(QUARTER(s)))
LINES(int16, int64, 8, 16, _mm512_cvtepi16_epi64(QUARTER(s)))
LINES(int32, int64, 8, 32, _mm512_cvtepi32_epi64(HALF(s)))
LINES(uint32, int64, 8, 32, _mm512_cvtepu32_epi64(HALF(s)))

LINES(uint8, float32, 16, 16, NUMBERS(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(QUARTER(s)))))
LINES(int8, float32, 16, 16, NUMBERS(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(QUARTER(s)))))
LINES(uint16, float32, 16, 32, NUMBERS(_mm512_cvtepi32_ps(_mm512_cvtepu16_epi32(HALF(s)))))
LINES(int16, float32, 16, 32, NUMBERS(_mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(HALF(s)))))
LINES(int32, float32, 16, 64, NUMBERS(_mm512_cvtepi32_ps(WHOLE(s))))
LINES(uint32, float32, 16, 64, NUMBERS(_mm512_cvtepu32_ps(WHOLE(s))))
LINES(int64, float32, 16, 128,
      PAIR(HALF_NUMBERS(_mm512_cvtepi64_ps(WHOLE(s))), HALF_NUMBERS(_mm512_cvtepi64_ps(WHOLE(s + 64)))))
LINES(uint64, float32, 16, 128,
      PAIR(HALF_NUMBERS(_mm512_cvtepu64_ps(WHOLE(s))), HALF_NUMBERS(_mm512_cvtepu64_ps(WHOLE(s + 64)))))
LINES(float64, float32, 16, 128,
      PAIR(HALF_NUMBERS(_mm512_cvtpd_ps(_mm512_castsi512_pd(WHOLE(s)))),
           HALF_NUMBERS(_mm512_cvtpd_ps(_mm512_castsi512_pd(WHOLE(s + 64))))))

LINES(uint8, float64, 8, 8, DOUBLES(_mm512_cvtepi32_pd(_mm256_cvtepu8_epi32(EIGHTH(s)))))
LINES(int8, float64, 8, 8, DOUBLES(_mm512_cvtepi32_pd(_mm256_cvtepi8_epi32(EIGHTH(s)))))
LINES(uint16, float64, 8, 16, DOUBLES(_mm512_cvtepi32_pd(_mm256_cvtepu16_epi32(QUARTER(s)))))
LINES(int16, float64, 8, 16, DOUBLES(_mm512_cvtepi32_pd(_mm256_cvtepi16_epi32(QUARTER(s)))))
LINES(int32, float64, 8, 32, DOUBLES(_mm512_cvtepi32_pd(HALF(s))))
LINES(uint32, float64, 8, 32, DOUBLES(_mm512_cvtepu32_pd(HALF(s))))
LINES(int64, float64, 8, 64, DOUBLES(_mm512_cvtepi64_pd(WHOLE(s))))
LINES(uint64, float64, 8, 64, DOUBLES(_mm512_cvtepu64_pd(WHOLE(s))))
LINES(float32, float64, 8, 32, DOUBLES(_mm512_cvtps_pd(_mm256_castsi256_ps(HALF(s)))))

/* The instruction gives INT32_MIN for what does not fit, where the largest integer and 0 (NaN) are wanted. */
WIDE static void float32_to_int32(char *dst, const char *src, int64_t n)
{
    enum { COUNT = USM_CPU_LINE / sizeof(float) };
    const __m512i largest = _mm512_set1_epi32(INT32_MAX);
    for (; n >= COUNT; n -= COUNT, dst += USM_CPU_LINE, src += USM_CPU_LINE) {
        _mm_prefetch((const char *)((uintptr_t)src + AHEAD), _MM_HINT_T0);
        __m512 v = _mm512_loadu_ps(src);
        __mmask16 known = _mm512_cmp_ps_mask(v, v, _CMP_ORD_Q);
        __mmask16 above = _mm512_cmp_ps_mask(v, _mm512_set1_ps(0x1p31f), _CMP_GE_OQ);
        __m512i r = _mm512_maskz_cvttps_epi32(known, v);
        _mm512_stream_si512((void *)dst, _mm512_mask_mov_epi32(r, above, largest));
    }
}

/* Signed and unsigned integers of one size are the same bits. */
static usm_cpu_lines to_int32(usm_dtype src)
{
    switch (src) {
        case USM_UINT8:
            return uint8_to_int32;
        case USM_INT8:
            return int8_to_int32;
        case USM_UINT16:
            return uint16_to_int32;
        case USM_INT16:
            return int16_to_int32;
        case USM_INT64:
        case USM_UINT64:
            return int64_to_int32;
        default:
            return NULL;
    }
}

static usm_cpu_lines to_int64(usm_dtype src)
{
    switch (src) {
        case USM_UINT8:
            return uint8_to_int64;
        case USM_INT8:
            return int8_to_int64;
        case USM_UINT16:
            return uint16_to_int64;
        case USM_INT16:
            return int16_to_int64;
        case USM_INT32:
            return int32_to_int64;
        case USM_UINT32:
            return uint32_to_int64;
        default:
            return NULL;
    }
}

static usm_cpu_lines to_float32(usm_dtype src)
{
    switch (src) {
        case USM_UINT8:
            return uint8_to_float32;
        case USM_INT8:
            return int8_to_float32;
        case USM_UINT16:
            return uint16_to_float32;
        case USM_INT16:
            return int16_to_float32;
        case USM_INT32:
            return int32_to_float32;
        case USM_UINT32:
            return uint32_to_float32;
        case USM_INT64:
            return int64_to_float32;
        case USM_UINT64:
            return uint64_to_float32;
        case USM_FLOAT64:
            return float64_to_float32;
        default:
            return NULL;
    }
}

static usm_cpu_lines to_float64(usm_dtype src)
{
    switch (src) {
        case USM_UINT8:
            return uint8_to_float64;
        case USM_INT8:
            return int8_to_float64;
        case USM_UINT16:
            return uint16_to_float64;
        case USM_INT16:
            return int16_to_float64;
        case USM_INT32:
            return int32_to_float64;
        case USM_UINT32:
            return uint32_to_float64;
        case USM_INT64:
            return int64_to_float64;
        case USM_UINT64:
            return uint64_to_float64;
        case USM_FLOAT32:
            return float32_to_float64;
        default:
            return NULL;
    }
}

usm_cpu_lines usm_cpu_cast_lines(usm_dtype dst, usm_dtype src)
{
    if (!usm_cpu_has_avx512()) {
        return NULL;
    }
    switch (dst) {
        case USM_INT32:
            return src == USM_FLOAT32 ? float32_to_int32 : to_int32(src);
        case USM_UINT32:
            return to_int32(src);
        case USM_INT64:
        case USM_UINT64:
            return to_int64(src);
        case USM_FLOAT32:
            return to_float32(src);
        case USM_FLOAT64:
            return to_float64(src);
        default:
            return NULL;
    }
}

#else

usm_cpu_lines usm_cpu_cast_lines(usm_dtype dst, usm_dtype src)
{
    (void)dst;
    (void)src;
    return NULL;
}
#endif
