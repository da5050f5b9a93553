#include "pipe.h"

#include "core/base/heap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

/* Asked about in one call. */
#define BATCH 64

usm_status usm_pipe_create(usm_pipe **out, int *write_end, usm_error *error)
{
    int ends[2];
    usm_pipe *pipe = usm_malloc(sizeof *pipe);
    if (pipe == NULL) {
        return usm_error_memory(error, sizeof *pipe, "the record of a handle");
    }
    if (pipe2(ends, O_CLOEXEC) != 0) {
        free(pipe);
        return usm_error_set(error, USM_MEMORY, "cannot make a pipe for a handle: %s",
                             usm_error_errno(errno));
    }
    *pipe = (usm_pipe){NULL, ends[0]};
    *out = pipe;
    *write_end = ends[1];
    return USM_OK;
}

usm_pipe *usm_pipes_still_open(usm_pipe *pipes)
{
    usm_pipe *left = NULL;
    while (pipes != NULL) {
        struct pollfd asked[BATCH];
        nfds_t n = 0;
        for (const usm_pipe *at = pipes; at != NULL && n < BATCH; at = at->next) {
            asked[n++] = (struct pollfd){.fd = at->fd};
        }
        bool answered = poll(asked, n, 0) >= 0;
        for (nfds_t i = 0; i < n; i++) {
            usm_pipe *at = pipes;
            pipes = at->next;
            if (answered && (asked[i].revents & POLLHUP) != 0) {
                close(at->fd);
                free(at);
            } else {
                at->next = left;
                left = at;
            }
        }
    }
    return left;
}

void usm_pipes_append(usm_pipe **pipes, usm_pipe *more)
{
    while (*pipes != NULL) {
        pipes = &(*pipes)->next;
    }
    *pipes = more;
}
