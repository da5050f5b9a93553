/* A kernel launch: the kernel, its index space and its arguments. */
#ifndef USM_CORE_LAUNCH_H
#define USM_CORE_LAUNCH_H

#include "program.h"

/* global counts work-items, and local divides it; unused dimensions are 1. get_global_id(i) < global[i]. */
typedef struct usm_range {
    unsigned ndim; /* 1 to 3 */
    bool has_local;
    size_t global[3], local[3];
} usm_range;

static inline size_t usm_range_items(const usm_range *range)
{
    return range->global[0] * range->global[1] * range->global[2];
}

#define USM_INLINE_VALUE 16

typedef struct usm_argument {
    uint8_t kind;  /* usm_parameter_kind, but UNKNOWN */
    uint32_t size; /* of a value or of local memory */
    union {
        void *pointer;
        unsigned char value[USM_INLINE_VALUE]; /* where size <= USM_INLINE_VALUE */
        const void *data;                      /* larger values; borrowed */
    } as;
} usm_argument;

static inline const void *usm_argument_value(const usm_argument *argument)
{
    return argument->size <= USM_INLINE_VALUE ? argument->as.value : argument->as.data;
}

typedef struct usm_launch {
    usm_kernel *kernel;
    usm_range range;
    size_t n_arguments;
    const usm_argument *arguments;
    size_t cost; /* of a built-in kernel, bytes that it moves; 0: a user's, of which nothing is known */
} usm_launch;

/* One block with all values, and a count of the kernel; NULL when memory ran out. */
USM_GIVES usm_launch *usm_launch_clone(const usm_launch *launch);
void usm_launch_free(USM_TAKES usm_launch *launch); /* NULL is allowed */
/* The same, without a block where `room`, aligned as one, has the bytes that it takes. */
USM_GIVES usm_launch *usm_launch_clone_in(const usm_launch *launch, void *room, size_t room_size);
void usm_launch_free_from(USM_TAKES usm_launch *launch, const void *room);

#endif
