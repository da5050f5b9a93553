/* What the running processor can do beyond the baseline that the extension is compiled for. */
#ifndef USM_CPU_PROCESSOR_H
#define USM_CPU_PROCESSOR_H

#include <stdbool.h>

#if defined(__x86_64__) && defined(__GNUC__)
#define USM_CPU_HAS(feature) (__builtin_cpu_supports(feature) != 0)
#define USM_CPU_IS(vendor) (__builtin_cpu_is(vendor) != 0)
#else
#define USM_CPU_HAS(feature) false
#define USM_CPU_IS(vendor) false
#endif

/* Bytes of the widest vector registers that loops may use. */
static inline unsigned usm_cpu_vector_bytes(void)
{
    return USM_CPU_HAS("avx512f") ? 64 : USM_CPU_HAS("avx2") ? 32 : 16;
}

/* AVX2 and what comes with it: builtin_wide.c. */
static inline bool usm_cpu_has_avx2(void)
{
    return USM_CPU_HAS("avx2") && USM_CPU_HAS("bmi") && USM_CPU_HAS("bmi2") && USM_CPU_HAS("popcnt");
}

/*
 * Whether prefetches go to the first-level cache. On AMD's processors the second-level cache is slow where
 * short runs a power of two apart agree in the bits of their addresses, and where there are no gaps. On
 * Intel's, such prefetches take up to three times as long.
 */
static inline bool usm_cpu_asks_near(void)
{
    return USM_CPU_IS("amd");
}

#endif
