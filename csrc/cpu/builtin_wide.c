/* Some of the built-in kernels for processors with AVX2, which x86-64's baseline lacks. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("avx2,bmi,bmi2,popcnt")
#pragma GCC diagnostic ignored "-Wunused-function"
#define USM_CPU_WIDE
#include "builtin.c"
#else
#include "builtin.h"

#include <stddef.h>

const struct usmpy_kernels usm_cpu_builtins_wide = {USMPY_KERNELS_VERSION, 0, NULL};
#endif
