/*
 * The sources of the built-in kernels (csrc/kernels) in each form that drivers take. The extension holds them
 * compressed, in the format that csrc/kernels/tools/embed.py writes.
 */
#ifndef USM_CORE_ARCHIVE_H
#define USM_CORE_ARCHIVE_H

#include <stddef.h>
#include <stdint.h>

typedef enum usm_kernel_form {
    USM_KERNEL_OPENCL, /* csrc/kernels/src/NAME.cl with its headers in place */
    USM_KERNEL_PTX,    /* modules, and the pieces that casts are put together from (csrc/kernels/README.md) */
    USM_KERNEL_SPIRV,
    USM_KERNEL_FORMS
} usm_kernel_form;

typedef struct usm_kernel_source {
    uint32_t size; /* bytes of data; 0 behind the last source of a form */
    char name[28];
    char data[]; /* aligned to words; text has a 0 behind it, which size does not count */
} usm_kernel_source;

/* Written by the build. */
typedef struct usm_kernel_archive {
    const uint8_t *stream; /* usm_lzma_decode */
    uint32_t size;         /* of what is decoded: bytes, from numbers_at on the numbers */
    uint32_t numbers_at;
    uint32_t restored; /* bytes of all sources as they are in memory */
} usm_kernel_archive;

extern const usm_kernel_archive usm_kernel_archives[USM_KERNEL_FORMS];

/*
 * The first source of a form; the first call decompresses all of them, which takes milliseconds, and keeps
 * them for the life of the process. NULL if memory ran out. Any thread, no lock.
 */
const usm_kernel_source *usm_kernel_sources(usm_kernel_form form);
/* NULL behind the last one. */
const usm_kernel_source *usm_kernel_source_next(const usm_kernel_source *source);
/* That or a later one of this name, or NULL. */
const usm_kernel_source *usm_kernel_source_named(const usm_kernel_source *source, const char *name);

#endif
