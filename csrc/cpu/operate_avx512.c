/*
 * The loops of the elementwise operations for processors with AVX512, of real types with 4 and 8 bytes:
 * others take those for AVX2, since memory limits their speed and each loop makes the library larger.
 */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,bmi,bmi2,popcnt")
#define USM_CPU_LOOPS usm_cpu_loops_avx512
#define USM_CPU_WIDE_TYPES
#include "operate_loops.c"
#else
#include "operate.h"

const usm_cpu_loops usm_cpu_loops_avx512 = {0};
#endif
