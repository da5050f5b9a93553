/*
 * Pipes that tell an exporter who has its memory open (usm_share_entries.ends_with_exporter): the write end
 * of each travels with a handle, and the exporter asks the read ends whether any is left.
 */
#ifndef USM_CORE_PIPE_H
#define USM_CORE_PIPE_H

#include "core/base/error.h"

/* The read end, in the list of its owner. */
typedef struct usm_pipe {
    struct usm_pipe *next;
    int fd;
} usm_pipe;

/* The write end, close-on-exec, is the caller's. */
usm_status usm_pipe_create(USM_GIVES usm_pipe **out, int *write_end, usm_error *error);
/* Closes and frees those whose write ends are all closed: the others. Calls the system, so no lock. */
USM_GIVES usm_pipe *usm_pipes_still_open(USM_TAKES usm_pipe *pipes);
/* Puts the second list behind the first. */
void usm_pipes_append(usm_pipe **pipes, USM_TAKES usm_pipe *more);

#endif
