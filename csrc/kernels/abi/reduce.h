/* The last argument of usm_reduce (reduce.cl). */
#ifndef USM_ABI_REDUCE_H
#define USM_ABI_REDUCE_H

#include "size.h"

/*
 * Bytes (outer, reduced, inner), row-major; `chunks` parts of the middle axis of `chunk` bytes each, the last
 * of which may be shorter. `all` or any.
 */
typedef struct usm_reduction {
    long outer, reduced, inner, chunk, chunks, all;
} usm_reduction;

USM_ABI_SIZE(usm_reduction, 48);

/*
 * Elements of the inner axis that one work-item of a processor takes: where its rows lie far apart, it reads
 * whole lines of them, several rows at a time. On other devices it is one.
 */
#define USM_REDUCE_WIDTH_OF_PROCESSOR 1024

#endif
