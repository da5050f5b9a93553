/* Streams of other libraries, and their order with work on our memory. */
#ifndef USMPY_STREAM_H
#define USMPY_STREAM_H

#include "py/args.h"
#include "py/arrays/array.h"

#include "core/device/registry.h"
#include "core/exchange/native.h"

/* A stream= argument: a Queue, or a driver's stream (core/streams/stream.h). */
typedef struct usmpy_stream {
    usm_queue *queue; /* borrowed; NULL for a driver's stream */
    void *handle;
    int device; /* the device's number in its library; -1: unknown */
    bool plain; /* given as an int */
} usmpy_stream;

/*
 * Parses a stream: a Queue; an int, in DLPack's numbers for the device; an object with __cuda_stream__; or a
 * stream of CuPy (ptr), PyTorch (cuda_stream) or Numba (handle). 1; 0 without an exception for anything else;
 * -1 with ValueError for numbers that no stream of the device has, TypeError for a malformed protocol, or the
 * object's exception. `device` is NULL if it is unknown.
 */
int usmpy_stream_parse(usmpy_state *state, PyObject *object, const usm_device *device, usmpy_stream *out);

/*
 * The device of a driver's stream: for a handle, the driver's answer; for 1 and 2, which are streams of every
 * device, its library's answer; otherwise `otherwise`. NULL with an exception: TypeError for an int if
 * `otherwise` has no streams. `parameter` names the argument in messages.
 */
usm_device *usmpy_stream_device(usmpy_state *state, const usmpy_stream *stream, usm_device *otherwise,
                                const char *parameter);

/*
 * The device of a stream as the driver reports it, if there are several; for 1 and 2, that of the current
 * context. A library's current stream may be on another device than its memory. NULL with an exception.
 */
usm_device *usmpy_device_of_handle(usmpy_state *state, const usm_backend *backend, void *handle);

/*
 * The queue that represents the stream (core/streams/stream.h); for a Queue, that queue. New count; NULL with
 * an exception.
 */
USM_GIVES usm_queue *usmpy_stream_queue(usmpy_state *state, const usmpy_stream *stream, usm_device *otherwise,
                                        const char *parameter);

/*
 * Makes later work of the stream wait on the device for pending work on the array (usm_alloc_stream_signal).
 * The owner of the stream may write the memory unless the array is read-only. 0, or -1 with an exception.
 */
int usmpy_stream_follow(usmpy_state *state, usm_device *device, void *stream, usmpy_array *array);
/*
 * The same for one allocation and access. Without `delivers` a failure that it raises still counts as not
 * retrieved, as with usmpy_peek_alloc.
 */
int usmpy_stream_follow_alloc(usmpy_state *state, usm_device *device, void *stream, usm_alloc *alloc,
                              usm_access_mode mode, bool delivers);

/*
 * Submits a barrier or marker that makes these accesses, after `wait` if that is not NULL. *event gets a new
 * count; it may be NULL. 0, or -1 with the exception.
 */
int usmpy_submit_point(usmpy_state *state, usm_queue *queue, usm_command_kind kind,
                       const usm_access *accesses, size_t n_accesses, const usm_wait *wait,
                       usm_event **event);

/* Whether work on the allocation runs in streams that other libraries can name. */
static inline bool usmpy_has_streams(const usm_alloc *alloc)
{
    return usm_backend_has_streams(alloc->context->backend);
}

/* The backend of a report, if it works; else NULL with BackendUnavailable, or UsmError if it is broken. */
const usm_backend *usmpy_reported_backend(usmpy_state *state, const usm_backend_report *report);
/* The working backend that an interface belongs to; NULL with an exception. */
const usm_backend *usmpy_backend_for(usmpy_state *state, usm_interface interface);

/* An attribute: new reference; NULL without an exception if the object does not have it. */
PyObject *usmpy_attribute(usmpy_state *state, PyObject *object, usmpy_name name);

/* Methods of Queue. */
usmpy_member usmpy_queue_from_stream;
PyObject *usmpy_queue_cuda_stream(PyObject *self, PyObject *unused);

#endif
