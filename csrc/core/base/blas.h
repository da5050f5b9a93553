/* OpenBLAS, or another library with the C interface of BLAS, opened at run time on first use. */
#ifndef USM_CORE_BLAS_H
#define USM_CORE_BLAS_H

#include "library.h"

/* The functions of one library, whose integers have 64 bits (`wide`) or 32. */
typedef struct usm_blas {
    void *sgemm, *dgemm, *sgemv, *dgemv; /* cblas_sgemm and so on */
    bool wide;
    char path[USM_LIBRARY_PATH]; /* of its file; "" where none was found */
    char why[560];               /* why not */
} usm_blas;

/*
 * The library that USMPY_BLAS_LIBRARY names, else NumPy's own copy of OpenBLAS, the packages scipy-openblas64
 * and scipy-openblas32, and the system's libraries, in this order. USMPY_BLAS_LIBRARY=none: none. The result
 * lives as long as the process; its path is "" where there is no library.
 *
 * Thread: any, also several at once. Locks: none. Blocks: for milliseconds the first time (dlopen). The
 * functions may be called from any thread; OpenBLAS, unless it was built for OpenMP, runs in the child of a
 * fork() as well.
 */
const usm_blas *usm_blas_find(void);

#endif
