/*
 * How a kernel shares out n elements along one dimension of its range, so that any global size covers any n.
 *
 * On a GPU neighbouring work-items take neighbouring elements. With USM_SERIAL, which is for processors, a
 * work-item takes a run of neighbouring elements: a loop that the compiler vectorises as it does in C.
 */
#ifndef USM_KERNELS_RANGE_H
#define USM_KERNELS_RANGE_H

#ifdef USM_FROM /* the host shares out the range itself */
#elif defined(USM_SERIAL)
#define USM_PIECE(n, dimension) \
    (((n) + (long)get_global_size(dimension) - 1) / (long)get_global_size(dimension))
#define USM_FROM(n, dimension) ((long)get_global_id(dimension) * USM_PIECE(n, dimension))
#define USM_TO(n, dimension) USM_LESSER(USM_FROM(n, dimension) + USM_PIECE(n, dimension), n)
#define USM_STEP(dimension) 1
#else
#define USM_FROM(n, dimension) ((long)get_global_id(dimension))
#define USM_TO(n, dimension) (n)
#define USM_STEP(dimension) ((long)get_global_size(dimension))
#endif

#define USM_LESSER(a, b) ((a) < (b) ? (a) : (b))

/* PTX is stored as text, so that it says which loops are unrolled; other compilers see to that themselves. */
#ifdef __CUDACC_RTC__
#define USM_ROLLED _Pragma("unroll 1")
#define USM_UNROLLED _Pragma("unroll")
#define USM_PRAGMA(text) _Pragma(#text)
#define USM_UNROLLED_BY(n) USM_PRAGMA(unroll n)
#else
#define USM_ROLLED
#define USM_UNROLLED
#define USM_UNROLLED_BY(n)
#endif

/* Where element k is in local memory, so that neighbours which are 32 apart lie in different banks. */
#define USM_BANKED(k) ((k) + (k) / 32)

/* The elements of a one-dimensional range that this work-item takes. */
#define USM_FOR_EACH(i, n) \
    for (long i = USM_FROM(n, 0), i##_end = USM_TO(n, 0); i < i##_end; i += USM_STEP(0))

#endif
