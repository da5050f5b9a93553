/* The loops of the elementwise operations for processors with AVX512. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,bmi,bmi2,popcnt")
#define USM_CPU_LOOPS usm_cpu_loops_avx512
#include "operate_loops.c"
#else
#include "operate.h"

const usm_cpu_loops usm_cpu_loops_avx512 = {0};
#endif
