/* The state of the module usmpy._core, the ways from an object to it, and its types and functions. */
#ifndef USMPY_MODULE_H
#define USMPY_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core/base/deferred.h"
#include "core/base/status.h"
#include "core/device/backend.h"
#include "core/program/program.h"
#include "core/streams/stream.h"
#include "core/tasks/wait.h"

typedef enum usmpy_name {
#define USMPY_NAME(name) USMPY_##name,
#include "names.inc"
#undef USMPY_NAME
    USMPY_NAMES
} usmpy_name;

struct usmpy_array;
struct usmpy_interpreter;
struct usmpy_type_cache;

/*
 * Most objects of each type that are kept for reuse. Free-threaded builds keep none: their allocator is fast,
 * and a shared list would need a lock.
 */
#ifdef Py_GIL_DISABLED
#define USMPY_SPARE_ARRAYS 0
#define USMPY_SPARE_EVENTS 0
#define USMPY_SPARE_BOUND 0
#else
#define USMPY_SPARE_ARRAYS 64
#define USMPY_SPARE_EVENTS 32
#define USMPY_SPARE_BOUND 8
#endif

#define USMPY_DEVICE_QUEUES 16 /* devices whose cached queue the state keeps */

typedef struct usmpy_state {
    PyObject *module; /* borrowed: the module owns this state */
    struct usmpy_interpreter *interpreter;
#define USMPY_TYPE(name, immutable) PyTypeObject *name##_type;
#define USMPY_OTHER_TYPE(name) PyTypeObject *name;
#define USMPY_OBJECT(name) PyObject *name;
#include "state.inc"
    PyObject *names[USMPY_NAMES];
    PyObject *dtypes[USM_DTYPES];
    _Atomic(PyObject *) limits[USM_DTYPES]; /* the result of finfo or iinfo for each dtype; NULL until used */
    /*
     * Cached queues of devices by their DLPack id, of whichever type came first: the target of imports; NULL
     * until used. Types whose names several devices may have are not kept.
     */
    PyObject *device_queues[USMPY_DEVICE_QUEUES];

    struct usmpy_type_cache *type_cache;

    struct usmpy_array *spare_arrays[USMPY_SPARE_ARRAYS + 1];
    int n_spare_arrays;
    PyObject *spare_events[USMPY_SPARE_EVENTS + 1];
    int n_spare_events;
    PyObject *spare_bound[USMPY_SPARE_BOUND + 1]; /* objects of the garbage collector, untracked */
    int n_spare_bound;
} usmpy_state;

/*
 * The state of the module that the main interpreter loaded last; NULL after it was unloaded. Only threads of
 * the main interpreter may use it.
 */
extern _Atomic(usmpy_state *) usmpy_main_state;

/* The state of the module that the calling thread's interpreter loaded last; NULL after it was unloaded. */
usmpy_state *usmpy_look_up_state(void);

static inline usmpy_state *usmpy_find_state(void)
{
    return USM_LIKELY(!usm_deferred_has_many())
               ? atomic_load_explicit(&usmpy_main_state, memory_order_acquire)
               : usmpy_look_up_state();
}

/* The same, or NULL with RuntimeError after the module was unloaded. */
usmpy_state *usmpy_current_state(void);

static inline usmpy_state *usmpy_state_of_module(PyObject *module)
{
    return PyModule_GetState(module);
}

/* For final heap types of this module: the type was made with the module, so this cannot fail. */
static inline usmpy_state *usmpy_state_of_type(PyTypeObject *type)
{
    return usmpy_state_of_module(((PyHeapTypeObject *)type)->ht_module);
}

/* The same in a tp_dealloc: NULL where the garbage collector has cleared the type before the instance. */
static inline usmpy_state *usmpy_state_of_freed(PyTypeObject *type)
{
    PyObject *module = ((PyHeapTypeObject *)type)->ht_module;
    return USM_LIKELY(module != NULL) ? usmpy_state_of_module(module) : NULL;
}

/*
 * Drops the objects that the state keeps for reuse, at the end of a sub-interpreter: the garbage collector
 * does not know them, and they keep their classes, which keep the module.
 */
void usmpy_drop_kept(usmpy_state *state);

static inline usmpy_state *usmpy_state_of(PyObject *self)
{
    return usmpy_state_of_type(Py_TYPE(self));
}

/*
 * Initialises an object in the memory of a freed one of the same type: PyObject_Init, inlined. Builds that
 * count or trace references need the function.
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

/* One statement, often an assignment, without the GIL: it calls no function of Python. */
#define USMPY_WITHOUT_GIL(...)                        \
    do {                                              \
        PyThreadState *thread_ = PyEval_SaveThread(); \
        __VA_ARGS__;                                  \
        PyEval_RestoreThread(thread_);                \
    } while (0)

/* The end of every tp_dealloc of a heap type: frees the instance, then releases its reference to the type. */
static inline void usmpy_free_object(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

/*
 * The specification of a type of the module: usmpy_<stem>_spec, with the slots <stem>_slots. Its class cannot
 * be changed.
 */
#define USMPY_SPEC(stem, python_name, object, more_flags)                      \
    PyType_Spec usmpy_##stem##_spec = {                                        \
        .name = python_name,                                                   \
        .basicsize = sizeof(object),                                           \
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | (more_flags), \
        .slots = stem##_slots,                                                 \
    };

#define USMPY_TYPE(name, immutable) extern PyType_Spec usmpy_##name##_spec;
#include "state.inc"
/* What types need beside these: 0 or -1 with an exception. */
int usmpy_array_add_exchange_api(usmpy_state *state); /* puts __dlpack_c_exchange_api__ on USMArray */
int usmpy_inspection_add_types(PyObject *module, usmpy_state *state);
int usmpy_dtype_add_objects(PyObject *module, usmpy_state *state);

/* The functions of the module: one table for each file, added by module.c. */
/* clang-format off */
#define USMPY_FUNCTION_TABLES(EACH)                                                                       \
    EACH(device) EACH(placement) EACH(creation) EACH(full) EACH(sequence) EACH(manipulation) EACH(dlpack) \
    EACH(arrow) EACH(copy) EACH(bytes) EACH(rearrange) EACH(repeat) EACH(take) EACH(broadcast)            \
    EACH(triangle) EACH(inspection) EACH(memory) EACH(mask) EACH(asarray) EACH(reduce) EACH(joining)      \
    EACH(copyto) EACH(operation) EACH(matmul) EACH(sort) EACH(share) EACH(deferred) EACH(logic)           \
    EACH(python)
/* clang-format on */
#define USMPY_FUNCTION_TABLE(name) extern PyMethodDef usmpy_##name##_functions[];
USMPY_FUNCTION_TABLES(USMPY_FUNCTION_TABLE)
#undef USMPY_FUNCTION_TABLE

/* Once a process: tells the core how to find the Python line that makes an allocation. */
void usmpy_memory_start(void);

#ifdef USM_TESTING
extern PyMethodDef usmpy_testing_functions[];
#endif

/*
 * Creates a heap type of the module, adds it under its name and stores a reference in *slot. base: NULL for
 * object. 0 or -1.
 */
int usmpy_add_type(PyObject *module, PyType_Spec *spec, PyTypeObject *base, PyTypeObject **slot);

/* Imports one of the package's Python modules and returns an attribute of it: new reference. */
PyObject *usmpy_import(const char *module, const char *name);
/* The same for a function that is called often: the module keeps it. No two of them have one name. */
PyObject *usmpy_function(usmpy_state *state, const char *module, const char *name);
/* Imports and calls it. `format`: its arguments as a tuple, as Py_BuildValue takes them. New reference. */
PyObject *usmpy_call(const char *module, const char *name, const char *format, ...);

#endif
