/* Built-in kernels that compute each element of the result from the elements at the same index. */
#ifndef USM_CORE_ELEMENTWISE_H
#define USM_CORE_ELEMENTWISE_H

#include "scratch.h"

/* A kernel whose last argument is usm_elements (kernels/abi/elements.h), as usm_builtin names it. */
typedef struct usm_elementwise {
    const char *module, *function, *options;
    int64_t op, extra; /* members of usm_elements that are the kernel's own */
    /* The kernel of the same module for operands that are side by side and of type `computed` (usm_packs); or
     * NULL. With `function` NULL, there is no other one, and operands are copied into such memory. */
    const char *packs;
    usm_dtype computed;
} usm_elementwise;

/*
 * Enqueues the kernel over n operands, USM_ELEMENTS_OPERANDS at most: operands[0] is the result, to which the
 * others broadcast. The result may also be a source; any other overlap is the caller's to avoid. `fresh`:
 * nobody else has the result's memory (usm_submission). Goes through compact copies where the axes are too
 * many for a kernel, or memory is not aligned.
 */
usm_status usm_elementwise_submit(usm_queue *queue, const usm_elementwise *kernel, const usm_view *operands,
                                  int n, bool fresh, usm_error *error);

#endif
