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
    USM_KERNEL_PTX,    /* single kernels, and the pieces that casts are put together from
                          (csrc/kernels/README.md) */
    USM_KERNEL_SPIRV,  /* modules */
    USM_KERNEL_FORMS
} usm_kernel_form;

typedef struct usm_kernel_source {
    const char *name; /* NULL behind the last source of a form */
    const uint8_t *data, *numbers;
    uint32_t size; /* bytes, once it is restored */
    usm_kernel_form form;
} usm_kernel_source;

/* Written by the build. */
typedef struct usm_kernel_archive {
    const uint8_t *stream; /* usm_lzma_decode */
    uint32_t size;         /* of what is decoded, in bytes: for each of the */
    uint32_t n;            /* sources its name, and how many bytes it, its data and its numbers have; */
    uint32_t data_at;      /* all data; */
    uint32_t numbers_at;   /* all numbers */
} usm_kernel_archive;

extern const usm_kernel_archive usm_kernel_archives[USM_KERNEL_FORMS];
/* By opcode: two bits for each operand, 0 a literal, else an id of three kinds (OpEntryPoint: the first). */
extern const uint32_t usm_spirv_kinds[512];

/*
 * The sources of a form; the first call decompresses all of them, which takes milliseconds, and keeps them
 * for the life of the process. NULL if memory ran out. Any thread, no lock.
 */
const usm_kernel_source *usm_kernel_sources(usm_kernel_form form);
/* That or a later one of this name, or NULL. */
const usm_kernel_source *usm_kernel_source_named(const usm_kernel_source *source, const char *name);
/*
 * Sources, one behind the other, as they were before the build, in memory from malloc, with a 0 behind them
 * that *size does not count. NULL if memory ran out.
 */
char *usm_kernel_restore(const usm_kernel_source *const *sources, int n, size_t *size);

#endif
