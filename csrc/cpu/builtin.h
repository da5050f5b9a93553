/* The tables of the built-in kernels, for usm_cpu_kernel_named (cpu.h). */
#ifndef USM_CPU_BUILTIN_H
#define USM_CPU_BUILTIN_H

#include "kernel.h"

extern const struct usmpy_kernels usm_cpu_builtins;      /* builtin.c: all of them */
extern const struct usmpy_kernels usm_cpu_builtins_wide; /* builtin_wide.c: some again; may be none */

#endif
