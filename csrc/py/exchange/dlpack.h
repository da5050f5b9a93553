/* Declarations shared by the files of the DLPack exchange. */
#ifndef USMPY_DLPACK_H
#define USMPY_DLPACK_H

#include "py/arrays/array.h"

#include "core/exchange/dltensor.h"

/* How arrays of a type are imported; looked up on the type, once for each version of it. */
typedef enum usmpy_route {
    USMPY_ROUTE_NONE,      /* no protocol on the type */
    USMPY_ROUTE_TABLE,     /* the C exchange table */
    USMPY_ROUTE_VERSIONED, /* __dlpack__(max_version=...) */
    USMPY_ROUTE_LEGACY,    /* __dlpack__(), seen to refuse the keyword */
} usmpy_route;

/* Where the memory of a type's instances was seen. */
typedef enum usmpy_where {
    USMPY_WHERE_UNKNOWN,
    USMPY_WHERE_HOST, /* without streams, all of them: not asked again */
    USMPY_WHERE_ASK,  /* on devices with streams, or on both: __dlpack_device__ is asked each time */
} usmpy_where;

/* A CUDA stream, 0 for the legacy default one; -1 may be an exception. */
typedef intptr_t usmpy_stream_of(int device_id);

typedef struct usmpy_type_entry {
    uint8_t route; /* usmpy_route */
    uint8_t where; /* usmpy_where */
    bool lazy;     /* has is_conj and is_neg: the table may export data that are not computed yet */
    bool has_grad; /* has requires_grad: the table exports tensors that its own __dlpack__ refuses */
    bool sycl;     /* has __sycl_usm_array_interface__, which names the memory's queue, and no table */
    /* Compiled, with __cuda_array_interface__: reading its current stream costs less than an event. */
    bool tells_stream;
    /* CuPy's current stream of the calling thread, by the device's number. NULL: no such function. */
    usmpy_stream_of *stream_of;
    const DLPackExchangeAPI *api;
    /*
     * The type's __dlpack__ if it can be called with the object as first argument; borrowed, and valid as
     * long as the type has the entry's version. NULL otherwise, and always without a GIL.
     */
    PyObject *method;
    /* Getter of the type's requires_grad, as `method`. NULL: it is not compiled, or needs a closure. */
    getter requires_grad;
} usmpy_type_entry;

typedef struct usmpy_type_cache usmpy_type_cache;
usmpy_type_cache *usmpy_type_cache_create(void);
void usmpy_type_cache_destroy(usmpy_type_cache *cache);
/*
 * The entry of the type, computed if necessary; NULL with an exception. It is constant until the next lookup
 * on this thread; an entry that is not in the cache is stored in `room`.
 */
const usmpy_type_entry *usmpy_type_lookup(usmpy_state *state, PyTypeObject *type, usmpy_type_entry *room);
/* Records that a producer of this type supports the legacy call only, or where its memory is. */
void usmpy_type_is_legacy(usmpy_state *state, PyTypeObject *type);
void usmpy_type_is_where(usmpy_state *state, PyTypeObject *type, usmpy_where where);

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
/* The origin of a tensor. */
typedef struct usmpy_origin {
    void *stream; /* in which work on it may be pending (core/tasks/stream.h); NULL: it is finished, or has
                     none */
    usm_device *device;         /* of the stream */
    usmpy_stream_of *stream_of; /* or the stream is queried, once the tensor's device is known */
    bool trusted; /* from a table, whose producer is compiled: the driver is not asked for its pointer */
} usmpy_origin;

/*
 * The stream= of a call of x.__dlpack__, as a new int; NULL for memory without streams, whose producers must
 * not get one. Most types have all of their memory on the host and are asked for its device once; a type that
 * was seen with other memory is asked each time. 0 or -1.
 */
int usmpy_choose_stream(usmpy_state *state, PyObject *x, const usmpy_type_entry *entry,
                        PyObject *queue_object, usmpy_origin *origin, PyObject **stream);
/* A C function of the library's Cython interface that returns its current stream; NULL if none is known. */
usmpy_stream_of *usmpy_find_stream_of(PyTypeObject *type);
/* Calls such a function for a device's stream. 0, or -1 with its exception. */
int usmpy_ask_stream_of(usmpy_stream_of *stream_of, usm_device *device, usmpy_origin *origin);
/*
 * Orders the first use of imported memory, which no other thread knows yet, after the work of the producer's
 * stream; `queue` is where the memory is expected to be used.
 */
void usmpy_attach_stream(usmpy_array *array, usm_queue *queue, const usmpy_origin *origin);
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
usmpy_array *usmpy_take_in(usmpy_state *state, PyObject *x, PyObject *queue_object, bool borrows);
/*
 * The current stream of the owner of x, for memory like the array's, in DLPack's numbers: its table's, that
 * of its __cuda_array_interface__, or its own __cuda_stream__. 1; 0 if it names none; -1 with an exception.
 */
int usmpy_owner_stream(usmpy_state *state, PyObject *x, const usmpy_array *array, usmpy_origin *origin);
/*
 * After this call the owner of x may change or free the memory that was imported as `array`: its stream waits
 * for our work on the device; if it names no stream, the host waits. 0 or -1.
 */
int usmpy_give_back(usmpy_state *state, PyObject *x, usmpy_array *array);

/*
 * The array of an object's __cuda_array_interface__, on `queue_object` as above; NULL without an exception if
 * it has none.
 */
usmpy_array *usmpy_array_from_cuda_interface(usmpy_state *state, PyObject *object, PyObject *queue_object);
/* The interface's stream: 1; 0 if it has none (*origin is unchanged); -1 with an exception. */
int usmpy_cuda_interface_stream(usmpy_state *state, PyObject *object, usmpy_origin *origin);

/*
 * For asarray and operands: DLPack or buffers, in place; NULL without an exception for an object with
 * neither.
 */
PyObject *usmpy_import_any(usmpy_state *state, PyObject *object);
/* An object with the buffer protocol; NULL with BufferError. */
PyObject *usmpy_array_from_buffer(usmpy_state *state, PyObject *object);

/*
 * A pair of ints, such as DLPack's devices and versions; objects with __index__ are ints, and values beyond
 * 64 bits are clamped. 1; 0 without an exception if it is not such a pair; -1 with an exception of __index__.
 */
int usmpy_dlpack_pair(PyObject *pair, int64_t *values);
/* Both are numbers that a DLDevice can have. */
static inline bool usmpy_pair_is_device(const int64_t *values)
{
    return values[0] == (int32_t)values[0] && values[1] == (int32_t)values[1];
}

/* The DLPack device that the array shows first. */
DLDevice usmpy_dlpack_device(usmpy_array *array);
/* Checks that the memory can be exported as that of the device. 0, or -1 with BufferError. */
int usmpy_check_context(const usmpy_array *array, const DLDevice *device);
/* Makes the memory ready for a consumer without a stream. 0 or -1. */
int usmpy_finish_for_export(usmpy_state *state, usmpy_array *array);
/* The queue whose stream our table names for the device, borrowed; NULL with BufferError for no device. */
usm_queue *usmpy_current_queue(usmpy_state *state, DLDevice device);

#endif
