/* The Python objects over core objects, and how each is made. */
#ifndef USMPY_OBJECTS_H
#define USMPY_OBJECTS_H

#include "py/module.h"

/* A piece of hardware with the queue that arrays made on it get. */
typedef struct usmpy_device {
    PyObject_HEAD
    usm_device *device;
    usm_queue *queue; /* one count; NULL stands for the cached queue of the platform's default context */
} usmpy_device;

typedef struct usmpy_context {
    PyObject_HEAD
    usm_context *context; /* one count */
} usmpy_context;

typedef struct usmpy_queue {
    PyObject_HEAD
    usm_queue *queue; /* one count */
    PyObject *weakrefs;
} usmpy_queue;

/* An object of the garbage collector, tracked only where it has a result, which may lead back to it. */
typedef struct usmpy_event {
    PyObject_HEAD
    usm_event *event;    /* one count */
    usm_event *callback; /* of the last callback that was added; one count; NULL: none so far */
    PyObject *result;    /* of a host task: the cell that gets the value; else NULL */
    PyObject *weakrefs;
} usmpy_event;

static inline usm_queue *usmpy_queue_of(PyObject *queue_object)
{
    return ((usmpy_queue *)queue_object)->queue;
}

/* New references, or NULL with an exception. */
PyObject *usmpy_device_wrap(usmpy_state *state, usm_device *device, USM_KEEPS usm_queue *queue);
PyObject *usmpy_context_wrap(usmpy_state *state, USM_KEEPS usm_context *context);
PyObject *usmpy_queue_wrap(usmpy_state *state, USM_TAKES usm_queue *queue);
PyObject *usmpy_event_wrap(usmpy_state *state, USM_TAKES usm_event *event);
/* For an event that nobody else has yet. */
void usmpy_event_set_result(PyObject *event, USM_TAKES PyObject *cell);

/* The queue of a placement (None, filter string, Device, Queue, USMArray): new reference. */
PyObject *usmpy_queue_from(usmpy_state *state, PyObject *placement, const char *parameter);
/* The cached queue of a root device or sub-device in its default context: new reference. */
PyObject *usmpy_cached_queue(usmpy_state *state, usm_device *device);
/* The same for the host device and for the default device, borrowed: both are asked for at every turn. */
PyObject *usmpy_host_queue(usmpy_state *state);
PyObject *usmpy_default_queue(usmpy_state *state);

/*
 * The cached queue of the device that memory of that DLPack name is on: borrowed, where *held is NULL; else
 * *held is what the caller must drop. `pointer` tells which device, where several have memory of that name
 * (NULL: the first). NULL with BufferError where no backend has it.
 */
PyObject *usmpy_home_queue(usmpy_state *state, int32_t type, int32_t id, const void *pointer,
                           PyObject **held);

/* The device= and queue= of creation functions (either may be NULL or None): new reference to the queue. */
PyObject *usmpy_placement(usmpy_state *state, PyObject *device, PyObject *queue);

/* The kind that stands for `kind` on a device that may lack it: its own memory. */
static inline usm_kind usmpy_kind_on(const usm_device *device, usm_kind kind)
{
    const usm_device_info *info = &device->info;
    bool has = kind == USM_DEVICE || (kind == USM_SHARED ? info->has_usm_shared : info->has_usm_host);
    return has ? kind : USM_DEVICE;
}

/* usm_type= : its kind; `otherwise` where it is NULL or None. -1 with TypeError or ValueError. */
int usmpy_kind(PyObject *usm_type, int otherwise);

#endif
