/*
 * usmpy's C API: arrays, queues and events for other extensions.
 *
 *     #include <usmpy.h>                      with -I from usmpy.get_include()
 *     const UsmpyApi *usmpy = UsmpyApi_Import();    once, in the module's exec function
 *
 * Nothing is linked: the functions come in a table from the capsule usmpy._core._C_API. Within a major
 * version the table only grows at its end; `minor` and `size` say how far it goes. Unless a comment says
 * otherwise, a function is called with the GIL (or an attached thread state) held, returns -1 or NULL with an
 * exception set when it fails, and does not block. Objects that come out are new references.
 *
 * C99 and C++11. See docs/c-api.md, and docs/examples/c_api for an extension in C and one with pybind11.
 */
#ifndef USMPY_H
#define USMPY_H

#include <Python.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define USMPY_API_MAJOR 1
#define USMPY_API_MINOR 0
#define USMPY_API_CAPSULE "usmpy._core._C_API"

typedef enum UsmpyKind { USMPY_KIND_DEVICE, USMPY_KIND_SHARED, USMPY_KIND_HOST } UsmpyKind;

/* How work touches an array: later work waits accordingly. */
typedef enum UsmpyMode { USMPY_MODE_READ = 1, USMPY_MODE_WRITE = 2, USMPY_MODE_READ_WRITE = 3 } UsmpyMode;

/* A data type in DLPack's words (DLDataTypeCode, bits of one element); lanes are always 1. */
typedef struct UsmpyDType {
    uint8_t code, bits;
} UsmpyDType;

/* What an array is. The pointers are valid as long as the array lives; `data`, as long as its memory. */
typedef struct UsmpyArrayInfo {
    void *data;             /* the first element; NULL where size is 0 */
    const int64_t *shape;   /* ndim elements */
    const int64_t *strides; /* ndim, in elements */
    int64_t size;           /* elements */
    int32_t ndim;
    int32_t device_type, device_id; /* DLPack's, as __dlpack_device__ gives them */
    UsmpyDType dtype;
    UsmpyKind kind;
    int writable;     /* 0: read-only */
    int c_contiguous; /* row-major, compact */
    int host_reads;   /* the host may dereference `data`, once pending work has ended */
} UsmpyArrayInfo;

typedef struct UsmpyAccess {
    PyObject *array;
    UsmpyMode mode;
} UsmpyAccess;

/* One count of an array's memory. */
typedef struct UsmpyMemory UsmpyMemory;

/*
 * Work on the host: returns 0, or anything else with a message of at most `size` bytes, the final NUL
 * included, which becomes the error of the event. Runs on a thread of the queue without the GIL, and must not
 * call Python unless it takes the GIL itself.
 */
typedef int (*UsmpyFunction)(void *argument, char *message, size_t size);
/* Lets go of the argument, once, on any thread, with the GIL or without it: must not call Python. */
typedef void (*UsmpyRelease)(void *argument);

typedef struct UsmpyApi {
    uint32_t major, minor;
    size_t size; /* of this struct, as the library knows it */

    /* Arrays */

    /* 1 or 0; never fails. */
    int (*array_check)(PyObject *object);
    /* TypeError for anything but a USMArray. Does not wait for pending work. */
    int (*array_info)(PyObject *array, UsmpyArrayInfo *info);
    /*
     * New memory, row-major, its elements not set. queue: a Queue; NULL is that of the default device.
     * ValueError for a shape, TypeError for a data type that usmpy does not hold, MemoryError.
     */
    PyObject *(*array_empty)(int ndim, const int64_t *shape, UsmpyDType dtype, UsmpyKind kind,
                             PyObject *queue);
    PyObject *(*array_queue)(PyObject *array);
    /* Waits until the host may access the array in this mode. Blocks, without the GIL. */
    int (*array_wait)(PyObject *array, UsmpyMode mode);

    /* Memory that outlives its array object: hold with the GIL, release on any thread, without it too. */
    UsmpyMemory *(*memory_hold)(PyObject *array);
    void (*memory_release)(UsmpyMemory *memory);

    /* Queues */

    int (*queue_check)(PyObject *object);
    /* "host", "opencl", "level_zero" or "cuda"; static. */
    const char *(*queue_backend)(PyObject *queue);
    /* The driver's queue (cl_command_queue, ze_command_list_handle_t, CUstream); NULL without an exception on
     * the host. It lives as long as the Queue. From here on the queue counts on others to enqueue in it. */
    void *(*queue_native)(PyObject *queue);
    /*
     * Runs function(argument) on a thread of the queue, in its order, after `depends` and after all work on
     * the same memory; the memory of the accesses lives until it has ended. Returns its Event. On success
     * release(argument) is called after the end, also where the function never ran because what it depends on
     * failed; on failure the argument stays the caller's. release may be NULL.
     */
    PyObject *(*queue_submit)(PyObject *queue, UsmpyFunction function, void *argument, UsmpyRelease release,
                              const UsmpyAccess *accesses, size_t n_accesses, PyObject *const *depends,
                              size_t n_depends);
    /*
     * Around work that the caller itself enqueues in queue_native(queue): after queue_begin, what is enqueued
     * there follows all pending work on the arrays (blocks, without the GIL, only for what the driver
     * cannot wait for); queue_end returns an Event of all that is in the driver's queue by then, for which
     * later work on the arrays waits, and which keeps them alive. ValueError for a queue of the host, which
     * has none.
     */
    int (*queue_begin)(PyObject *queue, const UsmpyAccess *accesses, size_t n_accesses);
    PyObject *(*queue_end)(PyObject *queue, const UsmpyAccess *accesses, size_t n_accesses);
    /* Seconds; below 0: for as long as it takes. Raises as Queue.wait does. Blocks, without the GIL. */
    int (*queue_wait)(PyObject *queue, double timeout);

    /* Events */

    int (*event_check)(PyObject *object);
    /* 1: ended, well or not; 0: not yet. */
    int (*event_done)(PyObject *event);
    /* As queue_wait; raises the error of the work. */
    int (*event_wait)(PyObject *event, double timeout);
} UsmpyApi;

/* Imports usmpy and checks its version. NULL with ImportError. */
static inline const UsmpyApi *UsmpyApi_Import(void)
{
    PyObject *core = PyImport_ImportModule("usmpy._core");
    PyObject *capsule = core == NULL ? NULL : PyObject_GetAttrString(core, "_C_API");
    const UsmpyApi *api =
        capsule == NULL ? NULL : (const UsmpyApi *)PyCapsule_GetPointer(capsule, USMPY_API_CAPSULE);
    if (api == NULL) {
        if (PyErr_ExceptionMatches(PyExc_AttributeError)) {
            PyErr_SetString(PyExc_ImportError, "this usmpy has no C API: version 0.1 or later is needed");
        }
    } else if (api->major != USMPY_API_MAJOR || api->size < sizeof(UsmpyApi)) {
        PyErr_Format(PyExc_ImportError,
                     "usmpy has its C API in version %u.%u, and this extension was compiled for %d.%d",
                     (unsigned)api->major, (unsigned)api->minor, USMPY_API_MAJOR, USMPY_API_MINOR);
        api = NULL;
    }
    Py_XDECREF(capsule); /* the table is static */
    Py_XDECREF(core);
    return api;
}

#ifdef __cplusplus
}
#endif

#endif
