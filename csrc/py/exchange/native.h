/* Objects and memory that other libraries made with the same driver, given by handle or address. */
#ifndef USMPY_NATIVE_H
#define USMPY_NATIVE_H

#include "py/args.h"
#include "py/arrays/array.h"

usmpy_member usmpy_device_from_native, usmpy_context_from_native, usmpy_queue_from_native;
usmpy_member usmpy_array_from_pointer;

/*
 * The usmpy context over a driver's: new count; NULL with an exception. Takes over the keeps, also on
 * failure.
 */
USM_GIVES usm_context *usmpy_adopt_context(usmpy_state *state, const usm_backend *backend, void *handle,
                                           USM_TAKES usm_keep *keeps);

/* The native_handle of a device or a context: a new int, or None for a backend without such handles. */
PyObject *usmpy_native_handle(const usm_backend *backend, usm_native what, const void *object);

/* An array over foreign memory, as its producer describes it. */
typedef struct usmpy_claim {
    void *address;
    int ndim;
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM]; /* strides in elements */
    usm_dtype dtype;
    int kind; /* usm_kind; -1: as the driver reports */
    bool writable;
    bool usm;           /* the producer says that it is unified shared memory, of unknown kind */
    bool ordered;       /* its stream orders foreign work on it: no marker is needed */
    usm_status refusal; /* USM_VALUE or USM_BUFFER: the error of an impossible claim */
    PyObject *queue;    /* Queue object, borrowed */
    PyObject *owner;    /* kept alive; borrowed; NULL for none */
    const char *how;    /* the protocol, for traces; static */
} usmpy_claim;

/*
 * The array of a claim. Determines owner, kind and bounds of the memory, as far as usmpy or the driver knows
 * them. NULL with ValueError or BufferError (claim->refusal) if they contradict the claim.
 */
usmpy_array *usmpy_array_of_claim(usmpy_state *state, usmpy_claim *claim);

/* Moves an array that nobody else has seen to a queue, if it is not NULL and reaches the memory. */
void usmpy_array_prefer_queue(usmpy_array *array, PyObject *queue_object);

/*
 * The value of an object with __index__ as an address: 1; 0 without an exception if it is not in 0 to
 * 2**64 - 1; -1 with the exception of usmpy_index_of().
 */
int usmpy_address_of(PyObject *number, const char *parameter, void **address);
/* The same for an argument: 0, or -1 with TypeError or ValueError. */
int usmpy_parse_address(PyObject *argument, void **address);
/* Strides in elements, one for each axis; compact where it is NULL or None. 0, or -1 with an exception. */
int usmpy_parse_strides(PyObject *argument, usmpy_claim *claim);

/*
 * The array of an object with __sycl_usm_array_interface__, on the queue that the interface names: new
 * reference. NULL with an exception; NULL without one if the object has no such attribute or, with
 * `optional`, if its syclobj is of an unknown type.
 */
PyObject *usmpy_array_from_sycl_interface(usmpy_state *state, PyObject *object, bool optional);

#endif
