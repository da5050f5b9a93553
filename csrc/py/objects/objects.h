/* Layouts of the Python objects over core objects, and the functions that make them. */
#ifndef USMPY_OBJECTS_H
#define USMPY_OBJECTS_H

#include "py/module.h"

#include "core/exchange/dltensor.h"

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

/* The garbage collector tracks it only if it has a result or a claim, which may refer back to it. */
typedef struct usmpy_event {
    PyObject_HEAD
    usm_event *event;    /* one count */
    usm_event *callback; /* the task of the last callback that was added; one count, or NULL */
    PyObject *result;    /* of a host task: the cell that receives its value or exception; else NULL */
    struct usmpy_inherited
        *claim; /* to an exception that its task inherited; NULL: none that was asked for */
    PyObject *weakrefs;
} usmpy_event;

static inline usm_queue *usmpy_queue_of(PyObject *queue_object)
{
    return ((usmpy_queue *)queue_object)->queue;
}

/* New references, or NULL with an exception. A USM_TAKES count is released on failure, too. */
PyObject *usmpy_device_wrap(usmpy_state *state, usm_device *device, USM_KEEPS usm_queue *queue);
PyObject *usmpy_context_wrap(usmpy_state *state, USM_KEEPS usm_context *context);
PyObject *usmpy_queue_wrap(usmpy_state *state, USM_TAKES usm_queue *queue);
PyObject *usmpy_event_wrap(usmpy_state *state, USM_TAKES usm_event *event);
/* Gives a new Event, which no other thread has seen, the cell of its result. */
void usmpy_event_set_result(PyObject *event, USM_TAKES PyObject *cell);

/* The Device of a placement (None, filter string, Device, Queue, USMArray): new reference. */
PyObject *usmpy_device_from(usmpy_state *state, PyObject *placement, const char *parameter);
/* The queue of a Device: its own, or the cached one. New reference. */
PyObject *usmpy_device_queue(usmpy_state *state, PyObject *device);
/* The queue of a placement: new reference. */
PyObject *usmpy_queue_from(usmpy_state *state, PyObject *placement, const char *parameter);
/* The cached queue of a root device or sub-device in a context (NULL: its default one): new reference. */
PyObject *usmpy_cached_queue(usmpy_state *state, usm_context *context, usm_device *device);
/* The same in its default context for the host device and the default device: borrowed from the state. */
PyObject *usmpy_host_queue(usmpy_state *state);
PyObject *usmpy_default_queue(usmpy_state *state);

/*
 * The cached queue of the device that a DLPack device stands for: new reference; NULL with BufferError if no
 * backend has that device. `pointer` decides between several devices with memory of that type and id (NULL:
 * the first).
 */
PyObject *usmpy_home_queue(usmpy_state *state, DLDevice device, const void *pointer);

/* The device= and queue= of creation functions (either may be NULL or None): new reference to the queue. */
PyObject *usmpy_placement(usmpy_state *state, PyObject *device, PyObject *queue);

/* `kind` if the device has it, else USM_DEVICE. */
static inline usm_kind usmpy_kind_on(const usm_device *device, usm_kind kind)
{
    const usm_device_info *info = &device->info;
    bool has = kind == USM_DEVICE || (kind == USM_SHARED ? info->has_usm_shared : info->has_usm_host);
    return has ? kind : USM_DEVICE;
}

/* The kind of a usm_type= argument; `otherwise` if it is NULL or None. -1 with TypeError or ValueError. */
int usmpy_kind(PyObject *usm_type, int otherwise);

#endif
