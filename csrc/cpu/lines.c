/*
 * Runs of whole lines past the caches, with loads and stores that are as wide as a line (AVX-512): a line
 * that goes in one piece waits for no other part of it. Other processors use stream.h.
 */
#include "processor.h"
#include "stream.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

/* Prefetches go to the second-level cache here, which is slow on AMD (usm_cpu_asks_near). */
bool usm_cpu_has_lines(void)
{
    return USM_CPU_HAS("avx512f") && !usm_cpu_asks_near();
}

__attribute__((target("avx512f"))) void usm_cpu_move_lines(char *dst, const char *src, size_t run, int64_t n,
                                                           int64_t to, int64_t from, int64_t ahead)
{
    for (; n > 0; n--, dst += to, src += from) {
        for (size_t i = 0; i < run; i += USM_CPU_LINE) {
            _mm_prefetch((const char *)((uintptr_t)(src + i) + (uintptr_t)ahead), _MM_HINT_T1);
            _mm512_stream_si512((void *)(dst + i), _mm512_loadu_si512((const void *)(src + i)));
        }
    }
}

#else

bool usm_cpu_has_lines(void)
{
    return false;
}

void usm_cpu_move_lines(char *dst, const char *src, size_t run, int64_t n, int64_t to, int64_t from,
                        int64_t ahead)
{
    (void)ahead;
    for (; n > 0; n--, dst += to, src += from) {
        memcpy(dst, src, run);
    }
}
#endif
