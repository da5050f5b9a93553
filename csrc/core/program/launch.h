/* A kernel launch: the kernel, its index space and its arguments. */
#ifndef USM_CORE_LAUNCH_H
#define USM_CORE_LAUNCH_H

#include "argument.h"
#include "program.h"

/* Borrows the kernel and the arguments; usm_launch_clone_in makes a launch that holds them. */
typedef struct usm_launch {
    usm_kernel *kernel;
    usm_range range;
    size_t n_arguments;
    const usm_argument *arguments;
    size_t cost; /* bytes that a built-in kernel moves; 0: a kernel of the user, whose cost is unknown */
} usm_launch;

/*
 * One block with all values, and a count of the kernel: in `room`, aligned as one, where this has the bytes
 * that it takes. NULL when memory ran out.
 */
USM_GIVES usm_launch *usm_launch_clone_in(const usm_launch *launch, void *room, size_t room_size);
void usm_launch_free_from(USM_TAKES usm_launch *launch, const void *room); /* NULL is allowed */

#endif
