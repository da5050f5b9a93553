/* Programs and kernels: device code built for one (context, device) pair, and what its functions take. */
#ifndef USM_CORE_PROGRAM_H
#define USM_CORE_PROGRAM_H

#include "argument.h"
#include "core/base/error.h"
#include "core/device/context.h"
#include "core/device/properties.h"
#include "core/layout/dtype.h"

/* Whether devices of the backend take programs in this language, translated or as they are. */
bool usm_backend_takes(const struct usm_backend *backend, usm_language language);
/* The language that its driver takes sources in. */
usm_language usm_backend_language(const struct usm_backend *backend);

/* What a program is built from. Everything is borrowed for the call. */
typedef struct usm_program_source {
    usm_language language;
    const void *data; /* text is followed by a 0 that size does not count */
    size_t size;
    /*
     * Options of the compiler as the user wrote them, separated by blanks, or as a translator of csrc/py
     * wrote them: for CUDA one a line. "": none.
     */
    const char *options;
    /*
     * The parameters of the kernels, one line each (signature.h), for drivers that do not tell them; or NULL.
     */
    const char *signatures;
    bool own; /* of built-in kernels: the program is the place's own, and does not count as live */
} usm_program_source;

/* A program of a place. It holds the context, except where `own` is set. */
typedef struct usm_program {
    usm_refcount refs;
    const struct usm_backend *backend;
    usm_context *context; /* one count */
    usm_place *place;
    bool any_place; /* a function in memory: it runs on every device and context of the backend */
    void *native;
    char *signatures; /* owned copy of the source's, or NULL */
    void *spirv;      /* owned copy of the module, from which parameters are read (spirv.h), or NULL */
    size_t spirv_size;
    char **kernels; /* names, NULL-terminated, one block from malloc; NULL if the driver does not tell */
    char *key;      /* of usm_program_keep; NULL: destroyed with its last reference */
    int process;    /* that built it: most drivers do not survive a fork */
    /* With a key, under the registry lock: the place's list, and whether the program has no reference. */
    struct usm_program *next_kept;
    bool idle;
    usm_reclaimable reclaimable; /* at its end */
    bool own; /* as in its source: it holds no reference to the context, which destroys it */
} usm_program;

/* A parameter of a kernel, as far as the program or its signature describes it. */
typedef struct usm_parameter {
    const char *name; /* NULL if the program does not tell; in the kernel's block, as type */
    const char *type; /* for messages: "float *"; NULL if the program does not tell */
    uint8_t kind;     /* usm_parameter_kind */
    bool read_only;   /* a pointer to const */
    int16_t dtype;    /* usm_dtype of the value or of what is pointed to; USM_NO_DTYPE: a struct, void */
    uint32_t size;    /* bytes of a value; 0: unknown */
} usm_parameter;

/* A function of the user: void name(size_t begin, size_t end, parameters...). */
typedef struct usm_pointer_source {
    void (*function)(void);
    const char *name;
    const usm_parameter *parameters; /* borrowed for the call */
    size_t n_parameters;
} usm_pointer_source;

/* How the work-items that run relate to the range of the launch. */
typedef enum usm_fit {
    USM_FIT_ANY,    /* as the driver launches: exactly the range, or whole work-groups (CUDA) */
    USM_FIT_GROUPS, /* exactly the range, in groups of equal size, since the kernel uses them */
    USM_FIT_RANGE,  /* any groups: the backend passes the range to the kernel, which checks it */
} usm_fit;

/*
 * What a backend uses to compute launches of a built-in kernel, where that is more than the kernel's own
 * source. Users read it (explain_operation, explain_matmul), and plans depend on it. Static texts.
 */
typedef struct usm_computed_by {
    /*
     * The file of a library. It computes whole launches of usm_matmul_float32 and usm_matmul_float64 if the
     * rows or the columns of both matrices are side by side, and lengths and strides fit in an int; other
     * kernels call functions of it. NULL: there is none.
     */
    const char *library;
    const char *instructions; /* the set that was chosen for this processor; NULL: there is no choice */
} usm_computed_by;

/* A kernel of a program. Immutable once it was created. */
typedef struct usm_kernel {
    usm_refcount refs;
    usm_program *program; /* one count */
    const char *name;     /* in the block of the parameters */
    const char *label;    /* in traces, of the whole process (usm_record_name); NULL: its name */
    size_t n_parameters;
    usm_parameter *parameters; /* one block from malloc */
    unsigned max_ndim;         /* of the index space; 1: also without work-groups; 0: any */
    size_t max_local;          /* work-items in a group; 0: the device's limit */
    size_t preferred_multiple; /* of work-items in a group; 0: the device's smallest sub-group */
    size_t required_local[3];  /* reqd_work_group_size; 0 if the source has none */
    usm_fit fit;
    bool types_unknown; /* the driver only tells sizes; signatures may have another number of parameters */
    void *native;
    usm_computed_by computed_by; /* of a built-in kernel; all NULL at kernel_create */
} usm_kernel;

/*
 * Builds for the place. It may block for long, without the GIL (usm_detach): no lock. USM_BUILD if the
 * source is wrong: *log (from malloc, the caller frees it) is then all that the compiler wrote. *log is
 * NULL otherwise.
 */
usm_status usm_program_create(usm_place *place, const usm_program_source *source, USM_GIVES usm_program **out,
                              USM_GIVES char **log, usm_error *error);
/*
 * Makes usm_program_find find the program under the key, a hash of all that it depends on: while it is
 * referenced, and later while it is one of the few that the place keeps. Called once, by the caller of
 * usm_program_create, without a lock.
 */
void usm_program_keep(usm_program *program, const char *key);
/* A program that was built in this process for the place, or NULL. Called without a lock. */
USM_GIVES usm_program *usm_program_find(usm_place *place, const char *key);
USM_RETAIN(usm_program)
void usm_program_release(USM_TAKES usm_program *program);

/* The programs of a place: those that are kept, and the built-in ones. */
extern const usm_place_part usm_program_part;

/* The binary that USM_LANGUAGE_NATIVE loads, in memory from malloc. It may block (usm_detach). */
usm_status usm_program_binary(usm_program *program, USM_GIVES void **out, size_t *size, usm_error *error);

/* USM_INDEX if the program has no kernel of that name. */
usm_status usm_kernel_create(USM_KEEPS usm_program *program, const char *name, USM_GIVES usm_kernel **out,
                             usm_error *error);
USM_RETAIN(usm_kernel)
void usm_kernel_release(USM_TAKES usm_kernel *kernel);

/*
 * For backends: usm_program.kernels of `n` names, which lie one after the other in `texts`, each with its 0.
 * NULL: memory ran out.
 */
char **usm_program_names(const char *texts, size_t n);
/* For backends: copies parameters with their texts into one block of the kernel. */
usm_status usm_kernel_set_parameters(usm_kernel *kernel, const char *name, const usm_parameter *parameters,
                                     size_t n, usm_error *error);

#endif
