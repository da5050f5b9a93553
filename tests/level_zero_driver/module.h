/* What modules, kernels and launches share. */
#ifndef SIM_MODULE_H
#define SIM_MODULE_H

#include "driver.h"
#include "opencl.h"
#include "spirv.h"

struct _ze_module_handle_t {
    ze_context_handle_t context;
    const sim_opencl *cl;
    cl_program program;
    unsigned char *spirv; /* what it was made from, also where that was a native binary's */
    size_t spirv_size;
    char **names; /* of kernels */
    uint32_t n_names;
    uint64_t hash;
    uint64_t key;        /* of the cache: input, constants and options */
    bool kept;           /* came from there */
    _Atomic int kernels; /* alive */
    _Atomic int count;   /* of references: the caller's, and its kernels' */
};

struct _ze_module_build_log_handle_t {
    char *text;
};

typedef struct sim_argument {
    sim_argument_kind kind;
    bool set;
    size_t size; /* of a value, or of local memory */
    const void *pointer;
    unsigned char *value; /* owned */
} sim_argument;

#define SIM_SPARE_KERNELS 8

struct _ze_kernel_handle_t {
    ze_module_handle_t module;
    char *name;
    cl_kernel id;         /* for questions */
    pthread_mutex_t lock; /* of what OpenCL has of `id`, and of the spare ones; a leaf */
    cl_kernel spare[SIM_SPARE_KERNELS];
    int n_spare;
    uint32_t n_arguments;
    sim_argument *arguments;
    uint32_t group[3]; /* 0: not set */
    uint32_t offset[3];
    size_t required[3]; /* 0: none */
    cl_ulong local_bytes, private_bytes;
    ze_kernel_indirect_access_flags_t indirect;
    _Atomic int count; /* of references: the caller's, and its launches' */
};

/* NULL where this was not built before. */
cl_program sim_cache_load(const sim_opencl *cl, uint64_t key);
void sim_cache_store(const sim_opencl *cl, cl_program program, uint64_t key);

void sim_module_release(ze_module_handle_t module);
void sim_kernel_release(ze_kernel_handle_t kernel);
/* An OpenCL kernel for the caller alone until it is put back; NULL: no memory. */
cl_kernel sim_kernel_take(ze_kernel_handle_t kernel);
void sim_kernel_put(ze_kernel_handle_t kernel, cl_kernel id);
void sim_arguments_free(sim_argument *arguments, uint32_t n);
/* NULL: no memory. */
sim_argument *sim_arguments_copy(const sim_argument *arguments, uint32_t n);

#endif
