/*
 * Strided copies and casts where the device is the host's own processors, and the driver runs functions in
 * its order: then the host's loops do them, several times as fast as the kernels that the driver compiles,
 * and nothing has to be built.
 */
#include "opencl.h"

#include <string.h>

/* What the driver copies, and hands over when it is time. */
typedef struct argument {
    unsigned width;
    usm_strided strided;
    int64_t numbers[3 * USM_MAX_NDIM]; /* those of 3 * strided.ndim alone are there */
} argument;

static void CL_CALLBACK run(void *copied)
{
    argument *argument = copied;
    int ndim = argument->strided.ndim;
    argument->strided.shape = argument->numbers;
    argument->strided.dst_strides = argument->numbers + ndim;
    argument->strided.src_strides = argument->numbers + 2 * ndim;
    usm_thread_is_foreign(); /* and Intel's driver pins it: helpers would share one processor with it */
    usm_strided_on_host(&argument->strided, argument->width);
}

cl_int usm_opencl_strided_here(const usm_queue *queue, const usm_strided *strided, cl_uint n_waits,
                               const cl_event *waits, cl_event *id)
{
    argument argument;
    size_t ndim = (size_t)strided->ndim, nbytes = ndim * sizeof(int64_t);
    argument.width = queue->priority == USM_PRIORITY_LOW ? 1 : queue->device->info.max_compute_units;
    argument.strided = *strided;
    memcpy(argument.numbers, strided->shape, nbytes);
    memcpy(argument.numbers + ndim, strided->dst_strides, nbytes);
    memcpy(argument.numbers + 2 * ndim, strided->src_strides, nbytes);
    return usm_opencl_platform_of(queue)->api->clEnqueueNativeKernel(
        usm_opencl_queue_of(queue)->id, run, &argument, offsetof(struct argument, numbers) + 3 * nbytes, 0,
        NULL, NULL, n_waits, waits, id);
}
