/* Stores past the caches: the processor does not first read from memory what it overwrites. */
#ifndef USM_CPU_STREAM_H
#define USM_CPU_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* Results of this many bytes do not fit in the caches. */
#define USM_CPU_LARGE ((size_t)4 << 20)
/* Bytes of a line of the caches: stores past them write whole lines. */
#define USM_CPU_LINE 64

/* Bytes up to the next line, in front of dst. */
static inline size_t usm_cpu_before_line(const void *dst)
{
    return (USM_CPU_LINE - ((uintptr_t)dst & (USM_CPU_LINE - 1))) & (USM_CPU_LINE - 1);
}

/* Whole lines; dst begins one. */
static inline void usm_cpu_stream_lines(char *dst, const char *src, size_t nbytes)
{
#if defined(__SSE2__)
    for (; nbytes > 0; nbytes -= 64, dst += 64, src += 64) {
        __m128i a = _mm_loadu_si128((const __m128i *)src), b = _mm_loadu_si128((const __m128i *)(src + 16));
        __m128i c = _mm_loadu_si128((const __m128i *)(src + 32)),
                d = _mm_loadu_si128((const __m128i *)(src + 48));
        _mm_stream_si128((__m128i *)dst, a);
        _mm_stream_si128((__m128i *)(dst + 16), b);
        _mm_stream_si128((__m128i *)(dst + 32), c);
        _mm_stream_si128((__m128i *)(dst + 48), d);
    }
#else
    memcpy(dst, src, nbytes);
#endif
}

/*
 * Prefetches the line at `next`, which need not exist: into the second-level cache, which has more requests
 * in flight than the first, or with `is_near` into the first (usm_cpu_asks_near).
 */
static inline void usm_cpu_ask(uintptr_t next, bool is_near)
{
#if defined(__SSE2__)
    if (is_near) {
        _mm_prefetch((const char *)next, _MM_HINT_NTA);
    } else {
        _mm_prefetch((const char *)next, _MM_HINT_T1);
    }
#else
    (void)next;
    (void)is_near;
#endif
}

/*
 * Whole lines, while the source is prefetched `ahead` bytes in front: processors predict no jump between
 * runs.
 */
static inline void usm_cpu_stream_ahead(char *dst, const char *src, size_t nbytes, int64_t ahead,
                                        bool is_near)
{
    for (size_t i = 0; i < nbytes; i += USM_CPU_LINE) {
        usm_cpu_ask((uintptr_t)(src + i) + (uintptr_t)ahead, is_near);
        usm_cpu_stream_lines(dst + i, src + i, USM_CPU_LINE);
    }
}

/*
 * Moves bytes past the caches. dst and src do not overlap. `ahead`: the prefetch distance, 0 for none.
 * usm_cpu_stream_end() must follow before another thread reads dst.
 */
static inline void usm_cpu_stream_asking(char *dst, const char *src, size_t nbytes, int64_t ahead)
{
    size_t head = usm_cpu_before_line(dst);
    head = head < nbytes ? head : nbytes;
    if (head > 0) {
        memcpy(dst, src, head);
    }
    size_t lines = (nbytes - head) / USM_CPU_LINE * USM_CPU_LINE;
    if (ahead != 0) {
        usm_cpu_stream_ahead(dst + head, src + head, lines, ahead, false);
    } else {
        usm_cpu_stream_lines(dst + head, src + head, lines);
    }
    if (head + lines < nbytes) {
        memcpy(dst + head + lines, src + head + lines, nbytes - head - lines);
    }
}

static inline void usm_cpu_stream(char *dst, const char *src, size_t nbytes)
{
    usm_cpu_stream_asking(dst, src, nbytes, 0);
}

/*
 * Repeats 16 bytes over whole lines; dst is a multiple of 16. False: the processor cannot, nothing was
 * written.
 */
static inline bool usm_cpu_stream_pattern(char *dst, const unsigned char *pattern, size_t nbytes)
{
#if defined(__SSE2__)
    __m128i line = _mm_loadu_si128((const __m128i *)pattern);
    if ((uintptr_t)dst % 16 != 0) {
        return false;
    }
    for (size_t i = 0; i < nbytes; i += USM_CPU_LINE) {
        _mm_stream_si128((__m128i *)(dst + i), line);
        _mm_stream_si128((__m128i *)(dst + i + 16), line);
        _mm_stream_si128((__m128i *)(dst + i + 32), line);
        _mm_stream_si128((__m128i *)(dst + i + 48), line);
    }
    return true;
#else
    (void)dst;
    (void)pattern;
    (void)nbytes;
    return false;
#endif
}

/* Makes the stores past the caches visible to other threads, in order with later stores. */
static inline void usm_cpu_stream_end(void)
{
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

#endif
