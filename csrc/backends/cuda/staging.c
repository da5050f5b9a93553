/*
 * Copies from and to pageable memory of the host. Given such memory, cuMemcpyAsync makes the caller wait
 * for the earlier work of the stream, or reads and writes at a time of its choosing (CUDA driver API, API
 * synchronization behavior). So these copies go through pinned memory: small ones in one piece, in the
 * stream; others on a thread of the queue, in pieces of which the processors move one while the driver
 * moves another.
 */
#include "cuda_backend.h"

#include "core/base/heap.h"
#include "cpu/cpu.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* Small pieces are pinned 16 at a time: cuMemHostAlloc takes milliseconds even for one piece. */
#define SMALL_PIECES 16

/*
 * Pinned pieces that no copy uses, small and large ones. The process keeps them, as pinning memory takes
 * long. The lock is a leaf.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static usm_freelist spare[2]; /* small and large ones */

usm_cuda_pinned *usm_cuda_pinned_spare(bool large)
{
    pthread_mutex_lock(&lock);
    usm_cuda_pinned *pinned = usm_freelist_pop(&spare[large]);
    pthread_mutex_unlock(&lock);
    return pinned;
}

/* Adds spare pieces. The driver may wait for work of the device. The device's context is current. */
static CUresult grow(bool large)
{
    char *data;
    size_t n = large ? 1 : SMALL_PIECES, size = large ? USM_CUDA_PINNED_LARGE : USM_CUDA_PINNED_SMALL;
    usm_cuda_pinned *pieces = usm_malloc(n * sizeof *pieces);
    CUresult code = pieces == NULL
                        ? CUDA_ERROR_OUT_OF_MEMORY
                        : usm_cuda.cuMemHostAlloc((void **)&data, n * size, CU_MEMHOSTALLOC_PORTABLE);
    if (code != CUDA_SUCCESS) {
        free(pieces);
        return code;
    }
    for (size_t i = 0; i < n; i++) {
        pieces[i] = (usm_cuda_pinned){.data = data + i * size, .large = large};
        usm_cuda_pinned_put(&pieces[i]);
    }
    return CUDA_SUCCESS;
}

CUresult usm_cuda_pinned_prepare(void)
{
    usm_cuda_pinned *pinned = usm_cuda_pinned_spare(false);
    if (pinned == NULL) {
        return grow(false);
    }
    usm_cuda_pinned_put(pinned);
    return CUDA_SUCCESS;
}

/* NULL: there is no memory to pin. The device's context is current. */
static usm_cuda_pinned *take(bool large)
{
    usm_cuda_pinned *pinned = usm_cuda_pinned_spare(large);
    while (pinned == NULL && grow(large) == CUDA_SUCCESS) {
        pinned = usm_cuda_pinned_spare(large); /* another thread may have been faster */
    }
    return pinned;
}

void usm_cuda_pinned_put(usm_cuda_pinned *pinned)
{
    pthread_mutex_lock(&lock);
    usm_freelist_push(&spare[pinned->large], pinned);
    pthread_mutex_unlock(&lock);
}

bool usm_cuda_is_small(const usm_command *command)
{
    return command->as.copy.nbytes <= USM_CUDA_PINNED_SMALL;
}

/*
 * Fills of memory that the driver does not know are the host's, as are those with patterns that it has no
 * call for; for memory of usmpy such patterns never come here, since kernels fill it (core/builtin).
 */
usm_cuda_staging usm_cuda_staging_of(const usm_event *event, const usm_command *command)
{
    if (command->kind == USM_COMMAND_FILL) {
        return usm_cuda_fills(command) && usm_cuda_knows(event, command->as.fill.dst) ? USM_CUDA_DIRECT
                                                                                      : USM_CUDA_BETWEEN_HOST;
    }
    if (command->kind != USM_COMMAND_COPY) {
        return USM_CUDA_DIRECT;
    }
    bool from = usm_cuda_knows(event, command->as.copy.src), to = usm_cuda_knows(event, command->as.copy.dst);
    return !from && !to ? USM_CUDA_BETWEEN_HOST
           : from && to ? USM_CUDA_DIRECT
           : from       ? USM_CUDA_FROM_DEVICE
                        : USM_CUDA_FROM_HOST;
}

/* The source is read now: the driver has no pending work that writes it (is_known in queue.c). */
usm_status usm_cuda_copy_small(usm_cuda_event *event, usm_cuda_timeline *timeline, const usm_command *command,
                               usm_error *error)
{
    usm_queue *queue = event->event.queue;
    size_t nbytes = command->as.copy.nbytes;
    bool from = usm_cuda_knows(&event->event, command->as.copy.src);
    usm_cuda_pinned *pinned = event->landing;
    CUresult code;
    event->event.command = *command; /* nothing that it points to is read at the end */
    if (from) {
        code = usm_cuda.cuMemcpyAsync(usm_cuda_address(pinned->data), usm_cuda_address(command->as.copy.src),
                                      nbytes, timeline->stream);
    } else {
        memcpy(pinned->data, command->as.copy.src, nbytes);
        event->landed = true;
        code = usm_cuda.cuMemcpyAsync(usm_cuda_address(command->as.copy.dst), usm_cuda_address(pinned->data),
                                      nbytes, timeline->stream);
    }
    return code == CUDA_SUCCESS ? USM_OK : usm_cuda_failed_on(queue->device, error, code, "cuMemcpyAsync");
}

/* The processors that may move a piece. The first use of new memory takes most of their time. */
static unsigned copy_width(void)
{
    cpu_set_t allowed;
    int n = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
    return n < 8 ? (unsigned)n : 8; /* more add nothing: the memory is busy */
}

/* Eight pieces or more, of which each is divided among the processors from 4 MiB on (usm_cpu_copy). */
static size_t piece_size(size_t nbytes)
{
    size_t least = (size_t)4 << 20, eighth = (nbytes / 8 + least - 1) / least * least;
    return eighth < least ? least : eighth < USM_CUDA_PINNED_LARGE ? eighth : USM_CUDA_PINNED_LARGE;
}

/* A copy in pieces, of which two are under way: the stream, two pinned pieces, and the event behind each. */
typedef struct pipe {
    CUstream stream;
    usm_cuda_pinned *pieces[2];
    CUevent done[2];
} pipe_of_pieces;

/*
 * The processors move piece n - 1 while the driver moves piece n. A slot is free once its event, of the piece
 * two before, has ended; what came from the device is then moved out of it, so that direction takes two more
 * steps.
 */
static CUresult move_pieces(pipe_of_pieces *pipe, char *dst, const char *src, size_t nbytes, bool from_device)
{
    CUresult code = CUDA_SUCCESS;
    size_t size = piece_size(nbytes), n_pieces = (nbytes + size - 1) / size;
    unsigned width = copy_width();
    for (size_t n = 0; n < n_pieces + (from_device ? 2 : 0) && code == CUDA_SUCCESS; n++) {
        char *piece = pipe->pieces[n % 2]->data;
        size_t at = n * size, before = n >= 2 ? at - 2 * size : 0;
        if (n >= 2 && n - 2 < n_pieces) {
            code = usm_cuda.cuEventSynchronize(pipe->done[n % 2]);
            if (code == CUDA_SUCCESS && from_device) {
                usm_cpu_copy(dst + before, piece, nbytes - before < size ? nbytes - before : size, width);
            }
        }
        if (n >= n_pieces || code != CUDA_SUCCESS) {
            continue;
        }
        size_t length = nbytes - at < size ? nbytes - at : size;
        if (!from_device) {
            usm_cpu_copy(piece, src + at, length, width);
        }
        code = from_device ? usm_cuda.cuMemcpyAsync(usm_cuda_address(piece), usm_cuda_address(src + at),
                                                    length, pipe->stream)
                           : usm_cuda.cuMemcpyAsync(usm_cuda_address(dst + at), usm_cuda_address(piece),
                                                    length, pipe->stream);
        if (code == CUDA_SUCCESS) {
            code = usm_cuda.cuEventRecord(pipe->done[n % 2], pipe->stream);
        }
    }
    return code;
}

/* CU_EVENT_BLOCKING_SYNC makes the waiting thread sleep instead of spin. */
static CUresult open_pipe(pipe_of_pieces *pipe, bool large)
{
    CUresult code = usm_cuda.cuStreamCreateWithPriority(&pipe->stream, CU_STREAM_NON_BLOCKING, 0);
    for (int i = 0; i < 2 && code == CUDA_SUCCESS; i++) {
        pipe->pieces[i] = take(large);
        code = pipe->pieces[i] == NULL
                   ? CUDA_ERROR_OUT_OF_MEMORY
                   : usm_cuda.cuEventCreate(&pipe->done[i], CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC);
    }
    return code;
}

/* Also for a pipe that was opened in part. The pieces are free once the stream has ended its work. */
static void close_pipe(pipe_of_pieces *pipe)
{
    if (pipe->stream != NULL) {
        (void)usm_cuda.cuStreamSynchronize(pipe->stream);
        (void)usm_cuda.cuStreamDestroy(pipe->stream);
    }
    for (int i = 0; i < 2; i++) {
        if (pipe->done[i] != NULL) {
            (void)usm_cuda.cuEventDestroy(pipe->done[i]);
        }
        if (pipe->pieces[i] != NULL) {
            usm_cuda_pinned_put(pipe->pieces[i]);
        }
    }
}

usm_status usm_cuda_copy_on_host(usm_event *event, const usm_command *command, usm_error *error)
{
    usm_device *device = event->queue->device;
    char *dst = command->as.copy.dst;
    const char *src = command->as.copy.src;
    size_t nbytes = command->as.copy.nbytes;
    usm_cuda_scope scope;
    if (usm_cuda_is_lost(device)) {
        return usm_cuda_lost(device, error);
    }
    usm_status status = usm_cuda_enter(device, &scope, error);
    if (status != USM_OK) {
        return status;
    }
    usm_cuda_relax(&scope);
    bool from = usm_cuda_knows(event, src), to = usm_cuda_knows(event, dst);
    if (!from && !to) {
        memmove(dst, src, nbytes);
    } else {
        pipe_of_pieces pipe = {.stream = NULL};
        CUresult code = open_pipe(&pipe, !usm_cuda_is_small(command));
        if (code == CUDA_SUCCESS) {
            code = from && to ? usm_cuda.cuMemcpyAsync(usm_cuda_address(dst), usm_cuda_address(src), nbytes,
                                                       pipe.stream)
                              : move_pieces(&pipe, dst, src, nbytes, from);
        }
        if (code == CUDA_SUCCESS) {
            code = usm_cuda.cuStreamSynchronize(pipe.stream);
        }
        close_pipe(&pipe);
        if (code != CUDA_SUCCESS) {
            status = usm_cuda_failed_on(device, error, code, "cuMemcpyAsync");
        }
    }
    usm_cuda_leave(&scope);
    return status;
}
