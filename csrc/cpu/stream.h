/* Stores that go past the caches: what is written there is not read from memory first. */
#ifndef USM_CPU_STREAM_H
#define USM_CPU_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* From this many bytes on a result leaves the caches anyway. */
#define USM_CPU_LARGE ((size_t)4 << 20)
/* A store of this kind takes whole lines. */
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
 * The line at `next` will be read soon, if it is there. It comes into the second cache, which waits for more
 * lines at once than the first; `is_near`: into the first (usm_cpu_asks_near).
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

/* Whole lines, while what lies `ahead` in the source is asked for: processors guess no jump between runs. */
static inline void usm_cpu_stream_ahead(char *dst, const char *src, size_t nbytes, int64_t ahead,
                                        bool is_near)
{
    for (size_t i = 0; i < nbytes; i += USM_CPU_LINE) {
        usm_cpu_ask((uintptr_t)(src + i) + (uintptr_t)ahead, is_near);
        usm_cpu_stream_lines(dst + i, src + i, USM_CPU_LINE);
    }
}

/*
 * lines.c: n runs of whole lines that are `to` and `from` apart; dst begins a line. `ahead`: where what comes
 * next lies in the source. Only where usm_cpu_has_lines says so.
 */
bool usm_cpu_has_lines(void);
void usm_cpu_move_lines(char *dst, const char *src, size_t run, int64_t n, int64_t to, int64_t from,
                        int64_t ahead);

/* dst and src do not overlap; usm_cpu_stream_end() comes before anybody else looks. ahead: 0 for nothing. */
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

/* Sixteen bytes, repeated over whole lines; dst is a multiple of sixteen. False: it was not done. */
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

static inline void usm_cpu_stream_end(void)
{
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

#endif
