/*
 * Strided commands as launches of built-in device kernels (csrc/kernels). Pure: no memory, no locks, no
 * driver.
 */
#ifndef USM_CORE_KERNELS_H
#define USM_CORE_KERNELS_H

#include "core/layout/layout.h"
#include "core/tasks/command.h"
#include "kernels/abi/strided.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A strided command for a device: the kernel, and the axes from the fastest to the slowest. */
typedef struct usm_kernel_plan {
    char *dst;
    const char *src;
    int size;       /* usm_strided_<size> moves the elements; 0: usm_cast converts them */
    bool unaligned; /* the cast has to be built with USM_UNALIGNED */
    int ndim;
    usm_axis axes[USM_MAX_NDIM + 1]; /* operand 0 is dst, 1 is src */
    int64_t launches;                /* more than one where there are more than USM_KERNEL_AXES axes */
} usm_kernel_plan;

/* Moves go by wider elements where rows allow it, and by narrower ones where memory is not aligned. */
void usm_kernel_plan_strided(usm_kernel_plan *plan, const usm_strided *strided);
/*
 * For a processor whose driver takes usm_strided_64: large copies go by whole lines, past the caches, where
 * rows and addresses allow it.
 */
void usm_kernel_plan_lines(usm_kernel_plan *plan);

/* What the sizes of a launch depend on. */
typedef struct usm_kernel_device {
    bool serial;    /* a processor: kernels are built with USM_SERIAL */
    unsigned units; /* compute units */
    unsigned group; /* the most work-items in a group */
} usm_kernel_device;

/* Any other range gives the same result. The local sizes divide the global ones. */
typedef struct usm_kernel_range {
    size_t global[3], local[3];
} usm_kernel_range;

typedef struct usm_kernel_launch {
    char *dst;
    const char *src;
    usm_kernel_axes axes;
    int64_t n[3]; /* elements along the dimensions of the range */
    bool transposes;
} usm_kernel_launch;

/* Launch number index, 0 <= index < plan->launches. The launches may run in any order, and side by side. */
void usm_kernel_plan_launch(const usm_kernel_plan *plan, int64_t index, usm_kernel_launch *launch);

/*
 * For n[i] elements along dimension i, each above 0. `transposes`: what neighbours along dimension 0 read
 * lies farther apart than what neighbours along dimension 1 read.
 */
void usm_kernel_range_over(const int64_t n[3], bool transposes, const usm_kernel_device *device,
                           usm_kernel_range *range);

#endif
