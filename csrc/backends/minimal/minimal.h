/* What the files of the minimal backend share. */
#ifndef USM_MINIMAL_MINIMAL_H
#define USM_MINIMAL_MINIMAL_H

#include "core/device/backend.h"
#include "core/tasks/completion.h"

/* What the core keeps of a command until a thread runs it. */
typedef struct usm_minimal_event {
    usm_event event;
    usm_later later;
} usm_minimal_event;

/* device.c */
usm_status usm_minimal_start(usm_device ***devices, size_t *n_devices, usm_error *error);

/* memory.c */
usm_status usm_minimal_memory_allocate(usm_context *context, usm_device *device, usm_kind kind, size_t nbytes,
                                       void **out, bool *zeroed, usm_error *error);
void usm_minimal_memory_free(usm_context *context, usm_device *device, usm_kind kind, void *pointer,
                             size_t nbytes);

/* command.c */
usm_status usm_minimal_queue_submit(usm_queue *queue, usm_event *event, const usm_command *command,
                                    usm_error *error);

#endif
