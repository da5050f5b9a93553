/* glibc's libmvec: mathematical functions of whole vectors, opened at run time on first use. */
#ifndef USM_CPU_VECTOR_MATH_H
#define USM_CPU_VECTOR_MATH_H

#include "core/base/library.h"
#include "operations.h"

/* What USMPY_MATH_LIBRARY names, else libmvec.so.1. It lives as long as the process. */
typedef struct usm_vector_math {
    void *functions[2][USM_OPERATIONS]; /* of float and double, by USM_OP_*; NULL: there is none */
    char path[USM_LIBRARY_PATH];        /* of the file; "" where there is none */
} usm_vector_math;

/*
 * The functions of vectors of `bytes` bytes, which are the same at every call: those of usm_cpu_vector_bytes.
 * Each takes one or two vectors and returns one, in the registers of the platform's vectors.
 *
 * NULL: memory ran out, and none is known.
 *
 * Thread: any, also several at once. Locks: none. Blocks: for a millisecond the first time (dlopen).
 */
const usm_vector_math *usm_cpu_vector_math(unsigned bytes);

#endif
