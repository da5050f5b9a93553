/* What every file of csrc/py includes: Python, the module's state, and how to get from an object to it. */
#ifndef USMPY_MODULE_H
#define USMPY_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core/base/status.h"
#include "core/device/backend.h"
#include "core/program/program.h"
#include "core/tasks/stream.h"

typedef enum usmpy_name {
#define USMPY_NAME(name) USMPY_##name,
#include "names.inc"
#undef USMPY_NAME
    USMPY_NAMES
} usmpy_name;

struct usmpy_array;
struct usmpy_type_cache;

/* Spare objects of the commonest size; free-threaded builds have a fast allocator and share nothing. */
#ifdef Py_GIL_DISABLED
#define USMPY_SPARE_ARRAYS 0
#define USMPY_SPARE_EVENTS 0
#define USMPY_SPARE_BOUND 0
#else
#define USMPY_SPARE_ARRAYS 64
#define USMPY_SPARE_EVENTS 32
#define USMPY_SPARE_BOUND 8
#endif

#define USMPY_CUDA_QUEUES 16 /* of the first so many devices */

typedef struct usmpy_state {
    PyObject *module; /* borrowed: the module owns this state */
    PyTypeObject *device_type, *context_type, *queue_type, *event_type, *array_type, *flags_type, *dtype_type;
    PyTypeObject *finfo_type, *iinfo_type;
    PyTypeObject *borrow_type, *lend_type, *notifier_type, *trace_type;
    PyTypeObject *program_type, *kernel_type, *bound_type, *range_type, *nd_range_type, *local_type;

    /* Exception classes and the MemoryConnection enumeration, from the Python part of the package. */
    PyObject *usm_error, *backend_unavailable, *device_not_found, *build_error, *placement_error, *axis_error;

    PyObject *dtypes[USM_DTYPES];
    _Atomic(PyObject *) limits[USM_DTYPES]; /* what finfo and iinfo gave of each; NULL until used */
    PyObject *names[USMPY_NAMES];
    PyObject *dlpack, *dlpack_device, *exchange_api, *sycl_interface; /* interned attribute names */
    PyObject *consumer_version;                                       /* (1, 3) */
    PyObject *consumer_kwnames, *stream_kwnames; /* ("max_version",), ("stream", "max_version") */
    PyObject *stream_kwname;                     /* ("stream",), for producers older than the other */

    /* Queue objects of cached queues, by address; immortal queues keep their object (dict, lazily filled). */
    PyObject *queue_objects;
    /* The queue of the host device, where imported host memory lands, and of the default device;
     * NULL until used. */
    PyObject *host_queue, *default_queue;
    /* The same of CUDA memory, by DLPack's number of the device: what imports are asked for. */
    PyObject *cuda_queues[USMPY_CUDA_QUEUES];

    struct usmpy_type_cache *type_cache;

    struct usmpy_array *spare_arrays[USMPY_SPARE_ARRAYS + 1];
    int n_spare_arrays;
    PyObject *spare_events[USMPY_SPARE_EVENTS + 1];
    int n_spare_events;
    PyObject *spare_bound[USMPY_SPARE_BOUND + 1]; /* objects of the garbage collector, untracked */
    int n_spare_bound;
} usmpy_state;

/*
 * The state of the module that was loaded last, NULL after its end: for C entry points that get no object,
 * and as a short cut for those that do.
 */
extern _Atomic(usmpy_state *) usmpy_newest_state;

/* The module is not loadable into sub-interpreters, but may be loaded again after it was removed. */
static inline usmpy_state *usmpy_state_of_module(PyObject *module)
{
    usmpy_state *state = atomic_load_explicit(&usmpy_newest_state, memory_order_acquire);
    return USM_LIKELY(state != NULL && state->module == module) ? state
                                                                : (usmpy_state *)PyModule_GetState(module);
}

/* For final heap types of this module: the type was made with the module, so this cannot fail. */
static inline usmpy_state *usmpy_state_of_type(PyTypeObject *type)
{
    return usmpy_state_of_module(((PyHeapTypeObject *)type)->ht_module);
}

static inline usmpy_state *usmpy_state_of(PyObject *self)
{
    return usmpy_state_of_type(Py_TYPE(self));
}

/*
 * An object whose memory was used by another of the same type before: what PyObject_Init does, in line.
 * Builds that count or trace references need the function.
 */
static inline void usmpy_revive_object(PyObject *object, PyTypeObject *type)
{
#if defined(Py_REF_DEBUG) || defined(Py_TRACE_REFS) || defined(Py_GIL_DISABLED)
    PyObject_Init(object, type);
#else
    Py_INCREF(type);
    Py_SET_REFCNT(object, 1);
#endif
}

/* The shared tail of every tp_dealloc of a heap type: the instance goes, then its count of the type. */
static inline void usmpy_free_object(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Each adds its type to the module and the state; 0 or -1 with an exception. */
int usmpy_device_add_type(PyObject *module, usmpy_state *state);
int usmpy_context_add_type(PyObject *module, usmpy_state *state);
int usmpy_queue_add_type(PyObject *module, usmpy_state *state);
int usmpy_event_add_type(PyObject *module, usmpy_state *state);
int usmpy_array_add_type(PyObject *module, usmpy_state *state);
int usmpy_flags_add_type(PyObject *module, usmpy_state *state);
int usmpy_dtype_add_type(PyObject *module, usmpy_state *state);
int usmpy_inspection_add_types(PyObject *module, usmpy_state *state);
int usmpy_borrow_add_types(PyObject *module, usmpy_state *state);
int usmpy_notifier_add_type(PyObject *module, usmpy_state *state);
int usmpy_range_add_types(PyObject *module, usmpy_state *state);
int usmpy_kernel_add_types(PyObject *module, usmpy_state *state);
int usmpy_program_add_type(PyObject *module, usmpy_state *state);
int usmpy_trace_add_type(PyObject *module, usmpy_state *state);

/* Functions of the module, one table a file; joined by module.c. */
extern PyMethodDef usmpy_device_functions[];
extern PyMethodDef usmpy_placement_functions[];
extern PyMethodDef usmpy_asarray_functions[];
extern PyMethodDef usmpy_creation_functions[];
extern PyMethodDef usmpy_full_functions[];
extern PyMethodDef usmpy_sequence_functions[];
extern PyMethodDef usmpy_manipulation_functions[];
extern PyMethodDef usmpy_joining_functions[];
extern PyMethodDef usmpy_copyto_functions[];
extern PyMethodDef usmpy_rearrange_functions[];
extern PyMethodDef usmpy_repeat_functions[];
extern PyMethodDef usmpy_take_functions[];
extern PyMethodDef usmpy_broadcast_functions[];
extern PyMethodDef usmpy_triangle_functions[];
extern PyMethodDef usmpy_inspection_functions[];
extern PyMethodDef usmpy_dlpack_functions[];
extern PyMethodDef usmpy_copy_functions[];
extern PyMethodDef usmpy_memory_functions[];

/* Once a process: how the core finds the line that makes an allocation. */
void usmpy_memory_start(void);
extern PyMethodDef usmpy_compare_functions[];
extern PyMethodDef usmpy_truth_functions[];
extern PyMethodDef usmpy_mask_functions[];
extern PyMethodDef usmpy_where_functions[];
extern PyMethodDef usmpy_reduce_functions[];

#ifdef USM_TESTING
extern PyMethodDef usmpy_testing_functions[];
#endif

/* Makes a heap type of the module, adds it under its name and stores one count in *slot. */
int usmpy_add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **slot);

/* A function of one of the package's own Python modules, which is imported now: new reference. */
PyObject *usmpy_import(const char *module, const char *name);
/* Calls it. `format`: its arguments as a tuple, as Py_BuildValue takes them. New reference. */
PyObject *usmpy_call(const char *module, const char *name, const char *format, ...);

#endif
