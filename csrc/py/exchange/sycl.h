/*
 * Objects of a SYCL runtime that another library (dpctl) has loaded: the driver's objects of SYCL queues and
 * contexts, and SYCL queues for ours. usmpy neither links nor loads a SYCL runtime.
 */
#ifndef USMPY_SYCL_H
#define USMPY_SYCL_H

#include "py/objects/objects.h"

/* Whether this is a queue or context of dpctl (with a method _get_capsule), or a capsule of one. */
bool usmpy_is_sycl(PyObject *object);

/*
 * The driver's object behind a SyclQueue or SyclContext, or a capsule of either, with a new count if the
 * driver counts references (usmpy_sycl_release). 0, or -1 with BufferError if usmpy has no backend for it.
 */
typedef struct usmpy_sycl_object {
    const usm_backend *backend;
    usm_native what; /* USM_NATIVE_QUEUE or USM_NATIVE_CONTEXT */
    void *handle;
} usmpy_sycl_object;
int usmpy_sycl_native(usmpy_state *state, PyObject *object, usmpy_sycl_object *out);
void usmpy_sycl_release(const usmpy_sycl_object *object);

/*
 * The Queue of a SYCL queue: the live one that adopted it before, or a new one. For a SYCL context: the
 * cached queue of its first device. Keeps `object` alive. New reference.
 */
PyObject *usmpy_sycl_queue(usmpy_state *state, PyObject *object);
/* The SYCL object that the queue was made from, borrowed; NULL for none. */
PyObject *usmpy_sycl_owner(usmpy_state *state, const usm_queue *queue);

/* Method of Queue: a capsule with a SYCL queue over the same native queue, as dpctl takes it. */
PyObject *usmpy_queue_get_capsule(PyObject *self, PyObject *unused);

#endif
