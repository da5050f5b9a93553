/* The loops of the elementwise operations for processors with AVX2. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("avx2,bmi,bmi2,popcnt")
#define USM_CPU_LOOPS usm_cpu_loops_avx2
#include "operate_loops.c"
#else
#include "operate.h"

const usm_cpu_loops usm_cpu_loops_avx2 = {0};
#endif
