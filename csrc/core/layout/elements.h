/*
 * Several strided layouts of one shape, as the kernels of compare.cl, where.cl and their like walk over them.
 */
#ifndef USM_CORE_ELEMENTS_H
#define USM_CORE_ELEMENTS_H

#include "kernels/abi/elements.h"
#include "layout.h"

/*
 * Puts axes in order and merges those that all operands allow, from axis `first` of the elements on; n
 * operands with these strides (in elements) and sizes of an element in bytes. The shape has no 0. False where
 * more axes remain than there is room for.
 */
bool usm_elements_plan(usm_elements *elements, int first, int ndim, const int64_t *shape, int n,
                       const int64_t *const *strides, const int *sizes);

/* What there is to do along the dimensions of a range: axis 0, axis 1, the product of the others. */
void usm_elements_range(const usm_elements *elements, int64_t n[3]);

#endif
