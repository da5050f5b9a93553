/* Programs and kernels: device code built for one (context, device) pair, and what its functions take. */
#ifndef USM_CORE_PROGRAM_H
#define USM_CORE_PROGRAM_H

#include "context.h"
#include "dtype.h"
#include "error.h"

typedef enum usm_language {
    USM_LANGUAGE_PORTABLE, /* OpenCL C as docs/design.md, section 7, limits it; CUDA: what _cuda.py makes of
                              it */
    USM_LANGUAGE_OPENCL,
    USM_LANGUAGE_SPIRV,
    USM_LANGUAGE_CUDA,
    USM_LANGUAGE_PTX,
    USM_LANGUAGE_NATIVE,  /* the driver's own binary: what program_binary gives */
    USM_LANGUAGE_LIBRARY, /* host: the path of a shared object that exports usmpy_kernels (host/entry.h) */
    USM_LANGUAGE_POINTER, /* host: data is a usm_pointer_source */
    USM_LANGUAGE_BUILTIN, /* host: the built-in kernels, which are in the extension; no data */
} usm_language;

typedef struct usm_program_source {
    usm_language language;
    const void *data; /* text is followed by a 0 that size does not count */
    size_t size;
    const char *options; /* the compiler's; "" where there are none */
    /* What the kernels take, one line each (signature.h), for drivers that do not tell; NULL: nothing. */
    const char *signatures;
} usm_program_source;

typedef struct usm_program {
    usm_refcount refs;
    const struct usm_backend *backend;
    usm_context *context; /* one count */
    usm_place *place;
    bool any_place; /* it runs on every device and context of the backend: a function in memory */
    void *native;
    char *signatures; /* owned copy of the source's, or NULL */
    void *spirv;      /* the same of the module, which tells what kernels take (spirv.h) */
    size_t spirv_size;
    char **kernels; /* names, NULL-ended, one block from malloc; NULL where the driver does not tell */
    char *key;      /* of usm_program_keep; NULL: it goes with its last count */
    int process;    /* that built it: the drivers of most do not survive a fork */
    /* Registry lock, with a key: the context's list, and whether this is there without any count. */
    struct usm_program *next_kept;
    bool idle;
    bool own; /* the library's own: no longer than the context, of which it holds no count */
} usm_program;

typedef enum usm_parameter_kind {
    USM_PARAMETER_UNKNOWN, /* the program does not tell */
    USM_PARAMETER_POINTER, /* to memory that the kernel reads, and writes unless read_only */
    USM_PARAMETER_VALUE,
    USM_PARAMETER_LOCAL, /* memory of a work-group */
} usm_parameter_kind;

typedef struct usm_parameter {
    const char *name; /* NULL where the program does not tell; in the kernel's block, as type */
    const char *type; /* as messages show it: "float *"; NULL where the program does not tell */
    uint8_t kind;     /* usm_parameter_kind */
    bool read_only;   /* a pointer to const */
    int16_t
        dtype; /* usm_dtype of the value, or of what the pointer points to; USM_NO_DTYPE: a struct, void */
    uint32_t size; /* bytes of a value; 0: unknown */
} usm_parameter;

/* A function of somebody's: void name(size_t begin, size_t end, parameters...). */
typedef struct usm_pointer_source {
    void (*function)(void);
    const char *name;
    const usm_parameter *parameters; /* borrowed for the call */
    size_t n_parameters;
} usm_pointer_source;

/* How the work-items that run and the range that was asked for have to fit. */
typedef enum usm_fit {
    USM_FIT_ANY,    /* as the driver does it: exactly, or in whole work-groups (CUDA) */
    USM_FIT_GROUPS, /* exactly, in groups of one size: the kernel looks at them */
    USM_FIT_RANGE,  /* any groups: the backend hands the range to the kernel, which keeps to it */
} usm_fit;

typedef struct usm_kernel {
    usm_refcount refs;
    usm_program *program; /* one count */
    const char *name;     /* in the block of the parameters */
    size_t n_parameters;
    usm_parameter *parameters; /* one block from malloc */
    unsigned max_ndim;         /* of the index space; 1: it knows no work-groups either; 0: any */
    size_t max_local;          /* work-items in a group; 0: as the device */
    size_t required_local[3];  /* reqd_work_group_size; 0 where the source has none */
    usm_fit fit;
    _Atomic uint32_t traced_name; /* the number of its name (names.h); 0: none so far */
    bool untold; /* the driver tells no more than sizes: signatures say how many parameters there are */
    void *native;
} usm_kernel;

/*
 * Builds for the place; blocks for long: no lock, no GIL. USM_BUILD where the source is at fault: *log
 * (malloc'd, the caller's) is then all that the compiler wrote, the error's text what it was about. *log is
 * NULL in every other case.
 */
usm_status usm_program_create(usm_place *place, const usm_program_source *source, USM_GIVES usm_program **out,
                              USM_GIVES char **log, usm_error *error);
/* The same for built-in kernels, which go before their context does. They are not counted as live. */
usm_status usm_program_create_own(usm_place *place, const usm_program_source *source,
                                  USM_GIVES usm_program **out, USM_GIVES char **log, usm_error *error);
/*
 * From now on usm_program_find finds it, by the hash of all that it depends on, while it lives, and as one of
 * the few that a context keeps behind their last count. Once a program, by who made it; no lock.
 */
void usm_program_keep(usm_program *program, const char *key);
/* One that was built in this process for the place, or NULL. No lock. */
USM_GIVES usm_program *usm_program_find(usm_place *place, const char *key);
/* For core/context.c only: the context ends, and none of its programs lives. */
void usm_programs_free(usm_context *context);
/* The same for those that rest, in a context that may live on. No lock. */
void usm_programs_free_idle(usm_context *context);
USM_GIVES usm_program *usm_program_retain(USM_KEEPS usm_program *program);
void usm_program_release(USM_TAKES usm_program *program);

/* What a later USM_LANGUAGE_NATIVE loads, in a malloc'd block. May block. */
usm_status usm_program_binary(usm_program *program, USM_GIVES void **out, size_t *size, usm_error *error);

/* USM_INDEX where the program has no kernel of that name. */
usm_status usm_kernel_create(USM_KEEPS usm_program *program, const char *name, USM_GIVES usm_kernel **out,
                             usm_error *error);
USM_GIVES usm_kernel *usm_kernel_retain(USM_KEEPS usm_kernel *kernel);
void usm_kernel_release(USM_TAKES usm_kernel *kernel);

/* For backends: copies parameters with their texts into one block of the kernel's. */
usm_status usm_kernel_set_parameters(usm_kernel *kernel, const char *name, const usm_parameter *parameters,
                                     size_t n, usm_error *error);

#endif
