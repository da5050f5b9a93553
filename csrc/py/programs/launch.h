/* Index spaces, kernels and launches. */
#ifndef USMPY_LAUNCH_H
#define USMPY_LAUNCH_H

#include "py/args.h"

#include "core/program/launch.h"

/* Range (has_local is false) and NdRange. */
typedef struct usmpy_range {
    PyObject_HEAD
    usm_range range;
} usmpy_range;

typedef struct usmpy_local {
    PyObject_HEAD
    Py_ssize_t nbytes; /* 1 to UINT32_MAX */
    usm_dtype dtype;   /* of the elements, for kernels written in Python */
} usmpy_local;

typedef struct usmpy_kernel {
    PyObject_HEAD
    usm_kernel *kernel; /* one count */
    PyObject *program;  /* the Program; NULL for one from a pointer */
    PyObject
        *owner; /* of the memory of a function from a pointer, or NULL; each launch keeps it alive, too */
    PyObject *weakrefs;
    bool checked; /* of a Program with check=True */
} usmpy_kernel;

/*
 * An index space from a Range, an NdRange, an int or a sequence of ints. 0, or -1 with TypeError or
 * ValueError.
 */
int usmpy_parse_range(usmpy_state *state, PyObject *object, usm_range *range, const char *parameter);
/* As Python code writes it; new str. */
PyObject *usmpy_range_text(const usm_range *range);

/* New reference; a count of the kernel is taken over. program and owner may be NULL. */
PyObject *usmpy_kernel_wrap(usmpy_state *state, USM_TAKES usm_kernel *kernel, PyObject *program,
                            PyObject *owner);

/* The parameters in words, such as "int32* x, int32 n"; new str. */
PyObject *usmpy_signature_text(const usm_kernel *kernel);

/* kernel[key]: a new BoundKernel, or NULL with TypeError or ValueError. */
PyObject *usmpy_kernel_bind(PyObject *kernel, PyObject *key);

/*
 * Checks everything, then submits. queue: a Queue, or NULL for the one that the arrays share. depends: as in
 * every submission, or NULL. The new Event, or NULL with an exception and nothing enqueued.
 */
PyObject *usmpy_launch(usmpy_state *state, PyObject *kernel, const usm_range *range, PyObject *queue,
                       PyObject *const *objects, Py_ssize_t n, PyObject *depends);
/*
 * For a kernel written in Python, which was built for the types of these arguments and takes arrays of any
 * strides: what each argument is, and the numbers of those that are sizes.
 */
typedef struct usmpy_expansion {
    const struct usmpy_slot *slots;
    const int64_t *sizes;
} usmpy_expansion;
/*
 * The same; record: where a checked kernel keeps its first failure, a USMArray that follows the arguments, or
 * NULL. expansion: NULL for kernels of a Program.
 */
PyObject *usmpy_launch_with(usmpy_state *state, PyObject *kernel, const usm_range *range, PyObject *queue,
                            PyObject *const *objects, Py_ssize_t n, PyObject *depends, PyObject *record,
                            const usmpy_expansion *expansion);
/* A launch of a checked kernel; its event is that of the task that reads the record. */
PyObject *usmpy_launch_checked(usmpy_state *state, PyObject *kernel, const usm_range *range, PyObject *queue,
                               PyObject *const *objects, Py_ssize_t n, PyObject *depends,
                               const usmpy_expansion *expansion);
/* The same in the queue that the arrays share. The objects of `names`, a tuple, follow the n objects. */
PyObject *usmpy_launch_by_name(usmpy_state *state, PyObject *kernel, const usm_range *range,
                               PyObject *const *objects, Py_ssize_t n, PyObject *names, PyObject *depends);

/* Queue.submit */
usmpy_member usmpy_queue_submit;

#endif
