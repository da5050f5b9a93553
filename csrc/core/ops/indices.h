/* Integers that the host reads while nothing is pending on them: checks before an operation. */
#ifndef USM_CORE_INDICES_H
#define USM_CORE_INDICES_H

#include "scratch.h"

/* Whether every index, of any integer type, is in [-length, length). */
bool usm_indices_in_range(const usm_view *indices, int64_t length);

/*
 * Of counts, a compact vector of n int64 or of one for all: where the copies of each of n elements begin, and
 * last where they end. USM_VALUE where a count is negative, or the sum overflows.
 */
usm_status usm_indices_of_counts(const usm_view *counts, int64_t n, int64_t *begins, usm_error *error);

#endif
