/* Numbers in equal steps: arange and linspace. */
#ifndef USM_CORE_SEQUENCE_H
#define USM_CORE_SEQUENCE_H

#include "scratch.h"

/*
 * The type in which a device computes a sequence that is to have this type: itself for integers, else
 * float64, or float32 where a device without fp64 can give no more anyway.
 */
usm_dtype usm_sequence_dtype(usm_dtype dtype, const usm_device *device);

/*
 * dst[i] = element i of the sequence, cast to dst's type; sequence->dst does not count. dst is a vector of
 * sequence->count elements. What a device without fp64 does not compute comes from the host.
 */
usm_status usm_sequence_submit(usm_queue *queue, const usm_view *dst, const usm_sequence *sequence,
                               usm_error *error);

/*
 * Fills the vector dst with numbers in equal steps from start towards stop, which is the last one where it is
 * an `endpoint`. start and stop are real and imaginary parts; the imaginary ones count for complex types
 * alone. Elements of integer types are truncated from double precision.
 */
usm_status usm_linspace_submit(usm_queue *queue, const usm_view *dst, const double start[2],
                               const double stop[2], bool endpoint, usm_error *error);

#endif
