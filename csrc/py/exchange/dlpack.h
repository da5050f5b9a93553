/* Declarations shared by the files of the DLPack exchange. */
#ifndef USMPY_DLPACK_H
#define USMPY_DLPACK_H

#include "py/arrays/array.h"

#include "core/exchange/dlpack_types.h"
#include "core/exchange/dltensor.h"

/* How arrays of a type are imported: looked up once for each version of the type. */
typedef enum usmpy_route {
    USMPY_ROUTE_NONE,      /* no protocol on the type */
    USMPY_ROUTE_TABLE,     /* the C exchange table */
    USMPY_ROUTE_VERSIONED, /* __dlpack__(max_version=...) */
    USMPY_ROUTE_LEGACY,    /* __dlpack__(), seen to refuse the keyword */
} usmpy_route;

/* Where the memory of instances of a type was in earlier imports. */
typedef enum usmpy_where {
    USMPY_WHERE_UNKNOWN,
    USMPY_WHERE_HOST, /* every instance had memory without streams: __dlpack_device__ is not called */
    USMPY_WHERE_ASK,  /* some instance had memory with streams: __dlpack_device__ is called each time */
} usmpy_where;

/* What a type is to NumPy. */
typedef enum usmpy_numpy {
    USMPY_NUMPY_OTHER,
    USMPY_NUMPY_SCALAR,  /* numpy.generic: a number, or a time, a text, a record */
    USMPY_NUMPY_DERIVED, /* derived from numpy.ndarray, or a proxy: a mask or a unit may go with the elements
                          */
} usmpy_numpy;

/* Returns a CUDA stream, 0 for the legacy default one; -1 may stand for an exception. */
typedef intptr_t usmpy_stream_of(int device_id);

typedef struct usmpy_type_entry {
    uint8_t route; /* usmpy_route */
    uint8_t where; /* usmpy_where */
    uint8_t numpy; /* usmpy_numpy */
    bool lazy;     /* has is_conj and is_neg: the table may export data that are not computed yet */
    bool has_grad; /* has requires_grad: the table exports tensors that its own __dlpack__ refuses */
    bool sycl;     /* has __sycl_usm_array_interface__, which names the memory's queue, and no table */
    /* Compiled, with __cuda_array_interface__: reading its current stream costs less than an event. */
    bool reads_stream;
    /* Returns CuPy's current stream of the calling thread on a device. NULL for other libraries. */
    usmpy_stream_of *stream_of;
    const DLPackExchangeAPI *api;
    /*
     * The type's __dlpack__ if it can be called with the object as first argument; borrowed, and valid as
     * long as the type has the entry's version. Otherwise, and in free-threaded builds, NULL.
     */
    PyObject *method;
    /*
     * The getter of requires_grad, under the same conditions; NULL if it is not compiled or needs a closure.
     */
    getter requires_grad;
} usmpy_type_entry;

typedef struct usmpy_type_cache usmpy_type_cache;
usmpy_type_cache *usmpy_type_cache_create(void);
void usmpy_type_cache_destroy(usmpy_type_cache *cache);
/*
 * The entry of the type, computed if necessary; NULL with an exception. It does not change until the next
 * lookup on this thread; an entry that is not in the cache is stored in `room`.
 */
const usmpy_type_entry *usmpy_type_lookup(usmpy_state *state, PyTypeObject *type, usmpy_type_entry *room);
/*
 * Records what an import has shown: that the type supports the legacy call only (USMPY_ROUTE_LEGACY; other
 * routes stand for no news), and where its memory is (unless USMPY_WHERE_UNKNOWN).
 */
void usmpy_type_learn(usmpy_state *state, PyTypeObject *type, usmpy_route route, usmpy_where where);

/* The names of capsules that nobody has consumed. */
#define USMPY_CAPSULE "dltensor_versioned"
#define USMPY_LEGACY_CAPSULE "dltensor"

/* A tensor from a capsule or a table: one of the two pointers, owned. */
typedef struct usmpy_tensor {
    DLManagedTensorVersioned *versioned;
    DLManagedTensor *legacy;
} usmpy_tensor;

/* Calls the deleter, keeping a pending exception. */
void usmpy_tensor_delete(usmpy_tensor *tensor);
/* Where work on a tensor may be pending. */
typedef struct usmpy_origin {
    void *stream; /* as in core/streams/stream.h; NULL: no work is pending, or the memory has no streams */
    usm_device *device;         /* of the stream */
    usmpy_stream_of *stream_of; /* if not NULL, returns the stream once the device is known */
    bool trusted; /* from an exchange table, whose producer is compiled: the driver is not asked about the
                     pointer */
} usmpy_origin;

/*
 * The stream= argument of x.__dlpack__, as a new int; NULL for memory without streams, whose producers must
 * not get one. Most types only have host memory, and are asked for the device of one instance; after an
 * instance with other memory, each is asked. 0 or -1.
 */
int usmpy_choose_stream(usmpy_state *state, PyObject *x, const usmpy_type_entry *entry,
                        PyObject *queue_object, usmpy_origin *origin, PyObject **stream);
/* The C function of the library's Cython interface that returns its current stream; NULL if none is known. */
usmpy_stream_of *usmpy_find_stream_of(PyTypeObject *type);
/* Calls such a function for a device. 0, or -1 with its exception. */
int usmpy_ask_stream_of(usmpy_stream_of *stream_of, usm_device *device, usmpy_origin *origin);
/*
 * Orders the first use of imported memory, which no other thread knows yet, after work of the producer's
 * stream; `queue` is where the first use is expected.
 */
void usmpy_attach_stream(usmpy_array *array, usm_queue *queue, const usmpy_origin *origin);
/* After a function of the type's exchange table has failed: the exception for it, and for its own. */
void usmpy_table_failed(PyObject *x);
/* The stream of the producer of a table's tensor. 0 or -1. */
int usmpy_ask_table(usmpy_state *state, PyObject *x, const DLPackExchangeAPI *api, const DLTensor *tensor,
                    usmpy_origin *origin);

/*
 * The array over the tensor's memory, on `queue_object` if the memory can be used there in place, else (or
 * for NULL) on the cached queue of its device. Takes ownership of the tensor, also on failure.
 */
usmpy_array *usmpy_array_from_tensor(usmpy_state *state, USM_TAKES usmpy_tensor *tensor,
                                     const usmpy_origin *origin, PyObject *queue_object);

/*
 * Imports x through the exchange of its type, in place. NULL with an exception. `borrows`: for borrow(),
 * which also takes arrays that require grad.
 */
/* Refuses an object whose mask or unit would be lost. 0 or -1. */
int usmpy_check_plain(PyObject *x);

usmpy_array *usmpy_import_dlpack(usmpy_state *state, PyObject *x, PyObject *queue_object, bool borrows);
/*
 * The current stream of the owner of x for memory like the array's: from its exchange table, its
 * __cuda_array_interface__, or its own __cuda_stream__. 1; 0 if it names none; -1 with an exception.
 */
int usmpy_owner_stream(usmpy_state *state, PyObject *x, const usmpy_array *array, usmpy_origin *origin);
/*
 * Lets the owner of x change or free the memory that was imported as `array`: its stream waits on the device
 * for our work; if it names no stream, this call waits. 0 or -1.
 */
int usmpy_give_back(usmpy_state *state, PyObject *x, usmpy_array *array);
/*
 * Before a copy from or to an import, which usmpy_give_back follows: inside a host task that the copy would
 * be ordered after, it fails, and nothing is submitted. Memory that is no import stays as it is.
 */
void usmpy_mark_loaned(usmpy_array *array);
/*
 * usmpy_array_copy_broadcast and usmpy_array_duplicate of `src`, the array of `x`. If x is not a USMArray,
 * its memory is given back afterwards.
 */
int usmpy_copy_from(usmpy_state *state, PyObject *x, usmpy_array *dst, usmpy_array *src, const char *what);
usmpy_array *usmpy_duplicate_from(usmpy_state *state, PyObject *x, usmpy_array *src, PyObject *queue_object,
                                  usm_kind kind, usm_dtype dtype, char order);

/*
 * The array of an object's __cuda_array_interface__, on `queue_object` as above; NULL without an exception if
 * it has none.
 */
usmpy_array *usmpy_array_from_cuda_interface(usmpy_state *state, PyObject *object, PyObject *queue_object);
/* The interface's stream: 1; 0 if it has none (*origin is unchanged); -1 with an exception. */
int usmpy_cuda_interface_stream(usmpy_state *state, PyObject *object, usmpy_origin *origin);

/*
 * The array of an object that exports itself as one of Arrow, on the cached queue of its device; NULL without
 * an exception if it does not.
 */
usmpy_array *usmpy_array_from_arrow(usmpy_state *state, PyObject *object);

/* Imports x in place, on the queue if that is not NULL and reaches the memory; NULL with an exception. */
typedef usmpy_array *usmpy_importer(usmpy_state *state, PyObject *x, PyObject *queue_object);
/*
 * What from_dlpack and from_arrow do with their arguments x, device and copy: the array of x, or a view of it
 * if it is a USMArray, where `device` says, copied if that or `copy` asks for it.
 */
PyObject *usmpy_import_to(usmpy_state *state, const char *function, PyObject *const *arguments,
                          usmpy_importer *importer);

/*
 * An object of any library as an array over its memory, by the first protocol that takes it; NULL without an
 * exception for an object that has none.
 */
PyObject *usmpy_import_shared(usmpy_state *state, PyObject *object);
/* The same for reading alone: also what NumPy makes of an object, which may be a copy. */
PyObject *usmpy_import_any(usmpy_state *state, PyObject *object);
/* An object with the buffer protocol; NULL with BufferError. */
PyObject *usmpy_array_from_buffer(usmpy_state *state, PyObject *object);
/* An array over the buffer, of this kind on the host; takes over the keep, unless it fails (BufferError). */
usmpy_array *usmpy_array_over_buffer(usmpy_state *state, const Py_buffer *view, usm_kind kind,
                                     usm_keep *keep);

/*
 * Parses a pair of ints, such as a DLPack device or version; objects with __index__ are ints, and values
 * beyond 64 bits are clamped. 1; 0 without an exception if it is not such a pair; -1 with an exception of
 * __index__.
 */
int usmpy_dlpack_pair(PyObject *pair, int64_t *values);
/* Whether both values are in the range of a DLDevice. */
static inline bool usmpy_pair_is_device(const int64_t *values)
{
    return values[0] == (int32_t)values[0] && values[1] == (int32_t)values[1];
}

/* The DLPack device as which the array is exported unless the consumer asks for another one. */
DLDevice usmpy_dlpack_device(usmpy_array *array);
/* Checks that the memory can be exported as that of the device. 0, or -1 with BufferError. */
int usmpy_check_context(const usmpy_array *array, const DLDevice *device);
/* Makes the memory ready for a consumer without a stream. 0 or -1. */
int usmpy_finish_for_export(usmpy_state *state, usmpy_array *array);
/*
 * The queue whose stream current_work_stream names for the device, borrowed; NULL with BufferError if no
 * backend has the device.
 */
usm_queue *usmpy_current_queue(usmpy_state *state, DLDevice device);

#endif
