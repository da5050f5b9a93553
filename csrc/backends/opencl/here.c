/*
 * Copies, fills, casts and built-in kernels where the device is the host's own processors, and the driver
 * runs functions in its order: then the loops of csrc/cpu do them, several times as fast as the kernels that
 * the driver compiles, and nothing has to be built.
 */
#include "opencl.h"

#include "core/base/heap.h"
#include "core/base/thread.h"
#include "core/layout/layout.h"
#include "cpu/cpu.h"

#include <stdlib.h>
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
    usm_cpu_strided(&argument->strided, argument->width);
}

static unsigned width_of(const usm_queue *queue)
{
    return queue->priority == USM_PRIORITY_LOW ? 1 : queue->device->info.max_compute_units;
}

/* The driver copies the argument. */
static cl_int enqueue(const usm_opencl_turn *turn, void(CL_CALLBACK *function)(void *), void *argument,
                      size_t size, cl_event *id)
{
    return usm_opencl_platform_of(turn->queue)
        ->api->clEnqueueNativeKernel(turn->id, function, argument, size, 0, NULL, NULL, turn->n_waits,
                                     turn->waits, id);
}

cl_int usm_opencl_strided_here(const usm_opencl_turn *turn, const usm_strided *strided, cl_event *id)
{
    argument argument;
    size_t ndim = (size_t)strided->ndim, nbytes = ndim * sizeof(int64_t);
    argument.width = width_of(turn->queue);
    argument.strided = *strided;
    memcpy(argument.numbers, strided->shape, nbytes);
    memcpy(argument.numbers + ndim, strided->dst_strides, nbytes);
    memcpy(argument.numbers + 2 * ndim, strided->src_strides, nbytes);
    return enqueue(turn, run, &argument, offsetof(struct argument, numbers) + 3 * nbytes, id);
}

/* The same for contiguous bytes. */
typedef struct block_argument {
    unsigned width;
    usm_command command;
} block_argument;

static void CL_CALLBACK run_block(void *copied)
{
    const block_argument *argument = copied;
    usm_thread_is_foreign();
    usm_cpu_block(&argument->command, argument->width);
}

cl_int usm_opencl_block_here(const usm_opencl_turn *turn, const usm_command *command, cl_event *id)
{
    block_argument argument = {width_of(turn->queue), *command};
    return enqueue(turn, run_block, &argument, sizeof argument, id);
}

void usm_opencl_builtin_now(const usm_launch *launch, unsigned width)
{
    const usm_cpu_launch run = {
        .kernel = launch->kernel->native,
        .range = &launch->range,
        .arguments = launch->arguments,
        .n_arguments = launch->n_arguments,
        .cost = launch->cost,
    };
    (void)usm_cpu_run(&run, width); /* a built-in kernel needs no memory */
}

/* The same for a launch. Large values lie behind it, and `as.data` says how far from its start. */
typedef struct launch_argument {
    unsigned width;
    usm_launch launch;
    usm_argument arguments[];
} launch_argument;

static bool lies_behind(const usm_argument *argument)
{
    return argument->kind == USM_PARAMETER_VALUE && argument->size > USM_INLINE_VALUE;
}

static size_t aligned(size_t size)
{
    return (size + 15) & ~(size_t)15;
}

static void CL_CALLBACK run_launch(void *copied)
{
    launch_argument *argument = copied;
    for (size_t i = 0; i < argument->launch.n_arguments; i++) {
        if (lies_behind(&argument->arguments[i])) {
            argument->arguments[i].as.data = (char *)copied + (uintptr_t)argument->arguments[i].as.data;
        }
    }
    argument->launch.arguments = argument->arguments;
    usm_thread_is_foreign();
    usm_opencl_builtin_now(&argument->launch, argument->width);
}

static size_t size_of(const usm_launch *launch, size_t *behind)
{
    *behind = aligned(sizeof(launch_argument) + launch->n_arguments * sizeof *launch->arguments);
    size_t size = *behind;
    for (size_t i = 0; i < launch->n_arguments; i++) {
        size += lies_behind(&launch->arguments[i]) ? aligned(launch->arguments[i].size) : 0;
    }
    return size;
}

cl_int usm_opencl_builtin_here(const usm_opencl_turn *turn, const usm_launch *launch, cl_event *id)
{
    _Alignas(16) char few[1024];
    size_t at, size = size_of(launch, &at);
    launch_argument *argument = size <= sizeof few ? (launch_argument *)few : usm_malloc(size);
    if (argument == NULL) {
        return CL_OUT_OF_HOST_MEMORY;
    }
    argument->width = width_of(turn->queue);
    argument->launch = *launch;
    for (size_t i = 0; i < launch->n_arguments; i++) {
        argument->arguments[i] = launch->arguments[i];
        if (lies_behind(&launch->arguments[i])) {
            memcpy((char *)argument + at, launch->arguments[i].as.data, launch->arguments[i].size);
            argument->arguments[i].as.data = (void *)(uintptr_t)at;
            at += aligned(launch->arguments[i].size);
        }
    }
    cl_int code = enqueue(turn, run_launch, argument, size, id);
    if ((char *)argument != few) {
        free(argument);
    }
    return code;
}
