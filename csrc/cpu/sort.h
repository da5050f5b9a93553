/* Stable sorts of whole rows on the host. */
#ifndef USM_CPU_SORT_H
#define USM_CPU_SORT_H

#include "kernels/abi/sort.h"

#include <stddef.h>
#include <stdint.h>

/* Shorter rows need no memory beside that of the call. */
#define USM_CPU_SORT_FEW 256

/*
 * The rows [lo, hi) of src, of elements of `size` bytes: into `values`, or, with s->indices, their places
 * before into `indices`. `spare` has room for as many elements, or twice as many with s->indices, `places`
 * for twice as many numbers of 4 bytes; neither is used for rows of up to USM_CPU_SORT_FEW elements. Any
 * thread.
 */
void usm_cpu_sort(int size, char *values, int64_t *indices, const char *src, char *spare, uint32_t *places,
                  const usm_sort *s, size_t lo, size_t hi);

#endif
