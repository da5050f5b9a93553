/*
 * Arrays as the structures of Arrow's C data interface and C device data interface, both ways. Pure C: the
 * structures are released on any thread, without Python.
 */
#ifndef USM_CORE_ARROW_H
#define USM_CORE_ARROW_H

#include "core/copy/copy.h"
#include "core/memory/alloc.h"
#include "core/tasks/submit.h"

/*
 * The layouts are those of Arrow's format documentation ("The Arrow C data interface", "The Arrow C Device
 * data interface"). A structure whose `release` is NULL is released, or was moved to another structure.
 */
typedef struct usm_arrow_schema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct usm_arrow_schema **children, *dictionary;
    void (*release)(struct usm_arrow_schema *self);
    void *private_data;
} usm_arrow_schema;

typedef struct usm_arrow_array {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct usm_arrow_array **children, *dictionary;
    void (*release)(struct usm_arrow_array *self);
    void *private_data;
} usm_arrow_array;

typedef struct usm_arrow_device_array {
    usm_arrow_array array;
    int64_t device_id;
    int32_t device_type; /* of DLPack */
    void *sync_event;    /* CUDA: of type CUevent *, ROCm: hipEvent_t *; NULL: the data are finished */
    int64_t reserved[3];
} usm_arrow_device_array;

/*
 * The type of an array as a schema: its dtype, inside of a list of fixed size for each axis but the first.
 * USM_BUFFER, with the advice, where Arrow has no such type.
 */
usm_status usm_arrow_export_schema(const usm_view *view, USM_GIVES usm_arrow_schema *out, usm_error *error);
/*
 * The elements of a row-major view whose schema was exported; each structure holds a count of its allocation.
 * `event` is NULL, or stands for what the consumer must wait for: *out holds a count of it, too, and points
 * to `native`, the driver's event, which lives as long. The memory is held until what is enqueued in the
 * device when *out is released has ended, where the driver can tell that.
 */
usm_status usm_arrow_export_array(const usm_view *view, usm_event *event, void *native,
                                  USM_GIVES usm_arrow_array *out, void ***sync_event, usm_error *error);

/* What an array of Arrow is here. */
typedef struct usm_arrow_layout {
    usm_dtype dtype;
    int ndim;
    int64_t shape[USM_MAX_NDIM]; /* row-major, without gaps */
    char *data;                  /* NULL for no elements */
} usm_arrow_layout;

/*
 * Checks foreign structures and reads their layout; takes nothing. USM_BUFFER, with the reason, for types
 * that are not here, nulls, missing buffers, and sizes that do not agree. `on_host`: buffers may be read.
 */
usm_status usm_arrow_read(const usm_arrow_schema *schema, const usm_arrow_array *array, bool on_host,
                          usm_arrow_layout *out, usm_error *error);
/*
 * Orders uses of imported memory after a producer's sync_event, by a task of `queue` that waits for it on the
 * device. USM_BUFFER where events of the device cannot be waited for. No lock; does not wait.
 */
usm_status usm_arrow_follow(usm_queue *queue, usm_alloc *alloc, void *const *sync_event, usm_error *error);

#endif
