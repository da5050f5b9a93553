/* Programs of the CUDA backend: what was built, and what its text says about kernels. */
#ifndef USM_CUDA_PROGRAM_H
#define USM_CUDA_PROGRAM_H

#include "cuda_backend.h"

/* What compilers call the user's text in their messages. */
#define USM_CUDA_SOURCE_NAME "<source>"

/* nvrtc.c. Either may be NULL; both are malloc'd, and followed by a 0. */
typedef struct usm_cuda_compiled {
    char *ptx;
    char *cubin;
    size_t cubin_size;
} usm_cuda_compiled;

/* source->options has one option a line. Any thread, no lock; takes long. */
usm_status usm_cuda_compile(const usm_device *device, const usm_program_source *source,
                            usm_cuda_compiled *out, char **log, usm_error *error);

/* usm_program.native */
typedef struct usm_cuda_program {
    usm_device *device;
    CUmodule module;
    char *image;    /* what was loaded: a cubin, a fatbin, or PTX with its 0 */
    size_t size;    /* with the 0 of PTX */
    char *ptx;      /* PTX that parameters are read from, a copy of its own; NULL: there is none */
    char **symbols; /* of kernels, NULL-ended, one block from malloc; NULL: not known */
} usm_cuda_program;

#define USM_CUDA_PACKED_PARAMETERS 32
#define USM_CUDA_PACKED_BYTES 512

/* usm_kernel.native */
typedef struct usm_cuda_kernel {
    CUfunction function;
    unsigned block;           /* work-items in a group where no one asks for a number */
    uint32_t fixed_shared;    /* bytes of local memory that the code itself declares */
    uint32_t most_shared;     /* that one group may have on this device */
    _Atomic uint32_t granted; /* local memory beside the fixed one that the driver has granted */
    /*
     * Where each parameter lies in one block, as the driver reports: it takes a block in a tenth less time
     * than one pointer for each. packed_size 0: it does not tell, or there are too many.
     */
    uint16_t packed_size, n_packed;
    uint16_t
        product_size; /* bytes of an element of the kernels that usm_cuda_multiply stands in for; else 0 */
    uint16_t offsets[USM_CUDA_PACKED_PARAMETERS], sizes[USM_CUDA_PACKED_PARAMETERS];
} usm_cuda_kernel;

/* ptx.c. Names of kernels in one malloc'd block, NULL-ended; NULL: no memory. */
char **usm_cuda_ptx_symbols(const char *ptx);
/* The same of a cubin, which must be whole. */
char **usm_cuda_cubin_symbols(const char *data, size_t size);
/* Is it a cubin or a fatbin, and all of it there? NULL: yes; else what is wrong, in words. */
const char *usm_cuda_image_fault(const char *data, size_t size);
/* "scale" for _Z5scalePKfPff, "ns::scale", "add<float>"; other symbols as they are. */
void usm_cuda_shown_name(const char *symbol, char *out, size_t size);
/*
 * What the text says about a kernel: parameters, required sizes, and how the range has to fit. USM_INDEX
 * where it has no such kernel.
 */
usm_status usm_cuda_ptx_parameters(usm_kernel *kernel, const char *ptx, const char *symbol, const char *name,
                                   usm_error *error);

#endif
