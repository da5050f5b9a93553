/*
 * The form of kernels for the host's processors: a function that runs a box of the index space. The built-in
 * ones are in a table like this, and a shared object of a user's exports one: `const struct usmpy_kernels
 * usmpy_kernels`. The objects are made by usmpy/_compile/compiler.py, which writes these declarations into
 * what it compiles; the version tells an object of an older release from one of this.
 */
#ifndef USM_CPU_KERNEL_H
#define USM_CPU_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#define USMPY_KERNELS_VERSION 1

enum { USMPY_VALUE = 0, USMPY_POINTER = 1, USMPY_LOCAL = 2 };

struct usmpy_kernel_parameter {
    const char *name;
    const char *type;  /* as the source spells it, without address space: "const float *" */
    const char *dtype; /* usmpy's name of the value's type, or of what is pointed to; NULL: none of them */
    uint32_t kind;
    uint32_t size;      /* of a value, in bytes */
    uint32_t read_only; /* a pointer to const */
    uint32_t reserved;
};

/* The kernel asks for groups, has local memory or barriers: it runs whole work-groups. */
#define USMPY_KERNEL_GROUPS 1u

struct usmpy_kernel_entry {
    const char *name;
    /*
     * Runs a box of the index space, lo[i] <= id < hi[i] in each dimension: of work-items, or of work-groups
     * where flags has USMPY_KERNEL_GROUPS. global and local count work-items; where no local size was asked
     * for, local is what the caller chose. arguments[i] points to the value, to the pointer, or (local) to a
     * size_t with the bytes. Boxes that do not meet may run on several threads. 0, or 1 when memory ran out.
     */
    int (*run)(const void *const *arguments, const size_t *global, const size_t *local, const size_t *lo,
               const size_t *hi);
    const struct usmpy_kernel_parameter *parameters;
    uint32_t n_parameters;
    uint32_t flags;
    size_t required_local[3]; /* reqd_work_group_size; 0 where the source has none */
};

struct usmpy_kernels {
    uint32_t version;
    uint32_t n;
    const struct usmpy_kernel_entry *entries;
};

#endif
