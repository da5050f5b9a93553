/*
 * Objects of a SYCL runtime that another library (dpctl) has brought into this process: what driver's objects
 * they stand for, and SYCL's objects for ours. Nothing of SYCL is linked, and none is loaded here.
 */
#ifndef USMPY_SYCL_H
#define USMPY_SYCL_H

#include "py/objects/objects.h"

/* Is this one of dpctl's objects, or a capsule as they give it? It has a method _get_capsule. */
bool usmpy_is_sycl(PyObject *object);

/*
 * The driver's object behind a SyclQueue or SyclContext, or a capsule of either, with a count of its own
 * where the driver counts (usmpy_sycl_release). 0, or -1 with BufferError where there is none for us.
 */
typedef struct usmpy_sycl_object {
    const usm_backend *backend;
    usm_native what; /* USM_NATIVE_QUEUE or USM_NATIVE_CONTEXT */
    void *handle;
} usmpy_sycl_object;
int usmpy_sycl_native(usmpy_state *state, PyObject *object, usmpy_sycl_object *out);
void usmpy_sycl_release(const usmpy_sycl_object *object);

/*
 * The Queue that stands for a SYCL queue: the one that has adopted it, as long as there is one, else a new
 * one; for a context, the cached queue of its first device. Keeps `object` alive. New reference.
 */
PyObject *usmpy_sycl_queue(usmpy_state *state, PyObject *object);
/* The object of SYCL's that the queue was made from: borrowed; NULL for none. */
PyObject *usmpy_sycl_owner(usmpy_state *state, const usm_queue *queue);
/* Waits for what is in a SYCL queue, as far as `object` can be asked to. 0, or -1 with an exception. */
int usmpy_sycl_wait(PyObject *object);

/* Method of Queue: a capsule with a SYCL queue that enqueues where this one does, as dpctl takes it. */
PyObject *usmpy_queue_get_capsule(PyObject *self, PyObject *unused);

/* The cached queue of the context's first device: new reference. */
PyObject *usmpy_context_queue(usmpy_state *state, usm_context *context);

#endif
