/*
 * Copies from and to pageable memory of the host. Given such memory, the driver's own asynchronous copies
 * make the caller wait for the stream's earlier work, or read and write at a time of their choosing; so they
 * go through pinned memory: small ones in one piece, in the stream; others on a thread of the queue, in
 * pieces of which one is moved by the processor while the driver moves another.
 */
#include "cuda_backend.h"

#include "cpu/cpu.h"

#include <stdlib.h>
#include <string.h>

bool usm_cuda_is_small(const usm_command *command)
{
    return command->as.copy.nbytes <= USM_CUDA_PINNED_SMALL;
}

usm_cuda_staging usm_cuda_staging_of(const usm_event *event, const usm_command *command)
{
    if (command->kind == USM_COMMAND_FILL) {
        /* Of those that it has no call for, those of memory of ours are kernels (core/program). */
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

static CUdeviceptr address(const void *pointer)
{
    return (CUdeviceptr)(uintptr_t)pointer;
}

static usm_status no_pinned(usm_error *error)
{
    return usm_error_memory(error, USM_CUDA_PINNED_LARGE, "pinned memory for copies");
}

/* Nothing that the driver has not ended writes the source (is_known of queue.c): it is read now. */
usm_status usm_cuda_copy_small(usm_cuda_event *event, usm_cuda_lane *lane, const usm_command *command,
                               usm_error *error)
{
    usm_queue *queue = event->event.queue;
    size_t nbytes = command->as.copy.nbytes;
    bool from = usm_cuda_knows(&event->event, command->as.copy.src);
    usm_cuda_pinned *pinned = usm_cuda_pinned_take(queue->device, nbytes);
    CUresult code;
    if (pinned == NULL) {
        return no_pinned(error);
    }
    event->landing = pinned; /* given back with the event */
    event->later.command = *command;
    if (from) {
        code = usm_cuda.cuMemcpyAsync(address(pinned->data), address(command->as.copy.src), nbytes,
                                      lane->stream);
    } else {
        memcpy(pinned->data, command->as.copy.src, nbytes);
        event->landed = true;
        code = usm_cuda.cuMemcpyAsync(address(command->as.copy.dst), address(pinned->data), nbytes,
                                      lane->stream);
    }
    return code == CUDA_SUCCESS ? USM_OK : usm_cuda_failed_on(queue->device, error, code, "cuMemcpyAsync");
}

/* One direction in pieces, two at a time. */
typedef struct pipe {
    usm_device *device;
    CUstream stream;
    usm_cuda_pinned *pieces[2];
    CUevent done[2];
} pipe_of_pieces;

static CUresult wait_for(const pipe_of_pieces *pipe, int i)
{
    return usm_cuda.cuEventSynchronize(pipe->done[i]);
}

static CUresult to_device(pipe_of_pieces *pipe, char *dst, const char *src, size_t nbytes)
{
    CUresult code = CUDA_SUCCESS;
    for (size_t at = 0, n = 0; at < nbytes && code == CUDA_SUCCESS; at += USM_CUDA_PINNED_LARGE, n++) {
        size_t size = nbytes - at < USM_CUDA_PINNED_LARGE ? nbytes - at : USM_CUDA_PINNED_LARGE;
        int i = (int)(n % 2);
        code = n >= 2 ? wait_for(pipe, i) : CUDA_SUCCESS;
        if (code == CUDA_SUCCESS) {
            memcpy(pipe->pieces[i]->data, src + at, size);
            code =
                usm_cuda.cuMemcpyAsync(address(dst + at), address(pipe->pieces[i]->data), size, pipe->stream);
        }
        if (code == CUDA_SUCCESS) {
            code = usm_cuda.cuEventRecord(pipe->done[i], pipe->stream);
        }
    }
    return code;
}

static CUresult from_device(pipe_of_pieces *pipe, char *dst, const char *src, size_t nbytes)
{
    CUresult code = CUDA_SUCCESS;
    size_t asked = 0, got = 0;
    while (got < nbytes && code == CUDA_SUCCESS) {
        size_t first = got / USM_CUDA_PINNED_LARGE;
        while (asked < nbytes && asked / USM_CUDA_PINNED_LARGE < first + 2 && code == CUDA_SUCCESS) {
            size_t size = nbytes - asked < USM_CUDA_PINNED_LARGE ? nbytes - asked : USM_CUDA_PINNED_LARGE;
            int i = (int)(asked / USM_CUDA_PINNED_LARGE % 2);
            code = usm_cuda.cuMemcpyAsync(address(pipe->pieces[i]->data), address(src + asked), size,
                                          pipe->stream);
            if (code == CUDA_SUCCESS) {
                code = usm_cuda.cuEventRecord(pipe->done[i], pipe->stream);
            }
            asked += size;
        }
        if (code == CUDA_SUCCESS) {
            code = wait_for(pipe, (int)(first % 2));
        }
        if (code == CUDA_SUCCESS) {
            size_t size = nbytes - got < USM_CUDA_PINNED_LARGE ? nbytes - got : USM_CUDA_PINNED_LARGE;
            memcpy(dst + got, pipe->pieces[first % 2]->data, size);
            got += size;
        }
    }
    return code;
}

static CUresult open_pipe(pipe_of_pieces *pipe)
{
    CUresult code = usm_cuda.cuStreamCreateWithPriority(&pipe->stream, CU_STREAM_NON_BLOCKING, 0);
    for (int i = 0; i < 2 && code == CUDA_SUCCESS; i++) {
        pipe->pieces[i] = usm_cuda_pinned_take(pipe->device, USM_CUDA_PINNED_LARGE);
        code = pipe->pieces[i] == NULL
                   ? CUDA_ERROR_OUT_OF_MEMORY
                   : usm_cuda.cuEventCreate(&pipe->done[i], CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC);
    }
    return code;
}

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

/* All that the task waits for has ended, so that any stream will do. */
static usm_status copy_on_host(usm_event *event, const usm_command *command, usm_error *error)
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
        pipe_of_pieces pipe = {.device = device};
        CUresult code = open_pipe(&pipe);
        if (code == CUDA_SUCCESS) {
            code = from && to ? usm_cuda.cuMemcpyAsync(address(dst), address(src), nbytes, pipe.stream)
                   : from     ? from_device(&pipe, dst, src, nbytes)
                              : to_device(&pipe, dst, src, nbytes);
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

usm_status usm_cuda_run_on_host(usm_event *event, const usm_command *command, usm_error *error)
{
    if (command->kind == USM_COMMAND_FILL) {
        usm_cpu_block(command, 1);
        return USM_OK;
    }
    return copy_on_host(event, command, error);
}
