/*
 * The sources of the built-in kernels (csrc/kernels) in each form that drivers take. The build writes these
 * tables (csrc/kernels/tools/embed.py).
 */
#ifndef USM_CORE_KERNEL_SOURCE_H
#define USM_CORE_KERNEL_SOURCE_H

#include <stddef.h>

typedef enum usm_kernel_form {
    USM_KERNEL_OPENCL, /* csrc/kernels/src/NAME.cl with its headers in place */
    USM_KERNEL_PTX,    /* programs of one kernel; casts are two parts (csrc/kernels/README.md) */
    USM_KERNEL_SPIRV,  /* modules */
    USM_KERNEL_FORMS
} usm_kernel_form;

typedef struct usm_kernel_source {
    const char *name, *data; /* of both the 0 at the end does not count */
    size_t size;
} usm_kernel_source;

/* By form: the sources, sorted by their names, and how many there are. */
extern const struct usm_kernel_sources {
    const usm_kernel_source *first;
    size_t n;
} usm_kernel_sources[USM_KERNEL_FORMS];

/* NULL if there is none of this name. */
const usm_kernel_source *usm_kernel_source_find(usm_kernel_form form, const char *name);

#endif
