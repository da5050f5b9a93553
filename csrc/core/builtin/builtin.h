/*
 * Launches of built-in kernels (csrc/kernels): each is of a program of the place, which is built when it is
 * first needed and kept as long as the context.
 */
#ifndef USM_CORE_BUILTIN_H
#define USM_CORE_BUILTIN_H

#include "core/program/launch.h"
#include "core/tasks/submit.h"

#define USM_BUILTIN_ARGUMENTS 12

/*
 * Parts of tables by type: row(type, number) makes a row of the texts of a type that kernels are compiled
 * for, and of its usm_dtype. Signed integers have kernels of their own, or those of unsigned ones, where both
 * wrap alike.
 */
#define USM_SIGNED_ROWS(row)                                                                         \
    [USM_INT8] = row("int8", "1"), [USM_INT16] = row("int16", "2"), [USM_INT32] = row("int32", "3"), \
    [USM_INT64] = row("int64", "4")
#define USM_WRAPPING_ROWS(row)                                                                          \
    [USM_INT8] = row("uint8", "5"), [USM_INT16] = row("uint16", "6"), [USM_INT32] = row("uint32", "7"), \
    [USM_INT64] = row("uint64", "8")
#define USM_REAL_ROWS(row)                                                                                 \
    [USM_UINT8] = row("uint8", "5"), [USM_UINT16] = row("uint16", "6"), [USM_UINT32] = row("uint32", "7"), \
    [USM_UINT64] = row("uint64", "8"), [USM_FLOAT32] = row("float32", "10"),                               \
    [USM_FLOAT64] = row("float64", "11")
#define USM_COMPLEX_ROWS(row) \
    [USM_COMPLEX64] = row("complex64", "12"), [USM_COMPLEX128] = row("complex128", "13")

/* Texts that end in the size of an element, by its power of two. */
#define USM_BY_SIZE(text)                                 \
    {                                                     \
        text "1", text "2", text "4", text "8", text "16" \
    }

/* A pair of different usm_dtypes; zeros: no cast. */
typedef struct usm_cast {
    uint8_t dst, src;
    bool unaligned; /* pointers or strides are no multiples of the numbers' size */
} usm_cast;

/* Texts live as long as the process: a place knows a kernel by the addresses of its names. */
typedef struct usm_builtin {
    const char *module, *function; /* csrc/kernels/<module>.cl, or "module.variant", and a kernel in it */
    const char *options;           /* for compilers of OpenCL C; NULL: those of every built-in kernel alone */
    /* What there is to do along each dimension, 1 where unused, none 0: any global size does all of it. */
    int64_t n[3];
    bool transposes; /* usm_kernel_range_over */
    unsigned group;  /* work-items of a group along dimension 0, the only one; 0: what suits the device */
    usm_cast cast;
    bool fresh;  /* usm_submission: accesses[0] is of new memory */
    size_t cost; /* bytes that it moves, approximately, which decides whether other threads help; above 0 */
    size_t n_arguments;
    usm_argument arguments[USM_BUILTIN_ARGUMENTS];
} usm_builtin;

static inline bool usm_builtin_is_cast(const usm_builtin *builtin)
{
    return builtin->cast.dst != builtin->cast.src;
}

/* All but n[0] and the cost. Without the zeros that an initialiser would write into all of it: launches of
 * small work are short. */
static inline void usm_builtin_init(usm_builtin *builtin, const char *module, const char *function,
                                    const char *options)
{
    builtin->module = module;
    builtin->function = function;
    builtin->options = options;
    builtin->n_arguments = 0;
    builtin->fresh = builtin->transposes = false;
    builtin->group = 0;
    builtin->n[1] = builtin->n[2] = 1;
    builtin->cast = (usm_cast){0};
}

static inline void usm_builtin_pointer(usm_builtin *builtin, const void *pointer)
{
    usm_argument *argument = &builtin->arguments[builtin->n_arguments++];
    argument->kind = USM_PARAMETER_POINTER;
    argument->size = sizeof pointer;
    argument->as.pointer = (void *)pointer;
}

/* Of more than USM_INLINE_VALUE bytes: the value has to stay where it is until the submission returns. */
void usm_builtin_value(usm_builtin *builtin, const void *value, size_t size);

/*
 * Enqueues the kernel. The caller names the accesses, and every pointer is usable in the queue's place.
 * Builds the kernel on its first use in this place, which may block for long (usm_detach). A call that fails
 * enqueues nothing. No lock held.
 */
usm_status usm_builtin_submit(usm_queue *queue, const usm_builtin *builtin, const usm_access *accesses,
                              size_t n_accesses, usm_error *error);

/*
 * The same for a kernel whose arguments are the memory of n views, USM_BUILTIN_VIEWS at most, and a struct of
 * `size` bytes. It accesses the first view as `first` says, and reads the others.
 */
#define USM_BUILTIN_VIEWS 4
usm_status usm_builtin_submit_views(usm_queue *queue, usm_builtin *builtin, const usm_view *views, int n,
                                    usm_access_mode first, const void *value, size_t size, usm_error *error);

/*
 * The kernel that a submission to the queue would launch, built if it is the first time, which may block for
 * long (usm_detach). NULL: the submission would fail. Borrowed: it lives as long as the place. No lock held.
 */
const usm_kernel *usm_builtin_kernel_find(const usm_queue *queue, const usm_builtin *builtin);

/* The same for a command that the kernel executes: `asked` is its submission. *out may be NULL. */
usm_status usm_builtin_submit_for(usm_queue *queue, const usm_builtin *builtin, const usm_submission *asked,
                                  USM_GIVES usm_event **out, usm_error *error);

/*
 * Whether work-items of this place take runs of neighbours, as processors need it. True for OpenCL only:
 * SPIR-V and PTX are compiled once, for GPUs.
 */
bool usm_builtin_is_serial(const usm_place *place);

/*
 * The type in which kernels on this queue compute with numbers of `dtype`: float16 and bfloat16 in float32;
 * small integers in 32 bits, but on processors, whose vectors hold more of them.
 */
usm_dtype usm_builtin_computed(const usm_queue *queue, usm_dtype dtype);

/* Whether the host's loops (csrc/cpu) run the built-in kernels and the strided commands of the queue. */
bool usm_builtin_is_on_host(const usm_queue *queue);

/*
 * Keeps built programs between processes; set once, before other threads are here. `load` gives a binary in
 * memory from malloc, or NULL. Both are called on any thread, with no lock held.
 */
typedef struct usm_builtin_store {
    void *(*load)(const usm_device *device, const usm_program_source *source, size_t *size);
    void (*keep)(const usm_device *device, const usm_program_source *source, const void *binary, size_t size);
} usm_builtin_store;
void usm_builtin_set_store(const usm_builtin_store *store);

/* The built-in programs and kernels of a place. */
extern const usm_place_part usm_builtin_part;

#endif
